/// The ops of a function by number, with what grouping and pricing ask about each of them again and again.
#pragma once

#include "compiler/Analysis/Loops.h"
#include "compiler/Analysis/Operations.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <vector>

namespace hector::flow {

/// The body of a function whose ops have one result each. Constants and the return have no number, since a constant is
/// repeated wherever it is read; neither have ops on which no result depends.
class Body {
public:
  static constexpr unsigned kNone = ~0u;

  struct Operand {
    unsigned source = kNone;  // the number of the op that computes it
    unsigned table = kNone;   // the number of the value: arguments first, then ops
    mlir::Value value;
    Map map = Map::Self;
    RowsType type;
    double rowBytes = 0;
    double tableBytes = 0;
    LoopKinds inner;  // the loops in which it may come from the same loop
  };

  struct Op {
    mlir::Operation *op = nullptr;
    Domain walked = Domain::One;       // the rows that it visits
    Domain domain = Domain::One;       // those of its result
    Map collects = Map::Self;          // the map along which it reduces
    double products = 0;               // operations of products of matrices
    double scalars = 0;                // other operations
    double productWork = 0, work = 0;  // both in operations at the machine's rates, as long as they take
    double rowBytes = 0;               // of the result
    double tableBytes = 0;
    bool isProduct = false;
    bool isCheap = false;  // works within a row: computing it again visits no more rows than reading it would
    bool isReturned = false;
    Phase phase = Phase::Forward;
    LoopKinds kinds;
    llvm::SmallVector<Operand, 3> operands;  // constants left out
    llvm::SmallVector<unsigned, 2> readers;  // each once, in program order
  };

  explicit Body(mlir::func::FuncOp function);

  unsigned size() const { return static_cast<unsigned>(ops.size()); }
  const Op &operator[](unsigned number) const { return ops[number]; }
  /// The number of the op that computes a value; nothing for arguments and constants.
  std::optional<unsigned> find(mlir::Value value) const;
  unsigned numTables() const { return numArguments + size(); }
  /// The number of an op's result as a table.
  unsigned tableOf(unsigned op) const { return numArguments + op; }

  mlir::func::FuncOp function;
  RowCounts rows;

private:
  void findPhases();

  unsigned numArguments = 0;
  std::vector<Op> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numberOf;
};

}  // namespace hector::flow
