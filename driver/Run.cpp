#include "driver/Run.h"

#include "compiler/Import/Import.h"
#include "driver/Arguments.h"
#include "interp/Interpreter.h"

namespace hector {

static bool isShared(flow::RowsType type) {
  return type.getDomain() == flow::Domain::One;
}

/// The shape of a table as a tensor.
static std::vector<int64_t> tensorShape(flow::RowsType type, int64_t rows) {
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  if (!isShared(type))
    shape.insert(shape.begin(), rows);
  return shape;
}

/// The type of number that a table is stored with, so that the CPU reads a tensor without a copy.
static DType storedType(flow::RowsType type) {
  const mlir::Type element = type.getElementType();
  return element.isF64() ? DType::F64 : element.isBF16() ? DType::BF16 : element.isF16() ? DType::F16 : DType::F32;
}

Table toTable(const Tensor &tensor, bool isShared) {
  Table table;
  table.rows = isShared ? 1 : tensor.shape[0];
  table.shape.assign(tensor.shape.begin() + (isShared ? 0 : 1), tensor.shape.end());
  table.values = tensor.toDoubles();
  return table;
}

/// What the program's function takes, in its order.
static std::vector<Argument> argumentsOf(const Program &program, const Graph &graph) {
  mlir::func::FuncOp function = program.function();
  std::vector<Argument> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = mlir::cast<flow::RowsType>(function.getArgumentTypes()[i]);
    arguments.push_back(
        {inputName(function, i).str(), tensorShape(type, numRows(graph, type.getDomain())), storedType(type)});
  }
  return arguments;
}

Result<std::vector<NamedTensor>> bindArguments(const Program &program, const Graph &graph, const Tensors &tensors) {
  return bindTensors(argumentsOf(program, graph), tensors);
}

Result<std::vector<Table>> makeArguments(const Program &program, const Graph &graph, const Tensors &tensors) {
  auto bound = bindArguments(program, graph, tensors);
  if (!bound)
    return std::move(bound).status();
  std::vector<Table> arguments;
  for (auto [type, argument] : llvm::zip_equal(program.function().getArgumentTypes(), *bound))
    arguments.push_back(toTable(argument.tensor, isShared(mlir::cast<flow::RowsType>(type))));
  return arguments;
}

Result<std::vector<std::string>> addUnitGradients(const Program &program, const Graph &graph, Tensors &tensors) {
  return addUnitGradients(argumentsOf(program, graph), tensors);
}

Result<std::vector<NamedTensor>> run(const Program &program, const Graph &graph, const Tensors &tensors,
                                     const RunMode &mode) {
  auto arguments = makeArguments(program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  mlir::func::FuncOp function = program.function();
  auto tables = interpret(function, graph, std::move(*arguments), mode);
  if (!tables)
    return std::move(tables).status();
  const DType dtype = program.numbers() == NumberType::F64 ? DType::F64 : DType::F32;
  std::vector<NamedTensor> results;
  for (unsigned i = 0; i < tables->size(); ++i) {
    const Table &table = (*tables)[i];
    auto type = mlir::cast<flow::RowsType>(function.getResultTypes()[i]);
    results.push_back(
        {resultName(function, i).str(), Tensor::fromDoubles(tensorShape(type, table.rows), table.values, dtype)});
  }
  return results;
}

}  // namespace hector
