// Element-wise arithmetic. Operands have equal rank, or are scalars; axes of size 1 and scalars are repeated.

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
    Element-wise; scalars and axes of size 1 are repeated. NaN compares false.
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

def Flow_AddOp : Flow_BinaryOp<"add", "a + b">;
def Flow_SubOp : Flow_BinaryOp<"sub", "a - b">;
def Flow_MulOp : Flow_BinaryOp<"mul", "a · b, element by element">;
def Flow_DivOp : Flow_BinaryOp<"div", "a / b">;
def Flow_PowOp : Flow_BinaryOp<"pow", "a to the power b">;
def Flow_MaxOp : Flow_BinaryOp<"max", "The larger of a and b; on a tie a takes the gradient.">;
def Flow_MinOp : Flow_BinaryOp<"min", "The smaller of a and b; on a tie a takes the gradient.">;

def Flow_LessOp : Flow_CompareOp<"less", "a < b">;
def Flow_LessEqualOp : Flow_CompareOp<"less_equal", "a ≤ b">;
def Flow_EqualOp : Flow_CompareOp<"equal", "a = b">;

def Flow_AndOp : Flow_LogicalOp<"and", "a and b">;
def Flow_OrOp : Flow_LogicalOp<"or", "a or b">;

def Flow_NegOp : Flow_UnaryOp<"neg", "-a"> { let hasFolder = 1; }
def Flow_AbsOp : Flow_UnaryOp<"abs", "|a|">;
def Flow_SignOp : Flow_UnaryOp<"sign", "-1, 0 or 1, as a is below, at or above 0">;
def Flow_FloorOp : Flow_UnaryOp<"floor", "The largest integer not above a">;
def Flow_ExpOp : Flow_UnaryOp<"exp", "e to the power a">;
def Flow_LogOp : Flow_UnaryOp<"log", "The natural logarithm of a">;
def Flow_SqrtOp : Flow_UnaryOp<"sqrt", "The square root of a">;
def Flow_RsqrtOp : Flow_UnaryOp<"rsqrt", "1 / √a">;
def Flow_SinOp : Flow_UnaryOp<"sin", "sin a">;
def Flow_CosOp : Flow_UnaryOp<"cos", "cos a">;
def Flow_TanhOp : Flow_UnaryOp<"tanh", "tanh a">;
def Flow_SigmoidOp : Flow_UnaryOp<"sigmoid", "1 / (1 + exp(-a))">;
def Flow_SoftplusOp : Flow_UnaryOp<"softplus", "log(1 + exp a), without overflow">;
def Flow_ErfOp : Flow_UnaryOp<"erf", "The error function of a">;
def Flow_ReluOp : Flow_UnaryOp<"relu", "max(a, 0); the gradient at 0 is 0">;

def Flow_LeakyReluOp : Flow_UnaryOp<"leaky_relu", "a where a > 0, slope · a elsewhere"> {
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
  let summary = "not a";
  let description = [{
    Element-wise on truth values.
    - (C1) result and operand have the same row shape and are i1.
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_CastOp : Flow_DenseOp<"cast"> {
  let summary = "1 where a is true, 0 elsewhere; or a float in another precision.";
  let description = [{
    - (C1) result and operand have the same row shape; the result is not i1.
  }];
  let arguments = (ins Flow_Rows:$input, Flow_MapArrayAttr:$maps);
}

def Flow_SelectOp : Flow_DenseOp<"select"> {
  let summary = "a where the condition holds, b elsewhere.";
  let description = [{
    Element-wise; scalars and axes of size 1 are repeated. What is not chosen has no influence, whatever inf or NaN it holds.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) the condition is i1; a, b and the result have one element type.
    ```mlir
    %y = flow.select %c, %a, %zero[one] : <edge, i1, device>, <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xf32, device>
    ```
  }];
  let arguments = (ins Flow_Rows:$condition, Flow_Rows:$then, Flow_Rows:$otherwise, Flow_MapArrayAttr:$maps);
  let hasFolder = 1;
}

def Flow_ChainOp : Flow_BinaryOp<"chain", "grad · factor, but 0 where grad is 0, whatever the factor holds."> {
  let description = [{
    The product of the chain rule. A row that nothing reads has gradient 0, and its values may be inf or NaN: they must
    not reach the gradients of what the row was computed from.
    - (C1) the result's row shape is the common shape of the operands'.
    - (C2) all have one element type, not i1.
    ```mlir
    %dx = flow.chain %g, %slope : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
    ```
  }];
}
