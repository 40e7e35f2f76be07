/// A program as text: one of the compiler's forms, or a summary for people.
#pragma once

#include "compiler/Target/Cuda/Emitter.h"
#include "driver/Program.h"
#include "driver/Summary.h"

#include <string>

namespace hector {

struct FormOptions {
  std::string form;        // "flow", "flow-opt", "groups", "summary", "kern", "cpp" or "cuda"
  SummaryOptions summary;  // of a summary; `groups` is filled in
  cuda::Precision precision = cuda::Precision::Highest;
  bool wideIds = false;
  PassOutput output;
};

/// Fails if there is no form of that name.
Status checkForm(const std::string &form);

/// The text of a program whose passes have run. Forms groups where the form has them.
Result<std::string> formText(Program &program, const language::Binding &binding, const FormOptions &options);

}  // namespace hector
