/// Groups, sweeps and folds: syntax, verifiers, and what a loop has at hand.

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>

using namespace mlir;
using namespace hector::flow;

static Domain domainOf(Value value) {
  return cast<RowsType>(value.getType()).getDomain();
}

//===- How ops read ----------------------------------------------------------------------------------------------===//

Domain hector::flow::walkedDomain(Operation *op) {
  if (auto grad = dyn_cast<WeightGradOp>(op))
    return grad.getOver();
  if (isa<ReduceOp, FirstIndexOp, FoldOp>(op))
    return domainOf(op->getOperand(0));
  return domainOf(op->getResult(0));
}

Map hector::flow::readMap(Operation *op, unsigned i) {
  // Dense ops last: asking an op for an interface that it lacks is slow.
  return llvm::TypeSwitch<Operation *, Map>(op)
      .Case<SpreadOp>([](SpreadOp spread) { return spread.getVia(); })
      .Case<WeightGradOp>([&](WeightGradOp grad) { return i == 0 ? grad.getInputMap() : grad.getGradMap(); })
      // What is not collected lives where the result of the reduction does.
      .Case<ReduceOp, FirstIndexOp>([&](auto reduce) { return i == 0 ? Map::Self : reduce.getVia(); })
      .Case<FoldOp>([](FoldOp) { return Map::Self; })
      .Default([&](Operation *dense) { return cast<DenseOp>(dense).getMap(i); });
}

Map hector::flow::collectMap(Operation *op) {
  return llvm::TypeSwitch<Operation *, Map>(op)
      .Case<ReduceOp, FirstIndexOp, FoldOp, WeightGradOp>([](auto collect) { return collect.getVia(); })
      .Default([](Operation *) { return Map::Self; });
}

//===- What a loop has at hand -----------------------------------------------------------------------------------===//

bool hector::flow::isLevel(Loop loop, Domain from, Map map) {
  if (map == Map::Self)
    return true;
  if (loop == Loop::ByDst)
    return map == Map::Dst || map == Map::DstPair || (map == Map::Node && from == Domain::DstPair);
  if (loop == Loop::BySrc)
    return map == Map::Src || map == Map::SrcPair || (map == Map::Node && from == Domain::SrcPair);
  return false;
}

std::optional<Loop> hector::flow::traversalAlong(Domain from, Map map) {
  for (Loop loop : {Loop::ByDst, Loop::BySrc})
    if (map != Map::Self && isLevel(loop, from, map))
      return loop;
  return std::nullopt;
}

StringRef hector::flow::tableName(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    StringRef inner = tableName(call.getCallee());
    return inner.empty() ? tableName(call.getCaller()) : inner;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = tableName(part); !name.empty())
        return name;
  return {};
}

Order hector::flow::walkOrder(Loop loop, Domain domain) {
  switch (domain) {
  case Domain::Edge:
    return loop == Loop::ByDst ? Order::ByDst : loop == Loop::BySrc ? Order::BySrc : Order::ByType;
  case Domain::DstPair:
    return loop == Loop::ByDst ? Order::ByDst : Order::ByType;
  case Domain::SrcPair:
    return loop == Loop::BySrc ? Order::BySrc : Order::ByType;
  default:
    return Order::None;
  }
}

bool hector::flow::isProduct(Operation *op) {
  return isa<LinearOp, WeightGradOp>(op);
}

bool hector::flow::isTerminal(Operation *op) {
  return isa<WeightGradOp>(op) ||
         (isa<ReduceOp, FirstIndexOp, FoldOp>(op) && !traversalAlong(walkedDomain(op), collectMap(op)));
}

/// Whether a loop whose finest domain is `finest` walks rows of `domain`.
static bool hasLevel(Loop loop, Domain finest, Domain domain) {
  if (!isTraversal(loop))
    return domain == finest;
  Domain pair = loop == Loop::ByDst ? Domain::DstPair : Domain::SrcPair;
  return domain <= finest &&  // domains are listed from coarse to fine
         (domain == Domain::Node || domain == pair || domain == Domain::Edge);
}

//===- Groups ----------------------------------------------------------------------------------------------------===//

Order GroupOp::getOrder(unsigned result) {
  if (auto orders = getOrders())
    return cast<OrderAttr>(orders->getValue()[result]).getValue();
  return walkOrder(getLoop(), domainOf(getResult(result)));
}

Domain GroupOp::getOuterDomain() {
  Domain outer = getDomain();
  if (isTraversal())
    getBody().walk([&](Operation *op) {
      if (op->getNumResults() > 0 && !isa<ConstantOp, SweepOp>(op) && !op->getParentOfType<FoldOp>())
        outer = std::min(outer, domainOf(op->getResult(0)));
    });
  return outer;
}

template <class Enum>
static ParseResult parseWord(OpAsmParser &parser, StringRef what, std::optional<Enum> (*symbolize)(StringRef),
                             Enum &value) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  auto found = symbolize(keyword);
  if (!found)
    return parser.emitError(location) << "unknown " << what << " `" << keyword << "`";
  value = *found;
  return success();
}

ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &state) {
  Loop loop = Loop::Flat;
  Domain domain = Domain::One;
  Phase phase = Phase::Forward;
  if (parseWord<Loop>(parser, "loop", symbolizeLoop, loop) ||
      parseWord<Domain>(parser, "domain", symbolizeDomain, domain) ||
      parseWord<Phase>(parser, "phase", symbolizePhase, phase))
    return failure();
  MLIRContext *context = parser.getContext();
  state.getOrAddProperties<Properties>().loop = LoopAttr::get(context, loop);
  state.getOrAddProperties<Properties>().domain = DomainAttr::get(context, domain);
  state.getOrAddProperties<Properties>().phase = PhaseAttr::get(context, phase);
  if (succeeded(parser.parseOptionalKeyword("beside")))
    state.getOrAddProperties<Properties>().beside = UnitAttr::get(context);
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseAssignmentList(arguments, operands) || parser.parseColonType(type))
    return failure();
  if (type.getNumInputs() != operands.size())
    return parser.emitError(location) << "has " << operands.size() << " inputs, but " << type.getNumInputs()
                                      << " types of inputs";
  for (auto [argument, input] : llvm::zip_equal(arguments, type.getInputs()))
    argument.type = input;
  state.addTypes(type.getResults());
  if (succeeded(parser.parseOptionalKeyword("in"))) {
    SmallVector<Attribute> orders;
    auto parseOrder = [&]() -> ParseResult {
      Order order = Order::None;
      if (parseWord<Order>(parser, "order", symbolizeOrder, order))
        return failure();
      orders.push_back(OrderAttr::get(context, order));
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOrder))
      return failure();
    state.getOrAddProperties<Properties>().orders = ArrayAttr::get(context, orders);
  }
  return failure(parser.resolveOperands(operands, type.getInputs(), location, state.operands) ||
                 parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), arguments));
}

void GroupOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyLoop(getLoop()) << ' ' << stringifyDomain(getDomain()) << ' ' << stringifyPhase(getPhase())
          << (getBeside() ? " beside (" : " (");
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()), printer, [&](auto pair) {
    auto [argument, input] = pair;
    printer << argument << " = " << input;
  });
  printer << ") : ";
  printer.printFunctionalType(getInputs().getTypes(), getResults().getTypes());
  if (auto orders = getOrders()) {
    printer << " in (";
    llvm::interleaveComma(*orders, printer,
                          [&](Attribute order) { printer << stringifyOrder(cast<OrderAttr>(order).getValue()); });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"loop", "domain", "phase", "orders", "beside"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Checks that two lists of types are equal; `what` has the first, `other` the second.
static LogicalResult verifySameTypes(Operation *op, TypeRange a, TypeRange b, StringRef what, StringRef other) {
  if (a == b)
    return success();
  if (a.size() != b.size())
    return op->emitOpError() << "has " << a.size() << " " << what << ", but " << b.size() << " " << other;
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (x != y)
      return op->emitOpError() << "has " << what << " of type " << x << ", but " << other << " of type " << y;
  return success();
}

/// The `flow.yield` that ends a region of `op`; nothing, with an error, where something else does.
static FailureOr<YieldOp> yieldOf(Operation *op, Region &region) {
  if (region.hasOneBlock() && !region.front().empty())
    if (auto yield = dyn_cast<YieldOp>(region.front().back()))
      return yield;
  return op->emitOpError("has a region that `flow.yield` does not end");
}

/// Checks one op of a loop's body.
static LogicalResult verifyInLoop(GroupOp group, Operation *op) {
  Loop loop = group.getLoop();
  if (op->getName().getDialectNamespace() != FlowDialect::getDialectNamespace() || op->getNumResults() == 0 ||
      isa<GroupOp, SweepOp>(op))
    return op->emitOpError() << "cannot be part of a loop `" << stringifyLoop(loop) << "`";
  Domain walked = walkedDomain(op);
  if (!hasLevel(loop, group.getDomain(), walked))  // (C3)
    return op->emitOpError() << "walks " << stringifyDomain(walked) << ", which a loop `" << stringifyLoop(loop)
                             << "` over " << stringifyDomain(group.getDomain()) << " does not";
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Operation *source = operand.getDefiningOp();
    if (!source || isa<ConstantOp>(source))
      continue;
    bool isCollected = isa<ReduceOp, FirstIndexOp>(op) && i > 0;  // lives where the result does
    if (!isCollected && !isLevel(loop, walked, readMap(op, i)))   // (C4)
      return op->emitOpError() << "reads a value of its own loop through `" << stringifyMap(readMap(op, i))
                               << "`: the loop does not have that row at hand";
    if (isTerminal(source))  // (C5)
      return op->emitOpError("reads a sum that is complete only after the loop");
  }
  if (Map via = collectMap(op); via != Map::Self && group.isTraversal() && !isLevel(loop, walked, via))  // (C5)
    return op->emitOpError() << "collects along `" << stringifyMap(via) << "`, which is no level of a loop `"
                             << stringifyLoop(loop) << "`";
  if (!group.isTraversal() && !isa<WeightGradOp>(op) && collectMap(op) != Map::Self && !isTerminal(op))  // (C5)
    return op->emitOpError() << "collects along `" << stringifyMap(collectMap(op)) << "`, which needs a traversal";
  if (isProduct(op) && loop != Loop::Gemm)  // (C6)
    return op->emitOpError() << "is a product, which a loop `" << stringifyLoop(loop) << "` cannot hold";
  if (isa<LinearOp>(op) && op->getOperand(1).getDefiningOp())  // (C6)
    return op->emitOpError("multiplies by weights that its own loop computes");
  return success();
}

/// Checks the orders of a group's results.
static LogicalResult verifyOrders(GroupOp group) {
  auto orders = group.getOrders();
  if (!orders)
    return success();
  if (orders->size() != group.getNumResults())  // (C7)
    return group.emitOpError() << "has " << group.getNumResults() << " results, but " << orders->size() << " orders";
  for (auto [order, result] : llvm::zip_equal(*orders, group.getResults())) {
    auto known = dyn_cast<OrderAttr>(order);
    Order value = known ? known.getValue() : Order::None;
    Domain domain = domainOf(result);
    bool isRight = domain == Domain::Edge      ? value != Order::None
                   : domain == Domain::DstPair ? value == Order::ByType || value == Order::ByDst
                   : domain == Domain::SrcPair ? value == Order::ByType || value == Order::BySrc
                                               : value == Order::None;
    if (!known || !isRight)  // (C7)
      return group.emitOpError() << "writes rows of " << stringifyDomain(domain) << " in the order "
                                 << stringifyOrder(value) << ", which they cannot have";
  }
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  if (failed(verifyOrders(*this)))
    return failure();
  auto yield = yieldOf(*this, getBody());
  if (failed(yield) ||
      failed(verifySameTypes(*this, getInputs().getTypes(), getBody().getArgumentTypes(), "inputs", "arguments")) ||
      failed(verifySameTypes(*this, getResultTypes(), yield->getOperandTypes(), "results", "yielded values")))  // (C1)
    return failure();
  if (!hasLevel(getLoop(), getDomain(), getDomain()))  // (C3)
    return emitOpError() << "walks " << stringifyDomain(getDomain()) << ", which is no level of a loop `"
                         << stringifyLoop(getLoop()) << "`";
  bool hasProduct = false;
  for (Operation &op : getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (isa<SweepOp>(op) != isTraversal())  // (C2)
      return op.emitOpError() << "cannot stand by itself in a loop `" << stringifyLoop(getLoop()) << "`";
    hasProduct |= isProduct(&op);
    if (!isTraversal()) {
      if (failed(verifyInLoop(*this, &op)))
        return failure();
      continue;
    }
    for (Operation &inner : cast<SweepOp>(op).getBody().front().without_terminator())
      if (!isa<ConstantOp>(inner) && failed(verifyInLoop(*this, &inner)))
        return failure();
  }
  if (hasProduct != (getLoop() == Loop::Gemm))  // (C6)
    return emitOpError("is a `gemm` without a product");
  return success();
}

LogicalResult SweepOp::verifyRegions() {
  auto yield = yieldOf(*this, getBody());
  if (failed(yield) ||
      failed(verifySameTypes(*this, getResultTypes(), yield->getOperandTypes(), "results", "yielded values")))  // (C1)
    return failure();
  llvm::DenseSet<Value> collected;  // what is complete at the end of the sweep, and what is computed from it
  for (Operation &op : getBody().front().without_terminator()) {
    bool isCollected = collectMap(&op) != Map::Self;
    for (Value operand : op.getOperands()) {
      if (!collected.contains(operand))
        continue;
      // What a reduction compares with or starts from lives where its result does, but is needed from the first row on.
      if (!isa<ConstantOp>(op) && domainOf(operand) < walkedDomain(&op))  // (C2)
        return op.emitOpError("reads from below what its own sweep collects");
      isCollected = true;
    }
    if (isCollected)
      collected.insert(op.result_begin(), op.result_end());
  }
  for (Value value : yield->getOperands())
    if (!value.getDefiningOp() || value.getDefiningOp()->getBlock() != &getBody().front() ||
        isa<ConstantOp>(value.getDefiningOp()))  // (C3)
      return yield->emitOpError("gives a value that its sweep does not compute");
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  if (getInputs().empty() || getResults().empty())
    return emitOpError("needs an input and a result");
  Domain from = domainOf(getInputs().front()), to = domainOf(getResults().front());
  auto isAt = [](Domain domain) { return [=](Type type) { return cast<RowsType>(type).getDomain() == domain; }; };
  if (getVia() == Map::Self || mapTarget(from, getVia()) != to || !llvm::all_of(getInputs().getTypes(), isAt(from)) ||
      !llvm::all_of(getResultTypes(), isAt(to)))  // (C1)
    return emitOpError() << "collects from " << stringifyDomain(from) << " to " << stringifyDomain(to) << " along `"
                         << stringifyMap(getVia()) << "`, which does not lead there for all inputs and results";
  for (Region *region : {&getInit(), &getStep(), &getJoin(), &getFinish()}) {
    if (failed(yieldOf(*this, *region)))
      return failure();
    for (Operation &op : region->front().without_terminator())
      if (!isa<ConstantOp>(op) && (!isa<DenseOp>(op) || walkedDomain(&op) != to || dependsOnRow(&op)))  // (C4)
        return op.emitOpError("cannot be part of a fold");
  }
  auto yielded = [](Region &region) { return region.front().back().getOperandTypes(); };
  TypeRange accumulators = yielded(getInit());
  if (accumulators.empty())  // (C2)
    return emitOpError("has no accumulator: its `init` yields nothing");
  SmallVector<Type> stepped(accumulators), joined(accumulators);
  for (Type input : getInputs().getTypes())
    stepped.push_back(cast<RowsType>(input).withDomain(to));
  joined.append(accumulators.begin(), accumulators.end());
  if (failed(verifySameTypes(*this, TypeRange(), getInit().getArgumentTypes(), "values before `init`",
                             "arguments of it")) ||
      failed(verifySameTypes(*this, stepped, getStep().getArgumentTypes(), "accumulators and inputs",
                             "arguments of `step`")) ||
      failed(
          verifySameTypes(*this, joined, getJoin().getArgumentTypes(), "accumulators twice", "arguments of `join`")) ||
      failed(verifySameTypes(*this, accumulators, yielded(getStep()), "accumulators", "results of `step`")) ||
      failed(verifySameTypes(*this, accumulators, yielded(getJoin()), "accumulators", "results of `join`")))  // (C2)
    return failure();
  if (failed(verifySameTypes(*this, accumulators, getFinish().getArgumentTypes(), "accumulators",
                             "arguments of `finish`")) ||
      failed(verifySameTypes(*this, getResultTypes(), yielded(getFinish()), "results", "results of `finish`")))  // (C3)
    return failure();
  return success();
}
