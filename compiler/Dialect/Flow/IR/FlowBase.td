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
  let summary = "Relational graph layers as data flow between tables that know what their rows stand for.";
  let description = [{
    Every value is a table: one row an edge, a node, a (node, relation) pair, a relation, a node type, or one row alone.
    Two movements carry rows from domain to domain: `flow.spread` reads them along a map of the graph, `flow.reduce`
    collects them. All other ops are dense: they work row by row in the domain of their result, and read each operand
    through a map, written in brackets: `%x[src]` is the row of the edge's source.

    Functions and ops carry attributes of flow:
    - (A1) `flow.graph` is a `#flow.graph` on a function.
    - (A2) `flow.machine` is a `#flow.machine` on a function.
    - (A3) `flow.forward_results` is an i64 on a function, from 0 to the number of its results: those from there on are
      gradients.
    - (A4) `flow.name` is a string on an argument or result: what models and files call it.
    - (A5) `flow.again` is an i64 on an op of flow that rebuilds a value where it is read. Equal ops with different
      numbers stay apart.
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
def Flow_MapArrayAttr : TypedArrayAttrBase<Flow_MapAttr, "one map an operand">;

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

def Flow_GraphAttr : AttrDef<Flow_Dialect, "Graph"> {
  let mnemonic = "graph";
  let summary = "The numbers of a graph that choices between plans rest on.";
  let description = [{
    Written on a function as `flow.graph`. It says how many rows each domain has and how often rows are read: entry `k`
    of `sourceReads` is the number of nodes with 2^(k-1) to 2^k - 1 outgoing edges (entry 0: none), `destinationReads`
    the same for incoming edges, `srcPairReads` and `dstPairReads` for the edges of a pair. `uniform` is 1 where every
    relation joins one node type to one node type. Results never depend on it; which of two equal plans is taken does.
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

def Flow_MachineAttr : AttrDef<Flow_Dialect, "Machine"> {
  let mnemonic = "machine";
  let summary = "The numbers of a machine that choices between plans rest on.";
  let description = [{
    Written on a function as `flow.machine`: how many bytes its largest cache holds, and how many operations take as
    long as moving a byte. Results never depend on it.
    - (C1) both are at least 1.
    ```mlir
    func.func @f() attributes {flow.machine = #flow.machine<cacheBytes = 33554432, operationsPerByte = 8>}
    ```
  }];
  let parameters = (ins "int64_t":$cacheBytes, "int64_t":$operationsPerByte);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Flow_Type<string name, string typeMnemonic> : TypeDef<Flow_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Flow_Rows : Flow_Type<"Rows", "rows"> {
  let summary = "A table: one row of a fixed shape for each member of a domain.";
  let description = [{
    `!flow.rows<edge, 4x16xf32, device>` has one row of 4 × 16 float32 numbers an edge and lives on the device.
    A row without sizes is one number: `!flow.rows<etype, f32, device>`. How many rows there are is the graph's affair.
    - (C1) every size is at least 1, and a row has at most 2^40 numbers.
    - (C2) elements are f64, f32, f16, bf16, or i1 for truth values.
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
    /// Numbers in a row.
    int64_t getRowSize() const;
    bool isBool() const { return getElementType().isInteger(1); }
    RowsType withDomain(Domain domain) const;
    RowsType withShape(::llvm::ArrayRef<int64_t> shape) const;
    RowsType withElementType(::mlir::Type type) const;
  }];
}

#endif
