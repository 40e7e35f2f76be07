#include "language/Ast.h"

namespace hector::language {

std::string_view spelling(UnaryOp op) {
  constexpr std::string_view kSpellings[] = {"-", "+", "not"};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view spelling(BinaryOp op) {
  constexpr std::string_view kSpellings[] = {"+", "-", "*", "/", "//", "%", "**", "@"};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view spelling(CompareOp op) {
  constexpr std::string_view kSpellings[] = {"<", "<=", ">", ">=", "==", "!="};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view spelling(LogicalOp op) {
  constexpr std::string_view kSpellings[] = {"and", "or"};
  return kSpellings[static_cast<size_t>(op)];
}

}  // namespace hector::language
