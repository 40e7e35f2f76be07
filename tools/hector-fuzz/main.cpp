/// The fuzzer: random programs, run in every way there is, must agree; and odd modules must not bring passes down.

#include "CompiledJudge.h"
#include "Judge.h"
#include "Modules.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Program.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/FileSystem.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace hector;
using namespace hector::fuzz;

namespace cl = llvm::cl;
static cl::opt<uint64_t> numPrograms("programs", cl::desc("How many programs to try"), cl::init(2000));
static cl::opt<uint64_t> numModules("modules", cl::desc("Change the modules of FILEs so many times instead, and run "
                                                        "passes on them"));
static cl::list<std::string> seedFiles(cl::Positional, cl::desc("[FILE.mlir...]"));
static cl::opt<uint64_t> firstProgram("start", cl::desc("Number of the first program or module"), cl::init(0));
static cl::opt<uint64_t> seedOption("seed", cl::desc("Seed of the whole run"), cl::init(1));
static cl::opt<double> seconds("seconds", cl::desc("Stop after so many seconds"), cl::init(1e9));
static cl::opt<uint64_t> atLeast("at-least", cl::desc("Fail if fewer programs or modules were tried when time was up"));
static cl::opt<std::string> saveFolder("save", cl::desc("Where failures are saved"), cl::init("fuzz-failures"));
static cl::opt<std::string> replayFolder("replay", cl::desc("Judge one saved failure again"));
static cl::opt<std::string>
    backend("backend", cl::desc("interp; or cpu or cuda: compiled code against the interpreter"), cl::init("interp"));
static cl::opt<std::string> deviceOption("device", cl::desc("For --backend=cuda: emulated, or cuda for a GPU"),
                                         cl::init("emulated"));
static cl::opt<uint64_t>
    batchSize("batch", cl::desc("How many programs share a call of the compiler, for compiled code"), cl::init(25));
static cl::opt<bool> showPrograms("show", cl::desc("Print every program before it runs"));

static volatile uint64_t atProgram = 0;
static volatile std::sig_atomic_t isInterrupted = 0;
static std::string showOptions = "--programs=1";  // that show a program again, with its number as --start

/// Names the program that brought us down; only async-signal-safe calls are made.
static void onCrash(int signal) {
  char digits[24];
  int at = sizeof digits;
  for (uint64_t rest = atProgram; at == sizeof digits || rest; rest /= 10)
    digits[--at] = static_cast<char>('0' + rest % 10);
  auto say = [](const char *text, size_t size) { (void)!write(2, text, size); };
  constexpr char kCrashed[] = "\ncrashed; show it with --show ";
  constexpr char kStart[] = " --start=";
  say(kCrashed, sizeof kCrashed - 1);
  say(showOptions.data(), showOptions.size());
  say(kStart, sizeof kStart - 1);
  say(digits + at, sizeof digits - at);
  say("\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static uint64_t seedOf(uint64_t program) {
  return mix(mix(seedOption) ^ program);
}

/// Makes the choices behind a failure fewer and smaller while it fails in the same way.
static std::vector<uint32_t> shrink(Judge &judge, std::vector<uint32_t> choices, uint64_t seed,
                                    const std::string &kind) {
  int budget = 3000;
  auto fails = [&](const std::vector<uint32_t> &candidate) {
    if (--budget < 0)
      return false;
    Choices replay(candidate);
    auto failure = judge.judge(generate(replay), seed, kind == "gradient");
    return failure && failure->kind == kind;
  };
  for (bool changed = true; changed && budget > 0;) {
    changed = false;
    for (size_t length = std::max<size_t>(1, choices.size() / 2); length > 0; length /= 2)
      for (size_t at = 0; at + length <= choices.size() && budget > 0;) {
        std::vector<uint32_t> candidate = choices;
        candidate.erase(candidate.begin() + at, candidate.begin() + at + length);
        if (fails(candidate)) {
          choices = std::move(candidate);
          changed = true;
        } else {
          at += length;
        }
      }
    for (size_t at = 0; at < choices.size() && budget > 0; ++at)
      for (uint32_t smaller : {0u, choices[at] / 2, choices[at] - 1}) {
        if (choices[at] == 0 || smaller >= choices[at])
          continue;
        std::vector<uint32_t> candidate = choices;
        candidate[at] = smaller;
        if (fails(candidate)) {
          choices = std::move(candidate);
          changed = true;
          break;
        }
      }
  }
  return choices;
}

/// `target` is null for the interpreter.
static int replay(const CompiledTarget *target) {
  std::ifstream model(replayFolder + "/model.hec");
  std::stringstream text;
  text << model.rdbuf();
  auto file = readSafetensors(replayFolder + "/case.safetensors");
  if (!model || !file) {
    std::fprintf(stderr, "error: `%s` holds no model.hec and case.safetensors\n", replayFolder.c_str());
    return kExitUser;
  }
  uint64_t seed = seedOption;
  std::ifstream(replayFolder + "/seed") >> seed;
  std::optional<Failure> failure;
  if (target) {
    CompiledJudge judge(*target, [](uint64_t) {});
    failure = judge.add({text.str(), *file}, 0, seed);
    for (const CompiledFailure &failed : judge.run())
      failure = failed.failure;
  } else {
    failure = Judge().judge({text.str(), *file}, seed, /*checkSlopes=*/true);
  }
  if (!failure) {
    std::printf("%s: all ways agree\n", replayFolder.c_str());
    return kExitFine;
  }
  std::printf("%s: %s: %s\n", replayFolder.c_str(), failure->kind.c_str(), failure->message.c_str());
  return kExitMachine;
}

/// Writes the program where `--replay` finds it.
static std::string save(const TestProgram &program, uint64_t number, uint64_t seed) {
  std::string folder = saveFolder + "/program-" + std::to_string(number);
  if (llvm::sys::fs::create_directories(folder))
    return "(could not be saved)";
  std::ofstream model(folder + "/model.hec"), seedFile(folder + "/seed");
  model << program.text << std::flush;
  seedFile << seed << "\n" << std::flush;
  if (!model || !seedFile || !writeSafetensors(folder + "/case.safetensors", program.file).isOk())
    return "(could not be saved)";
  return folder;
}

/// Counts time and tells how far a run has come.
class Clock {
public:
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  bool isUp(int failures) const { return elapsed() >= seconds || isInterrupted || failures >= 5; }
  void show(uint64_t done, uint64_t total, const char *what) const {
    if (isTerminal && done % 50 == 0)
      std::fprintf(stderr, "\r%llu of %llu %s, %.0f per second ", static_cast<unsigned long long>(done),
                   static_cast<unsigned long long>(total), what, static_cast<double>(done) / (elapsed() + 1e-9));
  }
  const char *lineStart() const { return isTerminal ? "\r" : ""; }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool isTerminal = isatty(2);
};

/// The exit code of a run; too few tries are a failure where `--at-least` says so.
static int finish(uint64_t done, const char *what, int failures) {
  if (done < atLeast) {
    std::printf("error: %llu %s were tried, but --at-least asks for %llu; give it more --seconds\n",
                static_cast<unsigned long long>(done), what, static_cast<unsigned long long>(atLeast));
    return kExitMachine;
  }
  return failures ? kExitMachine : kExitFine;
}

/// The same for programs. Those whose results hang on the last bit are not judged; more than one in fifty would hide
/// something.
static int finishPrograms(uint64_t done, const Tally &tally, int failures) {
  for (auto [kinks, type] : {std::pair(tally.kinks, ""), std::pair(tally.narrowKinks, " in f32")})
    if (kinks * 50 > std::max<int64_t>(tally.programs, 100)) {
      std::printf("error: %lld of %lld programs are at kinks%s; at most 2 %% may be\n", static_cast<long long>(kinks),
                  static_cast<long long>(tally.programs), type);
      return kExitMachine;
    }
  return finish(done, "programs", failures);
}

static int fuzzModules() {
  showOptions = "--modules=1 FILE...";
  Modules modules;
  for (const std::string &file : seedFiles)
    if (!modules.addSeeds(file)) {
      std::fprintf(stderr, "error: cannot read `%s`\n", file.c_str());
      return kExitUser;
    }
  if (!modules.hasSeeds()) {
    std::fprintf(stderr, "error: --modules changes functions of .mlir files, but none is given that holds one\n");
    return kExitUser;
  }
  Clock clock;
  int failures = 0;
  uint64_t done = 0;
  for (; done < numModules && !clock.isUp(failures); ++done) {
    uint64_t number = firstProgram + done;
    atProgram = number;
    auto failure = modules.judge(seedOf(number), showPrograms);
    clock.show(done, numModules, "modules");
    if (!failure)
      continue;
    ++failures;
    std::printf("module %llu %s: %s\nshow with: hector-fuzz --show --modules=1 --start=%llu FILE...\n\n",
                static_cast<unsigned long long>(number), failure->kind.c_str(), failure->message.c_str(),
                static_cast<unsigned long long>(number));
  }
  const ModuleTally &tally = modules.tally();
  std::printf("%s%lld modules, %lld changes, %lld passes (%lld refused), %.0f s: %d failures\n", clock.lineStart(),
              static_cast<long long>(tally.modules), static_cast<long long>(tally.changes),
              static_cast<long long>(tally.passes), static_cast<long long>(tally.refused), clock.elapsed(), failures);
  return finish(done, "modules", failures);
}

static int fuzzPrograms() {
  Clock clock;
  Judge judge;
  int failures = 0;
  uint64_t done = 0;
  for (; done < numPrograms && !clock.isUp(failures); ++done) {
    uint64_t number = firstProgram + done, seed = seedOf(number);
    atProgram = number;
    Choices choices(seed);
    TestProgram program = generate(choices);
    if (showPrograms)
      std::printf("program %llu\n%s\n", static_cast<unsigned long long>(number), program.text.c_str());
    std::fflush(stdout);
    auto failure = judge.judge(program, seed, /*checkSlopes=*/true);
    clock.show(done, numPrograms, "programs");
    if (!failure)
      continue;
    ++failures;
    Judge shrinker;
    Choices smaller(shrink(shrinker, choices.drawn(), seed, failure->kind));
    TestProgram small = generate(smaller);
    auto again = shrinker.judge(small, seed, true);
    std::string folder = save(small, number, seed);
    std::printf("program %llu %s: %s\n%s\nreplay with: hector-fuzz --replay %s\n\n",
                static_cast<unsigned long long>(number), failure->kind.c_str(),
                (again ? *again : *failure).message.c_str(), small.text.c_str(), folder.c_str());
  }
  const Tally &tally = judge.tally();
  std::printf(
      "%s%lld programs, %lld runs, %lld gradients against differences (%lld too rough to tell), %lld at kinks, %lld at "
      "kinks in f32, %.0f s: %d failures\n",
      clock.lineStart(), static_cast<long long>(tally.programs), static_cast<long long>(tally.runs),
      static_cast<long long>(tally.gradientChecks), static_cast<long long>(tally.rough),
      static_cast<long long>(tally.kinks), static_cast<long long>(tally.narrowKinks), clock.elapsed(), failures);
  return finishPrograms(done, tally, failures);
}

/// Compiled code, in batches.
static int fuzzCompiled(const CompiledTarget &target) {
  showOptions = target.options() + " --programs=1";
  Clock clock;
  CompiledJudge judge(target, [](uint64_t number) { atProgram = number; });
  int failures = 0;
  auto tell = [&](const CompiledFailure &failed) {
    ++failures;
    std::string folder = save(failed.test, failed.number, failed.seed);
    std::printf("program %llu %s: %s\n%s\nreplay with: hector-fuzz %s --replay %s\n\n",
                static_cast<unsigned long long>(failed.number), failed.failure.kind.c_str(),
                failed.failure.message.c_str(), failed.test.text.c_str(), target.options().c_str(), folder.c_str());
    std::fflush(stdout);
  };
  uint64_t done = 0, large = 0;
  for (; done < numPrograms && !clock.isUp(failures) && !judge.lastProgram(); ++done) {
    uint64_t number = firstProgram + done, seed = seedOf(number);
    atProgram = number;
    Choices choices(seed);
    const bool isLarge = mix(seed ^ 12) % 4 == 0;
    large += isLarge;
    TestProgram program = generate(choices, isLarge ? ProgramSize::Large : ProgramSize::Small);
    if (showPrograms)
      std::printf("program %llu\n%s\n", static_cast<unsigned long long>(number), program.text.c_str());
    std::fflush(stdout);
    if (auto failure = judge.add(program, number, seed))
      tell({program, number, seed, *failure});
    for (const CompiledFailure &failed : judge.run(std::max<uint64_t>(batchSize, 1)))
      tell(failed);
    clock.show(done, numPrograms, "programs");
  }
  for (const CompiledFailure &failed : judge.run())
    tell(failed);
  if (auto last = judge.lastProgram())
    std::printf("%s cannot be used any more by this process; go on with --start=%llu\n", target.name().c_str(),
                static_cast<unsigned long long>(*last + 1));
  const Tally &tally = judge.tally();
  const std::string flags =
      target.hasQuickFlags() ? ", " + std::to_string(tally.usualFlags) + " with the usual flags" : "";
  std::printf(
      "%s%lld programs on %s (%llu large, %lld with ids of 64 bits%s), %lld runs, %lld at kinks, %lld at kinks in f32, "
      "%.0f s: %d failures\n",
      clock.lineStart(), static_cast<long long>(tally.programs), target.name().c_str(),
      static_cast<unsigned long long>(large), static_cast<long long>(tally.wideIds), flags.c_str(),
      static_cast<long long>(tally.runs), static_cast<long long>(tally.kinks),
      static_cast<long long>(tally.narrowKinks), clock.elapsed(), failures);
  return finishPrograms(done, tally, failures);
}

/// The target that the options choose; null for the interpreter.
static Result<std::unique_ptr<CompiledTarget>> chooseTarget() {
  if (backend != "interp" && backend != "cpu" && backend != "cuda")
    return Status::invalid("--backend=" + backend + ": choose from interp, cpu and cuda");
  if (deviceOption.getNumOccurrences() > 0 && backend != "cuda")
    return Status::invalid("--device is for --backend=cuda, not for --backend=" + backend);
  if (deviceOption != "emulated" && deviceOption != "cuda")
    return Status::invalid("--device=" + deviceOption + ": choose from emulated and cuda");
  if (backend == "cpu")
    return cpuTarget();
  if (backend == "interp")
    return std::unique_ptr<CompiledTarget>();
  auto target = cudaTarget(deviceOption);
  if (!target)
    return Status::invalid("--device=" + deviceOption + ": " + target.status().message() +
                           "; run with --device=emulated");
  return target;
}

static int fuzzMain(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Random models, run in every way there is, must agree.\n");
  if (Status status = checkThreadSetting(); !status.isOk()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return kExitUser;
  }
  auto target = chooseTarget();
  if (!target) {
    std::fprintf(stderr, "error: %s\n", target.status().message().c_str());
    return kExitUser;
  }
  if (!replayFolder.empty())
    return replay(target->get());
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS})
    std::signal(signal, onCrash);
  std::signal(SIGINT, [](int) { isInterrupted = 1; });
  if (numModules > 0)
    return fuzzModules();
  return *target ? fuzzCompiled(**target) : fuzzPrograms();
}

int main(int argc, char **argv) {
  return runProgram(fuzzMain, argc, argv, kExitMachine);
}
