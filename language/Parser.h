/// Model text to syntax tree.
#pragma once

#include "language/Ast.h"
#include "language/Diagnostics.h"

namespace hector::language {

/// Parses all of `source`, which outlives the tree. Errors go to `diagnostics`, several if they are independent:
/// after a bad statement parsing goes on at the next line of the same or a lower indentation.
/// What could be read is returned in any case; it may be compiled only if no error was recorded.
Module parse(const Source &source, Diagnostics &diagnostics);

}  // namespace hector::language
