/// Functions of flow put together: what one returns, the next one reads.
///
///   part `layer1`, wires {x: "features"}           inputs of the whole: features, layer1.W
///   part `layer2`, wires {x: "layer1.out"}         and layer2.W
///   results {"layer2.out" as "out"}
#pragma once

#include "compiler/Import/PartResult.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <map>
#include <span>
#include <string>

namespace hector {

/// A function within a whole.
struct Part {
  std::string name;
  mlir::func::FuncOp function;
  /// What inputs read: `PART.RESULT` of an earlier part, or an input of the whole, which is made where it is named
  /// first. Inputs that are not listed are inputs `PART.INPUT` of the whole.
  std::map<std::string, std::string> wires;
};

/// A module with one function, called `name`, that computes all parts in their order. Each part draws its own numbers
/// in dropout. Null, with an error at the part's function, where a wire joins tables of different types or a result is
/// not there.
mlir::OwningOpRef<mlir::ModuleOp> composeParts(mlir::MLIRContext &context, const std::string &name,
                                               std::span<const Part> parts, std::span<const PartResult> results);

}  // namespace hector
