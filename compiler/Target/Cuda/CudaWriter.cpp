#include "compiler/Target/Cuda/CudaWriter.h"

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/Text.h"

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

/// Threads of a block, unless its shared memory asks for fewer.
static constexpr int kThreads = 256;
/// What a block may take of the shared memory of a multiprocessor, so that another one fits as well; and at most.
static constexpr int64_t kSharedBytes = 96 * 1024, kMostSharedBytes = 227 * 1024;

CudaWriter::CudaWriter(kern::KernelOp kernel, std::string symbol) : KernelText(kernel, std::move(symbol), "cuda::") {}

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
      body.open("for (int64_t " + row + " = lanes.groupInWarp() == 0 ? " + first + " : " + last + "; " + row + " < " +
                last + "; ++" + row + ")");
    else
      body.open("for (int64_t " + row + " = " + first + " + lanes.groupInWarp(); " + row + " < " + last + "; " + row +
                " += lanes.groupsInWarp())");
  }
  levels.push_back(loop.getDomain());
  writeBlock(loop.getBody().front());
  levels.pop_back();
  body.close();
  // Products read what other lanes put into buffers, and buffers are written again in the next tile.
  if (auto tile = mlir::dyn_cast<kern::TileOp>(around); tile && tile.getHeight())
    body.line("cuda::syncWarp();");
}

void CudaWriter::writeTile(kern::TileOp tile) {
  std::optional<int64_t> height = tile.getHeight();
  std::string begin = "begin", end = "end";
  mlir::Block &block = tile.getBody().front();
  NameScope scope(*this);
  std::string slot;
  if (tile.getType()) {
    std::string name = exec::formName({.kind = FormKind::Types, .types = cpp::typedRows(tile.getDomain())});
    std::string type = cpp::levelName(*tile.getType());
    body.open("for (cuda::Segments<Id> part(" + form(name) + ", " + count(*tile.getType()) +
              ", begin, end); part.next();)");
    body.line("const int64_t " + type + " = part.type;");
    begin = "part.first";
    end = "part.last";
    slot = "piece + " + type;
    for (kern::TotalOp total : totals)
      if (total.getSorted())
        startTotal(total, slot);
  }
  if (height) {
    std::string step = std::to_string(*height);
    body.open("for (int64_t first = " + begin + "; first < " + end + "; " +
              (*height == 1 ? "++first" : "first += " + step) + ")");
    body.line("const int64_t last = " +
              (*height == 1 ? "first + 1" : "cuda::smallest(first + " + step + ", " + end + ")") + ";");
    // A matrix may be that of the single row.
    if (tile.getDomain() != Domain::One && llvm::any_of(block.getOps<kern::ProductOp>(), [&](kern::ProductOp product) {
          return product.getLevel() == tile.getDomain();
        }))
      body.line("const int64_t " + cpp::levelName(tile.getDomain()) + " = first;");
  } else {
    body.line("const int64_t first = " + begin + ", last = " + end + ";");
  }
  {
    NameScope inner(*this);
    writeBlock(block);
  }
  if (height)
    body.close();
  if (tile.getType()) {
    for (kern::TotalOp total : totals)
      if (total.getSorted())
        endTotal(total, slot);
    body.close();
  }
}

/// A warp takes pieces of the rows.
void CudaWriter::writePieces() {
  body.open("for (int64_t piece = cuda::warpInGrid(); piece < sizes.pieces; piece += cuda::warpsInGrid())");
  body.line("const int64_t begin = piece * sizes.grain, end = cuda::smallest(begin + sizes.grain, " +
            count(facts.unit) + ");");
  NameScope scope(*this);
  for (kern::TotalOp total : totals) {
    if (total.getSorted())
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

void CudaWriter::writeBlock(mlir::Block &block) {
  for (Operation &op : block)
    writeOp(op);
}

void CudaWriter::writeOp(Operation &op) {
  if (auto loop = mlir::dyn_cast<kern::ForOp>(op))
    return writeFor(loop);
  if (auto tile = mlir::dyn_cast<kern::TileOp>(op))
    return writeTile(tile);
  if (auto load = mlir::dyn_cast<kern::LoadOp>(op))
    return writeLoad(load);
  if (auto store = mlir::dyn_cast<kern::StoreOp>(op))
    return writeStore(store);
  if (auto number = mlir::dyn_cast<kern::NumberOp>(op))
    return writeNumber(number);
  if (auto buffer = mlir::dyn_cast<kern::BufferOp>(op))
    return writeBuffer(buffer);
  if (auto map = mlir::dyn_cast<kern::MapOp>(op))
    return writeMap(map);
  if (auto concat = mlir::dyn_cast<kern::ConcatOp>(op))
    return writeConcat(concat);
  if (auto match = mlir::dyn_cast<kern::MatchOp>(op))
    return writeMatch(match);
  if (auto acc = mlir::dyn_cast<kern::AccOp>(op))
    return writeAcc(acc.getResult(), acc.getKind());
  if (auto fold = mlir::dyn_cast<kern::FoldOp>(op))
    return writeFold(fold);
  if (auto step = mlir::dyn_cast<kern::StepOp>(op))
    return writeStep(step);
  if (auto finish = mlir::dyn_cast<kern::FinishOp>(op))
    return writeFinish(finish);
  if (auto product = mlir::dyn_cast<kern::ProductOp>(op))
    return writeProduct(product);
  if (auto outer = mlir::dyn_cast<kern::OuterOp>(op))
    return writeOuter(outer);
  if (auto put = mlir::dyn_cast<kern::PutOp>(op))
    return writePut(put);
  if (auto get = mlir::dyn_cast<kern::GetOp>(op))
    return writeGet(get);
  if (auto constant = mlir::dyn_cast<kern::ConstantOp>(op)) {
    rows[constant.getResult()] = {
        .name = literal(constant.getValue().convertToDouble(), kern::elementType(constant.getResult().getType()))};
  }
}

//===- The kernel ------------------------------------------------------------------------------------------------===//

/// Parameters of all kernels of a launch.
std::vector<std::pair<std::string, std::string>> CudaWriter::parameters() {
  std::vector<std::pair<std::string, std::string>> list;
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = mlir::cast<RowsType>(argument.getType());
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    list.push_back({std::string(isRead ? "const " : "") + cpp::storageName(space, type.getElementType()) + " *",
                    tables.at(argument)});
  }
  for (const auto &[type, name] : bufferParameters)
    list.push_back({type + " *", name});
  for (const std::string &name : formNames)
    list.push_back({"const Id *", formVariables.lookup(name)});
  for (size_t i = 0; i < totals.size(); ++i)
    list.push_back({"void *", "totals" + std::to_string(i)});
  return list;
}

/// The first lines of a kernel. All kernels of a launch have the same parameters.
void CudaWriter::writeHead(Writer &out, const std::string &name, int threads) {
  std::string line = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") " + name + "(";
  for (const auto &[type, name] : parameters()) {
    // Lanes read from buffers what others put there before a barrier: a compiler that is told that nobody else writes
    // may read too early.
    const bool isBuffer = llvm::any_of(bufferParameters, [&](const auto &buffer) { return buffer.second == name; });
    line += type + (isBuffer ? "" : "__restrict__ ") + name + ", ";
  }
  if (isChunked)
    line += "void *__restrict__ carry, ";
  out.open(line + "const cuda::Sizes sizes)");
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
  isSerial = llvm::any_of(totals, [&](kern::TotalOp total) { return isInMemory(total); });
  isTiled = !totals.empty() || llvm::any_of(block, llvm::IsaPred<kern::TileOp>);
  for (size_t i = 0; i < totals.size(); ++i)
    taken.insert("totals" + std::to_string(i));
  NameScope scope(*this);
  body.indent(1);
  if (isTiled)
    writePieces();
  else
    writeBlock(block);

  const int64_t bytes = warpBytes + groupBytes * (32 / lanes);  // of a warp
  launch.schedule = isTiled ? exec::Schedule::Pieces : exec::Schedule::Units;
  launch.lanes = lanes;
  launch.threads = kThreads;
  while (launch.threads > 32 && launch.threads / 32 * bytes > kSharedBytes)
    launch.threads /= 2;
  launch.sharedBytes = launch.threads / 32 * bytes;
  if (launch.sharedBytes > kMostSharedBytes)
    refusal = "kernel " + symbol + " needs " + std::to_string(bytes) +
              " bytes of shared memory for one warp, more than any GPU has";

  writeSummary(out);
  writeHead(out, symbol, launch.threads);
  out.line("const cuda::Lanes<" + std::to_string(lanes) + "> lanes;");
  if (bytes > 0)
    out.line("unsigned char *warpMemory = cuda::sharedMemory<unsigned char>() + cuda::warp() * " +
             std::to_string(bytes) + ";");
  if (groupBytes > 0)
    out.line("unsigned char *groupMemory = warpMemory + " + std::to_string(warpBytes) + " + lanes.groupInWarp() * " +
             std::to_string(groupBytes) + ";");
  for (const std::string &line : prologue)
    out.line(line);
  out.append(body);
  out.close();
  out.line("HECTOR_CUDA_KERNEL(" + symbol + ")");
  for (auto [i, total] : llvm::enumerate(totals))
    writeJoin(out, total, static_cast<unsigned>(i));
}

}  // namespace hector
