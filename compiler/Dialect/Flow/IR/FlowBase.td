// The flow dialect, its enums and its one type. Ops are kept in a file per family.
#ifndef HECTOR_FLOW_BASE
#define HECTOR_FLOW_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Flow_Dialect : Dialect {
  let name = "flow";
  let cppNamespace = "::hector::flow";
  let summary = "Relational graph layers as data flow between tables.";
  let description = [{
    A function in this dialect computes one layer. Every value is a table, and all ops are pure.

    **Domains.** The domain of a table says what each row stands for.

    | domain | one row per |
    | --- | --- |
    | `edge` | edge |
    | `node` | node |
    | `src_pair` | pair of a node and the type of at least one edge that starts at it |
    | `dst_pair` | pair of a node and the type of at least one edge that ends at it |
    | `etype` | edge type (relation) |
    | `ntype` | node type |
    | `one` | function: the table has a single row |

    **Maps.** A map leads from each row of one domain to one row of another.

    | map | from | to | leads to |
    | --- | --- | --- | --- |
    | `src`, `dst` | `edge` | `node` | the source or destination of the edge |
    | `src_pair`, `dst_pair` | `edge` | `src_pair`, `dst_pair` | the source or destination with the type of the edge |
    | `node` | `src_pair`, `dst_pair` | `node` | the node of the pair |
    | `etype` | `edge`, `src_pair`, `dst_pair` | `etype` | the type of the edge or pair |
    | `ntype` | `node`, `src_pair`, `dst_pair` | `ntype` | the type of the node |
    | `src_ntype`, `dst_ntype` | `edge`, `src_pair`, `dst_pair`, `etype` | `ntype` | the node type at that end of the edge or relation |
    | `one` | all but `one` | `one` | the single row |
    | `self` | all | the same | the row itself; this map is not written |

    **Syntax.** `!flow.rows<edge, 4x16xf32, device>` is a table with one row of 4 × 16 float32 numbers per edge, on the
    device. Op signatures leave out `!flow.rows`. An operand is followed by its map in brackets:
    ```mlir
    %m = flow.linear %x[src], %w[etype] : <node, 64xf32, device>, <etype, 64x32xf32, device> -> <edge, 32xf32, device>
    %h = flow.reduce sum %m via dst : <edge, 32xf32, device> -> <node, 32xf32, device>
    ```
    The result of `flow.linear` has one row per edge. Each edge reads the row of its source (`%x[src]`) and the weight
    of its type (`%w[etype]`). `flow.reduce` then sums, for each node, the rows of the edges that end there.

    **Dense ops** compute each row of the result from one row of each operand. All ops are dense except
    `flow.constant`, the ops that move rows between domains, and `flow.weight_grad`. A dense op may read every operand
    through a map. Its constraints are:
    - (D1) there is one map per operand.
    - (D2) map `i` leads from the result's domain to the domain of operand `i`.
    - (D3) operands and result share one residency.

    Labels such as (C1) below name the constraints that the verifier checks.

    **Relations with one node type at each end.** `etype` has the maps `src_ntype` and `dst_ntype` only if all edges of a
    relation agree on the type. A function that relies on this lists the ends in the attribute `flow.relation_ends =
    [#flow.map<src_ntype>]`. It is refused for graphs that do not have the property. Passes keep the attribute. If they
    make ops that read types at the ends of relations, because `flow.graph` says that it is uniform, they add these ends.

    **Attributes.** Functions and ops may carry these:
    - (A1) `flow.graph` is a `#flow.graph` on a function.
    - (A2) `flow.machine` is a `#flow.machine` on a function.
    - (A3) `flow.forward_results` is an i64 on a function, from 0 to the number of its results. The results from there on
      are gradients.
    - (A4) `flow.name` is a string on an argument or result: its name in models and files.
    - (A5) `flow.gradients` is a list of strings on a function: the inputs that get gradients.
    - (A6) `flow.relation_ends` is a list of `#flow.map<src_ntype>` and `#flow.map<dst_ntype>` on a function.
    - (A7) `flow.phase` is a `#flow.phase` on a function that `flow-split-phases` made of the groups of one phase.
    - (A8) `flow.optimiser` is a `#flow.optimiser` on a function whose gradients are to become steps of training.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Flow_Domain : I32EnumAttr<"Domain", "what a row of a table stands for", [
    I32EnumAttrCase<"One", 0, "one">,
    I32EnumAttrCase<"NodeType", 1, "ntype">,
    I32EnumAttrCase<"EdgeType", 2, "etype">,
    I32EnumAttrCase<"Node", 3, "node">,
    I32EnumAttrCase<"SrcPair", 4, "src_pair">,
    I32EnumAttrCase<"DstPair", 5, "dst_pair">,
    I32EnumAttrCase<"Edge", 6, "edge">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}

def Flow_DomainAttr : EnumAttr<Flow_Dialect, Flow_Domain, "domain"> {
  let assemblyFormat = "`<` $value `>`";
}

def Flow_Map : I32EnumAttr<"Map", "how a row of one domain finds its row in another", [
    I32EnumAttrCase<"Self", 0, "self">,
    I32EnumAttrCase<"Src", 1, "src">,
    I32EnumAttrCase<"Dst", 2, "dst">,
    I32EnumAttrCase<"SrcPair", 3, "src_pair">,
    I32EnumAttrCase<"DstPair", 4, "dst_pair">,
    I32EnumAttrCase<"Node", 5, "node">,
    I32EnumAttrCase<"EdgeType", 6, "etype">,
    I32EnumAttrCase<"NodeType", 7, "ntype">,
    I32EnumAttrCase<"SrcNodeType", 8, "src_ntype">,
    I32EnumAttrCase<"DstNodeType", 9, "dst_ntype">,
    I32EnumAttrCase<"One", 10, "one">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}
def Flow_MapAttr : EnumAttr<Flow_Dialect, Flow_Map, "map"> {
  let assemblyFormat = "`<` $value `>`";
}
def Flow_MapArrayAttr : TypedArrayAttrBase<Flow_MapAttr, "one map per operand">;

def Flow_Residency : I32EnumAttr<"Residency", "where a table lives", [
    I32EnumAttrCase<"Device", 0, "device">,
    I32EnumAttrCase<"Host", 1, "host">,
    I32EnumAttrCase<"Disk", 2, "disk">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}

def Flow_ReduceKind : I32EnumAttr<"ReduceKind", "how rows are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"Mean", 3, "mean">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}
def Flow_ReduceKindAttr : EnumAttr<Flow_Dialect, Flow_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Flow_Loop : I32EnumAttr<"Loop", "the loop that computes a group", [
    I32EnumAttrCase<"Flat", 0, "flat">,
    I32EnumAttrCase<"ByDst", 1, "by_dst">,
    I32EnumAttrCase<"BySrc", 2, "by_src">,
    I32EnumAttrCase<"Gemm", 3, "gemm">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}
def Flow_LoopAttr : EnumAttr<Flow_Dialect, Flow_Loop, "loop"> {
  let assemblyFormat = "`<` $value `>`";
}

def Flow_Phase : I32EnumAttr<"Phase", "when a group runs", [
    I32EnumAttrCase<"Graph", 0, "graph">,
    I32EnumAttrCase<"Weights", 1, "weights">,
    I32EnumAttrCase<"Forward", 2, "forward">,
    I32EnumAttrCase<"Backward", 3, "backward">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}
def Flow_PhaseAttr : EnumAttr<Flow_Dialect, Flow_Phase, "phase"> {
  let assemblyFormat = "`<` $value `>`";
}

def Flow_Order : I32EnumAttr<"Order", "the order of a table's rows", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"ByType", 1, "by_type">,
    I32EnumAttrCase<"ByDst", 2, "by_dst">,
    I32EnumAttrCase<"BySrc", 3, "by_src">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}
def Flow_OrderAttr : EnumAttr<Flow_Dialect, Flow_Order, "order"> {
  let assemblyFormat = "`<` $value `>`";
}

def Flow_GraphAttr : AttrDef<Flow_Dialect, "Graph"> {
  let mnemonic = "graph";
  let summary = "The statistics of a graph that passes use to choose a plan.";
  let description = [{
    Functions carry it as `flow.graph`. It holds the number of rows of each domain and how often rows are read. Entry
    `k` of `sourceReads` is the number of nodes with 2^(k-1) to 2^k - 1 outgoing edges (entry 0: none).
    `destinationReads` is the same for incoming edges, `srcPairReads` and `dstPairReads` for the edges of a pair.
    `uniform` is 1 if every relation joins one node type to one node type. The attribute influences which plan is
    chosen, never the results.
    - (C1) no number is negative.
    ```mlir
    func.func @f() attributes {flow.graph = #flow.graph<nodes = 6, edges = 9, srcPairs = 7, dstPairs = 8,
        relations = 2, nodeTypes = 1, uniform = 1>}
    ```
  }];
  let parameters = (ins "int64_t":$nodes, "int64_t":$edges, "int64_t":$srcPairs, "int64_t":$dstPairs,
                        "int64_t":$relations, "int64_t":$nodeTypes, "int64_t":$uniform,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$sourceReads,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$destinationReads,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$srcPairReads,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$dstPairReads);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Flow_Target : I32EnumAttr<"Target", "what kind of machine code is generated for", [
    I32EnumAttrCase<"Cpu", 0, "cpu">, I32EnumAttrCase<"Gpu", 1, "gpu">]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}

def Flow_MachineAttr : AttrDef<Flow_Dialect, "Machine"> {
  let mnemonic = "machine";
  let summary = "The properties of a machine that passes use to choose a plan.";
  let description = [{
    Functions carry it as `flow.machine`. The attribute never influences results but for rounding. All figures are for
    the whole machine, with all its cores at work:

    - `target`: `cpu`, or `gpu`. A loop for a GPU walks the edges of a row once, since it may be cut into pieces.
    - `bandwidth`: of memory, reads and writes together, in 10^9 bytes per second.
    - `cacheBytes`: the size of the largest cache.
    - `lineBytes`: what is read from memory at least, a line of the cache or a sector of it.
    - `randomReads`, `cachedReads`: single numbers read per second from random places of a table much larger than the
      cache, and of one that fits in it, in 10^6.
    - `productRate`: multiplications and additions per second in products of matrices, in 10^9.
    - `scalarRate`: other operations per second, in 10^9.
    - `launch`: what it takes to start a loop on all cores and to wait for its end, in nanoseconds.
    - (C1) all figures are at least 1.
    ```mlir
    func.func @f() attributes {flow.machine = #flow.machine<
        target = cpu, bandwidth = 40, cacheBytes = 33554432, lineBytes = 64, randomReads = 200, cachedReads = 800,
        productRate = 160, scalarRate = 40, launch = 2000>}
    ```
  }];
  let parameters = (ins EnumParameter<Flow_Target>:$target, "int64_t":$bandwidth, "int64_t":$cacheBytes,
                        "int64_t":$lineBytes, "int64_t":$randomReads, "int64_t":$cachedReads, "int64_t":$productRate,
                        "int64_t":$scalarRate, "int64_t":$launch);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Flow_OptimiserKind : I32EnumAttr<"OptimiserKind", "how parameters learn", [
    I32EnumAttrCase<"Sgd", 0, "sgd">,
    I32EnumAttrCase<"Adam", 1, "adam">,
    I32EnumAttrCase<"AdamW", 2, "adamw">
  ]> {
  let cppNamespace = "::hector::flow";
  let genSpecializedAttr = 0;
}

def Flow_OptimiserAttr : AttrDef<Flow_Dialect, "Optimiser"> {
  let mnemonic = "optimiser";
  let summary = "An optimiser, and the inputs that it changes.";
  let description = [{
    Functions carry it as `flow.optimiser` until `flow-add-updates` has made updates of their gradients.
    - (C1) `parameters` is a list of strings, the names of inputs.
    ```mlir
    func.func @f() attributes {flow.optimiser = #flow.optimiser<adam, ["layer1.W", "layer1.bias"]>}
    ```
  }];
  let parameters = (ins EnumParameter<Flow_OptimiserKind>:$kind, "::mlir::ArrayAttr":$parameters);
  let assemblyFormat = "`<` $kind `,` $parameters `>`";
  let genVerifyDecl = 1;
}

class Flow_Type<string name, string typeMnemonic> : TypeDef<Flow_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Flow_Rows : Flow_Type<"Rows", "rows"> {
  let summary = "A table: one row of a fixed shape per element of a domain.";
  let description = [{
    `!flow.rows<edge, 4x16xf32, device>` has one row of 4 × 16 float32 numbers per edge and lives on the device.
    A row without sizes is a single number: `!flow.rows<etype, f32, device>`. The graph determines the number of rows.
    - (C1) every size is at least 1, and a row has at most 2^40 numbers.
    - (C2) elements are f64, f32, f16, bf16, i1 for truth values, or index for the numbers of rows.
  }];
  let parameters = (ins
    EnumParameter<Flow_Domain>:$domain,
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    EnumParameter<Flow_Residency>:$residency
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getShape().size()); }
    /// How many numbers a row holds.
    int64_t getRowSize() const;
    bool isBool() const { return getElementType().isInteger(1); }
    bool isFloat() const { return ::mlir::isa<::mlir::FloatType>(getElementType()); }
    RowsType withDomain(Domain domain) const;
    RowsType withShape(::llvm::ArrayRef<int64_t> shape) const;
    RowsType withElementType(::mlir::Type type) const;
  }];
}

#endif
