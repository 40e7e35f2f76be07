#include "runtime/data/Pattern.h"

#include "runtime/base/Text.h"

namespace hector {

Result<Pattern> Pattern::parse(std::string_view text) {
  // Each may be tried at every place of a text: a bound keeps matching quick.
  constexpr int kMaxOpen = 4;
  Pattern pattern;
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (text[i] == '*') {
      pattern.parts.push_back({Kind::Any});
      ++open;
    } else if (rest.starts_with("{type}") || rest.starts_with("{name}")) {
      pattern.parts.push_back({rest.starts_with("{type}") ? Kind::Type : Kind::Name});
      i += 5;
      ++open;
    } else if (text[i] == '[') {
      size_t close = text.find(']', i + 1);
      if (close == std::string_view::npos || close == i + 1)
        return Status::invalid("the pattern " + inTicks(text) + " has a `[` without characters and `]` after it");
      Part part{Kind::Set};
      for (size_t k = i + 1; k < close; ++k) {
        auto from = static_cast<unsigned char>(text[k]), to = from;
        if (k + 2 < close && text[k + 1] == '-') {
          to = static_cast<unsigned char>(text[k + 2]);
          k += 2;
        }
        for (unsigned c = from; c <= to; ++c)
          part.set.set(c);
      }
      pattern.parts.push_back(part);
      i = close;
    } else {
      pattern.parts.push_back({Kind::Character, text[i]});
    }
  }
  if (open > kMaxOpen)
    return Status::invalid("the pattern " + inTicks(text) + " has " + std::to_string(open) +
                           " of `*`, `{type}` and `{name}`; at most " + std::to_string(kMaxOpen) + " are supported");
  return pattern;
}

bool Pattern::matchFrom(size_t part, std::string_view text, Match &match) const {
  for (; part < parts.size(); ++part) {
    const Part &p = parts[part];
    if (p.kind == Kind::Character || p.kind == Kind::Set) {
      if (text.empty() || (p.kind == Kind::Set ? !p.set[static_cast<unsigned char>(text[0])] : text[0] != p.character))
        return false;
      text.remove_prefix(1);
      continue;
    }
    if (p.kind == Kind::Any) {
      if (part + 1 == parts.size())
        return true;
      for (size_t size = 0; size <= text.size(); ++size)
        if (matchFrom(part + 1, text.substr(size), match))
          return true;
      return false;
    }
    for (size_t size = 1; size <= text.size() && text[size - 1] != '/' && text[size - 1] != '#'; ++size)
      if (matchFrom(part + 1, text.substr(size), match)) {
        (p.kind == Kind::Type ? match.type : match.name) = text.substr(0, size);
        return true;
      }
    return false;
  }
  return text.empty();
}

}  // namespace hector
