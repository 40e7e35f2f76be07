/// Odd but valid modules, on which passes run in any order.
#pragma once

#include "Choices.h"
#include "Judge.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstdint>
#include <memory>

namespace hector::fuzz {

struct ModuleTally {
  int64_t modules = 0, changes = 0, passes = 0, refused = 0;
};

/// Changes modules that tests hold: ops are dropped, copied and added, types and attributes changed, and things of
/// other dialects put in. What the verifier accepts is run through a few passes. Each must leave a valid module, or
/// refuse with an error what `checkFlowFunction` refuses; anything else, a crash above all, is a failure.
class Modules {
public:
  Modules();
  /// Takes the functions of a file of tests, which `// -----` parts, that are valid; each becomes a module of its own.
  /// Gives whether the file could be read.
  bool addSeeds(const std::string &path);
  bool hasSeeds() const { return !seeds.empty(); }
  /// Makes one module and judges passes on it. With `show`, prints it and each pass before the pass runs.
  std::optional<Failure> judge(uint64_t seed, bool show);
  const ModuleTally &tally() const { return counts; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> make(Choices &choices);
  std::optional<Failure> runPass(mlir::ModuleOp module, const std::string &name, Choices &choices);

  std::shared_ptr<mlir::MLIRContext> context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> seeds;
  ModuleTally counts;
};

}  // namespace hector::fuzz
