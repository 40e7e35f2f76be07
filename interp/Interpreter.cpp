#include "interp/Interpreter.h"

#include "compiler/Analysis/FlowFunction.h"
#include "runtime/storage/Tensor.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unistd.h>

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
  Run(mlir::func::FuncOp function, const Graph &graph) : function(function), graph(graph) {}

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
                               std::to_string(rows) + " rows of " + std::to_string(type.getRowSize()) +
                               " numbers, but has " + std::to_string(table.rows) + " rows and " +
                               std::to_string(table.values.size()) + " numbers");
      roundTo(type.getElementType(), table.values);
      tables[argument] = std::move(table);
    }
    for (mlir::Operation &op : block.without_terminator()) {
      if (Status status = step(op); !status.isOk())
        return status;
      // A table is let go after its last reader.
      for (mlir::Value operand : op.getOperands())
        if (std::all_of(operand.user_begin(), operand.user_end(),
                        [&](mlir::Operation *user) { return user == &op || user->isBeforeInBlock(&op); }))
          tables.erase(operand);
    }
    std::vector<Table> results;
    for (mlir::Value value : block.getTerminator()->getOperands())
      results.push_back(tables[value]);
    return results;
  }

private:
  struct Operand {
    const Table *table;
    const Index *index;  // null: the same row
    int64_t rowSize;

    const double *row(int64_t i) const { return table->values.data() + (index ? (*index)[i] : i) * rowSize; }
  };

  static void roundTo(mlir::Type type, std::vector<double> &values) {
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

  /// An empty table for an op's result, all zeros.
  Result<Table> makeTable(RowsType type) {
    Table table;
    table.rows = numRows(graph, type.getDomain());
    table.shape.assign(type.getShape().begin(), type.getShape().end());
    double bytes = static_cast<double>(table.rows) * static_cast<double>(type.getRowSize()) * sizeof(double);
    double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (bytes > memory) {
      auto gib = [](double size) { return std::to_string(static_cast<int64_t>(size / (1 << 30)) + 1) + " GiB"; };
      return Status::failed("out of memory: a table of " + std::to_string(table.rows) + " rows of " +
                            std::to_string(type.getRowSize()) + " float64 needs " + gib(bytes) + ", the machine has " +
                            gib(memory));
    }
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
        return toIndex(graph.src());
      case Map::Dst:
        return toIndex(graph.dst());
      case Map::EdgeType:
        return toIndex(graph.etype());
      case Map::SrcPair:
        return toIndex(graph.srcPairs().ofEdge);
      case Map::DstPair:
        return toIndex(graph.dstPairs().ofEdge);
      case Map::SrcNodeType:
        return chain(toIndex(graph.src()), toIndex(graph.ntypeOfNode()));
      case Map::DstNodeType:
        return chain(toIndex(graph.dst()), toIndex(graph.ntypeOfNode()));
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
      if (graph.numNodeTypes() == 0 && graph.numRelations() > 0)
        return Status::invalid(
            "the model asks for the node types that a relation joins, but the graph has no node type");
      auto types = map == Map::SrcNodeType ? graph.srcTypeOfRelation() : graph.dstTypeOfRelation();
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

  Status step(mlir::Operation &op) {
    auto type = mlir::cast<RowsType>(op.getResult(0).getType());
    auto made = makeTable(type);
    if (!made)
      return std::move(made).status();
    Table result = std::move(made).take();
    Status status = compute(op, type, result);
    if (!status.isOk())
      return status;
    roundTo(type.getElementType(), result.values);
    tables[op.getResult(0)] = std::move(result);
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
    if (auto match = mlir::dyn_cast<flow::FirstMatchOp>(op))
      return computeFirstMatch(match, type, result);
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
      operands.push_back({&tables[op.getOperand(i)], *rows, dense.getOperandRows(i).getRowSize()});
    }
    // Without rows there is nothing to do, however large a row would be.
    return result.rows == 0 ? Status::ok() : computeDense(op, dense, operands, type, result);
  }

  Status computeSpread(flow::SpreadOp op, RowsType type, Table &result) {
    auto rows = index(type.getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    int64_t size = type.getRowSize();
    Operand input{&tables[op.getRows()], *rows, size};
    for (int64_t i = 0; i < result.rows; ++i)
      std::copy_n(input.row(i), size, result.values.data() + i * size);
    return Status::ok();
  }

  Status computeReduce(flow::ReduceOp op, RowsType type, Table &result) {
    auto rows = index(op.getRows().getType().getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    const Table &input = tables[op.getRows()];
    int64_t size = type.getRowSize();
    std::vector<int64_t> counts(result.rows, 0);
    if (op.getInit()) {
      result.values = tables[op.getInit()].values;
      std::fill(counts.begin(), counts.end(), 1);
    }
    for (int64_t i = 0; i < input.rows; ++i) {
      int64_t target = (**rows)[i];
      bool isFirst = counts[target]++ == 0;
      for (int64_t k = 0; k < size; ++k) {
        double &to = result.values[target * size + k];
        double value = input.values[i * size + k];
        switch (op.getKind()) {
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
    }
    if (op.getKind() == ReduceKind::Mean)
      for (int64_t j = 0; j < result.rows; ++j)
        for (int64_t k = 0; k < size && counts[j] > 0; ++k)
          result.values[j * size + k] /= static_cast<double>(counts[j]);
    return Status::ok();
  }

  /// Equal numbers, or both NaN.
  static bool matches(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  Status computeFirstMatch(flow::FirstMatchOp op, RowsType type, Table &result) {
    auto rows = index(type.getDomain(), op.getVia());
    if (!rows)
      return rows.status();
    const Table &input = tables[op.getRows()], &reduced = tables[op.getReduced()];
    int64_t size = type.getRowSize();
    std::vector<bool> isTaken(reduced.values.size(), false);
    if (op.getInit())
      for (size_t k = 0; k < reduced.values.size(); ++k)
        isTaken[k] = matches(tables[op.getInit()].values[k], reduced.values[k]);
    for (int64_t i = 0; i < input.rows; ++i)
      for (int64_t k = 0; k < size; ++k) {
        int64_t target = (**rows)[i] * size + k;
        if (isTaken[target] || !matches(input.values[i * size + k], reduced.values[target]))
          continue;
        isTaken[target] = true;
        result.values[i * size + k] = 1.0;
      }
    return Status::ok();
  }

  Status computeWeightGrad(flow::WeightGradOp op, RowsType type, Table &result) {
    auto inputRows = index(op.getOver(), op.getInputMap()), gradRows = index(op.getOver(), op.getGradMap());
    auto targets = index(op.getOver(), op.getVia());
    for (const auto *rows : {&inputRows, &gradRows, &targets})
      if (!*rows)
        return rows->status();
    llvm::ArrayRef<int64_t> x = op.getInput().getType().getShape(), g = op.getGrad().getType().getShape();
    Operand input{&tables[op.getInput()], *inputRows, op.getInput().getType().getRowSize()};
    Operand grad{&tables[op.getGrad()], *gradRows, op.getGrad().getType().getRowSize()};
    int64_t inner = x.back(), outer = g.back();
    int64_t batches = std::max(input.rowSize / inner, grad.rowSize / outer);
    int64_t xStride = x.size() > 1 ? inner : 0, gStride = g.size() > 1 ? outer : 0;
    int64_t toStride = type.getRank() > 2 ? inner * outer : 0;
    for (int64_t r = 0; r < numRows(graph, op.getOver()); ++r) {
      const double *gradRow = grad.row(r);
      if (std::all_of(gradRow, gradRow + grad.rowSize, [](double value) { return value == 0.0; }))
        continue;
      int64_t target = *targets ? (**targets)[r] : r;
      for (int64_t batch = 0; batch < batches; ++batch) {
        double *to = result.values.data() + target * type.getRowSize() + batch * toStride;
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
    for (int64_t i = 0; i < result.rows; ++i)
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

  /// The larger of two; NaN wins, so that it shows.
  static double larger(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

  template <class F> Status unary(const std::vector<Operand> &operands, RowsType type, Table &result, F f) {
    int64_t size = type.getRowSize();
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = f(operands[0].row(i)[k]);
    return Status::ok();
  }

  template <class F>
  Status binary(flow::DenseOp op, const std::vector<Operand> &operands, RowsType type, Table &result, F f) {
    auto a = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    auto b = broadcastOffsets(op.getOperandRows(1).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = f(operands[0].row(i)[a[k]], operands[1].row(i)[b[k]]);
    return Status::ok();
  }

  Status computeDense(mlir::Operation &op, flow::DenseOp dense, const std::vector<Operand> &in, RowsType type,
                      Table &result) {
    auto apply = [&](auto f) { return unary(in, type, result, f); };
    auto combine = [&](auto f) { return binary(dense, in, type, result, f); };
    return llvm::TypeSwitch<mlir::Operation *, Status>(&op)
        .Case<flow::AddOp>([&](auto) { return combine([](double a, double b) { return a + b; }); })
        .Case<flow::SubOp>([&](auto) { return combine([](double a, double b) { return a - b; }); })
        .Case<flow::MulOp>([&](auto) { return combine([](double a, double b) { return a * b; }); })
        .Case<flow::DivOp>([&](auto) { return combine([](double a, double b) { return a / b; }); })
        .Case<flow::ChainOp>([&](auto) { return combine([](double g, double f) { return g == 0.0 ? 0.0 : g * f; }); })
        .Case<flow::PowOp>([&](auto) { return combine([](double a, double b) { return std::pow(a, b); }); })
        .Case<flow::MaxOp>([&](auto) { return combine([](double a, double b) { return larger(a, b); }); })
        .Case<flow::MinOp>([&](auto) { return combine([](double a, double b) { return -larger(-a, -b); }); })
        .Case<flow::LessOp>([&](auto) { return combine([](double a, double b) { return a < b ? 1.0 : 0.0; }); })
        .Case<flow::LessEqualOp>([&](auto) { return combine([](double a, double b) { return a <= b ? 1.0 : 0.0; }); })
        .Case<flow::EqualOp>([&](auto) { return combine([](double a, double b) { return a == b ? 1.0 : 0.0; }); })
        .Case<flow::AndOp>([&](auto) { return combine([](double a, double b) { return a * b; }); })
        .Case<flow::OrOp>([&](auto) { return combine([](double a, double b) { return std::max(a, b); }); })
        .Case<flow::NotOp>([&](auto) { return apply([](double a) { return 1.0 - a; }); })
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

  Status computeSelect(flow::DenseOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    auto c = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    auto a = broadcastOffsets(op.getOperandRows(1).getShape(), type.getShape());
    auto b = broadcastOffsets(op.getOperandRows(2).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[c[k]] != 0.0 ? in[1].row(i)[a[k]] : in[2].row(i)[b[k]];
    return Status::ok();
  }

  Status computeExpand(flow::DenseOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    auto a = broadcastOffsets(op.getOperandRows(0).getShape(), type.getShape());
    int64_t size = type.getRowSize();
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[a[k]];
    return Status::ok();
  }

  Status computeLinear(flow::LinearOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> x = op.getInput().getType().getShape(), w = op.getWeights().getType().getShape();
    int64_t inner = x.back(), outer = type.getShape().back(), batches = type.getRowSize() / outer;
    int64_t xStride = x.size() > 1 ? inner : 0, wStride = w.size() > 2 ? inner * outer : 0;
    bool transposed = op.getTransposed();
    for (int64_t i = 0; i < result.rows; ++i)
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
    for (int64_t i = 0; i < result.rows; ++i)
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
    for (int64_t i = 0; i < result.rows; ++i)
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
    for (int64_t i = 0; i < result.rows; ++i)
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
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t k = 0; k < size; ++k)
        result.values[i * size + k] = in[0].row(i)[offsets[k]];
    return Status::ok();
  }

  Status computeSlice(flow::SliceOp op, const std::vector<Operand> &in, RowsType type, Table &result) {
    llvm::ArrayRef<int64_t> shape = op.getInput().getType().getShape();
    int64_t axis = op.getAxis(), length = type.getShape()[axis];
    auto [before, after] = around(shape, axis);
    for (int64_t i = 0; i < result.rows; ++i)
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
      for (int64_t i = 0; i < result.rows; ++i)
        for (int64_t b = 0; b < before; ++b)
          std::copy_n(in[part].row(i) + b * length * after, length * after,
                      result.values.data() + i * type.getRowSize() + (b * total + offset) * after);
      offset += length;
    }
    return Status::ok();
  }

  mlir::func::FuncOp function;
  const Graph &graph;
  llvm::DenseMap<mlir::Value, Table> tables;
  std::map<std::pair<Domain, Map>, Index> indices;
};

}  // namespace

Result<std::vector<Table>> interpret(mlir::func::FuncOp function, const Graph &graph, std::vector<Table> arguments) {
  if (mlir::failed(flow::checkFlowFunction(function)))
    return Status::invalid("`" + function.getName().str() + "` is no function of flow, and cannot be run");
  return Run(function, graph).run(std::move(arguments));
}

}  // namespace hector
