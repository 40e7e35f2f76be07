/// The importer's state and its parts: statements (Statements.cpp), loops and names (Frames.cpp), expressions
/// (Expressions.cpp) and built-in functions (Builtins.cpp).
#pragma once

#include "compiler/Import/Import.h"
#include "compiler/Import/Items.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/Builders.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

namespace hector::importer {

/// The names of one function call, or of the model itself.
struct Scope {
  std::map<std::string, Slot> locals;
  const language::FunctionStmt *function = nullptr;
  bool isPrelude = false;
  language::Place call;
  int calledIn = kNoFrame;  // the innermost loop at the call
  Item result;
  bool hasReturned = false;
};

/// Rows to loop over, or numbers to unroll.
struct Iteration {
  bool isRange = false;
  std::vector<int64_t> numbers;
  flow::Domain domain = flow::Domain::Node;
  flow::Map up = flow::Map::Self;
  std::optional<Element> over;  // the element whose rows these are; nothing: all of the graph's
};

class Importer {
public:
  Importer(mlir::MLIRContext &context, const language::Module &module, const language::Signature &signature,
           const language::Binding &binding, mlir::FloatType elementType, language::Diagnostics &diagnostics,
           bool fold);
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  using Expr = language::Expr;
  using Place = language::Place;

  // Statements.cpp
  void runBlock(const language::Block &block);
  void runStatement(const language::Stmt &statement);
  void runAssign(const language::AssignStmt &statement);
  void runAugment(const language::AugmentStmt &statement);
  void runFor(const language::ForStmt &statement);
  void runIf(const language::IfStmt &statement);
  void runReturn(const language::ReturnStmt &statement);
  void assign(const Expr &target, Item value, Place place);
  void giveUp(const Expr &target);
  void giveUp(const language::Block &block);
  bool isLost(const std::string &table) const { return hasLostName || lostTables.count(table); }
  void accumulate(flow::ReduceKind kind, bool negate, const Expr &target, const Expr &value, Place place);
  bool isOuterTarget(const Expr &target);
  bool callsFunction(const Expr &expr) const;
  bool checkTarget(const Expr &target);
  struct Result {
    std::string name;
    Place place;
    flow::Domain domain;
    const Slot *slot;
  };
  std::optional<Result> resolveResult(const Expr &expr);
  bool checkResultName(const Result &result);
  std::optional<Result> resolveResultName(const std::string &name, Place place);
  Item callFunction(const language::FunctionStmt &function, bool isPrelude, const language::CallExpr &call);

  // Frames.cpp
  int openFrame(flow::Domain domain, int parent, flow::Map up, const std::string &variable, Place place,
                bool isGenerator);
  void closeFrame(int frame);
  int rootOf(int frame) const;
  bool isWithin(int frame, int ancestor) const;
  bool runsInside(int frame, int loop) const;
  bool isSameRows(const Element &row, int written, int loop) const;
  bool isReadElsewhere(const Slot &slot, int written) const;
  bool isWrittenElsewhere(const Slot &slot, int written) const;
  std::optional<flow::Map> pathUp(int frame, int ancestor) const;
  Element normalise(Element element) const;
  std::optional<flow::Map> mapFromHere(int frame, flow::Map map, Place place);
  std::optional<Iteration> readIterator(const Expr &expr);
  std::optional<int> openLoop(const Iteration &iteration, const std::string &variable, Place place, bool isStatement);
  Item readTable(const Element &element, const std::string &name, Place place);
  bool writeTable(const Element &element, const std::string &name, Item value, Place place);
  bool accumulateTable(const Element &element, const std::string &name, flow::ReduceKind kind, bool negate, Item value,
                       Place place);
  Item readLocal(Slot &slot, const std::string &name, Place place);
  void bindLocal(const std::string &name, Item value, Place place);
  void accumulateLocal(const std::string &name, flow::ReduceKind kind, bool negate, Item value, Place place);
  bool checkWrites(const std::string &who, Place place);
  bool checkGrowth(Slot &slot, const std::string &shown, flow::ReduceKind kind, int grows, Place place);
  Item grow(const Slot &slot, flow::Domain domain, flow::ReduceKind kind, bool negate, Item value, flow::Map via,
            Place place);
  Slot *findLocal(const std::string &name);

  // Expressions.cpp
  Item evaluate(const Expr &expr);
  Item evaluateKind(const Expr &expr);
  bool isTooMuchWork(const language::Block &block, int64_t rounds, Place place);
  Item evaluateName(const language::NameExpr &expr);
  Item evaluateAttribute(const language::AttributeExpr &expr);
  Item evaluateSubscript(const language::SubscriptExpr &expr);
  Item evaluateUnary(const language::UnaryExpr &expr);
  Item evaluateBinary(const language::BinaryExpr &expr);
  Item evaluateCompare(const language::CompareExpr &expr);
  Item evaluateLogical(const language::LogicalExpr &expr);
  Item evaluateConditional(const language::ConditionalExpr &expr);
  Item binary(language::BinaryOp op, const Item &left, const Item &right, Place place, Place leftPlace,
              Place rightPlace);
  Item numberBinary(language::BinaryOp op, const Number &left, const Number &right, Place place);
  Item indexRows(Rows rows, const std::vector<const Expr *> &indices, Place place);
  std::optional<bool> compileTimeTruth(const Expr &expr, std::string_view use);
  std::optional<int64_t> compileTimeInteger(const Expr &expr, std::string_view use);
  Item refuseFloat(const Expr &expr, double value);
  std::optional<std::string> subscriptName(const Expr &index);

  // Building ops. All dense ops go through `dense`, which picks the domain.
  struct Operand {
    Rows rows;
    Place place;
  };
  std::optional<Rows> toRows(const Item &item, Place place);
  std::optional<Rows> toNumbers(const Item &item, Place place);
  /// Creates `Op` on `operands` at the domain where it belongs; `shape` and `element` describe the result's rows.
  template <class Op>
  Item dense(Place place, llvm::ArrayRef<Operand> operands, llvm::ArrayRef<int64_t> shape, mlir::Type element,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return buildDense(Op::getOperationName(), place, operands, shape, element, attributes);
  }
  Item buildDense(llvm::StringRef name, Place place, llvm::ArrayRef<Operand> operands, llvm::ArrayRef<int64_t> shape,
                  mlir::Type element, llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value createDense(llvm::StringRef name, Place place, llvm::ArrayRef<std::pair<mlir::Value, flow::Map>> operands,
                          flow::RowsType result, llvm::ArrayRef<mlir::NamedAttribute> attributes);
  Item elementwise(llvm::StringRef name, const Item &a, const Item &b, Place place, Place aPlace, Place bPlace,
                   bool givesTruth);
  Item linear(const Item &x, const Item &weights, Place place, Place xPlace, Place weightsPlace);
  Item reshape(const Rows &rows, llvm::ArrayRef<int64_t> shape, Place place);
  Item transpose(const Rows &rows, Place place);
  mlir::Value materialise(const Rows &rows, Place place);
  mlir::Value constant(double value, Place place);

  // Builtins.cpp
  Item evaluateCall(const language::CallExpr &expr);
  Item callBuiltin(const std::string &name, const language::CallExpr &expr, bool &isKnown);
  Item reduceCall(flow::ReduceKind kind, const language::CallExpr &call);
  Item reduceGenerator(flow::ReduceKind kind, const language::GeneratorExpr &generator, Place place);
  Item unrollList(const language::GeneratorExpr &generator);
  Item reduceRow(flow::ReduceKind kind, const Item &item, const language::CallExpr &call);
  Item callReshape(const language::CallExpr &call);
  Item callConcat(const language::CallExpr &call);
  Item callSplit(const language::CallExpr &call);
  Item callTranspose(const language::CallExpr &call);
  Item callWhere(const language::CallExpr &call);
  Item callDot(const language::CallExpr &call, bool isOuter);
  Item callDropout(const language::CallExpr &call);
  std::optional<std::vector<const Expr *>> arguments(const language::CallExpr &call,
                                                     llvm::ArrayRef<std::string_view> names, size_t required);
  std::optional<int64_t> readAxis(const Expr *expr, int64_t rank, int64_t otherwise);
  static bool isBuiltin(std::string_view name);
  std::vector<std::string_view> functionNames() const;

  // Messages.
  language::Diagnostic &error(Place place, std::string message);
  Item fail(Place place, std::string message, std::string help = {});
  std::string describe(const Item &item) const;
  mlir::Location location(Place place);

  mlir::MLIRContext &context;
  const language::Module &module;
  const language::Signature &signature;
  const language::Binding &binding;
  mlir::FloatType elementType;
  language::Diagnostics &diagnostics;
  bool fold;

  mlir::OpBuilder builder;
  std::map<std::string, mlir::Value> inputs;
  std::map<std::string, const language::FunctionStmt *> functions;
  std::vector<Frame> frames;
  int current = kNoFrame;    // the innermost loop
  int loopRoot = kNoFrame;   // the outermost loop of the statement at hand
  std::deque<Scope> scopes;  // references to scopes stay valid while calls come and go
  std::map<std::pair<flow::Domain, std::string>, Slot> tables;
  std::set<std::string> lostTables;  // those whose assignment was wrong; reading them is no second error
  bool hasLostName = false;          // one of them had a name that is not known
  std::vector<Result> results;
  bool hasResults = false;
  const Expr *unused = nullptr;      // the call at hand, where nothing reads its value
  std::set<flow::Map> relationEnds;  // of `src_ntype`, `dst_ntype` those that the model finds from an edge type
  int writes = 0;                    // of tables, so far
  int64_t streams = 0;               // of dropouts, so far
  int depth = 0;
  int64_t work = 0;  // expressions evaluated so far, with what long strings and lists add to them
  static constexpr int64_t kMaxWork = 4'000'000;
  std::set<const language::FunctionStmt *> modest;  // functions that are certain to be no reason to look again
};

/// "node", "edge", "edge type", …: a domain as users call it.
std::string_view userName(flow::Domain domain);
/// "[4, 16]", or "one number" for scalars.
std::string formatRowShape(llvm::ArrayRef<int64_t> shape);
flow::Domain domainOf(language::Home home);

}  // namespace hector::importer
