#include "compiler/Analysis/LeastCut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>

namespace hector::flow {
namespace {

TEST(LeastCut, ThingsMoveTogether) {
  LeastCut cut;
  unsigned product = cut.add(9, 3), sum = cut.add(1, 2);
  cut.tie(product, sum, 4);
  cut.solve();
  EXPECT_TRUE(cut.isMoved(product));
  EXPECT_TRUE(cut.isMoved(sum));
  EXPECT_EQ(cut.getCost(), 5);
  EXPECT_EQ(cut.ifNothingMoves(), 10);
  EXPECT_EQ(cut.ifAllMove(), 5);
}

TEST(LeastCut, ThingsStayOnTies) {
  LeastCut cut;
  unsigned thing = cut.add(2, 2);
  cut.solve();
  EXPECT_FALSE(cut.isMoved(thing));
}

TEST(LeastCut, WhatIsForbiddenDoesNotHappen) {
  LeastCut cut;
  unsigned reader = cut.add(5, 0), source = cut.add(0, 9);
  cut.forbid(reader, source);
  cut.solve();
  EXPECT_FALSE(cut.isMoved(reader));
  EXPECT_FALSE(cut.isMoved(source));
  EXPECT_EQ(cut.getCost(), 5);
}

TEST(LeastCut, NoOtherWayIsCheaper) {
  std::mt19937 random(1);
  auto upTo = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  for (int round = 0; round < 200; ++round) {
    constexpr unsigned kThings = 6, kTies = 9;
    LeastCut cut;
    std::vector<std::pair<unsigned, unsigned>> costs;
    std::vector<std::tuple<unsigned, unsigned, unsigned>> ties;
    for (unsigned i = 0; i < kThings; ++i) {
      auto [stays, moves] = costs.emplace_back(upTo(9), upTo(9));
      cut.add(stays, moves);
    }
    for (unsigned i = 0; i < kTies; ++i) {
      auto [moves, stays, cost] = ties.emplace_back(upTo(kThings - 1), upTo(kThings - 1), upTo(6));
      cut.tie(moves, stays, cost);
    }
    cut.solve();
    auto costOf = [&](uint32_t moved) {
      unsigned cost = 0;
      for (unsigned i = 0; i < kThings; ++i)
        cost += moved >> i & 1 ? costs[i].second : costs[i].first;
      for (auto [moves, stays, extra] : ties)
        cost += (moved >> moves & 1) && !(moved >> stays & 1) ? extra : 0;
      return cost;
    };
    uint32_t found = 0;
    for (unsigned i = 0; i < kThings; ++i)
      found |= static_cast<uint32_t>(cut.isMoved(i)) << i;
    unsigned least = costOf(0);
    for (uint32_t moved = 1; moved < 1u << kThings; ++moved)
      least = std::min(least, costOf(moved));
    EXPECT_EQ(costOf(found), least);
    EXPECT_EQ(cut.getCost(), least);
  }
}

}  // namespace
}  // namespace hector::flow
