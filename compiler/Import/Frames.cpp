/// Loops and names: which row an element is, what may be read and written where.

#include "compiler/Import/Importer.h"

#include <algorithm>

namespace hector::importer {

using flow::Domain;
using flow::Map;
using flow::ReduceKind;
using language::as;
using language::AttributeExpr;
using language::CallExpr;
using language::Diagnostic;
using language::NameExpr;

//===- Loops -----------------------------------------------------------------------------------------------------===//

int Importer::openFrame(Domain domain, int parent, Map up, const std::string &variable, Place place, bool isGenerator) {
  frames.push_back({domain, parent, current, up, variable, place, isGenerator, true});
  return static_cast<int>(frames.size()) - 1;
}

void Importer::closeFrame(int frame) {
  frames[frame].isOpen = false;
}

int Importer::rootOf(int frame) const {
  while (frame != kNoFrame && frames[frame].parent != kNoFrame)
    frame = frames[frame].parent;
  return frame;
}

/// Whether the rows of `frame` belong to those of `ancestor`.
bool Importer::isWithin(int frame, int ancestor) const {
  while (frame != kNoFrame && frame != ancestor)
    frame = frames[frame].parent;
  return frame == ancestor;
}

/// Whether `frame` runs once or more in each iteration of `loop`.
bool Importer::runsInside(int frame, int loop) const {
  while (frame != kNoFrame && frame != loop)
    frame = frames[frame].around;
  return frame == loop;
}

/// Whether one iteration of `loop` that visits all of `row` visits the same rows as the loop `written` below it.
bool Importer::isSameRows(const Element &row, int written, int loop) const {
  if (row.map != Map::Self || !isWithin(row.frame, loop))
    return false;
  auto path = pathUp(row.frame, loop);
  return path && path == pathUp(written, loop);
}

/// Whether a loop that is running reads the table for other rows than those it is about to write, the rows of
/// `written`: Python would see old values in one iteration and new ones in the next.
bool Importer::isReadElsewhere(const Slot &slot, int written) const {
  for (const Slot::Read &read : slot.reads) {
    int common = written;
    while (common != kNoFrame && !runsInside(read.loop, common))
      common = frames[common].parent;
    if (common != kNoFrame && !isSameRows(read.row, written, common))
      return true;
  }
  return false;
}

/// Whether a loop that is running has written other rows of the table than those of `written`.
bool Importer::isWrittenElsewhere(const Slot &slot, int written) const {
  if (slot.writtenIn == kNoFrame)
    return false;
  int common = written;
  while (common != kNoFrame && !isWithin(slot.writtenIn, common))
    common = frames[common].parent;
  return common != kNoFrame && pathUp(slot.writtenIn, common) != pathUp(written, common);
}

/// The map from a row of `frame` to the row of the loop `ancestor` around it; kNoFrame stands for the single row.
std::optional<Map> Importer::pathUp(int frame, int ancestor) const {
  if (ancestor == kNoFrame)
    return frame == kNoFrame ? Map::Self : Map::One;
  Map path = Map::Self;
  for (int at = frame; at != ancestor; at = frames[at].parent) {
    if (at == kNoFrame || frames[at].parent == kNoFrame)
      return std::nullopt;
    auto next = flow::compose(frames[frame].domain, path, frames[at].up);
    if (!next)
      return std::nullopt;
    path = *next;
  }
  return path;
}

/// The same element, named from the outermost loop whose own row it is: inside `for e in n.incoming_edges()`, `e.dst`
/// is `n`.
Element Importer::normalise(Element element) const {
  for (int at = element.frame; at != kNoFrame; at = frames[at].parent) {
    auto path = pathUp(element.frame, at);
    if (path && *path == element.map && frames[at].domain == element.domain)
      return {element.domain, at, Map::Self};
  }
  return element;
}

/// The map from the row at hand to what `map` finds from loop `frame`.
std::optional<Map> Importer::mapFromHere(int frame, Map map, Place place) {
  if (frame == kNoFrame)
    return current == kNoFrame ? Map::Self : Map::One;
  auto up = isWithin(current, frame) ? pathUp(current, frame) : std::nullopt;
  auto whole = up ? flow::compose(frames[current].domain, *up, map) : std::nullopt;
  if (whole)
    return whole;
  const Frame &loop = frames[frame];
  std::string variable = loop.variable.empty() ? "the loop" : "`" + loop.variable + "`";
  if (!loop.isOpen) {
    error(place, "this belongs to a loop that has ended")
        .note(loop.place, "it was computed for each " + std::string(userName(loop.domain)) + " of this loop")
        .suggest("keep it as " + (loop.variable.empty() ? "e" : loop.variable) + "[\"name\"] to use it later");
  } else if (int root = rootOf(current); root != rootOf(frame) && !frames[root].variable.empty()) {
    error(place, "this depends on " + variable + ", but the loop around it is over the whole graph: every pair of rows")
        .note(loop.place, variable + " is the " + std::string(userName(loop.domain)) + " of this loop")
        .suggest("loop over the edges of a node instead, as in `for e in n.incoming_edges()`");
  } else {
    error(place, "this depends on " + variable + ", which this loop cannot see")
        .note(loop.place, variable + " is the " + std::string(userName(loop.domain)) + " of this loop")
        .suggest("compute it in a loop of its own first and keep it as " +
                 (loop.variable.empty() ? "e" : loop.variable) + "[\"name\"]");
  }
  return std::nullopt;
}

std::optional<Iteration> Importer::readIterator(const Expr &expr) {
  const auto *call = as<CallExpr>(expr);
  auto refuse = [&](Place place, std::string message) {
    error(place, std::move(message))
        .suggest(
            "loop over g.nodes(), g.edges(), n.incoming_edges(), n.outgoing_edges(), n.incoming_types(), p.edges() "
            "or range(K)");
    return std::nullopt;
  };
  if (!call) {
    if (const auto *attribute = as<AttributeExpr>(expr)) {
      error(expr.place, "`" + std::string(expr.place.text()) + "` is not called")
          .suggest("write `" + std::string(attribute->place.text()) + "()`");
      return std::nullopt;
    }
    return refuse(expr.place, "`" + std::string(expr.place.text()) + "` cannot be looped over");
  }
  Iteration iteration;
  if (const auto *name = as<NameExpr>(call->callee); name && name->name == "range") {
    auto bounds = arguments(*call, {"start", "stop", "step"}, 1);
    if (!bounds)
      return std::nullopt;
    int64_t values[3] = {0, 0, 1};
    for (int i = 0; i < 3; ++i) {
      if (!(*bounds)[i])
        continue;
      auto value = compileTimeInteger(*(*bounds)[i], "range() counts with numbers known when compiling");
      if (!value)
        return std::nullopt;
      values[i] = *value;
    }
    if (!(*bounds)[1]) {
      values[1] = values[0];
      values[0] = 0;
    }
    if (values[2] == 0) {
      error(expr.place, "range() with a step of 0 never ends");
      return std::nullopt;
    }
    constexpr int64_t kMaxUnrolled = 4096;
    iteration.isRange = true;
    for (int64_t k = values[0]; values[2] > 0 ? k < values[1] : k > values[1]; k += values[2]) {
      iteration.numbers.push_back(k);
      if (static_cast<int64_t>(iteration.numbers.size()) > kMaxUnrolled) {
        error(expr.place,
              "range() is unrolled, and this one has more than " + std::to_string(kMaxUnrolled) + " rounds");
        return std::nullopt;
      }
    }
    return iteration;
  }
  const auto *method = as<AttributeExpr>(call->callee);
  if (!method)
    return refuse(expr.place, "`" + std::string(expr.place.text()) + "` cannot be looped over");
  Item base = evaluate(*method->base);
  if (isPoison(base))
    return std::nullopt;
  struct Entry {
    std::optional<Domain> on;  // nothing: the graph
    std::string_view name;
    Domain rows;
    Map up;
  };
  static constexpr Entry kEntries[] = {
      {std::nullopt, "edges", Domain::Edge, Map::Self},
      {std::nullopt, "nodes", Domain::Node, Map::Self},
      {std::nullopt, "dst_nodes", Domain::Node, Map::Self},
      {std::nullopt, "src_nodes", Domain::Node, Map::Self},
      {std::nullopt, "edge_types", Domain::EdgeType, Map::Self},
      {std::nullopt, "node_types", Domain::NodeType, Map::Self},
      {Domain::Node, "incoming_edges", Domain::Edge, Map::Dst},
      {Domain::Node, "outgoing_edges", Domain::Edge, Map::Src},
      {Domain::Node, "incoming_types", Domain::DstPair, Map::Node},
      {Domain::Node, "outgoing_types", Domain::SrcPair, Map::Node},
      {Domain::DstPair, "edges", Domain::Edge, Map::DstPair},
      {Domain::SrcPair, "edges", Domain::Edge, Map::SrcPair},
      {Domain::EdgeType, "edges", Domain::Edge, Map::EdgeType},
      {Domain::NodeType, "nodes", Domain::Node, Map::NodeType},
  };
  std::optional<Domain> on;
  if (const Element *element = tryGet<Element>(base)) {
    on = element->domain;
    iteration.over = *element;
  } else if (!tryGet<WholeGraph>(base)) {
    return refuse(method->base->place, describe(base) + " has nothing to loop over");
  }
  std::vector<std::string_view> names;
  for (const Entry &entry : kEntries) {
    if (entry.on != on)
      continue;
    if (entry.name == method->name) {
      if (!call->arguments.empty() || !call->keywords.empty()) {
        error(call->place, "`" + method->name + "()` takes no arguments");
        return std::nullopt;
      }
      iteration.domain = entry.rows;
      iteration.up = entry.up;
      return iteration;
    }
    names.push_back(entry.name);
  }
  std::string who = on ? "a " + std::string(userName(*on)) : "the graph";
  if (on == Domain::EdgeType || on == Domain::Edge)
    who = "an " + std::string(userName(*on));
  std::string_view near = language::nearest(method->name, names);
  std::string list;
  for (std::string_view name : names)
    list += (list.empty() ? "" : ", ") + std::string(name) + "()";
  error(method->namePlace, who + " has no iterator `" + method->name + "()`")
      .suggest(!near.empty()   ? "did you mean `" + std::string(near) + "()`?"
               : names.empty() ? "an edge has two ends, `src` and `dst`: loop over `n.incoming_edges()` of a node"
                               : "it has " + list);
  return std::nullopt;
}

/// Opens the loop of a `for` statement or of a generator expression. Statements nest strictly; a generator may also
/// start from any element, since its body writes nothing.
std::optional<int> Importer::openLoop(const Iteration &iteration, const std::string &variable, Place place,
                                      bool isStatement) {
  if (!iteration.over) {
    if (isStatement && current != kNoFrame) {
      error(place, "a loop over the whole graph inside another loop would visit every pair of rows")
          .note(frames[current].place, "the loop around it starts here")
          .suggest(iteration.domain == Domain::EdgeType
                       ? "n.incoming_types() visits the types of a node's own edges"
                       : "end the outer loop first, or loop over the edges of its node: `n.incoming_edges()`");
      return std::nullopt;
    }
    return openFrame(iteration.domain, kNoFrame, Map::Self, variable, place, !isStatement);
  }
  Element over = normalise(*iteration.over);
  bool isOwn = over.map == Map::Self && frames[over.frame].isOpen;
  if (!frames[over.frame].isOpen) {
    mapFromHere(over.frame, over.map, place);  // reports that the loop has ended
    return std::nullopt;
  }
  if (isStatement && !(isOwn && over.frame == current)) {
    error(place, "this loop would visit the edges of another row's node: two hops at once")
        .note(frames[current].place, "the loop around it starts here")
        .suggest("do one hop per loop: first `for n in g.nodes():` with n[\"name\"] = sum(… for e in "
                 "n.incoming_edges()), then read e.src[\"name\"]");
    return std::nullopt;
  }
  int parent = isOwn ? over.frame : openFrame(over.domain, kNoFrame, Map::Self, "", place, true);
  return openFrame(iteration.domain, parent, iteration.up, variable, place, !isStatement);
}

//===- Tables ----------------------------------------------------------------------------------------------------===//

static std::string shown(Domain domain, const std::string &name) {
  std::string variable = "n";
  if (domain == Domain::Edge)
    variable = "e";
  else if (domain == Domain::SrcPair || domain == Domain::DstPair)
    variable = "p";
  else if (domain == Domain::EdgeType || domain == Domain::NodeType)
    variable = "t";
  return variable + "[\"" + name + "\"]";
}

Item Importer::readTable(const Element &element, const std::string &name, Place place) {
  auto found = tables.find({element.domain, name});
  if (found == tables.end()) {
    if (isLost(name) || !mapFromHere(element.frame, element.map, place))
      return Poison{};
    std::string owner(userName(element.domain));
    if (const language::InputDecl *input = signature.findInput(name)) {
      std::string base = place.text().empty() ? "n" : std::string(place.text().substr(0, place.text().rfind('[')));
      return fail(place, "`" + name + "` is an input; subscripts are for data that the model produces",
                  "write `" + base + "." + input->name + "`");
    }
    std::vector<std::string_view> names;
    for (const auto &[key, slot] : tables) {
      if (key.second == name) {
        Diagnostic &diagnostic = error(place, "\"" + name + "\" is kept for each " + std::string(userName(key.first)) +
                                                  ", not for each " + owner);
        diagnostic.note(slot.place, "it is assigned here");
        std::string quoted = "[\"" + name + "\"]";
        if (key.first == Domain::Edge && element.domain == Domain::Node && !scopes.back().isPrelude)
          diagnostic.suggest("combine it over the node's edges: sum(e" + quoted + " for e in n.incoming_edges())");
        else if (key.first == Domain::Node && element.domain == Domain::Edge && !scopes.back().isPrelude)
          diagnostic.suggest("an edge has two nodes: write e.src" + quoted + " or e.dst" + quoted);
        return Poison{};
      }
      if (key.first == element.domain)
        names.push_back(key.second);
    }
    std::string_view near = language::nearest(name, names);
    return fail(place, "\"" + name + "\" is read before any " + owner + " has it",
                near.empty() ? "assign " + shown(element.domain, name) + " in an earlier statement"
                             : "did you mean \"" + std::string(near) + "\"?");
  }
  Slot &slot = found->second;
  if (isPoison(slot.item))
    return Poison{};
  if (slot.growsUntil != kNoFrame && frames[slot.growsUntil].isOpen) {
    error(place, shown(element.domain, name) + " is read while this loop still adds to it")
        .note(slot.place, "it is accumulated here")
        .suggest("read it after the loop");
    return Poison{};
  }
  Element own = normalise(element);
  // What one iteration has written the same iteration may read: that of the innermost loop still running.
  int writing = slot.writtenIn;
  while (writing != kNoFrame && !frames[writing].isOpen)
    writing = frames[writing].parent;
  if (writing != kNoFrame && !isSameRows(own, slot.writtenIn, writing)) {
    error(place, shown(element.domain, name) + " of other rows is read in the loop that writes it")
        .note(slot.place, "it is written here")
        .suggest("end the loop first, and read it in a second one");
    return Poison{};
  }
  slot.readIn.push_back(current);
  if (current != kNoFrame)
    slot.reads.push_back({current, own});
  const Rows *rows = tryGet<Rows>(slot.item);
  if (!rows) {
    if (!mapFromHere(element.frame, element.map, place))
      return Poison{};
    return slot.item;
  }
  if (rows->type().getDomain() == Domain::One)
    return Rows{rows->table, kNoFrame, Map::Self};
  auto map = flow::compose(frames[element.frame].domain, element.map, rows->map);
  if (!map || !mapFromHere(element.frame, *map, place))
    return Poison{};
  return Rows{rows->table, element.frame, *map};
}

/// Has the op that computes rows remember the name that the model gives them, if it has none yet. Loops and kernels are
/// named after it.
static void nameRows(const Item &item, const std::string &name) {
  const Rows *rows = tryGet<Rows>(item);
  mlir::Operation *op = rows ? rows->table.getDefiningOp() : nullptr;
  if (op && flow::tableName(op->getLoc()).empty())
    op->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(op->getContext(), name), op->getLoc()));
}

bool Importer::writeTable(const Element &element, const std::string &name, Item value, Place place) {
  Element own = normalise(element);
  std::string who = shown(element.domain, name);
  if (!frames[own.frame].isOpen) {
    mapFromHere(own.frame, own.map, place);
    return false;
  }
  if (own.map != Map::Self || own.frame != current) {
    error(place, "many rows of this loop would write the same " + std::string(userName(element.domain)) + "'s \"" +
                     name + "\"; the last would win")
        .suggest("combine them: `+=`, or `" + std::string(place.text().substr(0, 40)) +
                 " = max(…, …)`, or sum(… for …)");
    return false;
  }
  if (signature.findInput(name) && domainOf(signature.findInput(name)->home) == element.domain) {
    error(place, "`" + name + "` is an input of each " + std::string(userName(element.domain)) +
                     "; produced data needs another name")
        .note(signature.findInput(name)->place, "the input is declared here");
    return false;
  }
  if (!checkWrites(who, place))
    return false;
  auto found = tables.find({element.domain, name});
  if (found != tables.end()) {
    Slot &slot = found->second;
    if (slot.growsUntil != kNoFrame && frames[slot.growsUntil].isOpen) {
      error(place, who + " is overwritten while this loop still adds to it").note(slot.place, "it is accumulated here");
      return false;
    }
    if (isReadElsewhere(slot, own.frame)) {
      error(place, who + " is written in a loop that reads it for other rows as well")
          .suggest("end the loop before writing, or write to another name");
      return false;
    }
    if (isWrittenElsewhere(slot, own.frame)) {
      error(place, who + " is written along two ways in one loop").note(slot.place, "it is also written here");
      return false;
    }
  }
  Slot slot;
  slot.place = place;
  slot.boundIn = current;
  slot.writtenIn = own.frame;
  slot.version = ++writes;
  if (found != tables.end())
    for (const Slot::Read &read : found->second.reads)
      if (runsInside(read.loop, loopRoot))
        slot.reads.push_back(read);
  if (const Rows *rows = tryGet<Rows>(value)) {
    auto map = mapFromHere(rows->frame, rows->map, place);
    slot.item = map ? Item(Rows{rows->table, kNoFrame, *map}) : Item(Poison{});
    nameRows(slot.item, name);
  } else if (tryGet<Number>(value) || tryGet<Truth>(value) || isPoison(value)) {
    slot.item = std::move(value);
  } else {
    error(place, describe(value) + " cannot be kept in a table");
    slot.item = Poison{};
  }
  tables[{element.domain, name}] = std::move(slot);
  return true;
}

/// Refuses to write in a generator expression, whose rows have no order.
bool Importer::checkWrites(const std::string &who, Place place) {
  for (int loop = current; loop != kNoFrame; loop = frames[loop].around) {
    if (!frames[loop].isGenerator)
      continue;
    error(place, who + " is written while an expression is computed")
        .note(frames[loop].place, "a generator expression computes a value and keeps nothing")
        .suggest("write it in a `for` loop of its own");
    return false;
  }
  return true;
}

/// Checks that `slot` may grow in the loop `grows`: it is not read there, and grows in one way only.
bool Importer::checkGrowth(Slot &slot, const std::string &who, ReduceKind kind, int grows, Place place) {
  if (slot.growsUntil != kNoFrame && frames[slot.growsUntil].isOpen &&
      (slot.growsUntil != grows || slot.growsBy != kind)) {
    error(place, who + " is accumulated in two ways in one loop; the result would depend on the order of rows")
        .note(slot.place, "the other way is here");
    return false;
  }
  for (int reader : slot.readIn) {
    if (runsInside(reader, grows)) {
      error(place, who + " grows in a loop that also reads it: each row would see another value")
          .suggest("read it after the loop, or accumulate into another name");
      return false;
    }
  }
  return true;
}

/// The value of `slot` with all rows of `value` collected along `via` into `domain`.
Item Importer::grow(const Slot &slot, Domain domain, ReduceKind kind, bool negate, Item value, Map via, Place place) {
  std::optional<Rows> rows = toNumbers(value, place);
  if (!rows)
    return Poison{};
  mlir::Value fine = materialise(*rows, place);
  if (!fine)
    return Poison{};
  auto type = mlir::cast<flow::RowsType>(fine.getType()).withDomain(domain);
  // The start, as rows read from `domain`.
  std::pair<mlir::Value, Map> start;
  bool startsAtZero = false;
  if (auto number = asNumber(slot.item)) {
    startsAtZero = number->value == 0.0;
    start = {constant(number->value, place), domain == Domain::One ? Map::Self : Map::One};
  } else if (const Rows *before = tryGet<Rows>(slot.item)) {
    start = {before->table, before->map};
  } else {
    return fail(place, describe(slot.item) + " cannot be added to");
  }
  auto startType = mlir::cast<flow::RowsType>(start.first.getType());
  auto shape = flow::commonShape(startType.getShape(), type.getShape());
  if (!shape || startType.isBool()) {
    error(place, "rows of " + formatRowShape(type.getShape()) + " are accumulated into rows of " +
                     formatRowShape(startType.getShape()))
        .note(slot.place, "it starts here");
    return Poison{};
  }
  auto resultType = type.withShape(*shape);
  auto kindAttr = flow::ReduceKindAttr::get(&context, kind);
  auto viaAttr = flow::MapAttr::get(&context, via);
  if (kind == ReduceKind::Sum) {
    mlir::Value sum = builder.create<flow::ReduceOp>(location(place), type, kindAttr, fine, mlir::Value(), viaAttr);
    if (startsAtZero && !negate)
      return Rows{sum, kNoFrame, Map::Self};
    llvm::StringRef op = negate ? flow::SubOp::getOperationName() : flow::AddOp::getOperationName();
    return Rows{createDense(op, place, {start, {sum, Map::Self}}, resultType, {}), kNoFrame, Map::Self};
  }
  if (resultType != type) {  // one number per row, say, that is to be compared with each of several
    auto wide = mlir::cast<flow::RowsType>(fine.getType()).withShape(*shape);
    fine = createDense(flow::ExpandOp::getOperationName(), place, {{fine, Map::Self}}, wide, {});
    type = resultType;
  }
  mlir::Value init = createDense(flow::ExpandOp::getOperationName(), place, {start}, type, {});
  mlir::Value top = builder.create<flow::ReduceOp>(location(place), type, kindAttr, fine, init, viaAttr);
  return Rows{top, kNoFrame, Map::Self};
}

bool Importer::accumulateTable(const Element &element, const std::string &name, ReduceKind kind, bool negate,
                               Item value, Place place) {
  Element own = normalise(element);
  std::string who = shown(element.domain, name);
  auto via = mapFromHere(own.frame, own.map, place);
  if (!via || isPoison(value))
    return false;
  auto found = tables.find({element.domain, name});
  if (found == tables.end()) {
    if (isLost(name))
      return true;
    error(place, "\"" + name + "\" is accumulated before it has a start")
        .suggest("assign " + who + " = 0.0 before this loop");
    return false;
  }
  Slot &slot = found->second;
  if (isPoison(slot.item))
    return true;
  if (!checkWrites(who, place))
    return false;
  bool isOwn = own.map == Map::Self;
  int grows = loopRoot;
  if (isOwn)
    for (grows = current; frames[grows].parent != own.frame;)
      grows = frames[grows].parent;
  if (!checkGrowth(slot, who, kind, grows, place))
    return false;
  bool isGrowing = slot.growsUntil != kNoFrame && frames[slot.growsUntil].isOpen;
  if (isOwn ? isWrittenElsewhere(slot, own.frame)
            : !isGrowing && slot.writtenIn != kNoFrame && isWithin(slot.writtenIn, loopRoot)) {
    error(place, who + " is set for each row by the same loop that accumulates into other rows of it")
        .note(slot.place, "it is set here")
        .suggest("set it in a loop before this one");
    return false;
  }
  if (isOwn && isReadElsewhere(slot, own.frame)) {
    error(place, who + " grows in a loop that also reads it for other rows")
        .suggest("read it after the loop, or accumulate into another name");
    return false;
  }
  slot.item = grow(slot, element.domain, kind, negate, std::move(value), *via, place);
  nameRows(slot.item, name);
  slot.place = place;
  slot.growsUntil = grows;
  slot.growsBy = kind;
  slot.writtenIn = isOwn ? own.frame : loopRoot;
  slot.version = ++writes;
  return true;
}

//===- Local variables -------------------------------------------------------------------------------------------===//

Slot *Importer::findLocal(const std::string &name) {
  auto &locals = scopes.back().locals;
  auto found = locals.find(name);
  return found == locals.end() ? nullptr : &found->second;
}

Item Importer::readLocal(Slot &slot, const std::string &name, Place place) {
  if (isPoison(slot.item))
    return Poison{};
  if (slot.growsUntil != kNoFrame && frames[slot.growsUntil].isOpen) {
    error(place, "`" + name + "` is read while this loop still adds to it")
        .note(slot.place, "it is accumulated here")
        .suggest("read it after the loop");
    return Poison{};
  }
  // A loop without rows would not have set it, whatever its value.
  if (slot.boundIn != kNoFrame && !frames[slot.boundIn].isOpen && !tryGet<Element>(slot.item)) {
    const Frame &loop = frames[slot.boundIn];
    error(place, "`" + name + "` belongs to a loop that has ended")
        .note(loop.place, "it was computed for each " + std::string(userName(loop.domain)) + " of this loop")
        .suggest("keep it as " + (loop.variable.empty() ? "e" : loop.variable) + "[\"" + name + "\"] to use it later");
    return Poison{};
  }
  slot.readIn.push_back(current);
  return slot.item;
}

void Importer::bindLocal(const std::string &name, Item value, Place place) {
  Slot *slot = findLocal(name);
  if (slot && slot->boundIn != current) {
    // A read earlier in a loop that runs again would, in Python, see the value of the iteration before, unless that
    // loop sets the name first.
    bool isCarried = slot->growsUntil != kNoFrame && frames[slot->growsUntil].isOpen;
    for (int loop = current; loop != kNoFrame && !runsInside(slot->boundIn, loop); loop = frames[loop].around)
      for (int reader : slot->readIn)
        isCarried |= runsInside(reader, loop);
    if (isCarried) {
      error(place, "`" + name + "` would carry a value from one row of the loop to the next")
          .note(slot->place, "its value comes from here")
          .suggest("rows are independent of each other; accumulate with `+=` or max(…), or use another name");
    }
  }
  Slot fresh;
  nameRows(value, name);
  fresh.item = std::move(value);
  fresh.place = place;
  fresh.boundIn = current;
  scopes.back().locals[name] = std::move(fresh);
}

void Importer::accumulateLocal(const std::string &name, ReduceKind kind, bool negate, Item value, Place place) {
  Slot &slot = *findLocal(name);
  if (isPoison(value) || isPoison(slot.item))
    return;
  int home = slot.boundIn;
  auto via = pathUp(current, home);
  if (!via || !isWithin(current, home)) {
    mapFromHere(home, Map::Self, place);
    return;
  }
  int grows = current;
  while (frames[grows].parent != home)
    grows = frames[grows].parent;
  if (!checkGrowth(slot, "`" + name + "`", kind, grows, place))
    return;
  Domain domain = home == kNoFrame ? Domain::One : frames[home].domain;
  Slot start = slot;
  if (const Rows *rows = tryGet<Rows>(slot.item)) {
    // Express the start as read from the rows of `home`.
    std::optional<Map> up =
        rows->frame == kNoFrame ? std::optional(home == kNoFrame ? Map::Self : Map::One) : pathUp(home, rows->frame);
    auto map = up ? flow::compose(domain, *up, rows->frame == kNoFrame ? Map::Self : rows->map) : std::nullopt;
    if (!map) {
      error(place, "`" + name + "` cannot be accumulated here");
      return;
    }
    start.item = Rows{rows->table, kNoFrame, *map};
  }
  Item grown = grow(start, domain, kind, negate, std::move(value), *via, place);
  if (const Rows *rows = tryGet<Rows>(grown))
    grown = Rows{rows->table, home, Map::Self};
  slot.item = std::move(grown);
  slot.place = place;
  slot.growsUntil = grows;
  slot.growsBy = kind;
}

}  // namespace hector::importer
