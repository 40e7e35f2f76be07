/// How a program is compiled and run in one way, and how two outcomes are compared.
#pragma once

#include "Generator.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "driver/Run.h"
#include "runtime/machine/Machine.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hector::fuzz {

/// A program parsed and bound to its case.
struct Loaded {
  Model model;
  language::Binding binding;
  Case bound;
};
Result<Loaded> load(const TestProgram &test);

inline constexpr RunMode kMode = {.isTraining = true, .seed = 1, .step = 1};  // all ways drop the same

/// Where two tables differ by more than 1e-9, relative to their largest entry.
std::optional<std::string> difference(const Table &a, const Table &b);

/// Whether a program without groups, run with small errors in its sums, gives results for which `isFar` holds: it
/// passes on roundings enlarged, or compares numbers that are equal but for rounding.
bool isAtKink(const Program &program, const Graph &graph, const std::vector<Table> &arguments, uint64_t seed,
              llvm::function_ref<bool(const std::vector<Table> &)> isFar);

/// Numbers for the choices that passes make by row counts. They need not be the graph's own: any plan is right. Only
/// what a plan may rest on, that relations join one type to one type, is true.
flow::GraphAttr randomNumbers(mlir::MLIRContext &context, const Graph &graph, uint64_t seed);

/// A machine of any kind and speed, for the choices that are made by time.
MachineDescription randomMachine(uint64_t seed);

}  // namespace hector::fuzz
