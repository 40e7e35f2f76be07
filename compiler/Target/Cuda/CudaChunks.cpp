/// Traversals that are balanced by rows: a class that walks parts of units, and kernels that drive it
/// (`kernels/cuda/traversal.cuh`).

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/Text.h"
#include "compiler/Target/Cuda/CudaWriter.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace hector {

using cpp::bare;
using cpp::numberName;
using exec::FormKind;
using exec::Side;
using flow::Domain;
using kern::AccKind;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// A lane keeps no more of a unit, since shared memory has a part for each lane.
static constexpr int64_t kMostPartBytes = 288;

//===- Which kernels ---------------------------------------------------------------------------------------------===//

static kern::ForOp onlyLoop(mlir::Block &block) {
  kern::ForOp found;
  for (auto loop : block.getOps<kern::ForOp>()) {
    if (found)
      return nullptr;
    found = loop;
  }
  return found;
}

/// Whether the rows below a unit may be cut: one walk over them, and all that is collected belongs to the unit.
bool CudaWriter::canChunk() {
  kern::ForOp unit = onlyLoop(kernel.getBody().front());
  if (!flow::isTraversal(kernel.getLoop()) || !unit || unit.getDomain() == kernel.getDomain() || !totals.empty())
    return false;
  kern::ForOp inner = onlyLoop(unit.getBody().front());
  if (!inner)
    return false;
  kern::ForOp innermost = inner;
  if (inner.getDomain() != kernel.getDomain()) {
    innermost = onlyLoop(inner.getBody().front());
    if (!innermost || llvm::any_of(inner.getBody().front(), llvm::IsaPred<kern::StepOp>))
      return false;
  }
  bool isFine = true;
  kernel.walk([&](Operation *op) {
    isFine &= !mlir::isa<kern::BufferOp>(op);
    if (mlir::isa<kern::AccOp, kern::FoldOp>(op))
      isFine &= op->getParentOp() == unit.getOperation();
  });
  if (!isFine || llvm::any_of(innermost.getBody().front(), llvm::IsaPred<kern::ForOp>))
    return false;
  int64_t bytes = 0;
  auto count = [&](Type row, Type element) {
    bytes +=
        cpp::roundUp((kern::rowSize(row) == 1 ? 1 : ownNumbers(kern::rowSize(row))) * cpp::numberBytes(element), 16);
  };
  for (Operation &op : unit.getBody().front()) {
    if (!mlir::isa<kern::AccOp, kern::FoldOp>(op))
      continue;
    for (Type row : mlir::cast<kern::AccType>(op.getResult(0).getType()).getRows())
      count(row, kern::elementType(row));
    if (auto acc = mlir::dyn_cast<kern::AccOp>(op)) {
      Type row = acc.getResult().getType().getRows().front();
      if (cpp::needsCount(acc.getKind()))
        bytes += 16;
      if (acc.getKind() == AccKind::Nearest)
        count(row, comparedType(acc.getResult()));
    }
  }
  bytes = std::max<int64_t>(bytes, 16);
  if (bytes > kMostPartBytes || !fitsShared(bytes))
    return false;
  launch.partBytes = bytes;
  return true;
}

/// Whether rows that lanes exchange fit into shared memory beside the parts of units. Rows behind the last one are
/// computed too, and must not meet others in memory that has a place for each row.
bool CudaWriter::fitsShared(int64_t partBytes) {
  int64_t bytes = 0;
  auto count = [&](Value value) {
    if (mlir::isa<kern::AccType, kern::BufferType, flow::RowsType>(value.getType()) ||
        kern::rowSize(value.getType()) <= lanes || !isRandom(value))
      return;
    if (auto map = value.getDefiningOp<kern::MapOp>(); map && isInlined(map))
      return;
    if (value.getDefiningOp<kern::LoadOp>())
      return;
    bytes += cpp::roundUp(kern::rowSize(value.getType()) * cpp::numberBytes(kern::elementType(value.getType())), 16);
  };
  kernel.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), count);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        llvm::for_each(block.getArguments(), count);
  });
  constexpr int64_t kMostBytes = 96 * 1024;
  return bytes <= 8 * 1024 && kThreads / lanes * bytes + kThreads * partBytes <= kMostBytes;
}

//===- Parts -----------------------------------------------------------------------------------------------------===//

void CudaWriter::declarePart(Writer &out, Operation &op) {
  Value value = op.getResult(0);
  Acc made;
  auto declared = [&](Type row, const std::string &base) {
    std::string name = uniqueInKernel(base);
    out.line((kern::rowSize(row) == 1 ? numberName(kern::elementType(row)) : rowClass(row)) + " " + name + ";");
    return "part." + name;
  };
  auto acc = mlir::dyn_cast<kern::AccOp>(op);
  std::string base = baseOf(op.getLoc(), acc ? stringifyAccKind(acc.getKind()) : "fold");
  for (Type row : mlir::cast<kern::AccType>(value.getType()).getRows())
    made.names.push_back(declared(row, base));
  if (acc && cpp::needsCount(acc.getKind())) {
    made.count = "part." + uniqueInKernel(base + "_count");
    out.line("int64_t " + made.count.substr(5) + ";");
  }
  if (acc && acc.getKind() == AccKind::Nearest) {
    Type row = acc.getResult().getType().getRows().front();
    const int64_t size = kern::rowSize(row);
    made.distance =
        declared(kern::rowType(size, comparedType(acc.getResult()), /*isScalar=*/size == 1), base + "_distance");
  }
  accs[value] = made;
}

void CudaWriter::startPart(Operation &op) {
  const Acc acc = accs.at(op.getResult(0));
  if (auto fold = mlir::dyn_cast<kern::FoldOp>(op)) {
    computeRegion(fold.getInit(), {});
    for (auto [name, value] : llvm::zip_equal(acc.names, fold.getInit().front().getTerminator()->getOperands()))
      body.line(name + " = " + inRegisters(value) + ";");
    return;
  }
  auto declared = mlir::cast<kern::AccOp>(op);
  Type row = declared.getResult().getType().getRows().front();
  auto fill = [&](const std::string &name, Type element, const std::string &value) {
    const int64_t size = kern::rowSize(row);
    std::string filled = rowClass(kern::rowType(size, element, /*isScalar=*/size == 1)) + "(" + value + ")";
    body.line(name + " = " + (size == 1 ? value : filled) + ";");
  };
  Type element = kern::elementType(row);
  fill(acc.names.front(), element, bare(startOf(declared.getKind(), element)));
  if (!acc.count.empty())
    body.line(acc.count + " = 0;");
  if (!acc.distance.empty()) {
    Type compared = comparedType(declared.getResult());
    fill(acc.distance, compared, bare(literal(HUGE_VAL, compared)));
  }
}

void CudaWriter::joinPart(Operation &op) {
  const Acc acc = accs.at(op.getResult(0));
  auto ofNext = [](const std::string &name) { return "next" + name.substr(4); };
  if (auto fold = mlir::dyn_cast<kern::FoldOp>(op)) {
    std::vector<Row> arguments;
    for (const std::string &name : acc.names)
      arguments.push_back({.name = name});
    for (const std::string &name : acc.names)
      arguments.push_back({.name = ofNext(name)});
    NameScope scope(*this);
    body.openBlock();
    computeRegion(fold.getJoin(), arguments);
    std::vector<std::string> fresh;
    for (Value value : fold.getJoin().front().getTerminator()->getOperands()) {
      fresh.push_back(unique("joined"));
      body.line("const auto " + fresh.back() + " = " + inRegisters(value) + ";");
    }
    for (auto [name, value] : llvm::zip_equal(acc.names, fresh))
      body.line(name + " = " + value + ";");
    body.close();
    return;
  }
  auto declared = mlir::cast<kern::AccOp>(op);
  const int64_t size = kern::rowSize(declared.getResult().getType().getRows().front());
  const std::string at = size == 1 ? "" : "[c]", &name = acc.names.front();
  if (declared.getKind() == AccKind::Nearest)
    forOwn(size, [&](const Point &) {
      return "cuda::takeNearer(" + name + at + ", " + acc.distance + at + ", " + ofNext(name) + at + ", " +
             ofNext(acc.distance) + at + ");";
    });
  else
    forOwn(size, [&](const Point &) { return cpp::taking(space, declared.getKind(), name + at, ofNext(name) + at); });
  if (!acc.count.empty())
    body.line(acc.count + " += " + ofNext(acc.count) + ";");
}

//===- The class and its kernels ---------------------------------------------------------------------------------===//

void CudaWriter::writeMember(Writer &out, const std::string &head, llvm::function_ref<void()> statements) {
  prologue.clear();
  body = Writer();
  body.indent(2);
  {
    NameScope scope(*this);
    statements();
  }
  out.open("__device__ __forceinline__ " + head + " const");
  for (const std::string &line : prologue)
    out.line(line);
  out.append(body);
  out.close();
}

void CudaWriter::addField(Fields &fields, Value value) {
  const Row row = rows.at(value);
  const int64_t size = kern::rowSize(value.getType());
  Type element = kern::elementType(value.getType());
  std::string type = row.isPointer ? "const " + cpp::storageName(space, row.stored) + " *"
                     : size == 1   ? numberName(element) + " "
                                   : rowClass(value.getType()) + " ";
  fields.registers +=
      row.isPointer ? 2 : (size == 1 ? 1 : ownNumbers(size)) * std::max<int64_t>(cpp::numberBytes(element) / 4, 1);
  fields.lines.push_back(type + row.name + ";");
  fields.names.push_back(row.name);
  fields.values.push_back(value);
}

void CudaWriter::readFields(const Fields &fields, const std::string &from) {
  for (Value value : fields.values)
    rows[value].name = from + "." + rows[value].name;
}

/// Rows of a group that are read before the first of them is taken, as far as registers go.
static int rowsInFlight(int64_t registers, bool isInOrder, bool isInRuns) {
  return isInOrder || registers > 24 ? 1 : isInRuns && registers <= 8 ? 4 : 2;
}

/// Whether neighbouring groups take neighbouring rows (`walkRuns`): where rows are so short that a group alone reads a
/// fraction of what memory sends at once. Parts are then joined at every step, which must not cost more than it saves.
bool CudaWriter::isInRuns() const {
  return lanes <= 2 || (lanes == 4 && launch.partBytes <= 32);
}

void CudaWriter::writeChunks(Writer &out) {
  isChunked = true;
  mlir::Block &block = kernel.getBody().front();
  kern::ForOp unitLoop = onlyLoop(block);
  mlir::Block &unitBlock = unitLoop.getBody().front();
  kern::ForOp inner = onlyLoop(unitBlock);
  const bool hasPairs = inner.getDomain() != kernel.getDomain();
  kern::ForOp rowLoop = hasPairs ? onlyLoop(inner.getBody().front()) : inner;
  const std::string unit = cpp::levelName(unitLoop.getDomain()), row = cpp::levelName(kernel.getDomain()),
                    pair = hasPairs ? cpp::levelName(inner.getDomain()) : "", name = symbol + "_walk";
  const bool isSource = kernel.getLoop() == flow::Loop::BySrc;
  const EdgeColumn placeColumn = isSource ? EdgeColumn::SrcPairByNode : EdgeColumn::DstPairByNode;
  auto edgeColumn = [&](EdgeColumn column) {
    return form(exec::formName(
        {.kind = FormKind::EdgeColumn, .column = column, .to = isSource ? EdgeOrder::Source : EdgeOrder::Destination}));
  };
  // What statements need, of those at the level of the unit.
  auto reachable = [&](llvm::function_ref<bool(Operation &)> isRoot) {
    llvm::DenseSet<Operation *> needed;
    std::vector<Operation *> work;
    for (Operation &op : unitBlock)
      if (isRoot(op))
        work.push_back(&op);
    while (!work.empty()) {
      Operation *op = work.back();
      work.pop_back();
      if (!needed.insert(op).second)
        continue;
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == &unitBlock)
            work.push_back(source);
      });
    }
    return needed;
  };
  auto isState = [](Operation &op) { return mlir::isa<kern::AccOp, kern::FoldOp>(op); };
  auto isReadBelow = [&](Operation &op) {
    return llvm::any_of(op.getUsers(), [&](Operation *user) { return user->getBlock() != &unitBlock; });
  };

  Writer parts, members;
  parts.indent(2);
  members.indent(1);
  std::vector<Operation *> state;
  NameScope whole(*this);
  for (Operation &op : block)
    if (mlir::isa<kern::ConstantOp>(op))
      writeOp(op);
  for (Operation &op : unitBlock)
    if (isState(op)) {
      state.push_back(&op);
      declarePart(parts, op);
    }
  writeMember(members, "Part start()", [&] {
    body.line("Part part;");
    for (Operation *op : state)
      startPart(*op);
    body.line("return part;");
  });

  // What is read of a unit, and of a row, before the row is taken.
  Fields ofUnit, ofRow;
  levels = {unitLoop.getDomain()};
  writeMember(members, "Unit enter(int64_t " + unit + ")", [&] {
    auto needed = reachable([&](Operation &op) { return &op == inner.getOperation(); });
    for (Operation &op : unitBlock) {
      if (!needed.contains(&op) || isState(op) || &op == inner.getOperation())
        continue;
      writeOp(op);
      if (isReadBelow(op) && !mlir::isa<kern::ConstantOp>(op))
        for (Value result : op.getResults())
          addField(ofUnit, result);
    }
    body.line("return {" + llvm::join(ofUnit.names, ", ") + "};");
  });
  readFields(ofUnit, "from");
  const bool isInOrder = groupBytes > 0;  // what units leave in shared memory is there for one of them at a time
  if (hasPairs)
    levels.push_back(inner.getDomain());
  levels.push_back(kernel.getDomain());
  std::vector<mlir::Block *> below = {&rowLoop.getBody().front()};
  if (hasPairs)
    below.insert(below.begin(), &inner.getBody().front());
  llvm::DenseSet<Operation *> loaded;
  auto numInFlight = [&] { return rowsInFlight(ofUnit.registers + ofRow.registers, isInOrder, isInRuns()); };
  // In runs, a group joins neighbouring rows before it joins with others, unless joins are as cheap as that.
  const bool isCheap =
      launch.partBytes <= 16 && llvm::none_of(state, [](Operation *op) { return mlir::isa<kern::FoldOp>(op); });
  writeMember(members, "Read read(int64_t " + row + ")", [&] {
    if (hasPairs) {
      body.line("const int64_t " + pair + " = " + edgeColumn(placeColumn) + "[" + row + "];");
      ofRow.lines.push_back("Id " + pair + ";");
      ofRow.names.push_back("static_cast<Id>(" + pair + ")");
    }
    for (mlir::Block *level : below)
      for (auto load : level->getOps<kern::LoadOp>()) {
        if (load.getResult().use_empty() || !isKeptInRegisters(load.getResult()))
          continue;
        writeOp(*load);
        addField(ofRow, load.getResult());
        loaded.insert(load);
      }
    if (isInRuns() && !isCheap && numInFlight() > 1)
      for (const Parameter &parameter : parameters())
        if (cpp::hasWord(body.text(), parameter.name + "[" + row + "]") ||
            cpp::hasWord(body.text(), parameter.name + " + " + row))
          prologue.push_back(parameter.type + parameter.name + " = cuda::aligned(this->" + parameter.name + ");");
    body.line("return {" + llvm::join(ofRow.names, ", ") + "};");
  });
  readFields(ofRow, "read");
  writesLater = isInRuns();
  writeMember(members,
              "void take(Part &part, const Unit &from, const Read &read, int64_t " + unit + ", int64_t " + row +
                  ", bool isThere" + (writesLater ? ", Written &written)" : ")"),
              [&] {
                isTaking = true;
                for (mlir::Block *level : below)
                  for (Operation &op : *level)
                    if (!mlir::isa<kern::ForOp>(op) && !loaded.contains(&op))
                      writeOp(op);
                isTaking = false;
                if (cpp::hasWord(body.text(), "lanes"))
                  prologue.push_back("const cuda::Lanes<" + std::to_string(lanes) + ", true> lanes;");
                if (hasPairs && cpp::hasWord(body.text(), pair))
                  prologue.push_back("const int64_t " + pair + " = read." + pair + ";");
              });
  if (writesLater)
    writeMember(members, "void write(int64_t " + row + ", const Written &written)", [&] {
      if (!later.empty()) {
        body.line("if (!lanes.isFirst())");
        body.indented("return;");
      }
      for (const auto &[member, store] : later)
        body.line(store);
    });
  levels = {unitLoop.getDomain()};
  writeMember(members, "void join(Part &part, const Part &next)", [&] {
    for (Operation *op : state)
      joinPart(*op);
  });
  writeMember(members, "void finish(int64_t " + unit + ", Part part)", [&] {
    auto needed = reachable([&](Operation &op) { return mlir::isa<kern::StoreOp>(op); });
    for (Operation &op : unitBlock)
      if (needed.contains(&op) && !isState(op))
        writeOp(op);
  });
  levels.clear();
  const std::string offsets = offsetsName(unitLoop.getDomain(), kernel.getDomain());
  const std::string units =
      kernel.getDomain() != Domain::Edge
          ? form(exec::formName({.kind = FormKind::PlaceNode, .side = isSource ? Side::Source : Side::Destination}))
      : unitLoop.getDomain() != Domain::Node ? edgeColumn(placeColumn)
                                             : edgeColumn(isSource ? EdgeColumn::Source : EdgeColumn::Destination);

  const int groups = kThreads / lanes, heads = isInRuns() ? kThreads / 32 : groups;  // of chunks, or of warps
  const int64_t base = cpp::roundUp(heads * (lanes * launch.partBytes + 4), 16);
  launch.schedule = exec::Schedule::Chunks;
  launch.lanes = lanes;
  launch.threads = kThreads;
  launch.rows = cpp::planDomain(kernel.getDomain());
  launch.sharedBytes = base + groups * groupBytes;

  writeSummary(out);
  out.open("struct " + name);
  for (const Parameter &parameter : parameters())
    out.line(parameter.type + parameter.name + ";");
  out.line("cuda::Sizes sizes;");
  if (!masks.empty())
    out.line("cuda::Random random;");
  if (groupBytes > 0)
    out.line("unsigned char *groupMemory;");
  out.line("cuda::Lanes<" + std::to_string(lanes) + "> lanes;");
  auto endStruct = [&] {
    out.indent(out.indentation() - 1);
    out.line("};");
  };
  out.open("struct Part");
  out.append(parts);
  endStruct();
  Fields ofWritten;
  for (const auto &[member, store] : later)
    ofWritten.lines.push_back(member);
  for (const auto &[title, fields] :
       {std::pair("struct Unit", &ofUnit), std::pair("struct Read", &ofRow), std::pair("struct Written", &ofWritten)}) {
    if (fields == &ofWritten && !writesLater)
      continue;
    if (fields->lines.empty()) {
      out.line(std::string(title) + " {};");
      continue;
    }
    out.open(title);
    for (const std::string &line : fields->lines)
      out.line(line);
    endStruct();
  }
  out.append(members);
  endStruct();
  out.line("static_assert(sizeof(" + name + "::Part) <= " + std::to_string(launch.partBytes) + ");");
  auto writeKernel = [&](const std::string &title, const std::string &call) {
    writeHead(out, title, kThreads);
    std::string line = "const " + name + " walk = {";
    for (const Parameter &parameter : parameters())
      line += parameter.name + ", ";
    line += masks.empty() ? "sizes, " : "sizes, *sizes.random, ";
    if (groupBytes > 0)
      line += "cuda::sharedMemory<unsigned char>() + " + std::to_string(base) + " + cuda::threadInBlock() / " +
              std::to_string(lanes) + " * " + std::to_string(groupBytes) + ", ";
    out.line(line + "{}};");
    out.line(call);
    out.close();
    out.line("HECTOR_CUDA_KERNEL(" + title + ")");
  };
  const std::string group = std::to_string(lanes), part = "static_cast<" + name + "::Part *>(carry)";
  const int inFlight = numInFlight();
  std::string walker = "walkChunks<" + group + ", " + std::to_string(inFlight);
  if (isInRuns()) {
    const int rows = isCheap ? 1 : inFlight;
    walker = "walkRuns<" + group + ", " + std::to_string(rows) + ", " + std::to_string(inFlight / rows);
  }
  writeKernel(symbol, "cuda::" + walker + ">(walk, " + units + ", " + count(kernel.getDomain()) + ", sizes.grain, " +
                          part + ");");
  writeKernel(symbol + "_cut", "cuda::finishCut<" + group + ">(walk, " + offsets + ", " + count(unitLoop.getDomain()) +
                                   ", sizes.grain * " + std::to_string(groups) + ", " + part + ");");
}

}  // namespace hector
