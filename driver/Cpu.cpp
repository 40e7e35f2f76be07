#include "driver/Cpu.h"

#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "kernels/Headers.h"
#include "runtime/jit/Compiler.h"

#include <mlir/IR/Verifier.h>

namespace hector {

/// A copy of the program's module, lowered to kern.
static Result<mlir::OwningOpRef<mlir::ModuleOp>> lowered(const Program &program) {
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
  if (mlir::failed(lowerToKern(*module)) || mlir::failed(mlir::verify(*module)))
    return Status::failed("the program could not be turned into kernels; this is a bug of Hector");
  return module;
}

Result<exec::Plan> makePlan(const Program &program, const CppOptions &options) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  return emitCpp(**module, options);
}

Result<std::string> kernText(const Program &program) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  return text;
}

Result<exec::KernelLookup> loadKernels(const exec::Plan &plan, const JitEvents &events,
                                       const std::vector<std::string> &flags) {
  CodeRequest request;
  request.main = {plan.name + ".cpp", plan.source};
  for (const EmbeddedFile &header : cpuHeaders())
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  request.flags = baseFlags();
  // Numbers have the same bits wherever they are computed: nothing is reordered, and multiplications and additions are
  // not fused, except in products.
  for (const char *flag : {"-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=hidden"})
    request.flags.push_back(flag);
  request.flags.insert(request.flags.end(), flags.begin(), flags.end());
  request.what = plan.name;
  auto library = loadOrCompile(request, events);
  if (!library)
    return std::move(library).status();
  auto shared = std::make_shared<Library>(std::move(library).take());
  return exec::KernelLookup([shared](const std::string &symbol) { return shared->find(symbol.c_str()); });
}

Result<std::vector<NamedTensor>> runOnCpu(const Program &program, const Graph &graph, const Tensors &tensors,
                                          const CpuOptions &options) {
  auto made = makePlan(program, {.wideIds = exec::needsWideIds(graph)});
  if (!made)
    return std::move(made).status();
  auto plan = std::make_shared<const exec::Plan>(std::move(made).take());
  auto kernels = loadKernels(*plan, options.events);
  if (!kernels)
    return std::move(kernels).status();
  auto executor = exec::Executor::create(plan, std::move(*kernels), graph, options.exec);
  if (!executor)
    return std::move(executor).status();
  auto arguments = bindArguments(program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  for (const NamedTensor &argument : *arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  if (options.seed)
    executor->setTraining(*options.seed, options.step);
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan->outputs) {
    auto tensor = executor->output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(tensor).take()});
  }
  return results;
}

}  // namespace hector
