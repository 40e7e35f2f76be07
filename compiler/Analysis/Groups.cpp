#include "compiler/Analysis/Groups.h"

#include "compiler/Analysis/LoopOrders.h"
#include "compiler/Analysis/SharedLaunches.h"

#include <llvm/ADT/SetVector.h>

#include <algorithm>
#include <array>
#include <queue>
#include <set>
#include <tuple>

namespace hector::flow {

namespace {

/// More products than this find no room for their weights beside each other.
constexpr unsigned kMaxProducts = 4;

/// Whether a loop takes less time than another, or can be run where the other cannot.
bool isBetter(const GroupCost &cost, const GroupCost &other, bool isGpu) {
  return std::pair(!isLegal(cost, isGpu), cost.seconds) < std::pair(!isLegal(other, isGpu), other.seconds);
}

/// Merges groups, all of which start with one op. A group is known by the number of one of the ops that it started
/// with.
class Merger {
public:
  Merger(const Body &body, const Machine &machine, const GroupOptions &options)
      : body(body), options(options), pricer(body, machine), isGpu(machine.isGpu()),
        keptPrice(2 * options.memoryWeight / machine.bandwidth), groups(body.size()), groupsOf(body.size()),
        order(body.size()), placeOf(body.size()), permuting(body.size()), mark(body.size()) {
    for (unsigned op = 0; op < body.size(); ++op) {
      groups[op].ops = {op};
      groups[op].kinds = body[op].kinds;
      groups[op].phase = body[op].phase;
      groups[op].numProducts = body[op].isProduct;
      groupsOf[op] = {op};
      order[op] = placeOf[op] = op;
      permuting[op] = permutingSeconds(body, op, machine);
    }
  }

  void run();
  bool isComplete = true;  // whether the list that was asked for last has all groups
  /// The groups, in the order in which they run, and their numbers here.
  std::vector<Group> list(std::vector<unsigned> *numbers = nullptr);

private:
  using OpList = llvm::SmallVector<unsigned, 4>;  // in program order

  struct Open {
    OpList ops;
    LoopKinds kinds;
    Phase phase = Phase::Forward;
    unsigned numProducts = 0;
    unsigned version = 0;  // grows with every change
    std::optional<double> seconds;
  };

  /// Two groups that might merge, and what that would save.
  struct Pair {
    double saved;
    unsigned first, second;
    unsigned versions;  // of both together, when it was priced
    bool operator<(const Pair &other) const {
      return std::tuple(saved, other.first, other.second) < std::tuple(other.saved, first, second);
    }
  };

  //===- Groups -----------------------------------------------------------------------------------------------===//
  bool contains(unsigned group, unsigned op) const { return llvm::is_contained(groupsOf[op], group); }
  /// Whether a group that is none of `inside` reads the table of `op`.
  bool isReadOutside(unsigned op, llvm::ArrayRef<unsigned> inside) const;
  bool isStored(unsigned op) const { return body[op].isReturned || isReadOutside(op, {}); }
  bool isKept(unsigned op) const;
  /// The groups that read the table of `op`, in order.
  std::set<unsigned> readersOf(unsigned op) const;
  bool isHome(unsigned op, unsigned group) const { return !groupsOf[op].empty() && groupsOf[op].front() == group; }
  static bool canWalk(LoopKinds kinds, Domain domain, Order order);
  double permutations(llvm::ArrayRef<unsigned> ops, LoopKind kind, llvm::ArrayRef<unsigned> inside) const;
  GroupCost price(llvm::ArrayRef<unsigned> ops, LoopKinds kinds, llvm::ArrayRef<unsigned> inside);
  GroupCost priceOf(unsigned group);
  double secondsOf(unsigned group);
  LoopKinds kindsOf(llvm::ArrayRef<unsigned> ops, bool hasProduct);
  static LoopKinds withoutProducts(LoopKinds kinds) { return kinds.without(LoopKinds::all(Loop::Gemm)); }

  //===- Merging ----------------------------------------------------------------------------------------------===//
  void spreadWhereRead();
  bool mergeAll();
  std::set<std::pair<unsigned, unsigned>> findPairs() const;
  std::optional<double> saving(llvm::ArrayRef<unsigned> several, LoopKinds kinds);
  std::optional<double> saving(unsigned a, unsigned b);
  void neighbours(unsigned at, bool forwards, llvm::function_ref<void(unsigned)> visit) const;
  llvm::SmallVector<unsigned> between(unsigned first, unsigned second) const;
  void mergeWithDetour(unsigned a, unsigned b, llvm::function_ref<void(unsigned, unsigned)> onMerged);
  LoopKinds mergedKinds(unsigned a, unsigned b) const;
  bool chainsProducts(llvm::ArrayRef<unsigned> ops);
  bool merge(unsigned a, unsigned b);
  std::optional<llvm::SmallVector<unsigned>> orderWith(unsigned first, unsigned second, unsigned merged) const;

  //===- Moving -----------------------------------------------------------------------------------------------===//
  void moveAll();
  void moveBehindProduct(unsigned product, unsigned loop);
  OpList movable(unsigned product, unsigned loop) const;

  //===- Computing again --------------------------------------------------------------------------------------===//
  void rebuildAll();
  void settle();
  bool rebuild(unsigned value);
  void findCone(unsigned value, unsigned group, std::set<unsigned> &cone, std::set<unsigned> &sources) const;
  OpList withCopy(unsigned group, unsigned value);
  OpList withoutUnread(unsigned group);
  bool canStoreBefore(unsigned op, unsigned group);
  bool fitsGpu(unsigned group);
  void setOps(unsigned group, OpList ops);

  void remark(unsigned op, const std::string &text) const {
    if (options.remark)
      options.remark(body[op].op->getLoc(), text);
  }

  const Body &body;
  const GroupOptions &options;
  LoopPricer pricer;
  bool isGpu;
  double keptPrice;                                      // seconds a byte
  std::vector<Open> groups;                              // empty where merged into another
  std::vector<llvm::SmallVector<unsigned, 1>> groupsOf;  // of each op; the first one stores it if others read it
  std::vector<unsigned> order;                           // groups, each before those that read it
  std::vector<unsigned> placeOf;                         // of each group in `order`
  std::vector<double> permuting;                         // the time that each op's result takes to be permuted
  std::vector<unsigned> mark;                            // of each op: the last search that met it
  unsigned search = 0;
  std::set<std::tuple<unsigned, unsigned, unsigned>> declined;  // pairs and their versions
};

bool Merger::isReadOutside(unsigned op, llvm::ArrayRef<unsigned> inside) const {
  for (unsigned reader : body[op].readers)
    for (unsigned group : groupsOf[reader])
      if (!llvm::is_contained(inside, group) && !contains(group, op))
        return true;
  return false;
}

std::set<unsigned> Merger::readersOf(unsigned op) const {
  std::set<unsigned> found;
  for (unsigned reader : body[op].readers)
    for (unsigned group : groupsOf[reader])
      if (!contains(group, op))
        found.insert(group);
  return found;
}

/// Whether the forward phase leaves a table for the backward phase.
bool Merger::isKept(unsigned op) const {
  if (body[op].phase != Phase::Forward)
    return false;
  for (unsigned reader : body[op].readers)
    for (unsigned group : groupsOf[reader])
      if (groups[group].phase == Phase::Backward && !contains(group, op))
        return true;
  return false;
}

/// Whether a loop of one of the kinds could visit the rows of a domain in an order.
bool Merger::canWalk(LoopKinds kinds, Domain domain, Order order) {
  for (LoopKind kind : kinds.list())
    if (walkOrder(kind.loop, domain) == order)
      return true;
  return false;
}

/// The time that tables take which this loop writes or reads row after row in one order, and the loop at their other
/// end surely in another one. Half of it, since both loops are asked.
double Merger::permutations(llvm::ArrayRef<unsigned> ops, LoopKind kind, llvm::ArrayRef<unsigned> inside) const {
  double seconds = 0;
  auto isOrdered = [](Domain domain) { return domain >= Domain::SrcPair; };
  auto isStreamed = [](LoopKind kind, const Body::Op &op, const Body::Operand &operand) {
    return operand.map == Map::Self || kind.isLevel(op.walked, operand.map);
  };
  for (unsigned number : ops) {
    const Body::Op &op = body[number];
    for (const Body::Operand &operand : op.operands) {
      Domain domain = operand.type.getDomain();
      auto isHere = [&](unsigned group) { return contains(group, operand.source); };
      if (operand.source == Body::kNone || !isOrdered(domain) || hasCopies(body, operand.source) ||
          !isStreamed(kind, op, operand) || llvm::any_of(inside, isHere))
        continue;
      if (!canWalk(groups[groupsOf[operand.source].front()].kinds, domain, walkOrder(kind.loop, domain)))
        seconds += permuting[operand.source] / 2;
    }
    if (!isOrdered(op.domain) || hasCopies(body, number))
      continue;
    for (unsigned reader : op.readers)
      for (unsigned group : groupsOf[reader]) {
        if (llvm::is_contained(inside, group) || contains(group, number))
          continue;
        bool streams = llvm::any_of(body[reader].operands, [&](const Body::Operand &operand) {
          return operand.source == number && isStreamed(groups[group].kinds.list().front(), body[reader], operand);
        });
        if (streams && !canWalk(groups[group].kinds, op.domain, walkOrder(kind.loop, op.domain)))
          seconds += permuting[number] / 2;
      }
  }
  return seconds;
}

/// The cheapest loop for `ops`, which are those of the groups `inside`.
GroupCost Merger::price(llvm::ArrayRef<unsigned> ops, LoopKinds kinds, llvm::ArrayRef<unsigned> inside) {
  auto isWritten = [&](unsigned op) {
    return llvm::is_contained(inside, groupsOf[op].front()) && (body[op].isReturned || isReadOutside(op, inside));
  };
  // Where nodes or types read nothing but their own rows, one kind of loop is like another.
  bool isPlain = llvm::all_of(ops, [&](unsigned op) {
    return body[op].walked <= Domain::Node && body[op].collects == Map::Self &&
           llvm::all_of(body[op].operands, [](const Body::Operand &operand) {
             return operand.map == Map::Self || operand.map == Map::One;
           });
  });
  llvm::SmallVector<LoopKind> all = kinds.list();
  if (isPlain)
    all.truncate(1);
  std::optional<GroupCost> best;
  for (LoopKind kind : all) {
    GroupCost cost = pricer.price(ops, kind, isWritten);
    cost.seconds += permutations(ops, kind, inside);
    if (!best || isBetter(cost, *best, isGpu))
      best = std::move(cost);
  }
  return std::move(*best);
}

GroupCost Merger::priceOf(unsigned group) {
  const Open &open = groups[group];
  return price(open.ops, open.numProducts > 0 ? open.kinds : withoutProducts(open.kinds), group);
}

double Merger::secondsOf(unsigned group) {
  Open &open = groups[group];
  if (open.ops.empty())
    return 0;
  if (!open.seconds)
    open.seconds = priceOf(group).seconds;
  return *open.seconds;
}

/// The loops that can hold all of `ops`.
LoopKinds Merger::kindsOf(llvm::ArrayRef<unsigned> ops, bool hasProduct) {
  ++search;
  LoopKinds kinds = LoopKinds::all();
  for (unsigned op : ops) {
    mark[op] = search;
    kinds = kinds & body[op].kinds;
    for (const Body::Operand &operand : body[op].operands)
      if (operand.source != Body::kNone && mark[operand.source] == search)
        kinds = kinds & operand.inner;
  }
  return hasProduct ? kinds : withoutProducts(kinds);
}

//===- Merging ---------------------------------------------------------------------------------------------------===//

/// A spread belongs to the groups that read it: an op that reads a spread can as well read its operand.
void Merger::spreadWhereRead() {
  for (unsigned op = body.size(); op-- > 0;) {
    if (!mlir::isa<SpreadOp>(body[op].op))
      continue;
    for (unsigned reader : readersOf(op)) {
      OpList ops = groups[reader].ops;
      ops.insert(llvm::lower_bound(ops, op), op);
      if (!kindsOf(ops, groups[reader].numProducts > 0).empty())
        setOps(reader, std::move(ops));
    }
    if (!isStored(op))
      setOps(op, {});
  }
}

LoopKinds Merger::mergedKinds(unsigned a, unsigned b) const {
  LoopKinds kinds = groups[a].kinds & groups[b].kinds;
  auto [few, other] = groups[a].ops.size() < groups[b].ops.size() ? std::pair(a, b) : std::pair(b, a);
  for (unsigned op : groups[few].ops) {
    for (const Body::Operand &operand : body[op].operands)
      if (operand.source != Body::kNone && contains(other, operand.source))
        kinds = kinds & operand.inner;
    for (unsigned reader : body[op].readers)
      if (contains(other, reader))
        for (const Body::Operand &operand : body[reader].operands)
          if (operand.source == op)
            kinds = kinds & operand.inner;
  }
  return kinds;
}

/// Whether one product waits for another: its rows are there only when all columns of the other are.
bool Merger::chainsProducts(llvm::ArrayRef<unsigned> ops) {
  ++search;
  for (unsigned op : ops) {
    bool isAfter = llvm::any_of(body[op].operands, [&](const Body::Operand &operand) {
      return operand.source != Body::kNone && mark[operand.source] == search;
    });
    if (isAfter && body[op].isProduct)
      return true;
    if (isAfter || body[op].isProduct)
      mark[op] = search;
  }
  return false;
}

/// The time that one loop saves over several; nothing where there is no such loop, or where it takes longer.
std::optional<double> Merger::saving(llvm::ArrayRef<unsigned> several, LoopKinds kinds) {
  llvm::SmallVector<unsigned, 32> ops;
  unsigned numProducts = 0, numWithProducts = 0;
  double apart = 0;
  for (unsigned group : several) {
    const Open &open = groups[group];
    llvm::SmallVector<unsigned, 32> both;
    std::set_union(ops.begin(), ops.end(), open.ops.begin(), open.ops.end(), std::back_inserter(both));
    ops = std::move(both);
    numProducts += open.numProducts;
    numWithProducts += open.numProducts > 0;
    apart += secondsOf(group);
  }
  if (numProducts > kMaxProducts || (numWithProducts > 1 && chainsProducts(ops)))
    return std::nullopt;
  GroupCost cost = price(ops, kinds, several);
  unsigned last = groups[several.back()].ops.front();
  if (isGpu && cost.numSweeps > 1) {
    remark(last, "not merged: the edges would be walked twice, and a loop of a GPU walks them once");
    return std::nullopt;
  }
  if (isGpu && cost.isNested) {
    remark(last, "not merged: pairs and nodes would each have sums or rows of their own, and a loop of a GPU is cut "
                 "between any two edges");
    return std::nullopt;
  }
  if (isGpu && cost.kind.isTraversal() && cost.registers > kMaxRegisters) {
    remark(last, "not merged: the loop would take " + std::to_string(cost.registers) + " registers");
    return std::nullopt;
  }
  if (cost.seconds >= apart) {
    remark(last, "not merged: " + formatTime(cost.seconds) + " in one loop, " + formatTime(apart) + " in " +
                     std::to_string(several.size()));
    return std::nullopt;
  }
  return apart - cost.seconds;
}

std::optional<double> Merger::saving(unsigned a, unsigned b) {
  if (groups[a].phase != groups[b].phase)
    return std::nullopt;
  LoopKinds kinds = mergedKinds(a, b);
  // Without a product there is no loop for one, but one may still join.
  if (groups[a].numProducts + groups[b].numProducts == 0)
    kinds = withoutProducts(kinds);
  return kinds.empty() ? std::nullopt : saving({a, b}, kinds);
}

/// Visits the groups that read what a group stores, or those that store what it reads.
void Merger::neighbours(unsigned at, bool forwards, llvm::function_ref<void(unsigned)> visit) const {
  for (unsigned op : groups[at].ops) {
    if (!forwards) {
      for (const Body::Operand &operand : body[op].operands)
        if (operand.source != Body::kNone && !contains(at, operand.source))
          visit(groupsOf[operand.source].front());
      continue;
    }
    if (isHome(op, at))
      for (unsigned reader : body[op].readers)
        for (unsigned group : groupsOf[reader])
          if (!contains(group, op))
            visit(group);
  }
}

/// The groups through which one leads to another.
llvm::SmallVector<unsigned> Merger::between(unsigned first, unsigned second) const {
  auto reach = [&](unsigned from, bool forwards) {
    llvm::SmallSetVector<unsigned, 16> found;
    found.insert(from);
    for (unsigned i = 0; i < found.size(); ++i)
      neighbours(found[i], forwards, [&](unsigned group) {
        if (placeOf[first] < placeOf[group] && placeOf[group] < placeOf[second])
          found.insert(group);
      });
    return found;
  };
  auto after = reach(first, true), before = reach(second, false);
  llvm::SmallVector<unsigned> both;
  for (unsigned group : after)
    if (before.contains(group))
      both.push_back(group);
  llvm::sort(both, [&](unsigned a, unsigned b) { return placeOf[a] < placeOf[b]; });
  return both;
}

/// Merges two groups together with all that lie on the way from one to the other, if that saves time.
void Merger::mergeWithDetour(unsigned a, unsigned b, llvm::function_ref<void(unsigned, unsigned)> onMerged) {
  constexpr size_t kLongest = 16;
  if (placeOf[a] > placeOf[b])
    std::swap(a, b);
  llvm::SmallVector<unsigned> several = between(a, b);
  if (several.size() > kLongest)
    return;
  several.insert(several.begin(), a);
  several.push_back(b);
  std::set<unsigned> ops;
  bool hasProduct = false;
  for (unsigned group : several) {
    if (groups[group].phase != groups[a].phase)
      return;
    ops.insert(groups[group].ops.begin(), groups[group].ops.end());
    hasProduct |= groups[group].numProducts > 0;
  }
  LoopKinds kinds = kindsOf(llvm::SmallVector<unsigned>(ops.begin(), ops.end()), hasProduct);
  for (unsigned group : several)
    kinds = kinds & groups[group].kinds;
  if (kinds.empty() || !saving(several, kinds))
    return;
  unsigned whole = a;
  for (unsigned next : llvm::drop_begin(several)) {
    auto [into, gone] = std::minmax({whole, next});
    // All that led from one to the other comes before, so nothing is left in between.
    [[maybe_unused]] bool hasMerged = merge(into, gone);
    assert(hasMerged && "something lies between groups that were merged");
    onMerged(into, gone);
    whole = into;
  }
}

/// The groups from the first of two to the last before the second, in an order in which `merged` takes the place of
/// both; nothing where a third one lies on the way from the first to the second.
std::optional<llvm::SmallVector<unsigned>> Merger::orderWith(unsigned first, unsigned second, unsigned merged) const {
  // Looks from the smaller of the two for what lies on the way to the other.
  bool fromFirst = groups[first].ops.size() <= groups[second].ops.size();
  unsigned goal = fromFirst ? second : first;
  llvm::SmallSetVector<unsigned, 16> found;
  found.insert(fromFirst ? first : second);
  for (unsigned i = 0; i < found.size(); ++i) {
    bool isDetour = false;
    neighbours(found[i], fromFirst, [&](unsigned group) {
      isDetour |= group == goal && i > 0;
      if (placeOf[first] < placeOf[group] && placeOf[group] < placeOf[second])
        found.insert(group);
    });
    if (isDetour)
      return std::nullopt;
  }
  llvm::SmallVector<unsigned> before, after;
  for (unsigned place = placeOf[first] + 1; place < placeOf[second]; ++place)
    (found.contains(order[place]) == fromFirst ? after : before).push_back(order[place]);
  before.push_back(merged);
  before.append(after);
  return before;
}

bool Merger::merge(unsigned a, unsigned b) {
  LoopKinds kinds = mergedKinds(a, b);
  const auto [begin, end] = std::minmax({placeOf[a], placeOf[b]});
  auto arranged = orderWith(order[begin], order[end], a);
  if (!arranged)
    return false;
  for (unsigned place = begin; place < end; ++place)
    placeOf[order[place] = (*arranged)[place - begin]] = place;
  order[end] = b;  // no longer a group
  placeOf[b] = end;
  OpList ops;
  std::set_union(groups[a].ops.begin(), groups[a].ops.end(), groups[b].ops.begin(), groups[b].ops.end(),
                 std::back_inserter(ops));
  for (unsigned op : groups[b].ops) {
    auto &in = groupsOf[op];
    bool wasHome = in.front() == b || in.front() == a;
    llvm::erase(in, b);
    llvm::erase(in, a);
    in.insert(wasHome ? in.begin() : in.end(), a);
  }
  Open &first = groups[a];
  assert(!kinds.empty() && "no loop holds both groups");
  first.ops = std::move(ops);
  first.kinds = kinds;
  first.numProducts += groups[b].numProducts;
  first.version += groups[b].version + 1;
  first.seconds.reset();
  groups[b] = Open();
  return true;
}

/// Groups of which one reads the other, or that read the same table in the same way.
std::set<std::pair<unsigned, unsigned>> Merger::findPairs() const {
  std::set<std::pair<unsigned, unsigned>> pairs;
  auto add = [&](unsigned a, unsigned b) {
    if (a != b && groups[a].phase == groups[b].phase)
      pairs.insert(std::minmax(a, b));
  };
  constexpr unsigned kNumMaps = getMaxEnumValForMap() + 1;
  std::vector<llvm::SmallVector<unsigned, 2>> readers(body.numTables() * kNumMaps);
  for (unsigned group : order)
    for (unsigned op : groups[group].ops)
      for (const Body::Operand &operand : body[op].operands) {
        if (operand.source != Body::kNone) {
          if (contains(group, operand.source))
            continue;
          add(groupsOf[operand.source].front(), group);
        }
        // Weights are small; sharing them saves nothing.
        if (operand.type.getDomain() <= Domain::EdgeType)
          continue;
        auto &list = readers[operand.table * kNumMaps + static_cast<unsigned>(operand.map)];
        if (!llvm::is_contained(list, group)) {
          // Of many readers, those next to each other.
          constexpr size_t kMany = 6;
          for (unsigned other : llvm::ArrayRef(list).take_back(kMany))
            add(other, group);
          list.push_back(group);
        }
      }
  return pairs;
}

/// Merges pairs, those that save most first, until no pair saves anything.
bool Merger::mergeAll() {
  std::priority_queue<Pair> queue;
  bool hasMerged = false;
  auto consider = [&](unsigned a, unsigned b) {
    unsigned versions = groups[a].version + groups[b].version;
    if (declined.contains({a, b, versions}))
      return;
    if (auto saved = saving(a, b))
      queue.push({*saved, a, b, versions});
    else
      declined.insert({a, b, versions});
  };
  for (auto [a, b] : findPairs())
    consider(a, b);
  std::vector<unsigned> mergedInto(groups.size());
  for (unsigned i = 0; i < groups.size(); ++i)
    mergedInto[i] = i;
  auto find = [&](unsigned group) {
    while (mergedInto[group] != group)
      group = mergedInto[group] = mergedInto[mergedInto[group]];
    return group;
  };
  while (!queue.empty()) {
    Pair pair = queue.top();
    queue.pop();
    auto [a, b] = std::minmax({find(pair.first), find(pair.second)});
    if (a == b)
      continue;
    if (a != pair.first || b != pair.second || pair.versions != groups[a].version + groups[b].version) {
      consider(a, b);
      continue;
    }
    auto onMerged = [&](unsigned into, unsigned gone) {
      mergedInto[gone] = into;
      hasMerged = true;
    };
    if (merge(a, b))
      onMerged(a, b);
    else
      mergeWithDetour(a, b, onMerged);
  }
  return hasMerged;
}

//===- Moving ----------------------------------------------------------------------------------------------------===//

/// The row-wise ops of a loop that follow a product, if the product can follow the rest of the loop instead; otherwise
/// nothing.
Merger::OpList Merger::movable(unsigned product, unsigned loop) const {
  for (unsigned op : groups[product].ops)
    if (isHome(op, product))
      for (unsigned reader : readersOf(op))
        if (reader != loop)
          return {};
  std::set<unsigned> moved;
  for (unsigned op : groups[loop].ops) {
    const bool isAfter = llvm::any_of(body[op].operands, [&](const Body::Operand &operand) {
      return operand.source != Body::kNone && (contains(product, operand.source) || moved.contains(operand.source));
    });
    if (!isAfter)
      continue;
    if (!body[op].isCheap || groupsOf[op].size() > 1)
      return {};
    for (const Body::Operand &operand : body[op].operands)
      if (operand.source != Body::kNone && contains(loop, operand.source) && !isHome(operand.source, loop))
        return {};
    moved.insert(op);
  }
  if (moved.size() == groups[loop].ops.size())
    return {};
  return {moved.begin(), moved.end()};
}

/// A sum over edges and a product may both lead to row-wise ops, as in x·W + Σ m. Merging has put them where they saved
/// most at that time. Here they move from the loop over edges to the product, which then runs after it, if that takes
/// less time.
void Merger::moveBehindProduct(unsigned product, unsigned loop) {
  const OpList moved = movable(product, loop);
  if (moved.empty())
    return;
  OpList rest, all;
  std::set_difference(groups[loop].ops.begin(), groups[loop].ops.end(), moved.begin(), moved.end(),
                      std::back_inserter(rest));
  std::set_union(groups[product].ops.begin(), groups[product].ops.end(), moved.begin(), moved.end(),
                 std::back_inserter(all));
  const LoopKinds loopKinds = kindsOf(rest, false);
  const LoopKinds productKinds = kindsOf(all, true) & LoopKinds::all(Loop::Gemm);
  if (loopKinds.empty() || productKinds.empty())
    return;
  const std::array touched = {product, loop};
  const double before = secondsOf(product) + secondsOf(loop);
  const std::array old = {groups[product], groups[loop]};
  setOps(loop, std::move(rest));
  setOps(product, std::move(all));
  const double after = secondsOf(product) + secondsOf(loop);
  if (after < before && llvm::all_of(touched, [&](unsigned group) { return fitsGpu(group); })) {
    remark(moved.front(), "moved behind the product: " + formatTime(after) + " instead of " + formatTime(before));
    const unsigned end = placeOf[loop];
    for (unsigned place = placeOf[product]; place < end; ++place)
      placeOf[order[place] = order[place + 1]] = place;
    placeOf[order[end] = product] = end;
    return;
  }
  setOps(product, old[0].ops);
  setOps(loop, old[1].ops);
  for (auto [group, open] : llvm::zip_equal(touched, old))
    groups[group] = open;
}

void Merger::moveAll() {
  for (unsigned loop : std::vector(order)) {
    if (groups[loop].ops.empty() || groups[loop].numProducts > 0)
      continue;
    std::set<unsigned> products;
    neighbours(loop, /*forwards=*/false, [&](unsigned group) {
      if (groups[group].numProducts > 0 && groups[group].phase == groups[loop].phase)
        products.insert(group);
    });
    for (unsigned product : products)
      moveBehindProduct(product, loop);
  }
}

//===- Computing again -------------------------------------------------------------------------------------------===//

void Merger::setOps(unsigned group, OpList ops) {
  Open &open = groups[group];
  for (unsigned op : open.ops)
    if (!std::binary_search(ops.begin(), ops.end(), op))
      llvm::erase(groupsOf[op], group);
  for (unsigned op : ops)
    if (!contains(group, op))
      groupsOf[op].push_back(group);
  open.ops = std::move(ops);
  open.numProducts = static_cast<unsigned>(llvm::count_if(open.ops, [&](unsigned op) { return body[op].isProduct; }));
  if (!open.ops.empty())
    open.kinds = kindsOf(open.ops, /*hasProduct=*/true);
  assert((open.ops.empty() || !open.kinds.empty()) && "no loop holds these ops");
  ++open.version;
  open.seconds.reset();
}

/// The ops of a group from which `value` is computed in it, itself included, and the groups whose tables they read.
void Merger::findCone(unsigned value, unsigned group, std::set<unsigned> &cone, std::set<unsigned> &sources) const {
  llvm::SmallVector<unsigned> open = {value};
  while (!open.empty()) {
    unsigned op = open.pop_back_val();
    if (!cone.insert(op).second)
      continue;
    for (const Body::Operand &operand : body[op].operands)
      if (operand.source != Body::kNone) {
        if (contains(group, operand.source))
          open.push_back(operand.source);
        else
          sources.insert(operand.source);
      }
  }
}

/// Whether what an op computes can be a table that `group` reads. If it is no table yet, the first of the groups that
/// compute it is to store it.
bool Merger::canStoreBefore(unsigned op, unsigned group) {
  auto when = [&](unsigned other) { return std::pair(groups[other].phase, placeOf[other]); };
  auto &in = groupsOf[op];
  if (!isStored(op))
    std::iter_swap(in.begin(), llvm::min_element(in, [&](unsigned a, unsigned b) { return when(a) < when(b); }));
  return groups[in.front()].phase <= groups[group].phase && placeOf[in.front()] < placeOf[group];
}

/// The ops of `group` with `value`, and with the row-wise ops that it depends on unless they are stored anyway.
Merger::OpList Merger::withCopy(unsigned group, unsigned value) {
  OpList ops = groups[group].ops;
  llvm::SmallVector<unsigned> more = {value};
  while (!more.empty()) {
    unsigned added = more.pop_back_val();
    if (std::binary_search(ops.begin(), ops.end(), added))
      continue;
    ops.insert(llvm::lower_bound(ops, added), added);
    for (const Body::Operand &operand : body[added].operands) {
      if (operand.source == Body::kNone)
        continue;
      const Body::Op &source = body[operand.source];
      if (source.isCheap && source.domain == body[value].domain && operand.map == Map::Self &&
          source.phase > Phase::Weights && !isStored(operand.source))
        more.push_back(operand.source);
    }
  }
  return ops;
}

/// What remains of a group without what is computed in it for nobody.
Merger::OpList Merger::withoutUnread(unsigned group) {
  const OpList &ops = groups[group].ops;
  ++search;
  for (unsigned op : ops)
    mark[op] = search;
  for (unsigned op : llvm::reverse(ops)) {
    bool isRead = llvm::any_of(body[op].readers, [&](unsigned reader) { return mark[reader] == search; });
    if (!isRead && !(isHome(op, group) && isStored(op)))
      mark[op] = 0;
  }
  OpList rest;
  llvm::copy_if(ops, std::back_inserter(rest), [&](unsigned op) { return mark[op] == search; });
  return rest;
}

bool Merger::fitsGpu(unsigned group) {
  if (!isGpu || groups[group].ops.empty())
    return true;
  return isLegal(priceOf(group), isGpu);
}

/// Computes an op again in every group that reads it, and keeps that if it saves time.
bool Merger::rebuild(unsigned value) {
  const Body::Op &op = body[value];
  if (!op.isCheap || op.isReturned || op.phase <= Phase::Weights || groupsOf[value].empty())
    return false;
  std::set<unsigned> readers = readersOf(value);
  if (readers.empty())
    return false;
  const unsigned home = groupsOf[value].front();
  // What changes: the groups that read the value, its own, and those that store what it is computed from.
  std::set<unsigned> cone, sources;
  findCone(value, home, cone, sources);
  std::set<unsigned> touched(readers.begin(), readers.end()), tables = cone;
  tables.insert(sources.begin(), sources.end());
  touched.insert(home);
  llvm::SmallVector<std::pair<unsigned, OpList>> next;
  for (unsigned group : readers) {
    OpList ops = withCopy(group, value);
    if (kindsOf(ops, groups[group].numProducts > 0).empty())
      return false;
    for (unsigned added : ops)
      if (!contains(group, added))
        for (const Body::Operand &operand : body[added].operands)
          if (operand.source != Body::kNone && !std::binary_search(ops.begin(), ops.end(), operand.source) &&
              !canStoreBefore(operand.source, group))
            return false;
    next.push_back({group, std::move(ops)});
  }
  for (unsigned table : tables)
    touched.insert(groupsOf[table].front());
  auto priceNow = [&] {
    double seconds = 0;
    for (unsigned group : touched)
      seconds += secondsOf(group);
    for (unsigned table : tables)
      if (isKept(table))
        seconds += keptPrice * body[table].tableBytes;
    return seconds;
  };
  for (unsigned group : touched)
    groups[group].seconds.reset();
  double before = priceNow();
  llvm::SmallVector<std::pair<unsigned, Open>> old;  // to be restored
  llvm::SmallVector<std::pair<unsigned, llvm::SmallVector<unsigned, 1>>> oldGroups;
  for (unsigned group : touched) {
    old.push_back({group, groups[group]});
    for (unsigned member : groups[group].ops)
      oldGroups.push_back({member, groupsOf[member]});
  }
  for (unsigned member : cone)
    oldGroups.push_back({member, groupsOf[member]});
  for (auto &[group, ops] : next)
    setOps(group, std::move(ops));
  setOps(home, withoutUnread(home));
  for (unsigned group : touched)
    groups[group].seconds.reset();
  double after = priceNow();
  if (after < before && llvm::all_of(readers, [&](unsigned group) { return fitsGpu(group); })) {
    remark(value, "computed again where it is read: " + formatTime(after) + " instead of " + formatTime(before));
    return true;
  }
  remark(value, "stored: " + formatTime(before) + ", and " + formatTime(after) + " if it were computed again");
  for (auto &[group, open] : old)
    groups[group] = std::move(open);
  for (auto &[member, in] : oldGroups)
    groupsOf[member] = std::move(in);
  return false;
}

void Merger::run() {
  if (!options.fuse)
    return;
  spreadWhereRead();
  // What stood between two groups may itself have been merged into one of them.
  while (mergeAll())
    ;
  if (options.rebuild)
    rebuildAll();
  moveAll();
  settle();
}

void Merger::rebuildAll() {
  // A value may be worth computing again only after its readers have merged, and the other way round.
  constexpr unsigned kRounds = 3;
  for (unsigned round = 0; round < kRounds; ++round) {
    bool hasRebuilt = false;
    // Late values first: the values that they depend on are looked at after them.
    for (unsigned op = body.size(); op-- > 0;)
      hasRebuilt |= rebuild(op);
    bool hasMerged = false;
    while (hasRebuilt && mergeAll())
      hasMerged = true;
    if (!hasMerged)
      break;
    declined.clear();  // what others compute and read has changed
  }
}

/// Merges once more when it is known which loop each group becomes. Until then, a pair may have looked better apart
/// because each of the two was priced as the loop that suits it best, and these cannot both be had.
void Merger::settle() {
  std::vector<unsigned> numbers;
  std::vector<Group> chosen = list(&numbers);
  for (auto [group, number] : llvm::zip_equal(chosen, numbers)) {
    Open &open = groups[number];
    open.kinds = LoopKinds{group.kind};
    open.seconds.reset();
    ++open.version;
  }
  declined.clear();
  while (mergeAll())
    ;
}

//===- The list --------------------------------------------------------------------------------------------------===//

std::vector<Group> Merger::list(std::vector<unsigned> *numbers) {
  // By group: how many groups it waits for, which groups read it, and the tables that it reads and writes.
  std::vector<unsigned> waitsFor(body.size());
  std::vector<std::set<unsigned>> groupsThatRead(body.size());
  std::vector<llvm::SmallSetVector<unsigned, 8>> read(body.size());
  std::vector<double> written(body.size());
  std::vector<unsigned> waiting(body.size());  // of each op: how many groups still have to read it
  for (unsigned group : order)
    for (unsigned op : groups[group].ops)
      for (const Body::Operand &operand : body[op].operands) {
        if (operand.source == Body::kNone || contains(group, operand.source))
          continue;
        unsigned source = groupsOf[operand.source].front();
        if (groupsThatRead[source].insert(group).second)
          ++waitsFor[group];
        if (read[group].insert(operand.source))
          ++waiting[operand.source];
      }
  for (unsigned op = 0; op < body.size(); ++op) {
    waiting[op] += body[op].isReturned;  // what is returned stays to the end
    if (waiting[op] > 0)
      written[groupsOf[op].front()] += body[op].tableBytes;
  }
  llvm::SmallVector<unsigned> ready;
  for (unsigned group = 0; group < groups.size(); ++group)
    if (!groups[group].ops.empty() && waitsFor[group] == 0)
      ready.push_back(group);
  // How many more bytes are live after a group than before it: what it writes, less what no group reads after it.
  auto growth = [&](unsigned group) {
    double more = written[group];
    for (unsigned source : read[group])
      if (waiting[source] == 1)
        more -= body[source].tableBytes;
    return more;
  };
  std::vector<Group> list;
  std::vector<LoopKinds> kinds;
  while (!ready.empty()) {
    // The earliest phase first, then the smallest memory, then program order.
    auto place = [&](unsigned group) { return std::tuple(groups[group].phase, growth(group), group); };
    auto *next = llvm::min_element(ready, [&](unsigned a, unsigned b) { return place(a) < place(b); });
    unsigned number = *next;
    ready.erase(next);
    for (unsigned source : read[number])
      --waiting[source];
    const Open &open = groups[number];
    Group group;
    group.phase = open.phase;
    group.ops.assign(open.ops.begin(), open.ops.end());
    for (unsigned op : open.ops)
      if (isHome(op, number) && isStored(op))
        group.writes.push_back(op);
    kinds.push_back(open.numProducts > 0 ? open.kinds : withoutProducts(open.kinds));
    list.push_back(std::move(group));
    if (numbers)
      numbers->push_back(number);
    for (unsigned reader : groupsThatRead[number])
      if (--waitsFor[reader] == 0)
        ready.push_back(reader);
  }
  isComplete =
      llvm::count_if(groups, [](const Open &open) { return !open.ops.empty(); }) == static_cast<ptrdiff_t>(list.size());
  assert(isComplete && "groups wait for each other");
  chooseOrders(list, kinds, pricer);
  return list;
}

}  // namespace

Groups::Groups(mlir::func::FuncOp function, const GroupOptions &options)
    : body(std::make_unique<Body>(function)), machine(function), memoryWeight(options.memoryWeight) {
  Merger merger(*body, machine, options);
  merger.run();
  groups = merger.list();
  complete = merger.isComplete;
  if (machine.isGpu() && complete)
    shareLaunches(groups, *body, machine);
}

Sweeps Groups::sweepsOf(const Group &group) const {
  return Sweeps(
      *body, group.ops, group.kind.loop, group.domain, [&](unsigned op) { return group.stores(op); }, machine,
      group.cost.isOnline);
}

}  // namespace hector::flow
