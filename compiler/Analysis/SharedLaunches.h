/// Which groups share a launch of a GPU.
///
/// A loop over the relations of a graph, such as a product of weights with weights, has a block for each of them: far
/// fewer than a GPU runs at a time, and a launch takes about as long as the loop. Loops that do not wait for each other
/// can have blocks of one launch. A training step of HGT with contracted weights has 42 groups on bgs, and 20 launches:
///
///   %a = flow.group gemm etype weights (…)
///   %b = flow.group gemm etype weights beside (…)    reads nothing of %a
///   %c = flow.group gemm etype weights (…)           reads %a, so that it starts another launch
#pragma once

#include "compiler/Analysis/Groups.h"

namespace hector::flow {

/// Brings groups that can share a launch next to each other, and notes which are beside the one before them. A group is
/// moved to the front only, to the first launch that starts after what it reads is there.
void shareLaunches(std::vector<Group> &groups, const Body &body, const Machine &machine);

}  // namespace hector::flow
