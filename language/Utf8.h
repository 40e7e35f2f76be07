/// Decodes and encodes characters of UTF-8 text; a malformed byte counts as one character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hector::language {

/// One character: its code, how many bytes it takes, and whether those bytes are well formed.
struct Utf8Character {
  uint32_t code;
  uint32_t length;
  bool valid;
};

/// The character that starts at `text[at]`; `at` lies inside the text.
Utf8Character decodeUtf8(std::string_view text, size_t at);

/// Appends the character `code`, which is neither a surrogate nor above U+10FFFF.
void appendUtf8(std::string &text, uint32_t code);

}  // namespace hector::language
