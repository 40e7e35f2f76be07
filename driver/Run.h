/// Runs programs.
#pragma once

#include "driver/Case.h"
#include "driver/Program.h"
#include "interp/Table.h"

#include <string>
#include <vector>

namespace hector {

/// A tensor as rows: its first axis counts them, unless the table is shared.
Table toTable(const Tensor &tensor, bool isShared);

/// The arguments of a program's function, in its order: tensors under the inputs' names and, for gradients,
/// `grad.RESULT`, with zeros for results that have none as long as one has.
Result<std::vector<NamedTensor>> bindArguments(const Program &program, const Graph &graph, const Tensors &tensors);
/// The same as tables of the interpreter.
Result<std::vector<Table>> makeArguments(const Program &program, const Graph &graph, const Tensors &tensors);

/// Adds a gradient of ones for every result, unless `tensors` has a gradient already: the inputs then get the gradient
/// of the sum of all results. Gives the names of those added. Fails if memory runs out.
Result<std::vector<std::string>> addUnitGradients(const Program &program, const Graph &graph, Tensors &tensors);

/// Runs a program on the interpreter, with or without passes and groups. `tensors` is that of a `Case`. Results are in
/// the order in which the model returns them, gradients after them; they are F64 if the program computes with f64, else
/// F32. Fails if an argument is missing, if the graph lacks what the program relies on, or if memory runs out.
Result<std::vector<NamedTensor>> run(const Program &program, const Graph &graph, const Tensors &tensors,
                                     const RunMode &mode = {});

}  // namespace hector
