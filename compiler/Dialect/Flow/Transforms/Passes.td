// The passes on flow. Each description says what the pass does, what it leaves alone, and why it has its place in the
// pipelines.
#ifndef HECTOR_FLOW_PASSES
#define HECTOR_FLOW_PASSES

include "mlir/Pass/PassBase.td"

/// A pass on functions of flow: the base class refuses other functions.
class FlowPass<string passArg> : PassBase<passArg, "::hector::flow::FlowPass"> {
  let dependentDialects = ["::hector::flow::FlowDialect"];
}

def AddUpdatesPass : FlowPass<"flow-add-updates"> {
  let summary = "Makes steps of an optimiser of the gradients of parameters.";
  let description = [{
    A function whose attribute `flow.optimiser` names an optimiser and parameters computes, in place of their gradients,
    the parameters after one step:
    ```mlir
    func.func @f(%w {flow.name = "w"}, …) -> (…, … {flow.name = "grad.w"})
        attributes {flow.optimiser = #flow.optimiser<sgd, ["w"]>, …}
    ->
    func.func @f(%w {flow.name = "w"}, …, %rate {flow.name = "step.rate"}, …) -> (…, … {flow.name = "next.w"})
    ```
    What the optimiser keeps from step to step is one more argument and one more result for each parameter, such as
    `state.m.w` and `next.state.m.w`. Numbers that change with the step are arguments with a single row, so that one
    plan serves all steps and all rates: `step.rate`, `step.decay`, and those of the optimiser.

    | optimiser | state | step |
    | --- | --- | --- |
    | `sgd` | `b` | `b' = momentum·b + g`, `w' = w - rate·b'` with `g = grad + decay·w` |
    | `adam` | `m`, `v` | `m' = beta1·m + gain1·g`, `v' = beta2·v + gain2·g²`, `w' = w - rate·m' / (scale·√v' + epsilon)` with the same `g` |
    | `adamw` | `m`, `v` | the same with `g = grad`, and `w' = keep·w - …` |

    The correction of bias is part of `rate` and `scale`: `rate = r / (1 - beta1^t)`, `scale = 1 / √(1 - beta2^t)`. Gradients of other
    inputs stay results. The pass runs right after `flow-differentiate`, so that the passes on gradients see the whole step. It
    removes the attribute, and does nothing where there is none.
  }];
}

def AggregateFirstPass : FlowPass<"flow-aggregate-first"> {
  let summary = "Sums rows before they are multiplied by weights, where that takes less time.";
  let description = [{
    A sum or mean of linear ops is a linear op of sums, and there are fewer destination pairs (P) than edges (E):
    ```mlir
    %m = flow.linear %x[src], %w[etype] : … -> <edge, 64xf32, device>        // E products
    %c = flow.mul %a, %m : …
    %y = flow.reduce sum %c via dst : …
    ->
    %c = flow.mul %a, %x[src] : …
    %s = flow.reduce sum %c via dst_pair : …
    %m = flow.linear %s, %w[etype] : … -> <dst_pair, 64xf32, device>         // P products
    %y = flow.reduce sum %m via node : …
    ```
    The product moves to a domain between the operand and the result of the sum, from which the weights can be read. If
    there are several, the pass takes the one with the fewest operations. A factor such as `%a` has one number per row,
    or one per head; in the second case there is one sum per head. A bias is multiplied by the sum of the factors. If the
    domain in between has rows that nothing leads to (isolated nodes), they are set to 0, so that they contribute neither
    values nor gradients.

    `flow.weight_grad` likewise sums one operand before the outer product:
    ```mlir
    %dw = flow.weight_grad %x[src], %g over edge via etype : …               // E outer products
    ->
    %s = flow.reduce sum %g via src_pair : …
    %dw = flow.weight_grad %x[node], %s over src_pair via etype : …
    ```
    The pass leaves alone maxima and minima, products that another op reads as well, and sums where the number of
    operations would not fall. It runs after `simplify`. It runs before `flow-differentiate`, so that there is
    less to differentiate, and again after it, on the gradients.
  }];
  let options = [
    ListOption<"only", "only", "int64_t", "Indices of the sums of linear ops and weight_grads to consider, counted "
               "from 0 in the order of the function; all, if empty">,
    ListOption<"skip", "skip", "int64_t", "Indices of the sums to leave alone">
  ];
  let statistics = [
    Statistic<"numConsidered", "num-considered", "Sums of linear ops and weight_grads considered">,
    Statistic<"numApplied", "num-applied", "Sums moved before products">
  ];
}

def CompactRowsPass : FlowPass<"flow-compact-rows"> {
  let summary = "Computes each op in the domain where it takes the least time.";
  let description = [{
    A message that depends on source and type is the same for all edges that share both. It is computed once per source
    pair:
    ```mlir
    %m = flow.linear %x[src], %w[etype] : … -> <edge, 64xf32, device>      // E products
    %y = flow.mul %a, %m : …
    ->
    %m = flow.linear %x[node], %w[etype] : … -> <src_pair, 64xf32, device> // one per pair
    %y = flow.mul %a, %m[src_pair] : …
    ```
    Dense ops then read the result through a longer map. A reduction or a result of the function gets a `flow.spread`. A
    reduction of such a spread works on the pairs themselves: the maximum of equal rows is any of them, and their sum is
    the row times their number.

    A value that depends on both source and destination stays at the edges. So does a value that would take longer
    elsewhere: its result becomes a table that is written and gathered, which may outweigh the operations that are saved.
    Ops that read one another or the same tables are decided together, since a value between two ops that move is no
    table; some of them may move and others stay. A remark gives the time of all of them, as decided and otherwise. Row
    counts come from `flow.graph`, and times are those of `flow.machine`. The pass runs after `simplify`, which leaves no
    spread between dense ops, and both before and after `flow-differentiate`.
  }];
  let statistics = [Statistic<"numMoved", "num-moved", "Ops and reductions moved to a coarser domain">];
}

def DifferentiatePass : FlowPass<"flow-differentiate"> {
  let summary = "Appends the gradients of a function's inputs to its results.";
  let description = [{
    The function gets one more argument per result, `grad.NAME`, and one more result per requested input:
    ```mlir
    func.func @f(%x {flow.name = "x"}) -> (… {flow.name = "out"})
    ->
    func.func @f(%x {flow.name = "x"}, %g {flow.name = "grad.out"}) -> (… {flow.name = "out"}, … {flow.name = "grad.x"})
    ```
    Spreads and reductions are dual: if an op reads an operand along a map, the gradient of the operand is a sum
    along that map. The gradient of a linear op's weights is one op, `flow.weight_grad`. Products of the chain rule are
    `flow.chain`: a row that nothing reads contributes nothing, even if it holds inf or NaN. Only values between a
    requested input and a result get a gradient; nothing is built for others. Inputs are requested by the option
    `inputs` or by the function's attribute `flow.gradients = ["w", "q"]`; without either, all are. An op without a
    rule is an error, unless its slope is 0 everywhere, as for comparisons, signs and floors. The attribute
    `flow.forward_results` holds the number of original results, which come first. A function that has gradients already is refused. The pass runs after rewrites that
    make the forward phase smaller, so that there is less to differentiate.
  }];
  let options = [
    ListOption<"inputs", "inputs", "std::string", "Names of the inputs that get a gradient; if empty, those of "
               "`flow.gradients`, or all">
  ];
}

def FlattenSumsPass : FlowPass<"flow-flatten-sums"> {
  let summary = "Sums edges to nodes at once instead of to pairs first.";
  let description = [{
    A mean over the edges of each pair, and the sum over the pairs of a node, is one sum in which each edge has a factor:
    ```mlir
    %m = flow.reduce mean %x via dst_pair : …                    // a walk that ends a row of 64 numbers at every pair
    %y = flow.reduce sum %m via node : …                         // and one that reads them
    ->
    %n = flow.reduce sum %ones via dst_pair : …                  // how many edges each pair has
    %c = flow.div %one, %n[dst_pair] : … -> <edge, f32, device>  // once for a graph
    %t = flow.mul %x, %c : …
    %y = flow.reduce sum %t via dst : …
    ```
    The inner sum may also be a `sum`, and the outer one a `mean`. Between the two, rows may be multiplied by what is no sum
    of the same edges, and divided by constants; negated, reshaped and expanded; sums may be added to one another.

    The pass leaves alone maxima and minima, rows of pairs that another op reads as well, pairs with a factor for each of
    their numbers, and other divisions: a sum divided by 0 is inf, where a sum of quotients is NaN. A remark says which of
    these it is. Every pair has an edge, so no mean is over nothing. The pass
    compares no times: whether one walk over edges takes less time than one over edges and one over pairs depends on the
    machine, so `default` compares plans with this pass and without it. It runs before `flow-differentiate`: the gradients
    of a sum of edges are sums of edges as well.
  }];
  let statistics = [Statistic<"numFlattened", "num-flattened", "Sums of pairs that became sums of edges">];
}

def FormGroupsPass : FlowPass<"flow-form-groups"> {
  let summary = "Makes each fusion group an op: a loop with its sweeps, inputs and outputs.";
  let description = [{
    Ops that one loop can compute become a `flow.group`, of the kind of loop that takes the least time:
    ```mlir
    %t = flow.reduce max %a via dst : …
    %d = flow.sub %a, %t[dst] : …
    %e = flow.exp %d : …
    %s = flow.reduce sum %e via dst : …
    ->
    %s = flow.group by_dst edge forward (%x = %a) : … {
      %t = flow.sweep -> … {
        %0 = flow.reduce max %x via dst : …
        flow.yield %0 : …
      }
      %r = flow.sweep -> … {
        %0 = flow.sub %x, %t[dst] : …
        %1 = flow.exp %0 : …
        %2 = flow.reduce sum %1 via dst : …
        flow.yield %2 : …
      }
      flow.yield %r : …
    }
    ```
    A value that waits for a sum of its own row starts a new sweep. What an edge computed in one sweep and needs in
    another is rebuilt there or carried over as scratch, whichever moves fewer bytes. Constants are repeated in every group that
    reads them. Runs last: other passes look at functions without groups.
  }];
  let statistics = [
    Statistic<"numGroups", "num-groups", "Groups formed">,
    Statistic<"numSweeps", "num-sweeps", "Sweeps in traversals">,
    Statistic<"numScratch", "num-scratch", "Values of edges or pairs carried from sweep to sweep">,
    Statistic<"numFolds", "num-folds", "Maxima folded with the sums that depend on them">
  ];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Compute several ops in one loop where that takes less time">,
    Option<"rebuild", "rebuild", "bool", "true", "Compute values again where they are read if that takes less time">,
    Option<"memoryWeight", "memory-weight", "double", "1.0", "How much memory counts against time">
  ];
}

def JoinSumsPass : FlowPass<"flow-join-sums"> {
  let summary = "Adds rows before they are summed, where sums along the same map were added.";
  let description = [{
    A product leaves its rows as a table. Of two tables that are summed along the same map, one is enough:
    ```mlir
    %a = flow.linear %x, %v[etype] : … -> <src_pair, 64xf32, device>
    %b = flow.linear %y, %w[etype] : … -> <src_pair, 64xf32, device>
    %s = flow.reduce sum %a via node : …          // a walk over the pairs that reads a table
    %t = flow.reduce sum %b via node : …          // and another one
    %u = flow.add %s, %t : …
    ->
    %c = flow.add %a, %b : …                      // in the loop over the products
    %u = flow.reduce sum %c via node : …
    ```
    The gradient of `x` is such a sum wherever keys and values are both computed from `x`. Any number of terms may be
    added or subtracted, and others may stand between them. A sum of what is computed from single numbers and rows of
    types is joined as well: the loop over the products then adds such rows too.

    The rows must come from a product that nothing else reads; then there are fewer tables, and not more operations. The
    pass leaves alone maxima and minima, sums that others read, and sums of rows that a loop over edges computes without a
    table: those may share that loop with others. It runs last, on the forms that the other passes look for.
  }];
  let statistics = [Statistic<"numJoined", "num-joined", "Sums that became part of another sum">];
}

def LinearReorderPass : FlowPass<"flow-linear-reorder"> {
  let summary = "Reorders linear ops where that takes less time.";
  let description = [{
    Products are associative, `(x W) · a = x · (W a)`, and there are far fewer relations (R) than destination pairs (P):
    ```mlir
    %y = flow.linear %x[node], %w[etype] : … -> <dst_pair, 64xf32, device>   // P products
    %s = flow.dot %y, %a[etype] : … -> <dst_pair, f32, device>
    ->
    %wa = flow.linear %a, %w {transposed} : … -> <etype, 64xf32, device>     // R products
    %s = flow.dot %x[node], %wa[etype] : … -> <dst_pair, f32, device>
    ```
    The other rewrites, each for `flow.linear` and for either operand of `flow.dot`, with heads or without:
    - `dot(q, k W)` becomes `dot(q Wᵀ, k)` if that side has fewer rows.
    - `(x V) W` becomes `x (V W)`, and `(x V + b) W` becomes `x (V W) + b W`.
    - `[a, b] W` becomes `a W₁ + b W₂`. `W₁` and `W₂` are the rows of `W` that belong to each part.
    - `(a ± b) W` becomes `a W ± b W` if the parts have fewer rows.
    - `a W ± b W` becomes `(a ± b) W`, and `x V ± x W` becomes `x (V ± W)`.
    - `(s x) W` becomes `s (x W)` if the factor `s` has one number per row or head. The same holds for quotients and
      negation.

    Every new op is computed in the domain with the fewest rows that its operands can be read from. The pass makes a
    rewrite if the new ops take less time than the ops that become unused. Otherwise a remark gives both times.
    Row counts come from `flow.graph`. The pass keeps the guards of gradients. It runs after `flow-compact-rows`, so that
    it compares with ops that already have the fewest rows, and both before and after `flow-differentiate`.
  }];
  let options = [
    Option<"eager", "eager", "bool", "false",
           "Multiply weights with weights even if another op still reads the product that this would save">
  ];
  let statistics = [Statistic<"numReordered", "num-reordered", "Linear ops and dot products reordered">];
}

def PrintCostPass : Pass<"flow-print-cost", "mlir::ModuleOp"> {
  let dependentDialects = ["::hector::flow::FlowDialect"];
  let summary = "Prints the groups of a function and their cost.";
  let description = [{
    The pass changes nothing. It helps to read IR and to test the analysis. `alone` is the number of bytes that an op would
    move as a group of its own.
    ```
    groups of @f: 1
    group 0: forward, by_dst over edge
      flow.reduce %1: 9 rows, 9 operations, 108 bytes alone
      reads %arg0: 36 bytes
      reads %arg1[src]: 12 bytes, gathered
      indices: 72 bytes
      writes %3: 12 bytes
      9 operations, 132 bytes
    total: 9 operations, 132 bytes, at most 12 bytes live, 48 bytes of inputs, 0 bytes of the graph
    ```
  }];
}

def PrintKeysPass : FlowPass<"flow-print-keys"> {
  let summary = "Emits a remark with the key of every op and the coarsest domain that can hold it.";
  let description = [{
    The pass changes nothing. It helps to read IR and to test the analysis. The key is the set of things that a row
    depends on.
    ```mlir
    %m = flow.linear %x[src], %w[etype] : …   // remark: key {source, etype}, fits src_pair
    ```
  }];
}

def ReuseSumsPass : FlowPass<"flow-reuse-sums"> {
  let summary = "Computes sums from sums that exist already, where that saves a walk over the rows.";
  let description = [{
    The gradient of an attention layer needs, for each node, the sum of `p · d` over its edges, where `d` is the dot
    product of a row that is the same for all of them and the row that the layer itself has summed:
    ```mlir
    %m = flow.mul %p, %x[src] : …
    %s = flow.reduce sum %m via dst : …
    %d = flow.dot %g[dst], %x[src] {guarded} : … -> <edge, f32, device>
    %a = flow.chain %d, %p : …
    %r = flow.reduce sum %a via dst : …              // another walk over the edges
    ->
    %r = flow.dot %g, %s {guarded} : … -> <node, f32, device>
    ```
    Sums are linear, so this holds for all sums of products, quotients, negation, dot products, sums along axes, and
    products with weights: the factors of one sum must be among those of the other, and those that remain must be the
    same for all rows that the first one adds up. A sum of pairs may stand in between: `Σ p · dot(linear(g[node], Wᵀ), x)`
    over edges is `dot(g, out)` if `out` is a sum over pairs of `linear(s, W)`, and `s` a sum over edges of `p · x`. The
    pass recognises the ops, not a model or function.

    The pass leaves alone a sum if the one that exists has a factor which it lacks, since that factor may be 0. It also
    leaves alone maxima and minima, and sums for which it takes longer to read what exists than to walk the rows again.
    A remark gives both times; the time of the walk is that of a loop that computes nothing else. A row that no
    edge leads to stays 0. Where a gradient is 0, so is what is computed from it. Where it is not, and the sum that exists
    holds inf or NaN, the result does as well, even if the dot product of an edge was 0.

    Runs after `flow-differentiate`, which makes such sums, and before other passes rewrite the gradients: until then they
    have the factors of the sums from which they were derived.
  }];
  let statistics = [Statistic<"numReused", "num-reused", "Sums computed from other sums">];
}

def SplitPhasesPass : Pass<"flow-split-phases", "mlir::ModuleOp"> {
  let dependentDialects = ["::hector::flow::FlowDialect", "::mlir::func::FuncDialect"];
  let summary = "Makes the groups of each phase a function, which the original function calls.";
  let description = [{
    What runs once for a graph, what depends on parameters alone, the forward phase and the backward phase become
    functions of their own. The original function calls them one after the other. What one phase leaves for another is a
    result of the first and an argument of the second, so it is owned by whoever calls them:
    ```mlir
    func.func @rgat(%x: …, %W: …, %q: …, %grad: …) -> (…) {
      %wq = call @rgat.weights(%q, %W) : …                    // once per update
      %out, %kept = call @rgat.forward(%x, %W, %wq) : …
      %dx, %dW, %dq = call @rgat.backward(%x, %W, %q, %grad, %wq, %kept) : …
      return %out, %dx, %dW, %dq : …
    }
    ```
    A phase without groups has no function. Runs after `flow-form-groups`.
  }];
  let statistics = [Statistic<"numFunctions", "num-functions", "Functions made of phases">];
}

def SpreadReadsPass : FlowPass<"flow-spread-reads"> {
  let summary = "Replaces every read through a map with a `flow.spread`.";
  let description = [{
    This is the opposite of the canonical form. It is how frameworks without such reads compute the layer:
    ```mlir
    %m = flow.linear %x[src], %w[etype] : …
    ->
    %xs = flow.spread %x via src : …
    %ws = flow.spread %w via etype : …       // one matrix per edge
    %m = flow.linear %xs, %ws : …
    ```
    The pass is part of no pipeline. It gives other passes spreads to work on, for tests with random programs.
  }];
  let statistics = [Statistic<"numSpread", "num-spread", "Reads replaced with spreads">];
}

def StabiliseSoftmaxPass : FlowPass<"flow-stabilise-softmax"> {
  let summary = "Subtracts the largest score before exponentials are divided by their sum.";
  let description = [{
    The quotient is the same, but the exponentials cannot overflow:
    ```mlir
    %e = flow.exp %a                              // inf for scores above 709 (f64) or 88 (f32)
    %s = flow.reduce sum %e via dst
    %y = flow.div %e, %s[dst]
    ->
    %t = flow.reduce max %a via dst
    %d = flow.sub %a, %t[dst]                     // at most 0
    %e = flow.exp %d
    %s = flow.reduce sum %e via dst               // at least 1
    %y = flow.div %e, %s[dst]
    ```
    The pass recognises the ops, for any map; it does not depend on the name of a function. It leaves alone softmaxes that
    are stable already, and sums of anything but the dividend itself. It runs before `flow-differentiate`, which knows
    that the subtrahend has no gradient.
  }];
  let statistics = [Statistic<"numStabilised", "num-stabilised", "Softmaxes made stable">];
}

#endif
