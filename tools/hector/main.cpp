/// The command line: options to the structs of Commands.h.

#include "BenchCommand.h"
#include "CacheCommand.h"
#include "Commands.h"
#include "DataCommands.h"
#include "DataMakeInfo.h"
#include "MachineCommand.h"
#include "Options.h"
#include "TrainCommand.h"
#include "language/Diagnostics.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Program.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

using namespace hector;

/// A check that an option's value is a number of 64 bits without a sign; CLI11 would take -1 for the largest.
static CLI::Validator unsignedNumber() {
  return CLI::Validator(
      [](std::string &value) -> std::string {
        uint64_t number = 0;
        auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        bool isNumber = error == std::errc() && rest == value.data() + value.size();
        return isNumber ? "" : "`" + value + "` is not a whole number from 0 to 18446744073709551615";
      },
      "");
}

/// An option by all its names: "--graph or --case". Where there is no such option, the name as it is.
static std::string allNames(const CLI::App *command, const std::string &name) {
  const CLI::Option *option = command->get_option_no_throw(name);
  if (!option)
    return name;
  std::string names = option->get_name(false, true);
  for (size_t comma = names.find(','); comma != std::string::npos; comma = names.find(','))
    names.replace(comma, 1, " or ");
  return names;
}

/// What is wrong with the command line, in one line. A word that nothing takes comes first: CLI11 would rather complain
/// of the option that it was meant to be.
static std::string explain(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App *command = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
  std::vector<std::string> left = app.remaining(true);
  std::string name = command ? "hector " + command->get_name() : "hector";
  while (command && !command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const bool isGroup = !command || !command->get_subcommands({}).empty();
  std::string text = error.what();
  if (!left.empty() && error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ValidationError)) {
    std::vector<std::string> names;
    bool isOption = left.front().starts_with("-");
    if (isOption) {
      for (const CLI::Option *option : (command ? *command : app).get_options())
        for (const std::string &word : option->get_lnames())
          names.push_back("--" + word);
    } else if (isGroup) {
      for (const CLI::App *other : (command ? *command : app).get_subcommands({}))
        names.push_back(other->get_name());
    }
    std::vector<std::string_view> views(names.begin(), names.end());
    std::string_view near = language::nearest(left.front(), views);
    text = isOption  ? "`" + name + "` has no option `" + left.front() + "`"
           : isGroup ? "there is no command `" + (command ? name.substr(7) + " " : "") + left.front() + "`"
                     : "`" + left.front() + "` is one argument too many for `" + name + "`";
    if (!near.empty())
      text += "; did you mean `" + std::string(near) + "`?";
  } else if (isGroup) {
    text = command ? "a command is missing after `" + name + "`" : "a command is missing";
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    text = "`" + name + "` needs " + allNames(command, text.substr(0, text.find(" is required")));
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    const std::string word = text.substr(0, text.find(':'));
    const CLI::Option *option = command->get_option_no_throw(word);
    text = option && option->count() > 1 ? "`" + name + "` takes " + allNames(command, word) +
                                               " once, but it is given " + std::to_string(option->count()) + " times"
                                         : "`" + name + "` needs a value after " + allNames(command, word);
  }
  return "error: " + text + "\n   help: see `" + name + " --help`\n";
}

static void addModelOptions(CLI::App &command, ModelOptions &options, const std::string &files) {
  command.add_option("MODEL", options.path, files)->required();
  command.add_option("--entry", options.entry, "The function that is the model, where several declare inputs")
      ->type_name("NAME");
  command.add_option("--set", options.settings, "Binds an attribute; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
  command.add_option("--size", options.sizes, "Binds a size; may be repeated")->type_name("NAME=NUMBER")->take_all();
  command
      .add_option(
          "--dtype", options.dtype,
          "The numbers to compute with: f64, f32, bf16 or f16; or tf32, which is f32 with --precision high on a GPU")
      ->check(oneOf({"f64", "f32", "tf32", "bf16", "f16"}))
      ->type_name("TYPE");
}

/// Adds an option that takes one value each time it is given; CLI11 would also take the words that follow.
static void addRepeated(CLI::App &command, const std::string &name, std::vector<std::string> &values,
                        const std::string &help, const std::string &type) {
  command.add_option(name, values, help)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(notEmpty())
      ->type_name(type);
}

static void addInputOptions(CLI::App &command, InputSources &inputs) {
  command.add_option("--graph,--case", inputs.graph, "The graph, with or without inputs beside it (.safetensors)")
      ->required()
      ->type_name("FILE");
  addRepeated(command, "--tensors", inputs.tensors,
              "More inputs, which replace those beside the graph (.safetensors); may be repeated", "FILE");
  addRepeated(command, "--bind", inputs.bindings,
              "Binds an input to a tensor of another name, or with .T to its transpose; may be repeated",
              "INPUT=TENSOR");
  command
      .add_option("--init", inputs.initialSeed,
                  "Initialises inputs that no file has, from a seed; and with --grad the gradients of the results, "
                  "with ones")
      ->check(unsignedNumber())
      ->type_name("SEED");
}

/// What `--grad` stands for where no list of names follows it.
static constexpr std::string_view kEveryInput = "*";

static void addPrecisionOption(CLI::App &app, std::string &precision) {
  app.add_option(
         "--precision", precision,
         "How exactly a GPU multiplies matrices of f32: highest (the default, as exact as f32), high (errors of "
         "4e-6, faster) or medium (as high); CPUs are always exact")
      ->check(oneOf({"highest", "high", "medium"}))
      ->type_name("NAME");
}

static void addGradOption(CLI::App &command, std::optional<std::vector<std::string>> &grad, const std::string &help) {
  command
      .add_option_function<std::vector<std::string>>(
          "--grad",
          [&](const std::vector<std::string> &lists) {
            std::string list;
            for (const std::string &names : lists)
              list += (list.empty() ? "" : ",") + names;
            grad.emplace();
            if (list.empty() || std::find(lists.begin(), lists.end(), kEveryInput) != lists.end())
              return;
            for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
              end = list.find(',', begin);
              grad->push_back(list.substr(begin, end == std::string::npos ? end : end - begin));
            }
          },
          help + ", or for those of a list such as W,q")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("[NAMES]");
}

/// The arguments, with a value for each `--grad`: the next word where that is a list of names, else every input. A word
/// that cannot be one is left to whatever takes it, and so is a file while the model is still to come.
static std::vector<std::string> completeGrad(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc), done;
  const CLI::App *command = nullptr;
  for (const CLI::App *candidate : app.get_subcommands({}))
    if (!words.empty() && candidate->get_name() == words[0] && candidate->get_option_no_throw("--grad"))
      command = candidate;
  if (!command)
    return words;
  bool hasModel = false;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word == "--grad") {
      const std::string next = i + 1 < words.size() ? words[i + 1] : "-";
      const bool isList = !next.starts_with("-") && next.find_first_of("./") == std::string::npos &&
                          (hasModel || !std::filesystem::exists(next));
      word += "=" + (isList ? words[++i] : std::string(kEveryInput));
    } else if (!word.starts_with("-")) {
      hasModel |= i > 0;
    } else if (const CLI::Option *option = command->get_option_no_throw(word);
               option && option->get_items_expected() > 0 && i + 1 < words.size()) {
      done.push_back(word);
      word = words[++i];
    }
    done.push_back(word);
  }
  return done;
}

static int hectorMain(int argc, char **argv) {
  CLI::App app("Compiles relational graph neural networks.", "hector");
  app.set_version_flag("--version", HECTOR_VERSION);
  app.require_subcommand(1);
  app.footer("hector COMMAND --help shows a command's options and an example.");

  RunOptions run;
  CLI::App *runApp = app.add_subcommand("run", "Runs a model on a graph");
  addModelOptions(*runApp, run.model, "The model file (.hec), or a plan that `hector compile` made of one (.plan)");
  addInputOptions(*runApp, run.inputs);
  runApp->add_option("--out", run.outPath, "Where the results go (.safetensors)")->required()->type_name("FILE");
  runApp->add_option("--backend", run.backend, "interp, cpu or cuda; by default the fastest that this build has")
      ->check(oneOf({"interp", "cpu", "cuda"}))
      ->type_name("NAME");
  addGradOption(*runApp, run.grad, "Also reads grad.RESULT and writes grad.INPUT for every input");
  runApp->add_flag("--train", run.train, "Computes as in training: dropout drops");
  runApp->add_option("--seed", run.seed, "What dropout draws from: the same seed and step drop the same numbers")
      ->check(unsignedNumber())
      ->type_name("NUMBER");
  runApp->add_option("--step", run.step, "The step of training, which draws numbers of its own")
      ->check(unsignedNumber())
      ->type_name("NUMBER");
  runApp
      ->add_option("--passes", run.passes,
                   "none, default, C, R, default,-NAME, or names separated by commas; unless given, default")
      ->type_name("LIST")
      ->check(notEmpty());
  addPrecisionOption(*runApp, run.precision);
  runApp
      ->add_option("--machine", run.machine,
                   "The GPU that --backend cuda chooses plans for: h200 (the default), here (what `hector machine "
                   "--backend cuda` measured) or a machine file")
      ->type_name("NAME:{h200,here}")
      ->check(notEmpty());
  runApp->add_option("--threads", run.threads, "How many threads run at once; results do not depend on it")
      ->transform(wholeNumber<int>(1, 1024))
      ->type_name("NUMBER");
  runApp
      ->add_option("--memory-limit", run.memoryLimit,
                   "What tables and index arrays may take, such as 8G; by default what is available")
      ->type_name("BYTES")
      ->check(notEmpty());
  runApp->add_flag("--poison", run.poison, "Fills memory with NaN wherever nothing should be read, to find mistakes");
  runApp->footer("Examples:\n  hector run models/rgcn.hec --case case.safetensors --out out.safetensors\n"
                 "  hector run rgcn.plan --case case.safetensors --out out.safetensors\n"
                 "  hector run models/rgcn.hec --graph aifb.safetensors --size d_in=64 --size d_out=8 --init 0 "
                 "--out out.safetensors");

  CompileOptions compile;
  CLI::App *compileApp = app.add_subcommand("compile", "Makes a plan of a model, or prints it as the compiler sees it");
  addModelOptions(*compileApp, compile.model, "The model file (.hec)");
  compileApp->add_option("--graph", compile.graphPath, "The graph to compile for, or a case with it (.safetensors)")
      ->type_name("FILE");
  compileApp
      ->add_option(
          "--emit", compile.emit,
          "The form: flow as the model says it, flow-opt after the passes, groups with the loops that compute it, "
          "kern with their statements, cpp as they are compiled for a CPU, cuda for a GPU, plan with the launches and "
          "their tables, or a summary of what it costs; unless given, a plan file with compiled code, which `hector "
          "run` takes")
      ->check(oneOf({"flow", "flow-opt", "groups", "kern", "cpp", "cuda", "plan", "summary"}))
      ->type_name("FORM");
  compileApp->add_option("--backend", compile.backend, "What plans are for: cpu (the default) or cuda, for GPUs")
      ->check(oneOf({"cpu", "cuda"}))
      ->type_name("NAME");
  addRepeated(*compileApp, "--arch", compile.architectures,
              "The GPUs that a plan file has compiled code for, sm_80 or later; unless given, sm_90; may be repeated",
              "NAME");
  addGradOption(*compileApp, compile.grad, "Derives the gradients of every input");
  compileApp
      ->add_option("--passes", compile.passes,
                   "none, default, C, R, default,-NAME, or names separated by commas; unless given, none for flow and "
                   "default otherwise")
      ->type_name("LIST")
      ->check(notEmpty());
  addPrecisionOption(*compileApp, compile.precision);
  compileApp
      ->add_option("--machine", compile.machine,
                   "The machine to choose for, which never changes results but for rounding: cpu (the default, the "
                   "same everywhere), h200 (the default of --backend cuda), here (what `hector machine` measured for "
                   "the backend) or a "
                   "file")
      ->type_name("NAME:{cpu,h200,here}")
      ->check(notEmpty());
  compileApp->add_option("--cache", compile.cache, "What the machine's largest cache holds, such as 32M")
      ->type_name("BYTES")
      ->check(notEmpty());
  compileApp->add_flag("--per-op", compile.perOp, "Lists every op in a summary, with figures of its own");
  compileApp->add_flag("--remarks", compile.remarks, "Prints what passes did and declined, and why");
  compileApp->add_flag("--dump-passes", compile.dumpPasses, "Prints the IR after each pass that changed it");
  compileApp->add_option("-o,--out", compile.outPath, "The plan file; with --emit, a file instead of standard output")
      ->type_name("FILE");
  compileApp->footer("Examples:\n  hector compile models/rgcn.hec --size d_in=64 --size d_out=64 -o rgcn.plan\n"
                     "  hector compile models/rgcn.hec --size d_in=64 --size d_out=64 --backend cuda -o rgcn.plan\n"
                     "  hector compile models/rgcn.hec --size d_in=64 --size d_out=64 --emit flow\n"
                     "  hector compile models/hgt.hec --size d=64 --graph aifb.safetensors --grad --emit summary");

  CLI::App *dataApp = app.add_subcommand("data", "Imports, makes, describes and checks graph files");
  dataApp->require_subcommand(1);
  auto runImportOrCheck = addDataImportAndCheck(*dataApp);
  auto runMakeOrInfo = addDataMakeAndInfo(*dataApp);

  auto runTrain = addTrain(app);
  auto runBench = addBench(app);
  auto runMachine = addMachine(app);
  auto runCache = addCache(app);

  CLI::App *doctorApp = app.add_subcommand("doctor", "Says what this machine has and which backends would work");
  doctorApp->footer("Example:\n  hector doctor");

  try {
    std::vector<std::string> words = completeGrad(app, argc, argv);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    std::fputs(explain(app, error).c_str(), stderr);
    return kExitUser;
  }
  if (Status status = checkThreadSetting(); !status.isOk())
    return report(status);
  throwWhereLlvmFindsNoMemory();
  if (runApp->parsed())
    return runCommand(run);
  if (compileApp->parsed())
    return compileCommand(compile);
  if (auto code = runImportOrCheck())
    return *code;
  if (auto code = runMakeOrInfo())
    return *code;
  if (auto code = runTrain())
    return *code;
  if (auto code = runBench())
    return *code;
  if (auto code = runMachine())
    return *code;
  if (auto code = runCache())
    return *code;
  return doctorCommand();
}

int main(int argc, char **argv) {
  return runProgram(hectorMain, argc, argv, kExitMachine);
}
