/// What a function must be for passes and analyses on flow.
///
/// The parser accepts much that is no data flow between tables: calls, several blocks, integers, ops of other dialects.
/// Passes and analyses take the following for granted, so whoever hands them a function that came from outside asks
/// first:
///   - (F1) the body is one block that ends with `func.return`.
///   - (F2) arguments are tables, `!flow.rows`.
///   - (F3) every op before the return is an op of flow. Results are then tables as well.
///   - (F4) no op is a group or part of one, unless the function may be grouped: groups are formed last.
///   - (F5) calls are allowed where groups are, of functions of flow that call none: the phases.
/// A declaration has no body and nothing to work on; passes leave it as it is.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace hector::flow {

enum class Form { Plain, Grouped };

/// The function that a call runs; null where it has no body.
mlir::func::FuncOp calledFunction(mlir::func::CallOp call);

/// Fails, with an error at the op that is to blame, if a function is a declaration or breaks a constraint above.
mlir::LogicalResult checkFlowFunction(mlir::func::FuncOp function, Form form = Form::Plain);

/// Adds to `flow.relation_ends` the ends of relations at which ops of a function read node types. A pass that was told
/// by `flow.graph` that each of these ends has one type may have made such ops of others, which read the types of the
/// edges' own ends. From now on the function is refused for graphs of which that is not true.
void listRelationEnds(mlir::func::FuncOp function);

}  // namespace hector::flow
