/// Traversals that are balanced by rows: a class that walks parts of units, and kernels that drive it
/// (`kernels/cuda/traversal.cuh`).

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/Text.h"
#include "compiler/Target/Cuda/CudaWriter.h"

#include <llvm/ADT/DenseSet.h>

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

static constexpr int kThreads = 256;
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
  launch.partBytes = std::max<int64_t>(bytes, 16);
  return launch.partBytes <= kMostPartBytes;
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

void CudaWriter::openChunkedLoop(kern::ForOp loop, kern::ForOp outer) {
  std::string row = cpp::levelName(loop.getDomain());
  const bool isOutermost = mlir::isa<kern::KernelOp>(outer->getParentOp());
  if (isOutermost && loop.getDomain() == kernel.getDomain()) {
    body.line("HECTOR_UNROLL_SOME");
    body.open("for (int64_t " + row + " = from; " + row + " < to; ++" + row + ")");
    return;
  }
  const bool isSource = kernel.getLoop() == flow::Loop::BySrc;
  if (isOutermost) {
    // Pairs that have rows between `from` and `to`.
    std::string place = form(exec::formName({.kind = FormKind::EdgeColumn,
                                             .column = isSource ? EdgeColumn::SrcPairByNode : EdgeColumn::DstPairByNode,
                                             .to = isSource ? EdgeOrder::Source : EdgeOrder::Destination}));
    body.open("for (int64_t " + row + " = " + place + "[from]; " + offsetsName(loop.getDomain(), kernel.getDomain()) +
              "[" + row + "] < to; ++" + row + ")");
    return;
  }
  std::string offsets = offsetsName(outer.getDomain(), loop.getDomain()), at = cpp::levelName(outer.getDomain());
  body.line("const int64_t first = cuda::largest(" + offsets + "[" + at + "], from), last = cuda::smallest(" + offsets +
            "[" + at + " + 1], to);");
  body.line("HECTOR_UNROLL_SOME");
  body.open("for (int64_t " + row + " = first; " + row + " < last; ++" + row + ")");
}

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

void CudaWriter::writeChunks(Writer &out) {
  isChunked = true;
  mlir::Block &block = kernel.getBody().front();
  kern::ForOp unitLoop = onlyLoop(block);
  mlir::Block &unitBlock = unitLoop.getBody().front();
  kern::ForOp inner = onlyLoop(unitBlock);
  const std::string unit = cpp::levelName(unitLoop.getDomain()), name = symbol + "_walk";
  const Side side = kernel.getLoop() == flow::Loop::BySrc ? Side::Source : Side::Destination;
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
  levels = {unitLoop.getDomain()};
  writeMember(members, "void walk(int64_t " + unit + ", Part &part, int64_t from, int64_t to)", [&] {
    auto needed = reachable([&](Operation &op) { return &op == inner.getOperation(); });
    for (Operation &op : unitBlock)
      if (needed.contains(&op) && !isState(op))
        writeOp(op);
  });
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
  FormKind units = unitLoop.getDomain() != Domain::Node ? FormKind::PlaceEdgeUnits
                   : kernel.getDomain() == Domain::Edge ? FormKind::EdgeUnits
                                                        : FormKind::PlaceUnits;
  const std::string starts = form(exec::formName({.kind = units, .side = side}));

  const int groups = kThreads / lanes;
  const int64_t base = cpp::roundUp(kThreads * launch.partBytes + 4 * groups, 16);
  launch.schedule = exec::Schedule::Chunks;
  launch.lanes = lanes;
  launch.threads = kThreads;
  launch.rows = cpp::planDomain(kernel.getDomain());
  launch.sharedBytes = base + groups * groupBytes;

  writeSummary(out);
  out.open("struct " + name);
  for (const auto &[type, parameter] : parameters())
    out.line(type + parameter + ";");
  out.line("cuda::Sizes sizes;");
  if (groupBytes > 0)
    out.line("unsigned char *groupMemory;");
  out.line("cuda::Lanes<" + std::to_string(lanes) + "> lanes;");
  out.open("struct Part");
  out.append(parts);
  out.indent(out.indentation() - 1);
  out.line("};");
  out.append(members);
  out.indent(out.indentation() - 1);
  out.line("};");
  out.line("static_assert(sizeof(" + name + "::Part) <= " + std::to_string(launch.partBytes) + ");");
  auto writeKernel = [&](const std::string &title, const std::string &call) {
    writeHead(out, title, kThreads);
    std::string line = "const " + name + " walk = {";
    for (const auto &[type, parameter] : parameters())
      line += parameter + ", ";
    line += "sizes, ";
    if (groupBytes > 0)
      line += "cuda::sharedMemory<unsigned char>() + " + std::to_string(base) + " + cuda::threadInBlock() / " +
              std::to_string(lanes) + " * " + std::to_string(groupBytes) + ", ";
    out.line(line + "{}};");
    out.line(call);
    out.close();
    out.line("HECTOR_CUDA_KERNEL(" + title + ")");
  };
  const std::string group = std::to_string(lanes), part = "static_cast<" + name + "::Part *>(carry)";
  writeKernel(symbol, "cuda::walkChunks<" + group + ">(walk, " + offsets + ", " + starts + ", " +
                          count(kernel.getDomain()) + ", sizes.grain, " + part + ");");
  writeKernel(symbol + "_cut", "cuda::finishCut<" + group + ">(walk, " + offsets + ", " + count(unitLoop.getDomain()) +
                                   ", sizes.grain * " + std::to_string(groups) + ", " + part + ");");
}

}  // namespace hector
