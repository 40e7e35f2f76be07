/// `hector run`: one model on one case.

#include "driver/Run.h"

#include "Commands.h"
#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <cstdio>

namespace hector {

/// The backend and number type that the options ask for, or what is wrong with them.
static Status chooseBackend(RunOptions &options) {
  std::string &backend = options.backend, &dtype = options.model.dtype;
  if (backend.empty())
    backend = "interp";
  if (backend != "interp")
    return Status::invalid("this build has no `" + backend + "` backend; run with --backend interp");
  if (dtype.empty())
    dtype = "f64";
  if (dtype == "tf32")
    return Status::invalid("tf32 is a mode of GPU matrix units; the interpreter has f64, f32, f16 and bf16");
  return Status::ok();
}

static Status runModel(RunOptions options) {
  if (Status status = chooseBackend(options); !status.isOk())
    return status;
  const std::string inputs[] = {options.model.path, options.casePath};
  if (Status status = refuseOverwriting(options.outPath, inputs); !status.isOk())
    return status;
  auto model = loadModel(options.model.path, options.model.entry);
  if (!model)
    return model.status();
  auto binding = bind(*model, {options.model.settings, options.model.sizes});
  if (!binding)
    return binding.status();
  auto loaded = loadCase(options.casePath, model->signature, *binding);
  if (!loaded)
    return loaded.status();

  auto program = Program::import(*model, *binding,
                                 {.numbers = *numberTypeFromName(options.model.dtype), .gradients = options.grad});
  if (!program)
    return program.status();
  if (Status status = program->attachGraph(loaded->graph); !status.isOk())
    return std::move(status).during(options.casePath);
  if (Status status = program->runPasses(options.passes); !status.isOk())
    return status;
  auto results = run(*program, loaded->graph, loaded->tensors,
                     {.isTraining = options.train, .seed = options.seed, .step = options.step});
  if (!results)
    return std::move(results).status().during(options.casePath);

  TensorFile out;
  out.metadata["model"] = model->signature.name;
  std::string summary;
  for (const auto &[name, tensor] : *results) {
    summary += "  " + name + " " + formatShape(tensor.shape) + " " + std::string(hector::name(tensor.dtype)) + "\n";
    out.tensors[name] = tensor;
  }
  if (Status status = writeSafetensors(options.outPath, out); !status.isOk())
    return status;
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
