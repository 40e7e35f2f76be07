#include "language/Diagnostics.h"

#include "language/Utf8.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

namespace hector::language {

Diagnostic &Diagnostics::error(Place place, std::string message) {
  // Errors without a place are the same only if they say the same.
  Key key{place.source, place.begin, place.end, place.known() ? std::string() : message};
  if (!seen.insert(std::move(key)).second) {
    dropped = Diagnostic{};
    return dropped;
  }
  return items.emplace_back(Diagnostic{place, std::move(message), {}, {}});
}

namespace {

constexpr size_t kMaxShownColumns = 120;
constexpr size_t kColumnsBeforeCaret = 40;
constexpr size_t kGutter = 5;

/// At the end of the file the caret goes behind the last visible character, not onto an empty line.
Place visible(Place place) {
  std::string_view text = place.source->text();
  if (place.begin < text.size())
    return place;
  size_t last = text.find_last_not_of(" \t\r\n\f");
  size_t end = last == std::string_view::npos ? 0 : last + 1;
  return {place.source, static_cast<uint32_t>(end), static_cast<uint32_t>(end)};
}

/// How one character is shown: always one column wide.
std::string_view shown(std::string_view text, size_t at, Utf8Character character) {
  if (character.code == '\t' || character.code == '\f')
    return " ";
  // Besides control characters, those that would turn or hide the rest of the line (directional marks, zero widths).
  uint32_t code = character.code;
  bool hidden = code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
                (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
  return !character.valid || hidden ? "?" : text.substr(at, character.length);
}

/// The source line with the place underlined; a place of several lines to the end of its first.
void renderLine(std::string &out, Place place) {
  auto [line, column] = place.source->lineColumn(place.begin);
  std::string_view text = place.source->lineText(line);
  size_t lineBegin = place.source->lineBegin(line);
  std::vector<std::string_view> cells;
  size_t caret = column - 1, caretEnd = caret;
  for (size_t i = 0; i < text.size();) {
    Utf8Character character = decodeUtf8(text, i);
    cells.push_back(shown(text, i, character));
    i += character.length;
    if (lineBegin + i <= place.end)
      caretEnd = cells.size();
  }
  caretEnd = std::max(caretEnd, caret + 1);

  size_t first = 0, last = cells.size();
  if (cells.size() > kMaxShownColumns) {
    first = caret > kColumnsBeforeCaret ? caret - kColumnsBeforeCaret : 0;
    first = std::min(first, cells.size() - kMaxShownColumns);
    last = first + kMaxShownColumns;
    if (first > 0)
      cells[first] = "…";
    if (last < cells.size())
      cells[last - 1] = "…";
  }
  std::string number = std::to_string(line);
  std::string gutter(std::max(kGutter, number.size()), ' ');
  out += gutter.substr(number.size()) + number + " | ";
  for (size_t i = first; i < last; ++i)
    out += cells[i];
  while (out.back() == ' ')
    out.pop_back();
  out += "\n" + gutter + " | " + std::string(caret - first, ' ') + "^";
  // Within a cut line the underline ends with it; a caret behind the line's end stays alone.
  size_t underlined = std::min(caretEnd, std::max(last, caret + 1)) - caret;
  out += std::string(underlined - 1, '~') + "\n";
}

void renderMessage(std::string &out, Place place, std::string_view severity, std::string_view message) {
  if (place.known()) {
    place = visible(place);
    auto [line, column] = place.source->lineColumn(place.begin);
    out += place.source->name() + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  }
  out.append(severity).append(": ").append(message).append("\n");
  if (place.known())
    renderLine(out, place);
}

}  // namespace

std::string Diagnostics::render() const {
  std::map<const Source *, size_t> fileOrder;
  for (const Diagnostic &item : items)
    fileOrder.emplace(item.place.source, fileOrder.size());
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto rank = [&](size_t i) {
    const Place &place = items[i].place;
    return std::tuple(fileOrder.at(place.source), place.begin, place.end, i);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });

  std::string out;
  for (size_t i = 0; i < std::min(order.size(), kMaxShown); ++i) {
    const Diagnostic &item = items[order[i]];
    renderMessage(out, item.place, "error", item.message);
    for (const Note &note : item.notes)
      renderMessage(out, note.place, "note", note.message);
    if (!item.help.empty())
      out += "   help: " + item.help + "\n";
  }
  if (size_t more = order.size() - std::min(order.size(), kMaxShown))
    out += "… and " + std::to_string(more) + (more == 1 ? " more error\n" : " more errors\n");
  return out;
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view> &candidates) {
  std::string_view best;
  size_t bestDistance = 0;
  for (std::string_view candidate : candidates) {
    size_t n = word.size(), m = candidate.size();
    // Rows of the edit-distance table: two back (for transpositions), the previous one, the current one.
    std::vector<size_t> older(m + 1), previous(m + 1), current(m + 1);
    std::iota(previous.begin(), previous.end(), size_t{0});
    for (size_t i = 1; i <= n; ++i) {
      current[0] = i;
      for (size_t j = 1; j <= m; ++j) {
        size_t replaced = previous[j - 1] + (word[i - 1] != candidate[j - 1]);
        current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
        bool swapped = i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1];
        if (swapped)
          current[j] = std::min(current[j], older[j - 2] + 1);
      }
      older.swap(previous);
      previous.swap(current);
    }
    size_t distance = previous[m];
    bool isSameWord = std::equal(word.begin(), word.end(), candidate.begin(), candidate.end(), [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    });
    bool near = distance <= std::max(n, m) / 3 || isSameWord;
    if (near && (best.empty() || distance < bestDistance)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

}  // namespace hector::language
