// RUN: hector-opt %s --split-input-file --lower-to-kern | FileCheck %s

// A sum by the type of rows is sorted: a tile has rows of one type, and the total is that type's.
// CHECK-LABEL: func.func @sorted(
// CHECK-SAME: kern.order = #flow.order<by_type>
// CHECK: kern.launch @flat_edge(%{{.*}}) <forward> in [#flow.order<none>]
// CHECK: kern.kernel @flat_edge flat edge reads 1 (%[[X:.*]]: !flow.rows<edge, 4xf32, device>, %[[Y:.*]]: !flow.rows<etype, 4xf32, device>)
// CHECK-NEXT: %[[T:.*]] = kern.total sum %[[Y]] at etype [] sorted
// CHECK-NEXT: kern.tile edge of <etype> {
// CHECK-NEXT:   kern.for edge {
// CHECK-NEXT:     %[[R:.*]] = kern.load %[[X]] at edge []
// CHECK-NEXT:     kern.step %[[T]], %[[R]]
func.func @sorted(%x: !flow.rows<edge, 4xf32, device>) -> !flow.rows<etype, 4xf32, device> {
  %0 = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, 4xf32, device>) -> !flow.rows<etype, 4xf32, device> {
    %s = flow.reduce sum %a via etype : <edge, 4xf32, device> -> <etype, 4xf32, device>
    flow.yield %s : !flow.rows<etype, 4xf32, device>
  }
  return %0 : !flow.rows<etype, 4xf32, device>
}

// -----

// A maximum by the node type of an edge's source is not sorted: its row is found for every edge. It starts from a table.
// CHECK-LABEL: kern.kernel @flat_edge flat edge reads 2
// CHECK-SAME: (%{{.*}}, %[[I:.*]]: !flow.rows<ntype, 4xf32, device>, %[[Y:.*]]: !flow.rows<ntype, 4xf32, device>)
// CHECK-NEXT: kern.total max %[[Y]] at edge ["edge_src.type", "node_type"] init %[[I]]
// CHECK-NOT: sorted
// CHECK: kern.for edge
func.func @unsorted(%x: !flow.rows<edge, 4xf32, device>, %i: !flow.rows<ntype, 4xf32, device>) -> !flow.rows<ntype, 4xf32, device> {
  %0 = flow.group flat edge forward (%a = %x, %b = %i) : (!flow.rows<edge, 4xf32, device>, !flow.rows<ntype, 4xf32, device>) -> !flow.rows<ntype, 4xf32, device> {
    %s = flow.reduce max %a via src_ntype init %b : <edge, 4xf32, device> -> <ntype, 4xf32, device>
    flow.yield %s : !flow.rows<ntype, 4xf32, device>
  }
  return %0 : !flow.rows<ntype, 4xf32, device>
}

// -----

// bf16 is how rows of several numbers are stored; a number per row is f32, and kernels compute in f32.
// CHECK-LABEL: func.func @storage(
// CHECK-SAME: !flow.rows<node, 4xbf16, device>
// CHECK-SAME: -> (!flow.rows<node, 4xbf16, device>, !flow.rows<node, f32, device>)
// CHECK: kern.load %{{.*}} at node [] : !flow.rows<node, 4xbf16, device> -> vector<4xf32>
// CHECK: kern.store %{{.*}} : vector<4xf32>, !flow.rows<node, 4xbf16, device>
// CHECK: kern.store %{{.*}} : f32, !flow.rows<node, f32, device>
func.func @storage(%x: !flow.rows<node, 4xbf16, device>) -> (!flow.rows<node, 4xbf16, device>, !flow.rows<node, bf16, device>) {
  %0:2 = flow.group flat node forward (%a = %x) : (!flow.rows<node, 4xbf16, device>) -> (!flow.rows<node, 4xbf16, device>, !flow.rows<node, bf16, device>) {
    %r = flow.relu %a : <node, 4xbf16, device> -> <node, 4xbf16, device>
    %d = flow.dot %a, %a : <node, 4xbf16, device>, <node, 4xbf16, device> -> <node, bf16, device>
    flow.yield %r, %d : !flow.rows<node, 4xbf16, device>, !flow.rows<node, bf16, device>
  }
  return %0#0, %0#1 : !flow.rows<node, 4xbf16, device>, !flow.rows<node, bf16, device>
}

// -----

// Equal groups are one kernel. Dropout counts edges as the file does.
// CHECK-LABEL: func.func @twice(
// CHECK: kern.launch @flat_edge(
// CHECK: kern.launch @flat_edge(
// CHECK: kern.kernel @flat_edge
// CHECK: %[[N:.*]] = kern.number edge ["edge_row.file.type"]
// CHECK: kern.map dropout(%{{.*}}, %[[N]]) {{.*}} parameter 5.000000e-01 stream 2
// CHECK-NOT: kern.kernel
func.func @twice(%x: !flow.rows<edge, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %0 = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
    %d = flow.dropout %a {rate = 5.0e-01 : f64, stream = 2 : i64} : <edge, 4xf32, device> -> <edge, 4xf32, device>
    flow.yield %d : !flow.rows<edge, 4xf32, device>
  }
  %1 = flow.group flat edge forward (%a = %0) : (!flow.rows<edge, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
    %d = flow.dropout %a {rate = 5.0e-01 : f64, stream = 2 : i64} : <edge, 4xf32, device> -> <edge, 4xf32, device>
    flow.yield %d : !flow.rows<edge, 4xf32, device>
  }
  return %1 : !flow.rows<edge, 4xf32, device>
}
