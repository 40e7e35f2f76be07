// Element-wise arithmetic. Operands have equal rank, or are scalars; axes of size 1 and scalars are repeated.

def Flow_ElementwiseOps : OpDocGroup {
  let summary = "Element-wise";
  let description = [{
    These ops work on each number of a row separately. `a` and `b` stand for the operands. Operands have the same rank,
    or are scalars. Scalars and axes of size 1 are repeated.
  }];
}

let opDocGroup = Flow_ElementwiseOps in {

class Flow_UnaryOp<string mnemonic, string formula, list<Trait> traits = []> : Flow_DenseOp<mnemonic, traits> {
  let summary = formula;
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
  let description = [{
    Element-wise.
    - (C1) result and operand have the same row shape and element type, and are not i1.
  }];
}

class Flow_BinaryOp<string mnemonic, string formula, list<Trait> traits = []> : Flow_DenseOp<mnemonic, traits> {
  let summary = formula;
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps);
  let description = [{
    Element-wise; scalars and axes of size 1 are repeated.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all have one element type, not i1.
  }];
  let hasFolder = 1;
}

class Flow_CompareOp<string mnemonic, string formula> : Flow_DenseOp<mnemonic> {
  let summary = formula;
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps);
  let description = [{
    Compares element by element; scalars and axes of size 1 are repeated. Comparisons with NaN are false.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) the operands have one element type, the result i1.
  }];
}

class Flow_LogicalOp<string mnemonic, string formula> : Flow_DenseOp<mnemonic> {
  let summary = formula;
  let arguments = (ins Flow_Rows:$lhs, Flow_Rows:$rhs, Flow_MapArrayAttr:$maps);
  let description = [{
    Element-wise on truth values.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all elements are i1.
  }];
}

def Flow_AddOp : Flow_BinaryOp<"add", "Computes `a + b`.">;
def Flow_SubOp : Flow_BinaryOp<"sub", "Computes `a - b`.">;
def Flow_MulOp : Flow_BinaryOp<"mul", "Computes `a * b`.">;
def Flow_DivOp : Flow_BinaryOp<"div", "Computes `a / b`.">;
def Flow_FloorDivOp : Flow_BinaryOp<"floor_div", "Computes `a // b` as Python does; its slope is 0."> {
  let description = [{
    The quotient that belongs to the remainder of `flow.mod`, so that `b * (a // b) + a % b` is `a`. For example,
    `1.0 // 0.1` is 9, because 0.1 is stored as a little more than a tenth. If `b` is 0, the result is `a / b`.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all have one element type, not i1.
    ```mlir
    %q = flow.floor_div %a, %b : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
    ```
  }];
}

def Flow_ModOp : Flow_BinaryOp<"mod", "Computes the remainder `a % b` as Python does: exact, with the sign of `b`."> {
  let description = [{
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all have one element type, not i1.
    ```mlir
    %r = flow.mod %a, %b : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
    ```
  }];
}

def Flow_PowOp : Flow_BinaryOp<"pow", "Raises `a` to the power `b`.">;
def Flow_MaxOp : Flow_BinaryOp<"max", "Computes the larger of `a` and `b`; on a tie `a` receives the gradient.">;
def Flow_MinOp : Flow_BinaryOp<"min", "Computes the smaller of `a` and `b`; on a tie `a` receives the gradient.">;

def Flow_LessOp : Flow_CompareOp<"less", "Compares `a < b`.">;
def Flow_LessEqualOp : Flow_CompareOp<"less_equal", "Compares `a <= b`.">;
def Flow_EqualOp : Flow_CompareOp<"equal", "Compares `a == b`.">;

def Flow_AndOp : Flow_LogicalOp<"and", "Computes the logical and of `a` and `b`.">;
def Flow_OrOp : Flow_LogicalOp<"or", "Computes the logical or of `a` and `b`.">;

def Flow_NegOp : Flow_UnaryOp<"neg", "Negates `a`."> { let hasFolder = 1; }
def Flow_AbsOp : Flow_UnaryOp<"abs", "Computes the absolute value of `a`.">;
def Flow_SignOp : Flow_UnaryOp<"sign", "Computes the sign of `a`: -1, 0 or 1.">;
def Flow_FloorOp : Flow_UnaryOp<"floor", "Rounds `a` down to an integer.">;
def Flow_ExpOp : Flow_UnaryOp<"exp", "Computes the exponential of `a`.">;
def Flow_LogOp : Flow_UnaryOp<"log", "Computes the natural logarithm of `a`.">;
def Flow_SqrtOp : Flow_UnaryOp<"sqrt", "Computes the square root of `a`.">;
def Flow_RsqrtOp : Flow_UnaryOp<"rsqrt", "Computes `1 / sqrt(a)`.">;
def Flow_SinOp : Flow_UnaryOp<"sin", "Computes the sine of `a`.">;
def Flow_CosOp : Flow_UnaryOp<"cos", "Computes the cosine of `a`.">;
def Flow_TanhOp : Flow_UnaryOp<"tanh", "Computes the hyperbolic tangent of `a`.">;
def Flow_SigmoidOp : Flow_UnaryOp<"sigmoid", "Computes `1 / (1 + exp(-a))`.">;
def Flow_SoftplusOp : Flow_UnaryOp<"softplus", "Computes `log(1 + exp(a))` without overflow.">;
def Flow_ErfOp : Flow_UnaryOp<"erf", "Computes the error function of `a`.">;
def Flow_ReluOp : Flow_UnaryOp<"relu", "Computes `max(a, 0)`; the gradient at 0 is 0.">;

def Flow_LeakyReluOp : Flow_UnaryOp<"leaky_relu", "Computes `a` where `a > 0`, and `slope * a` elsewhere."> {
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps, F64Attr:$slope);
}

def Flow_DropoutOp : Flow_DenseOp<"dropout"> {
  let summary = "In training, 0 with probability `rate`, else a / (1 - rate); outside of training, a.";
  let description = [{
    Element-wise. What is dropped is a function of the run's seed and step, of `stream`, and of the number's place: the
    row's number outside and the element's number in the row. So every plan drops the same, a copy drops what the
    original does, and the gradient is the same op, with the same stream, of the gradient. What is dropped has no
    influence, whatever inf or NaN it holds.
    - (C1) result and operand have the same row shape and element type, and are not i1.
    - (C2) `rate` is from 0 to 1.
    - (C3) `stream` is from 0 to 2^32 - 1.
    - (C4) a row has at most 2^34 numbers.
    ```mlir
    %y = flow.dropout %x {rate = 5.000000e-01 : f64, stream = 3 : i64} : <node, 64xf32, device> -> <node, 64xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps, F64Attr:$rate, I64Attr:$stream);
  let hasFolder = 1;
}

def Flow_NotOp : Flow_DenseOp<"not"> {
  let summary = "Computes the logical negation of `a`.";
  let description = [{
    Element-wise on truth values.
    - (C1) result and operand have the same row shape and are i1.
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_CastOp : Flow_DenseOp<"cast"> {
  let summary = "Converts truth values to 1 and 0, or numbers to another precision.";
  let description = [{
    - (C1) result and operand have the same row shape; the result is not i1.
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
}

def Flow_IsRowOp : Flow_DenseOp<"is_row"> {
  let summary = "Whether a number, as `flow.first_index` gives it, is that of the row which reads it.";
  let description = [{
    Depends on which row it is: never the same for two rows, whatever their operands hold.
    - (C1) result and operand have the same row shape; the operand holds `index`, the result i1.
    ```mlir
    %first = flow.is_row %winner[dst] : <node, 4xindex, device> -> <edge, 4xi1, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
}

def Flow_SelectOp : Flow_DenseOp<"select"> {
  let summary = "Chooses `then` where the condition holds, and `otherwise` elsewhere.";
  let description = [{
    Element-wise; scalars and axes of size 1 are repeated. A value that is not
    chosen has no influence, even if it is inf or NaN.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) the condition is i1; `then`, `otherwise` and the result have one element type.
    ```mlir
    %y = flow.select %c, %a, %zero[one] : <edge, i1, device>, <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$condition, Flow_Rows:$then, Flow_Rows:$otherwise, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_ChainOp : Flow_BinaryOp<"chain", "Computes `a * b`, but 0 wherever `a` is 0, even if `b` is inf or NaN."> {
  let description = [{
    The product of the chain rule: `a` is the gradient, `b` the factor. A row that nothing reads has gradient 0, but its
    values may be inf or NaN. They must not reach the gradients of the values that the row was computed from.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all have one element type, not i1.
    ```mlir
    %dx = flow.chain %g, %slope : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
    ```
  }];
}

}  // let opDocGroup
