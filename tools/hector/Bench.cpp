/// `hector bench`: measures what files describe, and checks the answers.

#include "BenchReport.h"
#include "Commands.h"
#include "Progress.h"
#include "RunReport.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Process.h"
#include "runtime/storage/File.h"
#include "training/Outputs.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace hector {

namespace fs = std::filesystem;

namespace {

/// A folder for graphs and for what processes print: the user's, or one that is removed in the end.
class WorkFolder {
public:
  static Result<WorkFolder> make(const std::string &given) {
    WorkFolder folder;
    if (!given.empty()) {
      if (Status status = makeFolders(given); !status.isOk())
        return status;
      folder.path = given;
      return folder;
    }
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "hector-bench-XXXXXX").string();
    if (error || !mkdtemp(pattern.data()))
      return Status::failed("cannot make a temporary folder; give one with --keep FOLDER");
    folder.path = pattern;
    folder.temporary = std::shared_ptr<void>(nullptr, [pattern](void *) {
      std::error_code ignored;
      fs::remove_all(pattern, ignored);
    });
    return folder;
  }
  std::string path;

private:
  std::shared_ptr<void> temporary;
};

/// Leaves the cells whose names hold `text`.
void keepCells(BenchFile &file, const std::string &text) {
  for (std::vector<BenchCell> &round : file.rounds)
    std::erase_if(round, [&](const BenchCell &cell) { return cellName(file, cell).find(text) == std::string::npos; });
  std::erase_if(file.rounds, [](const std::vector<BenchCell> &round) { return round.empty(); });
}

/// Reads a benchmark, and has the options replace what it says.
Result<BenchFile> readFile(const std::string &path, const BenchCommandOptions &options) {
  BenchOverrides overrides;
  overrides.machine = options.machine;
  if (!options.backend.empty())
    overrides.backend = options.backend == "cuda" ? BenchBackend::Cuda : BenchBackend::Cpu;
  auto file = readBenchFile(path, overrides);
  if (!file)
    return file;
  if (options.runs > 0)
    file->runs = options.runs;
  const bool isOnGpu = file->backend == BenchBackend::Cuda;
  if (options.threads > 0 && isOnGpu)
    return Status::invalid("--threads are those of the CPU, but " + path + " runs on a GPU; leave it out");
  if (options.tune && !isOnGpu)
    return Status::invalid("--tune is about launches on a GPU, but " + path +
                           " runs on the CPU; leave it out, or add --backend cuda");
  if (!options.precision.empty() && !isOnGpu)
    return Status::invalid("--precision is how a GPU multiplies, but " + path +
                           " runs on the CPU, which is always exact; leave it out, or add --backend cuda");
  for (std::vector<BenchCell> &round : file->rounds)
    for (BenchCell &cell : round) {
      for (const auto &[name, value] : cell.swept) {
        if (name == "threads" && options.threads > 0)
          return Status::invalid(path + " measures with several numbers of threads, but --threads gives one");
        if (name == "precision" && !options.precision.empty())
          return Status::invalid(path + " measures with several precisions, but --precision gives one");
      }
      if (options.threads > 0)
        cell.way.threads = options.threads;
      if (!options.precision.empty())
        cell.way.precision = options.precision;
    }
  if (!options.only.empty())
    keepCells(*file, options.only);
  return file;
}

/// The memory of a cell, measured by a process of its own.
Result<int64_t> memoryOf(const BenchFile &file, const BenchCell &cell, const std::string &graphPath,
                         const WorkFolder &work, const BenchCommandOptions &options) {
  std::error_code ignored;
  const std::string log = work.path + "/memory.log";
  fs::remove(log, ignored);
  ProcessRequest request;
  request.program = fs::read_symlink("/proc/self/exe", ignored).string();
  request.arguments = {"bench",        fs::absolute(file.path).string(), "--memory-of", cellName(file, cell),
                       "--graph-file", fs::absolute(graphPath).string()};
  if (options.threads > 0)
    request.arguments.insert(request.arguments.end(), {"--threads", std::to_string(options.threads)});
  if (!options.machine.empty())
    request.arguments.insert(request.arguments.end(), {"--machine", options.machine});
  if (!options.backend.empty())
    request.arguments.insert(request.arguments.end(), {"--backend", options.backend});
  if (!options.precision.empty())
    request.arguments.insert(request.arguments.end(), {"--precision", options.precision});
  if (options.tune)
    request.arguments.emplace_back("--tune");
  request.folder = fs::current_path(ignored).string();
  request.temporaryFolder = work.path;
  request.outputPath = log;
  auto code = runProcess(request);
  if (!code)
    return std::move(code).status();
  std::ifstream stream(log);
  std::stringstream text;
  text << stream.rdbuf();
  const std::string output = text.str();
  fs::remove(log, ignored);
  int64_t bytes = 0;
  if (*code == 0 && std::from_chars(output.data(), output.data() + output.size(), bytes).ec == std::errc())
    return bytes;
  if (*code > 128)
    return Status::failed("the process was ended by signal " + std::to_string(*code - 128));
  return Status::failed(output.empty() ? "the process ended with status " + std::to_string(*code) : output);
}

/// The device that a benchmark runs on; null for the CPU.
Result<std::unique_ptr<Device>> findDevice(const BenchFile &file) {
  if (file.backend == BenchBackend::Cpu)
    return std::unique_ptr<Device>();
  auto device = findGpu();
  if (!device)
    return Status::invalid("the benchmark runs on a GPU: " + device.status().message() +
                           "; measure with --backend cpu");
  return device;
}

/// The other side of `memoryOf`: prints the bytes.
Status printMemory(const BenchCommandOptions &options) {
  auto file = readFile(options.files.front(), options);
  if (!file)
    return std::move(file).status();
  auto device = findDevice(*file);
  if (!device)
    return std::move(device).status();
  exec::TuningNote onTuned;
  if (options.tune)
    onTuned = [](const std::string &) {};  // the process that measures time says it
  for (const std::vector<BenchCell> &round : file->rounds)
    for (const BenchCell &cell : round)
      if (cellName(*file, cell) == options.memoryOf) {
        auto bytes = measureMemory(*file, cell, options.graphFile, device->get(), onTuned);
        if (!bytes)
          return std::move(bytes).status();
        std::printf("%lld\n", static_cast<long long>(*bytes));
        return Status::ok();
      }
  return Status::invalid("there is no cell " + inTicks(options.memoryOf));
}

/// Measures the cells of one benchmark and prints its table.
Status measureFile(const BenchFile &file, const WorkFolder &work, const BenchCommandOptions &options,
                   BenchReport &report) {
  auto device = findDevice(file);
  if (!device)
    return std::move(device).status();
  const BenchTable table(file, options.memory);
  if (*device)
    report.device = (*device)->info().name;
  std::printf("%s: %splans for the machine %s; %s after %s to warm up\n", file.path.c_str(),
              *device ? ("on " + report.device + ", ").c_str() : "", file.machine.name.c_str(),
              counted(file.runs, "run").c_str(), std::to_string(file.warmup).c_str());
  for (const std::string &name : file.absent)
    std::printf("skipped: graph %s, which is not there\n", name.c_str());
  std::printf("\n%s", table.header().c_str());
  std::fflush(stdout);
  std::vector<std::optional<std::string>> graphPaths(file.graphs.size());
  for (const std::vector<BenchCell> &round : file.rounds) {
    std::vector<BenchRow> rows;
    {
      ProgressLine progress("preparing");
      std::optional<std::string> &graphPath = graphPaths[round.front().graph];
      if (!graphPath) {
        const BenchGraph &graph = file.graphs[round.front().graph];
        progress.begin("preparing graph " + graph.name);
        auto prepared = prepareGraph(graph, work.path);
        if (!prepared)
          return std::move(prepared).status().during("graph " + inTicks(graph.name));
        graphPath = *prepared;
      }
      BenchOptions how;
      how.device = device->get();
      how.profile = options.profile;
      if (options.tune)
        how.onTuned = [](const std::string &note) { std::fprintf(stderr, "note: %s\n", note.c_str()); };
      how.keepFolder = options.keepFolder;
      how.onTask = [&](const std::string &task) { progress.begin(task); };
      for (BenchResult &result : measureRound(file, round, *graphPath, how))
        rows.push_back({std::move(result), {}, {}});
      for (BenchRow &row : rows) {
        if (interruptSignal())
          return Status::failed("interrupted");
        if (!options.memory || !row.isFine())
          continue;
        progress.begin(cellName(file, row.result.cell) + ": memory");
        auto bytes = memoryOf(file, row.result.cell, *graphPath, work, options);
        if (bytes)
          row.memoryBytes = *bytes;
        else
          row.memoryFailure = bytes.status().message();
      }
    }
    if (interruptSignal())
      return Status::failed("interrupted");
    for (BenchRow &row : rows) {
      std::fputs(table.row(row).c_str(), stdout);
      if (options.profile && row.result.isRight)
        std::fputs(formatProfile(file, row.result).c_str(), stdout);
      report.rows.push_back(std::move(row));
    }
    std::fflush(stdout);
  }
  std::printf("\n");
  return Status::ok();
}

/// Measures all files. `isFine` tells whether all answers are right.
Status bench(const BenchCommandOptions &options, bool &isFine) {
  if (options.files.size() > 1 && !options.keepFolder.empty())
    return Status::invalid("--keep takes one benchmark, but " + std::to_string(options.files.size()) + " are given");
  for (const std::string &path : {options.jsonPath, options.svgPath})
    if (!path.empty()) {
      if (Status status = refuseOverwriting(path, options.files); !status.isOk())
        return status;
      if (Status status = training::checkWritable(path); !status.isOk())
        return status;
    }
  std::vector<BenchFile> files;
  size_t numCells = 0;
  for (const std::string &path : options.files) {
    auto file = readFile(path, options);
    if (!file)
      return std::move(file).status();
    files.push_back(std::move(*file));
    for (const std::vector<BenchCell> &round : files.back().rounds)
      numCells += round.size();
  }
  if (numCells == 0 && !options.only.empty())
    return Status::invalid("the name of no cell holds " + inTicks(options.only) +
                           "; names are such as rgcn-aifb-training");
  auto work = WorkFolder::make(options.keepFolder);
  if (!work)
    return std::move(work).status();
  std::vector<BenchReport> reports;
  for (const BenchFile &file : files) {
    reports.push_back({&file, options.memory, {}, {}});
    if (Status status = measureFile(file, *work, options, reports.back()); !status.isOk()) {
      if (interruptSignal()) {
        size_t done = 0;
        for (const BenchReport &report : reports)
          done += report.rows.size();
        return Status::failed("stopped after " + std::to_string(done) + " of " +
                              counted(static_cast<int64_t>(numCells), "cell") + "; no file was written");
      }
      return std::move(status).during(file.path);
    }
  }
  for (const BenchReport &report : reports)
    for (const BenchRow &row : report.rows)
      isFine &= row.isFine();
  if (!options.jsonPath.empty())
    if (Status status = replaceFile(options.jsonPath, formatBenchJson(reports, HECTOR_VERSION)); !status.isOk())
      return status;
  if (!options.svgPath.empty())
    if (Status status = replaceFile(options.svgPath, drawBench(reports)); !status.isOk())
      return status;
  return Status::ok();
}

}  // namespace

int benchCommand(const BenchCommandOptions &options) {
  noteInterrupts();
  bool isFine = true;
  Status status = options.memoryOf.empty() ? bench(options, isFine) : printMemory(options);
  if (!status.isOk()) {
    const int code = report(status);
    return interruptSignal() ? interruptExitCode() : code;
  }
  return isFine ? kExitFine : kExitMachine;
}

}  // namespace hector
