/// Checks text from outside and prepares it for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hector {

/// How many bytes at the start of `text` are UTF-8: all of them, or those before the first that is not.
size_t validUtf8Prefix(std::string_view text);

/// Appends the character of a code point up to 0x10ffff.
void appendUtf8(std::string &out, uint32_t code);

/// "0a".
std::string hexByte(unsigned char byte);

/// A name as messages show it: in backticks, with tabs as `\t`, odd bytes as `\x0a`, and shortened to fit a line.
std::string inTicks(std::string_view text);

/// "1 row", "2 rows"; `many` is the plural where it does not just add an s: "2 entries".
std::string counted(int64_t count, std::string_view one, std::string_view many = "");

/// "21,111,007".
std::string withCommas(int64_t number);
/// "21,111,007 edges", "1 edge".
std::string withCommas(int64_t number, const std::string &one, const std::string &many);

}  // namespace hector
