// The passes on flow. Each says what it does, what it leaves alone, and why it stands where it does in Pipelines/.
#ifndef HECTOR_FLOW_PASSES
#define HECTOR_FLOW_PASSES

include "mlir/Pass/PassBase.td"

/// A pass on functions of flow: the base class refuses other functions.
class FlowPass<string passArg> : PassBase<passArg, "::hector::flow::FlowPass">;

def AggregateFirstPass : FlowPass<"flow-aggregate-first"> {
  let summary = "Sums rows before they are multiplied by weights, where that takes fewer operations.";
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
    Any domain on the way of the sum from which the weights can be read may be the middle; the one with the fewest
    operations is taken. Factors are one number a row, or one a head: then sums are kept for each head. A bias is
    multiplied by the sum of the factors. Where the middle has rows that nothing leads to (isolated nodes), they are set
    to 0, so that neither values nor gradients come from there. `flow.weight_grad` likewise sums the operand that varies
    before the outer product:
    ```mlir
    %dw = flow.weight_grad %x[src], %g over edge via etype : …               // E outer products
    ->
    %s = flow.reduce sum %g via src_pair : …
    %dw = flow.weight_grad %x[node], %s over src_pair via etype : …
    ```
    Leaves alone maxima and minima, products that another op reads as well, and sums whose count would not fall.
    Runs after `simplify`. What it does before `flow-differentiate` makes gradients smaller as well; it runs again
    after that, on gradients.
  }];
  let options = [
    ListOption<"only", "only", "int64_t", "Ordinals of the sums of linear ops and weight_grads to consider, in the "
               "order of the function and from 0; all, if empty">,
    ListOption<"skip", "skip", "int64_t", "Ordinals of those to leave alone">
  ];
  let statistics = [
    Statistic<"numConsidered", "num-considered", "Sums of linear ops and weight_grads that there were">,
    Statistic<"numApplied", "num-applied", "Sums moved before products">
  ];
}

def CompactRowsPass : FlowPass<"flow-compact-rows"> {
  let summary = "Computes each op at the domain with the fewest rows that holds its key.";
  let description = [{
    A message of source and type is the same for all edges that share both, so it is computed once per source pair:
    ```mlir
    %m = flow.linear %x[src], %w[etype] : … -> <edge, 64xf32, device>      // E products
    %y = flow.mul %a, %m : …
    ->
    %m = flow.linear %x[node], %w[etype] : … -> <src_pair, 64xf32, device> // one a pair
    %y = flow.mul %a, %m[src_pair] : …
    ```
    Readers with maps read through the longer map; a reduction or result gets a spread. A reduction of such a spread
    works on the pairs themselves: of equal rows the largest is each, and the sum is the row times their number.
    What depends on source and destination stays at the edges, and so does what would not have fewer rows elsewhere: a
    graph may have more nodes than edges. Row counts are those of `flow.graph`.
    Runs after `simplify`, which leaves no spread between dense ops, and both before and after `flow-differentiate`.
  }];
  let statistics = [Statistic<"numMoved", "num-moved", "Ops moved to a domain with fewer rows">];
}

def DifferentiatePass : FlowPass<"flow-differentiate"> {
  let summary = "Appends the gradients of a function's inputs to its results.";
  let description = [{
    The function takes one more table for each of its results, `grad.NAME`, and gives one more for each input asked for:
    ```mlir
    func.func @f(%x {flow.name = "x"}) -> (… {flow.name = "out"})
    ->
    func.func @f(%x {flow.name = "x"}, %g {flow.name = "grad.out"}) -> (… {flow.name = "out"}, … {flow.name = "grad.x"})
    ```
    Spreads and reductions are dual: what an op read along a map, its gradient sums along it. The gradient of a linear
    op's weights is one op, `flow.weight_grad`. The attribute `flow.forward_results` says how many results come first. Only values that lie between an asked-for input and a result get a
    gradient. Products of the chain rule are `flow.chain`: a row that nothing reads contributes nothing, whatever inf or
    NaN it holds. A function that has gradients already is refused. Runs after rewrites that make the forward pass smaller,
    so that there is less to differentiate.
  }];
  let options = [
    ListOption<"inputs", "inputs", "std::string", "Names of the inputs whose gradients are wanted; all, if empty">
  ];
}

def LinearReorderPass : FlowPass<"flow-linear-reorder"> {
  let summary = "Reorders linear ops where that takes fewer operations.";
  let description = [{
    Products may be multiplied from either end, `(x W) · a = x · (W a)`, and there are far fewer relations (R) than
    destination pairs (P):
    ```mlir
    %y = flow.linear %x[node], %w[etype] : … -> <dst_pair, 64xf32, device>   // P products
    %s = flow.dot %y, %a[etype] : … -> <dst_pair, f32, device>
    ->
    %wa = flow.linear %a, %w {transposed} : … -> <etype, 64xf32, device>     // R products
    %s = flow.dot %x[node], %wa[etype] : … -> <dst_pair, f32, device>
    ```
    In the same way, for `flow.linear` and `flow.dot`, either operand of the latter, with heads or without:
    - `dot(q, k W)` becomes `dot(q Wᵀ, k)`, the product on the side with fewer rows;
    - `(x V) W` becomes `x (V W)`, and `(x V + b) W` becomes `x (V W) + b W`;
    - `[a, b] W` becomes `a W₁ + b W₂`, with the rows of `W` that belong to each part;
    - `(a ± b) W` becomes `a W ± b W` where the parts have fewer rows; `a W ± b W` becomes `(a ± b) W`, and
      `x V ± x W` becomes `x (V ± W)`;
    - `(s x) W` becomes `s (x W)` for a factor that is one number a row or head, for quotients and negation too.

    Every new op is computed at the domain with the fewest rows that its operands can be read from. A rewrite is made
    where new ops take fewer operations than those that nothing reads any more; otherwise a remark gives both counts.
    Rows per domain come from `flow.graph`. Guards of gradients are kept. Runs after `flow-compact-rows`, so that the
    ops that it is compared with are at their best places, and both before and after `flow-differentiate`.
  }];
  let options = [
    Option<"eager", "eager", "bool", "false",
           "Contract weights with weights also where another op still reads the product that this would save">
  ];
  let statistics = [Statistic<"numReordered", "num-reordered", "Linear ops and dot products reordered">];
}

def PrintCostPass : Pass<"flow-print-cost", "mlir::ModuleOp"> {
  let summary = "Prints the groups of a function and what they cost.";
  let description = [{
    Changes nothing; for reading IR and for tests of the analysis. `alone` is what an op would move as a group of its own.
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
  let summary = "Remarks on the key of every op and the coarsest domain that holds it.";
  let description = [{
    Changes nothing; for reading IR and for tests of the analysis.
    ```mlir
    %m = flow.linear %x[src], %w[etype] : …   // remark: key {source, etype}, fits src_pair
    ```
  }];
}

def RecomputePass : FlowPass<"flow-recompute"> {
  let summary = "Rebuilds values where they are read, where that costs less than storing them.";
  let description = [{
    What the gradients read of an edge softmax would be a number an edge, stored until then. It is made again from what is
    stored for each node and pair:
    ```mlir
    %a = flow.add %s[src_pair], %t[dst_pair] : …
    %d = flow.sub %a, %top[dst] : …
    %e = flow.exp %d : …
    %y = flow.div %e, %sum[dst] : …                        // read by the sum, and again by the gradients
    ->
    …
    %a2 = flow.add %s[src_pair], %t[dst_pair] {flow.again = 0} : …
    %d2 = flow.sub %a2, %top[dst] {flow.again = 0} : …
    %e2 = flow.exp %d2 {flow.again = 0} : …
    %y2 = flow.div %e2, %sum[dst] {flow.again = 0} : …     // read by the gradients
    ```
    Looks at the tables that pass between groups, in forward and backward alike. A value is rebuilt in every group that
    reads it, together with the values of its own row that it was made from; others stay or become tables. The rewrite is
    kept if the whole function then costs less (`price` in `compiler/Analysis/Cost.h`: bytes, operations, and memory held
    from the forward to the backward phase), and undone otherwise. Products, reductions and results are always stored. `flow.again` keeps equal ops of different groups apart.
    Runs last: other passes would see the same op several times.
  }];
  let statistics = [Statistic<"numRebuilt", "num-rebuilt", "Values rebuilt where they are read">];
}

def SpreadReadsPass : FlowPass<"flow-spread-reads"> {
  let summary = "Makes every read through a map a table of its own.";
  let description = [{
    The opposite of what canonical forms do, as frameworks without such reads compute it:
    ```mlir
    %m = flow.linear %x[src], %w[etype] : …
    ->
    %xs = flow.spread %x via src : …
    %ws = flow.spread %w via etype : …       // a weight for every edge
    %m = flow.linear %xs, %ws : …
    ```
    In no pipeline. It gives other passes spreads to work on, so that random programs can judge what they make of them.
  }];
  let statistics = [Statistic<"numSpread", "num-spread", "Reads turned into tables">];
}

def StabiliseSoftmaxPass : FlowPass<"flow-stabilise-softmax"> {
  let summary = "Subtracts the largest score before exponentials are divided by their sum.";
  let description = [{
    The quotient is the same, but nothing overflows:
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
    Leaves alone what is in this form already, and sums of anything but the dividend itself. Recognises the shape, for
    any map, not a function's name. Runs before `flow-differentiate`, which knows that the subtrahend has no gradient.
  }];
  let statistics = [Statistic<"numStabilised", "num-stabilised", "Softmaxes brought to their stable form">];
}

#endif
