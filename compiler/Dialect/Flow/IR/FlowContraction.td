// Products that sum over an axis, and their outer counterpart. Leading axes (heads) are batched: they are equal, or one
// side has none and is used for all.

def Flow_LinearOp : Flow_DenseOp<"linear"> {
  let summary = "Multiplies each row by a matrix, usually that of its type.";
  let description = [{
    `result[…, o] = Σ_i input[…, i] · weights[…, i, o]`. With `transposed`, `weights[…, o, i]` is read instead.
    The weights stay in their own domain; they are never copied to rows. With `guarded`, an input row of zeros gives
    zeros whatever the weights hold: gradients use it, since a row that nothing reads must stay without influence.
    - (C1) the last size of the input equals the inner size of the weights.
    - (C2) leading sizes are equal, or one side has none.
    - (C3) the result's row shape is those leading sizes and the outer size of the weights.
    - (C4) all have one element type, not i1.
    ```mlir
    %m = flow.linear %x[src], %w[etype] : <node, 64xf32, device>, <etype, 64x32xf32, device> -> <edge, 32xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_Rows:$weights, Flow_MapArrayAttr:$maps, UnitAttr:$transposed,
                       UnitAttr:$guarded);
}

def Flow_DotOp : Flow_DenseOp<"dot"> {
  let summary = "The dot product of two rows along their last axis.";
  let description = [{
    `result[…] = Σ_i lhs[…, i] · rhs[…, i]`. With `guarded`, an entry whose `lhs` is 0 contributes nothing, whatever inf
    or NaN `rhs` holds there: gradients use it, with the gradient as `lhs`.
    - (C1) the last sizes are equal.
    - (C2) leading sizes are equal, or one side has none; they are the result's row shape.
    - (C3) all have one element type, not i1.
    ```mlir
    %s = flow.dot %m, %a[etype] : <edge, 4x16xf32, device>, <etype, 4x16xf32, device> -> <edge, 4xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps, UnitAttr:$guarded);
}

def Flow_OuterOp : Flow_DenseOp<"outer"> {
  let summary = "The outer product of two rows.";
  let description = [{
    `result[…, i, j] = lhs[…, i] · rhs[…, j]`.
    - (C1) both have at least one axis.
    - (C2) leading sizes are equal, or one side has none.
    - (C3) the result's row shape is those leading sizes and the two last ones.
    - (C4) all have one element type, not i1.
    ```mlir
    %o = flow.outer %a, %b : <node, 4xf32, device>, <node, 8xf32, device> -> <node, 4x8xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps);
}

def Flow_WeightGradOp : Flow_Op<"weight_grad"> {
  let summary = "The gradient of a linear op's weights: outer products of rows, summed along a map.";
  let description = [{
    Works at the domain `over` and reads both operands there through their maps, as dense ops do:
    `result[j, i, o] = Σ over rows r with via(r) = j of input[r, i] · grad[r, o]`, in increasing order of `r`. With
    `transposed`, `result[j, o, i]`. Leading sizes (heads) that the result has are kept, others are summed. A row whose
    `grad` is all zeros contributes nothing, whatever the input holds. No rows × i × o table exists.
    - (C1) both operands have at least one axis and share their leading sizes, or one side has none.
    - (C2) the maps lead from `over` to the operands' domains, and `via` from `over` to the result's.
    - (C3) the result's row shape is the leading sizes, or none, and the two last sizes.
    - (C4) all have one element type, not i1, and one residency.
    ```mlir
    %dw = flow.weight_grad %x[src], %g over edge via etype : <node, 64xf32, device>, <edge, 32xf32, device> -> <etype, 64x32xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_Rows:$grad, Flow_MapAttr:$inputMap, Flow_MapAttr:$gradMap,
                       Flow_DomainAttr:$over, Flow_MapAttr:$via, UnitAttr:$transposed);
  let results = (outs Flow_Rows:$result);
  let assemblyFormat = [{
    $input `` custom<BracketMap>($inputMap) `,` $grad `` custom<BracketMap>($gradMap) `over` custom<DomainKeyword>($over)
    `via` custom<MapKeyword>($via) attr-dict `:` type($input) `,` type($grad) `->` type($result)
  }];
  let hasVerifier = 1;
}
