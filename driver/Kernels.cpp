#include "driver/Kernels.h"

#include "kernels/Headers.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Processor.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Compiler.h"

#include <algorithm>
#include <cctype>
#include <optional>

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

static std::string headersHash() {
  TextHash hash;
  for (const EmbeddedFile &header : cpuHeaders()) {
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
  saved.made = {HECTOR_VERSION, headersHash(), compiler->title(), kernelFlags(), thisProcessor()};
  saved.code = code->bytes;
  saved.owner = code->owner;
  return saved;
}

// --- loading --------------------------------------------------------------------------------------------------------

std::string whyStale(const exec::CodeOrigin &made) {
  if (made.version != HECTOR_VERSION)
    return "it was made by Hector " + made.version + ", and this is " + HECTOR_VERSION;
  if (made.headers != headersHash())
    return "it was made by another build of Hector " + made.version + ", with other headers";
  if (made.flags != kernelFlags())
    return "it was made by another build of Hector " + made.version + ", which has other flags for the compiler";
  return whyUnfit(made.processor, thisProcessor());
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

/// The command that makes a plan again: "hector compile rgat.hec --size d_in=64 --grad -o FILE".
static std::string commandFor(const exec::PlanOrigin &origin) {
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
  return command + " -o FILE";
}

Result<LoadedPlan> loadSavedPlan(const exec::SavedPlan &saved, bool wideIds, const JitEvents &events,
                                 const std::function<void(const std::string &why)> &onRebuild) {
  LoadedPlan loaded = {saved.plan, nullptr};
  std::string why;
  if (saved.plan->wideIds != wideIds) {
    why = std::string("it is for ids of ") + (wideIds ? "32" : "64") + " bits, and those of the graph have " +
          (wideIds ? "64" : "32");
    auto other = withIds(*saved.plan, wideIds);
    if (!other)
      return Status::invalid("the code of the plan cannot be used: " + why +
                             ", and its source has no line that says so; compile the model for this graph");
    loaded.plan = std::make_shared<const exec::Plan>(std::move(*other));
  } else {
    why = whyStale(saved.made);
  }
  if (why.empty()) {
    auto library = loadCode(saved.code);
    if (library) {
      loaded.kernels = lookIn(std::move(library).take());
      return loaded;
    }
    why = library.status().message();
  }
  if (onRebuild)
    onRebuild(why);
  auto kernels = loadKernels(*loaded.plan, events);
  if (!kernels)
    return Status::failed(
        "the code of the plan cannot be used: " + why + "; and it cannot be made again: " + kernels.status().message() +
        "\n   help: make the plan again, where there is a compiler and for a machine like this, with\n"
        "         " +
        commandFor(saved.origin));
  loaded.kernels = std::move(kernels).take();
  return loaded;
}

}  // namespace hector
