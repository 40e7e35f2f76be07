#include "compiler/Analysis/SharedLaunches.h"

namespace hector::flow {

/// Whether a group takes little longer than its launch. Large ones gain nothing, and what they write would be in memory
/// for longer. Tables of the graph phase have a launch each, which runs once.
static bool isSmall(const Group &group, const Machine &machine) {
  constexpr double kMostLaunches = 8;
  return group.phase != Phase::Graph && !group.kind.isTraversal() &&
         (group.domain == Domain::EdgeType || group.domain == Domain::NodeType || group.domain == Domain::One) &&
         group.cost.seconds <= kMostLaunches * machine.launch;
}

void shareLaunches(std::vector<Group> &groups, const Body &body, const Machine &machine) {
  auto canShare = [&](const Group &a, const Group &b) {
    return isSmall(a, machine) && isSmall(b, machine) && a.phase == b.phase && a.domain == b.domain;
  };
  std::vector<llvm::SmallVector<unsigned, 4>> launches;  // the groups of each
  std::vector<unsigned> launchOf(body.size());           // of each table: the one that writes it
  for (auto [number, group] : llvm::enumerate(groups)) {
    size_t place = 0;
    for (unsigned op : group.ops)
      for (const Body::Operand &operand : body[op].operands)
        if (operand.source != Body::kNone && !group.contains(operand.source))
          place = std::max<size_t>(place, launchOf[operand.source] + 1);
    while (place < launches.size() && !canShare(groups[launches[place].front()], group))
      ++place;
    if (place == launches.size())
      launches.emplace_back();
    launches[place].push_back(static_cast<unsigned>(number));
    for (unsigned op : group.writes)
      launchOf[op] = static_cast<unsigned>(place);
  }
  std::vector<Group> arranged;
  for (const auto &launch : launches)
    for (unsigned number : launch) {
      arranged.push_back(std::move(groups[number]));
      arranged.back().isBeside = number != launch.front();
    }
  groups = std::move(arranged);
}

}  // namespace hector::flow
