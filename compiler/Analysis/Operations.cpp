#include "compiler/Analysis/Operations.h"

#include <llvm/ADT/TypeSwitch.h>

#include <cmath>
#include <vector>

namespace hector::flow {

RowCounts::RowCounts(mlir::func::FuncOp function) {
  graph = function->getAttrOfType<GraphAttr>("flow.graph");
  given = static_cast<bool>(graph);
  // Typical of the graphs in the literature, all of which have more edges than pairs and more pairs than nodes.
  if (!given)
    graph = GraphAttr::get(function.getContext(), /*nodes=*/100'000, /*edges=*/1'000'000, /*srcPairs=*/400'000,
                           /*dstPairs=*/400'000, /*relations=*/50, /*nodeTypes=*/4, /*uniform=*/0, {}, {}, {}, {});
}

double RowCounts::of(Domain domain) const {
  switch (domain) {
  case Domain::One:
    return 1;
  case Domain::NodeType:
    return static_cast<double>(graph.getNodeTypes());
  case Domain::EdgeType:
    return static_cast<double>(graph.getRelations());
  case Domain::Node:
    return static_cast<double>(graph.getNodes());
  case Domain::SrcPair:
    return static_cast<double>(graph.getSrcPairs());
  case Domain::DstPair:
    return static_cast<double>(graph.getDstPairs());
  case Domain::Edge:
    return static_cast<double>(graph.getEdges());
  }
  return 0;
}

double operations(mlir::Operation *op, const RowCounts &rows) {
  auto rowsOf = [&](mlir::Value value) { return rows.of(mlir::cast<RowsType>(value.getType()).getDomain()); };
  auto sizeOf = [](mlir::Value value) {
    return static_cast<double>(mlir::cast<RowsType>(value.getType()).getRowSize());
  };
  return llvm::TypeSwitch<mlir::Operation *, double>(op)
      .Case<ConstantOp, SpreadOp, ExpandOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp, CastOp>([](auto) { return 0.0; })
      .Case<LinearOp>([&](LinearOp linear) {
        return 2 * rowsOf(linear.getResult()) * sizeOf(linear.getResult()) *
               static_cast<double>(linear.getInput().getType().getShape().back());
      })
      .Case<DotOp>([&](DotOp dot) {
        double inner = static_cast<double>(dot.getLhs().getType().getShape().back());
        return 2 * rowsOf(dot.getResult()) * sizeOf(dot.getResult()) * inner;
      })
      .Case<WeightGradOp>([&](WeightGradOp grad) {
        // Every head is multiplied, also where the result sums over them.
        double outer = static_cast<double>(grad.getGrad().getType().getShape().back());
        double inner = static_cast<double>(grad.getInput().getType().getShape().back());
        double heads = std::max(sizeOf(grad.getInput()) / inner, sizeOf(grad.getGrad()) / outer);
        return 2 * rows.of(grad.getOver()) * heads * inner * outer;
      })
      .Case<ReduceOp>([&](ReduceOp reduce) { return rowsOf(reduce.getRows()) * sizeOf(reduce.getRows()); })
      .Case<RowReduceOp>([&](RowReduceOp reduce) { return rowsOf(reduce.getResult()) * sizeOf(reduce.getInput()); })
      .Case<DropoutOp>([&](DropoutOp dropout) {
        constexpr double kDraw = 10;  // a quarter of a call of Philox, which draws for four numbers
        return kDraw * rowsOf(dropout.getResult()) * sizeOf(dropout.getResult());
      })
      .Default([&](mlir::Operation *other) { return rowsOf(other->getResult(0)) * sizeOf(other->getResult(0)); });
}

/// The columns of a product's result, in bytes: the axis that vectors run along.
static double columnBytes(mlir::Operation *op) {
  auto type = mlir::cast<RowsType>((mlir::isa<WeightGradOp>(op) ? op->getOperand(1) : op->getResult(0)).getType());
  return type.getElementType().getIntOrFloatBitWidth() / 8.0 * static_cast<double>(type.getShape().back());
}

double effort(mlir::Operation *op, const Machine &machine) {
  if (isProduct(op)) {
    const double bytes = columnBytes(op);
    return bytes > 0 ? std::ceil(bytes / machine.lineBytes) * machine.lineBytes / bytes : 1;
  }
  if (machine.isGpu())
    return 1;
  // Measured: an addition of numbers alone against one among sixteen.
  constexpr double kAlone = 6;
  auto size = [](mlir::Value value) { return mlir::cast<RowsType>(value.getType()).getRowSize(); };
  const bool isAlone = size(op->getResult(0)) == 1 && !mlir::isa<DotOp, RowReduceOp>(op);
  const double function = llvm::TypeSwitch<mlir::Operation *, double>(op)
                              .Case<DivOp, SqrtOp, RsqrtOp>([](auto) { return 3.0; })
                              .Case<ExpOp>([](auto) { return 8.0; })
                              .Case<LogOp, TanhOp, SigmoidOp, SoftplusOp, ErfOp>([](auto) { return 14.0; })
                              .Case<SinOp, CosOp, PowOp, ModOp, FloorDivOp>([](auto) { return 60.0; })
                              .Default([](auto) { return 1.0; });
  return function * (isAlone ? kAlone : 1);
}

double rowBytes(RowsType type) {
  // The number of a row is an id of the graph: four bytes wherever they suffice.
  unsigned bits = type.getElementType().isIndex() ? 32 : type.getElementType().getIntOrFloatBitWidth();
  return static_cast<double>(type.getRowSize()) * (bits < 8 ? 1.0 : bits / 8.0);
}

double tableBytes(RowsType type, const RowCounts &rows) {
  return rows.of(type.getDomain()) * rowBytes(type);
}

static std::optional<Map> findFactor(Domain from, Map first, Map whole, bool uniform) {
  for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i) {
    Map rest = static_cast<Map>(i);
    // The end of an edge has a type on any graph. The type at the end of its relation is the same only on uniform
    // graphs.
    bool throughRelation =
        from == Domain::Edge && (rest == Map::SrcNodeType || rest == Map::DstNodeType) && first != Map::Self;
    if (compose(from, first, rest) == whole && (uniform || !throughRelation))
      return rest;
  }
  // On uniform graphs, a pair finds the type of its node through its relation as well.
  if (uniform && whole == Map::NodeType && from == Domain::SrcPair)
    return findFactor(from, first, Map::SrcNodeType, uniform);
  if (uniform && whole == Map::NodeType && from == Domain::DstPair)
    return findFactor(from, first, Map::DstNodeType, uniform);
  return std::nullopt;
}

std::optional<Map> factor(Domain from, Map first, Map whole, bool uniform) {
  // Passes call this more often than anything else, so all answers are computed once.
  constexpr unsigned kDomains = getMaxEnumValForDomain() + 1, kMaps = getMaxEnumValForMap() + 1;
  static const auto answers = [] {
    std::vector<std::optional<Map>> table(size_t{2} * kDomains * kMaps * kMaps);
    for (unsigned i = 0; i < table.size(); ++i)
      table[i] = findFactor(static_cast<Domain>(i / 2 / kMaps / kMaps), static_cast<Map>(i / 2 / kMaps % kMaps),
                            static_cast<Map>(i / 2 % kMaps), i % 2 == 1);
    return table;
  }();
  return answers[((static_cast<size_t>(from) * kMaps + static_cast<size_t>(first)) * kMaps +
                  static_cast<size_t>(whole)) *
                     2 +
                 uniform];
}

}  // namespace hector::flow
