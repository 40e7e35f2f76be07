#include "compiler/Target/Cuda/CudaWriter.h"

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/Text.h"
#include "kernels/cuda/division.hpp"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace hector {

using cpp::bare;
using cpp::numberName;
using exec::FormKind;
using flow::Domain;
using flow::RowsType;
using kern::AccKind;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// What a block may take of the shared memory of a multiprocessor, so that another one fits as well.
static constexpr int64_t kSharedBytes = 96 * 1024;
/// The shared memory of a multiprocessor, and what each block takes of it for itself.
static constexpr int64_t kAllSharedBytes = 228 * 1024, kOwnBlockBytes = 1024;
/// What the tiles that products read may take of it.
static constexpr int64_t kMostOperandBytes = 160 * 1024;
/// Registers of a lane for matrices and sums of products that leave room for two blocks of 8 warps.
static constexpr int64_t kFewRegisters = 40;

/// Warps of a small block, and the registers of a lane for matrices, sums and rows with which three of them have room.
static constexpr int kSmallBlock = 4;
static constexpr int64_t kThreeBlockRegisters = 80;

CudaWriter::CudaWriter(kern::KernelOp kernel, std::string symbol, cuda::Precision precision, Use use)
    : KernelText(kernel, std::move(symbol), "cuda::"), precision(precision), use(use) {}

std::string CudaWriter::count(Domain domain) const {
  return "sizes.rows[" + space + cpp::domainConstant(domain) + "]";
}

std::string CudaWriter::dropped(kern::MapOp map, const std::string &row, const std::string &offset) {
  return masks.at(map.getResult()) + ".drops(" + row + ", " + bare(offset) + ")";
}

//===- Lanes -----------------------------------------------------------------------------------------------------===//

/// As many lanes as the widest row has numbers, so many to a lane.
void CudaWriter::chooseLanes(int numbers) {
  random.clear();
  int64_t widest = 1;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!mlir::isa<kern::AccType, kern::BufferType, RowsType>(type))
        widest = std::max(widest, kern::rowSize(type));
  });
  lanes = 1;
  while (lanes < 32 && lanes * numbers < widest)
    lanes *= 2;
}

bool CudaWriter::hasTotalsByRow() {
  // There are few relations, so that each may have a slot for what it adds.
  return !totals.empty() && kernel.getDomain() == Domain::EdgeType && llvm::all_of(totals, [](kern::TotalOp total) {
    return !total.getSorted() && total.getTable().getType().getDomain() != Domain::One &&
           total.getKind() != AccKind::Nearest;
  });
}

/// Rows of thousands of numbers, such as matrices: there are few of them, and each has work for a block.
void CudaWriter::chooseWide() {
  constexpr int64_t kLeastNumbers = 1024;
  // Warps take pieces of rows, and sums to types are those of a warp.
  bool isLong = false, isCut = (isTiled && !isOfBlocks) || (!totals.empty() && !isByRow);
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      isLong |= !mlir::isa<kern::AccType, kern::BufferType, RowsType>(type) && kern::rowSize(type) > kLeastNumbers;
    isCut |= isOfBlocks && mlir::isa<kern::TileOp>(op) && tileRows > 1;
  });
  if (!isLong || isCut || flow::isTraversal(kernel.getLoop()))
    return;
  isWide = true;
  random.clear();
  lanes = kThreads;
  blockBytes = cpp::roundUp(lanes / 32 * 8, 16);
}

int64_t CudaWriter::ownNumbers(int64_t size) const {
  const int64_t pack = size % 4 == 0 && size >= 4 * lanes ? 4 : size % 2 == 0 && size >= 2 * lanes ? 2 : 1;
  return (size + lanes * pack - 1) / (lanes * pack) * pack;
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

void CudaWriter::writeFor(kern::ForOp loop) {
  std::string row = cpp::levelName(loop.getDomain());
  NameScope scope(*this);
  Operation *around = loop->getParentOp();
  auto outer = mlir::dyn_cast<kern::ForOp>(around);
  bool isUnrolled = false;
  if (outer) {
    std::string offsets = offsetsName(outer.getDomain(), loop.getDomain()), at = cpp::levelName(outer.getDomain());
    body.open("for (int64_t " + row + " = " + offsets + "[" + at + "]; " + row + " < " + offsets + "[" + at +
              " + 1]; ++" + row + ")");
  } else if (!isTiled) {
    body.open("for (int64_t " + row + " = lanes.groupInGrid(); " + row + " < " + count(loop.getDomain()) + "; " + row +
              " += lanes.groupsInGrid())");
  } else {
    std::string first = mlir::isa<kern::TileOp>(around) ? "first" : "begin",
                last = mlir::isa<kern::TileOp>(around) ? "last" : "end";
    if (isSerial)
      tileRow = "(" + row + " - first)";
    if (isSerial)
      body.open("for (int64_t " + row + " = lanes.groupInWarp() == 0 ? " + first + " : " + last + "; " + row + " < " +
                last + "; ++" + row + ")");
    else if (isOfBlocks && mlir::isa<kern::TileOp>(around)) {
      // Rows of a group are loaded together, if they are few.
      isUnrolled = ownRows() > 0;
      if (isUnrolled) {
        openOwnRows(row);
      } else {
        body.open("for (int row = lanes.groupInBlock(); row < rows; row += " + std::to_string(warps * 32 / lanes) +
                  ")");
        body.line("[[maybe_unused]] const int64_t " + row + " = first + row;");
      }
      tileRow = "row";
    } else if (isOfBlocks) {
      body.line("HECTOR_UNROLL_SOME");
      body.open("for (int64_t " + row + " = begin + lanes.groupInBlock(); " + row + " < end; " + row +
                " += " + std::to_string(warps * 32 / lanes) + ")");
    } else {
      body.line("HECTOR_UNROLL_SOME");
      body.open("for (int64_t " + row + " = " + first + " + lanes.groupInWarp(); " + row + " < " + last + "; " + row +
                " += lanes.groupsInWarp())");
    }
  }
  levels.push_back(loop.getDomain());
  writeBlock(loop.getBody().front());
  levels.pop_back();
  body.close();
  if (isUnrolled)
    body.close();
}

void CudaWriter::chooseTiles(kern::TileOp tile) {
  tileRows = isByRow ? 1 : tile.getHeight().value_or(1);
  if (!isOfBlocks)
    return;
  hasOperands = tileRows > 1;
  // Few warps wait at the barriers of a small block, and other blocks work meanwhile. But a lane has more of the
  // matrices and sums then.
  constexpr int64_t kSmallTile = 32, kLeastTile = 16, kMostRegisters = 112;
  mlir::Block &block = tile.getBody().front();
  int64_t registers = 0;
  bool isSmall = tileRows > 1 && !isSerial;
  for (auto product : block.getOps<kern::ProductOp>()) {
    registers += matrixRegisters(product, kSmallBlock);
    isSmall &= product.getHeads() == 1;
  }
  for (auto outer : block.getOps<kern::OuterOp>()) {
    registers += sumRegistersOf(outer, kSmallBlock);
    isSmall &= isInRegisters(outer, kSmallBlock);
  }
  if (isSerial)
    warps = 1;
  else if (isSmall && registers <= kMostRegisters) {
    warps = kSmallBlock;
    tileRows = std::min(tileRows, kSmallTile);
  }
  auto tileBytes = [&] {
    int64_t bytes = 0;
    for (kern::BufferOp buffer : block.getOps<kern::BufferOp>()) {
      Type row = buffer.getResult().getType().getRow();
      const auto number = static_cast<int>(cpp::numberBytes(kern::elementType(row)));
      // Of an operand, the plain rows are those that are copied ahead.
      bytes += tileRows * cuda::paddedColumns(static_cast<int>(kern::rowSize(row)), number) * number +
               (isOperand(buffer) ? operandBytes(buffer) : 0);
    }
    return bytes;
  };
  while (tileRows > kLeastTile && tileBytes() > mostTileBytes())
    tileRows = std::max(kLeastTile, tileRows / 2 / kLeastTile * kLeastTile);
  // Very long rows are multiplied without matrix instructions.
  int64_t operands = 0;
  for (kern::BufferOp buffer : block.getOps<kern::BufferOp>())
    operands += isOperand(buffer) ? operandBytes(buffer) : 0;
  hasOperands &= operands <= kMostOperandBytes;
}

bool CudaWriter::isOperand(kern::BufferOp buffer) const {
  return llvm::any_of(buffer.getResult().getUses(), [&](mlir::OpOperand &use) {
    auto product = mlir::dyn_cast<kern::ProductOp>(use.getOwner());
    return product ? product.getRows() == buffer.getResult() : mlir::isa<kern::OuterOp>(use.getOwner());
  });
}

int CudaWriter::planesOf(Type element) const {
  return element.isF64() ? 1 : cuda::planesOf(precision);
}

int64_t CudaWriter::operandBytes(kern::BufferOp buffer) const {
  Type row = buffer.getResult().getType().getRow(), element = kern::elementType(row);
  const int size = static_cast<int>(kern::rowSize(row));
  if (element.isF64())
    return tileRows * cuda::paddedColumns(size, sizeof(double)) * static_cast<int64_t>(sizeof(double));
  return cuda::shapeOfTile(size, static_cast<int>(tileRows), planesOf(element)).bytes;
}

int64_t CudaWriter::mostTileBytes() const {
  return kAllSharedBytes / (warps == 8 ? 2 : 3) - kOwnBlockBytes;
}

void CudaWriter::declareMatrices(kern::TileOp tile) {
  const int64_t most = warps == 8 ? 96 : 112;  // registers of a lane
  for (auto product : tile.getBody().front().getOps<kern::ProductOp>()) {
    if (!hasOperands || product.getHeads() != 1)
      continue;
    const int64_t kept = matrixRegisters(product, warps);
    const bool isKept = keptRegisters + kept <= most;
    if (isKept)
      keptRegisters += kept;
    std::string name = unique(tables.at(product.getWeights()) + "_matrix");
    body.line("const " + weightsClass(product, isKept) + " " + name + "(" + matrixOf(product) + ");");
    matrices[product] = name;
  }
}

/// The loop over a tile's rows whose loads are copied ahead; null if there is none.
kern::ForOp CudaWriter::firstLoop(kern::TileOp tile) const {
  auto loops = tile.getBody().front().getOps<kern::ForOp>();
  return isOfBlocks && !isSerial && tileRows > 1 && !loops.empty() ? *loops.begin() : nullptr;
}

/// Whether rows are copied to shared memory as they are, one for each row of a tile.
bool CudaWriter::canCopyAhead(kern::LoadOp load, kern::TileOp tile) {
  return !load.getResult().use_empty() && load.getLevel() == tile.getDomain() &&
         cpp::isStoredAsIs(load.getTable().getType().getElementType()) && isKeptInRegisters(load.getResult());
}

/// What a tile's first statements read of tables is copied to shared memory while the tile before it is computed, of
/// whatever type that is. The numbers of the rows are read one tile earlier.
void CudaWriter::writeAhead(kern::TileOp tile) {
  kern::ForOp loop = firstLoop(tile);
  if (!loop)
    return;
  const int64_t groups = warps * 32 / lanes, own = (tileRows + groups - 1) / groups;
  const std::string level = cpp::levelName(tile.getDomain()), height = std::to_string(tileRows);
  struct Copy {
    std::string to, table, place;
    int64_t size;
  };
  std::vector<Copy> copies;
  std::vector<std::pair<std::string, std::string>> places;  // names of arrays, and what they hold
  for (auto load : loop.getBody().front().getOps<kern::LoadOp>()) {
    if (!canCopyAhead(load, tile))
      continue;
    Type stored = load.getTable().getType().getElementType();
    const std::string &table = tables.at(load.getTable());
    Copy copy = {.to = {}, .table = table, .place = {}, .size = kern::rowSize(load.getResult().getType())};
    if (blockBytes + tileRows * copy.size * cpp::numberBytes(stored) > mostTileBytes())
      continue;
    ahead[load] = copy.to = takeBlock(table + "_ahead", stored, tileRows * copy.size);
    copy.place = pathTo(load.getLevel(), load.getPath());
    if (copy.place != level) {
      auto known = llvm::find_if(places, [&](const auto &place) { return place.second == copy.place; });
      if (known == places.end())
        known = places.insert(places.end(), {unique(table + "_row"), copy.place});
      copy.place = "int64_t{" + known->first + "[i]}";
    }
    copies.push_back(copy);
  }
  if (copies.empty())
    return;
  if (tile.getType())
    body.line("cuda::Tiles<Id, " + height + "> ahead(" + typeOffsets(tile) + ", " + count(*tile.getType()) +
              ", begin, end);");
  else
    body.line("cuda::PlainTiles<Id, " + height + "> ahead(begin, end);");
  auto lambda = [&](const std::string &name, llvm::function_ref<void()> statements) {
    body.open("auto " + name + " = [&]");
    statements();
    body.indent(body.indentation() - 1);
    body.line("};");
  };
  auto forRows = [&](llvm::function_ref<void()> statements) {
    body.line("HECTOR_UNROLL");
    body.open("for (int i = 0; i < " + std::to_string(own) + "; ++i)");
    body.line("const int row = i * " + std::to_string(groups) + " + lanes.groupInBlock();");
    body.line("const int64_t " + level + " = int64_t{ahead.first} + row;");
    body.open("if (" + level + " < ahead.last)");
    statements();
    body.close();
    body.close();
  };
  looksAhead = !places.empty();
  for (const auto &[name, at] : places)
    body.line("Id " + name + "[" + std::to_string(own) + "];");
  if (looksAhead)
    lambda("look", [&] {
      body.line("ahead.next();");
      forRows([&] {
        for (const auto &[name, at] : places)
          body.line(name + "[i] = " + at + ";");
      });
    });
  lambda("fetch", [&] {
    if (!looksAhead)
      body.line("ahead.next();");
    forRows([&] {
      for (const Copy &copy : copies)
        body.line("lanes.copy<" + std::to_string(copy.size) + ">(" + copy.to + " + " + cpp::times("row", copy.size) +
                  ", " + copy.table + " + " + cpp::times(copy.place, copy.size) + ");");
    });
    body.line("cuda::commitCopies();");
  });
  if (looksAhead)
    body.line("look();");
  body.line("fetch();");
  if (looksAhead)
    body.line("look();");
}

/// Where the rows of each type start.
std::string CudaWriter::typeOffsets(kern::TileOp tile) {
  return form(exec::formName({.kind = FormKind::Types, .types = cpp::typedRows(tile.getDomain())}));
}

void CudaWriter::writeTile(kern::TileOp tile) {
  if (!isTiled)
    return writeBlock(tile.getBody().front());
  const bool isCut = tile.getHeight().has_value();
  std::string begin = "begin", end = "end";
  mlir::Block &block = tile.getBody().front();
  NameScope scope(*this);
  if (isCut && isOfBlocks) {
    for (kern::BufferOp buffer : block.getOps<kern::BufferOp>())
      if (hasOperands && isOperand(buffer))
        writeOperand(buffer);
    for (kern::BufferOp buffer : block.getOps<kern::BufferOp>())
      writeBuffer(buffer);
    writeAhead(tile);
  }
  std::string slot;
  if (tile.getType()) {
    std::string type = cpp::levelName(*tile.getType());
    body.open("for (cuda::Segments<Id> part(" + typeOffsets(tile) + ", " + count(*tile.getType()) +
              ", begin, end); part.next();)");
    body.line("const int64_t " + type + " = part.type;");
    begin = "part.first";
    end = "part.last";
    slot = "piece + " + type;
    for (kern::TotalOp total : totals)
      if (total.getSorted())
        startTotal(total, slot);
  }
  if (isCut && isOfBlocks) {
    if (tileRows > 1)
      for (kern::LoadOp load : block.getOps<kern::LoadOp>())
        writeLoad(load);
    declareMatrices(tile);
  }
  if (isCut) {
    const std::string limit = tile.getType() ? end : "static_cast<Id>(end)";
    body.open("for (Id first = " + begin + ", last; first < " + end + "; first = last)");
    body.line("last = cuda::endOfTile<" + std::to_string(tileRows) + ">(first, " + limit + ");");
  } else {
    body.line("const int64_t first = " + begin + ", last = " + end + ";");
  }
  if (isOfBlocks)
    body.line("const int rows = static_cast<int>(last - first);");
  {
    NameScope inner(*this);
    writeTileBody(tile);
  }
  if (isCut)
    body.close();
  if (tile.getType()) {
    for (kern::TotalOp total : totals)
      if (total.getSorted())
        endTotal(total, slot);
    body.close();
  }
}

/// Loops and products take turns: a barrier of the block is between them, and after the last product.
void CudaWriter::writeTileBody(kern::TileOp tile) {
  mlir::Block &block = tile.getBody().front();
  if (!isOfBlocks)
    return writeBlock(block);
  // A matrix may be that of the single row.
  if (tileRows == 1 && tile.getDomain() != Domain::One &&
      (isWide || isByRow || llvm::any_of(block.getOps<kern::ProductOp>(), [&](kern::ProductOp product) {
         return product.getLevel() == tile.getDomain();
       })))
    body.line("[[maybe_unused]] const int64_t " + cpp::levelName(tile.getDomain()) + " = first;");
  bool isFirst = true, wasProduct = false, wasLoop = false;
  for (Operation &op : block) {
    if (mlir::isa<kern::BufferOp>(op) || (mlir::isa<kern::LoadOp>(op) && tileRows > 1))
      continue;  // written before the loop over tiles
    const bool isProduct = mlir::isa<kern::ProductOp, kern::OuterOp>(op), isLoop = mlir::isa<kern::ForOp>(op);
    // Products read rows of tables where they are.
    if (isLoop && isWide && llvm::all_of(op.getRegion(0).front(), [&](Operation &inner) {
          auto put = mlir::dyn_cast<kern::PutOp>(inner);
          return mlir::isa<kern::LoadOp>(inner) || (put && onlyLoadOf(put.getBuffer().getDefiningOp<kern::BufferOp>()));
        }))
      continue;
    if ((isProduct && wasLoop) || (isLoop && wasProduct))
      body.line("cuda::syncBlock();");
    if (isLoop && isFirst && !ahead.empty())
      writeFirstLoop(mlir::cast<kern::ForOp>(op), tile);
    else
      writeOp(op);
    // Sums of outer products take all rows of a tile.
    if (isLoop && isFirst)
      for (kern::BufferOp buffer : block.getOps<kern::BufferOp>())
        if (const Buffer &made = buffers.at(buffer.getResult());
            !made.operand.empty() && llvm::any_of(buffer.getResult().getUsers(), llvm::IsaPred<kern::OuterOp>))
          body.line(made.operand + ".clearRows(rows);");
    isFirst &= !isLoop;
    wasProduct = isProduct || (wasProduct && !isLoop);
    wasLoop = isLoop || (wasLoop && !isProduct);
  }
  body.line(wasProduct || isWide ? "cuda::syncBlock();" : "cuda::syncWarp();");
}

/// The loop whose rows were copied to shared memory. Then those of the next tile are.
void CudaWriter::writeFirstLoop(kern::ForOp loop, kern::TileOp tile) {
  body.line("cuda::waitCopies<0>();");
  body.line("cuda::syncWarp();");  // single numbers are copied by one lane, and read by others
  writeFor(loop);
  writeEarly(tile, loop);
  body.line("cuda::syncWarp();");
  body.line("fetch();");
  if (looksAhead)
    body.line("look();");
}

/// How many rows of a tile belong to a group, if the loops over them are unrolled; else 0.
int64_t CudaWriter::ownRows() const {
  const int64_t groups = warps * 32 / lanes, own = (tileRows + groups - 1) / groups;
  return isOfBlocks && !isSerial && own <= 4 ? own : 0;
}

/// Whether exponentials and the like are computed of rows.
static bool hasFunctions(kern::KernelOp kernel) {
  return kernel
      .walk([](kern::MapOp map) {
        const bool isFunction = map.getFn() == kern::Fn::Exp || map.getFn() == kern::Fn::Log ||
                                map.getFn() == kern::Fn::Erf || map.getFn() == kern::Fn::Tanh ||
                                map.getFn() == kern::Fn::Sigmoid || map.getFn() == kern::Fn::Softplus;
        return isFunction && cpp::product(map.getSizes()) > 1 ? mlir::WalkResult::interrupt()
                                                              : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// What the loops after a product read of tables is read before it, so that nobody waits for it there. It stays in
/// registers, since all loops give a row to the same group. What the first loop reads as well is not read again.
void CudaWriter::writeEarly(kern::TileOp tile, kern::ForOp first) {
  constexpr int64_t kMost = 32;  // numbers of a lane
  const int64_t own = ownRows();
  if (own == 0)
    return;
  // Where functions take most of the time, a third block is worth more.
  int64_t mostNumbers = kMost;
  if (warps == kSmallBlock && hasFunctions(kernel))
    mostNumbers = std::min(kMost, kThreeBlockRegisters - keptRegisters - sumRegisters);
  struct Early {
    std::string name, from;
    int64_t size;
  };
  std::vector<Early> all;
  int64_t numbers = 0;
  bool isAfterProduct = false;
  for (Operation &op : tile.getBody().front()) {
    isAfterProduct |= mlir::isa<kern::ProductOp>(op);
    auto loop = mlir::dyn_cast<kern::ForOp>(op);
    if (!loop || loop == first || !isAfterProduct)
      continue;
    for (auto load : loop.getBody().front().getOps<kern::LoadOp>()) {
      const int64_t size = kern::rowSize(load.getResult().getType());
      if (load.getResult().use_empty() || load.getLevel() != tile.getDomain() || size == 1 ||
          !isKeptInRegisters(load.getResult()) || numbers + own * ownNumbers(size) > mostNumbers)
        continue;
      numbers += own * ownNumbers(size);
      const std::string &table = tables.at(load.getTable());
      Early read = {.name = unique(table + "_early"), .from = {}, .size = size};
      for (auto copied : first.getBody().front().getOps<kern::LoadOp>())
        if (auto place = ahead.find(copied); place != ahead.end() && copied.getTable() == load.getTable() &&
                                             copied.getLevel() == load.getLevel() && copied.getPath() == load.getPath())
          read.from = place->second + " + " + cpp::times("row", size);
      if (read.from.empty())
        read.from = rowAt(table, load.getLevel(), load.getPath(), size);
      body.line(rowClass(load.getResult().getType()) + " " + read.name + "[" + std::to_string(own) + "];");
      early[load] = read.name;
      all.push_back(read);
    }
  }
  if (all.empty())
    return;
  earlyRegisters = numbers;
  const std::string level = cpp::levelName(tile.getDomain());
  openOwnRows(level);
  for (const Early &read : all)
    body.line(read.name + "[i] = lanes.load<" + std::to_string(read.size) + ">(" + read.from + ");");
  body.close();
  body.close();
}

/// A loop over the rows of a tile that belong to a group, and the condition that a row is there.
void CudaWriter::openOwnRows(const std::string &level) {
  body.line("HECTOR_UNROLL");
  body.open("for (int i = 0; i < " + std::to_string(ownRows()) + "; ++i)");
  body.line("const int row = i * " + std::to_string(warps * 32 / lanes) + " + lanes.groupInBlock();");
  body.open("if (row < rows)");
  body.line("[[maybe_unused]] const int64_t " + level + " = first + row;");
}

/// A warp or a block takes pieces of the rows.
void CudaWriter::writePieces() {
  const std::string of = isOfBlocks ? "block" : "warp";
  body.open("for (int64_t piece = cuda::" + of + "InGrid(); piece < sizes.pieces; piece += cuda::" + of + "sInGrid())");
  body.line("const int64_t begin = piece * sizes.grain, end = cuda::smallest(begin + sizes.grain, " +
            count(facts.unit) + ");");
  NameScope scope(*this);
  for (kern::TotalOp total : totals) {
    if (total.getSorted() || isByRow)
      continue;
    if (total.getTable().getType().getDomain() == Domain::One) {
      startTotal(total, "piece");
      continue;
    }
    std::string targets = count(total.getTable().getType().getDomain());
    NameScope inner(*this);
    body.open("for (int64_t target = 0; target < " + targets + "; ++target)");
    startTotal(total, "piece * " + targets + " + target");
    body.close();
  }
  writeBlock(kernel.getBody().front());
  for (kern::TotalOp total : totals)
    if (!total.getSorted() && total.getTable().getType().getDomain() == Domain::One)
      endTotal(total, "piece");
  body.close();
}

void CudaWriter::writeConstant(kern::ConstantOp constant) {
  rows[constant.getResult()] = {
      .name = literal(constant.getValue().convertToDouble(), kern::elementType(constant.getResult().getType()))};
}

//===- The kernel ------------------------------------------------------------------------------------------------===//

Parameters CudaWriter::parameters() {
  Parameters list;
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = mlir::cast<RowsType>(argument.getType());
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    list.push_back({std::string(isRead ? "const " : "") + cpp::storageName(space, type.getElementType()) + " *",
                    tables.at(argument)});
  }
  // Lanes read from buffers what others put there before a barrier: a compiler that is told that nobody else writes
  // may read too early.
  for (const auto &[type, name] : bufferParameters)
    list.push_back({type + " *", name, false});
  for (const std::string &name : formNames)
    list.push_back({"const Id *", formVariables.lookup(name)});
  for (size_t i = 0; i < totals.size(); ++i)
    list.push_back({"void *", "totals" + std::to_string(i)});
  return list;
}

/// The first lines of a kernel, or of what is called in a band: there, `first` are parameters before those of the
/// launch.
void CudaWriter::writeHead(Writer &out, const std::string &name, int threads, int blocks, const std::string &first) {
  std::string line =
      use == Use::Band ? "__device__ __forceinline__ void " + name + "(" + first : kernelHead(name, threads, blocks);
  for (const Parameter &parameter : parameters())
    line += parameter.text() + ", ";
  if (isChunked)
    line += "void *__restrict__ carry, ";
  out.open(line + "const cuda::Sizes " + (use == Use::Band ? "&" : "") + "sizes)");
}

void CudaWriter::writeEnd(Writer &out, const std::string &name) const {
  out.close();
  if (use == Use::Kernel)
    out.line("HECTOR_CUDA_KERNEL(" + name + ")");
}

/// The threads and the shared memory of a block, when it is known what its kernel keeps there.
void CudaWriter::settleLaunch() {
  // Joins have memory of their own: rows of the next tile are copied meanwhile.
  if (joinBytes > 0)
    prologue.push_back("unsigned char *joinMemory = blockMemory + " + std::to_string(blockBytes) + ";");
  blockBytes += cpp::roundUp(joinBytes, 16);
  if (slabBytes > 0)
    prologue.push_back("unsigned char *slabs = blockMemory + " + std::to_string(blockBytes) + ";");
  blockBytes += slabBytes;
  launch.schedule = isOfBlocks ? exec::Schedule::Tiles : isTiled ? exec::Schedule::Pieces : exec::Schedule::Units;
  launch.lanes = lanes;
  launch.threads = isOfBlocks ? warps * 32 : kThreads;
  while (!isOfBlocks && !isWide && launch.threads > 32 && launch.threads / lanes * groupBytes > kSharedBytes)
    launch.threads /= 2;
  launch.sharedBytes = blockBytes + launch.threads / lanes * groupBytes;
  if (launch.sharedBytes > exec::kMostSharedBytes)
    refusal = "kernel " + symbol + " needs " + std::to_string(launch.sharedBytes) +
              " bytes of shared memory for one block, more than any GPU has";
  if (isOfBlocks) {
    const int64_t fitting = kAllSharedBytes / (launch.sharedBytes + kOwnBlockBytes);
    const int64_t wanted = warps == 1 ? 16
                           : warps == 4
                               ? (keptRegisters + sumRegisters + earlyRegisters <= kThreeBlockRegisters ? 3 : 2)
                           : keptRegisters + sumRegisters <= kFewRegisters ? 2
                                                                           : 1;
    launch.blocks = static_cast<int>(std::clamp<int64_t>(fitting, 1, wanted));
  }
}

void CudaWriter::write(Writer &out) {
  nameTables();
  noteTotals();
  noteUnits();
  mlir::Block &block = kernel.getBody().front();
  // What lanes do for a row as a whole takes most of the time of a walk over edges: few lanes, then, with much of a
  // row. Parts of a row, such as heads, are combined by neighbouring lanes.
  chooseLanes(8);
  bool hasParts = false;
  kernel.walk([&](kern::MapOp map) { hasParts |= map.getCombine() && combiningOf(map) == Combining::Parts; });
  if (!hasParts && canChunk())
    return writeChunks(out);
  chooseLanes(4);
  if (canChunk())
    return writeChunks(out);
  isByRow = hasTotalsByRow();
  if (isByRow) {
    for (exec::TotalSpec &total : facts.totals)
      total.slots = exec::TotalSpec::Slots::Rows;
    for (kern::TotalOp total : totals)
      (void)pathTo(total.getLevel(), total.getPath());  // the join reads it, and has the parameters of the kernel
  }
  isSerial = !isByRow && llvm::any_of(totals, [&](kern::TotalOp total) {
    return isInMemory(total) && llvm::any_of(total.getResult().getUsers(), llvm::IsaPred<kern::StepOp>);
  });
  kernel.walk([&](Operation *op) { isOfBlocks |= mlir::isa<kern::ProductOp, kern::OuterOp>(op); });
  // Tiles without products are rows like any others.
  isTiled = isOfBlocks || (!totals.empty() && !isByRow) ||
            llvm::any_of(block.getOps<kern::TileOp>(), [](kern::TileOp tile) { return tile.getType().has_value(); });
  if (isOfBlocks)
    chooseLanes(8);
  for (auto tile : block.getOps<kern::TileOp>())
    chooseTiles(tile);
  chooseWide();
  launch.tileRows = tileRows;
  NameScope scope(*this);
  body.indent(1);
  if (isTiled)
    writePieces();
  else
    writeBlock(block);

  settleLaunch();
  writeSummary(out);
  writeHead(out, symbol, launch.threads, warps == 1 ? 1 : launch.blocks);
  if (isWide)
    out.line("const cuda::BlockLanes<" + std::to_string(lanes) + "> lanes(cuda::sharedMemory<unsigned char>());");
  else
    out.line("const cuda::Lanes<" + std::to_string(lanes) + "> lanes;");
  if (blockBytes > 0 && (isOfBlocks || slabBytes > 0))
    out.line("unsigned char *blockMemory = cuda::sharedMemory<unsigned char>();");
  if (groupBytes > 0)
    out.line("unsigned char *groupMemory = cuda::sharedMemory<unsigned char>() + " + std::to_string(blockBytes) +
             " + lanes.groupInBlock() * " + std::to_string(groupBytes) + ";");
  if (!masks.empty())
    out.line("const cuda::Random random = *sizes.random;");
  for (const std::string &line : prologue)
    out.line(line);
  if (llvm::any_of(buffers, [](const auto &entry) { return !entry.second.operand.empty(); }))
    out.line("cuda::syncBlock();");
  out.append(body);
  writeEnd(out, symbol);
  if (!totals.empty())
    writeJoins(out);
}

}  // namespace hector
