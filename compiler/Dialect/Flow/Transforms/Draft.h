/// Rewrites that are tried: what each would add to a function, and what it would leave unread.
///
/// A pass that can write an op in several ways builds one after the other in a draft, counts, and clears it again. The
/// function itself does not change meanwhile, so its ops keep their order and nothing about it has to be found anew; a
/// try costs what it builds, however large the function is. The best one is built once more and placed.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Block.h>

namespace hector::flow {

/// The ops that nothing would read any more if those of `gone` were not there. They come first, and every other one
/// after all that read it. `kept` stays, whoever reads it.
llvm::SetVector<mlir::Operation *> unread(llvm::ArrayRef<mlir::Operation *> gone, mlir::Operation *kept = nullptr);

/// Whether two ops compute the same from the same operands.
bool isEqual(mlir::Operation *a, mlir::Operation *b);

class Draft {
public:
  /// Borrows the block of a function, in which the sites are.
  explicit Draft(mlir::Block &body);

  /// From here on, what is built would stand before `site`.
  void startBefore(mlir::Operation *site) { this->site = site; }
  /// Where to build.
  mlir::Block &getBlock() { return aside; }
  /// What computes the same as `op`, the newest of the draft, and was there before it: in the draft, or in the function
  /// before the site.
  mlir::Operation *findEqual(mlir::Operation *op);
  /// The same in the function after the site.
  mlir::Operation *findEqualLater(mlir::Operation *op);

  /// Erases the ops that nothing reads, `kept` excepted; tells `erasing` of each before it goes.
  void eraseUnread(mlir::Operation *kept, llvm::function_ref<void(mlir::Operation *)> erasing = nullptr);
  void clear() { aside.clear(); }
  /// Moves all ops of the draft into the function, before the site.
  void place();
  /// To be told of ops of the function that are about to be erased.
  void forget(mlir::Operation *op);

private:
  template <class Accept> mlir::Operation *findReader(mlir::Operation *op, Accept accept);

  mlir::Block &body;
  mlir::Block aside;
  mlir::Operation *site = nullptr;
  /// The first of equal constants: those have no operand whose readers could be asked.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, mlir::Operation *> constants;
};

}  // namespace hector::flow
