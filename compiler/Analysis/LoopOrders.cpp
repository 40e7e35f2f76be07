#include "compiler/Analysis/LoopOrders.h"

#include <llvm/ADT/SetVector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace hector::flow {

double permutingSeconds(const Body &body, unsigned op, const Machine &machine) {
  auto type = mlir::cast<RowsType>(body[op].op->getResult(0).getType());
  if (type.getDomain() < Domain::SrcPair)
    return 0;
  return std::max(permutedCost(type, body.rows, machine).seconds - body[op].tableBytes / machine.bandwidth, 0.0);
}

bool hasCopies(const Body &body, unsigned op) {
  return body[op].phase == Phase::Graph && !body[op].isReturned;
}

bool isLegal(const GroupCost &cost, bool isGpu) {
  return !isGpu || !cost.kind.isTraversal() ||
         (cost.numSweeps <= 1 && !cost.isNested && cost.registers <= kMaxRegisters);
}

namespace {

class OrderChooser {
public:
  OrderChooser(std::vector<Group> &groups, const std::vector<LoopKinds> &kinds, LoopPricer &pricer)
      : groups(groups), pricer(pricer), body(pricer.body), writer(body.size(), Body::kNone), readers(body.size()) {
    for (auto [i, group] : llvm::enumerate(groups))
      for (unsigned op : group.writes)
        writer[op] = static_cast<unsigned>(i);
    for (auto [i, group] : llvm::enumerate(groups)) {
      for (unsigned op : group.ops)
        for (const Body::Operand &operand : body[op].operands)
          if (operand.source != Body::kNone && !group.contains(operand.source) &&
              !llvm::is_contained(readers[operand.source], i))
            readers[operand.source].push_back(static_cast<unsigned>(i));
      costs.push_back({});
      for (LoopKind kind : kinds[i].list())
        costs.back().push_back(pricer.price(group.ops, kind, [&](unsigned op) { return group.stores(op); }));
      const bool isGpu = pricer.machine.isGpu();
      auto isIllegal = [&](const GroupCost &cost) { return !isLegal(cost, isGpu); };
      if (!llvm::all_of(costs.back(), isIllegal))
        llvm::erase_if(costs.back(), isIllegal);
      take(static_cast<unsigned>(i), *llvm::min_element(costs.back(), [](const GroupCost &a, const GroupCost &b) {
             return a.seconds < b.seconds;
           }));
    }
  }

  void run() {
    constexpr unsigned kRounds = 2;
    for (unsigned round = 0; round < kRounds; ++round)
      for (unsigned i = 0; i < groups.size(); ++i)
        if (costs[i].size() > 1)
          choose(i);
    for (Group &group : groups)
      chooseCopies(group);
    for (unsigned i = 0; i < groups.size(); ++i)
      addPermutations(groups[i]);
  }

private:
  void take(unsigned group, const GroupCost &cost) {
    groups[group].cost = cost;
    groups[group].kind = cost.kind;
    groups[group].domain = cost.domain;
  }

  /// The order in which a group reads a table row after row; nothing where it gathers.
  std::optional<Order> readOrder(const Group &group, unsigned table) const {
    for (const TableCost &read : group.cost.reads)
      if (read.table == body[table].op->getResult(0) && !read.isGathered)
        return walkOrder(group.kind.loop, body[table].domain);
    return std::nullopt;
  }

  /// The order in which a table is best stored, and the time that its permutations take then.
  std::pair<Order, double> bestOrder(unsigned op) const {
    Order own = walkOrder(groups[writer[op]].kind.loop, body[op].domain);
    if (own == Order::None || hasCopies(body, op))
      return {own, 0.0};
    llvm::SmallVector<Order, 4> wanted = {own};
    for (unsigned reader : readers[op])
      if (auto order = readOrder(groups[reader], op))
        wanted.push_back(*order);
    std::pair<Order, double> best = {own, std::numeric_limits<double>::infinity()};
    for (Order order : wanted) {
      double seconds = permutingSeconds(body, op, pricer.machine) *
                       static_cast<double>(llvm::count_if(wanted, [&](Order other) { return other != order; }));
      if (seconds < best.second)
        best = {order, seconds};
    }
    return best;
  }

  /// Chooses the order of each table that a group writes, and writes a copy more for each other order that is wanted.
  void chooseCopies(Group &group) const {
    llvm::SmallVector<unsigned, 4> writes;
    for (unsigned op : group.writes) {
      llvm::SmallSetVector<Order, 4> orders;
      if (hasCopies(body, op))
        for (unsigned reader : readers[op])
          if (auto order = readOrder(groups[reader], op); order && groups[reader].phase != Phase::Graph)
            orders.insert(*order);
      if (orders.empty())
        orders.insert(bestOrder(op).first);
      writes.append(orders.size(), op);
      group.orders.append(orders.begin(), orders.end());
    }
    group.writes = std::move(writes);
  }

  void choose(unsigned index) {
    Group &group = groups[index];
    llvm::SmallSetVector<unsigned, 8> tables;
    for (unsigned op : group.writes)
      tables.insert(op);
    for (unsigned op : group.ops)
      for (const Body::Operand &operand : body[op].operands)
        if (operand.source != Body::kNone && writer[operand.source] != Body::kNone && writer[operand.source] != index)
          tables.insert(operand.source);
    const GroupCost *best = nullptr;
    double least = 0;
    for (const GroupCost &cost : costs[index]) {
      take(index, cost);
      double seconds = cost.seconds;
      for (unsigned table : tables)
        seconds += bestOrder(table).second;
      if (!best || seconds < least) {
        best = &cost;
        least = seconds;
      }
    }
    take(index, *best);
  }

  /// Adds what is permuted to a group's cost.
  void addPermutations(Group &group) {
    auto permute = [&](TableCost &table) {
      TableCost permuted = permutedCost(mlir::cast<RowsType>(table.table.getType()), body.rows, pricer.machine);
      group.cost.bytes += permuted.bytes - table.bytes;
      group.cost.memorySeconds += std::max(permuted.seconds - table.seconds, 0.0);
      table.isPermuted = true;
      table.bytes = permuted.bytes;
      table.seconds = std::max(permuted.seconds, table.seconds);
    };
    for (TableCost &read : group.cost.reads) {
      auto source = body.find(read.table);
      if (!source || read.isGathered || writer[*source] == Body::kNone)
        continue;
      const Group &home = groups[writer[*source]];
      const Order wanted = walkOrder(group.kind.loop, body[*source].domain);
      if (llvm::none_of(llvm::zip_equal(home.writes, home.orders),
                        [&](const auto &copy) { return copy == std::tuple(*source, wanted); }))
        permute(read);
    }
    std::vector<TableCost> writes;
    for (auto [op, order] : llvm::zip_equal(group.writes, group.orders)) {
      const mlir::Value table = body[op].op->getResult(0);
      TableCost write = *llvm::find_if(group.cost.writes, [&](const TableCost &cost) { return cost.table == table; });
      if (!writes.empty() && writes.back().table == table) {
        group.cost.bytes += write.bytes;
        group.cost.memorySeconds += write.seconds;
      }
      if (order != walkOrder(group.kind.loop, body[op].domain))
        permute(write);
      writes.push_back(write);
    }
    group.cost.writes = std::move(writes);
    group.cost.finish(pricer.machine);
  }

  std::vector<Group> &groups;
  LoopPricer &pricer;
  const Body &body;
  std::vector<unsigned> writer;                         // the group that stores each op's result
  std::vector<llvm::SmallVector<unsigned, 2>> readers;  // the groups that read its table
  std::vector<llvm::SmallVector<GroupCost, 3>> costs;   // of each group, by kind
};

}  // namespace

void chooseOrders(std::vector<Group> &groups, const std::vector<LoopKinds> &kinds, LoopPricer &pricer) {
  OrderChooser(groups, kinds, pricer).run();
}

}  // namespace hector::flow
