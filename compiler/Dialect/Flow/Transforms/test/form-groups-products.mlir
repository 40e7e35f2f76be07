// Products that share a loop.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s

#graph = #flow.graph<nodes = 1000, edges = 10000, srcPairs = 6000, dstPairs = 5000, relations = 2, nodeTypes = 2, uniform = 0>

// A row's own gradient and that of the weights read the same gradient.
// CHECK-LABEL: func.func @gradients
// CHECK: flow.group gemm node forward
// CHECK-NEXT: flow.linear
// CHECK-NEXT: flow.weight_grad
// CHECK-NOT: flow.group
// CHECK: return
func.func @gradients(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x4xf32, device>, %g: !flow.rows<node, 4xf32, device>)
    -> (!flow.rows<node, 8xf32, device>, !flow.rows<one, 8x4xf32, device>) attributes {flow.graph = #graph} {
  %dx = flow.linear %g, %w[one] {transposed} : <node, 4xf32, device>, <one, 8x4xf32, device> -> <node, 8xf32, device>
  %dw = flow.weight_grad %x, %g over node via one : <node, 8xf32, device>, <node, 4xf32, device> -> <one, 8x4xf32, device>
  return %dx, %dw : !flow.rows<node, 8xf32, device>, !flow.rows<one, 8x4xf32, device>
}

// Three products of one row.
// CHECK-LABEL: func.func @query_key_value
// CHECK: flow.group gemm node forward
// CHECK-NEXT: flow.linear
// CHECK-NEXT: flow.linear
// CHECK-NEXT: flow.linear
// CHECK-NOT: flow.group
// CHECK: return
func.func @query_key_value(%x: !flow.rows<node, 8xf32, device>, %q: !flow.rows<ntype, 8x4xf32, device>, %k: !flow.rows<ntype, 8x4xf32, device>, %v: !flow.rows<ntype, 8x4xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.graph = #graph} {
  %0 = flow.linear %x, %q[ntype] : <node, 8xf32, device>, <ntype, 8x4xf32, device> -> <node, 4xf32, device>
  %1 = flow.linear %x, %k[ntype] : <node, 8xf32, device>, <ntype, 8x4xf32, device> -> <node, 4xf32, device>
  %2 = flow.linear %x, %v[ntype] : <node, 8xf32, device>, <ntype, 8x4xf32, device> -> <node, 4xf32, device>
  return %0, %1, %2 : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// There is no room for the weights of five.
// CHECK-LABEL: func.func @five
// CHECK-COUNT-2: flow.group gemm node forward
// CHECK-NOT: flow.group
// CHECK: return
func.func @five(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x4xf32, device>, %b: !flow.rows<one, 8x2xf32, device>, %c: !flow.rows<one, 8x3xf32, device>, %d: !flow.rows<one, 8x5xf32, device>, %e: !flow.rows<one, 8x6xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 3xf32, device>, !flow.rows<node, 5xf32, device>, !flow.rows<node, 6xf32, device>) attributes {flow.graph = #graph} {
  %0 = flow.linear %x, %w[one] : <node, 8xf32, device>, <one, 8x4xf32, device> -> <node, 4xf32, device>
  %1 = flow.linear %x, %b[one] : <node, 8xf32, device>, <one, 8x2xf32, device> -> <node, 2xf32, device>
  %2 = flow.linear %x, %c[one] : <node, 8xf32, device>, <one, 8x3xf32, device> -> <node, 3xf32, device>
  %3 = flow.linear %x, %d[one] : <node, 8xf32, device>, <one, 8x5xf32, device> -> <node, 5xf32, device>
  %4 = flow.linear %x, %e[one] : <node, 8xf32, device>, <one, 8x6xf32, device> -> <node, 6xf32, device>
  return %0, %1, %2, %3, %4 : !flow.rows<node, 4xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 3xf32, device>, !flow.rows<node, 5xf32, device>, !flow.rows<node, 6xf32, device>
}

// A product waits for all columns of the one that it reads, whatever lies between them.
// CHECK-LABEL: func.func @chain
// CHECK: flow.group gemm node forward
// CHECK: flow.linear
// CHECK-NOT: flow.linear
// CHECK: flow.group gemm node forward
// CHECK: flow.linear
func.func @chain(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x8xf32, device>) -> !flow.rows<node, 8xf32, device> attributes {flow.graph = #graph} {
  %0 = flow.linear %x, %w[one] : <node, 8xf32, device>, <one, 8x8xf32, device> -> <node, 8xf32, device>
  %1 = flow.relu %0 : <node, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.linear %1, %w[one] : <node, 8xf32, device>, <one, 8x8xf32, device> -> <node, 8xf32, device>
  return %2 : !flow.rows<node, 8xf32, device>
}

// Rows of different domains are walked by different loops, though both read %x.
// CHECK-LABEL: func.func @other_rows
// CHECK-DAG: flow.group gemm src_pair forward
// CHECK-DAG: flow.group gemm dst_pair forward
func.func @other_rows(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>)
    -> (!flow.rows<src_pair, 4xf32, device>, !flow.rows<dst_pair, 4xf32, device>) attributes {flow.graph = #graph} {
  %0 = flow.linear %x[node], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 4xf32, device>
  %1 = flow.linear %x[node], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <dst_pair, 4xf32, device>
  return %0, %1 : !flow.rows<src_pair, 4xf32, device>, !flow.rows<dst_pair, 4xf32, device>
}

// The gradient of a bias: the rows are there for a product, and so is their type.
// CHECK-LABEL: func.func @bias
// CHECK: flow.group gemm node forward
// CHECK-NEXT: flow.linear
// CHECK-NEXT: flow.reduce sum
// CHECK-NOT: flow.group
// CHECK: return
func.func @bias(%g: !flow.rows<node, 4xf32, device>, %w: !flow.rows<ntype, 8x4xf32, device>)
    -> (!flow.rows<node, 8xf32, device>, !flow.rows<ntype, 4xf32, device>) attributes {flow.graph = #graph} {
  %dx = flow.linear %g, %w[ntype] {transposed} : <node, 4xf32, device>, <ntype, 8x4xf32, device> -> <node, 8xf32, device>
  %db = flow.reduce sum %g via ntype : <node, 4xf32, device> -> <ntype, 4xf32, device>
  return %dx, %db : !flow.rows<node, 8xf32, device>, !flow.rows<ntype, 4xf32, device>
}

// The type at the end of an edge changes from row to row.
// CHECK-LABEL: func.func @not_sorted
// CHECK-DAG: flow.group gemm src_pair forward
// CHECK-DAG: flow.group flat src_pair forward
// CHECK: return
func.func @not_sorted(%g: !flow.rows<src_pair, 4xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>)
    -> (!flow.rows<src_pair, 8xf32, device>, !flow.rows<ntype, 4xf32, device>) attributes {flow.graph = #graph} {
  %dx = flow.linear %g, %w[etype] {transposed} : <src_pair, 4xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 8xf32, device>
  %db = flow.reduce sum %g via ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  return %dx, %db : !flow.rows<src_pair, 8xf32, device>, !flow.rows<ntype, 4xf32, device>
}
