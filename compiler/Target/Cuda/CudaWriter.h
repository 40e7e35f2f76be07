/// Writes one kernel as CUDA C++.
///
/// A group of lanes computes a row together (`kernels/cuda/lanes.cuh`). How loops are divided among groups is the
/// schedule, `exec::Schedule`.
#pragma once

#include "compiler/Target/Cpp/KernelText.h"
#include "compiler/Target/Cuda/Bands.h"
#include "kernels/cuda/division.hpp"

#include <optional>

namespace hector {

/// Threads of a block, unless its shared memory asks for fewer.
inline constexpr int kThreads = 256;

class CudaWriter : public KernelText {
public:
  /// A kernel that is launched, or a function that is called in a band of a shared launch.
  enum class Use { Kernel, Band };
  CudaWriter(kern::KernelOp kernel, std::string symbol, cuda::Precision precision, Use use = Use::Kernel);

  /// Writes the kernel, and the join of its totals: `SYMBOL_join`.
  void write(Writer &out);
  /// Parameters of all kernels of a launch, once they are written.
  Parameters parameters();
  /// Why the kernel has no code for a GPU; empty if it has.
  std::string refusal;
  exec::DeviceLaunch launch;

private:
  /// A row: how its numbers are read.
  struct Row {
    std::string name = {};          // of a number, of a lane's own numbers, or of a pointer
    bool isPointer = false;         // to numbers as they are stored
    mlir::Type stored = {};         // of what a pointer points to
    mlir::Operation *op = nullptr;  // a statement that is computed where it is read
  };
  struct Acc {
    std::vector<std::string> names;  // of its rows
    std::string count;               // of the rows that it took, where that matters
    std::string distance;            // of the nearest row, where that is looked for
    bool isInMemory = false;         // a total's row in memory, which only one group of the warp steps
  };
  struct Buffer {
    std::string base, name;  // of a row, and of all
    std::string tile;        // where the rows of the current tile start
    std::string operand;     // the tile that products read, if there is one; `name` may be empty then
    bool isOfTile = false;   // rows are counted from the first one of the tile
    int64_t size = 1, stride = 1;
    mlir::Type element;
  };
  /// Where a number of a row is read: by its place, in words of the loop around.
  struct Point {
    std::vector<std::string> axes;
    std::string place;
    int64_t ownSize = 0;  // of rows of which this is the lane's own number `c`; 0 if it is another one
  };
  /// How a statement that combines numbers divides them: all numbers among the lanes, parts of them among neighbouring
  /// lanes, or each result in one lane.
  enum class Combining { All, Parts, Serial };

  //===- The kernel ----------------------------------------------------------------------------------------------===//
  void chooseLanes(int numbers);
  /// Whether all threads of a block are one group, and then makes it so.
  void chooseWide();
  /// Whether each row of the loop leaves what it adds to its totals, instead of the pieces.
  bool hasTotalsByRow();
  void settleLaunch();
  void writeHead(Writer &out, const std::string &name, int threads, int blocks = 1, const std::string &first = "");
  void writeEnd(Writer &out, const std::string &name) const;
  void writePieces();
  bool canChunk();
  bool fitsShared(int64_t partBytes);
  bool isInRuns() const;
  void writeChunks(Writer &out);
  /// Values that one function of the class that walks leaves for another one, as members of a structure.
  struct Fields {
    std::vector<std::string> lines;  // their declarations
    std::vector<std::string> names;
    std::vector<mlir::Value> values;
    int64_t registers = 0;
  };
  void addField(Fields &fields, mlir::Value value);
  /// From here on, values are read from the structure `from`.
  void readFields(const Fields &fields, const std::string &from);
  /// A function of the class that walks: its statements, under its head.
  void writeMember(Writer &out, const std::string &head, llvm::function_ref<void()> statements);
  /// Declares what a lane collects of a unit.
  void declarePart(Writer &out, mlir::Operation &op);
  void startPart(mlir::Operation &op);
  void joinPart(mlir::Operation &op);
  void writeTile(kern::TileOp tile) override;
  /// Declares the matrices of a tile's products, which are the same for all tiles of a type.
  void declareMatrices(kern::TileOp tile);
  /// Chooses how many warps a block has, and how many rows a tile.
  void chooseTiles(kern::TileOp tile);
  /// Chooses what of a tile is copied to shared memory while the tile before it is computed, and writes how.
  void writeAhead(kern::TileOp tile);
  void writeTileBody(kern::TileOp tile);
  void writeFirstLoop(kern::ForOp loop, kern::TileOp tile);
  int64_t ownRows() const;
  void openOwnRows(const std::string &level);
  void writeEarly(kern::TileOp tile, kern::ForOp first);
  kern::ForOp firstLoop(kern::TileOp tile) const;
  bool canCopyAhead(kern::LoadOp load, kern::TileOp tile);
  /// Whether products read the rows of a buffer, and what the tile for that takes.
  bool isOperand(kern::BufferOp buffer) const;
  int64_t operandBytes(kern::BufferOp buffer) const;
  int planesOf(mlir::Type element) const;
  std::string operandOf(const Buffer &buffer) const;
  /// What the tiles of a block may take of shared memory, so that others fit as well.
  int64_t mostTileBytes() const;
  std::string typeOffsets(kern::TileOp tile);
  int64_t matrixRegisters(kern::ProductOp product, int warps) const;
  int64_t sumRegistersOf(kern::OuterOp outer, int warps) const;
  bool isInRegisters(kern::OuterOp outer, int warps) const;
  void writeFor(kern::ForOp loop) override;
  void writeJoins(Writer &out);
  void writeJoin(Writer &out, kern::TotalOp total);
  void writeJoinOfPieces(Writer &out, kern::TotalOp total, const std::string &start, const std::string &place,
                         const std::string &finish);
  std::string count(flow::Domain domain) const;

  //===- Statements ----------------------------------------------------------------------------------------------===//
  void writeLoad(kern::LoadOp load) override;
  void writeStore(kern::StoreOp store) override;
  void writeNumber(kern::NumberOp number) override;
  void writeOperand(kern::BufferOp buffer);
  void writeBuffer(kern::BufferOp buffer) override;
  void writePut(kern::PutOp put) override;
  void writeGet(kern::GetOp get) override;
  void writeConstant(kern::ConstantOp constant) override;
  void writeMap(kern::MapOp map) override;
  void writeCombine(kern::MapOp map);
  void writeConcat(kern::ConcatOp concat) override;
  void writeMatch(kern::MatchOp match) override;
  void writeAcc(mlir::Value acc, kern::AccKind kind) override;
  void writeFold(kern::FoldOp fold) override;
  void writeStep(kern::StepOp step) override;
  void writeFoldStep(kern::StepOp step, kern::FoldOp fold);
  void writeFinish(kern::FinishOp finish) override;
  void writeFoldFinish(kern::FinishOp finish, kern::FoldOp fold);
  void writeProduct(kern::ProductOp product) override;
  /// A product of two matrices, each the row of a table or of a buffer, by all threads of the block.
  std::string matrixProduct(const std::string &type, int64_t numRows, int64_t terms, int64_t columns,
                            const std::string &guard, const std::string &left, const std::string &right,
                            const std::string &result);
  bool writeMatrixProduct(kern::MapOp map);
  std::string weightsClass(kern::ProductOp product, bool isKept);
  std::string matrixOf(kern::ProductOp product);
  void writeOuter(kern::OuterOp outer) override;

  //===- Totals --------------------------------------------------------------------------------------------------===//
  /// Whether a total is kept in memory while rows are taken, instead of in registers.
  bool isInMemory(kern::TotalOp total) const;
  std::string slotOf(kern::TotalOp total);
  std::string totalRow(kern::TotalOp total, const std::string &slot) const;
  void declareSlot(kern::TotalOp total, const std::string &slot);
  void clearSlot(const std::string &name, int64_t size, const std::string &start);
  void startTotal(kern::TotalOp total, const std::string &slot);
  void endTotal(kern::TotalOp total, const std::string &slot);

  //===- Rows ----------------------------------------------------------------------------------------------------===//
  bool isRandom(mlir::Value row);
  bool isReadAnywhere(mlir::OpOperand &use);
  /// Whether a row that is read from memory is kept in registers, instead of a pointer to it.
  bool isKeptInRegisters(mlir::Value row);
  bool isInlined(kern::MapOp map);
  bool isSumOfOne(kern::MapOp map) const;
  std::string combinedOne(kern::MapOp map, const Point &point);
  Combining combiningOf(kern::MapOp map) const;
  std::string expression(kern::MapOp map, const Point &point);
  std::string numberAt(mlir::Value row, const Point &point);
  std::string numberAt(mlir::Value row) { return numberAt(row, {}); }
  Point pointOf(llvm::ArrayRef<int64_t> sizes, const std::string &place, int64_t ownSize) const;
  /// Writes `body(point)`, for one number or in a loop over the lane's own numbers of a row.
  void forOwn(int64_t size, llvm::function_ref<std::string(const Point &)> body, bool isGuarded = false);
  void loopOwn(int64_t size, const std::vector<std::string> &lines, bool isGuarded);
  int64_t ownNumbers(int64_t size) const;
  /// Declares a row, and gives its name.
  std::string declare(mlir::Type row, const std::string &base, const std::string &value = "");
  std::string rowClass(mlir::Type row) const;
  /// A row that was computed in registers becomes one that is read as its readers need.
  void define(mlir::Value value, const std::string &name);
  /// A row in registers, computed from what it is.
  std::string inRegisters(mlir::Value row);
  static exec::TableSpec bufferSpec(const std::string &name, flow::Domain domain, mlir::Type element, int64_t size);
  std::string takeShared(const std::string &base, mlir::Type element, int64_t size);
  /// Writes a row to `to`, number by number if it is too long for registers.
  void writeRow(const std::string &to, mlir::Value row, const std::string &condition);
  /// The load whose row alone is put into a buffer, so that products can read it where it is.
  kern::LoadOp onlyLoadOf(kern::BufferOp buffer) const;
  /// Whether rows and what they are multiplied by are matrices: one product, instead of one for each of their rows.
  bool isOfMatrices(kern::ProductOp product) const;
  bool isOfMatrices(kern::OuterOp outer) const;
  std::string takeBlock(const std::string &base, mlir::Type element, int64_t size);
  std::string currentRow(kern::BufferType type, const Buffer &buffer) const;
  void computeRegion(mlir::Region &region, llvm::ArrayRef<Row> arguments);
  std::string dropped(kern::MapOp map, const std::string &row, const std::string &offset) override;
  std::string isTraining() const override { return "random.isTraining"; }

  /// What joins of the warps of a block may take of shared memory.
  static constexpr int64_t kJoinBytes = 32 * 1024;

  Writer body;
  cuda::Precision precision;
  Use use;
  int lanes = 1;
  bool isTiled = false;      // a warp or a block takes pieces of rows; else a group takes units
  bool isOfBlocks = false;   // a block does
  bool isSerial = false;     // only the first group of a warp works
  bool isWide = false;       // all threads of a block are one group, which takes one row at a time
  bool isByRow = false;      // each row leaves what it adds to totals
  bool isChunked = false;    // a group takes neighbouring rows, of whatever units
  bool isTaking = false;     // the statements of a row are written, which may be behind the last one
  bool writesLater = false;  // what it writes is written when all of a group's neighbouring rows are taken
  int warps = 8;             // of a block that takes pieces
  int64_t tileRows = 1;      // of a tile
  bool hasOperands = false;  // products read tiles in shared memory
  std::string tileRow;       // of a loop over a tile: the row, counted from the first one of the tile
  int64_t groupBytes = 0, blockBytes = 0, joinBytes = 0, slabBytes = 0;
  // Of a lane: for matrices, for sums of products, and for what is read before products.
  int64_t keptRegisters = 0, sumRegisters = 0, earlyRegisters = 0;
  llvm::DenseMap<mlir::Value, Row> rows;
  llvm::DenseMap<mlir::Value, bool> random;
  llvm::DenseMap<mlir::Value, unsigned> depths;  // of statements that are computed where they are read
  llvm::DenseMap<mlir::Value, Acc> accs;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Operation *, std::string> matrices;            // of products, for all tiles of a type
  llvm::DenseMap<mlir::Operation *, std::string> ahead;               // loads whose rows were copied to shared memory
  llvm::DenseMap<mlir::Operation *, std::string> early;               // loads that are made before the products
  bool looksAhead = false;                                            // the places of these rows were read before that
  llvm::DenseMap<mlir::Value, std::string> masks;                     // of dropout
  std::vector<std::string> prologue;                                  // declarations before the loops
  std::vector<std::pair<std::string, std::string>> later;             // members for what is written later, and stores
  std::vector<std::pair<std::string, std::string>> bufferParameters;  // types and names
};

}  // namespace hector
