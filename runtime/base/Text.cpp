#include "runtime/base/Text.h"

namespace hector {

namespace {

/// The length of the UTF-8 character at the start of `text`, 0 if there is none (table 3-7 of the Unicode standard).
size_t utf8Length(std::string_view text) {
  auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto continues = [&](size_t i) { return at(i) >= 0x80 && at(i) <= 0xbf; };
  const unsigned lead = at(0);
  const unsigned second = at(1);
  if (text.empty())
    return 0;
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead <= 0xdf)
    return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    bool fits = (lead != 0xe0 || second >= 0xa0) && (lead != 0xed || second <= 0x9f);
    return fits && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    bool fits = (lead != 0xf0 || second >= 0x90) && (lead != 0xf4 || second <= 0x8f);
    return fits && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

size_t validUtf8Prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    size_t length = utf8Length(text.substr(i));
    if (length == 0)
      break;
    i += length;
  }
  return i;
}

void appendUtf8(std::string &out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 63));
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

std::string hexByte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

std::string inTicks(std::string_view text) {
  constexpr size_t kMaxShown = 80;
  std::string shown = "`";
  for (size_t i = 0; i < text.size();) {
    if (i >= kMaxShown)
      return shown + "…`";
    size_t length = utf8Length(text.substr(i));
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\t') {
      shown += "\\t";
      ++i;
    } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
      shown += "\\x" + hexByte(byte);
      ++i;
    } else {
      shown += text.substr(i, length);
      i += length;
    }
  }
  return shown + "`";
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  const std::string number = std::to_string(count) + " ";
  if (count == 1 || many.empty())
    return number + std::string(one) + (count == 1 ? "" : "s");
  return number + std::string(many);
}

std::string withCommas(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-')
      result += ',';
    result += digits[i];
  }
  return result;
}

std::string withCommas(int64_t number, const std::string &one, const std::string &many) {
  return withCommas(number) + " " + (number == 1 ? one : many);
}

}  // namespace hector
