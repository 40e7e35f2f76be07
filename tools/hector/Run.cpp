/// `hector run`: one model on one case.

#include "Case.h"
#include "Model.h"
#include "compiler/Import/Import.h"
#include "interp/Interpreter.h"
#include "language/Diagnostics.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphSummary.h"
#include "runtime/storage/File.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdio>

namespace hector {

/// The backend and number type that the options ask for, or what is wrong with them.
static Status chooseBackend(RunOptions &options) {
  std::string &backend = options.backend, &dtype = options.model.dtype;
  if (backend.empty())
    backend = "interp";
  if (backend != "interp")
    return Status::invalid("error: this build has no `" + backend + "` backend; run with --backend interp");
  if (dtype.empty())
    dtype = "f64";
  if (dtype == "tf32")
    return Status::invalid("error: tf32 is a mode of GPU matrix units; the interpreter has f64, f32, f16 and bf16");
  return Status::ok();
}

/// Appends the upstream gradients that a differentiated function takes after its inputs: `grad.NAME` of the case for
/// result NAME, zeros for results that have none as long as one has.
static Status appendGradients(mlir::func::FuncOp function, const Case &loaded, std::vector<Table> &arguments) {
  bool isAnyGiven = false;
  size_t numInputs = arguments.size();
  for (size_t i = numInputs; i < function.getNumArguments(); ++i) {
    std::string name = inputName(function, i).str();
    auto type = mlir::cast<flow::RowsType>(function.getArgumentTypes()[i]);
    Table table;
    table.rows = numRows(loaded.graph, type.getDomain());
    table.shape.assign(type.getShape().begin(), type.getShape().end());
    std::vector<int64_t> shape = table.shape;
    if (type.getDomain() != flow::Domain::One)
      shape.insert(shape.begin(), table.rows);
    if (const Tensor *tensor = loaded.file.find(name)) {
      if (tensor->shape != shape)
        return Status::invalid("tensor `" + name + "` has shape " + formatShape(tensor->shape) +
                               ", but the result it belongs to has " + formatShape(shape));
      table.values = tensor->toDoubles();
      isAnyGiven = true;
    } else {
      const auto numbers = static_cast<double>(table.rows) * static_cast<double>(type.getRowSize());
      if (numbers * sizeof(double) > static_cast<double>(availableMemory()))
        return Status::failed("out of memory: the gradient `" + name + "` has shape " + formatShape(shape));
      table.values.assign(table.rows * type.getRowSize(), 0.0);
    }
    arguments.push_back(std::move(table));
  }
  if (!isAnyGiven) {
    std::string wanted = inputName(function, numInputs).str();
    std::vector<std::string_view> names;
    for (const auto &[name, tensor] : loaded.file.tensors)
      if (name.starts_with("grad."))
        names.push_back(name);
    std::string_view near = language::nearest(wanted, names);
    return Status::invalid("there is no tensor `" + wanted + "`, the gradient that --grad starts from" +
                           (near.empty() ? "" : "; did you mean `" + std::string(near) + "`?"));
  }
  return Status::ok();
}

static Status runModel(RunOptions options) {
  if (Status status = chooseBackend(options); !status.isOk())
    return status;
  const std::string inputs[] = {options.model.path, options.casePath};
  if (Status status = refuseOverwriting(options.outPath, inputs); !status.isOk())
    return std::move(status).during("error");
  auto model = loadModel(options.model);
  if (!model)
    return model.status();
  language::Binding binding;
  if (auto wrong = language::bindAttributes(model->signature, options.model.settings, binding))
    return Status::invalid("error: " + *wrong);
  if (auto wrong = language::bindSizes(model->signature, options.model.sizes, binding))
    return Status::invalid("error: " + *wrong);
  auto loaded = loadCase(options.casePath, model->signature, binding);
  if (!loaded)
    return loaded.status();

  if (Status status = requireMemory("error: " + options.casePath + ": the graph", formBytes(loaded->graph));
      !status.isOk())
    return status;

  mlir::MLIRContext context;
  loadDialects(context);
  auto module = compileToFlow(context, *model, binding, options.model.dtype);
  if (!module)
    return module.status();
  attachGraph(module->get(), loaded->graph);
  if (Status status = chooseGradients(module->get(), model->signature, options.gradInputs); !status.isOk())
    return status;
  if (Status status = runPasses(module->get(), options.passes, options.grad); !status.isOk())
    return status;
  auto function = *module->get().getOps<mlir::func::FuncOp>().begin();

  std::vector<Table> arguments;
  for (size_t i = 0; i < loaded->inputs.size(); ++i)
    arguments.push_back(toTable(*loaded->inputs[i], model->signature.inputs[i].home));
  if (options.grad)
    if (Status status = appendGradients(function, *loaded, arguments); !status.isOk())
      return std::move(status).during("error: " + options.casePath);
  auto results = interpret(function, loaded->graph, std::move(arguments), {options.train, options.seed, options.step});
  if (!results)
    return Status(results.status()).during("error: " + options.casePath);

  TensorFile out;
  out.metadata["model"] = model->signature.name;
  DType dtype = options.model.dtype == "f64" ? DType::F64 : DType::F32;
  std::string summary;
  for (size_t i = 0; i < results->size(); ++i) {
    const Table &table = (*results)[i];
    auto type = mlir::cast<flow::RowsType>(function.getResultTypes()[i]);
    std::vector<int64_t> shape = table.shape;
    if (type.getDomain() != flow::Domain::One)
      shape.insert(shape.begin(), table.rows);
    std::string name = resultName(function, i).str();
    summary += "  " + name + " " + formatShape(shape) + " " + std::string(hector::name(dtype)) + "\n";
    out.tensors[name] = Tensor::fromDoubles(shape, table.values, dtype);
  }
  if (Status status = writeSafetensors(options.outPath, out); !status.isOk())
    return std::move(status).during("error");
  std::printf("%s: %s, %s, %s; %s, %s\nwrote %s\n%s", model->signature.name.c_str(),
              counted(loaded->graph.numNodes(), "node").c_str(), counted(loaded->graph.numEdges(), "edge").c_str(),
              counted(loaded->graph.numRelations(), "edge type").c_str(), options.backend.c_str(),
              options.model.dtype.c_str(), options.outPath.c_str(), summary.c_str());
  return Status::ok();
}

int runCommand(const RunOptions &options) {
  Status status = runModel(options);
  return status.isOk() ? kExitFine : report(status);
}

}  // namespace hector
