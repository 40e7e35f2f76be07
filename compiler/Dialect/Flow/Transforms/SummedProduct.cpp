#include "compiler/Dialect/Flow/Transforms/SummedProduct.h"

#include <llvm/ADT/TypeSwitch.h>

#include <cmath>

namespace hector::flow {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {

/// Ops that read one another twice make 2^n paths; what lies deeper than that is no part of a sum.
constexpr size_t kMaxNodes = 64;
/// Steps in which equal factors are exchanged.
constexpr unsigned kMaxSteps = 1000;

/// A number that can be taken out of a product and put back.
bool isPlainNumber(double value) {
  return std::isfinite(value) && value != 0;
}

}  // namespace

//===- Construction ----------------------------------------------------------------------------------------------===//

int SummedProduct::addLabel(int64_t extent, int owner) {
  if (extent == 1)
    return kNoLabel;
  labels.push_back({extent, owner});
  return static_cast<int>(labels.size()) - 1;
}

/// The labels of a row that is repeated to rows with the axes `whole`: it has as many axes or none.
SummedProduct::Axes SummedProduct::axesOf(ArrayRef<int64_t> shape, const Axes &whole) const {
  Axes axes;
  for (auto [i, extent] : llvm::enumerate(shape))
    axes.push_back(extent == 1 ? kNoLabel : whole[i]);
  return axes;
}

unsigned SummedProduct::add(Read read, Axes axes, int parent) {
  auto index = static_cast<unsigned>(nodes.size());
  nodes.push_back({RowBuilder::throughSpreads(fine, read), std::move(axes), parent});
  if (parent >= 0)
    nodes[parent].parts.push_back(index);
  return index;
}

std::vector<SummedProduct> SummedProduct::of(ReduceOp op) {
  std::vector<SummedProduct> forms;
  bool isSum = op.getKind() == ReduceKind::Sum;
  if ((!isSum && op.getKind() != ReduceKind::Mean) || !op.getResult().getType().isFloat())
    return forms;
  if (auto form = create(op, {}))
    forms.push_back(std::move(*form));
  // A sum of sums is a sum over the finer rows.
  for (size_t i = 0; isSum && i < forms.size(); ++i) {
    SmallVector<ReduceOp> chain;
    for (const Opened &outer : forms[i].opened)
      chain.push_back(outer.sum);
    SmallVector<ReduceOp> inner;
    for (const Node &node : forms[i].nodes)
      if (auto sum = node.read.table.getDefiningOp<ReduceOp>(); sum && sum.getKind() == ReduceKind::Sum &&
                                                                node.read.map == Map::Self && !node.isInverse &&
                                                                !llvm::is_contained(inner, sum))
        inner.push_back(sum);
    for (ReduceOp sum : inner) {
      chain.push_back(sum);
      if (auto form = create(op, chain))
        forms.push_back(std::move(*form));
      chain.pop_back();
    }
  }
  return forms;
}

std::optional<SummedProduct> SummedProduct::create(ReduceOp op, ArrayRef<ReduceOp> chain) {
  SummedProduct form;
  form.op = op;
  ReduceOp finest = chain.empty() ? op : chain.back();
  form.fine = finest.getRows().getType().getDomain();
  for (ReduceOp sum : llvm::reverse(chain)) {
    auto toResult = compose(form.fine, form.toRows, sum.getVia());
    if (!toResult)
      return std::nullopt;
    form.opened.insert(form.opened.begin(), {sum, *toResult, form.toRows});
    form.toRows = *toResult;
  }
  auto via = compose(form.fine, form.toRows, op.getVia());
  if (!via)
    return std::nullopt;
  form.via = *via;
  Axes axes;
  for (int64_t extent : op.getResult().getType().getShape())
    axes.push_back(form.addLabel(extent, -1));
  form.add({op.getRows(), form.toRows}, axes, -1);
  for (unsigned i = 0; i < form.nodes.size() && form.nodes.size() <= kMaxNodes; ++i)
    form.expand(i);
  if (llvm::any_of(form.opened, [](const Opened &sum) { return sum.numFound != 1; }))
    return std::nullopt;
  // An axis of which no factor knows is summed over as often as it is long.
  SmallVector<bool> isUsed(form.labels.size(), false);
  for (const Node &node : form.nodes)
    for (int label : node.axes)
      if (label != kNoLabel && node.parts.empty() && !node.isNumber)
        isUsed[label] = true;
  for (auto [label, used] : llvm::zip_equal(form.labels, isUsed))
    if (label.owner >= 0 && !used)
      form.nodes[label.owner].scale *= static_cast<double>(label.extent);
  return form;
}

/// Looks into the op that computes a factor.
void SummedProduct::expand(unsigned i) {
  Read y = nodes[i].read;
  if (auto constant = y.table.getDefiningOp<ConstantOp>()) {
    double value = constant.getValue().convertToDouble();
    if (isPlainNumber(value)) {
      nodes[i].isNumber = true;
      nodes[i].scale = nodes[i].isInverse ? 1 / value : value;
    }
    return;
  }
  if (nodes[i].isInverse)
    return;
  for (Opened &sum : opened)
    if (y.table == sum.sum.getResult() && y.map == sum.toResult) {
      ++sum.numFound;
      for (int outer = static_cast<int>(i); outer >= 0; outer = nodes[outer].parent)
        nodes[outer].isOpened = true;
      add({sum.sum.getRows(), sum.toRows}, nodes[i].axes, static_cast<int>(i));
      return;
    }
  auto op = y.table.getDefiningOp<DenseOp>();
  if (!op)
    return;
  SmallVector<Read> operands;
  for (unsigned k = 0; k < op->getNumOperands(); ++k) {
    auto map = compose(fine, y.map, op.getMap(k));
    if (!map)
      return;
    operands.push_back({op->getOperand(k), *map});
  }
  expandDense(i, op, operands);
}

void SummedProduct::expandDense(unsigned i, DenseOp op, ArrayRef<Read> operands) {
  const Axes axes = nodes[i].axes;
  int self = static_cast<int>(i);
  auto addLike = [&](Read read) { return add(read, axesOf(read.shape(), axes), self); };
  auto guard = [&](bool isGuarded, unsigned by, unsigned what) {
    if (isGuarded)
      guards.push_back({by, what});
  };
  // Of a contraction: the leading axes of an operand that has any, then its own last ones.
  auto leadOf = [&](Read read, size_t own, size_t ownOfResult) {
    Axes lead;
    if (read.shape().size() > own)
      lead.append(axes.begin(), axes.end() - static_cast<ptrdiff_t>(ownOfResult));
    return lead;
  };
  llvm::TypeSwitch<mlir::Operation *>(op)
      .Case<MulOp, ChainOp>([&](auto) {
        unsigned a = addLike(operands[0]), b = addLike(operands[1]);
        guard(mlir::isa<ChainOp>(op), a, b);
      })
      .Case<DivOp>([&](auto) {
        addLike(operands[0]);
        nodes[addLike(operands[1])].isInverse = true;
      })
      .Case<NegOp>([&](auto) {
        nodes[i].scale = -1;
        addLike(operands[0]);
      })
      .Case<ExpandOp>([&](auto) { addLike(operands[0]); })
      .Case<ReshapeOp>([&](auto) {
        // The same axes, but for those of size 1.
        auto isLong = [](int64_t extent) { return extent != 1; };
        SmallVector<int64_t> before, after;
        llvm::copy_if(operands[0].shape(), std::back_inserter(before), isLong);
        llvm::copy_if(op.getResultRows().getShape(), std::back_inserter(after), isLong);
        if (before != after)
          return;
        Axes moved;
        const int *next = axes.begin();
        for (int64_t extent : operands[0].shape()) {
          while (extent != 1 && *next == kNoLabel)
            ++next;
          moved.push_back(extent == 1 ? kNoLabel : *next++);
        }
        add(operands[0], moved, self);
      })
      .Case<TransposeOp>([&](TransposeOp turn) {
        Axes moved(axes.size());
        for (auto [k, from] : llvm::enumerate(turn.getPermutation()))
          moved[from] = axes[k];
        add(operands[0], moved, self);
      })
      .Case<RowReduceOp>([&](RowReduceOp reduce) {
        bool isMean = reduce.getKind() == ReduceKind::Mean;
        if (!isMean && reduce.getKind() != ReduceKind::Sum)
          return;
        int64_t extent = operands[0].shape()[reduce.getAxis()];
        if (isMean)
          nodes[i].scale = 1 / static_cast<double>(extent);
        Axes whole = axes;
        whole.insert(whole.begin() + static_cast<ptrdiff_t>(reduce.getAxis()), addLabel(extent, self));
        add(operands[0], whole, self);
      })
      .Case<DotOp>([&](DotOp dot) {
        int summed = addLabel(operands[0].shape().back(), self);
        unsigned sides[2];
        for (unsigned k : {0u, 1u}) {
          Axes side = leadOf(operands[k], 1, 0);
          side.push_back(summed);
          sides[k] = add(operands[k], side, self);
        }
        guard(dot.getGuarded(), sides[0], sides[1]);
      })
      .Case<LinearOp>([&](LinearOp linear) {
        int summed = addLabel(operands[0].shape().back(), self);
        Axes row = leadOf(operands[0], 1, 1), weights = leadOf(operands[1], 2, 1);
        row.push_back(summed);
        weights.push_back(linear.getTransposed() ? axes.back() : summed);
        weights.push_back(linear.getTransposed() ? summed : axes.back());
        unsigned a = add(operands[0], row, self), b = add(operands[1], weights, self);
        guard(linear.getGuarded(), a, b);
      })
      .Case<OuterOp>([&](auto) {
        Axes left = leadOf(operands[0], 1, 2), right = leadOf(operands[1], 1, 2);
        left.push_back(axes[axes.size() - 2]);
        right.push_back(axes.back());
        add(operands[0], left, self);
        add(operands[1], right, self);
      });
}

bool SummedProduct::looksInto(ReduceOp sum) const {
  return llvm::any_of(opened, [&](const Opened &inner) { return inner.sum == sum; });
}

bool SummedProduct::isUnder(unsigned node, unsigned root) const {
  int at = static_cast<int>(node);
  while (at > static_cast<int>(root))  // parts come after what they are parts of
    at = nodes[at].parent;
  return at == static_cast<int>(root);
}

double SummedProduct::getScale() const {
  double scale = 1;
  for (const Node &node : nodes)
    scale *= node.scale;
  return scale;
}

//===- Matching --------------------------------------------------------------------------------------------------===//

/// Finds a different factor of `whole` for each factor of `part`, such that equal labels stay equal and different ones
/// different.
struct Matcher {
  using Node = SummedProduct::Node;
  const SummedProduct &whole, &part;
  SmallVector<unsigned> wholeLeaves, partLeaves;
  SmallVector<int> labelOf;  // of `part` in `whole`
  SmallVector<bool> isLabelTaken;
  std::vector<bool> isTaken;
  std::vector<int> places;
  unsigned numSteps = 0;

  Matcher(const SummedProduct &whole, const SummedProduct &part)
      : whole(whole), part(part), wholeLeaves(leavesOf(whole)), partLeaves(leavesOf(part)),
        labelOf(part.labels.size(), SummedProduct::kNoLabel), isLabelTaken(whole.labels.size(), false),
        isTaken(whole.nodes.size(), false), places(whole.nodes.size(), -1) {}

  static SmallVector<unsigned> leavesOf(const SummedProduct &sum) {
    SmallVector<unsigned> leaves;
    for (auto [i, node] : llvm::enumerate(sum.nodes))
      if (node.parts.empty() && !node.isNumber)
        leaves.push_back(static_cast<unsigned>(i));
    return leaves;
  }

  static bool isSame(const Node &a, const Node &b) { return a.read == b.read && a.isInverse == b.isInverse; }

  /// How many ops around two factors are the same. Equal factors are exchangeable, but it takes fewer ops if those of
  /// one op are found together.
  unsigned numShared(unsigned inWhole, unsigned inPart) const {
    unsigned count = 0;
    for (int w = whole.nodes[inWhole].parent; w >= 0; w = whole.nodes[w].parent)
      for (int p = part.nodes[inPart].parent; p >= 0; p = part.nodes[p].parent)
        count += isSame(whole.nodes[w], part.nodes[p]);
    return count;
  }

  bool unify(const Node &inWhole, const Node &inPart, SmallVectorImpl<int> &bound) {
    for (auto [w, p] : llvm::zip_equal(inWhole.axes, inPart.axes)) {
      if (p == SummedProduct::kNoLabel)
        continue;
      if (labelOf[p] == w)
        continue;
      if (labelOf[p] != SummedProduct::kNoLabel || isLabelTaken[w])
        return false;
      labelOf[p] = w;
      isLabelTaken[w] = true;
      bound.push_back(p);
    }
    return true;
  }

  void release(ArrayRef<int> bound) {
    for (int p : bound) {
      isLabelTaken[labelOf[p]] = false;
      labelOf[p] = SummedProduct::kNoLabel;
    }
  }

  /// Axes that only `part` sums over must be summed over in `whole` as well, by no other factor.
  bool isComplete() const {
    for (auto [p, label] : llvm::enumerate(part.labels)) {
      int w = labelOf[p];
      if (label.owner < 0 || w == SummedProduct::kNoLabel)
        continue;
      if (!whole.isSummed(w))
        return false;
      for (unsigned leaf : wholeLeaves)
        if (!isTaken[leaf] && llvm::is_contained(whole.nodes[leaf].axes, w))
          return false;
    }
    // An axis along which the rows of `part` are repeated would have to be cut off.
    return llvm::all_of(part.getAxes(), [&](int label) {
      return label == SummedProduct::kNoLabel || labelOf[label] != SummedProduct::kNoLabel;
    });
  }

  bool match(size_t next) {
    if (next == partLeaves.size())
      return isComplete();
    const Node &wanted = part.nodes[partLeaves[next]];
    SmallVector<std::pair<unsigned, unsigned>> choices;
    for (unsigned leaf : wholeLeaves)
      if (!isTaken[leaf] && isSame(whole.nodes[leaf], wanted))
        choices.emplace_back(numShared(leaf, partLeaves[next]), leaf);
    llvm::stable_sort(choices, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [shared, leaf] : choices) {
      if (++numSteps > kMaxSteps)
        return false;
      SmallVector<int> bound;
      isTaken[leaf] = true;
      places[leaf] = static_cast<int>(partLeaves[next]);
      if (unify(whole.nodes[leaf], wanted, bound) && match(next + 1))
        return true;
      release(bound);
      isTaken[leaf] = false;
      places[leaf] = -1;
    }
    return false;
  }
};

std::optional<SummedProduct::Match> SummedProduct::find(const SummedProduct &other) const {
  if (other.fine != fine)
    return std::nullopt;
  Matcher matcher(*this, other);
  if (!matcher.match(0))
    return std::nullopt;
  Match match;
  match.isFound = std::move(matcher.isTaken);
  match.places = std::move(matcher.places);
  for (size_t i = nodes.size(); i-- > 1;)
    if (match.isFound[i])
      match.isFound[nodes[i].parent] = true;
  for (int label : other.getAxes())
    match.axes.push_back(label == kNoLabel ? kNoLabel : matcher.labelOf[label]);
  return match;
}

}  // namespace hector::flow
