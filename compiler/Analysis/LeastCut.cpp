#include "compiler/Analysis/LeastCut.h"

#include <algorithm>
#include <limits>

namespace hector::flow {

/// The two sides. Things come after them.
constexpr unsigned kMoving = 0, kStaying = 1, kFirst = 2;
constexpr unsigned kNone = ~0u;
constexpr double kForbidden = std::numeric_limits<double>::infinity();
/// Costs below this part of all costs are rounding.
constexpr double kRounding = 1e-12;

void LeastCut::connect(unsigned from, unsigned to, double room) {
  arcsOf[from].push_back(static_cast<unsigned>(arcs.size()));
  arcs.push_back({to, room});
  arcsOf[to].push_back(static_cast<unsigned>(arcs.size()));
  arcs.push_back({from, 0});
}

unsigned LeastCut::add(double ifStays, double ifMoves) {
  auto thing = static_cast<unsigned>(arcsOf.size()) - kFirst;
  arcsOf.emplace_back();
  charge(thing, ifStays, ifMoves);
  return thing;
}

void LeastCut::charge(unsigned thing, double ifStays, double ifMoves) {
  if (ifStays > 0)
    connect(kMoving, thing + kFirst, ifStays);
  if (ifMoves > 0)
    connect(thing + kFirst, kStaying, ifMoves);
  allStay += ifStays;
  allMove += ifMoves;
}

void LeastCut::tie(unsigned moves, unsigned stays, double cost) {
  connect(moves + kFirst, stays + kFirst, cost);
}

void LeastCut::forbid(unsigned moves, unsigned stays) {
  connect(moves + kFirst, stays + kFirst, kForbidden);
}

/// Sends as much as fits along a shortest way; false if there is none with room for more than `least`.
bool LeastCut::augment(double least) {
  reachedBy.assign(arcsOf.size(), kNone);
  llvm::SmallVector<unsigned, 64> queue = {kMoving};
  for (size_t i = 0; i < queue.size() && reachedBy[kStaying] == kNone; ++i)
    for (unsigned arc : arcsOf[queue[i]])
      if (unsigned to = arcs[arc].to; arcs[arc].room > least && reachedBy[to] == kNone && to != kMoving) {
        reachedBy[to] = arc;
        queue.push_back(to);
      }
  if (reachedBy[kStaying] == kNone)
    return false;
  double room = kForbidden;
  for (unsigned at = kStaying; at != kMoving; at = arcs[reachedBy[at] ^ 1].to)
    room = std::min(room, arcs[reachedBy[at]].room);
  for (unsigned at = kStaying; at != kMoving; at = arcs[reachedBy[at] ^ 1].to) {
    arcs[reachedBy[at]].room -= room;
    arcs[reachedBy[at] ^ 1].room += room;
  }
  cost += room;
  return true;
}

void LeastCut::solve() {
  while (augment(kRounding * (allStay + allMove))) {
  }
  // What is still reached saves more than it costs.
  moved.assign(arcsOf.size() - kFirst, false);
  for (unsigned thing = 0; thing < moved.size(); ++thing)
    moved[thing] = reachedBy[thing + kFirst] != kNone;
}

}  // namespace hector::flow
