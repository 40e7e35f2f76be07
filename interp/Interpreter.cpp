#include "interp/Interpreter.h"

#include "compiler/Analysis/FlowFunction.h"
#include "kernels/common/philox.hpp"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/storage/Tensor.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace hector {

using flow::Domain;
using flow::Map;
using flow::ReduceKind;
using flow::RowsType;

int64_t numRows(const Graph &graph, Domain domain) {
  switch (domain) {
  case Domain::One:
    return 1;
  case Domain::NodeType:
    return graph.numNodeTypes();
  case Domain::EdgeType:
    return graph.numRelations();
  case Domain::Node:
    return graph.numNodes();
  case Domain::SrcPair:
    return graph.srcPairs().count();
  case Domain::DstPair:
    return graph.dstPairs().count();
  case Domain::Edge:
    return graph.numEdges();
  }
  return 0;
}

namespace {

/// For each row of one domain, its row in another.
using Index = std::vector<int64_t>;

Index toIndex(const IdArray &ids) {
  Index index(ids.size());
  for (int64_t i = 0; i < ids.size(); ++i)
    index[i] = ids[i];
  return index;
}

/// The same for `ids` of edges, with rows in the order that the edges came in.
Index toEdgeIndex(const Graph &graph, const IdArray &ids) {
  Index index(ids.size());
  for (int64_t edge = 0; edge < ids.size(); ++edge)
    index[graph.edgeNumber(edge)] = ids[edge];
  return index;
}

/// The node type at one end of each relation; `end` is `src_ntype` or `dst_ntype`.
const Result<IdArray> &typesOfRelations(const Graph &graph, Map end) {
  return end == Map::SrcNodeType ? graph.srcTypeOfRelation() : graph.dstTypeOfRelation();
}

/// `second` after `first`.
Index chain(const Index &first, const Index &second) {
  Index index(first.size());
  for (size_t i = 0; i < first.size(); ++i)
    index[i] = second[first[i]];
  return index;
}

/// Row by row, where each number of a row shape is found in a row that is repeated to that shape.
std::vector<int64_t> broadcastOffsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> to) {
  int64_t size = 1;
  for (int64_t extent : to)
    size *= extent;
  std::vector<int64_t> offsets(size, 0);
  if (shape.empty())
    return offsets;
  for (int64_t k = 0; k < size; ++k) {
    int64_t rest = k, stride = 1, offset = 0;
    for (int64_t axis = static_cast<int64_t>(to.size()) - 1; axis >= 0; --axis) {
      int64_t position = rest % to[axis];
      rest /= to[axis];
      if (shape[axis] != 1)
        offset += position * stride;
      stride *= shape[axis];
    }
    offsets[k] = offset;
  }
  return offsets;
}

class Run {
public:
  Run(mlir::func::FuncOp function, const Graph &graph, const RunMode &mode)
      : function(function), graph(graph), mode(mode) {}

  Result<std::vector<Table>> run(std::vector<Table> arguments) {
    mlir::Block &block = function.getBody().front();
    if (arguments.size() != block.getNumArguments())
      return Status::invalid("the function takes " + std::to_string(block.getNumArguments()) +
                             " tables, but is given " + std::to_string(arguments.size()));
    for (auto [argument, table] : llvm::zip_equal(block.getArguments(), arguments)) {
      auto type = mlir::cast<RowsType>(argument.getType());
      int64_t rows = numRows(graph, type.getDomain());
      if (table.rows != rows || static_cast<int64_t>(table.values.size()) != rows * type.getRowSize())
        return Status::invalid("argument " + std::to_string(argument.getArgNumber()) + " needs " +
                               counted(rows, "row") + " of " + counted(type.getRowSize(), "number") + ", but has " +
                               counted(table.rows, "row") + " and " +
                               counted(static_cast<int64_t>(table.values.size()), "number"));
      roundTo(type.getElementType(), table.values);
      tables[argument] = std::move(table);
    }
    for (mlir::Operation &op : block.without_terminator()) {
      if (Status status = step(op); !status.isOk())
        return status;
      // A table is freed after its last reader.
      for (mlir::Value operand : op.getOperands())
        if (std::all_of(operand.user_begin(), operand.user_end(),
                        [&](mlir::Operation *user) { return user == &op || user->isBeforeInBlock(&op); }))
          tables.erase(operand);
    }
    std::vector<Table> results;
    for (mlir::Value value : block.getTerminator()->getOperands())
      results.push_back(at(value));
    return results;
  }

private:
  /// Which rows of a table a loop has at hand.
  using Held = std::vector<bool>;

  struct Operand {
    const Table *table;
    const Index *index;  // null: the same row
    int64_t rowSize;
    const Held *held;  // null: all rows
    bool *isMissing;

    const double *row(int64_t i) const {
      int64_t at = index ? (*index)[i] : i;
      if (held && !(*held)[at])
        *isMissing = true;
      return table->values.data() + at * rowSize;
    }
  };

  /// Where a value's rows are, by whatever name a group or sweep gives it.
  mlir::Value resolve(mlir::Value value) const {
    for (auto found = aliases.find(value); found != aliases.end(); found = aliases.find(value))
      value = found->second;
    return value;
  }
  Table &at(mlir::Value value) { return tables[resolve(value)]; }
  Operand operand(mlir::Value value, const Index *index) {
    mlir::Value home = resolve(value);
    auto found = held.find(home);
    return {&tables[home], index, mlir::cast<RowsType>(value.getType()).getRowSize(),
            found == held.end() ? nullptr : &found->second, &isMissing};
  }

  static void roundTo(mlir::Type type, llvm::MutableArrayRef<double> values) {
    if (type.isF32())
      for (double &value : values)
        value = static_cast<float>(value);
    else if (type.isF16())
      for (double &value : values)
        value = halfToDouble(doubleToHalf(value));
    else if (type.isBF16())
      for (double &value : values)
        value = bfloatToDouble(doubleToBfloat(value));
  }

  void walkAll(int64_t rows) {
    walked.resize(rows);
    std::iota(walked.begin(), walked.end(), 0);
  }

  /// Refuses what would take more memory than there is.
  static Status fits(int64_t bytes, const std::string &what, int64_t rows, const std::string &of) {
    constexpr int64_t kLarge = int64_t{1} << 24;  // asking the system takes longer than small ops do
    if (bytes < kLarge)
      return Status::ok();
    return requireMemory("out of memory: " + what + " of " + counted(rows, "row") + of, bytes);
  }

  /// An empty table for an op's result, all zeros.
  Result<Table> makeTable(RowsType type) {
    Table table;
    table.rows = numRows(graph, type.getDomain());
    table.shape.assign(type.getShape().begin(), type.getShape().end());
    int64_t bytes = 0;
    if (__builtin_mul_overflow(table.rows, type.getRowSize(), &bytes) ||
        __builtin_mul_overflow(bytes, int64_t{sizeof(double)}, &bytes))
      bytes = std::numeric_limits<int64_t>::max();
    if (Status status = fits(bytes, "a table", table.rows, " of " + std::to_string(type.getRowSize()) + " float64");
        !status.isOk())
      return status;
    table.values.assign(table.rows * type.getRowSize(), 0.0);
    return table;
  }

  /// The rows that `map` finds from each row of `from`; null for `self`. Built once per function.
  Result<const Index *> index(Domain from, Map map) {
    if (map == Map::Self)
      return static_cast<const Index *>(nullptr);
    auto [slot, isNew] = indices.try_emplace({from, map});
    if (!isNew)
      return static_cast<const Index *>(&slot->second);
    const int64_t rows = numRows(graph, from);
    if (Status status = fits(rows * int64_t{sizeof(int64_t)}, "an index", rows, ""); !status.isOk())
      return status;
    auto built = buildIndex(from, map);
    if (!built)
      return built.status();
    slot->second = std::move(*built);
    return static_cast<const Index *>(&slot->second);
  }

  Result<Index> buildIndex(Domain from, Map map) {
    if (map == Map::One)
      return Index(numRows(graph, from), 0);
    switch (from) {
    case Domain::Edge:
      switch (map) {
      case Map::Src:
        return toEdgeIndex(graph, graph.src());
      case Map::Dst:
        return toEdgeIndex(graph, graph.dst());
      case Map::EdgeType:
        return toEdgeIndex(graph, graph.etype());
      case Map::SrcPair:
        return toEdgeIndex(graph, graph.srcPairs().ofEdge);
      case Map::DstPair:
        return toEdgeIndex(graph, graph.dstPairs().ofEdge);
      case Map::SrcNodeType:
        return chain(toEdgeIndex(graph, graph.src()), toIndex(graph.ntypeOfNode()));
      case Map::DstNodeType:
        return chain(toEdgeIndex(graph, graph.dst()), toIndex(graph.ntypeOfNode()));
      default:
        break;
      }
      break;
    case Domain::Node:
      return toIndex(graph.ntypeOfNode());
    case Domain::SrcPair:
    case Domain::DstPair: {
      const Pairs &pairs = from == Domain::SrcPair ? graph.srcPairs() : graph.dstPairs();
      if (map == Map::Node)
        return toIndex(pairs.node);
      if (map == Map::NodeType)
        return chain(toIndex(pairs.node), toIndex(graph.ntypeOfNode()));
      if (map == Map::EdgeType)
        return toIndex(pairs.relation);
      auto types = buildIndex(Domain::EdgeType, map);
      if (!types)
        return types.status();
      return chain(toIndex(pairs.relation), *types);
    }
    case Domain::EdgeType: {
      const Result<IdArray> &types = typesOfRelations(graph, map);
      if (!types)
        return types.status();
      return toIndex(*types);
    }
    case Domain::NodeType:
    case Domain::One:
      break;
    }
    return Status::failed("there is no map `" + flow::stringifyMap(map).str() + "` from " +
                          flow::stringifyDomain(from).str());
  }

  /// Calls `visit` with each row of `domain` in the order in which rows are combined: pairs by their first edges,
  /// others by number.
  template <class F> void inOrder(Domain domain, F visit) {
    const bool isPair = domain == Domain::SrcPair || domain == Domain::DstPair;
    if (isPair && graph.edgeNumbers().size() > 0) {
      for (int64_t pair : pairOrder(domain))
        visit(pair);
      return;
    }
    for (int64_t i = 0; i < numRows(graph, domain); ++i)
      visit(i);
  }

  /// The pairs by their first edges. Built once per function.
  const Index &pairOrder(Domain domain) {
    auto [slot, isNew] = pairOrders.try_emplace(domain);
    Index &order = slot->second;
    if (!isNew)
      return order;
    const Pairs &pairs = domain == Domain::SrcPair ? graph.srcPairs() : graph.dstPairs();
    Index first(pairs.count(), std::numeric_limits<int64_t>::max());
    for (int64_t edge = 0; edge < graph.numEdges(); ++edge) {
      int64_t &number = first[pairs.ofEdge[edge]];
      number = std::min(number, graph.edgeNumber(edge));
    }
    order.resize(first.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    return order;
  }

  Status step(mlir::Operation &op) {
    if (auto group = mlir::dyn_cast<flow::GroupOp>(op))
      return runGroup(group);
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op))
      return runCall(call);
    auto type = mlir::cast<RowsType>(op.getResult(0).getType());
    auto made = makeTable(type);
    if (!made)
      return std::move(made).status();
    Table result = std::move(made).take();
    walkAll(numRows(graph, flow::walkedDomain(&op)));
    Status status = compute(op, type, result);
    if (!status.isOk())
      return status;
    if (mode.noise != 0 && isSum(op))
      disturb(type.getElementType(), result.values);
    roundTo(type.getElementType(), result.values);
    tables[op.getResult(0)] = std::move(result);
    return Status::ok();
  }

  /// Whether an op adds numbers up, which may be done in any order.
  static bool isSum(mlir::Operation &op) {
    auto adds = [](ReduceKind kind) { return kind == ReduceKind::Sum || kind == ReduceKind::Mean; };
    if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op))
      return adds(reduce.getKind());
    if (auto reduce = mlir::dyn_cast<flow::RowReduceOp>(op))
      return adds(reduce.getKind());
    return mlir::isa<flow::DotOp, flow::LinearOp, flow::WeightGradOp>(op);
  }

  void disturb(mlir::Type type, llvm::MutableArrayRef<double> values) {
    const double unit = type.isF64() ? 0x1p-52 : type.isF32() ? 0x1p-23 : type.isF16() ? 0x1p-10 : 0x1p-7;
    for (double &value : values)
      value *= 1.0 + (static_cast<double>(random(mode.noise, 17)) - 8.0) * unit;
  }

  /// Runs another function, which has nothing at hand but what it is given.
  Status runCall(mlir::func::CallOp call) {
    std::vector<Table> arguments;
    // A table that nobody else reads is handed over.
    for (mlir::Value operand : call.getOperands())
      arguments.push_back(operand.hasOneUse() ? std::move(tables[operand]) : tables[operand]);
    auto results = interpret(flow::calledFunction(call), graph, std::move(arguments), mode);
    if (!results)
      return results.status();
    for (auto [value, table] : llvm::zip_equal(call.getResults(), *results))
      tables[value] = std::move(table);
    return Status::ok();
  }

  Status compute(mlir::Operation &op, RowsType type, Table &result) {
    if (auto constant = mlir::dyn_cast<flow::ConstantOp>(op)) {
      result.values[0] = constant.getValue().convertToDouble();
      return Status::ok();
    }
    if (auto spread = mlir::dyn_cast<flow::SpreadOp>(op))
      return computeSpread(spread, type, result);
    if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op))
      return computeReduce(reduce, type, result);
    if (auto first = mlir::dyn_cast<flow::FirstIndexOp>(op))
      return computeFirstIndex(first, type, result);
    if (auto grad = mlir::dyn_cast<flow::WeightGradOp>(op))
      return computeWeightGrad(grad, type, result);
    auto dense = mlir::dyn_cast<flow::DenseOp>(op);
    if (!dense)
      return Status::failed("the interpreter has no rule for " + op.getName().getStringRef().str());
    std::vector<Operand> operands;
    for (unsigned i = 0; i < op.getNumOperands(); ++i) {
      auto rows = index(type.getDomain(), dense.getMap(i));
      if (!rows)
        return rows.status();
      operands.push_back(operand(op.getOperand(i), *rows));
    }
    // Without rows there is nothing to do, however large a row would be.
    return result.rows == 0 ? Status::ok() : computeDense(op, dense, operands, type, result);
  }

  Status computeSpread(flow::SpreadOp op, RowsType type, Table &result) {
    auto rows = index(type.getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    int64_t size = type.getRowSize();
    Operand input = operand(op.getRows(), *rows);
    for (int64_t i : walked)
      std::copy_n(input.row(i), size, result.values.data() + i * size);
    return Status::ok();
  }

  static void combine(ReduceKind kind, double &to, double value, bool isFirst) {
    switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Mean:
      to += value;
      break;
    case ReduceKind::Max:
      to = isFirst ? value : larger(to, value);
      break;
    case ReduceKind::Min:
      to = isFirst ? value : -larger(-to, -value);
      break;
    }
  }

  Status computeReduce(flow::ReduceOp op, RowsType type, Table &result) {
    auto rows = index(op.getRows().getType().getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    const Table &input = at(op.getRows());
    int64_t size = type.getRowSize();
    std::vector<int64_t> counts(result.rows, 0);
    if (op.getInit()) {
      result.values = at(op.getInit()).values;
      std::fill(counts.begin(), counts.end(), 1);
    }
    inOrder(op.getRows().getType().getDomain(), [&](int64_t i) {
      int64_t target = (**rows)[i];
      bool isFirst = counts[target]++ == 0;
      for (int64_t k = 0; k < size; ++k)
        combine(op.getKind(), result.values[target * size + k], input.values[i * size + k], isFirst);
    });
    if (op.getKind() == ReduceKind::Mean)
      for (int64_t j = 0; j < result.rows; ++j)
        for (int64_t k = 0; k < size && counts[j] > 0; ++k)
          result.values[j * size + k] /= static_cast<double>(counts[j]);
    return Status::ok();
  }

  /// Equal numbers, or both NaN.
  static bool matches(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  Status computeFirstIndex(flow::FirstIndexOp op, RowsType type, Table &result) {
    auto rows = index(op.getRows().getType().getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    const Table &input = at(op.getRows()), &reduced = at(op.getReduced());
    int64_t size = type.getRowSize();
    std::fill(result.values.begin(), result.values.end(), -1.0);
    std::vector<bool> isTaken(reduced.values.size(), false);
    if (op.getInit())
      for (size_t k = 0; k < reduced.values.size(); ++k)
        isTaken[k] = matches(at(op.getInit()).values[k], reduced.values[k]);
    inOrder(op.getRows().getType().getDomain(), [&](int64_t i) {
      for (int64_t k = 0; k < size; ++k) {
        int64_t target = (**rows)[i] * size + k;
        if (isTaken[target] || !matches(input.values[i * size + k], reduced.values[target]))
          continue;
        isTaken[target] = true;
        result.values[target] = static_cast<double>(i);
      }
    });
    return Status::ok();
  }

  Status computeWeightGrad(flow::WeightGradOp op, RowsType type, Table &result) {
    auto targets = index(op.getOver(), op.getVia());
    if (!targets)
      return targets.status();
    return addOuterProducts(op, [&](int64_t row) {
      return result.values.data() + (*targets ? (**targets)[row] : row) * type.getRowSize();
    });
  }

  /// Adds the outer products of the walked rows, each to the matrix that `matrixOf` finds for it.
  template <class MatrixOf> Status addOuterProducts(flow::WeightGradOp op, MatrixOf matrixOf) {
    RowsType type = op.getResult().getType();
    auto inputRows = index(op.getOver(), op.getInputMap()), gradRows = index(op.getOver(), op.getGradMap());
    for (const auto *rows : {&inputRows, &gradRows})
      if (!*rows)
        return rows->status();
    llvm::ArrayRef<int64_t> x = op.getInput().getType().getShape(), g = op.getGrad().getType().getShape();
    Operand input = operand(op.getInput(), *inputRows);
    Operand grad = operand(op.getGrad(), *gradRows);
    int64_t inner = x.back(), outer = g.back();
    int64_t batches = std::max(input.rowSize / inner, grad.rowSize / outer);
    int64_t xStride = x.size() > 1 ? inner : 0, gStride = g.size() > 1 ? outer : 0;
    int64_t toStride = type.getRank() > 2 ? inner * outer : 0;
    for (int64_t r : walked) {
      const double *gradRow = grad.row(r);
      if (std::all_of(gradRow, gradRow + grad.rowSize, [](double value) { return value == 0.0; }))
        continue;
      for (int64_t batch = 0; batch < batches; ++batch) {
        double *to = matrixOf(r) + batch * toStride;
        for (int64_t i = 0; i < inner; ++i)
          for (int64_t o = 0; o < outer; ++o)
            to[op.getTransposed() ? o * inner + i : i * outer + o] +=
                input.row(r)[batch * xStride + i] * gradRow[batch * gStride + o];
      }
    }
    return Status::ok();
  }

  Status computeRowFirstMatch(flow::RowFirstMatchOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    int64_t axis = op.getAxis(), length = type.getShape()[axis];
    auto [before, after] = around(type.getShape(), axis);
    for (int64_t i : walked)
      for (int64_t b = 0; b < before; ++b)
        for (int64_t a = 0; a < after; ++a)
          for (int64_t k = 0; k < length; ++k) {
            int64_t at = (b * length + k) * after + a;
            if (!matches(in[0].row(i)[at], in[1].row(i)[b * after + a]))
              continue;
            result.values[i * type.getRowSize() + at] = 1.0;
            break;
          }
    return Status::ok();
  }

  /// The larger of two; NaN wins, so that it propagates.
  static double larger(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

  template <class F> Status unary(const std::vector<Operand> &operands, RowsType type, Table &result, F f) {
    int64_t size = type.getRowSize();
    for (int64_t i : walked)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = f(operands[0].row(i)[k]);
    return Status::ok();
  }

  template <class F>
  Status binary(flow::DenseOp op, const std::vector<Operand> &operands, RowsType type, Table &result, F f) {
    auto a = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    auto b = broadcastOffsets(op.getOperandRows(1).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i : walked)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = f(operands[0].row(i)[a[k]], operands[1].row(i)[b[k]]);
    return Status::ok();
  }

  Status computeDense(mlir::Operation &op, flow::DenseOp dense, const std::vector<Operand> &in, RowsType type,
                      Table &result) {
    auto apply = [&](auto f) { return unary(in, type, result, f); };
    auto zip = [&](auto f) { return binary(dense, in, type, result, f); };
    return llvm::TypeSwitch<mlir::Operation *, Status>(&op)
        .Case<flow::AddOp>([&](auto) { return zip([](double a, double b) { return a + b; }); })
        .Case<flow::SubOp>([&](auto) { return zip([](double a, double b) { return a - b; }); })
        .Case<flow::MulOp>([&](auto) { return zip([](double a, double b) { return a * b; }); })
        .Case<flow::DivOp>([&](auto) { return zip([](double a, double b) { return a / b; }); })
        .Case<flow::ChainOp>([&](auto) { return zip([](double g, double f) { return g == 0.0 ? 0.0 : g * f; }); })
        .Case<flow::FloorDivOp>([&](auto) { return zip(flow::floorDivide); })
        .Case<flow::ModOp>([&](auto) { return zip(flow::modulo); })
        .Case<flow::PowOp>([&](auto) { return zip([](double a, double b) { return std::pow(a, b); }); })
        .Case<flow::MaxOp>([&](auto) { return zip([](double a, double b) { return larger(a, b); }); })
        .Case<flow::MinOp>([&](auto) { return zip([](double a, double b) { return -larger(-a, -b); }); })
        .Case<flow::LessOp>([&](auto) { return zip([](double a, double b) { return a < b ? 1.0 : 0.0; }); })
        .Case<flow::LessEqualOp>([&](auto) { return zip([](double a, double b) { return a <= b ? 1.0 : 0.0; }); })
        .Case<flow::EqualOp>([&](auto) { return zip([](double a, double b) { return a == b ? 1.0 : 0.0; }); })
        .Case<flow::AndOp>([&](auto) { return zip([](double a, double b) { return a * b; }); })
        .Case<flow::OrOp>([&](auto) { return zip([](double a, double b) { return std::max(a, b); }); })
        .Case<flow::NotOp>([&](auto) { return apply([](double a) { return 1.0 - a; }); })
        .Case<flow::IsRowOp>([&](auto) {
          for (int64_t i : walked)
            for (int64_t k = 0; k < type.getRowSize(); ++k)
              result.values[i * type.getRowSize() + k] = in[0].row(i)[k] == static_cast<double>(i) ? 1.0 : 0.0;
          return Status::ok();
        })
        .Case<flow::CastOp>([&](auto) { return apply([](double a) { return a; }); })
        .Case<flow::NegOp>([&](auto) { return apply([](double a) { return -a; }); })
        .Case<flow::AbsOp>([&](auto) { return apply([](double a) { return std::abs(a); }); })
        .Case<flow::SignOp>([&](auto) { return apply([](double a) { return a > 0   ? 1.0
                                                                           : a < 0 ? -1.0
                                                                                   : a; }); })
        .Case<flow::FloorOp>([&](auto) { return apply([](double a) { return std::floor(a); }); })
        .Case<flow::ExpOp>([&](auto) { return apply([](double a) { return std::exp(a); }); })
        .Case<flow::LogOp>([&](auto) { return apply([](double a) { return std::log(a); }); })
        .Case<flow::SqrtOp>([&](auto) { return apply([](double a) { return std::sqrt(a); }); })
        .Case<flow::RsqrtOp>([&](auto) { return apply([](double a) { return 1.0 / std::sqrt(a); }); })
        .Case<flow::SinOp>([&](auto) { return apply([](double a) { return std::sin(a); }); })
        .Case<flow::CosOp>([&](auto) { return apply([](double a) { return std::cos(a); }); })
        .Case<flow::TanhOp>([&](auto) { return apply([](double a) { return std::tanh(a); }); })
        .Case<flow::SigmoidOp>([&](auto) { return apply([](double a) { return 1.0 / (1.0 + std::exp(-a)); }); })
        .Case<flow::SoftplusOp>(
            [&](auto) { return apply([](double a) { return larger(a, 0.0) + std::log1p(std::exp(-std::abs(a))); }); })
        .Case<flow::ErfOp>([&](auto) { return apply([](double a) { return std::erf(a); }); })
        .Case<flow::ReluOp>([&](auto) { return apply([](double a) { return a > 0 || std::isnan(a) ? a : 0.0; }); })
        .Case<flow::LeakyReluOp>([&](flow::LeakyReluOp leaky) {
          double slope = leaky.getSlope().convertToDouble();
          return apply([=](double a) { return a > 0 ? a : slope * a; });
        })
        .Case<flow::DropoutOp>([&](flow::DropoutOp dropout) { return computeDropout(dropout, in, type, result); })
        .Case<flow::SelectOp>([&](auto) { return computeSelect(dense, in, type, result); })
        .Case<flow::LinearOp>([&](flow::LinearOp linear) { return computeLinear(linear, in, type, result); })
        .Case<flow::DotOp>([&](flow::DotOp dot) { return computeDot(dot, in, type, result); })
        .Case<flow::OuterOp>([&](auto) { return computeOuter(dense, in, type, result); })
        .Case<flow::RowReduceOp>([&](flow::RowReduceOp reduce) { return computeRowReduce(reduce, in, type, result); })
        .Case<flow::RowFirstMatchOp>(
            [&](flow::RowFirstMatchOp match) { return computeRowFirstMatch(match, in, type, result); })
        .Case<flow::ExpandOp>([&](auto) { return computeExpand(dense, in, type, result); })
        .Case<flow::ReshapeOp>([&](auto) { return apply([](double a) { return a; }); })
        .Case<flow::TransposeOp>([&](flow::TransposeOp op) { return computeTranspose(op, in, type, result); })
        .Case<flow::SliceOp>([&](flow::SliceOp op) { return computeSlice(op, in, type, result); })
        .Case<flow::ConcatOp>([&](flow::ConcatOp op) { return computeConcat(op, in, type, result); })
        .Default([](mlir::Operation *op) {
          return Status::failed("the interpreter has no rule for " + op->getName().getStringRef().str());
        });
  }

  /// The number of a row that does not depend on the order in which rows are kept. See DropoutMask.
  uint64_t outsideNumber(Domain domain, int64_t row) const {
    if (domain != Domain::SrcPair && domain != Domain::DstPair)
      return static_cast<uint64_t>(row);
    const Pairs &pairs = domain == Domain::SrcPair ? graph.srcPairs() : graph.dstPairs();
    return static_cast<uint64_t>(pairs.relation[row]) * static_cast<uint64_t>(graph.numNodes()) +
           static_cast<uint64_t>(pairs.node[row]);
  }

  Status computeDropout(flow::DropoutOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    double rate = op.getRate().convertToDouble();
    DropoutMask mask(mode.seed, mode.step, static_cast<uint32_t>(op.getStream()), rate);
    int64_t size = type.getRowSize();
    for (int64_t i : walked) {
      uint64_t row = outsideNumber(type.getDomain(), i);
      for (int64_t k = 0; k < size; ++k) {
        double value = in[0].row(i)[k];
        if (mode.isTraining)
          value = mask.drops(row, static_cast<uint64_t>(k)) ? 0.0 : value / (1.0 - rate);
        result.values[i * size + k] = value;
      }
    }
    return Status::ok();
  }

  Status computeSelect(flow::DenseOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    auto c = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    auto a = broadcastOffsets(op.getOperandRows(1).getShape(), type.getShape());
    auto b = broadcastOffsets(op.getOperandRows(2).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i : walked)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[c[k]] != 0.0 ? in[1].row(i)[a[k]] : in[2].row(i)[b[k]];
    return Status::ok();
  }

  Status computeExpand(flow::DenseOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    auto a = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i : walked)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[a[k]];
    return Status::ok();
  }

  Status computeLinear(flow::LinearOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> x = op.getInput().getType().getShape(), w = op.getWeights().getType().getShape();
    int64_t inner = x.back(), outer = type.getShape().back(), batches = type.getRowSize() / outer;
    int64_t xStride = x.size() > 1 ? inner : 0, wStride = w.size() > 2 ? inner * outer : 0;
    bool transposed = op.getTransposed();
    for (int64_t i : walked)
      for (int64_t batch = 0; batch < batches; ++batch) {
        const double *row = in[0].row(i) + batch * xStride, *matrix = in[1].row(i) + batch * wStride;
        double *to = result.values.data() + i * type.getRowSize() + batch * outer;
        if (op.getGuarded() && std::all_of(row, row + inner, [](double value) { return value == 0.0; }))
          continue;
        for (int64_t k = 0; k < inner; ++k)
          for (int64_t o = 0; o < outer; ++o)
            to[o] += row[k] * matrix[transposed ? o * inner + k : k * outer + o];
      }
    return Status::ok();
  }

  Status computeDot(flow::DotOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> a = op.getLhs().getType().getShape(), b = op.getRhs().getType().getShape();
    int64_t inner = a.back(), size = type.getRowSize();
    int64_t aStride = a.size() > 1 ? inner : 0, bStride = b.size() > 1 ? inner : 0;
    for (int64_t i : walked)
      for (int64_t batch = 0; batch < size; ++batch)
        for (int64_t k = 0; k < inner; ++k) {
          double lhs = in[0].row(i)[batch * aStride + k];
          if (!op.getGuarded() || lhs != 0.0)
            result.values[i * size + batch] += lhs * in[1].row(i)[batch * bStride + k];
        }
    return Status::ok();
  }

  Status computeOuter(flow::DenseOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> a = op.getOperandRows(0).getShape(), b = op.getOperandRows(1).getShape();
    int64_t rows = a.back(), columns = b.back(), batches = type.getRowSize() / (rows * columns);
    int64_t aStride = a.size() > 1 ? rows : 0, bStride = b.size() > 1 ? columns : 0;
    for (int64_t i : walked)
      for (int64_t batch = 0; batch < batches; ++batch)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            result.values[i * type.getRowSize() + (batch * rows + r) * columns + c] =
                in[0].row(i)[batch * aStride + r] * in[1].row(i)[batch * bStride + c];
    return Status::ok();
  }

  /// Sizes before and after an axis.
  static std::pair<int64_t, int64_t> around(llvm::ArrayRef<int64_t> shape, int64_t axis) {
    int64_t before = 1, after = 1;
    for (int64_t size : shape.take_front(axis))
      before *= size;
    for (int64_t size : shape.drop_front(axis + 1))
      after *= size;
    return {before, after};
  }

  Status computeRowReduce(flow::RowReduceOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> shape = op.getInput().getType().getShape();
    int64_t axis = op.getAxis(), length = shape[axis];
    auto [before, after] = around(shape, axis);
    for (int64_t i : walked)
      for (int64_t b = 0; b < before; ++b)
        for (int64_t a = 0; a < after; ++a) {
          double value = 0.0;
          for (int64_t k = 0; k < length; ++k) {
            double next = in[0].row(i)[(b * length + k) * after + a];
            switch (op.getKind()) {
            case ReduceKind::Sum:
            case ReduceKind::Mean:
              value += next;
              break;
            case ReduceKind::Max:
              value = k == 0 ? next : larger(value, next);
              break;
            case ReduceKind::Min:
              value = k == 0 ? next : -larger(-value, -next);
              break;
            }
          }
          if (op.getKind() == ReduceKind::Mean)
            value /= static_cast<double>(length);
          result.values[i * type.getRowSize() + b * after + a] = value;
        }
    return Status::ok();
  }

  Status computeTranspose(flow::TransposeOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> shape = op.getInput().getType().getShape(), permutation = op.getPermutation();
    int64_t rank = static_cast<int64_t>(shape.size()), size = type.getRowSize();
    std::vector<int64_t> strides(rank, 1);
    for (int64_t axis = rank - 2; axis >= 0; --axis)
      strides[axis] = strides[axis + 1] * shape[axis + 1];
    std::vector<int64_t> offsets(size, 0);
    for (int64_t k = 0; k < size; ++k)
      for (int64_t axis = rank - 1, rest = k; axis >= 0; rest /= type.getShape()[axis--])
        offsets[k] += rest % type.getShape()[axis] * strides[permutation[axis]];
    for (int64_t i : walked)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[offsets[k]];
    return Status::ok();
  }

  Status computeSlice(flow::SliceOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> shape = op.getInput().getType().getShape();
    int64_t axis = op.getAxis(), length = type.getShape()[axis];
    auto [before, after] = around(shape, axis);
    for (int64_t i : walked)
      for (int64_t b = 0; b < before; ++b)
        std::copy_n(in[0].row(i) + (b * shape[axis] + static_cast<int64_t>(op.getOffset())) * after, length * after,
                    result.values.data() + i * type.getRowSize() + b * length * after);
    return Status::ok();
  }

  Status computeConcat(flow::ConcatOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    auto dense = mlir::cast<flow::DenseOp>(op.getOperation());
    int64_t axis = op.getAxis(), total = type.getShape()[axis], offset = 0;
    auto [before, after] = around(type.getShape(), axis);
    for (size_t part = 0; part < in.size(); ++part) {
      int64_t length = dense.getOperandRows(part).getShape()[axis];
      for (int64_t i : walked)
        for (int64_t b = 0; b < before; ++b)
          std::copy_n(in[part].row(i) + b * length * after, length * after,
                      result.values.data() + i * type.getRowSize() + (b * total + offset) * after);
      offset += length;
    }
    return Status::ok();
  }

  //===- Groups --------------------------------------------------------------------------------------------------===//

  /// What a loop has at hand at one time: an outer row of a traversal with all rows below it, or some rows of a flat
  /// loop.
  struct Unit {
    std::map<Domain, Index> rows;
    int64_t place = 0;  // among the units of a flat loop, in the order in which rows are combined
  };
  /// The state of one accumulator.
  struct Partial {
    std::vector<std::vector<double>> values;
    int64_t count = 0;
  };
  using Partials = std::map<int64_t, Partial>;  // by row of the result

  Status runGroup(flow::GroupOp group);
  Status runUnit(const Unit &unit, mlir::Operation &op);
  Result<std::vector<Unit>> units(flow::GroupOp group);
  Result<std::vector<Index>> rowsBelow(Domain from, Map map);
  Status collect(mlir::Operation &op, const Unit &unit, Partials &totals);
  Status finish(mlir::Operation &op, Partials &totals, const Index &targets);
  Result<Partial> start(mlir::Operation &op);
  Status stepRow(mlir::Operation &op, Partial &partial, int64_t row, int64_t target);
  Status join(mlir::Operation &op, Partial &first, const Partial &second);
  Result<std::vector<std::vector<double>>> evaluate(mlir::Region &region, std::vector<std::vector<double>> arguments);
  static uint64_t random(uint64_t &state, uint64_t below);

  mlir::func::FuncOp function;
  const Graph &graph;
  RunMode mode;
  Index walked;  // the rows that an op computes
  llvm::DenseMap<mlir::Value, Table> tables;
  llvm::DenseMap<mlir::Value, mlir::Value> aliases;  // arguments of groups and results of sweeps
  llvm::DenseMap<mlir::Value, Held> held;            // values of the group that runs
  bool isMissing = false;                            // a row was read that the loop does not have at hand
  std::map<std::pair<Domain, Map>, Index> indices;
  std::map<Domain, Index> pairOrders;
};

//===- Groups ----------------------------------------------------------------------------------------------------===//

uint64_t Run::random(uint64_t &state, uint64_t below) {
  state += 0x9e3779b97f4a7c15;  // splitmix64
  uint64_t bits = state;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return (bits ^ (bits >> 31)) % below;
}

/// For each row that `map` leads to, the rows of `from` that it leads from.
Result<std::vector<Index>> Run::rowsBelow(Domain from, Map map) {
  auto targets = index(from, map);
  if (!targets)
    return targets.status();
  std::vector<Index> below(numRows(graph, *flow::mapTarget(from, map)));
  inOrder(from, [&](int64_t row) { below[(**targets)[row]].push_back(row); });
  return below;
}

/// The units of a group, in random order; a flat loop is cut into units at random places.
Result<std::vector<Run::Unit>> Run::units(flow::GroupOp group) {
  std::vector<Unit> list;
  Domain finest = group.getDomain(), outer = group.getOuterDomain();
  if (outer == finest) {
    uint64_t left = 0;  // of the newest unit
    inOrder(finest, [&](int64_t row) {
      if (left == 0) {
        list.emplace_back().place = static_cast<int64_t>(list.size());
        left = 1 + random(mode.cuts, 16);
      }
      list.back().rows[finest].push_back(row);
      --left;
    });
  } else {
    bool isByDst = group.getLoop() == flow::Loop::ByDst;
    Domain pair = isByDst ? Domain::DstPair : Domain::SrcPair;
    list.resize(numRows(graph, outer));
    for (size_t i = 0; i < list.size(); ++i)
      list[i].rows[outer].push_back(static_cast<int64_t>(i));
    auto add = [&](Domain domain, Map map) -> Status {
      auto below = rowsBelow(domain, map);
      if (!below)
        return below.status();
      for (size_t i = 0; i < list.size(); ++i)
        list[i].rows[domain] = std::move((*below)[i]);
      return Status::ok();
    };
    if (outer == Domain::Node)
      if (Status status = add(pair, Map::Node); !status.isOk())
        return status;
    if (finest == Domain::Edge) {
      Map toOuter = outer == Domain::Node ? (isByDst ? Map::Dst : Map::Src) : (isByDst ? Map::DstPair : Map::SrcPair);
      if (Status status = add(Domain::Edge, toOuter); !status.isOk())
        return status;
    }
  }
  for (size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random(mode.cuts, i)]);
  return list;
}

Status Run::runGroup(flow::GroupOp group) {
  for (auto [argument, input] : llvm::zip_equal(group.getBody().getArguments(), group.getInputs()))
    aliases[argument] = input;
  std::vector<mlir::Operation *> ops;
  auto add = [&](mlir::Operation &op) -> Status {
    if (mlir::isa<flow::ConstantOp>(op))
      return step(op);
    ops.push_back(&op);
    for (mlir::Value result : op.getResults()) {
      auto made = makeTable(mlir::cast<RowsType>(result.getType()));
      if (!made)
        return std::move(made).status();
      held[result].assign(made->rows, false);
      tables[result] = std::move(made).take();
    }
    return Status::ok();
  };
  for (mlir::Operation &op : group.getBody().front().without_terminator()) {
    auto sweep = mlir::dyn_cast<flow::SweepOp>(op);
    if (!sweep) {
      if (Status status = add(op); !status.isOk())
        return status;
      continue;
    }
    for (mlir::Operation &inner : sweep.getBody().front().without_terminator())
      if (Status status = add(inner); !status.isOk())
        return status;
    for (auto [result, value] : llvm::zip_equal(sweep.getResults(), sweep.getBody().front().back().getOperands()))
      aliases[result] = value;
  }
  auto list = units(group);
  if (!list)
    return list.status();
  std::vector<Table> outputs;
  for (mlir::Value result : group.getResults()) {
    auto made = makeTable(mlir::cast<RowsType>(result.getType()));
    if (!made)
      return std::move(made).status();
    std::fill(made->values.begin(), made->values.end(), std::numeric_limits<double>::quiet_NaN());
    outputs.push_back(std::move(made).take());
  }
  mlir::OperandRange yielded = group.getBody().front().back().getOperands();
  // Sums over the whole loop are joined in the order of their rows, in whatever order the units ran.
  std::map<mlir::Operation *, std::map<int64_t, Partials>> sums;
  for (const Unit &unit : *list) {
    for (mlir::Operation *op : ops) {
      Status status = flow::isTerminal(op) ? collect(*op, unit, sums[op][unit.place]) : runUnit(unit, *op);
      if (!status.isOk())
        return status;
      if (isMissing)
        return Status::failed(op->getName().getStringRef().str() +
                              " reads a row that its loop does not have at hand; this is a bug of Hector");
    }
    for (auto [output, value] : llvm::zip_equal(outputs, yielded)) {
      mlir::Value home = resolve(value);
      Domain domain = mlir::cast<RowsType>(value.getType()).getDomain();
      if (held.count(home) && !flow::isTerminal(home.getDefiningOp()))
        for (int64_t row : unit.rows.at(domain)) {
          int64_t size = mlir::cast<RowsType>(value.getType()).getRowSize();
          std::copy_n(tables[home].values.data() + row * size, size, output.values.data() + row * size);
        }
    }
    for (mlir::Operation *op : ops)
      for (mlir::Value result : op->getResults())
        if (auto rows = unit.rows.find(mlir::cast<RowsType>(result.getType()).getDomain()); rows != unit.rows.end())
          for (int64_t row : rows->second)
            held[result][row] = false;
  }
  for (auto [i, output] : llvm::enumerate(outputs)) {
    mlir::Value home = resolve(yielded[i]);
    mlir::Operation *op = home.getDefiningOp();
    if (op && held.count(home) && flow::isTerminal(op)) {
      Partials totals;
      for (auto &[first, parts] : sums[op])
        for (auto &[target, part] : parts) {
          auto [slot, isNew] = totals.try_emplace(target, part);
          if (Status status = isNew ? Status::ok() : join(*op, slot->second, part); !status.isOk())
            return status;
        }
      Index targets(tables[home].rows);
      std::iota(targets.begin(), targets.end(), 0);
      if (Status status = finish(*op, totals, targets); !status.isOk())
        return status;
      output = tables[home];
    } else if (!held.count(home)) {
      output = tables[home];  // an input or a constant, passed on
    }
    tables[group.getResult(i)] = std::move(output);
  }
  for (mlir::Operation *op : ops)
    for (mlir::Value result : op->getResults()) {
      tables.erase(result);
      held.erase(result);
    }
  return Status::ok();
}

/// Computes an op for the rows of a unit.
Status Run::runUnit(const Unit &unit, mlir::Operation &op) {
  auto type = mlir::cast<RowsType>(op.getResult(0).getType());
  const Index &rows = unit.rows.at(type.getDomain());
  int64_t size = type.getRowSize();
  if (flow::collectMap(&op) != Map::Self) {
    Partials totals;
    if (Status status = collect(op, unit, totals); !status.isOk())
      return status;
    return finish(op, totals, rows);
  }
  Table &result = tables[op.getResult(0)];
  walked = rows;
  for (int64_t row : rows)
    std::fill_n(result.values.data() + row * size, size, 0.0);
  if (Status status = compute(op, type, result); !status.isOk())
    return status;
  for (int64_t row : rows) {
    roundTo(type.getElementType(), llvm::MutableArrayRef(result.values.data() + row * size, size));
    held[op.getResult(0)][row] = true;
  }
  return Status::ok();
}

/// Steps through the rows of a unit, cut at random places, and joins the parts in order.
Status Run::collect(mlir::Operation &op, const Unit &unit, Partials &totals) {
  auto targets = index(flow::walkedDomain(&op), flow::collectMap(&op));
  if (!targets)
    return targets.status();
  std::map<int64_t, Index> below;  // a weight_grad may leave every row where it is
  for (int64_t row : unit.rows.at(flow::walkedDomain(&op)))
    below[*targets ? (**targets)[row] : row].push_back(row);
  for (const auto &[target, rows] : below) {
    std::optional<Partial> total;
    for (size_t i = 0; i < rows.size();) {
      auto part = start(op);
      if (!part)
        return part.status();
      do
        if (Status status = stepRow(op, *part, rows[i], target); !status.isOk())
          return status;
      while (++i < rows.size() && random(mode.cuts, 4) > 0);
      if (!total)
        total = std::move(*part);
      else if (Status status = join(op, *total, *part); !status.isOk())
        return status;
    }
    auto [slot, isNew] = totals.try_emplace(target, *total);
    if (Status status = isNew ? Status::ok() : join(op, slot->second, *total); !status.isOk())
      return status;
  }
  return Status::ok();
}

Result<Run::Partial> Run::start(mlir::Operation &op) {
  Partial partial;
  if (auto fold = mlir::dyn_cast<flow::FoldOp>(op)) {
    auto values = evaluate(fold.getInit(), {});
    if (!values)
      return values.status();
    partial.values = std::move(*values);
    return partial;
  }
  double first = mlir::isa<flow::FirstIndexOp>(op) ? -1.0 : 0.0;
  partial.values = {std::vector<double>(mlir::cast<RowsType>(op.getResult(0).getType()).getRowSize(), first)};
  return partial;
}

Status Run::stepRow(mlir::Operation &op, Partial &partial, int64_t row, int64_t target) {
  ++partial.count;
  std::vector<double> &to = partial.values.front();
  int64_t size = static_cast<int64_t>(to.size());
  if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op)) {
    const double *from = operand(reduce.getRows(), nullptr).row(row);
    for (int64_t k = 0; k < size; ++k)
      combine(reduce.getKind(), to[k], from[k], partial.count == 1);
    return Status::ok();
  }
  if (auto first = mlir::dyn_cast<flow::FirstIndexOp>(op)) {
    const double *from = operand(first.getRows(), nullptr).row(row);
    const double *reduced = operand(first.getReduced(), nullptr).row(target);
    for (int64_t k = 0; k < size; ++k)
      if (to[k] < 0 && matches(from[k], reduced[k]))
        to[k] = static_cast<double>(row);
    return Status::ok();
  }
  if (auto grad = mlir::dyn_cast<flow::WeightGradOp>(op)) {
    walked = {row};
    return addOuterProducts(grad, [&](int64_t) { return to.data(); });
  }
  auto fold = mlir::cast<flow::FoldOp>(op);
  std::vector<std::vector<double>> arguments = partial.values;
  for (mlir::Value input : fold.getInputs()) {
    Operand rows = operand(input, nullptr);
    arguments.emplace_back(rows.row(row), rows.row(row) + rows.rowSize);
  }
  auto values = evaluate(fold.getStep(), std::move(arguments));
  if (!values)
    return values.status();
  partial.values = std::move(*values);
  return Status::ok();
}

Status Run::join(mlir::Operation &op, Partial &first, const Partial &second) {
  first.count += second.count;
  if (auto fold = mlir::dyn_cast<flow::FoldOp>(op)) {
    std::vector<std::vector<double>> arguments = first.values;
    arguments.insert(arguments.end(), second.values.begin(), second.values.end());
    auto values = evaluate(fold.getJoin(), std::move(arguments));
    if (!values)
      return values.status();
    first.values = std::move(*values);
    return Status::ok();
  }
  auto reduce = mlir::dyn_cast<flow::ReduceOp>(op);
  std::vector<double> &to = first.values.front();
  const std::vector<double> &from = second.values.front();
  for (size_t k = 0; k < to.size(); ++k)
    if (mlir::isa<flow::FirstIndexOp>(op))
      to[k] = to[k] < 0 ? from[k] : to[k];
    else
      combine(reduce ? reduce.getKind() : ReduceKind::Sum, to[k], from[k], /*isFirst=*/false);
  return Status::ok();
}

/// Writes the rows `targets` of what an op collected; those that nothing leads to as well.
Status Run::finish(mlir::Operation &op, Partials &totals, const Index &targets) {
  auto reduce = mlir::dyn_cast<flow::ReduceOp>(op);
  auto first = mlir::dyn_cast<flow::FirstIndexOp>(op);
  for (int64_t target : targets) {
    auto found = totals.find(target);
    if (found == totals.end()) {
      auto empty = start(op);
      if (!empty)
        return empty.status();
      found = totals.emplace(target, std::move(*empty)).first;
    }
    Partial &total = found->second;
    std::vector<double> &values = total.values.front();
    if (reduce && reduce.getInit()) {
      const double *init = operand(reduce.getInit(), nullptr).row(target);
      for (size_t k = 0; k < values.size(); ++k) {
        double value = init[k];
        if (total.count > 0)
          combine(reduce.getKind(), value, values[k], /*isFirst=*/false);
        values[k] = value;
      }
    }
    if (first && first.getInit()) {
      const double *init = operand(first.getInit(), nullptr).row(target);
      const double *reduced = operand(first.getReduced(), nullptr).row(target);
      for (size_t k = 0; k < values.size(); ++k)
        if (matches(init[k], reduced[k]))
          values[k] = -1.0;
    }
    if (reduce && reduce.getKind() == ReduceKind::Mean && total.count > 0)
      for (double &value : values)
        value /= static_cast<double>(total.count);
    if (auto fold = mlir::dyn_cast<flow::FoldOp>(op)) {
      auto finished = evaluate(fold.getFinish(), std::move(total.values));
      if (!finished)
        return finished.status();
      total.values = std::move(*finished);
    }
    for (auto [result, row] : llvm::zip_equal(op.getResults(), total.values)) {
      roundTo(mlir::cast<RowsType>(result.getType()).getElementType(), row);
      std::copy(row.begin(), row.end(), tables[result].values.begin() + target * static_cast<int64_t>(row.size()));
      held[result][target] = true;
    }
  }
  return Status::ok();
}

/// Runs a region of a fold on one row.
Result<std::vector<std::vector<double>>> Run::evaluate(mlir::Region &region,
                                                       std::vector<std::vector<double>> arguments) {
  mlir::Block &block = region.front();
  for (auto [argument, values] : llvm::zip_equal(block.getArguments(), arguments)) {
    auto type = mlir::cast<RowsType>(argument.getType());
    tables[argument] = {1, std::vector<int64_t>(type.getShape().begin(), type.getShape().end()), std::move(values)};
  }
  for (mlir::Operation &op : block.without_terminator()) {
    auto type = mlir::cast<RowsType>(op.getResult(0).getType());
    Table result = {1, std::vector<int64_t>(type.getShape().begin(), type.getShape().end()),
                    std::vector<double>(type.getRowSize(), 0.0)};
    walkAll(1);
    if (Status status = compute(op, type, result); !status.isOk())
      return status;
    roundTo(type.getElementType(), result.values);
    tables[op.getResult(0)] = std::move(result);
  }
  std::vector<std::vector<double>> results;
  for (mlir::Value value : block.getTerminator()->getOperands())
    results.push_back(at(value).values);
  return results;
}

}  // namespace

Status checkGraph(mlir::func::FuncOp function, const Graph &graph) {
  if (auto ends = function->getAttrOfType<mlir::ArrayAttr>("flow.relation_ends"))
    for (auto end : ends.getAsRange<flow::MapAttr>())
      if (const Result<IdArray> &types = typesOfRelations(graph, end.getValue()); !types)
        return types.status();
  return Status::ok();
}

Result<std::vector<Table>> interpret(mlir::func::FuncOp function, const Graph &graph, std::vector<Table> arguments,
                                     const RunMode &mode) {
  if (mlir::failed(flow::checkFlowFunction(function, flow::Form::Grouped)))
    return Status::invalid("`" + function.getName().str() + "` is no function of flow, and cannot be run");
  if (Status status = checkGraph(function, graph); !status.isOk())
    return status;
  return Run(function, graph, mode).run(std::move(arguments));
}

}  // namespace hector
