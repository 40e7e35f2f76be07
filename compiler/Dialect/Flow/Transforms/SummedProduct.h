/// Sums in a normal form, and how one is found in another.
///
/// A `reduce sum` of rows that are products, quotients, contractions and products with weights is written as one sum
/// over the fine rows and over labelled axes. Take the gradient of an attention layer; e are edges, i an axis:
///
///   d = dot(h[dst], x[src])    a = p · d / t[dst]    R = Σ a via dst        R[n] = Σ_e Σ_i  h[dst]_i · x[src]_i · p ·
///   1/t[dst] m = p · x[src]             S = Σ m via dst                              S[n]_i = Σ_e  p · x[src]_i
///
/// All factors of S are factors of R, and what remains of R (h and t) is the same for all edges of a node. So
/// R[n] = Σ_i h_i · S_i / t: the sum over edges exists already. Axes with equal labels run together. A label that is
/// not among the axes of the result is summed over.
///
/// The factors form a tree. If nothing under a node is found in the other sum, the node is one factor, as the function
/// computed it.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <vector>

namespace hector::flow {

class SummedProduct {
public:
  /// Of an axis of size 1, which runs together with any other.
  static constexpr int kNoLabel = -1;
  using Axes = llvm::SmallVector<int, 4>;

  struct Node {
    Read read;  // from the fine domain
    Axes axes;  // the label of each axis
    int parent = -1;
    bool isInverse = false;                     // divides; has no parts
    bool isNumber = false;                      // contributes to the scale only
    bool isOpened = false;                      // a sum of fine rows, or computed from one: no factor of a fine row
    double scale = 1;                           // what the node itself multiplies its parts with
    llvm::SmallVector<unsigned, 2> parts = {};  // none: a factor that is looked no further into
  };
  /// Where the product of one side is 0, the other side has no influence, whatever inf or NaN it holds.
  struct Guard {
    unsigned guard, guarded;
  };

  /// The forms of a sum or mean: over its own rows, and, where its rows hold a sum of finer rows, over those. Empty if
  /// `op` is neither, or works with anything but floats.
  static std::vector<SummedProduct> of(ReduceOp op);

  ReduceOp getOp() const { return op; }
  Domain getFine() const { return fine; }
  /// From the fine rows to the result, and to the rows that the op reads.
  Map getVia() const { return via; }
  Map getToRows() const { return toRows; }
  /// Of the result's row.
  const Axes &getAxes() const { return nodes.front().axes; }
  const std::vector<Node> &getNodes() const { return nodes; }
  llvm::ArrayRef<Guard> getGuards() const { return guards; }
  int64_t getExtent(int label) const { return labels[label].extent; }
  bool isSummed(int label) const { return labels[label].owner >= 0; }
  /// Whether the form sums over rows of `sum`, which is a factor of the rows of `op`.
  bool looksInto(ReduceOp sum) const;
  bool isUnder(unsigned node, unsigned root) const;
  /// The product of all numbers.
  double getScale() const;

  /// Where the factors of another sum of the same fine rows are in this one.
  struct Match {
    std::vector<bool> isFound;  // for each node of this sum: whether something under it is in the other
    std::vector<int> places;    // of each factor of this sum in the other; -1 if it is not there
    Axes axes;                  // of the other's result, in labels of this one
  };
  std::optional<Match> find(const SummedProduct &other) const;

private:
  struct Label {
    int64_t extent;
    int owner;  // the node that sums over it; -1 for axes of the result
  };
  friend struct Matcher;

  /// `opened`: sums of which each is a factor of the one before, the first of the rows of `op`; their rows are looked
  /// into.
  static std::optional<SummedProduct> create(ReduceOp op, llvm::ArrayRef<ReduceOp> opened);
  unsigned add(Read read, Axes axes, int parent);
  void expand(unsigned i);
  void expandDense(unsigned i, DenseOp op, llvm::ArrayRef<Read> operands);
  int addLabel(int64_t extent, int owner);
  Axes axesOf(llvm::ArrayRef<int64_t> shape, const Axes &whole) const;

  ReduceOp op;
  Domain fine = Domain::Edge;
  Map via = Map::Self, toRows = Map::Self;
  std::vector<Node> nodes;  // the first is the row that is summed
  llvm::SmallVector<Guard> guards;
  llvm::SmallVector<Label> labels;
  struct Opened {
    ReduceOp sum;
    Map toResult, toRows;  // from the fine domain
    unsigned numFound = 0;
  };
  llvm::SmallVector<Opened> opened;
};

}  // namespace hector::flow
