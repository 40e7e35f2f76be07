#include "runtime/device/Ordering.h"

#include <gtest/gtest.h>

using namespace hector;

namespace {

using After = std::vector<size_t>;

MemoryUse reads(uintptr_t start, uint64_t bytes) {
  return {start, bytes, false};
}
MemoryUse writes(uintptr_t start, uint64_t bytes) {
  return {start, bytes, true};
}
After add(Ordering &ordering, std::vector<MemoryUse> uses) {
  return ordering.add(uses);
}

TEST(OrderingTest, ReadersFollowWriters) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {writes(0, 64)}), After{});
  EXPECT_EQ(add(ordering, {reads(60, 10)}), After{0});
}

TEST(OrderingTest, WritersFollowReaders) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {reads(0, 64)}), After{});
  EXPECT_EQ(add(ordering, {writes(60, 10)}), After{0});
}

TEST(OrderingTest, WritersFollowWriters) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {writes(0, 64)}), After{});
  EXPECT_EQ(add(ordering, {writes(60, 10)}), After{0});
}

TEST(OrderingTest, ReadersAreFree) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {reads(0, 64)}), After{});
  EXPECT_EQ(add(ordering, {reads(0, 64)}), After{});
}

TEST(OrderingTest, NeighboursAndNothingDoNotOverlap) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {writes(64, 64), writes(200, 0)}), After{});
  EXPECT_EQ(add(ordering, {writes(0, 64), writes(128, 200), reads(100, 0)}), After{});
}

TEST(OrderingTest, WhatIsWaitedForAnywayIsLeftOut) {
  Ordering ordering;
  EXPECT_EQ(add(ordering, {writes(0, 8)}), After{});
  EXPECT_EQ(add(ordering, {reads(0, 8), writes(8, 8)}), After{0});
  EXPECT_EQ(add(ordering, {reads(0, 8), writes(16, 8)}), After{0});
  EXPECT_EQ(add(ordering, {reads(0, 8), reads(8, 8), reads(16, 8)}), (After{1, 2}));
  EXPECT_EQ(ordering.longestChain(), 3u);
}

TEST(OrderingTest, AnythingIsABarrier) {
  Ordering ordering;
  add(ordering, {writes(0, 8)});
  add(ordering, {reads(64, 8)});
  EXPECT_EQ(add(ordering, {MemoryUse::anything()}), (After{0, 1}));
  EXPECT_EQ(add(ordering, {reads(1000, 8)}), After{2});
}

}  // namespace
