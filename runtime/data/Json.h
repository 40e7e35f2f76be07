/// Reads JSON as Python writes it: also `NaN`, `Infinity` and `-Infinity`, which are values that say nothing. Every
/// value knows where it stands, so that messages on what it holds can say so.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

struct JsonValue {
  enum class Kind : uint8_t { Null, Bool, Number, NotANumber, Text, Array, Object };

  Kind kind = Kind::Null;
  std::string text;                // a text's characters, a number as it is written
  std::vector<JsonValue> items;    // of an array, or an object's values
  std::vector<std::string> names;  // of an object's values; of equal ones the last counts
  int64_t line = 0;                // from 1
  int64_t column = 0;              // from 1, in characters

  /// The member of that name; null where this is no object or has none.
  const JsonValue *find(std::string_view name) const;
  /// "a number", "an array".
  std::string_view kindName() const;
};

/// Messages are `name:line:column: found …; expected …`.
Result<JsonValue> parseJson(std::string_view text, const std::string &name);

}  // namespace hector
