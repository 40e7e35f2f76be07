#include "test/numerics/CpuBatch.h"

namespace hector::numerics {

Result<size_t> CpuBatch::add(Program program, const Graph &graph) {
  if (Status status = program.formGroups(); !status.isOk())
    return status;
  auto number = batch.add(program, graph);
  if (number)
    programs.push_back(std::move(program));
  return number;
}

Status CpuBatch::compile(const std::vector<std::string> &flags) {
  for (const KernelBatch::Failure &failure : batch.compile(flags))
    return Status(failure.status).during("program " + std::to_string(failure.numbers.front()));
  return Status::ok();
}

Result<exec::Executor> CpuBatch::prepare(size_t number, const Graph &graph, const Tensors &tensors,
                                         const exec::ExecOptions &options) const {
  auto arguments = bindArguments(programs[number], graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  return batch.prepare(number, graph, *arguments, options);
}

Tensors toTensors(const exec::Plan &plan, const Tables &arguments) {
  Tensors tensors;
  for (const exec::Port &input : plan.inputs)
    if (auto found = arguments.find(input.name); found != arguments.end()) {
      const Table &table = found->second;
      std::vector<int64_t> shape = table.shape;
      if (plan.tables[input.table].domain != cpu::One)
        shape.insert(shape.begin(), table.rows);
      tensors[input.name] = Tensor::fromDoubles(shape, table.values, DType::F64);
    }
  return tensors;
}

Tables toTables(const exec::Plan &plan, const std::vector<NamedTensor> &results) {
  Tables tables;
  for (const exec::Port &output : plan.outputs)
    for (const NamedTensor &result : results)
      if (result.name == output.name)
        tables[result.name] = toTable(result.tensor, plan.tables[output.table].domain == cpu::One);
  return tables;
}

Result<std::vector<NamedTensor>> CpuBatch::run(size_t number, const Graph &graph, const Tensors &tensors) const {
  auto executor = prepare(number, graph, tensors, {.poison = true});
  if (!executor)
    return std::move(executor).status();
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return resultsOf(*executor, plan(number));
}

}  // namespace hector::numerics
