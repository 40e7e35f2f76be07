#include "compiler/Target/Cpp/Writer.h"

#include <algorithm>

namespace hector {

static constexpr size_t kColumns = 120;

/// The space at which the first `room` characters of a statement are best broken: behind a comma or an operator, with
/// as few open parentheses as can be, and late. 0 if there is none.
static size_t findBreak(std::string_view text, size_t room) {
  constexpr std::string_view kBefore = ",;=+-*/?:&|<";
  size_t best = 0;
  int depth = 0, least = 0;
  for (size_t i = 1; i < std::min(room, text.size()); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    bool isPlace = text[i] == ' ' && kBefore.find(text[i - 1]) != std::string_view::npos;
    if (isPlace && i > room / 3 && (best == 0 || depth <= least)) {
      best = i;
      least = depth;
    }
  }
  return best;
}

void Writer::line(std::string_view text) {
  size_t indentation = 2 * depth;
  const bool isCode = !text.starts_with("//") && !text.starts_with("#") && text.find("  // ") == std::string_view::npos;
  while (isCode && indentation + text.size() > kColumns) {
    size_t at = findBreak(text, kColumns - std::min(indentation, kColumns - 1));
    if (at == 0)
      break;
    out.append(indentation, ' ').append(text.substr(0, at)) += '\n';
    text.remove_prefix(at + 1);
    indentation = 2 * depth + 4;
  }
  if (!text.empty())
    out.append(indentation, ' ').append(text);
  out += '\n';
}

void Writer::comment(std::string_view text) {
  std::string shown = "// " + std::string(text);
  for (char &letter : shown)
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f)
      letter = '?';
  // A backslash, also one before spaces, would have the next line belong to the comment.
  for (size_t last = shown.find_last_not_of(' '); shown[last] == '\\'; --last)
    shown[last] = '?';
  line(shown);
}

}  // namespace hector
