// Ops that look inside a row: sums along an axis and changes of shape.

def Flow_ShapeOps : OpDocGroup {
  let summary = "Shape";
  let description = [{
    These ops change the shape of a row, or combine the numbers of a row along an axis.
  }];
}

let opDocGroup = Flow_ShapeOps in {

def Flow_RowReduceOp : Flow_DenseOp<"row_reduce"> {
  let summary = "Combines the numbers of a row along one axis and removes the axis.";
  let description = [{
    - (C1) `axis` is an axis of the operand.
    - (C2) the result's row shape is the operand's without that axis.
    - (C3) operand and result have one element type, not i1.
    ```mlir
    %n = flow.row_reduce %h {axis = 0 : i64, kind = #flow.reduce_kind<mean>} : <node, 4x16xf32, device> -> <node, 16xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps, Flow_ReduceKindAttr:$kind, I64Attr:$axis);
}

def Flow_ExpandOp : Flow_DenseOp<"expand"> {
  let summary = "Repeats scalars and axes of size 1 until the row has the result's shape.";
  let description = [{
    - (C1) the operand is a scalar or has the result's rank, and each of its sizes is 1 or the result's.
    - (C2) operand and result have one element type.
    ```mlir
    %y = flow.expand %x : <node, 4x1xf32, device> -> <node, 4x16xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_ReshapeOp : Flow_DenseOp<"reshape"> {
  let summary = "Changes the shape of a row and keeps the order of its numbers.";
  let description = [{
    - (C1) operand and result have the same number of elements per row.
    - (C2) operand and result have one element type.
    ```mlir
    %h = flow.reshape %y : <node, 64xf32, device> -> <node, 4x16xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_TransposeOp : Flow_DenseOp<"transpose"> {
  let summary = "Permutes the axes of a row: axis `k` of the result is axis `permutation[k]` of the operand.";
  let description = [{
    - (C1) `permutation` names every axis once.
    - (C2) the result's sizes are the operand's, permuted.
    - (C3) operand and result have one element type.
    ```mlir
    %t = flow.transpose %w {permutation = array<i64: 1, 0>} : <etype, 64x32xf32, device> -> <etype, 32x64xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps, DenseI64ArrayAttr:$permutation);
  let hasFolder = 1;
}

def Flow_SliceOp : Flow_DenseOp<"slice"> {
  let summary = "Takes the part of a row that starts at `offset` along one axis.";
  let description = [{
    - (C1) `axis` is an axis of the operand.
    - (C2) the part has the size of the result and lies within the operand.
    - (C3) the other sizes and the element types are equal.
    ```mlir
    %q = flow.slice %qkv {axis = 0 : i64, offset = 0 : i64} : <node, 96xf32, device> -> <node, 32xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps, I64Attr:$axis, I64Attr:$offset);
  let hasFolder = 1;
}

def Flow_ConcatOp : Flow_DenseOp<"concat"> {
  let summary = "Concatenates rows along one axis.";
  let description = [{
    - (C1) there is at least one operand, and `axis` is an axis of each.
    - (C2) the sizes along `axis` add up to the result's; the other sizes and the element types are equal.
    ```mlir
    %st = flow.concat %x[src], %x[dst] {axis = 0 : i64} : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, 128xf32, device>
    ```
  }];
  let arguments = (ins Variadic<Flow_Rows>:$inputs, Flow_MapArrayAttr:$maps, I64Attr:$axis);
  let hasFolder = 1;
}

def Flow_RowFirstMatchOp : Flow_DenseOp<"row_first_match"> {
  let summary = "Marks the first number along one axis that equals the maximum or minimum along that axis.";
  let description = [{
    The counterpart of `flow.first_index` inside a row, for gradients of `flow.row_reduce` by max and min.
    - (C1) `axis` is an axis of `input`, and `reduced` has the shape of `input` without it.
    - (C2) both have one element type; the result has the shape of `input` and is i1.
    ```mlir
    %m = flow.row_first_match %x, %top {axis = 0 : i64} : <node, 4x8xf32, device>, <node, 8xf32, device> -> <node, 4x8xi1, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_Rows:$reduced, Flow_MapArrayAttr:$maps, I64Attr:$axis);
}

}  // let opDocGroup
