/// Writes one kernel as C++.
#pragma once

#include "compiler/Target/Cpp/KernelText.h"

#include <llvm/ADT/DenseSet.h>

#include <string>
#include <vector>

namespace hector {

class KernelWriter : public KernelText {
public:
  KernelWriter(kern::KernelOp kernel, std::string symbol) : KernelText(kernel, std::move(symbol), "cpu::") {}

  /// Writes the kernel, and a join for each of its totals: `SYMBOL_join0` and so on.
  void write(Writer &out);

private:
  /// A row: how its numbers are read.
  struct Row {
    std::string name = {};          // of a number, an array or a pointer
    bool isPointer = false;         // to numbers as they are stored
    mlir::Type stored = {};         // of what a pointer points to
    mlir::Operation *op = nullptr;  // a statement that is computed where it is read
  };
  /// An accumulator.
  struct Acc {
    std::vector<std::string> names;  // of its rows
    std::string count;               // of the rows that it took, where that matters
    std::string distance;            // of the nearest row, where that is looked for
    std::string blocks, hasBlocks;   // the sum of whole blocks, where there may be many rows, and whether there is one
  };
  /// The matrix of a product, or those of its heads.
  struct Weights {
    std::string name;
    bool isTurned = false;  // transposed already, if it is to be
    bool isJoined = false;  // the matrices of all heads are side by side
  };
  struct Buffer {
    std::string base, name;  // of a row, and of all
    std::string first;       // the row of the domain that comes first
    int64_t size = 1;
    mlir::Type element;
  };

  //===- Statements ----------------------------------------------------------------------------------------------===//
  /// The statements of a loop or tile.
  void writeBody(mlir::Block &block);
  void writeFor(kern::ForOp loop) override;
  void writeTile(kern::TileOp tile) override;
  void writeTallTile(mlir::Block &block);
  void writeLoad(kern::LoadOp load) override;
  /// Has the processor fetch a row that is read a few rounds later.
  void writeFetch(kern::LoadOp load);
  void writeStore(kern::StoreOp store) override;
  void writeNumber(kern::NumberOp number) override;
  mlir::Value tableBehind(kern::BufferOp buffer);
  void writeBuffer(kern::BufferOp buffer) override;
  void writePut(kern::PutOp put) override;
  void writeGet(kern::GetOp get) override;
  void writeConstant(kern::ConstantOp constant) override;
  void writeMap(kern::MapOp map) override;
  bool writeMatrixProduct(kern::MapOp map);
  void writeCombine(kern::MapOp map);
  void writeConcat(kern::ConcatOp concat) override;
  void writeMatch(kern::MatchOp match) override;
  void writeAcc(mlir::Value acc, kern::AccKind kind) override;
  static bool isLongSum(mlir::Value acc);
  void writeFold(kern::FoldOp fold) override;
  void writeStep(kern::StepOp step) override;
  /// Whether a loop computes with numbers in buffers alone, which vectors hold side by side.
  static bool isSideBySide(kern::ForOp loop);
  void writeSideBySide(kern::ForOp loop, const std::string &begin, const std::string &end);
  /// At the end of a block of edges, sums go to those of whole blocks.
  void writeBlockEnds(kern::ForOp loop);
  void writeFoldStep(kern::StepOp step, kern::FoldOp fold);
  void writeFinish(kern::FinishOp finish) override;
  void writeFoldFinish(kern::FinishOp finish, kern::FoldOp fold);
  std::string declareMatrix(kern::ProductOp product);
  /// Declares the matrix of a product as it is multiplied with, for as long as it is the same.
  void prepareWeights(kern::ProductOp product);
  void writeProduct(kern::ProductOp product) override;
  void writeOuter(kern::OuterOp outer) override;
  void writeTotals();
  std::string slotOf(kern::TotalOp total);
  void declareTotal(kern::TotalOp total, const std::string &slot);
  void startTotal(kern::TotalOp total, const std::string &slot);
  void writeJoin(Writer &out, kern::TotalOp total, unsigned number);

  //===- Rows ----------------------------------------------------------------------------------------------------===//
  using Axes = std::vector<std::string>;
  /// The number at `offset` of a row, for a reader whose axes have these names.
  std::string numberAt(mlir::Value row, const std::string &offset, const Axes &axes, bool isSamePoint);
  std::string numberAt(mlir::Value row) { return numberAt(row, "0", {}, false); }
  std::string expression(kern::MapOp map, const Axes &axes);
  std::string dropped(kern::MapOp map, const std::string &row, const std::string &offset) override;
  std::string isTraining() const override { return "frame.isTraining"; }
  bool isInlined(kern::MapOp map);
  bool canRead(kern::MapOp reader, unsigned operand, kern::MapOp source);
  /// Writes a loop over all numbers of a row, with `body(number, offset)` inside.
  void forNumbers(mlir::Value row, llvm::function_ref<std::string(std::string, std::string)> body);
  /// Loops over axes, but for those of one point. With `isBraced`, the innermost one holds several statements.
  void openLoops(llvm::ArrayRef<int64_t> sizes, const Axes &axes, bool isBraced = false);
  void closeLoops(const Axes &axes, bool isBraced = false);
  /// Names for axes: `k`, or `k0`, `k1` and so on. An axis of one point is `0`.
  static Axes axesOf(llvm::ArrayRef<int64_t> sizes, const std::string &letter = "k");
  /// Declares a row of numbers, and gives its name.
  std::string declare(mlir::Type row, const std::string &base, const std::string &value = "");
  /// Declares a row in the thread's working memory, for as long as the kernel runs.
  std::string takeFixed(const std::string &base, mlir::Type element, int64_t size);
  std::string currentRow(kern::BufferType type, const Buffer &buffer) const;
  void computeRegion(mlir::Region &region, llvm::ArrayRef<Row> arguments);

  std::string count(flow::Domain domain) const;

  Writer body;
  llvm::DenseMap<mlir::Value, Row> rows;
  llvm::DenseMap<mlir::Value, unsigned> depths;  // of statements that are computed where they are read
  llvm::DenseMap<mlir::Value, Acc> accs;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseSet<mlir::Operation *> leftOut;  // copies from a table to a buffer or back that are the same memory
  llvm::DenseMap<mlir::Operation *, Weights> weights;  // of products
  std::string tileBegin = "first", tileEnd = "last";   // of the part of a tile that is written
  llvm::DenseMap<unsigned, std::string> lastRows;      // of domains
  llvm::DenseMap<mlir::Value, std::string> masks;      // of dropout
  std::vector<std::string> prologue;                   // declarations before the loops
  bool usesScratch = false;
};

}  // namespace hector
