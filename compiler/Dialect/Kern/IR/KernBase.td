// The kern dialect, its attributes and its types.
#ifndef HECTOR_KERN_BASE
#define HECTOR_KERN_BASE

include "compiler/Dialect/Flow/IR/FlowBase.td"
include "compiler/Dialect/Kern/IR/KernEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let dependentDialects = ["::hector::flow::FlowDialect"];
  let cppNamespace = "::hector::kern";
  let summary = "Loops over rows: what a kernel reads, computes and writes, statement by statement.";
  let description = [{
    A module in this dialect holds kernels and one function that launches them. `lower-to-kern` makes a kernel of each
    `flow.group`, and equal kernels are one. Code for a target is generated from kernels alone.

    **Loops.** A kernel's body is a nest of `kern.for` (rows of one domain, those below the row of the loop around it)
    and `kern.tile` (rows of one type, in pieces). The outermost loop is divided among threads. Inside, every enclosing
    loop has a current row, and an enclosing tile has a current type.

    **Access.** Tables are in memory. `kern.load` and `kern.store` name the row: they start at the current row of a
    level and look it up in index arrays of the graph, one after the other. `at edge [edge_src.dst, node_type]` is the
    type of the edge's source, for edges in the order of their destinations. The names are those of
    `runtime/exec/Form.h`. An empty list is the current row itself, and level `one` is the single row.

    **Rows.** Values are rows: `f32` is a row of one number, `vector<64xf32>` one of 64. Rows are flat: 4 heads of 16 are
    64 numbers, and `kern.map` says which number each statement reads. Kernels compute in f32 or f64. Tables may be
    stored in bf16 or f16, and are converted when they are read and written.

    **State.** `kern.acc` declares an accumulator, `kern.buffer` a row for each row of an inner loop. Both belong to the
    place where they are declared: each time that is reached, they start anew. `kern.total` belongs to the kernel: parts
    of it are joined at the end.

    Labels such as (C1) below name the constraints that the verifier checks.

    **Attributes.** The function that launches kernels may carry this:
    - (A1) `kern.order` is a `#flow.order` on an argument or result that has a row per edge or pair: the order in which
      these rows are stored. Edges are stored by type, destination or source, pairs by type or by the node on their side.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Kern_FnAttr : EnumAttr<Kern_Dialect, Kern_Fn, "fn"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_AccKindAttr : EnumAttr<Kern_Dialect, Kern_AccKind, "acc_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

class Kern_Type<string name, string typeMnemonic> : TypeDef<Kern_Dialect, name> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

def Kern_Acc : Kern_Type<"Acc", "acc"> {
  let summary = "An accumulator: one or several rows that steps change.";
  let description = [{
    - (C1) rows are numbers, or vectors of numbers with one axis: floats, `i1` or `index`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$rows);
  let assemblyFormat = "`<` $rows `>`";
}

def Kern_Buffer : Kern_Type<"Buffer", "buffer"> {
  let summary = "A row for each row of an inner loop.";
  let description = [{
    - (C1) the row is a number, or a vector of numbers with one axis: floats, `i1` or `index`.
  }];
  let parameters = (ins EnumParameter<Flow_Domain>:$domain, "::mlir::Type":$row);
  let assemblyFormat = "`<` $domain `,` $row `>`";
}

#endif
