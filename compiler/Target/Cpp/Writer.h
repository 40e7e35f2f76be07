/// Text in lines, indented by the braces that are open.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hector {

class Writer {
public:
  /// Writes a line, or several if it is long. Comments and directives stay as they are.
  void line(std::string_view text);
  /// Writes a comment: a single line that ends where it ends, whatever the names in it. Those of files and types are
  /// not ours, and must not become code.
  void comment(std::string_view text);
  /// Writes a line that ends in ` {`.
  void open(std::string_view text) {
    line(std::string(text) + " {");
    ++depth;
  }
  /// Opens a block of its own.
  void openBlock() {
    line("{");
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
