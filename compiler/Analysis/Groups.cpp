#include "compiler/Analysis/Groups.h"

#include "compiler/Analysis/Operations.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

namespace hector::flow {

using mlir::Operation;
using mlir::Value;

static Domain domainOf(Value value) {
  return mlir::cast<RowsType>(value.getType()).getDomain();
}

//===- Kinds of loops --------------------------------------------------------------------------------------------===//

constexpr LoopKind kByDst = {Loop::ByDst, Domain::Edge}, kBySrc = {Loop::BySrc, Domain::Edge};

bool LoopKind::isSorted(Domain from, Map map) const {
  if (isTraversal())
    return false;
  return from == Domain::Node ? map == Map::NodeType : map == Map::EdgeType;
}

/// Bits from below: flat loops by domain, the two traversals, products by domain.
constexpr unsigned kNumDomains = getMaxEnumValForDomain() + 1;

unsigned LoopKinds::bit(LoopKind kind) {
  switch (kind.loop) {
  case Loop::Flat:
    return 1u << static_cast<unsigned>(kind.domain);
  case Loop::ByDst:
    return 1u << kNumDomains;
  case Loop::BySrc:
    return 2u << kNumDomains;
  case Loop::Gemm:
    return 4u << kNumDomains << static_cast<unsigned>(kind.domain);
  }
  return 0;
}

LoopKinds LoopKinds::all(Loop loop) {
  LoopKinds kinds;
  for (unsigned i = 0; i < kNumDomains; ++i)
    kinds.bits |= bit({loop, static_cast<Domain>(i)});
  return kinds;
}

llvm::SmallVector<LoopKind> LoopKinds::list() const {
  llvm::SmallVector<LoopKind> kinds;
  for (unsigned rest = bits; rest != 0; rest &= rest - 1) {
    unsigned place = static_cast<unsigned>(std::countr_zero(rest));
    if (place < kNumDomains)
      kinds.push_back({Loop::Flat, static_cast<Domain>(place)});
    else if (place < kNumDomains + 2)
      kinds.push_back(place == kNumDomains ? kByDst : kBySrc);
    else if (place < 2 * kNumDomains + 2)
      kinds.push_back({Loop::Gemm, static_cast<Domain>(place - kNumDomains - 2)});
  }
  return kinds;
}

/// The kind of the traversal that collects rows of `from` along `map`, if one does.
static std::optional<LoopKind> traversalKind(Domain from, Map map) {
  auto loop = traversalAlong(from, map);
  return loop ? std::optional(LoopKind{*loop, Domain::Edge}) : std::nullopt;
}

LoopKinds loopKinds(Operation *op) {
  Domain domain = walkedDomain(op);
  LoopKind flat = {Loop::Flat, domain}, gemm = {Loop::Gemm, domain};
  if (isProduct(op))
    return {gemm};
  if (mlir::isa<ReduceOp, FirstIndexOp>(op))
    return {traversalKind(domain, collectMap(op)).value_or(flat)};
  switch (domain) {
  case Domain::Edge:
  case Domain::Node:
    return {flat, kByDst, kBySrc, gemm};
  case Domain::DstPair:
    return {flat, kByDst, gemm};
  case Domain::SrcPair:
    return {flat, kBySrc, gemm};
  default:
    return {flat, gemm};
  }
}

/// The loops in which operand `i` of `op` may come from the same loop.
static LoopKinds innerKinds(Operation *op, unsigned i) {
  // The weights of a product are read tile by tile, long after their row would have been computed.
  if (isTerminal(op->getOperand(i).getDefiningOp()) || (mlir::isa<LinearOp>(op) && i == 1))
    return {};
  Map map = readMap(op, i);
  if (map == Map::Self)
    return LoopKinds::all();
  if (auto traversal = traversalKind(walkedDomain(op), map))
    return {*traversal};
  return {};
}

//===- Groups ----------------------------------------------------------------------------------------------------===//

namespace {

/// Merges groups, all of which start with one op. A group is known by the number of its first op.
class Merger {
public:
  explicit Merger(mlir::func::FuncOp function) : function(function), rows(function) {
    findOps();
    findPhases();
    findGroups();
  }

  void run();
  /// Gives the groups, ordered, and each op's place among them.
  std::vector<Group> take(llvm::DenseMap<Operation *, unsigned> &groupOf);

private:
  struct Open {
    llvm::SmallVector<unsigned, 4> ops;
    LoopKinds kinds;
    bool hasProduct = false;
  };

  /// An op that another reads, and the loops in which both may be.
  struct Source {
    unsigned op;
    LoopKinds kinds;
  };

  void findOps();
  void findPhases();
  void findGroups();
  void mergeRebuilt();
  bool mergeWithProducers();
  bool mergeReaders();
  bool tryMerge(unsigned a, unsigned b);
  /// The groups from the first of two to the last before the second, in an order in which `merged` takes the place of
  /// both; nothing where a third one lies on the way from the first to the second.
  std::optional<llvm::SmallVector<unsigned>> orderWith(unsigned first, unsigned second, unsigned merged) const;
  /// The number of the op that computes a value; nothing for arguments and constants.
  std::optional<unsigned> producer(Value value) const {
    auto found = value.getDefiningOp() ? numberOf.find(value.getDefiningOp()) : numberOf.end();
    return found == numberOf.end() ? std::nullopt : std::optional(found->second);
  }

  mlir::func::FuncOp function;
  RowCounts rows;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numberOf;
  std::vector<llvm::SmallVector<unsigned, 2>> readers;  // of each op, other ops only
  std::vector<llvm::SmallVector<Source, 3>> sources;    // of each op, in the order of its operands
  std::vector<Phase> phases;
  std::vector<unsigned> groupOf;  // of each op
  std::vector<unsigned> order;    // groups, each before those that read it
  std::vector<unsigned> placeOf;  // of each group in `order`
  std::vector<Open> groups;       // by number of the first op; empty where merged into another
};

void Merger::findOps() {
  for (Operation &op : function.getBody().front().without_terminator())
    if (!mlir::isa<ConstantOp>(op)) {
      numberOf[&op] = static_cast<unsigned>(ops.size());
      ops.push_back(&op);
    }
  readers.resize(ops.size());
  sources.resize(ops.size());
  for (unsigned op = 0; op < ops.size(); ++op)
    for (unsigned i = 0; i < ops[op]->getNumOperands(); ++i)
      if (auto source = producer(ops[op]->getOperand(i))) {
        sources[op].push_back({*source, innerKinds(ops[op], i)});
        if (!llvm::is_contained(readers[*source], op))
          readers[*source].push_back(op);
      }
}

void Merger::findPhases() {
  phases.assign(ops.size(), Phase::Forward);
  if (auto count = function->getAttrOfType<mlir::IntegerAttr>("flow.forward_results")) {
    phases.assign(ops.size(), Phase::Backward);
    Operation *end = function.getBody().front().getTerminator();
    unsigned numForward = std::min(static_cast<unsigned>(std::max<int64_t>(count.getInt(), 0)), end->getNumOperands());
    for (Value result : end->getOperands().take_front(numForward))
      if (auto source = producer(result))
        phases[*source] = Phase::Forward;
    for (unsigned i = static_cast<unsigned>(ops.size()); i-- > 0;)
      if (llvm::any_of(readers[i], [&](unsigned reader) { return phases[reader] == Phase::Forward; }))
        phases[i] = Phase::Forward;
  }
  for (unsigned i = 0; i < ops.size(); ++i) {
    bool isDrawn = mlir::isa<DropoutOp>(ops[i]);  // anew in every step, whatever it reads
    bool isOfGraph = !isDrawn && llvm::all_of(ops[i]->getOperands(), [&](Value operand) {
      auto source = producer(operand);
      return source ? phases[*source] == Phase::Graph : operand.getDefiningOp() != nullptr;
    });
    if (isOfGraph)
      phases[i] = Phase::Graph;
  }
}

void Merger::findGroups() {
  for (unsigned i = 0; i < ops.size(); ++i) {
    Open group;
    group.ops = {i};
    group.kinds = loopKinds(ops[i]);
    group.hasProduct = isProduct(ops[i]);
    groups.push_back(std::move(group));
    groupOf.push_back(i);
    order.push_back(i);
    placeOf.push_back(i);
  }
}

std::optional<llvm::SmallVector<unsigned>> Merger::orderWith(unsigned first, unsigned second, unsigned merged) const {
  // Looks from the smaller of the two for what lies on the way to the other.
  bool fromFirst = groups[first].ops.size() <= groups[second].ops.size();
  unsigned goal = fromFirst ? second : first;
  llvm::SmallSetVector<unsigned, 16> found;
  found.insert(fromFirst ? first : second);
  for (unsigned i = 0; i < found.size(); ++i) {
    bool isDetour = false;
    auto visit = [&](unsigned op) {
      unsigned group = groupOf[op];
      isDetour |= group == goal && i > 0;
      if (placeOf[first] < placeOf[group] && placeOf[group] < placeOf[second])
        found.insert(group);
    };
    llvm::SmallVector<unsigned, 4> members = groups[found[i]].ops;
    for (unsigned op : members)
      if (fromFirst)
        llvm::for_each(readers[op], visit);
      else
        llvm::for_each(sources[op], [&](const Source &source) { visit(source.op); });
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

bool Merger::tryMerge(unsigned a, unsigned b) {
  if (a > b)
    std::swap(a, b);
  Open &first = groups[a], &second = groups[b];
  if (a == b || phases[a] != phases[b] || (first.hasProduct && second.hasProduct))
    return false;
  LoopKinds kinds = first.kinds & second.kinds;
  auto [few, other] = first.ops.size() < second.ops.size() ? std::pair(a, b) : std::pair(b, a);
  for (unsigned op : groups[few].ops) {
    for (const Source &source : sources[op])
      if (groupOf[source.op] == other)
        kinds = kinds & source.kinds;
    for (unsigned reader : readers[op])
      for (const Source &source : sources[reader])
        if (source.op == op && groupOf[reader] == other)
          kinds = kinds & source.kinds;
  }
  if (kinds.empty())
    return false;
  const auto [begin, end] = std::minmax({placeOf[a], placeOf[b]});
  auto arranged = orderWith(order[begin], order[end], a);
  if (!arranged)
    return false;
  for (unsigned place = begin; place < end; ++place)
    placeOf[order[place] = (*arranged)[place - begin]] = place;
  order[end] = b;  // no longer a group
  placeOf[b] = end;
  for (unsigned op : second.ops)
    groupOf[op] = a;
  size_t middle = first.ops.size();
  first.ops.append(second.ops);
  std::inplace_merge(first.ops.begin(), first.ops.begin() + middle, first.ops.end());
  first.kinds = kinds;
  first.hasProduct |= second.hasProduct;
  second = Open();
  return true;
}

/// A recomputed value belongs to the group that reads it, even if it would fit into another group. The same holds for
/// spreads: an op that reads a spread can as well read its operand.
void Merger::mergeRebuilt() {
  for (unsigned op = static_cast<unsigned>(ops.size()); op-- > 0;)
    if (mlir::isa<SpreadOp>(ops[op]) || ops[op]->hasAttr("flow.again"))
      for (unsigned reader : readers[op])
        tryMerge(groupOf[op], groupOf[reader]);
}

/// Producers come first, so that an element-wise op after a reduction joins the traversal and not the next product.
bool Merger::mergeWithProducers() {
  bool merged = false;
  for (unsigned op = 0; op < ops.size(); ++op)
    for (const Source &source : sources[op])
      merged |= tryMerge(groupOf[source.op], groupOf[op]);
  return merged;
}

/// Traversals of one kind that gather the same rows gather them once.
bool Merger::mergeReaders() {
  bool merged = false;
  struct Gather {
    unsigned op;
    Value table;
    Map map;
  };
  llvm::SmallVector<Gather> gathers;
  for (unsigned op = 0; op < ops.size(); ++op)
    for (unsigned i = 0; i < ops[op]->getNumOperands(); ++i) {
      LoopKinds kinds = groups[groupOf[op]].kinds;
      if (kinds != LoopKinds{kByDst} && kinds != LoopKinds{kBySrc})
        continue;
      Value table = ops[op]->getOperand(i);
      Map map = readMap(ops[op], i);
      if (kinds.list().front().isLevel(walkedDomain(ops[op]), map) || domainOf(table) <= Domain::EdgeType)
        continue;
      for (const Gather &gather : gathers)
        if (gather.table == table && gather.map == map && groups[groupOf[gather.op]].kinds == groups[groupOf[op]].kinds)
          merged |= tryMerge(groupOf[gather.op], groupOf[op]);
      gathers.push_back({op, table, map});
    }
  return merged;
}

void Merger::run() {
  mergeRebuilt();
  // What stood between two groups may itself have been merged into one of them.
  while (mergeWithProducers() || mergeReaders())
    ;
}

std::vector<Group> Merger::take(llvm::DenseMap<Operation *, unsigned> &placeOf) {
  std::vector<unsigned> waitsFor(ops.size());  // of each group: how many groups it reads that are not listed yet
  std::vector<std::set<unsigned>> readersOf(ops.size());
  for (unsigned op = 0; op < ops.size(); ++op)
    for (unsigned reader : readers[op])
      if (groupOf[reader] != groupOf[op] && readersOf[groupOf[op]].insert(groupOf[reader]).second)
        ++waitsFor[groupOf[reader]];
  llvm::SmallVector<unsigned> ready;
  for (unsigned group = 0; group < groups.size(); ++group)
    if (!groups[group].ops.empty() && waitsFor[group] == 0)
      ready.push_back(group);
  // What each group writes for others, and the tables of others that it reads.
  std::vector<double> bytes(ops.size()), written(ops.size());
  std::vector<llvm::SmallSetVector<unsigned, 8>> read(ops.size());
  std::vector<unsigned> waiting(ops.size());  // of each op: how many groups still have to read it
  for (unsigned op = 0; op < ops.size(); ++op) {
    bytes[op] = tableBytes(mlir::cast<RowsType>(ops[op]->getResult(0).getType()), rows);
    for (unsigned reader : readers[op])
      if (groupOf[reader] != groupOf[op] && read[groupOf[reader]].insert(op))
        ++waiting[op];
    // What is returned stays to the end.
    if (llvm::any_of(ops[op]->getUsers(), [&](Operation *user) { return !numberOf.contains(user); }))
      ++waiting[op];
    if (waiting[op] > 0)
      written[groupOf[op]] += bytes[op];
  }
  // How many more bytes are live after a group than before it: what it writes, less what no group reads after it.
  auto growth = [&](unsigned group) {
    double more = written[group];
    for (unsigned source : read[group])
      if (waiting[source] == 1)
        more -= bytes[source];
    return more;
  };
  std::vector<Group> list;
  while (!ready.empty()) {
    // The earliest phase first, then the smallest memory, then program order.
    auto place = [&](unsigned group) { return std::tuple(phases[group], growth(group), group); };
    auto *next = llvm::min_element(ready, [&](unsigned a, unsigned b) { return place(a) < place(b); });
    unsigned number = *next;
    ready.erase(next);
    for (unsigned source : read[number])
      --waiting[source];
    Group group;
    group.phase = phases[number];
    group.kinds = groups[number].kinds;
    if (!groups[number].hasProduct)
      group.kinds = group.kinds.without(LoopKinds::all(Loop::Gemm));
    for (unsigned op : groups[number].ops) {
      placeOf[ops[op]] = static_cast<unsigned>(list.size());
      group.ops.push_back(ops[op]);
      group.domain = std::max(group.domain, walkedDomain(ops[op]));  // domains are listed from coarse to fine
    }
    list.push_back(std::move(group));
    for (unsigned reader : readersOf[number])
      if (--waitsFor[reader] == 0)
        ready.push_back(reader);
  }
  assert(placeOf.size() == ops.size() && "groups wait for each other");
  return list;
}

}  // namespace

Groups::Groups(mlir::func::FuncOp function) {
  Merger merger(function);
  merger.run();
  groups = merger.take(groupOf);
#ifndef NDEBUG
  for (const auto &[op, place] : groupOf)
    for (Value operand : op->getOperands())
      assert(of(operand).value_or(0) <= place && "a group runs before one that it reads");
#endif
}

std::optional<unsigned> Groups::of(Operation *op) const {
  auto found = groupOf.find(op);
  return found == groupOf.end() ? std::nullopt : std::optional(found->second);
}

bool Groups::escapes(Value value) const {
  auto group = of(value);
  return group && llvm::any_of(value.getUsers(), [&](Operation *user) { return of(user) != group; });
}

}  // namespace hector::flow
