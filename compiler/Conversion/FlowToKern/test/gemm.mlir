// RUN: hector-opt %s --split-input-file --lower-to-kern | FileCheck %s

// Two products over one read of x, with work before and after, and a row dot of what a product gives.
// CHECK-LABEL: kern.kernel @gemm_src_pair gemm src_pair reads 4
// CHECK-SAME: (%[[X:.*]]: !flow.rows<node, 8xf32, device>, %[[W:.*]]: !flow.rows<etype, 8x4xf32, device>, %[[V:.*]]: !flow.rows<etype, 8x4xf32, device>, %[[A:.*]]: !flow.rows<etype, 4xf32, device>, %[[S:.*]]: !flow.rows<src_pair, 4xf32, device>, %[[D:.*]]: !flow.rows<src_pair, f32, device>)
// CHECK: kern.tile src_pair of <etype> height 32 {
// CHECK-NEXT:   %[[IN:.*]] = kern.buffer : <src_pair, vector<8xf32>>
// CHECK-NEXT:   kern.for src_pair {
// CHECK-NEXT:     %[[ROW:.*]] = kern.load %[[X]] at src_pair ["pair_node.src"]
// CHECK-NEXT:     %[[R:.*]] = kern.map relu(%[[ROW]])
// CHECK-NEXT:     kern.put %[[R]], %[[IN]]
// CHECK:        kern.product %[[IN]], %[[W]] at etype [] to %[[P:.*]] {
// CHECK:        kern.product %[[IN]], %[[V]] at etype [] to %[[Q:.*]] {guarded
// CHECK:        kern.load %[[A]] at etype []
// CHECK:        kern.for src_pair {
// CHECK-DAG:      %[[G:.*]] = kern.get %[[P]]
// CHECK-DAG:      %[[H:.*]] = kern.get %[[Q]]
// CHECK:          %[[SUM:.*]] = kern.map add(%[[G]], %[[H]])
// CHECK:          %[[DOT:.*]] = kern.map mul(%[[SUM]], %{{.*}}) {{.*}} reduced [4] combine <sum>
// CHECK:          kern.store %[[SUM]], %[[S]]
// CHECK:          kern.store %[[DOT]], %[[D]]
func.func @two(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %v: !flow.rows<etype, 8x4xf32, device>, %a: !flow.rows<etype, 4xf32, device>) -> (!flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>) {
  %0:2 = flow.group gemm src_pair forward (%x0 = %x, %w0 = %w, %v0 = %v, %a0 = %a) : (!flow.rows<node, 8xf32, device>, !flow.rows<etype, 8x4xf32, device>, !flow.rows<etype, 8x4xf32, device>, !flow.rows<etype, 4xf32, device>) -> (!flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>) {
    %r = flow.relu %x0[node] : <node, 8xf32, device> -> <src_pair, 8xf32, device>
    %p = flow.linear %r, %w0[etype] : <src_pair, 8xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 4xf32, device>
    %q = flow.linear %r, %v0[etype] {guarded} : <src_pair, 8xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 4xf32, device>
    %s = flow.add %p, %q : <src_pair, 4xf32, device>, <src_pair, 4xf32, device> -> <src_pair, 4xf32, device>
    %d = flow.dot %s, %a0[etype] : <src_pair, 4xf32, device>, <etype, 4xf32, device> -> <src_pair, f32, device>
    flow.yield %s, %d : !flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>
  }
  return %0#0, %0#1 : !flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>
}

// -----

// Weights that change from row to row: a tile is one row. Heads have their own rows and matrices; transposed.
// CHECK-LABEL: kern.kernel @gemm_etype gemm etype reads 2
// CHECK: kern.tile etype height 1 {
// CHECK: kern.product %{{.*}}, %{{.*}} at etype [] to %{{.*}} {heads = 2 : i64, inner = 4 : i64, outer = 8 : i64, transposed}
func.func @heads(%x: !flow.rows<etype, 2x4xf32, device>, %w: !flow.rows<etype, 2x8x4xf32, device>) -> !flow.rows<etype, 2x8xf32, device> {
  %0 = flow.group gemm etype weights (%a = %x, %b = %w) : (!flow.rows<etype, 2x4xf32, device>, !flow.rows<etype, 2x8x4xf32, device>) -> !flow.rows<etype, 2x8xf32, device> {
    %y = flow.linear %a, %b {transposed} : <etype, 2x4xf32, device>, <etype, 2x8x4xf32, device> -> <etype, 2x8xf32, device>
    flow.yield %y : !flow.rows<etype, 2x8xf32, device>
  }
  return %0 : !flow.rows<etype, 2x8xf32, device>
}

// -----

// Gradients of weights: of each type, of one matrix, and of a matrix per row, which is work of that row.
// CHECK-LABEL: kern.kernel @gemm_src_pair gemm src_pair reads 2
// CHECK: kern.total sum %{{.*}} at etype [] sorted
// CHECK: kern.tile src_pair of <etype>
// CHECK: kern.outer %{{.*}}, %{{.*}} into %{{.*}} {heads = 1 : i64, inner = 8 : i64, outer = 4 : i64
func.func @by_type(%x: !flow.rows<node, 8xf32, device>, %g: !flow.rows<src_pair, 4xf32, device>) -> !flow.rows<etype, 8x4xf32, device> {
  %0 = flow.group gemm src_pair backward (%a = %x, %b = %g) : (!flow.rows<node, 8xf32, device>, !flow.rows<src_pair, 4xf32, device>) -> !flow.rows<etype, 8x4xf32, device> {
    %w = flow.weight_grad %a[node], %b over src_pair via etype : <node, 8xf32, device>, <src_pair, 4xf32, device> -> <etype, 8x4xf32, device>
    flow.yield %w : !flow.rows<etype, 8x4xf32, device>
  }
  return %0 : !flow.rows<etype, 8x4xf32, device>
}

// -----

// CHECK-LABEL: kern.kernel @gemm_node gemm node reads 2
// CHECK: %[[T:.*]] = kern.total sum %{{.*}} at one [] :
// CHECK: kern.tile node height
// CHECK: kern.outer %{{.*}}, %{{.*}} into %[[T]]
func.func @of_one(%x: !flow.rows<node, 8xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> !flow.rows<one, 8x4xf32, device> {
  %0 = flow.group gemm node backward (%a = %x, %b = %g) : (!flow.rows<node, 8xf32, device>, !flow.rows<node, 4xf32, device>) -> !flow.rows<one, 8x4xf32, device> {
    %w = flow.weight_grad %a, %b over node via one : <node, 8xf32, device>, <node, 4xf32, device> -> <one, 8x4xf32, device>
    flow.yield %w : !flow.rows<one, 8x4xf32, device>
  }
  return %0 : !flow.rows<one, 8x4xf32, device>
}

// -----

// CHECK-LABEL: kern.kernel @gemm_etype gemm etype reads 2
// CHECK-NOT: kern.outer
// CHECK: kern.map mul
// CHECK: kern.map select
// CHECK: kern.store %{{.*}} : vector<32xf32>, !flow.rows<etype, 8x4xf32, device>
func.func @of_each(%x: !flow.rows<etype, 8xf32, device>, %g: !flow.rows<etype, 4xf32, device>) -> !flow.rows<etype, 8x4xf32, device> {
  %0 = flow.group gemm etype backward (%a = %x, %b = %g) : (!flow.rows<etype, 8xf32, device>, !flow.rows<etype, 4xf32, device>) -> !flow.rows<etype, 8x4xf32, device> {
    %w = flow.weight_grad %a, %b over etype via self : <etype, 8xf32, device>, <etype, 4xf32, device> -> <etype, 8x4xf32, device>
    flow.yield %w : !flow.rows<etype, 8x4xf32, device>
  }
  return %0 : !flow.rows<etype, 8x4xf32, device>
}

// -----

// Sums to the type of the tile: of rows that a product reads, and of what is computed from them, before the product;
// of its rows, after it.
// CHECK-LABEL: kern.kernel @gemm_src_pair gemm src_pair reads 3
// CHECK-DAG: %[[B:.*]] = kern.total sum %arg3 at etype [] sorted
// CHECK-DAG: %[[C:.*]] = kern.total sum %arg4 at etype [] sorted
// CHECK-DAG: %[[D:.*]] = kern.total sum %arg5 at etype [] sorted
// CHECK: kern.tile src_pair of <etype>
// CHECK: kern.for src_pair {
// CHECK: %[[ROW:.*]] = kern.load %arg0 at src_pair
// CHECK: %[[M:.*]] = kern.map mul(%{{.*}}, %[[ROW]])
// CHECK-NEXT: kern.put %[[ROW]],
// CHECK-NEXT: kern.step %[[B]], %[[ROW]]
// CHECK-NEXT: kern.step %[[C]], %[[M]]
// CHECK: kern.product
// CHECK: kern.for src_pair {
// CHECK-NOT: kern.load %arg0
// CHECK: kern.step %[[D]],
func.func @totals(%g: !flow.rows<src_pair, 4xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %n: !flow.rows<src_pair, f32, device>) -> (!flow.rows<etype, 4xf32, device>, !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 8xf32, device>) {
  %0:3 = flow.group gemm src_pair backward (%a = %g, %b = %w, %c = %n) : (!flow.rows<src_pair, 4xf32, device>, !flow.rows<etype, 8x4xf32, device>, !flow.rows<src_pair, f32, device>) -> (!flow.rows<etype, 4xf32, device>, !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 8xf32, device>) {
    %y = flow.linear %a, %b[etype] {transposed} : <src_pair, 4xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 8xf32, device>
    %s = flow.reduce sum %a via etype : <src_pair, 4xf32, device> -> <etype, 4xf32, device>
    %m = flow.mul %c, %a : <src_pair, f32, device>, <src_pair, 4xf32, device> -> <src_pair, 4xf32, device>
    %t = flow.reduce sum %m via etype : <src_pair, 4xf32, device> -> <etype, 4xf32, device>
    %u = flow.reduce sum %y via etype : <src_pair, 8xf32, device> -> <etype, 8xf32, device>
    flow.yield %s, %t, %u : !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 8xf32, device>
  }
  return %0#0, %0#1, %0#2 : !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 4xf32, device>, !flow.rows<etype, 8xf32, device>
}
