/// Functions that every model may call, written in the language itself (prelude.hec).
#pragma once

#include "language/Ast.h"

namespace hector::language {

/// The prelude's syntax tree, parsed on first use and kept. It lives as long as the program.
const Module &prelude();

}  // namespace hector::language
