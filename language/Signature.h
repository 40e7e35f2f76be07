/// What a model declares: its inputs and where they live, its attributes, its sizes; and how they are bound to values.
#pragma once

#include "language/Ast.h"
#include "language/Diagnostics.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace hector::language {

/// Where an input lives: one row per node, edge, edge type or node type, or one for all.
enum class Home : uint8_t { Node, Edge, EdgeType, NodeType, Shared };
std::string_view spelling(Home home);

/// `x: Node[d_in]`. `sizes` are the expressions in the brackets; they live as long as the module.
struct InputDecl {
  std::string name;
  Place place;  // of the whole declaration
  Home home;
  std::vector<const Expr *> sizes;
};

/// A value known when compiling.
using Constant = std::variant<bool, int64_t, double, std::string>;
std::string formatConstant(const Constant &constant);

enum class AttributeKind : uint8_t { Integer, Float, Boolean, Text };

/// `heads: int = 4`, or `heads = 4`, or `norm: Literal["sym", "row"] = "sym"`.
struct AttributeDecl {
  std::string name;
  Place place;
  AttributeKind kind;
  std::optional<Constant> value;     // the default
  std::vector<std::string> choices;  // of a Literal; empty: any value
};

/// A name that brackets introduce, with the place where it is first used.
struct SizeDecl {
  std::string name;
  Place place;
};

struct Signature {
  std::string name;
  Place place;
  const FunctionStmt *function = nullptr;  // null where the model is the module's own statements
  std::string graph = "g";
  std::vector<InputDecl> inputs;
  std::vector<AttributeDecl> attributes;
  std::vector<SizeDecl> sizes;

  const InputDecl *findInput(std::string_view name) const;
  const AttributeDecl *findAttribute(std::string_view name) const;
  bool hasSize(std::string_view name) const;
};

/// Finds the model of a module and reads its declarations: the function named `entry`; or the only one that declares
/// inputs; or, where none does, the last; or the module's own statements, with declarations such as `x: Node[d]` among
/// them. Nothing, with errors recorded, where there is no such thing.
std::optional<Signature> readSignature(const Module &module, const Source &source, const std::string &entry,
                                       Diagnostics &diagnostics);

/// Values for a signature's attributes and sizes.
struct Binding {
  std::map<std::string, Constant> attributes;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::string> sizeOrigin;  // what bound each size, for messages: "`x` [77, 16]"
};

/// The outcome of binding: empty when fine, else what is wrong, in one line.
using BindError = std::optional<std::string>;

/// Binds `NAME=VALUE` texts to attributes and fills in defaults.
BindError bindAttributes(const Signature &signature, std::span<const std::string> settings, Binding &binding);
/// Binds `NAME=NUMBER` texts to sizes.
BindError bindSizes(const Signature &signature, std::span<const std::string> settings, Binding &binding);
/// Binds the sizes in `input`'s brackets to a row shape, or checks them against it. Where a size cannot be told yet
/// (`heads * d` with both unknown) `undecided` is set, and the call is to be repeated once more is known. `origin` is
/// what later messages say that the sizes come from.
BindError bindShape(const InputDecl &input, std::span<const int64_t> rowShape, const std::string &origin,
                    Binding &binding, bool &undecided);
/// The row shape of an input; nothing, with an error recorded, where a size has no value or is below 1.
std::optional<std::vector<int64_t>> rowShape(const InputDecl &input, const Binding &binding, Diagnostics &diagnostics);
/// The sizes in `input`'s brackets that have no value.
std::vector<std::string> openSizes(const InputDecl &input, const Binding &binding);
/// The sizes of a row as text; those that have no value are as they are written: "16", "heads * d".
std::vector<std::string> describeRowShape(const InputDecl &input, const Binding &binding);

}  // namespace hector::language
