#include "MachineCommand.h"

#include "Commands.h"
#include "Options.h"
#include "Progress.h"
#include "RunReport.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"
#include "runtime/machine/Measure.h"
#include "runtime/machine/MeasureGpu.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

namespace hector {

namespace {

struct MachineOptions {
  bool print = false;
  std::string backend = "cpu";
  std::string outPath;  // empty: where measurements are kept

  MachineTarget target() const { return backend == "cuda" ? MachineTarget::Gpu : MachineTarget::Cpu; }
};

void printTable(const MachineDescription &machine) {
  std::printf("%s\n\n%-12s %14s\n", machine.name.c_str(), "target", std::string(targetName(machine.target)).c_str());
  for (const MachineFigure &figure : machineFigures())
    std::printf("%-12s %14s %-13s %s\n", std::string(figure.key).c_str(), withCommas(machine.*figure.value).c_str(),
                std::string(figure.unit).c_str(), std::string(figure.meaning).c_str());
  std::printf("\n");
}

int printMachine(MachineTarget target) {
  auto path = keptMachinePath(target);
  if (!path || ::access(path->c_str(), F_OK) != 0) {
    const bool isGpu = target == MachineTarget::Gpu;
    printTable(isGpu ? defaultGpu() : defaultMachine());
    std::printf("the default; `hector machine%s` measures this %s\n", isGpu ? " --backend cuda" : "",
                isGpu ? "GPU" : "machine");
    return kExitFine;
  }
  auto machine = readMachine(*path);
  if (!machine)
    return report(std::move(machine).status());
  printTable(*machine);
  std::printf("kept in %s\n", path->c_str());
  return kExitFine;
}

/// Measures the processor, or the GPU that there is.
Result<MeasuredMachine> measure(MachineTarget target, const MeasureProgress &progress) {
  if (target == MachineTarget::Cpu)
    return measureMachine(progress);
  auto device = findGpu();
  if (!device)
    return Status::invalid("--backend cuda: " + device.status().message() + "; measure with --backend cpu");
  auto machine = measureGpu(**device, progress);
  if (!machine)
    return std::move(machine).status();
  return MeasuredMachine{std::move(*machine)};
}

int measure(const MachineOptions &options) {
  // A measurement that cannot be kept is not worth waiting for.
  auto path = options.outPath.empty() ? keptMachinePath(options.target()) : Result<std::string>(options.outPath);
  if (!path)
    return report(std::move(path).status());
  noteInterrupts();
  auto measured = [&] {
    ProgressLine line("measuring the machine");
    return measure(options.target(),
                   [&, before = std::string()](std::string_view what, int64_t done, int64_t total) mutable {
                     if (before != what) {
                       before = what;
                       line.begin("measuring " + before);
                     }
                     line.update(done, total);
                     return interruptSignal() == 0;
                   });
  }();
  auto stopped = [] {
    std::fputs("stopped; nothing was written\n", stderr);
    return interruptExitCode();
  };
  if (interruptSignal())
    return stopped();
  if (!measured)
    return report(std::move(measured).status());
  Status status = options.outPath.empty() ? keepMachine(measured->machine) : writeMachine(*path, measured->machine);
  if (!status.isOk())
    return interruptSignal() ? stopped() : report(status);
  printTable(measured->machine);
  constexpr double kQuiet = 0.9;
  if (measured->share < kQuiet)
    std::fprintf(stderr,
                 "warning: other programs had %.0f %% of the processors, so these figures are too low; measure again "
                 "when the machine is quiet\n",
                 (1 - measured->share) * 100);
  std::printf("kept in %s; `hector compile --machine %s%s` uses it\n", path->c_str(),
              options.outPath.empty() ? "here" : path->c_str(),
              options.target() == MachineTarget::Gpu ? " --backend cuda" : "");
  return kExitFine;
}

}  // namespace

std::function<std::optional<int>()> addMachine(CLI::App &app) {
  auto options = std::make_shared<MachineOptions>();
  CLI::App *machine = app.add_subcommand("machine", "Measures this machine, for compiling with --machine here");
  auto *print = machine->add_flag("--print", options->print, "Shows what is kept, or the default, without measuring");
  machine->add_option("--backend", options->backend, "What is measured: the processor (cpu), or the GPU (cuda)")
      ->check(oneOf({"cpu", "cuda"}))
      ->type_name("NAME");
  machine->add_option("-o,--out", options->outPath, "A file instead of the place where measurements are kept (.toml)")
      ->type_name("FILE")
      ->check(notEmpty())
      ->excludes(print);
  machine->footer("Measuring takes a few seconds, in which the machine should have nothing else to do.\n"
                  "Examples:\n  hector machine\n  hector machine --backend cuda");
  return [=]() -> std::optional<int> {
    if (!machine->parsed())
      return std::nullopt;
    return options->print ? printMachine(options->target()) : measure(*options);
  };
}

}  // namespace hector
