#include "driver/Kernels.h"

#include "kernels/Headers.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Processor.h"
#include "runtime/base/Text.h"
#include "runtime/device/Nvrtc.h"
#include "runtime/jit/Compiler.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace hector {

/// The flags that all kernels are compiled with.
static std::vector<std::string> kernelFlags() {
  std::vector<std::string> flags = baseFlags();
  // Numbers have the same bits wherever they are computed: nothing is reordered, and multiplications and additions are
  // not fused, except in products.
  for (const char *flag : {"-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=hidden"})
    flags.push_back(flag);
  return flags;
}

static CodeRequest requestFor(const exec::Plan &plan, const std::vector<std::string> &flags = {}) {
  CodeRequest request;
  request.main = {plan.name + ".cpp", plan.source};
  for (const EmbeddedFile &header : cpuHeaders())
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  request.flags = kernelFlags();
  request.flags.insert(request.flags.end(), flags.begin(), flags.end());
  request.what = plan.name;
  return request;
}

static exec::KernelLookup lookIn(Library library) {
  auto shared = std::make_shared<Library>(std::move(library));
  return [shared](const std::string &symbol) { return shared->find(symbol.c_str()); };
}

Result<exec::KernelLookup> loadKernels(const exec::Plan &plan, const JitEvents &events,
                                       const std::vector<std::string> &flags) {
  auto library = loadOrCompile(requestFor(plan, flags), events);
  if (!library)
    return std::move(library).status();
  return lookIn(std::move(library).take());
}

static DeviceSource deviceSource(const exec::Plan &plan) {
  return {{plan.name + ".cu", plan.source}, cudaHeaders(), plan.name};
}

Result<std::shared_ptr<DeviceProgram>> loadKernels(const exec::Plan &plan, Device &device, const JitEvents &events) {
  auto program = device.load(deviceSource(plan), events);
  if (!program)
    return std::move(program).status();
  return std::shared_ptr<DeviceProgram>(std::move(*program));
}

// --- saving ---------------------------------------------------------------------------------------------------------

exec::PlanOrigin originOf(const Model &model, const language::Binding &binding) {
  exec::PlanOrigin origin;
  origin.modelPath = model.source->name();
  origin.modelText = model.source->text();
  origin.entry = model.signature.function ? model.signature.name : "";
  for (const auto &[name, value] : binding.attributes) {
    const auto *text = std::get_if<std::string>(&value);
    origin.attributes.push_back(name + "=" + (text ? *text : language::formatConstant(value)));
  }
  for (const auto &[name, size] : binding.sizes)
    origin.sizes.push_back(name + "=" + std::to_string(size));
  return origin;
}

static std::string hashOf(std::span<const EmbeddedFile> headers) {
  TextHash hash;
  for (const EmbeddedFile &header : headers) {
    hash.add(header.name);
    hash.add(header.text);
  }
  return hash.digest();
}

Result<exec::SavedPlan> compilePlan(std::shared_ptr<const exec::Plan> plan, exec::PlanOrigin origin,
                                    const JitEvents &events) {
  auto compiler = findCompiler();
  if (!compiler)
    return compiler.status();
  auto code = findOrCompile(requestFor(*plan), events);
  if (!code)
    return code.status();
  exec::SavedPlan saved;
  saved.plan = std::move(plan);
  saved.origin = std::move(origin);
  saved.made = {HECTOR_VERSION, hashOf(cpuHeaders()), compiler->title(), kernelFlags(), thisProcessor()};
  saved.code = code->bytes;
  saved.owner = code->owner;
  return saved;
}

/// "sm_80, sm_90".
static std::string listOf(std::span<const int> architectures) {
  std::string list;
  for (int architecture : architectures)
    list += (list.empty() ? "sm_" : ", sm_") + std::to_string(architecture);
  return list;
}

/// The most shared memory that a block has.
static int64_t sharedBytesOf(int architecture) {
  constexpr int64_t kKiB = 1024;
  if (architecture == 80 || architecture == 87)
    return 163 * kKiB;
  const bool isSmall = architecture < 90 || architecture >= 120;  // GPUs for desktops
  return isSmall ? 99 * kKiB : exec::kMostSharedBytes;
}

Result<exec::SavedPlan> compileCudaPlan(std::shared_ptr<const exec::Plan> plan, exec::PlanOrigin origin,
                                        std::span<const int> architectures, const JitEvents &events,
                                        const NoteReason &onNoCode) {
  exec::SavedPlan saved;
  saved.plan = std::move(plan);
  saved.origin = std::move(origin);
  saved.made = {HECTOR_VERSION, hashOf(cudaHeaders()), "", commonCudaFlags()};
  auto nvrtc = Nvrtc::find();
  if (!nvrtc) {
    if (onNoCode)
      onNoCode(nvrtc.status().message());
    return saved;
  }
  saved.made.compiler = nvrtc->title();
  auto possible = nvrtc->architectures();
  if (!possible)
    return possible.status();
  for (int architecture : architectures)
    if (!std::binary_search(possible->begin(), possible->end(), architecture))
      return Status::invalid(nvrtc->title() + " does not compile for sm_" + std::to_string(architecture) +
                             ", only for " + listOf(*possible));
  for (int architecture : architectures)
    for (const exec::Step &step : saved.plan->steps)
      if (const int64_t bytes = step.launch.device->sharedBytes; bytes > sharedBytesOf(architecture))
        return Status::invalid("sm_" + std::to_string(architecture) + " has " +
                               formatBytes(sharedBytesOf(architecture)) + " of shared memory for a block, and " +
                               inTicks(step.launch.label) + " needs " + formatBytes(bytes) + "; leave out --arch sm_" +
                               std::to_string(architecture));
  auto owners = std::make_shared<std::vector<CompiledCode>>();
  const std::set<int> each(architectures.begin(), architectures.end());
  for (int architecture : each) {
    auto code = compileCuda(deviceSource(*saved.plan).request(cudaFlags(architecture)), *nvrtc, events);
    if (!code)
      return code.status();
    saved.cubins.push_back({architecture, code->bytes});
    owners->push_back(std::move(*code));
  }
  saved.owner = std::move(owners);
  return saved;
}

// --- loading --------------------------------------------------------------------------------------------------------

/// Why code was not made as this build would make it. Empty if it was.
static std::string whyOther(const exec::CodeOrigin &made, std::span<const EmbeddedFile> headers,
                            const std::vector<std::string> &flags) {
  if (made.version != HECTOR_VERSION)
    return "it was made by Hector " + made.version + ", and this is " + HECTOR_VERSION;
  if (made.headers != hashOf(headers))
    return "it was made by another build of Hector " + made.version + ", with other headers";
  if (made.flags != flags)
    return "it was made by another build of Hector " + made.version + ", which has other flags for the compiler";
  return "";
}

std::string whyStale(const exec::CodeOrigin &made) {
  const std::string why = whyOther(made, cpuHeaders(), kernelFlags());
  return why.empty() ? whyUnfit(made.processor, thisProcessor()) : why;
}

/// The code that a GPU runs, the closest to it: of its major version, and of no later minor version. Null if there is
/// none.
static const exec::Cubin *findCubin(const exec::SavedPlan &saved, int architecture) {
  const exec::Cubin *found = nullptr;
  for (const exec::Cubin &cubin : saved.cubins)
    if (cubin.architecture / 10 == architecture / 10 && cubin.architecture <= architecture)
      found = &cubin;
  return found;
}

std::string whyStale(const exec::SavedPlan &saved, const DeviceInfo &device) {
  if (saved.cubins.empty())
    return "there was no NVRTC when the plan was made";
  const std::string why = whyOther(saved.made, cudaHeaders(), commonCudaFlags());
  if (!why.empty() || findCubin(saved, device.architecture))
    return why;
  std::vector<int> architectures;
  for (const exec::Cubin &cubin : saved.cubins)
    architectures.push_back(cubin.architecture);
  const bool isEmulated = device.architecture == 0;
  return "it is for " + listOf(architectures) + ", and the GPU is " +
         (isEmulated ? device.name : device.name + " (sm_" + std::to_string(device.architecture) + ")");
}

/// The plan for ids of another width, which one line of its source decides. Nothing if it has no such line.
static std::optional<exec::Plan> withIds(const exec::Plan &plan, bool wideIds) {
  const std::string from = std::string("\nusing Id = ") + (wideIds ? "int32_t" : "int64_t") + ";\n";
  const std::string to = std::string("\nusing Id = ") + (wideIds ? "int64_t" : "int32_t") + ";\n";
  const size_t at = plan.source.find(from);
  if (at == std::string::npos || plan.source.find(from, at + 1) != std::string::npos)
    return std::nullopt;
  exec::Plan other = plan;
  other.source.replace(at, from.size(), to);
  other.wideIds = wideIds;
  return other;
}

/// The command that makes a plan again: "hector compile rgat.hec --size d_in=64 --grad -o FILE"; `architecture` is that
/// of a GPU, or 0.
static std::string commandFor(const exec::PlanOrigin &origin, int architecture = 0) {
  // In quotes for a shell, where it needs them.
  auto word = [](const std::string &text) {
    const bool isPlain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) || std::string_view("_-./=,:+").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (isPlain)
      return text;
    std::string quoted = "'";
    for (char c : text)
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
  };
  std::string command = "hector compile " + word(origin.modelPath);
  if (!origin.entry.empty())
    command += " --entry " + word(origin.entry);
  for (const std::string &attribute : origin.attributes)
    command += " --set " + word(attribute);
  for (const std::string &size : origin.sizes)
    command += " --size " + word(size);
  if (origin.numbers != "f32")
    command += " --dtype " + word(origin.numbers);
  if (origin.passes != "default")
    command += " --passes " + word(origin.passes);
  if (origin.gradients) {
    std::string names;
    for (const std::string &name : *origin.gradients)
      names += (names.empty() ? "=" : ",") + name;
    command += " --grad" + names;
  }
  if (origin.backend != exec::kCpu)
    command += " --backend " + word(origin.backend);
  if (origin.precision != exec::PlanOrigin().precision)
    command += " --precision " + word(origin.precision);
  if (architecture > 0)
    command += " --arch sm_" + std::to_string(architecture);
  return command + " -o FILE";
}

/// The plan for ids of this width: the saved one, or one with another source. Then `why` says why its code is not used.
static Result<std::shared_ptr<const exec::Plan>> fitIds(const exec::SavedPlan &saved, bool wideIds, std::string &why) {
  if (saved.plan->wideIds == wideIds)
    return saved.plan;
  why = std::string("it is for ids of ") + (wideIds ? "32" : "64") + " bits, and those of the graph have " +
        (wideIds ? "64" : "32");
  auto other = withIds(*saved.plan, wideIds);
  if (!other)
    return Status::invalid("the code of the plan cannot be used: " + why +
                           ", and its source has no line that says so; compile the model for this graph");
  return std::make_shared<const exec::Plan>(std::move(*other));
}

/// Says why code could neither be used nor made again; `where` and `command` say how to make the plan again.
static Status neitherUsedNorMade(const std::string &why, const Status &status, const std::string &where,
                                 const std::string &command) {
  return Status::failed("the code of the plan cannot be used: " + why +
                        "; and it cannot be made again: " + status.message() +
                        "\n   help: make the plan again, where " + where + ", with\n         " + command);
}

Result<LoadedPlan> loadSavedPlan(const exec::SavedPlan &saved, bool wideIds, const JitEvents &events,
                                 const NoteReason &onRebuild) {
  std::string why;
  auto plan = fitIds(saved, wideIds, why);
  if (!plan)
    return plan.status();
  if (why.empty())
    why = whyStale(saved.made);
  if (why.empty()) {
    auto library = loadCode(saved.code);
    if (library)
      return LoadedPlan{*plan, lookIn(std::move(library).take())};
    why = library.status().message();
  }
  if (onRebuild)
    onRebuild(why);
  auto kernels = loadKernels(**plan, events);
  if (!kernels)
    return neitherUsedNorMade(why, kernels.status(), "there is a compiler and for a machine like this",
                              commandFor(saved.origin));
  return LoadedPlan{*plan, std::move(kernels).take()};
}

Result<LoadedDevicePlan> loadSavedPlan(const exec::SavedPlan &saved, bool wideIds, Device &device,
                                       const JitEvents &events, const NoteReason &onRebuild) {
  const int architecture = device.info().architecture;
  std::string why;
  auto plan = fitIds(saved, wideIds, why);
  if (!plan)
    return plan.status();
  if (why.empty())
    why = whyStale(saved, device.info());
  if (why.empty()) {
    auto program = device.loadCode(findCubin(saved, architecture)->code, saved.plan->name);
    if (program)
      return LoadedDevicePlan{*plan, std::shared_ptr<DeviceProgram>(std::move(*program))};
    why = program.status().message();
  }
  if (onRebuild)
    onRebuild(why);
  auto program = loadKernels(**plan, device, events);
  if (!program)
    return neitherUsedNorMade(why, program.status(), "there is NVRTC", commandFor(saved.origin, architecture));
  return LoadedDevicePlan{*plan, std::move(program).take()};
}

}  // namespace hector
