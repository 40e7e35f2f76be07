#include "ModuleChanges.h"

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/AttrTypeSubElements.h>
#include <mlir/IR/Builders.h>

#include <limits>

namespace hector::fuzz {

namespace {

using namespace hector::flow;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

class Changer {
public:
  Changer(mlir::ModuleOp module, Choices &choices)
      : module(module), choices(choices), builder(module.getContext()), location(builder.getUnknownLoc()) {}

  void run();

private:
  // Changes that keep functions of flow what they are.
  void growFunction();
  void dropOp();
  void copyOp();
  void changeOperand();
  void changeAttribute();
  void changeTypes();
  void changeReturn();
  void changeGraph();
  void copyFunction();
  // Changes that passes have to refuse, or to leave alone.
  void addForeignOp();
  void addForeignArgument();
  void addForeignAttribute();
  void addCall();
  void addDeclaration();
  void splitBlock();
  void replaceReturn();
  void removeBody();
  void nestFunction();

  template <class List> auto pick(const List &list) -> decltype(*std::begin(list)) {
    return *std::next(std::begin(list), choices.below(static_cast<uint32_t>(std::size(list))));
  }
  /// An op of the function's first block; the terminator only if `withEnd`.
  Operation *pickOp(bool withEnd);
  /// All tables that an op before `point` may read.
  SmallVector<Value> tablesBefore(Operation *point);
  std::optional<Value> pickTable(Operation *point);
  std::optional<Value> pickTable(Operation *point, Type type);
  /// Some op of flow that reads `a`, before `point`.
  Value grow(Operation *point, Value a);
  Value make(StringRef name, llvm::ArrayRef<Value> operands, llvm::ArrayRef<Map> maps, RowsType type,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Has a later op read the value instead of another, or returns it.
  void use(Value value);
  void setReturned(llvm::ArrayRef<Value> values);
  Value addArgument(Type type);
  Type pickType();
  mlir::Attribute pickAttribute();
  int64_t pickNumber();
  Map pickMap() { return static_cast<Map>(choices.below(getMaxEnumValForMap() + 1)); }
  ReduceKind pickKind() { return static_cast<ReduceKind>(choices.below(getMaxEnumValForReduceKind() + 1)); }
  mlir::NamedAttribute named(StringRef name, mlir::Attribute value) { return builder.getNamedAttr(name, value); }
  std::string freshName();

  mlir::ModuleOp module;
  Choices &choices;
  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::func::FuncOp function;
};

//===- Choosing --------------------------------------------------------------------------------------------------===//

Operation *Changer::pickOp(bool withEnd) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  if (!withEnd && !ops.empty())
    ops.pop_back();
  return ops.empty() ? nullptr : pick(ops);
}

SmallVector<Value> Changer::tablesBefore(Operation *point) {
  SmallVector<Value> tables;
  for (Value argument : function.getArguments())
    if (mlir::isa<RowsType>(argument.getType()))
      tables.push_back(argument);
  for (Operation *op = point->getPrevNode(); op; op = op->getPrevNode())
    for (Value result : op->getResults())
      if (mlir::isa<RowsType>(result.getType()))
        tables.push_back(result);
  return tables;
}

std::optional<Value> Changer::pickTable(Operation *point) {
  SmallVector<Value> tables = tablesBefore(point);
  return tables.empty() ? std::nullopt : std::optional(pick(tables));
}

std::optional<Value> Changer::pickTable(Operation *point, Type type) {
  SmallVector<Value> tables = tablesBefore(point);
  llvm::erase_if(tables, [&](Value table) { return table.getType() != type; });
  return tables.empty() ? std::nullopt : std::optional(pick(tables));
}

int64_t Changer::pickNumber() {
  static constexpr int64_t kNumbers[] = {
      0, 1, 2, 3, 7, 50, 1000, 100'000, int64_t{1} << 40, std::numeric_limits<int64_t>::max()};
  return pick(kNumbers);
}

Type Changer::pickType() {
  Type types[] = {builder.getI32Type(),
                  builder.getIndexType(),
                  builder.getF32Type(),
                  builder.getNoneType(),
                  mlir::RankedTensorType::get({4}, builder.getF32Type()),
                  mlir::TupleType::get(builder.getContext()),
                  builder.getFunctionType({}, {})};
  return pick(types);
}

mlir::Attribute Changer::pickAttribute() {
  auto number = [&] { return pickNumber(); };
  auto rate = [&] { return std::max<int64_t>(1, pickNumber()); };
  int64_t nodes = number(), edges = number(), srcPairs = number(), dstPairs = number(), relations = number();
  mlir::Attribute attributes[] = {
      builder.getI64IntegerAttr(choices.below(5)),
      builder.getI64IntegerAttr(-1),
      builder.getI32IntegerAttr(1),
      builder.getIntegerAttr(builder.getIntegerType(8, /*isSigned=*/false), 1),
      builder.getIntegerAttr(builder.getIntegerType(128), 1),
      builder.getIndexAttr(1),
      builder.getUnitAttr(),
      builder.getStringAttr("x"),
      builder.getArrayAttr({}),
      builder.getDictionaryAttr({}),
      builder.getF64FloatAttr(std::numeric_limits<double>::quiet_NaN()),
      mlir::TypeAttr::get(pickType()),
      MachineAttr::get(builder.getContext(), choices.below(2) == 0 ? Target::Cpu : Target::Gpu, rate(), rate(), rate(),
                       rate(), rate(), rate(), rate(), rate()),
      GraphAttr::get(builder.getContext(), nodes, edges, srcPairs, dstPairs, relations, number(), choices.below(2), {},
                     {}, {}, {}),
  };
  return pick(attributes);
}

std::string Changer::freshName() {
  for (unsigned i = 0;; ++i)
    if (std::string name = "odd" + std::to_string(i); !module.lookupSymbol(name))
      return name;
}

//===- Functions of flow -----------------------------------------------------------------------------------------===//

Value Changer::make(StringRef name, llvm::ArrayRef<Value> operands, llvm::ArrayRef<Map> maps, RowsType type,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(location, name);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attributes);
  SmallVector<mlir::Attribute> list;
  for (Map map : maps)
    list.push_back(MapAttr::get(builder.getContext(), map));
  if (!maps.empty())
    state.addAttribute("maps", builder.getArrayAttr(list));
  return builder.create(state)->getResult(0);
}

Value Changer::addArgument(Type type) {
  unsigned last = function.getNumArguments();
  function.insertArgument(last, type, {}, location);
  return function.getArgument(last);
}

void Changer::setReturned(llvm::ArrayRef<Value> values) {
  auto end = mlir::dyn_cast<mlir::func::ReturnOp>(function.getBody().front().back());
  if (!end)
    return;
  end->setOperands(values);
  function.removeResAttrsAttr();
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), end.getOperandTypes()));
}

void Changer::use(Value value) {
  SmallVector<mlir::OpOperand *> uses;
  mlir::Block &body = function.getBody().front();
  for (Operation *op = value.getDefiningOp() ? value.getDefiningOp()->getNextNode() : &body.front(); op;
       op = op->getNextNode())
    for (mlir::OpOperand &operand : op->getOpOperands())
      if (operand.get().getType() == value.getType() && operand.get() != value)
        uses.push_back(&operand);
  if (!uses.empty() && choices.below(2) == 0)
    return pick(uses)->set(value);
  SmallVector<Value> returned(body.back().getOperands());
  returned.push_back(value);
  setReturned(returned);
}

Value Changer::grow(Operation *point, Value a) {
  builder.setInsertionPoint(point);
  auto type = mlir::cast<RowsType>(a.getType());
  Domain domain = type.getDomain();
  llvm::ArrayRef<int64_t> shape = type.getShape();
  Value same = pickTable(point, type).value_or(a);
  auto kind = named("kind", ReduceKindAttr::get(builder.getContext(), pickKind()));
  auto axis = [&](int64_t at) { return named("axis", builder.getI64IntegerAttr(at)); };
  int64_t anyAxis = shape.empty() ? 0 : choices.below(static_cast<uint32_t>(shape.size()));
  RowsType truth = type.withElementType(builder.getI1Type());
  auto read = [&](Value table, RowsType at) -> std::optional<Map> {
    SmallVector<Map> maps;
    for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i)
      if (mapTarget(at.getDomain(), static_cast<Map>(i)) == mlir::cast<RowsType>(table.getType()).getDomain())
        maps.push_back(static_cast<Map>(i));
    return maps.empty() ? std::nullopt : std::optional(pick(maps));
  };
  // Rows that are very long would become longer than a type allows.
  constexpr int64_t kLong = 1 << 16;
  switch (type.getRowSize() > kLong ? 0 : choices.below(13)) {
  case 0: {
    static constexpr StringRef kNames[] = {"flow.neg", "flow.abs",  "flow.exp",   "flow.log",   "flow.sqrt",
                                           "flow.sin", "flow.tanh", "flow.floor", "flow.rsqrt", "flow.relu"};
    return make(pick(kNames), a, Map::Self, type);
  }
  case 1: {
    // The other operand has any shape and domain that may do.
    static constexpr StringRef kNames[] = {"flow.add", "flow.sub", "flow.mul", "flow.div",
                                           "flow.pow", "flow.max", "flow.min", "flow.chain"};
    Value b = choices.below(2) == 0 ? same : *pickTable(point);
    auto other = mlir::cast<RowsType>(b.getType());
    auto common = commonShape(shape, other.getShape());
    auto map = read(b, type);
    if (!common || !map)
      return make(pick(kNames), {a, same}, {Map::Self, Map::Self}, type);
    RowsType result = type.withShape(*common);
    return choices.below(2) == 0 ? make(pick(kNames), {a, b}, {Map::Self, *map}, result)
                                 : make(pick(kNames), {b, a}, {*map, Map::Self}, result);
  }
  case 2: {  // down along any map
    Map via = pickMap();
    if (auto target = mapTarget(domain, via); target && via != Map::Self)
      return builder.create<ReduceOp>(location, type.withDomain(*target), pickKind(), a, Value(), via);
    return make("flow.neg", a, Map::Self, type);
  }
  case 3: {  // up along any map
    auto fine = static_cast<Domain>(choices.below(getMaxEnumValForDomain() + 1));
    if (auto via = read(a, type.withDomain(fine)))
      return builder.create<SpreadOp>(location, type.withDomain(fine), a, *via);
    return make("flow.neg", a, Map::Self, type);
  }
  case 4: {  // weights of any domain
    if (shape.empty())
      return make("flow.exp", a, Map::Self, type);
    bool isTransposed = choices.below(2) == 1;
    int64_t outer = 1 + choices.below(4), inner = shape.back();
    SmallVector<int64_t> weights, result(shape.drop_back());
    if (shape.size() == 1 && choices.below(3) == 2) {
      weights.push_back(2);
      result.push_back(2);
    } else if (choices.below(2) == 1) {
      weights.append(shape.begin(), shape.end() - 1);
    }
    weights.append({isTransposed ? outer : inner, isTransposed ? inner : outer});
    result.push_back(outer);
    SmallVector<Map> maps;
    for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i)
      if (mapTarget(domain, static_cast<Map>(i)))
        maps.push_back(static_cast<Map>(i));
    Map map = pick(maps);
    Value w = addArgument(type.withDomain(*mapTarget(domain, map)).withShape(weights));
    SmallVector<mlir::NamedAttribute> attributes;
    if (isTransposed)
      attributes.push_back(named("transposed", builder.getUnitAttr()));
    if (choices.below(4) == 3)
      attributes.push_back(named("guarded", builder.getUnitAttr()));
    return make("flow.linear", {a, w}, {Map::Self, map}, type.withShape(result), attributes);
  }
  case 5:
    if (shape.empty())
      return make("flow.log", a, Map::Self, type);
    return make("flow.dot", {a, same}, {Map::Self, Map::Self}, type.withShape(shape.drop_back()));
  case 6: {
    if (shape.empty())
      return make("flow.abs", a, Map::Self, type);
    SmallVector<int64_t> left(shape);
    left.erase(left.begin() + anyAxis);
    return make("flow.row_reduce", a, Map::Self, type.withShape(left), {axis(anyAxis), kind});
  }
  case 7: {
    SmallVector<int64_t> other(shape);
    if (!other.empty() && other.back() % 2 == 0 && choices.below(2) == 0) {
      other.back() /= 2;
      other.insert(other.end() - 1, 2);
    } else if (choices.below(2) == 0) {
      other = {type.getRowSize()};
    } else {
      other.insert(other.begin(), 1);
    }
    return make("flow.reshape", a, Map::Self, type.withShape(other));
  }
  case 8: {
    if (shape.empty() || shape[anyAxis] == 1)
      return make("flow.sqrt", a, Map::Self, type);
    int64_t offset = choices.below(2);
    SmallVector<int64_t> part(shape);
    part[anyAxis] -= 1;
    return make("flow.slice", a, Map::Self, type.withShape(part),
                {axis(anyAxis), named("offset", builder.getI64IntegerAttr(offset))});
  }
  case 9: {
    if (shape.empty())
      return make("flow.neg", a, Map::Self, type);
    SmallVector<int64_t> both(shape);
    both[anyAxis] *= 2;
    return make("flow.concat", {a, same}, {Map::Self, Map::Self}, type.withShape(both), axis(anyAxis));
  }
  case 10: {
    SmallVector<int64_t> permutation, turned;
    for (size_t i = 0; i < shape.size(); ++i)
      permutation.push_back(static_cast<int64_t>(i));
    if (permutation.size() > 1)
      std::swap(permutation.back(), permutation[choices.below(static_cast<uint32_t>(permutation.size() - 1))]);
    for (int64_t at : permutation)
      turned.push_back(shape[at]);
    return make("flow.transpose", a, Map::Self, type.withShape(turned),
                named("permutation", builder.getDenseI64ArrayAttr(permutation)));
  }
  case 11: {
    Value less = make("flow.less", {a, same}, {Map::Self, Map::Self}, truth);
    return make("flow.select", {less, same, a}, {Map::Self, Map::Self, Map::Self}, type);
  }
  default: {  // an outer product of rows, summed along any map
    Map via = pickMap();
    auto target = mapTarget(domain, via);
    if (shape.empty() || !target)
      return make("flow.sign", a, Map::Self, type);
    SmallVector<int64_t> result;
    if (choices.below(2) == 1)
      result.append(shape.begin(), shape.end() - 1);
    result.append({shape.back(), shape.back()});
    return builder.create<WeightGradOp>(location, type.withDomain(*target).withShape(result), a, same, Map::Self,
                                        Map::Self, domain, via, choices.below(2) == 1);
  }
  }
}

void Changer::growFunction() {
  Operation *point = pickOp(/*withEnd=*/true);
  auto table = pickTable(point);
  if (!table)
    return;
  Value value = *table;
  for (uint32_t length = 1 + choices.below(4); length > 0; --length)
    value = grow(point, value);
  use(value);
}

void Changer::dropOp() {
  Operation *op = pickOp(/*withEnd=*/false);
  if (!op)
    return;
  for (Value result : op->getResults()) {
    auto other = pickTable(op, result.getType());
    result.replaceAllUsesWith(other ? *other : addArgument(result.getType()));
  }
  op->erase();
}

void Changer::copyOp() {
  Operation *op = pickOp(/*withEnd=*/false);
  if (!op)
    return;
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  if (copy->getNumResults() == 1)
    use(copy->getResult(0));
}

void Changer::changeOperand() {
  Operation *op = pickOp(/*withEnd=*/true);
  if (op->getNumOperands() == 0)
    return;
  mlir::OpOperand &operand = op->getOpOperand(choices.below(op->getNumOperands()));
  if (auto other = pickTable(op, operand.get().getType()))
    operand.set(*other);
}

/// Another map, kind, axis or number, of which many are as valid as what was there.
void Changer::changeAttribute() {
  Operation *op = pickOp(/*withEnd=*/false);
  if (!op || op->getAttrs().empty())
    return;
  if (mlir::isa<LinearOp, DotOp>(op) && choices.below(4) == 0)
    return op->setAttr("guarded", builder.getUnitAttr());
  mlir::NamedAttribute attribute = pick(op->getAttrs());
  mlir::Attribute value = attribute.getValue();
  if (auto maps = mlir::dyn_cast<mlir::ArrayAttr>(value); maps && !maps.empty()) {
    SmallVector<mlir::Attribute> list(maps.getValue());
    list[choices.below(static_cast<uint32_t>(list.size()))] = MapAttr::get(builder.getContext(), pickMap());
    value = builder.getArrayAttr(list);
  } else if (mlir::isa<MapAttr>(value)) {
    value = MapAttr::get(builder.getContext(), pickMap());
  } else if (mlir::isa<ReduceKindAttr>(value)) {
    value = ReduceKindAttr::get(builder.getContext(), pickKind());
  } else if (mlir::isa<mlir::IntegerAttr>(value)) {
    value = builder.getI64IntegerAttr(choices.below(4));
  } else if (mlir::isa<mlir::FloatAttr>(value)) {
    static constexpr double kNumbers[] = {0.0, -0.0, 1.0, -1.0, 1e300, std::numeric_limits<double>::infinity()};
    value = builder.getF64FloatAttr(pick(kNumbers));
  } else if (mlir::isa<mlir::UnitAttr>(value)) {
    op->removeAttr(attribute.getName());
    return;
  }
  op->setAttr(attribute.getName(), value);
}

/// One size, element type or residency becomes another wherever the function has it.
void Changer::changeTypes() {
  Type elements[] = {builder.getF64Type(), builder.getF32Type(), builder.getF16Type(), builder.getBF16Type(),
                     builder.getI1Type()};
  static constexpr int64_t kSizes[] = {1, 2, 3, 5, 64, int64_t{1} << 20, int64_t{1} << 21, int64_t{1} << 40};
  SmallVector<int64_t> sizes;
  for (Type type : function.getArgumentTypes())
    if (auto rows = mlir::dyn_cast<RowsType>(type))
      sizes.append(rows.getShape().begin(), rows.getShape().end());
  mlir::AttrTypeReplacer replacer;
  uint32_t what = choices.below(4);
  Type element = pick(elements);
  auto residency = static_cast<Residency>(choices.below(getMaxEnumValForResidency() + 1));
  int64_t from = sizes.empty() ? 0 : pick(sizes), to = pick(kSizes);
  replacer.addReplacement([&](RowsType type) -> Type {
    SmallVector<int64_t> shape(type.getShape());
    if (what == 0)
      std::replace(shape.begin(), shape.end(), from, to);
    auto quiet = [&] { return mlir::emitError(location); };
    RowsType changed = RowsType::getChecked(quiet, builder.getContext(), type.getDomain(), llvm::ArrayRef(shape),
                                            what == 1 && !type.isBool() ? element : type.getElementType(),
                                            what == 2 ? residency : type.getResidency());
    return changed ? changed : type;
  });
  if (what == 3)  // one result alone
    if (Operation *op = pickOp(/*withEnd=*/false); op && op->getNumResults() == 1) {
      if (auto type = mlir::dyn_cast<RowsType>(op->getResult(0).getType()))
        op->getResult(0).setType(type.withDomain(static_cast<Domain>(choices.below(getMaxEnumValForDomain() + 1))));
      return;
    }
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

void Changer::changeReturn() {
  Operation &end = function.getBody().front().back();
  SmallVector<Value> values(end.getOperands());
  switch (choices.below(4)) {
  case 0:
    values.clear();
    break;
  case 1:
    if (!values.empty())
      values.erase(values.begin() + choices.below(static_cast<uint32_t>(values.size())));
    break;
  case 2:
    if (!values.empty())
      values.push_back(pick(values));
    break;
  default:
    if (auto table = pickTable(&end))
      values.insert(values.begin(), *table);
    break;
  }
  setReturned(values);
}

void Changer::changeGraph() {
  auto profile = [&]() -> mlir::DenseI64ArrayAttr {
    if (choices.below(2) == 0)
      return {};
    SmallVector<int64_t> counts;
    for (uint32_t length = choices.below(70); length > 0; --length)
      counts.push_back(pickNumber());
    return builder.getDenseI64ArrayAttr(counts);
  };
  int64_t numbers[6];
  for (int64_t &number : numbers)
    number = pickNumber();
  mlir::DenseI64ArrayAttr profiles[4];
  for (auto &counts : profiles)
    counts = profile();
  function->setAttr("flow.graph",
                    GraphAttr::get(builder.getContext(), numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
                                   numbers[5], choices.below(2), profiles[0], profiles[1], profiles[2], profiles[3]));
}

void Changer::copyFunction() {
  builder.setInsertionPointAfter(function);
  auto copy = mlir::cast<mlir::func::FuncOp>(builder.clone(*function));
  copy.setName(freshName());
}

//===- What is no flow -------------------------------------------------------------------------------------------===//

void Changer::addForeignOp() {
  Operation *point = pickOp(/*withEnd=*/true);
  builder.setInsertionPoint(point);
  mlir::OperationState state(location, "odd.op");
  auto table = pickTable(point);
  if (table)
    state.addOperands(*table);
  if (table && choices.below(2) == 0)
    state.addTypes(table->getType());
  else
    for (uint32_t count = choices.below(3); count > 0; --count)
      state.addTypes(pickType());
  if (choices.below(3) == 2) {
    mlir::Block &block = state.addRegion()->emplaceBlock();
    if (Operation *op = point->getPrevNode())
      block.push_back(op->clone());
  }
  Operation *op = builder.create(state);
  if (op->getNumResults() > 0)
    use(op->getResult(0));
}

void Changer::addForeignArgument() {
  Value argument = addArgument(pickType());
  if (choices.below(2) == 1)
    use(argument);
}

void Changer::addForeignAttribute() {
  static constexpr StringRef kNames[] = {"flow.graph", "flow.machine", "flow.forward_results", "flow.name",
                                         "flow.again", "flow.other",   "odd.attribute"};
  StringRef name = pick(kNames);
  mlir::Attribute value = pickAttribute();
  switch (choices.below(5)) {
  case 0:
    return module->setAttr(name, value);
  case 1:
    if (Operation *op = pickOp(/*withEnd=*/true))
      op->setAttr(name, value);
    return;
  case 2:
    if (function.getNumArguments() > 0)
      function.setArgAttr(choices.below(function.getNumArguments()), name, value);
    return;
  case 3:
    if (function.getNumResults() > 0)
      function.setResultAttr(choices.below(function.getNumResults()), name, value);
    return;
  default:
    return function->setAttr(name, value);
  }
}

void Changer::addDeclaration() {
  builder.setInsertionPoint(choices.below(2) == 0 ? function.getOperation() : &module.getBody()->front());
  Type type = choices.below(2) == 0 || function.getNumArguments() == 0 ? pickType() : function.getArgumentTypes()[0];
  auto declaration = builder.create<mlir::func::FuncOp>(location, freshName(), builder.getFunctionType(type, type));
  declaration.setPrivate();
}

void Changer::addCall() {
  Operation *point = pickOp(/*withEnd=*/true);
  auto table = pickTable(point);
  if (!table)
    return;
  builder.setInsertionPointToStart(module.getBody());
  auto callee = builder.create<mlir::func::FuncOp>(location, freshName(),
                                                   builder.getFunctionType(table->getType(), table->getType()));
  callee.setPrivate();
  builder.setInsertionPoint(point);
  use(builder.create<mlir::func::CallOp>(location, callee, mlir::ValueRange(*table)).getResult(0));
}

void Changer::splitBlock() {
  mlir::Block &first = function.getBody().front();
  mlir::Block *second = first.splitBlock(pickOp(/*withEnd=*/true));
  builder.setInsertionPointToEnd(&first);
  mlir::OperationState state(location, "odd.branch");
  state.addSuccessors(second);
  builder.create(state);
}

void Changer::replaceReturn() {
  Operation &end = function.getBody().front().back();
  builder.setInsertionPoint(&end);
  mlir::OperationState state(location, "odd.return");
  state.addOperands(end.getOperands());
  builder.create(state);
  end.erase();
}

void Changer::removeBody() {
  function.eraseBody();
  function.setPrivate();
}

void Changer::nestFunction() {
  builder.setInsertionPoint(function);
  auto nested = builder.create<mlir::ModuleOp>(location);
  function->moveBefore(nested.getBody(), nested.getBody()->end());
}

void Changer::run() {
  SmallVector<mlir::func::FuncOp> functions;
  for (auto candidate : module.getOps<mlir::func::FuncOp>())
    if (!candidate.isExternal() && !candidate.getBody().front().empty())
      functions.push_back(candidate);
  if (functions.empty())
    return;
  function = pick(functions);
  using Change = void (Changer::*)();
  static constexpr Change kInside[] = {&Changer::growFunction,  &Changer::growFunction, &Changer::growFunction,
                                       &Changer::dropOp,        &Changer::copyOp,       &Changer::changeOperand,
                                       &Changer::changeOperand, &Changer::changeReturn, &Changer::changeAttribute,
                                       &Changer::changeTypes,   &Changer::changeGraph,  &Changer::copyFunction};
  static constexpr Change kOutside[] = {
      &Changer::addForeignOp, &Changer::addForeignArgument, &Changer::addForeignAttribute, &Changer::addDeclaration,
      &Changer::addCall,      &Changer::splitBlock,         &Changer::replaceReturn,       &Changer::removeBody,
      &Changer::nestFunction};
  // Most changes leave functions of flow: a pass refuses others at once, and shows no more.
  Change change = choices.oneIn(8) ? pick(kOutside) : pick(kInside);
  (this->*change)();
}

}  // namespace

void changeModule(mlir::ModuleOp module, Choices &choices) {
  Changer(module, choices).run();
}

}  // namespace hector::fuzz
