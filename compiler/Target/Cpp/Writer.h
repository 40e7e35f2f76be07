/// Text in lines, indented by the braces that are open.
#pragma once

#include <string>
#include <string_view>

namespace hector {

class Writer {
public:
  void line(std::string_view text) {
    if (!text.empty())
      out.append(2 * depth, ' ').append(text);
    out += '\n';
  }
  /// Writes a line that ends in ` {`.
  void open(std::string_view text) {
    line(std::string(text) + " {");
    ++depth;
  }
  void close() {
    --depth;
    line("}");
  }
  /// A line in the next depth that no brace opens.
  void indented(std::string_view text) {
    ++depth;
    line(text);
    --depth;
  }
  const std::string &text() const { return out; }
  size_t indentation() const { return depth; }
  void indent(size_t to) { depth = to; }
  void append(const Writer &other) { out += other.out; }

private:
  std::string out;
  size_t depth = 0;
};

}  // namespace hector
