#include "driver/Forms.h"

#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "runtime/base/Text.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

#include <utility>

namespace hector {

static std::string printed(const Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  program.module().print(out);
  out << '\n';
  return text;
}

/// The source of a plan.
static Result<std::string> sourceOf(Result<exec::Plan> plan) {
  if (!plan)
    return std::move(plan).status();
  return std::move(plan->source);
}

Status checkForm(const std::string &form) {
  for (const char *known : {"flow", "flow-opt", "groups", "summary", "kern", "cpp", "cuda"})
    if (form == known)
      return Status::ok();
  return Status::invalid("there is no form " + inTicks(form) +
                         "; expected flow, flow-opt, groups, summary, kern, cpp or cuda");
}

Result<std::string> formText(Program &program, const language::Binding &binding, const FormOptions &options) {
  const std::string &form = options.form;
  if (Status status = checkForm(form); !status.isOk())
    return status;
  if (form == "flow" || form == "flow-opt")
    return printed(program);
  if (form == "summary") {
    SummaryOptions summary = options.summary;
    summary.groups = program.groupOptions(options.output);
    return formatSummary(program.function(), binding, summary);
  }
  if (Status status = program.formGroups(options.output); !status.isOk())
    return status;
  if (form == "groups")
    return printed(program);
  if (form == "kern")
    return kernText(program);
  if (form == "cpp")
    return sourceOf(makePlan(program, {.wideIds = options.wideIds}));
  return sourceOf(makeCudaPlan(program, {.precision = options.precision, .wideIds = options.wideIds}));
}

}  // namespace hector
