#include "language/Parser.h"

#include "language/Lexer.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

namespace hector::language {

namespace {

/// How deep brackets, blocks and operators may stand inside each other. It bounds the parser's own recursion.
constexpr unsigned kMaxNesting = 256;
/// How high an expression's tree may grow: `a + b + c …` and `a.b.c …` nest to the left without any bracket.
/// It bounds the recursion of whoever walks or destroys the tree.
constexpr unsigned kMaxHeight = 1000;

/// An expression while its parents are being built; null after an error, which has been reported.
struct Tree {
  ExprPtr root;
  unsigned height = 0;
  Place extent;            // with the parentheses around it, which `root->place` leaves out
  bool bracketed = false;  // whether there are any
  explicit operator bool() const { return root != nullptr; }
};

/// What is said about a keyword that the language has no use for.
struct Refusal {
  std::string_view message;
  std::string_view help;
};

Refusal refusalOf(TokenKind keyword) {
  switch (keyword) {
  case TokenKind::Assert:
    return {"`assert` is not part of the language", "shapes are checked when the model is compiled; delete the line"};
  case TokenKind::Async:
    return {"`async` is not part of the language", "delete it; the compiler finds out what can run at the same time"};
  case TokenKind::Await:
    return {"`await` is not part of the language", "delete it; the compiler finds out what can run at the same time"};
  case TokenKind::Break:
    return {"`break` is not part of the language",
            "loops visit every row, in no particular order; choose values with `where(condition, a, b)`"};
  case TokenKind::Continue:
    return {"`continue` is not part of the language",
            "loops visit every row, in no particular order; choose values with `where(condition, a, b)`"};
  case TokenKind::Class:
    return {"`class` is not part of the language",
            "write the layer as a function, `def layer(g, x: Node[d]):`, with its weights as parameters"};
  case TokenKind::Del:
    return {"`del` is not part of the language", "delete the line; memory is planned by the compiler"};
  case TokenKind::Try:
  case TokenKind::Except:
  case TokenKind::Finally:
    return {"exceptions are not part of the language", "models cannot fail once they compile; delete the handler"};
  case TokenKind::Raise:
    return {"`raise` is not part of the language", "models cannot fail once they compile; delete the line"};
  case TokenKind::From:
  case TokenKind::Import:
    return {"imports are not part of the language",
            "functions are written in the same file; the built-in ones need no import"};
  case TokenKind::Global:
    return {"`global` is not part of the language", "pass the value as a parameter and `return` the result"};
  case TokenKind::Nonlocal:
    return {"`nonlocal` is not part of the language", "pass the value as a parameter and `return` the result"};
  case TokenKind::Is:
    return {"`is` is not part of the language", "compare with `==`"};
  case TokenKind::Lambda:
    return {"`lambda` is not part of the language", "write a function: `def name(x): return …`"};
  case TokenKind::None:
    return {"`None` is no value in the language",
            "leave the argument out, or write `0`; in brackets it adds an axis, as in `x[:, None]`"};
  case TokenKind::While:
    return {"`while` is not part of the language",
            "loops run over the graph (`g.nodes()`, `g.edges()`) or over `range(K)`"};
  case TokenKind::As:
    return {"`as` is not part of the language", "assign with `=`"};
  case TokenKind::With:
    return {"`with` is not part of the language", "write its body alone; nothing in a model needs to be closed"};
  case TokenKind::Yield:
    return {"`yield` is not part of the language", "list the results with `return a, b`"};
  default:
    return {"this is not part of the language", ""};
  }
}

std::optional<BinaryOp> augmentedOp(TokenKind kind) {
  switch (kind) {
  case TokenKind::PlusEqual:
    return BinaryOp::Add;
  case TokenKind::MinusEqual:
    return BinaryOp::Subtract;
  case TokenKind::StarEqual:
    return BinaryOp::Multiply;
  case TokenKind::SlashEqual:
    return BinaryOp::Divide;
  case TokenKind::SlashSlashEqual:
    return BinaryOp::FloorDivide;
  case TokenKind::PercentEqual:
    return BinaryOp::Modulo;
  case TokenKind::StarStarEqual:
    return BinaryOp::Power;
  case TokenKind::AtEqual:
    return BinaryOp::MatrixMultiply;
  default:
    return std::nullopt;
  }
}

std::optional<CompareOp> compareOp(TokenKind kind) {
  switch (kind) {
  case TokenKind::Less:
    return CompareOp::Less;
  case TokenKind::LessEqual:
    return CompareOp::LessEqual;
  case TokenKind::Greater:
    return CompareOp::Greater;
  case TokenKind::GreaterEqual:
    return CompareOp::GreaterEqual;
  case TokenKind::EqualEqual:
    return CompareOp::Equal;
  case TokenKind::NotEqual:
    return CompareOp::NotEqual;
  default:
    return std::nullopt;
  }
}

/// Python's precedences of infix operators, weakest first. Unary signs and `**` bind tighter still.
enum Level : int { kNone, kOr, kAnd, kNot, kCompare, kSum, kProduct };

struct Infix {
  Level level;
  BinaryOp op;  // of sums and products
};

Infix infixOf(TokenKind kind) {
  switch (kind) {
  case TokenKind::Or:
    return {kOr, {}};
  case TokenKind::And:
    return {kAnd, {}};
  case TokenKind::Plus:
    return {kSum, BinaryOp::Add};
  case TokenKind::Minus:
    return {kSum, BinaryOp::Subtract};
  case TokenKind::Star:
    return {kProduct, BinaryOp::Multiply};
  case TokenKind::Slash:
    return {kProduct, BinaryOp::Divide};
  case TokenKind::SlashSlash:
    return {kProduct, BinaryOp::FloorDivide};
  case TokenKind::Percent:
    return {kProduct, BinaryOp::Modulo};
  case TokenKind::At:
    return {kProduct, BinaryOp::MatrixMultiply};
  default:
    return {compareOp(kind) ? kCompare : kNone, {}};
  }
}

class Parser {
public:
  Parser(const Source &source, Diagnostics &diagnostics)
      : source(source), diagnostics(diagnostics), list(tokenize(source, diagnostics)) {}

  Module parseModule() {
    Module module;
    parseStatements(module.body);
    assert(at(TokenKind::EndOfFile) && "blocks are balanced");
    return module;
  }

private:
  // Tokens.
  const Token &current() const { return list.tokens[position]; }
  const Token &lookahead(size_t count = 1) const {
    return list.tokens[std::min(position + count, list.tokens.size() - 1)];
  }
  const Token &previous() const { return list.tokens[position - 1]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  void advance() {
    if (!at(TokenKind::EndOfFile))
      ++position;
  }
  bool accept(TokenKind kind) {
    if (!at(kind))
      return false;
    advance();
    return true;
  }
  Place place(const Token &token) const { return {&source, token.begin, token.end}; }
  std::string textOf(const Token &token) const { return std::string(place(token).text()); }
  /// From `first` to the last token read.
  Place placeSince(const Token &first) const { return {&source, first.begin, std::max(first.end, previous().end)}; }

  // Errors. All return false or null, so that a caller can report and give up in one line.
  Diagnostic &report(Place where, std::string message) { return diagnostics.error(where, std::move(message)); }
  bool failExpecting(std::string_view expected, std::string_view help = "");
  bool expect(TokenKind kind, std::string_view expected, std::string_view help = "");
  bool expectName(std::string_view expected, std::string &name, Place &where);
  bool refuse(Place where, std::string message, std::string help) {
    report(where, std::move(message)).suggest(std::move(help));
    return false;
  }
  bool refuseKeyword();
  std::string describe(const Token &token) const;
  std::string quote(Place where, std::string_view otherwise) const;

  // Depth.
  /// Counts one level of nesting while it lives; false if that is one too many, which has then been reported.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : parser(parser), fits(parser.nesting < kMaxNesting) {
      ++parser.nesting;
      if (!fits)
        parser.refuse(parser.place(parser.current()),
                      "this is nested deeper than " + std::to_string(kMaxNesting) + " levels",
                      "give the inner part a name, or put it into a function");
    }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    ~Nesting() { --parser.nesting; }
    explicit operator bool() const { return fits; }

  private:
    Parser &parser;
    bool fits;
  };
  template <class Node, class... Arguments> Tree make(unsigned height, Place where, Arguments &&...arguments);

  // Statements.
  void parseStatements(Block &out);
  void parseNestedStatements(Block &out);
  void recover();
  void skipBlock();
  bool parseStatement(Block &out, bool afterFailure);
  bool parseSimpleLine(Block &out);
  bool parseSimple(Block &out);
  bool parseBlock(const Token &keyword, Place header, Block &out);
  bool parseFunction(Block &out);
  bool parseParameter(std::vector<Parameter> &out);
  bool parseDecorators(Block &out);
  bool parseFor(Block &out);
  bool parseLoopVariable(std::string &name, Place &where);
  bool parseIf(Block &out);
  bool parseReturn(Block &out);
  bool parseExpressionStatement(Block &out);
  bool parseDeclaration(Tree target, const Token &first, Block &out);
  bool checkTarget(const Tree &target, bool single);
  bool checkTarget(const Expr &target, bool single);
  bool checkCondition(std::string_view of);
  bool refuseUseless(const Tree &value);

  // Expressions.
  Tree parseExpressionList();
  Tree parseExpression();
  Tree parseInfix(Level level);
  Tree parseNot(Level level);
  Tree parseUnary();
  Tree parsePower();
  Tree parsePostfix();
  Tree parseAttribute(Tree base);
  Tree parseCall(Tree callee);
  bool parseArgument(CallExpr &call, std::map<std::string, Place, std::less<>> &names, unsigned &height);
  Tree parseSubscript(Tree base);
  Tree parseIndex();
  Tree parseAtom();
  bool refuseIncrement();
  Tree parseBracketed();
  Tree parseGenerator(Tree body);

  const Source &source;
  Diagnostics &diagnostics;
  TokenList list;
  size_t position = 0;
  unsigned nesting = 0;        // of expressions
  unsigned blocks = 0;         // open around the current token, and `elif`s, whose trees nest like blocks
  bool skipNextBlock = false;  // set by a refused header whose block has another grammar
};

template <class Node, class... Arguments> Tree Parser::make(unsigned height, Place where, Arguments &&...arguments) {
  if (height > kMaxHeight) {
    refuse(where, "this expression is more than " + std::to_string(kMaxHeight) + " operations deep",
           "give parts of it names");
    return {};
  }
  return {std::make_unique<Node>(where, std::forward<Arguments>(arguments)...), height, where};
}

// ---- errors

/// How a token is called in `found …`.
std::string Parser::describe(const Token &token) const {
  constexpr size_t kMaxQuoted = 40;
  switch (token.kind) {
  case TokenKind::EndOfFile:
    return "the end of the file";
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::String:
    return "a string";
  default:
    std::string text = textOf(token);
    return "`" + (text.size() > kMaxQuoted ? text.substr(0, kMaxQuoted) + "…" : text) + "`";
  }
}

/// Source text for use in a hint, if it is short and on one line.
std::string Parser::quote(Place where, std::string_view otherwise) const {
  constexpr size_t kMaxQuoted = 40;
  std::string_view text = where.text();
  bool plain = text.size() <= kMaxQuoted && std::all_of(text.begin(), text.end(), [](char c) {
                 return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
               });
  return std::string(plain ? text : otherwise);
}

/// Reports that the current token cannot stand here. Tokens that can stand nowhere bring their own message.
bool Parser::failExpecting(std::string_view expected, std::string_view help) {
  const Token &token = current();
  if (token.kind == TokenKind::Error) {
    const Diagnostic &fault = list.errors[token.value];
    Diagnostic &error = report(fault.place, fault.message).suggest(fault.help);
    error.notes = fault.notes;
    return false;
  }
  if (isRefusedKeyword(token.kind))
    return refuseKeyword();
  switch (token.kind) {
  case TokenKind::Walrus:
    return refuse(place(token), "`:=` is not part of the language", "assign on a line of its own: `x = …`");
  case TokenKind::Ellipsis:
    return refuse(place(token), "`...` is not part of the language",
                  "write out what it stands for; an empty block is `pass`, a whole axis `:`");
  case TokenKind::LeftBrace:
    return refuse(place(token), "dictionaries and sets are not part of the language",
                  "data is stored by name on nodes and edges: `n[\"h\"] = …`; lists are written `[a, b]`");
  default:
    report(place(token), "expected " + std::string(expected) + ", found " + describe(token)).suggest(std::string(help));
    return false;
  }
}

bool Parser::expect(TokenKind kind, std::string_view expected, std::string_view help) {
  return accept(kind) || failExpecting(expected, help);
}

bool Parser::refuseKeyword() {
  Refusal refusal = refusalOf(current().kind);
  return refuse(place(current()), std::string(refusal.message), std::string(refusal.help));
}

bool Parser::expectName(std::string_view expected, std::string &name, Place &where) {
  if (isKeyword(current().kind))
    return refuse(place(current()), "`" + textOf(current()) + "` is a keyword of Python and cannot be a name",
                  "choose another name, such as `" + textOf(current()) + "_`");
  if (!at(TokenKind::Name))
    return failExpecting(expected);
  name = textOf(current());
  where = place(current());
  advance();
  return true;
}

// ---- statements and recovery
//
// A statement that fails stops somewhere inside its logical line; `recover` then moves to the next one. Whatever is
// wrong after the line's end (a missing block) is reported without failing, so recovery never skips good lines.

void Parser::parseStatements(Block &out) {
  bool failed = false;
  while (!at(TokenKind::EndOfFile) && !at(TokenKind::Dedent)) {
    if (at(TokenKind::Indent)) {
      refuse(place(lookahead()), "this line is indented deeper than the lines before it",
             "indent it like them; a block begins after a line that ends in `:`");
      parseNestedStatements(out);
      continue;
    }
    failed = !parseStatement(out, failed);
    if (failed)
      recover();
  }
}

/// Parses from an `Indent` to behind its `Dedent`.
void Parser::parseNestedStatements(Block &out) {
  if (blocks >= kMaxNesting) {
    skipBlock();
    return;
  }
  ++blocks;
  advance();
  parseStatements(out);
  accept(TokenKind::Dedent);
  --blocks;
}

/// Skips an indented block. A loop, for it may be nested deeper than the stack.
void Parser::skipBlock() {
  size_t depth = 0;
  do {
    if (at(TokenKind::Indent))
      ++depth;
    if (at(TokenKind::Dedent))
      --depth;
    advance();
  } while (depth > 0 && !at(TokenKind::EndOfFile));
}

/// Goes to the next line. Lines below a bad header are still read, for errors of their own.
void Parser::recover() {
  while (!at(TokenKind::Newline) && !at(TokenKind::EndOfFile))
    advance();
  accept(TokenKind::Newline);
  bool skip = std::exchange(skipNextBlock, false);
  if (!at(TokenKind::Indent))
    return;
  if (skip) {
    skipBlock();
    return;
  }
  Block unused;
  parseNestedStatements(unused);
}

/// Parses one line or compound statement. `afterFailure` says that the statement before was bad, so that
/// an `else` here may be its.
bool Parser::parseStatement(Block &out, bool afterFailure) {
  const Token &token = current();
  TokenKind next = lookahead().kind;
  if (isKeyword(token.kind) && (next == TokenKind::Equal || augmentedOp(next))) {
    std::string name;
    Place where;
    return expectName("", name, where);
  }
  switch (token.kind) {
  case TokenKind::Def:
    return parseFunction(out);
  case TokenKind::At:
    return parseDecorators(out);
  case TokenKind::For:
    return parseFor(out);
  case TokenKind::If:
    return parseIf(out);
  case TokenKind::Elif:
  case TokenKind::Else:
    if (!afterFailure)
      refuse(place(token), "this `" + textOf(token) + "` has no `if` before it", "indent it like its `if`");
    return false;
  case TokenKind::Except:
  case TokenKind::Finally:
    return afterFailure ? false : refuseKeyword();
  default:
    return parseSimpleLine(out);
  }
}

/// Simple statements separated by `;` up to the end of the line.
bool Parser::parseSimpleLine(Block &out) {
  do {
    if (at(TokenKind::Newline))
      break;
    if (!parseSimple(out))
      return false;
  } while (accept(TokenKind::Semicolon));
  if (at(TokenKind::EndOfFile) || accept(TokenKind::Newline))
    return true;
  if (at(TokenKind::For))
    return failExpecting("the end of the line", "values for each element go between brackets: `[f(x) for x in …]`");
  if (at(TokenKind::Equal))
    return failExpecting("the end of the line", "one `=` assigns, `==` compares");
  return failExpecting("the end of the line", at(TokenKind::Name) || at(TokenKind::String) || at(TokenKind::Integer)
                                                  ? "an operator, a comma or a bracket is missing before it"
                                                  : "");
}

bool Parser::parseSimple(Block &out) {
  const Token &token = current();
  switch (token.kind) {
  case TokenKind::Return:
    return parseReturn(out);
  case TokenKind::Pass:
    advance();
    out.push_back(std::make_unique<PassStmt>(place(token)));
    return true;
  case TokenKind::Def:
  case TokenKind::For:
  case TokenKind::If:
    return refuse(place(token), "`" + textOf(token) + "` cannot follow another statement on its line",
                  "put it on a line of its own");
  case TokenKind::Name: {
    TokenKind next = lookahead().kind;
    bool subject = next == TokenKind::Name || next == TokenKind::String || next == TokenKind::Integer;
    if (textOf(token) == "match" && subject) {
      skipNextBlock = true;
      return refuse(place(token), "`match` is not part of the language", "write `if`, `elif` and `else`");
    }
    return parseExpressionStatement(out);
  }
  case TokenKind::Semicolon:
    return failExpecting("a statement");
  default:
    return isRefusedKeyword(token.kind) && token.kind != TokenKind::None ? refuseKeyword()
                                                                         : parseExpressionStatement(out);
  }
}

/// Parses `:` and the block below, or the statements behind it. `header` is what the block belongs to.
bool Parser::parseBlock(const Token &keyword, Place header, Block &out) {
  std::string word = textOf(keyword);
  bool colon = !at(TokenKind::Newline);
  if (!colon)
    refuse(place(current()), "expected `:` at the end of this `" + word + "`", "");
  else if (!expect(TokenKind::Colon, "`:` after this `" + word + "`"))
    return false;
  if (!at(TokenKind::Newline))
    return parseSimpleLine(out);
  advance();
  if (!at(TokenKind::Indent)) {
    if (colon)
      refuse(header, "expected an indented block after this `" + word + "`", "write `pass` if it does nothing");
    return true;
  }
  if (blocks >= kMaxNesting) {
    refuse(header, "blocks are nested deeper than " + std::to_string(kMaxNesting) + " levels",
           "put the inner part into a function");
    skipBlock();
    return true;
  }
  parseNestedStatements(out);
  return true;
}

bool Parser::parseDecorators(Block &out) {
  Place decorator;
  while (at(TokenKind::At)) {
    const Token &first = current();
    advance();
    if (!parseExpression())
      return false;
    decorator = placeSince(first);
    if (!expect(TokenKind::Newline, "the end of the line after this decorator"))
      return false;
  }
  if (at(TokenKind::Def))
    return parseFunction(out);
  // What follows is read as usual, and may bring a message of its own.
  if (!at(TokenKind::Indent) && !isRefusedKeyword(current().kind) && !at(TokenKind::Error))
    refuse(decorator, "a decorator stands before a `def`", "delete this line");
  return true;
}

bool Parser::parseFunction(Block &out) {
  const Token &keyword = current();
  advance();
  std::string name;
  Place namePlace;
  if (!expectName("the function's name after `def`", name, namePlace))
    return false;
  if (at(TokenKind::Colon) || at(TokenKind::Newline))
    return refuse(namePlace, "the function `" + quote(namePlace, "…") + "` has no parentheses",
                  "write `def " + quote(namePlace, "…") + "():`, with its parameters between them");
  if (!expect(TokenKind::LeftParen, "`(` after the function's name"))
    return false;
  std::vector<Parameter> parameters;
  while (!at(TokenKind::RightParen)) {
    if (!parseParameter(parameters))
      return false;
    if (!at(TokenKind::RightParen) && !expect(TokenKind::Comma, "`,` or `)` after this parameter"))
      return false;
  }
  advance();
  // What a function returns is known without `-> …`; it is Python's to write and ignored here, `None` included.
  if (accept(TokenKind::Arrow) && !accept(TokenKind::None) && !parseExpression())
    return false;
  Place header = placeSince(keyword);
  Block body;
  if (!parseBlock(keyword, header, body))
    return false;
  out.push_back(
      std::make_unique<FunctionStmt>(header, std::move(name), namePlace, std::move(parameters), std::move(body)));
  return true;
}

bool Parser::parseParameter(std::vector<Parameter> &out) {
  if (at(TokenKind::Star) || at(TokenKind::StarStar) || at(TokenKind::Slash))
    return refuse(place(current()), "`" + textOf(current()) + "` is not part of the language in a list of parameters",
                  "name every parameter");
  Parameter parameter;
  if (!expectName("a parameter's name", parameter.name, parameter.place))
    return false;
  if (accept(TokenKind::Colon)) {
    parameter.annotation = parseExpression().root;
    if (!parameter.annotation)
      return false;
  }
  if (accept(TokenKind::Equal)) {
    parameter.value = parseExpression().root;
    if (!parameter.value)
      return false;
  } else if (!out.empty() && out.back().value) {
    report(parameter.place,
           "the parameter `" + quote(parameter.place, "…") + "` needs a default, for one before it has one")
        .note(out.back().place, "this parameter has a default")
        .suggest("put parameters with defaults last");
    return false;
  }
  out.push_back(std::move(parameter));
  return true;
}

/// The variable of a loop or generator and `in`.
bool Parser::parseLoopVariable(std::string &name, Place &where) {
  bool several = at(TokenKind::LeftParen) || at(TokenKind::LeftBracket) ||
                 (at(TokenKind::Name) && lookahead().kind == TokenKind::Comma);
  if (several) {
    Place variables = place(current());
    while (!at(TokenKind::In) && !at(TokenKind::Newline) && !at(TokenKind::EndOfFile)) {
      variables = join(variables, place(current()));
      advance();
    }
    return refuse(variables, "a loop has one variable here",
                  "the ends and the type of an edge `e` are `e.src`, `e.dst` and `e.etype`");
  }
  if (at(TokenKind::Name) && lookahead().kind == TokenKind::Dot)
    return refuse(place(current()), "a loop's variable is a plain name", "write `for n in …:`");
  if (at(TokenKind::In) && lookahead().kind != TokenKind::In)
    return failExpecting("the loop's variable after `for`");
  return expectName("the loop's variable after `for`", name, where) &&
         expect(TokenKind::In, "`in` after the loop's variable");
}

bool Parser::parseFor(Block &out) {
  const Token &keyword = current();
  advance();
  std::string variable;
  Place variablePlace;
  if (!parseLoopVariable(variable, variablePlace))
    return false;
  Tree iterator = parseExpression();
  if (!iterator)
    return false;
  Place header = placeSince(keyword);
  Block body;
  if (!parseBlock(keyword, header, body))
    return false;
  out.push_back(
      std::make_unique<ForStmt>(header, std::move(variable), variablePlace, std::move(iterator.root), std::move(body)));
  if (at(TokenKind::Else) && lookahead().kind == TokenKind::Colon)
    return refuse(place(current()), "a `for` has no `else` here", "write what follows the loop below it");
  return true;
}

/// After a condition: `=` where `==` is meant.
bool Parser::checkCondition(std::string_view of) {
  if (!at(TokenKind::Equal))
    return true;
  return refuse(place(current()), "`=` assigns, but this is the condition of " + std::string(of), "compare with `==`");
}

/// Parses from `if` or `elif`; what follows the first block becomes `otherwise`.
bool Parser::parseIf(Block &out) {
  const Token &keyword = current();
  advance();
  Tree condition = parseExpression();
  if (!condition || !checkCondition("an `" + textOf(keyword) + "`"))
    return false;
  Place header = placeSince(keyword);
  Block then, otherwise;
  if (!parseBlock(keyword, header, then))
    return false;
  if (at(TokenKind::Elif)) {
    if (blocks + 1 >= kMaxNesting)  // its block needs a level, too
      return refuse(place(current()), "an `if` has more than " + std::to_string(kMaxNesting) + " branches",
                    "look the value up in a table: `W[e.etype]`");
    ++blocks;
    bool parsed = parseIf(otherwise);
    --blocks;
    if (!parsed)
      return false;
  } else if (at(TokenKind::Else)) {
    const Token &alternative = current();
    advance();
    if (at(TokenKind::If))
      return refuse(join(place(alternative), place(current())), "an `else` has no condition", "write `elif`");
    if (!parseBlock(alternative, place(alternative), otherwise))
      return false;
  }
  out.push_back(std::make_unique<IfStmt>(header, std::move(condition.root), std::move(then), std::move(otherwise)));
  return true;
}

bool Parser::parseReturn(Block &out) {
  const Token &keyword = current();
  advance();
  std::vector<ExprPtr> values;
  if (!at(TokenKind::Newline) && !at(TokenKind::Semicolon) && !at(TokenKind::EndOfFile)) {
    Tree value = parseExpressionList();
    if (!value)
      return false;
    // `return (a, b)` gives the same two results as `return a, b`; a list in brackets is one.
    auto *tuple = value.root->kind == ExprKind::Tuple ? static_cast<TupleExpr *>(value.root.get()) : nullptr;
    bool list = value.bracketed && value.root->place.text().starts_with('[');
    if (tuple && !list && !tuple->items.empty())
      values = std::move(tuple->items);
    else
      values.push_back(std::move(value.root));
  }
  out.push_back(std::make_unique<ReturnStmt>(placeSince(keyword), std::move(values)));
  return true;
}

/// Everything that begins with an expression: assignments, declarations, calls.
bool Parser::parseExpressionStatement(Block &out) {
  const Token &first = current();
  Tree target = parseExpressionList();
  if (!target)
    return false;
  if (at(TokenKind::Colon))
    return parseDeclaration(std::move(target), first, out);
  if (accept(TokenKind::Equal)) {
    if (!checkTarget(target, false))
      return false;
    Tree value = parseExpressionList();
    if (!value)
      return false;
    if (at(TokenKind::Equal))
      return refuse(place(current()), "assignments cannot be chained",
                    "write two lines, `a = …` and `b = a`; `==` compares");
    out.push_back(std::make_unique<AssignStmt>(placeSince(first), std::move(target.root), std::move(value.root)));
    return true;
  }
  if (std::optional<BinaryOp> op = augmentedOp(current().kind)) {
    advance();
    if (!checkTarget(target, true))
      return false;
    Tree value = parseExpressionList();
    if (!value)
      return false;
    out.push_back(std::make_unique<AugmentStmt>(placeSince(first), *op, std::move(target.root), std::move(value.root)));
    return true;
  }
  // Only at the statement's end is it known to be useless: `x y` is another mistake.
  if (!at(TokenKind::Newline) && !at(TokenKind::Semicolon) && !at(TokenKind::EndOfFile))
    return true;
  if (target.root->kind == ExprKind::String)
    return true;
  if (target.root->kind != ExprKind::Call) {
    refuseUseless(target);
    return true;
  }
  out.push_back(std::make_unique<EvaluateStmt>(placeSince(first), std::move(target.root)));
  return true;
}

bool Parser::refuseUseless(const Tree &value) {
  const Expr &root = *value.root;
  std::string help = "assign it to a name, or delete it";
  if (const auto *compare = as<CompareExpr>(root); compare && compare->op == CompareOp::Equal)
    help = "`==` compares; assign with `=`";
  else if (root.kind == ExprKind::Name && root.place.text() == "print")
    help = "results are listed with `return`";
  else if (root.kind == ExprKind::Name || root.kind == ExprKind::Attribute)
    help = "call it, `" + quote(value.extent, "…") + "(…)`, assign it, or delete it";
  return refuse(value.extent, "this has no effect", std::move(help));
}

/// `name: annotation [= value]`, from the colon.
bool Parser::parseDeclaration(Tree target, const Token &first, Block &out) {
  if (target.root->kind != ExprKind::Name || target.bracketed) {
    bool call = target.root->kind == ExprKind::Call;
    std::string text = quote(target.extent, "…");
    return refuse(target.extent, "only a name can be declared with `:`",
                  call ? "a function starts with `def`: `def " + text + ":`"
                       : "write `name: Node[d]`, or `=` to assign");
  }
  advance();
  Parameter parameter;
  parameter.name = static_cast<NameExpr &>(*target.root).name;
  parameter.place = target.root->place;
  if (at(TokenKind::Newline))
    return failExpecting("where the data lives after `" + quote(parameter.place, "…") + ":`",
                         "such as `Node[d]`, `Edge[d]`, `EdgeType[d, d]` or `Shared[d]`");
  parameter.annotation = parseExpression().root;
  if (!parameter.annotation)
    return false;
  if (accept(TokenKind::Equal)) {
    parameter.value = parseExpressionList().root;
    if (!parameter.value)
      return false;
  }
  out.push_back(std::make_unique<DeclareStmt>(placeSince(first), std::move(parameter)));
  return true;
}

bool Parser::checkTarget(const Tree &target, bool single) {
  const auto *tuple = as<TupleExpr>(target.root);
  if (!tuple || single)
    return checkTarget(*target.root, single);
  if (tuple->items.empty())
    return refuse(target.extent, "nothing is assigned here", "write a name on the left of `=`");
  return std::all_of(tuple->items.begin(), tuple->items.end(),
                     [&](const ExprPtr &item) { return checkTarget(*item, single); });
}

bool Parser::checkTarget(const Expr &target, bool single) {
  switch (target.kind) {
  case ExprKind::Name:
  case ExprKind::Subscript:
    return true;
  case ExprKind::Attribute: {
    const auto &attribute = static_cast<const AttributeExpr &>(target);
    std::string data = quote(attribute.base->place, "n") + "[\"new_" + quote(attribute.namePlace, "x") + "\"]";
    return refuse(target.place, "`" + quote(target.place, "this") + "` is an input and cannot be written",
                  "what the model computes is kept by subscript, under a name of its own: `" + data + " = …`");
  }
  case ExprKind::Tuple:
    return refuse(target.place, single ? "several targets cannot be updated at once" : "targets cannot be nested",
                  single ? "write one line for each" : "write the names one after another: `a, b, c = …`");
  case ExprKind::Call:
    return refuse(target.place, "a call cannot be assigned to", "assign to a name, or to data such as `n[\"h\"]`");
  case ExprKind::Compare:
    return refuse(target.place, "a comparison cannot be assigned to", "one `=` assigns, `==` compares");
  default:
    return refuse(target.place, "this cannot be assigned to", "assign to a name, or to data such as `n[\"h\"]`");
  }
}

// ---- expressions

/// `a`, or `a, b` without parentheses.
Tree Parser::parseExpressionList() {
  Tree first = parseExpression();
  if (!first || !at(TokenKind::Comma))
    return first;
  Place extent = first.extent;
  unsigned height = first.height;
  std::vector<ExprPtr> items;
  items.push_back(std::move(first.root));
  while (at(TokenKind::Comma)) {
    extent = join(extent, place(current()));
    advance();
    // A comma may be the last: what can follow a list begins no expression.
    bool ends = at(TokenKind::Newline) || at(TokenKind::Semicolon) || at(TokenKind::EndOfFile) ||
                at(TokenKind::Equal) || at(TokenKind::Colon) || augmentedOp(current().kind);
    if (ends)
      break;
    Tree item = parseExpression();
    if (!item)
      return {};
    height = std::max(height, item.height);
    extent = join(extent, item.extent);
    items.push_back(std::move(item.root));
  }
  return make<TupleExpr>(height + 1, extent, std::move(items));
}

Tree Parser::parseExpression() {
  Nesting level(*this);
  if (!level)
    return {};
  Tree then = parseInfix(kOr);
  if (!then || !at(TokenKind::If))
    return then;
  advance();
  Tree condition = parseInfix(kOr);
  if (!condition || !checkCondition("a choice"))
    return {};
  if (!expect(TokenKind::Else, "`else` after the condition of this choice", "write `a if condition else b`"))
    return {};
  Tree otherwise = parseExpression();
  if (!otherwise)
    return {};
  unsigned height = std::max({then.height, condition.height, otherwise.height}) + 1;
  return make<ConditionalExpr>(height, join(then.extent, otherwise.extent), std::move(condition.root),
                               std::move(then.root), std::move(otherwise.root));
}

/// Infix operators of at least `level`, by precedence climbing.
Tree Parser::parseInfix(Level level) {
  Tree left = at(TokenKind::Not) ? parseNot(level) : parseUnary();
  bool compared = false;  // whether `left` is a comparison without parentheses
  while (left) {
    const Token &token = current();
    Infix infix = infixOf(token.kind);
    bool membership =
        token.kind == TokenKind::In || (token.kind == TokenKind::Not && lookahead().kind == TokenKind::In);
    if (level <= kCompare && membership) {
      refuse(join(place(token), place(token.kind == TokenKind::In ? token : lookahead())),
             std::string(token.kind == TokenKind::In ? "`in`" : "`not in`") + " is not part of the language",
             "compare with each value: `x == a or x == b`");
      return {};
    }
    if (infix.level == kNone || infix.level < level)
      return left;
    if (infix.level == kCompare && compared) {
      refuse(place(token), "comparisons cannot be chained", "write `a < b and b < c`");
      return {};
    }
    advance();
    Tree right = parseInfix(static_cast<Level>(infix.level + 1));
    if (!right)
      return {};
    Place extent = join(left.extent, right.extent);
    unsigned height = std::max(left.height, right.height) + 1;
    compared = infix.level == kCompare;
    if (compared)
      left = make<CompareExpr>(height, extent, *compareOp(token.kind), std::move(left.root), std::move(right.root));
    else if (infix.level <= kAnd)
      left = make<LogicalExpr>(height, extent, infix.level == kOr ? LogicalOp::Or : LogicalOp::And,
                               std::move(left.root), std::move(right.root));
    else
      left = make<BinaryExpr>(height, extent, infix.op, std::move(left.root), std::move(right.root));
  }
  return left;
}

Tree Parser::parseNot(Level level) {
  Nesting nested(*this);
  if (!nested)
    return {};
  const Token &token = current();
  if (level > kNot) {
    refuse(place(token), "`not` binds weaker than the operator before it", "put parentheses around it: `(not x)`");
    return {};
  }
  advance();
  Tree operand = parseInfix(kNot);
  if (!operand)
    return {};
  return make<UnaryExpr>(operand.height + 1, join(place(token), operand.extent), UnaryOp::Not, std::move(operand.root));
}

Tree Parser::parseUnary() {
  if (!at(TokenKind::Minus) && !at(TokenKind::Plus))
    return parsePower();
  Nesting level(*this);
  if (!level)
    return {};
  const Token &token = current();
  advance();
  Tree operand = parseUnary();
  if (!operand)
    return {};
  UnaryOp op = token.kind == TokenKind::Minus ? UnaryOp::Negate : UnaryOp::Plus;
  return make<UnaryExpr>(operand.height + 1, join(place(token), operand.extent), op, std::move(operand.root));
}

Tree Parser::parsePower() {
  Tree base = parsePostfix();
  if (!base || !at(TokenKind::StarStar))
    return base;
  Nesting level(*this);
  if (!level)
    return {};
  advance();
  Tree exponent = parseUnary();
  if (!exponent)
    return {};
  return make<BinaryExpr>(std::max(base.height, exponent.height) + 1, join(base.extent, exponent.extent),
                          BinaryOp::Power, std::move(base.root), std::move(exponent.root));
}

Tree Parser::parsePostfix() {
  Tree tree = parseAtom();
  while (tree) {
    if (at(TokenKind::Dot))
      tree = parseAttribute(std::move(tree));
    else if (at(TokenKind::LeftParen))
      tree = parseCall(std::move(tree));
    else if (at(TokenKind::LeftBracket))
      tree = parseSubscript(std::move(tree));
    else
      return tree;
  }
  return tree;
}

Tree Parser::parseAttribute(Tree base) {
  advance();
  std::string name;
  Place namePlace;
  if (!expectName("a name after `.`", name, namePlace))
    return {};
  return make<AttributeExpr>(base.height + 1, join(base.extent, namePlace), std::move(base.root), std::move(name),
                             namePlace);
}

Tree Parser::parseCall(Tree callee) {
  advance();
  // Collected in a node so that arguments have one place to go to; the real one is made when its place is known.
  CallExpr call({}, nullptr, {}, {});
  std::map<std::string, Place, std::less<>> names;
  unsigned height = callee.height;
  while (!at(TokenKind::RightParen)) {
    if (!parseArgument(call, names, height))
      return {};
    if (!at(TokenKind::RightParen) && !expect(TokenKind::Comma, "`,` or `)` after this argument"))
      return {};
  }
  Place extent = join(callee.extent, place(current()));
  advance();
  return make<CallExpr>(height + 1, extent, std::move(callee.root), std::move(call.arguments),
                        std::move(call.keywords));
}

bool Parser::parseArgument(CallExpr &call, std::map<std::string, Place, std::less<>> &names, unsigned &height) {
  const Token &first = current();
  if (at(TokenKind::Star) || at(TokenKind::StarStar))
    return refuse(place(first), "arguments cannot be unpacked with `" + textOf(first) + "`",
                  "write the arguments one by one");
  bool named = (at(TokenKind::Name) || isKeyword(first.kind)) && lookahead().kind == TokenKind::Equal;
  if (named) {
    Keyword keyword;
    if (!expectName("", keyword.name, keyword.namePlace))
      return false;
    advance();
    if (auto [earlier, isNew] = names.emplace(keyword.name, keyword.namePlace); !isNew) {
      report(keyword.namePlace, "the argument `" + quote(keyword.namePlace, "…") + "` is given twice")
          .note(earlier->second, "it is given here already");
      return false;
    }
    Tree value = parseExpression();
    if (!value)
      return false;
    height = std::max(height, value.height);
    keyword.value = std::move(value.root);
    call.keywords.push_back(std::move(keyword));
    return true;
  }
  Tree value = parseExpression();
  if (!value)
    return false;
  if (at(TokenKind::For)) {
    value = parseGenerator(std::move(value));
    if (!value)
      return false;
    bool alone = call.arguments.empty() && call.keywords.empty() && at(TokenKind::RightParen);
    if (!alone && (at(TokenKind::Comma) || at(TokenKind::RightParen)))
      return refuse(value.extent, "a generator that is not the only argument needs parentheses",
                    "write `f((… for …), b)`");
  }
  if (at(TokenKind::Equal))
    return refuse(place(current()), "only a name can stand before `=` in a call",
                  "compare with `==`, or name an argument: `axis=0`");
  if (!call.keywords.empty()) {
    const Keyword &last = call.keywords.back();
    report(value.extent, "this argument has no name, but the one before it has")
        .note(last.namePlace, "`" + quote(last.namePlace, "…") + "` is given by name")
        .suggest("put arguments without a name first");
    return false;
  }
  height = std::max(height, value.height);
  call.arguments.push_back(std::move(value.root));
  return true;
}

Tree Parser::parseSubscript(Tree base) {
  advance();
  unsigned height = base.height;
  std::vector<ExprPtr> items;
  Place extent;
  bool comma = false;
  while (!at(TokenKind::RightBracket)) {
    Tree item = parseIndex();
    if (!item)
      return {};
    height = std::max(height, item.height);
    extent = join(extent, item.extent);
    items.push_back(std::move(item.root));
    if (at(TokenKind::RightBracket))
      break;
    extent = join(extent, place(current()));
    comma = true;
    if (!expect(TokenKind::Comma, "`,` or `]` after this index"))
      return {};
  }
  Place whole = join(base.extent, place(current()));
  advance();
  ExprPtr index;
  if (comma) {
    Tree tuple = make<TupleExpr>(height + 1, extent, std::move(items));
    if (!tuple)
      return {};
    height = tuple.height;
    index = std::move(tuple.root);
  } else if (!items.empty()) {
    index = std::move(items.front());
  }
  return make<SubscriptExpr>(height + 1, whole, std::move(base.root), std::move(index));
}

/// One index: an expression, `begin:end`, or `None` for a new axis.
Tree Parser::parseIndex() {
  const Token &first = current();
  TokenKind next = lookahead().kind;
  if (at(TokenKind::None) && (next == TokenKind::Comma || next == TokenKind::RightBracket)) {
    advance();
    return make<NoneExpr>(1, place(first));
  }
  Tree begin, end;
  if (!at(TokenKind::Colon)) {
    begin = parseExpression();
    if (!begin || !at(TokenKind::Colon))
      return begin;
  }
  Place extent = begin ? join(begin.extent, place(current())) : place(first);
  advance();
  if (!at(TokenKind::Comma) && !at(TokenKind::RightBracket) && !at(TokenKind::Colon)) {
    end = parseExpression();
    if (!end)
      return {};
    extent = join(extent, end.extent);
  }
  if (at(TokenKind::Colon)) {
    refuse(place(current()), "slices have no step here", "write `begin:end`");
    return {};
  }
  return make<SliceExpr>(std::max(begin.height, end.height) + 1, extent, std::move(begin.root), std::move(end.root));
}

Tree Parser::parseAtom() {
  const Token &token = current();
  Place where = place(token);
  switch (token.kind) {
  case TokenKind::Name:
    advance();
    return make<NameExpr>(1, where, std::string(where.text()));
  case TokenKind::Integer:
    advance();
    return make<IntegerExpr>(1, where, list.integers[token.value]);
  case TokenKind::Float:
    advance();
    return make<FloatExpr>(1, where, list.floats[token.value]);
  case TokenKind::String:
    advance();
    if (at(TokenKind::String)) {
      refuse(place(current()), "a string follows another string", "put a comma between them, or make them one string");
      return {};
    }
    return make<StringExpr>(1, where, list.strings[token.value]);
  case TokenKind::True:
  case TokenKind::False:
    advance();
    return make<BooleanExpr>(1, where, token.kind == TokenKind::True);
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
    return parseBracketed();
  case TokenKind::Not:
    refuse(where, "`not` binds weaker than the operator before it", "put parentheses around it: `(not x)`");
    return {};
  case TokenKind::Star:
  case TokenKind::StarStar:
    refuse(where, "values cannot be unpacked with `" + textOf(token) + "`", "write them one by one");
    return {};
  case TokenKind::Pass:
  case TokenKind::Return:
  case TokenKind::Def:
    refuse(where, "`" + textOf(token) + "` is a keyword of Python and has no value",
           "choose another name, such as `" + textOf(token) + "_`");
    return {};
  default:
    if (!refuseIncrement())
      return {};
    failExpecting("a value");
    return {};
  }
}

/// Where a value is missing after `x++` or `x--`: false, with a message about that.
bool Parser::refuseIncrement() {
  if (position < 3 || at(TokenKind::Error))
    return true;
  const Token &name = list.tokens[position - 3], &left = list.tokens[position - 2], &right = previous();
  bool doubled = left.kind == right.kind && left.end == right.begin && name.kind == TokenKind::Name &&
                 (left.kind == TokenKind::Plus || left.kind == TokenKind::Minus);
  if (!doubled)
    return true;
  std::string sign = textOf(left);
  return refuse({&source, left.begin, right.end}, "`" + sign + sign + "` is not part of the language",
                "write `" + quote(place(name), "x") + " " + sign + "= 1` on a line of its own");
}

/// `(a)`, `(a, b)`, `[a, b]`, `(a for b in c)`, `[a for b in c]`.
Tree Parser::parseBracketed() {
  const Token &open = current();
  bool paren = open.kind == TokenKind::LeftParen;
  TokenKind close = paren ? TokenKind::RightParen : TokenKind::RightBracket;
  std::string_view expected = paren ? "`,` or `)`" : "`,` or `]`";
  advance();
  unsigned height = 0;
  std::vector<ExprPtr> items;
  bool comma = false;
  while (!at(close)) {
    Tree item = parseExpression();
    if (!item)
      return {};
    if (at(TokenKind::For) && items.empty()) {
      item = parseGenerator(std::move(item));
      if (!item || !expect(close, paren ? "`)` after this generator" : "`]` after this generator"))
        return {};
      item.extent = placeSince(open);
      item.bracketed = true;
      return item;
    }
    if (paren && !comma && at(close)) {
      advance();
      item.extent = placeSince(open);
      item.bracketed = true;
      return item;
    }
    height = std::max(height, item.height);
    items.push_back(std::move(item.root));
    if (at(close))
      break;
    if (at(TokenKind::Equal)) {
      refuse(place(current()), "`=` assigns, but this stands between brackets", "compare with `==`");
      return {};
    }
    if (!expect(TokenKind::Comma, expected))
      return {};
    comma = true;
  }
  advance();
  Tree tuple = make<TupleExpr>(height + 1, placeSince(open), std::move(items));
  tuple.bracketed = true;
  return tuple;
}

/// From `for`, after the body: `for variable in iterator [if condition]`.
Tree Parser::parseGenerator(Tree body) {
  advance();
  std::string variable;
  Place variablePlace;
  if (!parseLoopVariable(variable, variablePlace))
    return {};
  Tree iterator = parseInfix(kOr);
  if (!iterator)
    return {};
  Place extent = join(body.extent, iterator.extent);
  unsigned height = std::max(body.height, iterator.height);
  Tree condition;
  if (accept(TokenKind::If)) {
    condition = parseInfix(kOr);
    if (!condition || !checkCondition("a generator"))
      return {};
    extent = join(extent, condition.extent);
    height = std::max(height, condition.height);
  }
  if (at(TokenKind::For)) {
    refuse(place(current()), "a generator has one `for` here",
           "write the inner one as a call of its own: `sum(sum(… for e in n.incoming_edges()) for n in g.nodes())`");
    return {};
  }
  if (at(TokenKind::If)) {
    refuse(place(current()), "a generator has one `if` here", "combine conditions with `and`");
    return {};
  }
  return make<GeneratorExpr>(height + 1, extent, std::move(body.root), std::move(variable), variablePlace,
                             std::move(iterator.root), std::move(condition.root));
}

}  // namespace

Module parse(const Source &source, Diagnostics &diagnostics) {
  return Parser(source, diagnostics).parseModule();
}

}  // namespace hector::language
