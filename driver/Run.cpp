#include "driver/Run.h"

#include "compiler/Import/Import.h"
#include "language/Diagnostics.h"
#include "runtime/base/Memory.h"

namespace hector {

static bool isShared(flow::RowsType type) {
  return type.getDomain() == flow::Domain::One;
}

/// Whether a tensor is the gradient of a result. Inputs have names without dots.
static bool isGradient(const std::string &name) {
  return name.starts_with("grad.");
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

/// Fails if a gradient that is filled with one number does not fit in memory.
static Status requireGradientMemory(const std::string &name, flow::RowsType type, int64_t rows) {
  const auto numbers = static_cast<double>(rows) * static_cast<double>(type.getRowSize());
  if (numbers * sizeof(double) <= static_cast<double>(availableMemory()))
    return Status::ok();
  return Status::failed("out of memory: the gradient `" + name + "` has shape " + formatShape(tensorShape(type, rows)));
}

/// The tensor `name` for a table of `type`, or zeros where there is none.
static Result<Tensor> makeArgument(const std::string &name, flow::RowsType type, int64_t rows, const Tensor *tensor) {
  std::vector<int64_t> shape = tensorShape(type, rows);
  if (tensor) {
    if (tensor->shape != shape)
      return Status::invalid("tensor `" + name + "` has shape " + formatShape(tensor->shape) + ", but the " +
                             (isGradient(name) ? "result" : "input") + " it belongs to has " + formatShape(shape));
    return *tensor;
  }
  if (Status status = requireGradientMemory(name, type, rows); !status.isOk())
    return status;
  const std::vector<double> zeros(rows * type.getRowSize(), 0.0);
  return Tensor::fromDoubles(std::move(shape), zeros, storedType(type));
}

/// Says that no result has a gradient to start from; `wanted` is that of the first.
static Status missingGradient(const std::string &wanted, const Tensors &tensors) {
  std::vector<std::string_view> names;
  for (const auto &[name, tensor] : tensors)
    if (isGradient(name))
      names.push_back(name);
  std::string_view near = language::nearest(wanted, names);
  return Status::invalid("there is no tensor `" + wanted + "`, the gradient that --grad starts from" +
                         (!near.empty()   ? "; did you mean `" + std::string(near) + "`?"
                          : names.empty() ? "; add it, or start from ones with `--init SEED`"
                                          : "; there are " + listNames({names.begin(), names.end()})));
}

Result<std::vector<NamedTensor>> bindArguments(const Program &program, const Graph &graph, const Tensors &tensors) {
  mlir::func::FuncOp function = program.function();
  std::vector<NamedTensor> arguments;
  std::string firstGradient;
  bool isAnyGiven = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = inputName(function, i).str();
    auto type = mlir::cast<flow::RowsType>(function.getArgumentTypes()[i]);
    auto found = tensors.find(name);
    const Tensor *tensor = found == tensors.end() ? nullptr : &found->second;
    if (isGradient(name)) {
      isAnyGiven |= tensor != nullptr;
      if (firstGradient.empty())
        firstGradient = name;
    } else if (!tensor) {
      return Status::invalid("there is no tensor for input `" + name + "`");
    }
    auto argument = makeArgument(name, type, numRows(graph, type.getDomain()), tensor);
    if (!argument)
      return std::move(argument).status();
    arguments.push_back({std::move(name), std::move(*argument)});
  }
  if (!firstGradient.empty() && !isAnyGiven)
    return missingGradient(firstGradient, tensors);
  return arguments;
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
  std::vector<std::string> added;
  for (const auto &[name, tensor] : tensors)
    if (isGradient(name))
      return added;
  mlir::func::FuncOp function = program.function();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = inputName(function, i).str();
    if (!isGradient(name))
      continue;
    auto type = mlir::cast<flow::RowsType>(function.getArgumentTypes()[i]);
    const int64_t rows = numRows(graph, type.getDomain());
    if (Status status = requireGradientMemory(name, type, rows); !status.isOk())
      return status;
    const std::vector<double> ones(rows * type.getRowSize(), 1.0);
    tensors[name] = Tensor::fromDoubles(tensorShape(type, rows), ones, storedType(type));
    added.push_back(std::move(name));
  }
  return added;
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
