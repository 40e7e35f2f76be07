/// What an expression of the model language stands for while it is imported.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "language/Signature.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hector::importer {

inline constexpr int kNoFrame = -1;

/// An error was reported; whatever uses this stays silent.
struct Poison {};

/// A number known when compiling.
struct Number {
  bool isInteger;
  int64_t integer;
  double value;

  static Number of(int64_t integer) { return {true, integer, static_cast<double>(integer)}; }
  static Number of(double value) { return {false, 0, value}; }
};

struct Truth {
  bool value;
};

struct Text {
  std::string value;
};

/// What a function without `return` gives: its call is a statement, not a value.
struct Nothing {};

/// The graph itself, `g`.
struct WholeGraph {};

/// A node, edge, pair or type: the row that `map` finds from the row of loop `frame`.
struct Element {
  flow::Domain domain;
  int frame;
  flow::Map map;
};

/// Rows of a table: those that `map` finds from the rows of loop `frame`; `one` row belongs to no loop.
struct Rows {
  mlir::Value table;
  int frame;
  flow::Map map;

  flow::RowsType type() const { return mlir::cast<flow::RowsType>(table.getType()); }
};

/// An input by its bare name, before it is known which of its rows is meant.
struct Input {
  const language::InputDecl *decl;
  mlir::Value table;
};

struct Tuple;
using Item = std::variant<Poison, Nothing, Number, Truth, Text, WholeGraph, Element, Rows, Input, Tuple>;

struct Tuple {
  std::vector<Item> items;
};

template <class T> const T *tryGet(const Item &item) {
  return std::get_if<T>(&item);
}

/// A number known when compiling; `True` and `False` are the integers 1 and 0, as in Python.
inline std::optional<Number> asNumber(const Item &item) {
  if (const Truth *truth = tryGet<Truth>(item))
    return Number::of(int64_t{truth->value});
  const Number *number = tryGet<Number>(item);
  return number ? std::optional(*number) : std::nullopt;
}

inline bool isPoison(const Item &item) {
  return std::holds_alternative<Poison>(item);
}

/// One loop over rows. Loops below it see its row through `up` of theirs.
///
/// `parent` says whose rows these are, `around` which loop is running meanwhile. They differ for generator expressions
/// only: in `for e in n.incoming_edges():`, sum(… for f in n.incoming_edges()) has the rows of `n` and runs within `e`.
struct Frame {
  flow::Domain domain;
  int parent;    // the loop whose row these rows belong to, or kNoFrame
  int around;    // the loop that runs this one, or kNoFrame
  flow::Map up;  // from a row of this loop to the row of `parent`
  std::string variable;
  language::Place place;
  bool isGenerator;
  bool isOpen;
};

/// A name's current version: a local variable, or a table such as `n["h"]`.
///
/// Statements in a loop run for all rows at once, so what Python would do row after row must not be visible: a sum is
/// not read while it grows, and rows of other iterations are not read while the loop writes them. The fields below
/// `place` are what is needed to notice.
struct Slot {
  Item item;  // of a table: `map` of Rows starts at the table's own rows, `frame` is unused
  language::Place place;
  int boundIn = kNoFrame;     // the innermost loop at the last assignment
  int growsUntil = kNoFrame;  // the loop that accumulates into it; readable once that is closed
  flow::ReduceKind growsBy = flow::ReduceKind::Sum;
  std::vector<int> readIn;  // loops that read this version
  // Tables only.
  int version = 0;           // how many writes of any table came before
  int writtenIn = kNoFrame;  // the loop whose own rows were written last
  struct Read {
    int loop;     // the innermost loop at the read
    Element row;  // what was read
  };
  std::vector<Read> reads;  // of all versions, while a loop around them runs
};

}  // namespace hector::importer
