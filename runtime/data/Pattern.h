/// Patterns over names: `http://example.org/{type}/*/{name}`.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// `*` stands for any text, `{type}` and `{name}` for text without `/` and `#` that is kept, `[0-9a]` for one of some
/// characters; everything else stands for itself.
class Pattern {
public:
  struct Match {
    std::string_view type;  // empty where the pattern has no {type}
    std::string_view name;  // empty where it has no {name}
  };

  static Result<Pattern> parse(std::string_view text);
  bool matches(std::string_view text, Match &match) const { return matchFrom(0, text, match); }
  bool matches(std::string_view text) const {
    Match match;
    return matches(text, match);
  }

private:
  enum class Kind : uint8_t { Character, Set, Any, Type, Name };
  struct Part {
    Kind kind;
    char character = 0;
    std::bitset<256> set{};
  };
  bool matchFrom(size_t part, std::string_view text, Match &match) const;

  std::vector<Part> parts;
};

}  // namespace hector
