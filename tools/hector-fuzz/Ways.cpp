#include "Ways.h"

#include "interp/Interpreter.h"

#include <algorithm>
#include <cmath>

namespace hector::fuzz {

static constexpr double kTolerance = 1e-9;

Result<Loaded> load(const TestProgram &test) {
  auto model = parseModel(test.text, "model.hec");
  if (!model)
    return std::move(model).status();
  auto binding = bind(*model);
  if (!binding)
    return std::move(binding).status();
  auto bound = bindCase(test.file, model->signature, *binding);
  if (!bound)
    return std::move(bound).status();
  return Loaded{std::move(*model), std::move(*binding), std::move(*bound)};
}

std::optional<std::string> difference(const Table &a, const Table &b) {
  double scale = 1.0;
  for (double value : a.values)
    if (std::isfinite(value))
      scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < a.values.size(); ++i) {
    double x = a.values[i], y = b.values[i];
    bool isSame = std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) <= kTolerance * scale
                                                       : std::isfinite(x) == std::isfinite(y);
    if (!isSame)
      return "entry " + std::to_string(i) + " is " + std::to_string(x) + " and " + std::to_string(y) + ", apart by " +
             std::to_string(std::abs(x - y) / scale);
  }
  return std::nullopt;
}

bool isAtKink(const Program &program, const Graph &graph, const std::vector<Table> &arguments, uint64_t seed,
              llvm::function_ref<bool(const std::vector<Table> &)> isFar) {
  constexpr int kTries = 32;
  for (int i = 0; i < kTries; ++i) {
    RunMode mode = kMode;
    mode.noise = seed = mix(seed);
    if (auto results = interpret(program.function(), graph, arguments, mode); results && isFar(*results))
      return true;
  }
  return false;
}

flow::GraphAttr randomNumbers(mlir::MLIRContext &context, const Graph &graph, uint64_t seed) {
  auto number = [&] {
    seed = mix(seed);
    return static_cast<int64_t>(1 + (seed >> 8) % (uint64_t{1} << (1 + seed % 20)));
  };
  bool isUniform = graph.srcTypeOfRelation() && graph.dstTypeOfRelation();
  int64_t nodes = number(), edges = number(), srcPairs = number(), dstPairs = number(), relations = number();
  return flow::GraphAttr::get(&context, nodes, edges, srcPairs, dstPairs, relations, number(), isUniform, {}, {}, {},
                              {});
}

MachineDescription randomMachine(uint64_t seed) {
  auto number = [&](int bits) {
    seed = mix(seed);
    return static_cast<int64_t>(1 + (seed >> 8) % (uint64_t{1} << (1 + seed % static_cast<uint64_t>(bits))));
  };
  // Between braces, the numbers are drawn from left to right.
  return {"random",   number(1) == 1 ? MachineTarget::Cpu : MachineTarget::Gpu,
          number(12), number(26),
          number(8),  number(17),
          number(17), number(17),
          number(15), number(14)};
}

}  // namespace hector::fuzz
