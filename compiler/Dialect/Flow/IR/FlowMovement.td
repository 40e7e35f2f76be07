// Constants, and the two movements between domains.

def Flow_MovementOps : OpDocGroup {
  let summary = "Movement";
  let description = [{
    These ops connect domains. `flow.spread` and `flow.reduce` are dual: the gradient of a spread is a sum along the
    same map, and the gradient of a sum is a read along the same map.
  }];
}

let opDocGroup = Flow_MovementOps in {

def Flow_ConstantOp : Flow_Op<"constant", [ConstantLike]> {
  let summary = "Provides one number that every row can read.";
  let description = [{
    - (C1) the result is a single scalar row: `<one, dtype, residency>`.
    ```mlir
    %half = flow.constant 5.000000e-01 : <one, f32, device>
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Flow_Rows:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Flow_SpreadOp : Flow_Op<"spread"> {
  let summary = "Reads rows along a map: row `i` of the result is row `via(i)` of the operand.";
  let description = [{
    Dense ops can read through maps themselves. A spread is needed only where the table must exist in the finer domain:
    as a result of the model or as the operand of a `flow.reduce`.
    - (C1) `via` leads from the result's domain to the operand's.
    - (C2) operand and result have the same row shape, element type and residency.
    ```mlir
    %xs = flow.spread %x via src : <node, 64xf32, device> -> <edge, 64xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$rows, Flow_MapAttr:$via);
  let results = (outs Flow_Rows:$result);
  let assemblyFormat = "$rows `via` custom<MapKeyword>($via) attr-dict `:` type($rows) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Flow_ReduceOp : Flow_Op<"reduce"> {
  let summary = "Combines rows along a map: row `j` of the result combines all rows `i` with `via(i) = j`.";
  let description = [{
    `kind` is `sum`, `mean`, `max` or `min`. For every kind, a row that nothing maps to is 0. With `init`, row `j` of
    `init` takes part as if it came first. It is the result if nothing maps to `j`. Rows are combined in order: edges as
    the graph's file has them, pairs by their first edges, other rows by number. If several rows tie for `max` or `min`,
    the first one receives the gradient.
    - (C1) `via` leads from the operand's domain to the result's, and is not `self`.
    - (C2) operand, `init` and result have the same row shape, element type and residency, and are not i1.
    - (C3) `init` is allowed for `max` and `min` only; a sum adds its start with `flow.add`.
    ```mlir
    %sum = flow.reduce sum %att via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
    ```
  }];
  let arguments = (ins Flow_ReduceKindAttr:$kind, Flow_Rows:$rows, Optional<Flow_Rows>:$init, Flow_MapAttr:$via);
  let results = (outs Flow_Rows:$result);
  let assemblyFormat = [{
    custom<KindKeyword>($kind) $rows `via` custom<MapKeyword>($via) (`init` $init^)? attr-dict `:` type($rows) `->`
    custom<InitType>(type($result), type($init), ref($init))
  }];
  let hasVerifier = 1;
}

def Flow_FirstIndexOp : Flow_Op<"first_index"> {
  let summary = "The number of the first row that gave the result of a reduction by max or min.";
  let description = [{
    Element by element: row `j` of the result is the number of the first row `i` with `via(i) = j` and `rows[i]` equal to
    `reduced[j]`, in the order of `flow.reduce`, or -1 if there is none. With `init`, it is -1 as well if `init[j]` equals
    `reduced[j]`, since `init` comes first. NaN equals NaN here. `flow.is_row` tells a row whether it is the one.
    Gradients of `flow.reduce` use both.
    - (C1) `via` leads from the domain of `rows` to that of `reduced`, and is not `self`.
    - (C2) `rows`, `reduced` and `init` have the same row shape, float type and residency.
    - (C3) the result has the type of `reduced`, with elements `index`.
    ```mlir
    %w = flow.first_index %a, %top via dst : <edge, 4xf32, device>, <node, 4xf32, device> -> <node, 4xindex, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$rows, Flow_Rows:$reduced, Optional<Flow_Rows>:$init, Flow_MapAttr:$via);
  let results = (outs Flow_Rows:$result);
  let assemblyFormat = [{
    $rows `,` $reduced `via` custom<MapKeyword>($via) (`init` $init^)? attr-dict `:` type($rows) `,`
    custom<InitType>(type($reduced), type($init), ref($init)) `->` type($result)
  }];
  let hasVerifier = 1;
}

}  // let opDocGroup
