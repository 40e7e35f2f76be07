/// The kinds of loops and the orders of tables between them.
#pragma once

#include "compiler/Analysis/Groups.h"

#include <vector>

namespace hector::flow {

/// How much longer it takes to read or write the result of an op in another order than it is stored in.
double permutingSeconds(const Body &body, unsigned op, const Machine &machine);

/// A thread of a GPU that gathers rows has this many registers before too few threads are on the way.
inline constexpr unsigned kMaxRegisters = 64;

/// Whether the target can run a loop: a GPU walks edges once, cut wherever it suits, with a limited number of
/// registers.
bool isLegal(const GroupCost &cost, bool isGpu);

/// Whether a table is stored in every order in which it is read: it is written once for a graph, and read in every run.
bool hasCopies(const Body &body, unsigned op);

/// Chooses the kind of each loop among `kinds`, one entry per group, and the order of each table between loops, so that
/// all together take the least time. A table that is written or read in another order than its own is permuted, which
/// costs a gather of every row. What runs once for a graph has a copy for each order instead.
void chooseOrders(std::vector<Group> &groups, const std::vector<LoopKinds> &kinds, LoopPricer &pricer);

}  // namespace hector::flow
