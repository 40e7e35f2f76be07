#include "compiler/Conversion/FlowToKern/GroupLowering.h"

#include "compiler/Analysis/Machine.h"
#include "compiler/Conversion/FlowToKern/Access.h"
#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "compiler/Conversion/FlowToKern/RowLowering.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringExtras.h>

#include <map>

namespace hector {

using flow::Domain;
using flow::Map;
using flow::Order;
using flow::RowsType;
using kern::AccKind;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

namespace {

/// Rows of a tile. On a CPU, those of a block of products: while one tile is multiplied, the rows of the next arrive
/// and those of the last are written. Rows of a few numbers are more, since a tile takes some time of its own; and sums
/// of outer products are read and written once a tile. On a GPU, enough for the warps of a block.
constexpr int64_t kTileRows = 4, kTallTileRows = 32, kTileRowsOnGpu = 64;
/// Blocks whose columns are at most this many bytes have twice as many rows.
constexpr int64_t kNarrowBytes = 64;
/// What the rows of a tile that a product reads take at least, if they are few.
constexpr int64_t kTileRowBytes = 1024;
/// What the buffers of a tile may take together: near a core, or in the shared memory of a block.
constexpr int64_t kTileBytes = 96 * 1024;

Domain domainOf(Value value) {
  return mlir::cast<RowsType>(value.getType()).getDomain();
}

AccKind accKind(flow::ReduceKind kind) {
  switch (kind) {
  case flow::ReduceKind::Sum:
    return AccKind::Sum;
  case flow::ReduceKind::Max:
    return AccKind::Max;
  case flow::ReduceKind::Min:
    return AccKind::Min;
  case flow::ReduceKind::Mean:
    return AccKind::Mean;
  }
  return AccKind::Sum;
}

class GroupLowering {
public:
  GroupLowering(mlir::OpBuilder &builder, flow::GroupOp group, llvm::ArrayRef<Order> inputOrders,
                llvm::ArrayRef<std::string> names)
      : builder(builder), group(group), inputOrders(inputOrders), names(names) {}

  mlir::FailureOr<kern::KernelOp> run();

private:
  /// A loop body. What comes before the loop inside it, and what comes after.
  struct Level {
    mlir::Block *block = nullptr;
    Operation *inner = nullptr;  // the loop inside, if there is one

    void before(mlir::OpBuilder &builder) const {
      if (inner)
        builder.setInsertionPoint(inner);
      else
        builder.setInsertionPointToEnd(block);
    }
    void after(mlir::OpBuilder &builder) const { builder.setInsertionPointToEnd(block); }
  };

  //===- Loops -------------------------------------------------------------------------------------------------===//
  mlir::LogicalResult lowerTraversal();
  mlir::LogicalResult lowerSweep(flow::SweepOp sweep, Domain unit);
  mlir::LogicalResult lowerCollector(Operation *op);
  mlir::LogicalResult lowerFlat();
  mlir::LogicalResult lowerGemm();
  kern::ForOp makeLoop(Domain domain);
  kern::TileOp makeTile(std::optional<Domain> type, std::optional<int64_t> height);
  std::optional<Domain> sortedType();
  bool readsType(Domain type);

  //===- Rows --------------------------------------------------------------------------------------------------===//
  /// Computes a row-wise op at its level.
  mlir::LogicalResult lowerRowOp(Operation *op);
  /// The row of an operand, read from a row of `from`.
  Value operandRow(Operation *op, unsigned i);
  Value readRow(Value value, Domain from, Map map);
  Value load(mlir::BlockArgument input, const Access &access, mlir::Location location);
  Value constant(flow::ConstantOp op);
  Value number(Domain domain, mlir::Location location);
  Value dropoutNumber(Domain domain, mlir::Location location);
  void store(Value row, unsigned result, mlir::Location location);
  mlir::LogicalResult lowerTerminal(Operation *op);
  Value makeTotal(Operation *op, AccKind kind, Map via, mlir::ValueRange init);
  Value makeFold(flow::FoldOp fold);
  void lowerRegion(mlir::Region &from, mlir::Region &to);
  mlir::ArrayAttr pathAttr(const Access &access) {
    SmallVector<llvm::StringRef> names(access.path.begin(), access.path.end());
    return builder.getStrArrayAttr(names);
  }
  flow::DomainAttr domainAttr(Domain domain) { return flow::DomainAttr::get(builder.getContext(), domain); }

  /// Whether a value of this sweep is there only after the loop inside its level.
  bool isLate(Value value) const { return late.contains(value); }

  mlir::OpBuilder &builder;
  flow::GroupOp group;
  llvm::ArrayRef<Order> inputOrders;
  llvm::ArrayRef<std::string> names;
  kern::KernelOp kernel;
  Levels levels;
  std::map<Domain, Level> places;
  llvm::DenseMap<Value, Value> rows;     // of values of the loop
  llvm::DenseMap<Value, Value> buffers;  // of values that an earlier walk computed
  llvm::DenseSet<Value> late;
  std::map<std::string, Value> loads;  // of this walk
};

//===- Reading ---------------------------------------------------------------------------------------------------===//

Value GroupLowering::constant(flow::ConstantOp op) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  mlir::Type type = computeType(op.getResult().getType().getElementType());
  return builder.create<kern::ConstantOp>(op.getLoc(), type, op.getValueAttr());
}

Value GroupLowering::load(mlir::BlockArgument input, const Access &access, mlir::Location location) {
  std::string key = std::to_string(input.getArgNumber()) + " " + flow::stringifyDomain(access.level).str() + " " +
                    llvm::join(access.path, " ");
  Value &row = loads[key];
  if (row)
    return row;
  mlir::OpBuilder::InsertionGuard guard(builder);
  // The single row is read at the outermost level.
  Domain at = access.level;
  if (at == Domain::One && !places.count(at))
    at = levels.rows.front();
  const Level &level = places.at(at);
  level.before(builder);
  Value table = kernel.getBody().getArgument(input.getArgNumber());
  row = builder.create<kern::LoadOp>(location, rowTypeOf(mlir::cast<RowsType>(input.getType())), table,
                                     domainAttr(access.level), pathAttr(access));
  return row;
}

Value GroupLowering::readRow(Value value, Domain from, Map map) {
  if (auto input = mlir::dyn_cast<mlir::BlockArgument>(value))
    return load(input, levels.find(from, map, inputOrders[input.getArgNumber()]), value.getLoc());
  if (auto own = value.getDefiningOp<flow::ConstantOp>()) {
    Value &row = rows[value];
    if (!row)
      row = constant(own);
    return row;
  }
  if (Value row = rows.lookup(value))
    return row;
  Value buffer = buffers.at(value);
  mlir::OpBuilder::InsertionGuard guard(builder);
  places.at(domainOf(value)).before(builder);
  Value row = builder.create<kern::GetOp>(value.getLoc(), rowTypeOf(mlir::cast<RowsType>(value.getType())), buffer);
  rows[value] = row;
  return row;
}

Value GroupLowering::operandRow(Operation *op, unsigned i) {
  return readRow(op->getOperand(i), flow::walkedDomain(op), flow::readMap(op, i));
}

Value GroupLowering::number(Domain domain, mlir::Location location) {
  Access access = levels.number(domain);
  return builder.create<kern::NumberOp>(location, builder.getIndexType(), domainAttr(access.level), pathAttr(access),
                                        mlir::ArrayAttr());
}

/// The number that dropout counts a row by: relation · nodes + node for pairs.
Value GroupLowering::dropoutNumber(Domain domain, mlir::Location location) {
  if (domain != Domain::SrcPair && domain != Domain::DstPair)
    return number(domain, location);
  Access node = levels.find(domain, Map::Node, Order::None);
  Access relation = levels.find(domain, Map::EdgeType, Order::None);
  // Both are found from the pair itself.
  if (node.level != domain || relation.level != domain) {
    Levels alone = {levels.loop, {domain}};
    node = alone.find(domain, Map::Node, Order::None);
    relation = alone.find(domain, Map::EdgeType, Order::None);
  }
  return builder.create<kern::NumberOp>(location, builder.getIndexType(), domainAttr(domain), pathAttr(node),
                                        pathAttr(relation));
}

void GroupLowering::store(Value row, unsigned result, mlir::Location location) {
  Domain domain = domainOf(group.getResult(result));
  Access access = levels.find(domain, Map::Self, group.getOrder(result));
  Value table = kernel.getBody().getArgument(static_cast<unsigned>(group.getInputs().size()) + result);
  builder.create<kern::StoreOp>(location, row, table, domainAttr(access.level), pathAttr(access));
}

mlir::LogicalResult GroupLowering::lowerRowOp(Operation *op) {
  Domain domain = domainOf(op->getResult(0));
  SmallVector<Value> operands;
  bool isLateHere = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    operands.push_back(operandRow(op, i));
    isLateHere |= isLate(op->getOperand(i)) && domainOf(op->getOperand(i)) == domain;
  }
  const Level &level = places.at(domain);
  isLateHere ? level.after(builder) : level.before(builder);
  auto forMatches = [&] { return number(domain, op->getLoc()); };
  auto forDropout = [&] { return dropoutNumber(domain, op->getLoc()); };
  Value row;
  if (auto grad = mlir::dyn_cast<flow::WeightGradOp>(op))
    row = lowerOuter(builder, grad, operands[0], operands[1]);
  else
    row = lowerRow(builder, op, operands, {forMatches, forDropout});
  if (!row)
    return op->emitOpError() << "has no kernel";
  rows[op->getResult(0)] = row;
  if (isLateHere)
    late.insert(op->getResult(0));
  return mlir::success();
}

//===- Accumulators ----------------------------------------------------------------------------------------------===//

/// Lowers the ops of a fold's region, which read only each other and the region's arguments.
void GroupLowering::lowerRegion(mlir::Region &from, mlir::Region &to) {
  mlir::Block &source = from.front();
  mlir::Block *target = builder.createBlock(&to);
  llvm::DenseMap<Value, Value> own;
  for (mlir::BlockArgument argument : source.getArguments())
    own[argument] = target->addArgument(rowTypeOf(mlir::cast<RowsType>(argument.getType())), argument.getLoc());
  builder.setInsertionPointToEnd(target);
  for (Operation &op : source.without_terminator()) {
    if (auto number = mlir::dyn_cast<flow::ConstantOp>(op)) {
      mlir::Type type = computeType(number.getResult().getType().getElementType());
      own[op.getResult(0)] = builder.create<kern::ConstantOp>(op.getLoc(), type, number.getValueAttr());
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(own.at(operand));
    auto none = [] { return Value(); };  // (C4): nothing here depends on its row
    own[op.getResult(0)] = lowerRow(builder, &op, operands, {none, none});
  }
  SmallVector<Value> yielded;
  for (Value value : source.getTerminator()->getOperands())
    yielded.push_back(own.at(value));
  builder.create<kern::YieldOp>(from.getLoc(), yielded);
}

Value GroupLowering::makeFold(flow::FoldOp fold) {
  SmallVector<mlir::Type> types;
  for (Value value : fold.getInit().front().getTerminator()->getOperands())
    types.push_back(rowTypeOf(mlir::cast<RowsType>(value.getType())));
  auto type = kern::AccType::get(builder.getContext(), types);
  auto made = builder.create<kern::FoldOp>(fold.getLoc(), type);
  mlir::OpBuilder::InsertionGuard guard(builder);
  lowerRegion(fold.getInit(), made.getInit());
  lowerRegion(fold.getStep(), made.getStep());
  lowerRegion(fold.getJoin(), made.getJoin());
  lowerRegion(fold.getFinish(), made.getFinish());
  return made.getResult();
}

/// An accumulator of a traversal: declared at the level of its result, stepped at the level below.
mlir::LogicalResult GroupLowering::lowerCollector(Operation *op) {
  Domain target = domainOf(op->getResult(0)), walked = flow::walkedDomain(op);
  const Level &outer = places.at(target), &inner = places.at(walked);
  mlir::Location location = op->getLoc();
  mlir::Type rowType = rowTypeOf(mlir::cast<RowsType>(op->getResult(0).getType()));
  auto accType = kern::AccType::get(builder.getContext(), {rowType});
  SmallVector<Value> stepped, init;
  bool isLateStep = false;
  auto step = [&](Value value) {
    stepped.push_back(readRow(value, walked, Map::Self));
    isLateStep |= isLate(value);
  };
  Value acc;
  auto declare = [&](AccKind kind) {
    outer.before(builder);
    acc = builder.create<kern::AccOp>(location, accType, kind);
  };
  if (auto fold = mlir::dyn_cast<flow::FoldOp>(op)) {
    outer.before(builder);
    acc = makeFold(fold);
    for (Value input : fold.getInputs())
      step(input);
  } else if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op)) {
    declare(accKind(reduce.getKind()));
    step(reduce.getRows());
    if (reduce.getInit())
      init.push_back(readRow(reduce.getInit(), target, Map::Self));
  } else if (auto first = mlir::dyn_cast<flow::FirstIndexOp>(op)) {
    declare(AccKind::Nearest);
    step(first.getRows());
    stepped.push_back(readRow(first.getReduced(), target, Map::Self));
    if (first.getInit())
      init.append({readRow(first.getInit(), target, Map::Self), stepped.back()});
  } else {
    return op->emitOpError() << "has no kernel";
  }
  isLateStep ? inner.after(builder) : inner.before(builder);
  if (mlir::isa<flow::FirstIndexOp>(op))
    stepped.push_back(number(walked, location));
  builder.create<kern::StepOp>(location, acc, stepped);
  outer.after(builder);
  SmallVector<mlir::Type> types;
  for (Value result : op->getResults())
    types.push_back(rowTypeOf(mlir::cast<RowsType>(result.getType())));
  auto finish = builder.create<kern::FinishOp>(location, types, acc, init);
  for (auto [result, row] : llvm::zip_equal(op->getResults(), finish.getResults())) {
    rows[result] = row;
    late.insert(result);
  }
  return mlir::success();
}

Value GroupLowering::makeTotal(Operation *op, AccKind kind, Map via, mlir::ValueRange init) {
  Value result = op->getResult(0);
  Domain walked = flow::walkedDomain(op), target = domainOf(result);
  Access access = levels.find(walked, via, Order::None);
  bool isSorted = access.level == target && access.path.empty() && target != Domain::One;
  // The result is one that the group writes: nothing in the loop can read it.
  mlir::OperandRange yielded = group.getBody().front().back().getOperands();
  unsigned place = 0;
  while (yielded[place] != result)
    ++place;
  Value table = kernel.getBody().getArgument(static_cast<unsigned>(group.getInputs().size()) + place);
  SmallVector<Value> initTables;
  for (Value value : init)
    initTables.push_back(kernel.getBody().getArgument(mlir::cast<mlir::BlockArgument>(value).getArgNumber()));
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto type = kern::AccType::get(builder.getContext(), {rowTypeOf(mlir::cast<RowsType>(result.getType()))});
  return builder.create<kern::TotalOp>(op->getLoc(), type, kern::AccKindAttr::get(builder.getContext(), kind), table,
                                       domainAttr(access.level), pathAttr(access), initTables,
                                       isSorted ? builder.getUnitAttr() : mlir::UnitAttr());
}

/// A sum that ends a loop over rows.
mlir::LogicalResult GroupLowering::lowerTerminal(Operation *op) {
  Map via = flow::collectMap(op);
  if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op)) {
    SmallVector<Value> init;
    if (reduce.getInit())
      init.push_back(reduce.getInit());
    Value total = makeTotal(op, accKind(reduce.getKind()), via, init);
    builder.create<kern::StepOp>(op->getLoc(), total, operandRow(op, 0));
    return mlir::success();
  }
  if (auto first = mlir::dyn_cast<flow::FirstIndexOp>(op)) {
    SmallVector<Value> init;
    if (first.getInit())
      init.append({first.getInit(), first.getReduced()});
    Value total = makeTotal(op, AccKind::Nearest, via, init);
    Domain walked = flow::walkedDomain(op);
    Value row = operandRow(op, 0);
    Value reduced = readRow(first.getReduced(), walked, via);
    SmallVector<Value> stepped = {row, reduced, number(walked, op->getLoc())};
    builder.create<kern::StepOp>(op->getLoc(), total, stepped);
    return mlir::success();
  }
  return op->emitOpError() << "has no kernel at the end of a loop over rows";
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

kern::ForOp GroupLowering::makeLoop(Domain domain) {
  auto loop = builder.create<kern::ForOp>(group.getLoc(), domain);
  loop.getBody().emplaceBlock();
  return loop;
}

kern::TileOp GroupLowering::makeTile(std::optional<Domain> type, std::optional<int64_t> height) {
  auto tile = builder.create<kern::TileOp>(group.getLoc(), domainAttr(group.getDomain()),
                                           type ? domainAttr(*type) : flow::DomainAttr(),
                                           height ? builder.getI64IntegerAttr(*height) : mlir::IntegerAttr());
  tile.getBody().emplaceBlock();
  return tile;
}

/// The type by which the rows of a loop that is no traversal are sorted.
std::optional<Domain> GroupLowering::sortedType() {
  switch (group.getDomain()) {
  case Domain::Edge:
  case Domain::SrcPair:
  case Domain::DstPair:
    return Domain::EdgeType;
  case Domain::Node:
    return Domain::NodeType;
  default:
    return std::nullopt;
  }
}

/// Whether an op of the group reads or collects by the type of its rows.
bool GroupLowering::readsType(Domain type) {
  Map map = type == Domain::EdgeType ? Map::EdgeType : Map::NodeType;
  bool reads = false;
  group.getBody().walk([&](Operation *op) {
    if (op->getNumResults() == 0 || mlir::isa<flow::ConstantOp>(op))
      return;
    reads |= flow::collectMap(op) == map;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      reads |= flow::readMap(op, i) == map || (type == Domain::EdgeType && (flow::readMap(op, i) == Map::SrcNodeType ||
                                                                            flow::readMap(op, i) == Map::DstNodeType));
  });
  return reads;
}

mlir::LogicalResult GroupLowering::lowerTraversal() {
  Domain unit = group.getOuterDomain();
  kern::ForOp top = makeLoop(unit);
  places[unit] = {&top.getBody().front(), nullptr};
  for (flow::SweepOp sweep : group.getBody().front().getOps<flow::SweepOp>())
    if (mlir::failed(lowerSweep(sweep, unit)))
      return mlir::failure();
  return mlir::success();
}

mlir::LogicalResult GroupLowering::lowerSweep(flow::SweepOp sweep, Domain unit) {
  const flow::Loop loop = group.getLoop();
  const Domain pair = loop == flow::Loop::ByDst ? Domain::DstPair : Domain::SrcPair;
  // Which levels below the unit the sweep has to visit.
  bool hasPairs = false, hasEdges = false;
  auto note = [&](Domain domain) {
    hasPairs |= domain == pair && unit < pair;
    hasEdges |= domain == Domain::Edge && unit < Domain::Edge;
  };
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (mlir::isa<flow::ConstantOp>(op))
      continue;
    Domain walked = flow::walkedDomain(&op);
    note(domainOf(op.getResult(0)));
    note(walked);
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      if (flow::isLevel(loop, walked, flow::readMap(&op, i)))
        note(domainOf(op.getOperand(i)));
  }
  // A buffer of edges is counted from the unit's first edge, whether or not pairs are visited.
  levels = {loop, {unit}};
  places[unit].inner = nullptr;
  builder.setInsertionPointToEnd(places[unit].block);
  Domain around = unit;
  for (auto [domain, isVisited] : {std::pair(pair, hasPairs), std::pair(Domain::Edge, hasEdges)}) {
    if (!isVisited)
      continue;
    kern::ForOp inner = makeLoop(domain);
    places[around].inner = inner;
    places[domain] = {&inner.getBody().front(), nullptr};
    levels.rows.push_back(domain);
    builder.setInsertionPointToEnd(&inner.getBody().front());
    around = domain;
  }
  // What was read at the unit's level is still there.
  std::erase_if(loads, [&](const auto &entry) {
    Operation *op = entry.second.getDefiningOp();
    return op->getBlock() != places[unit].block;
  });
  late.clear();
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (mlir::isa<flow::ConstantOp>(op))
      continue;
    bool isCollector = flow::collectMap(&op) != Map::Self;
    if (mlir::failed(isCollector ? lowerCollector(&op) : lowerRowOp(&op)))
      return mlir::failure();
  }
  // What is kept: in registers at the unit's level, else in a buffer; and what is written.
  mlir::OperandRange yielded = group.getBody().front().back().getOperands();
  for (auto [result, value] : llvm::zip_equal(sweep.getResults(), sweep.getBody().front().back().getOperands())) {
    Domain domain = domainOf(value);
    Value row = readRow(value, domain, Map::Self);
    for (auto [i, written] : llvm::enumerate(yielded))
      if (written == result) {
        places.at(domain).after(builder);
        store(row, static_cast<unsigned>(i), value.getLoc());
      }
    bool isReadLater = llvm::any_of(result.getUsers(), [](Operation *user) { return !mlir::isa<flow::YieldOp>(user); });
    if (domain == unit) {
      rows[result] = row;
    } else if (isReadLater) {
      places.at(unit).before(builder);
      auto type = kern::BufferType::get(builder.getContext(), domain, row.getType());
      Value buffer = builder.create<kern::BufferOp>(value.getLoc(), type);
      places.at(domain).after(builder);
      builder.create<kern::PutOp>(value.getLoc(), row, buffer);
      buffers[result] = buffer;
    }
  }
  // Rows below the unit are gone with the walk.
  for (Operation &op : sweep.getBody().front().without_terminator())
    for (Value value : op.getResults())
      if (!mlir::isa<flow::ConstantOp>(op) && domainOf(value) != unit)
        rows.erase(value);
  for (const auto &[value, buffer] : buffers)
    rows.erase(value);
  return mlir::success();
}

mlir::LogicalResult GroupLowering::lowerFlat() {
  Domain domain = group.getDomain();
  std::optional<Domain> type = sortedType();
  levels = {group.getLoop(), {domain}};
  if (type && readsType(*type)) {
    kern::TileOp tile = makeTile(type, std::nullopt);
    levels.rows = {*type, domain};
    builder.setInsertionPointToEnd(&tile.getBody().front());
    kern::ForOp loop = makeLoop(domain);
    places[*type] = {&tile.getBody().front(), loop};
    places[domain] = {&loop.getBody().front(), nullptr};
  } else {
    kern::ForOp loop = makeLoop(domain);
    places[domain] = {&loop.getBody().front(), nullptr};
  }
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (mlir::isa<flow::ConstantOp>(op))
      continue;
    places.at(domain).after(builder);
    if (mlir::failed(flow::isTerminal(&op) ? lowerTerminal(&op) : lowerRowOp(&op)))
      return mlir::failure();
  }
  for (auto [i, value] : llvm::enumerate(group.getBody().front().back().getOperands())) {
    Operation *op = value.getDefiningOp();
    if (op && flow::isTerminal(op))
      continue;
    Value row = readRow(value, domain, Map::Self);
    places.at(domain).after(builder);
    store(row, static_cast<unsigned>(i), value.getLoc());
  }
  return mlir::success();
}

/// The ops that compute a row again, if they take less time than the row would in shared memory: a few that multiply,
/// add and the like, and read rows of the loop's inputs. Else none.
static llvm::SetVector<Operation *> opsToRepeat(Operation *last) {
  constexpr size_t kMost = 8;
  llvm::SetVector<Operation *> ops;
  ops.insert(last);
  for (size_t next = 0; next < ops.size(); ++next) {
    Operation *op = ops[next];
    if (ops.size() > kMost ||
        !mlir::isa<flow::AddOp, flow::SubOp, flow::MulOp, flow::DivOp, flow::NegOp, flow::ChainOp, flow::ReshapeOp>(op))
      return {};
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      Operation *source = op->getOperand(i).getDefiningOp();
      const Map map = flow::readMap(op, i);
      if (source && !mlir::isa<flow::ConstantOp>(source))
        ops.insert(source);
      else if (!source && map != Map::Self && map != Map::One && map != Map::EdgeType && map != Map::NodeType)
        return {};
    }
  }
  return ops;
}

mlir::LogicalResult GroupLowering::lowerGemm() {
  const Domain domain = group.getDomain();
  mlir::Block &body = group.getBody().front();
  // A weight_grad that sums nothing is work of one row.
  auto isTileProduct = [](Operation *op) {
    return mlir::isa<flow::LinearOp>(op) || (mlir::isa<flow::WeightGradOp>(op) && flow::collectMap(op) != Map::Self);
  };
  auto endsLoop = [](Operation *op) { return flow::isTerminal(op) && flow::collectMap(op) != Map::Self; };
  // What products read comes before them, the rest after.
  llvm::SetVector<Operation *> before;
  SmallVector<Operation *> products;
  for (Operation &op : body.without_terminator())
    if (isTileProduct(&op))
      products.push_back(&op);
  SmallVector<Operation *> work;
  for (Operation *op : products)
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && !mlir::isa<flow::ConstantOp>(source))
        work.push_back(source);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isTileProduct(op))
      return op->emitOpError() << "is read by a product of the same group, which has no kernel";
    if (!before.insert(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && !mlir::isa<flow::ConstantOp>(source))
        work.push_back(source);
  }

  // So do sums that wait for no product, if they read what is there for one: no row is read again, or kept, for them.
  llvm::DenseSet<std::pair<Value, Map>> readByProducts;
  for (Operation *op : products)
    for (unsigned i = 0; i < (mlir::isa<flow::LinearOp>(op) ? 1 : 2); ++i)
      readByProducts.insert({op->getOperand(i), flow::readMap(op, i)});
  llvm::DenseSet<Operation *> early;
  for (Operation &op : body.without_terminator()) {
    if (!endsLoop(&op) || isTileProduct(&op))
      continue;
    llvm::SetVector<Operation *> cone;
    cone.insert(&op);
    bool readsKnown = false, isEarly = true;
    for (size_t i = 0; i < cone.size(); ++i) {
      isEarly &= !isTileProduct(cone[i]) && (i == 0 || llvm::all_of(cone[i]->getUsers(), [&](Operation *user) {
                                               return cone.contains(user) || mlir::isa<flow::YieldOp>(user);
                                             }));
      for (auto [place, operand] : llvm::enumerate(cone[i]->getOperands())) {
        Operation *source = operand.getDefiningOp();
        const bool isKnown =
            source ? before.contains(source)
                   : readByProducts.contains({operand, flow::readMap(cone[i], static_cast<unsigned>(place))});
        readsKnown |= isKnown;
        if (source && !isKnown && !mlir::isa<flow::ConstantOp>(source))
          cone.insert(source);
      }
    }
    if (!isEarly || !readsKnown)
      continue;
    early.insert(&op);
    before.insert(cone.begin() + 1, cone.end());
  }

  std::optional<Domain> type = sortedType();
  if (type && !readsType(*type))
    type = std::nullopt;
  // Rows of a tile share their weights, or a tile is one row.
  const bool isGpu = flow::Machine(group->getParentOfType<mlir::func::FuncOp>()).isGpu();
  bool isTall = true, hasOuter = false;
  int64_t rowBytes = 0, leftBytes = 1, columnBytes = 0;
  llvm::DenseSet<Value> counted;
  for (Operation *op : products) {
    const bool isLinear = mlir::isa<flow::LinearOp>(op);
    for (Value value : {op->getOperand(0), isLinear ? Value(op->getResult(0)) : op->getOperand(1)}) {
      auto rows = mlir::cast<RowsType>(value.getType());
      const int64_t bytes = isGpu && !rows.getElementType().isF64() ? 4 : 8;
      if (counted.insert(value).second || !isGpu)
        rowBytes += bytes * rows.getRowSize();
    }
    hasOuter |= !isLinear;
    leftBytes = std::max(leftBytes, 4 * mlir::cast<RowsType>(op->getOperand(0).getType()).getRowSize());
    if (!isLinear)
      continue;
    const auto result = mlir::cast<RowsType>(op->getResult(0).getType());
    columnBytes = std::max(columnBytes, result.getShape().back() * (result.getElementType().isF64() ? 8 : 4));
    Map map = flow::readMap(op, 1);
    bool isShared = map == Map::One || (type == Domain::EdgeType && map == Map::EdgeType) ||
                    (type == Domain::NodeType && map == Map::NodeType);
    isTall &= isShared;
  }
  int64_t height = 1;
  const int64_t blockRows = columnBytes <= kNarrowBytes ? 2 * kTileRows : kTileRows;
  if (isTall)
    height = std::clamp<int64_t>(kTileBytes / std::max<int64_t>(rowBytes, 1), isGpu ? 1 : blockRows,
                                 isGpu      ? kTileRowsOnGpu
                                 : hasOuter ? kTallTileRows
                                            : std::clamp(kTileRowBytes / leftBytes, blockRows, kTallTileRows));
  if (!isGpu && height > blockRows)
    height -= height % blockRows;
  if (isGpu && height > 16)
    height -= height % 16;  // rows of a matrix instruction
  kern::TileOp tile = makeTile(type, height);
  mlir::Block *tileBlock = &tile.getBody().front();
  if (type)
    places[*type] = {tileBlock, nullptr};
  levels = {group.getLoop(), {domain}};
  if (type)
    levels.rows.insert(levels.rows.begin(), *type);

  auto enter = [&] {
    builder.setInsertionPointToEnd(tileBlock);
    kern::ForOp loop = makeLoop(domain);
    places[domain] = {&loop.getBody().front(), nullptr};
    if (type)
      places[*type] = {tileBlock, loop};
    std::erase_if(loads, [&](const auto &entry) { return entry.second.getDefiningOp()->getBlock() != tileBlock; });
    return loop;
  };
  auto atTile = [&](mlir::Type row, mlir::Location location) -> Value {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(places.at(domain).block->getParentOp());
    return builder.create<kern::BufferOp>(location, kern::BufferType::get(builder.getContext(), domain, row));
  };

  // Before the products: the rows that they read.
  kern::ForOp first = enter();
  for (Operation &op : body.without_terminator())
    if (before.contains(&op) && mlir::failed(lowerRowOp(&op)))
      return mlir::failure();
  std::map<std::pair<void *, Map>, Value> packed;
  auto pack = [&](Operation *op, unsigned i) {
    Value value = op->getOperand(i);
    Map map = flow::readMap(op, i);
    Value &buffer = packed[{value.getAsOpaquePointer(), map}];
    if (!buffer) {
      Value row = operandRow(op, i);
      auto input = mlir::dyn_cast<mlir::BlockArgument>(value);
      Value named = input ? kernel.getBody().getArgument(input.getArgNumber()) : value;
      buffer = atTile(row.getType(), named.getLoc());
      places.at(domain).after(builder);
      builder.create<kern::PutOp>(op->getLoc(), row, buffer);
    }
    return buffer;
  };
  SmallVector<std::pair<Value, Value>> operands;
  for (Operation *op : products)
    operands.push_back({pack(op, 0), mlir::isa<flow::LinearOp>(op) ? Value() : pack(op, 1)});
  mlir::OperandRange yielded = body.back().getOperands();
  // What else is to be done with these rows.
  for (Operation &op : body.without_terminator()) {
    if (!early.contains(&op))
      continue;
    places.at(domain).after(builder);
    if (mlir::failed(lowerTerminal(&op)))
      return mlir::failure();
    before.insert(&op);
  }
  for (auto [i, value] : llvm::enumerate(yielded))
    if (Operation *op = value.getDefiningOp(); op && before.contains(op) && !endsLoop(op)) {
      places.at(domain).after(builder);
      store(rows.at(value), static_cast<unsigned>(i), value.getLoc());
    }
  // On a GPU, both loops over a tile give a row to the same lanes.
  llvm::DenseSet<Operation *> again;
  for (Operation &op : body.without_terminator()) {
    if (!before.contains(&op) || endsLoop(&op))
      continue;
    Value value = op.getResult(0);
    bool isReadAfter = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !before.contains(user) && !isTileProduct(user) && !mlir::isa<flow::YieldOp>(user);
    });
    llvm::SetVector<Operation *> repeated;
    if (isReadAfter && isGpu)
      repeated = opsToRepeat(&op);
    again.insert(repeated.begin(), repeated.end());
    if (isReadAfter && repeated.empty()) {
      auto found = packed.find({value.getAsOpaquePointer(), Map::Self});
      Value buffer = found != packed.end() ? found->second : Value();
      if (!buffer) {
        buffer = atTile(rows.at(value).getType(), value.getLoc());
        places.at(domain).after(builder);
        builder.create<kern::PutOp>(op.getLoc(), rows.at(value), buffer);
      }
      buffers[value] = buffer;
    }
    rows.erase(value);
  }

  // The products themselves.
  for (auto [op, buffersOf] : llvm::zip_equal(products, operands)) {
    builder.setInsertionPointToEnd(tileBlock);
    if (auto linear = mlir::dyn_cast<flow::LinearOp>(op)) {
      llvm::ArrayRef<int64_t> x = linear.getInput().getType().getShape(), w = linear.getWeights().getType().getShape();
      int64_t inner = x.back(), outer = linear.getResult().getType().getShape().back();
      int64_t heads = linear.getResult().getType().getRowSize() / outer;
      auto input = mlir::cast<mlir::BlockArgument>(linear.getWeights());
      Access access = levels.find(domain, flow::readMap(op, 1), inputOrders[input.getArgNumber()]);
      mlir::Type rowType = rowTypeOf(linear.getResult().getType());
      Value result =
          builder.create<kern::BufferOp>(op->getLoc(), kern::BufferType::get(builder.getContext(), domain, rowType));
      builder.create<kern::ProductOp>(
          op->getLoc(), buffersOf.first, kernel.getBody().getArgument(input.getArgNumber()), domainAttr(access.level),
          pathAttr(access), result, builder.getI64IntegerAttr(heads), builder.getI64IntegerAttr(inner),
          builder.getI64IntegerAttr(outer), linear.getTransposed() ? builder.getUnitAttr() : mlir::UnitAttr(),
          linear.getGuarded() ? builder.getUnitAttr() : mlir::UnitAttr(),
          x.size() == 1 ? builder.getUnitAttr() : mlir::UnitAttr(),
          w.size() == 2 ? builder.getUnitAttr() : mlir::UnitAttr());
      buffers[linear.getResult()] = result;
      continue;
    }
    auto grad = mlir::cast<flow::WeightGradOp>(op);
    RowsType x = grad.getInput().getType(), g = grad.getGrad().getType(), total = grad.getResult().getType();
    int64_t inner = x.getShape().back(), outer = g.getShape().back();
    int64_t heads = std::max(x.getRowSize() / inner, g.getRowSize() / outer);
    auto unit = [&](bool isSet) { return isSet ? builder.getUnitAttr() : mlir::UnitAttr(); };
    Value acc = makeTotal(op, AccKind::Sum, grad.getVia(), {});
    builder.create<kern::OuterOp>(op->getLoc(), buffersOf.first, buffersOf.second, acc,
                                  builder.getI64IntegerAttr(heads), builder.getI64IntegerAttr(inner),
                                  builder.getI64IntegerAttr(outer), unit(grad.getTransposed()), unit(x.getRank() == 1),
                                  unit(g.getRank() == 1), unit(total.getRank() == 2));
  }

  // After them.
  kern::ForOp second = enter();
  for (Operation &op : body.without_terminator()) {
    if ((before.contains(&op) && !again.contains(&op)) || isTileProduct(&op) || mlir::isa<flow::ConstantOp>(op))
      continue;
    places.at(domain).after(builder);
    if (mlir::failed(endsLoop(&op) ? lowerTerminal(&op) : lowerRowOp(&op)))
      return mlir::failure();
  }
  for (auto [i, value] : llvm::enumerate(yielded)) {
    Operation *op = value.getDefiningOp();
    if (op && (endsLoop(op) || before.contains(op)))
      continue;
    Value row = readRow(value, domain, Map::Self);
    places.at(domain).after(builder);
    store(row, static_cast<unsigned>(i), value.getLoc());
  }
  for (kern::ForOp loop : {first, second})
    if (loop.getBody().front().empty())
      loop.erase();
  return mlir::success();
}

mlir::FailureOr<kern::KernelOp> GroupLowering::run() {
  kernel = builder.create<kern::KernelOp>(group.getLoc(), "kernel", group.getLoop(), group.getDomain(),
                                          static_cast<int64_t>(group.getInputs().size()));
  mlir::Block &block = kernel.getBody().emplaceBlock();
  auto addTable = [&](Value table) {
    const std::string &name = names[block.getNumArguments()];
    mlir::Location location = group.getLoc();
    if (!name.empty())
      location = mlir::NameLoc::get(builder.getStringAttr(name), location);
    block.addArgument(storedType(mlir::cast<RowsType>(table.getType())), location);
  };
  for (Value input : group.getInputs())
    addTable(input);
  for (Value result : group.getResults())
    addTable(result);
  builder.setInsertionPointToEnd(&block);
  mlir::LogicalResult done = group.isTraversal()                   ? lowerTraversal()
                             : group.getLoop() == flow::Loop::Gemm ? lowerGemm()
                                                                   : lowerFlat();
  if (mlir::failed(done)) {
    kernel.erase();
    return mlir::failure();
  }
  return kernel;
}

}  // namespace

mlir::FailureOr<kern::KernelOp> lowerGroup(mlir::OpBuilder &builder, flow::GroupOp group,
                                           llvm::ArrayRef<Order> inputOrders, llvm::ArrayRef<std::string> names) {
  return GroupLowering(builder, group, inputOrders, names).run();
}

}  // namespace hector
