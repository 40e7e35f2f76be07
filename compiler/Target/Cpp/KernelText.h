/// What the writers of kernels share, whatever the target: names, index arrays, tables and formulas.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"
#include "compiler/Target/Cpp/Text.h"
#include "compiler/Target/Cpp/Writer.h"
#include "runtime/exec/Plan.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <optional>
#include <string>
#include <vector>

namespace hector {

/// What a launch has to know of a kernel, besides its tables.
struct KernelFacts {
  std::vector<std::string> tables;  // names of the arguments
  std::vector<exec::Form> forms;
  std::vector<exec::TotalSpec> totals;
  exec::ScratchSpec scratch;
  flow::Domain unit = flow::Domain::One;
  std::optional<exec::Form> balance;
  double unitCost = 1;
  std::optional<exec::DeviceLaunch> device;  // where it was written for a GPU
};

class KernelText {
public:
  virtual ~KernelText() = default;

  KernelFacts facts;

protected:
  /// `space` is the namespace of the functions that are called: "cpu::".
  KernelText(kern::KernelOp kernel, std::string symbol, std::string space)
      : kernel(kernel), symbol(std::move(symbol)), space(std::move(space)) {}

  void nameTables();
  void noteTotals();
  void noteUnits();
  void writeSummary(Writer &out);

  //===- Formulas ------------------------------------------------------------------------------------------------===//
  std::string literal(double value, mlir::Type element) const { return cpp::literal(space, value, element); }
  std::string startOf(kern::AccKind kind, mlir::Type element) const { return cpp::startOf(space, kind, element); }
  /// What a statement computes of one number of each operand. `offset` is that of the result's number.
  std::string apply(kern::MapOp map, const std::vector<std::string> &operands, const std::string &offset);
  /// What tells which numbers a dropout drops, and how to read it; declared before the loops.
  virtual std::string dropped(kern::MapOp map, const std::string &row, const std::string &offset) = 0;
  virtual std::string isTraining() const = 0;

  //===- Ops -----------------------------------------------------------------------------------------------------===//
  void writeBlock(mlir::Block &block);
  /// Calls what writes ops of this kind. Totals are written with the loops around them.
  void writeOp(mlir::Operation &op);
  virtual void writeFor(kern::ForOp loop) = 0;
  virtual void writeTile(kern::TileOp tile) = 0;
  virtual void writeLoad(kern::LoadOp load) = 0;
  virtual void writeStore(kern::StoreOp store) = 0;
  virtual void writeNumber(kern::NumberOp number) = 0;
  virtual void writeBuffer(kern::BufferOp buffer) = 0;
  virtual void writeMap(kern::MapOp map) = 0;
  virtual void writeConcat(kern::ConcatOp concat) = 0;
  virtual void writeMatch(kern::MatchOp match) = 0;
  virtual void writeAcc(mlir::Value acc, kern::AccKind kind) = 0;
  virtual void writeFold(kern::FoldOp fold) = 0;
  virtual void writeStep(kern::StepOp step) = 0;
  virtual void writeFinish(kern::FinishOp finish) = 0;
  virtual void writeProduct(kern::ProductOp product) = 0;
  virtual void writeOuter(kern::OuterOp outer) = 0;
  virtual void writePut(kern::PutOp put) = 0;
  virtual void writeGet(kern::GetOp get) = 0;
  virtual void writeConstant(kern::ConstantOp constant) = 0;

  //===- Names ---------------------------------------------------------------------------------------------------===//
  /// Names that `unique` gives belong to the block that is written; the next block may have them again.
  class NameScope {
  public:
    explicit NameScope(KernelText &writer) : writer(writer) { writer.scopes.emplace_back(); }
    ~NameScope();
    NameScope(const NameScope &) = delete;
    NameScope &operator=(const NameScope &) = delete;

  private:
    KernelText &writer;
  };
  std::string unique(llvm::StringRef base);
  std::string uniqueInKernel(llvm::StringRef base);
  /// The name that the model gives to what is computed there.
  static std::string baseOf(mlir::Location location, llvm::StringRef otherwise);
  std::string form(llvm::StringRef name);
  std::string pathTo(flow::Domain level, mlir::ArrayAttr path);
  /// The same from any row of the level.
  std::string pathFrom(std::string place, mlir::ArrayAttr path);
  /// The start of a row of a table.
  std::string rowAt(const std::string &table, flow::Domain level, mlir::ArrayAttr path, int64_t size);
  /// Where the rows of `domain` below the current row of `outer` start.
  std::string offsetsName(flow::Domain outer, flow::Domain domain);
  std::string offsetsForm(flow::Domain outer, flow::Domain domain);
  /// What the rows of a buffer are called: by their own name, or by what they come from.
  std::string bufferBase(kern::BufferOp buffer);
  /// The type of the numbers among which `nearest` looks.
  static mlir::Type comparedType(mlir::Value acc);

  kern::KernelOp kernel;
  std::string symbol, space;
  llvm::StringSet<> taken;
  std::vector<std::vector<std::string>> scopes;  // names taken by the blocks that are open
  std::vector<flow::Domain> levels;              // of the loops that are open
  std::vector<std::string> formNames;
  llvm::StringMap<std::string> formVariables;
  llvm::DenseMap<mlir::Value, std::string> tables;
  std::vector<kern::TotalOp> totals;
};

}  // namespace hector
