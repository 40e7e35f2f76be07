// Products that sum over an axis, and their outer counterpart. Leading axes (heads) are batched: they are equal, or one
// side has none and is used for all.

def Flow_ContractionOps : OpDocGroup {
  let summary = "Contraction";
  let description = [{
    These ops multiply rows with rows or with matrices. Leading axes, such as heads, are batched: their sizes are equal,
    or one side has none and is used for all.
  }];
}

let opDocGroup = Flow_ContractionOps in {

def Flow_LinearOp : Flow_DenseOp<"linear"> {
  let summary = "Multiplies each row by a matrix, usually the one of its type.";
  let description = [{
    `result[…, o] = Σ_i input[…, i] · weights[…, i, o]`. With `transposed`, `weights[…, o, i]` is read instead. The
    weights stay in their own domain and are never copied to the rows. With `guarded`, an input row of zeros gives
    zeros, even if the weights hold inf or NaN. Gradients use this, since a row that nothing reads must have no
    influence.
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
  let summary = "Computes the dot product of two rows along their last axis.";
  let description = [{
    `result[…] = Σ_i lhs[…, i] · rhs[…, i]`. With `guarded`, an entry contributes nothing where `lhs` is 0, even
    if `rhs` is inf or NaN there. Gradients use this, with the gradient as `lhs`.
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
  let summary = "Computes the outer product of two rows.";
  let description = [{
    `result[…, i, j] = lhs[…, i] · rhs[…, j]`.
    - (C1) both have at least one axis.
    - (C2) leading sizes are equal, or one side has none.
    - (C3) the result's row shape is those leading sizes and the last size of each operand.
    - (C4) all have one element type, not i1.
    ```mlir
    %o = flow.outer %a, %b : <node, 4xf32, device>, <node, 8xf32, device> -> <node, 4x8xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps);
}

def Flow_WeightGradOp : Flow_Op<"weight_grad"> {
  let summary = "Computes the gradient of a linear op's weights: outer products of rows, summed along a map.";
  let description = [{
    Visits the rows of the domain `over` and reads both operands through their maps, as dense ops do: `result[j, i, o] =
    Σ over rows r with via(r) = j of input[r, i] · grad[r, o]`, in increasing order of `r`. With `transposed`, it is
    `result[j, o, i]`. Leading sizes (heads) are kept if the result has them, and summed otherwise. A row contributes
    nothing if its `grad` is all zeros, even if `input` is inf or NaN there. The outer products are never stored per
    row.
    - (C1) both operands have at least one axis and share their leading sizes, or one side has none.
    - (C2) the maps lead from `over` to the operands' domains, and `via` from `over` to the result's.
    - (C3) the result's row shape is the leading sizes, or none of them, and the last size of each operand.
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

}  // let opDocGroup
