/// Decides for many things at once whether each of them stays or moves, at the least cost.
///
/// Each thing has a cost if it stays and a cost if it moves, and two things may have a cost if the first moves and the
/// second stays. Take a product that is read by an addition, where the product costs 9 here and 3 there, the addition 1
/// here and 2 there, and 4 more if the product moves and the addition stays. Neither moving costs 10, the product alone
/// 8, both 5: both move.
///
/// This is a minimum cut between what moves and what stays, found as a maximum flow.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <vector>

namespace hector::flow {

class LeastCut {
public:
  LeastCut() : arcsOf(2) {}

  /// Adds a thing, and returns its number.
  unsigned add(double ifStays, double ifMoves);
  /// Adds to the costs of a thing.
  void charge(unsigned thing, double ifStays, double ifMoves);
  /// Adds a cost if `moves` moves and `stays` stays; without one, that is impossible.
  void tie(unsigned moves, unsigned stays, double cost);
  void forbid(unsigned moves, unsigned stays);

  /// Finds the cheapest way, of equally cheap ones that in which the fewest things move. To be called once, at the end.
  void solve();
  bool isMoved(unsigned thing) const { return moved[thing]; }
  /// The cost of the cheapest way, and that of moving nothing and of moving everything.
  double getCost() const { return cost; }
  double ifNothingMoves() const { return allStay; }
  double ifAllMove() const { return allMove; }

private:
  struct Arc {
    unsigned to;
    double room;  // for more flow
  };

  void connect(unsigned from, unsigned to, double room);
  bool augment(double least);

  /// What moves is on the side of the first of two extra nodes; costs of staying are arcs from there, and costs of
  /// moving arcs to the second. The arc back is the next one of each pair.
  std::vector<Arc> arcs;
  std::vector<llvm::SmallVector<unsigned, 8>> arcsOf;
  std::vector<unsigned> reachedBy;  // of each node: the arc that last led there
  std::vector<bool> moved;
  double cost = 0, allStay = 0, allMove = 0;
};

}  // namespace hector::flow
