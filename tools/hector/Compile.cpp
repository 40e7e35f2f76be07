/// `hector compile`: a model as one of the compiler's forms.

#include "Commands.h"
#include "RunReport.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "driver/Forms.h"
#include "driver/Program.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <charconv>
#include <cstdio>
#include <memory>
#include <span>

namespace hector {

/// The machine that `--machine` and `--cache` describe.
static Result<MachineDescription> chooseMachine(const CompileOptions &options, MachineTarget target) {
  auto machine = options.machine.empty() ? defaultMachine() : findMachine(options.machine, target);
  if (!machine || options.cache.empty())
    return machine;
  auto bytes = parseBytes(options.cache);
  if (!bytes || *bytes == 0)
    return Status::invalid("--cache is " + inTicks(options.cache) + "; expected " + kByteForms +
                           ", from 1 to 1024G, such as 32M or 512K");
  machine->cacheBytes = *bytes;
  return machine;
}

/// The machine that kernels for GPUs are chosen for, which is a GPU.
static Result<MachineDescription> chooseGpu(const CompileOptions &options) {
  auto machine = chooseMachine(options, MachineTarget::Gpu);
  if (machine && machine->target != MachineTarget::Gpu)
    return Status::invalid("--machine " + options.machine +
                           " is a CPU, but the kernels are for a GPU; leave it out, or use --machine h200");
  return machine;
}

/// "sm_90" as 90. The kernels are written for 80 and later.
static Result<std::vector<int>> readArchitectures(const CompileOptions &options) {
  constexpr int kLeast = 80, kMost = 999, kUsual = 90;
  if (options.architectures.empty())
    return std::vector<int>{kUsual};
  std::vector<int> numbers;
  for (const std::string &name : options.architectures) {
    int number = 0;
    const bool isNumber =
        name.starts_with("sm_") &&
        std::from_chars(name.data() + 3, name.data() + name.size(), number).ptr == name.data() + name.size();
    if (!isNumber || number < kLeast || number > kMost)
      return Status::invalid("--arch is " + inTicks(name) + "; expected sm_ and a number from " +
                             std::to_string(kLeast) + " on, such as sm_90");
    numbers.push_back(number);
  }
  return numbers;
}

/// Settles what the plan is for, or says why options contradict each other.
static Status chooseBackend(CompileOptions &options) {
  const bool isFile = options.emit.empty();
  if (options.backend.empty())
    options.backend = options.emit == "cuda" ? exec::kCuda : exec::kCpu;
  const bool isForGpu = options.backend == exec::kCuda;
  if (options.emit == (isForGpu ? "cpp" : "cuda"))
    return Status::invalid("--emit " + options.emit + " is for " + (isForGpu ? "a CPU" : "a GPU") +
                           ", and --backend is " + options.backend + "; leave out one of them");
  if (!options.architectures.empty() && !(isFile && isForGpu))
    return Status::invalid("--arch is for plan files of --backend cuda; " +
                           std::string(isForGpu ? "leave it out with --emit" : "leave it out, or add --backend cuda"));
  // Other forms are no code for a CPU yet, so that tf32 is f32 in them.
  return isFile || isForGpu ? settleTf32(options.model.dtype, options.precision, options.backend) : Status::ok();
}

/// Prints what a pass did or declined.
static void printRemark(const Remark &remark) {
  std::string place;
  if (remark.line > 0)
    place = ":" + std::to_string(remark.line) + ":" + std::to_string(remark.column);
  std::fprintf(stderr, "%s%s: remark: %s\n", remark.model.c_str(), place.c_str(), remark.text.c_str());
}

/// Prints the plans that were compared.
static void printPlans(const std::string &model, const std::vector<PlanCost> &plans) {
  for (const PlanCost &plan : plans)
    std::fprintf(
        stderr, "%s: remark: plan %s%s: %.4g operations, %.4g bytes moved, %.4g live at once, %.4g us, price %.4g us\n",
        model.c_str(), plan.name.c_str(), plan.isTaken ? " (taken)" : "", plan.operations, plan.bytes, plan.peakBytes,
        plan.seconds * 1e6, plan.price * 1e6);
}

/// "12.0 KiB of compiled code", for a GPU with the kinds that it is for.
static std::string describeCode(const exec::SavedPlan &saved) {
  auto bytes = static_cast<int64_t>(saved.code.size());
  std::string list;
  for (const exec::Cubin &cubin : saved.cubins) {
    bytes += static_cast<int64_t>(cubin.code.size());
    list += (list.empty() ? " for sm_" : ", sm_") + std::to_string(cubin.architecture);
  }
  return (bytes == 0 ? "no" : formatBytes(bytes) + " of") + " compiled code" + list;
}

/// Compiles the program's loops and writes all that `hector run` needs.
static Status writePlan(const CompileOptions &options, std::span<const int> architectures, exec::Plan plan,
                        exec::PlanOrigin origin) {
  noteInterrupts();  // the compiler is stopped
  const bool isForGpu = options.backend == exec::kCuda;
  auto print = [](const std::string &line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  auto printNoCode = [&](const std::string &why) {
    print("note: " + options.outPath + " has the source of its kernels, and no compiled code: " + why);
  };
  auto shared = std::make_shared<const exec::Plan>(std::move(plan));
  auto saved = isForGpu ? compileCudaPlan(shared, std::move(origin), architectures, {print, print}, printNoCode)
                        : compilePlan(shared, std::move(origin), {print, print});
  if (!saved)
    return saved.status();
  // What `hector run` would refuse is not written.
  if (Status status = exec::checkPlan(*shared); !status.isOk())
    return status;
  if (Status status = exec::writePlanFile(options.outPath, *saved); !status.isOk())
    return status;
  std::printf("wrote %s: %s, %s, %s\n", options.outPath.c_str(),
              counted(static_cast<int64_t>(shared->steps.size()), "launch", "launches").c_str(),
              counted(static_cast<int64_t>(shared->tables.size()), "table").c_str(), describeCode(*saved).c_str());
  return Status::ok();
}

static Status compileModel(CompileOptions options) {
  const bool isFile = options.emit.empty();  // a plan with its code
  if (isFile && options.outPath.empty())
    return Status::invalid("`hector compile` needs -o FILE for the plan, or --emit FORM for something to print");
  if (Status status = chooseBackend(options); !status.isOk())
    return status;
  auto architectures = readArchitectures(options);
  if (!architectures)
    return architectures.status();
  const bool isForGpu = options.backend == exec::kCuda;
  const std::string inputs[] = {options.model.path, options.graphPath, options.machine};
  if (Status status = refuseOverwriting(options.outPath, inputs); !status.isOk())
    return status;
  auto model = loadModel(options.model.path, options.model.entry);
  if (!model)
    return model.status();
  auto binding = bind(*model, {options.model.settings, options.model.sizes});
  if (!binding)
    return binding.status();
  const std::string dtype = options.model.dtype.empty() ? "f32" : options.model.dtype;
  const NumberType numbers = dtype == "tf32" ? NumberType::F32 : *numberTypeFromName(dtype);
  auto program = Program::import(*model, *binding, {.numbers = numbers, .gradients = options.grad});
  if (!program)
    return program.status();
  bool wideIds = false;
  if (!options.graphPath.empty()) {
    auto graph = loadGraph(options.graphPath, model->signature);
    if (!graph)
      return graph.status();
    if (Status status = program->attachGraph(*graph); !status.isOk())
      return std::move(status).during(options.graphPath);
    wideIds = exec::needsWideIds(*graph);
  }
  if (isForGpu && options.machine.empty())
    options.machine = "h200";
  if (!options.machine.empty() || !options.cache.empty()) {
    auto machine = isForGpu ? chooseGpu(options) : chooseMachine(options, MachineTarget::Cpu);
    if (!machine)
      return machine.status();
    program->attachMachine(*machine);
  }
  std::string passes = options.passes;
  if (passes.empty())
    passes = options.emit == "flow" ? "none" : "default";
  std::vector<PlanCost> plans;
  PassOutput output;
  output.dumps = options.dumpPasses;
  if (options.remarks)
    output.onRemark = printRemark;
  output.onPlans = [&](const std::vector<PlanCost> &weighed) {
    plans = weighed;
    if (options.remarks)
      printPlans(options.model.path, plans);
  };
  if (Status status = program->runPasses(passes, output); !status.isOk())
    return status;
  const bool isPlan = isFile || options.emit == "plan";
  const cuda::Precision precision = precisionFromName(options.precision);
  std::string text;
  if (isPlan) {
    if (Status status = program->formGroups(output); !status.isOk())
      return status;
    auto plan = isForGpu ? makeCudaPlan(*program, {.precision = precision, .wideIds = wideIds})
                         : makePlan(*program, {.wideIds = wideIds});
    if (!plan)
      return plan.status();
    exec::PlanOrigin origin = originOf(*model, *binding);
    origin.backend = options.backend;
    origin.numbers = dtype;
    origin.passes = passes;
    origin.precision = precision == cuda::Precision::Highest ? "highest" : "high";
    origin.gradients = options.grad;
    if (isFile)
      return writePlan(options, *architectures, std::move(*plan), std::move(origin));
    text = exec::planText(*plan, origin);
  } else {
    const SummaryOptions summary = {options.model.path, passes, dtype, plans, {}, options.perOp};
    auto form = formText(*program, *binding, {options.emit, summary, precision, wideIds, output});
    if (!form)
      return form.status();
    text = std::move(*form);
  }
  if (options.outPath.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);  // what goes wrong is seen when the program ends
    return Status::ok();
  }
  return replaceFile(options.outPath, text);
}

int compileCommand(const CompileOptions &options) {
  Status status = compileModel(options);
  if (status.isOk())
    return kExitFine;
  const int code = report(status);
  return interruptSignal() != 0 ? interruptExitCode() : code;
}

}  // namespace hector
