#include "compiler/Analysis/Cost.h"

namespace hector::flow {

double Cost::keptBytes() const {
  double bytes = 0;
  for (const KeptTable &table : kept)
    bytes += table.bytes;
  return bytes;
}

/// What is live between groups, and what crosses from the forward to the backward phase.
static void countMemory(const Groups &groups, Cost &cost) {
  const Body &body = groups.getBody();
  unsigned numGroups = static_cast<unsigned>(groups.list().size());
  std::vector<double> change(numGroups + 1);  // of the bytes live, at each group
  std::vector<unsigned> last(body.size());    // the last group that reads a table
  std::vector<bool> isKept(body.size());
  for (unsigned i = 0; i < numGroups; ++i) {
    const Group &group = groups.list()[i];
    for (unsigned op : group.ops)
      for (const Body::Operand &operand : body[op].operands)
        if (operand.source != Body::kNone && !group.contains(operand.source)) {
          last[operand.source] = i;
          isKept[operand.source] = isKept[operand.source] ||
                                   (group.phase == Phase::Backward && body[operand.source].phase == Phase::Forward);
        }
  }
  for (unsigned i = 0; i < numGroups; ++i)
    for (unsigned op : groups.list()[i].writes) {
      double bytes = body[op].tableBytes;
      if (cost.groups[i].phase == Phase::Graph) {
        cost.graphBytes += bytes;
        continue;
      }
      change[i] += bytes;
      // What is returned is live to the end.
      change[(body[op].isReturned ? numGroups - 1 : std::max(last[op], i)) + 1] -= bytes;
      if (isKept[op])
        cost.kept.push_back({body[op].op->getResult(0), bytes});
    }
  double live = 0;
  for (unsigned i = 0; i < numGroups; ++i) {
    cost.groups[i].liveBytes = live += change[i];
    cost.peakBytes = std::max(cost.peakBytes, live);
  }
  mlir::func::FuncOp function = body.function;
  for (mlir::Value argument : function.getArguments())
    cost.inputBytes += tableBytes(mlir::cast<RowsType>(argument.getType()), body.rows);
}

Cost estimate(const Groups &groups) {
  const Body &body = groups.getBody();
  Cost cost;
  cost.bandwidth = groups.getMachine().bandwidth;
  cost.memoryWeight = groups.getMemoryWeight();
  for (const Group &group : groups.list()) {
    cost.groups.push_back(group.cost);
    GroupCost &added = cost.groups.back();
    added.phase = group.phase;
    if (group.isBeside)
      added.seconds -= groups.getMachine().launch;
    for (unsigned op : group.ops)
      added.ops.push_back({body[op].op, body.rows.of(body[op].walked), body[op].products + body[op].scalars});
    if (group.phase == Phase::Graph)
      continue;
    cost.operations += added.operations;
    cost.bytes += added.bytes;
    cost.seconds += added.seconds;
  }
  const bool learns = llvm::any_of(cost.groups, [](const GroupCost &group) { return group.phase == Phase::Backward; });
  for (const GroupCost &group : cost.groups)
    if (group.phase == Phase::Weights && !learns && !groups.getMachine().isGpu())
      cost.weightSeconds += group.seconds;
  countMemory(groups, cost);
  return cost;
}

Cost estimate(mlir::func::FuncOp function, const GroupOptions &options) {
  return estimate(Groups(function, options));
}

double bytesAlone(unsigned op, LoopPricer &pricer) {
  return pricer.price(op, pricer.body[op].kinds, [](unsigned) { return true; }).bytes;
}

}  // namespace hector::flow
