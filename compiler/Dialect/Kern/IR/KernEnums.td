// The enums of the kern dialect. Apart, because TableGen generates all enums that a file includes.
#ifndef HECTOR_KERN_ENUMS
#define HECTOR_KERN_ENUMS

include "mlir/IR/EnumAttr.td"

def Kern_Fn : I32EnumAttr<"Fn", "what is computed for each number", [
    I32EnumAttrCase<"Copy", 0, "copy">,
    I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Sub", 2, "sub">,
    I32EnumAttrCase<"Mul", 3, "mul">,
    I32EnumAttrCase<"Div", 4, "div">,
    I32EnumAttrCase<"Chain", 5, "chain">,
    I32EnumAttrCase<"FloorDiv", 6, "floor_div">,
    I32EnumAttrCase<"Mod", 7, "mod">,
    I32EnumAttrCase<"Pow", 8, "pow">,
    I32EnumAttrCase<"Max", 9, "max">,
    I32EnumAttrCase<"Min", 10, "min">,
    I32EnumAttrCase<"Less", 11, "less">,
    I32EnumAttrCase<"LessEqual", 12, "less_equal">,
    I32EnumAttrCase<"Equal", 13, "equal">,
    I32EnumAttrCase<"And", 14, "and">,
    I32EnumAttrCase<"Or", 15, "or">,
    I32EnumAttrCase<"Not", 16, "not">,
    I32EnumAttrCase<"Neg", 17, "neg">,
    I32EnumAttrCase<"Abs", 18, "abs">,
    I32EnumAttrCase<"Sign", 19, "sign">,
    I32EnumAttrCase<"Floor", 20, "floor">,
    I32EnumAttrCase<"Exp", 21, "exp">,
    I32EnumAttrCase<"Log", 22, "log">,
    I32EnumAttrCase<"Sqrt", 23, "sqrt">,
    I32EnumAttrCase<"Rsqrt", 24, "rsqrt">,
    I32EnumAttrCase<"Sin", 25, "sin">,
    I32EnumAttrCase<"Cos", 26, "cos">,
    I32EnumAttrCase<"Tanh", 27, "tanh">,
    I32EnumAttrCase<"Sigmoid", 28, "sigmoid">,
    I32EnumAttrCase<"Softplus", 29, "softplus">,
    I32EnumAttrCase<"Erf", 30, "erf">,
    I32EnumAttrCase<"Relu", 31, "relu">,
    I32EnumAttrCase<"LeakyRelu", 32, "leaky_relu">,
    I32EnumAttrCase<"Select", 33, "select">,
    I32EnumAttrCase<"Dropout", 34, "dropout">
  ]> {
  let cppNamespace = "::hector::kern";
  let genSpecializedAttr = 0;
}

def Kern_AccKind : I32EnumAttr<"AccKind", "how an accumulator takes rows", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Mean", 3, "mean">,
    I32EnumAttrCase<"Nearest", 4, "nearest">
  ]> {
  let cppNamespace = "::hector::kern";
  let genSpecializedAttr = 0;
}

#endif
