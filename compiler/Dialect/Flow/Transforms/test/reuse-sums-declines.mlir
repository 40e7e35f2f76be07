// RUN: hector-opt %s --split-input-file --flow-reuse-sums --verify-diagnostics | FileCheck %s

// The largest product is not the product with the largest row.
// CHECK-LABEL: func.func @maximum
// CHECK: flow.reduce max
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, f32, device>
func.func @maximum(%x: !flow.rows<node, 8xf32, device>, %p: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>) {
  %m = flow.mul %x[src], %p : <node, 8xf32, device>, <edge, f32, device> -> <edge, 8xf32, device>
  %s = flow.reduce max %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>
}

// -----

// Another factor of each edge.
func.func @another_factor(%x: !flow.rows<node, 8xf32, device>, %p: !flow.rows<edge, f32, device>, %q: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>) {
  %m = flow.mul %x[src], %p : <node, 8xf32, device>, <edge, f32, device> -> <edge, 8xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %k = flow.mul %c, %q : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{not computed from another sum: another factor differs from row to row}}
  %r = flow.reduce sum %k via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>
}

// -----

// Factors of different edges: nothing is found.
// CHECK-LABEL: func.func @different_factors
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, f32, device>
func.func @different_factors(%x: !flow.rows<node, 8xf32, device>, %p: !flow.rows<edge, f32, device>, %q: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>) {
  %m = flow.mul %x[src], %p : <node, 8xf32, device>, <edge, f32, device> -> <edge, 8xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %q : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>
}

// -----

// The sum that exists is divided by a number that may be 0.
// CHECK-LABEL: func.func @divided
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, f32, device>
func.func @divided(%x: !flow.rows<node, 8xf32, device>, %e: !flow.rows<edge, f32, device>, %t: !flow.rows<node, f32, device>, %g: !flow.rows<node, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>) {
  %p = flow.div %e, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %m = flow.mul %x[src], %p : <node, 8xf32, device>, <edge, f32, device> -> <edge, 8xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %e : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>
}

// -----

// The axes are not the same: one sum is over the heads, the other over the rest of the row.
// CHECK-LABEL: func.func @other_axis
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, 4xf32, device>
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, 4xf32, device>
func.func @other_axis(%x: !flow.rows<node, 4x4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) {
  %a = flow.row_reduce %x[src] {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 4x4xf32, device> -> <edge, 4xf32, device>
  %s = flow.reduce sum %a via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %b = flow.row_reduce %x[src] {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <node, 4x4xf32, device> -> <edge, 4xf32, device>
  %r = flow.reduce sum %b via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %s, %r : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// -----

// There are as many pairs as edges. To sum the products again takes the rows of %h (25.6 MB), and %p and the indices of
// sources (0.4 MB each). From the sums by pairs, it takes two tables of 25.6 MB and as many operations.
func.func @not_worth_it(%x: !flow.rows<node, 64xf32, device>, %p: !flow.rows<edge, f32, device>, %h: !flow.rows<dst_pair, 64xf32, device>) -> (!flow.rows<dst_pair, 64xf32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #flow.graph<nodes = 10, edges = 100000, srcPairs = 100000, dstPairs = 100000, relations = 2, nodeTypes = 1, uniform = 0>} {
  %m = flow.mul %x[src], %p : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst_pair : <edge, 64xf32, device> -> <dst_pair, 64xf32, device>
  %d = flow.dot %h[dst_pair], %x[src] : <dst_pair, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark-re @below {{not computed from another sum: {{[0-9]+}} us instead of}}
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<dst_pair, 64xf32, device>, !flow.rows<node, f32, device>
}

// -----

// The gradient %g, of which zeros hide NaN in %a, is in the sum that exists; zeros of %a hide NaN in %b. One product has
// only one side that guards.
// CHECK-LABEL: func.func @guards
// CHECK: flow.reduce sum %{{.*}} via dst
// CHECK: flow.reduce sum %{{.*}} via dst
func.func @guards(%g: !flow.rows<edge, f32, device>, %a: !flow.rows<node, f32, device>, %b: !flow.rows<edge, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) {
  %m = flow.chain %g, %b : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %m via dst : <edge, f32, device> -> <node, f32, device>
  %c = flow.chain %g, %a[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %d = flow.chain %c, %b : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{not computed from another sum: zeros would no longer hide inf and NaN}}
  %r = flow.reduce sum %d via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// -----

// The sources of a pair may be of several types.
func.func @not_uniform(%x: !flow.rows<node, 64xf32, device>, %p: !flow.rows<edge, f32, device>, %u: !flow.rows<ntype, 64xf32, device>) -> (!flow.rows<dst_pair, 64xf32, device>, !flow.rows<dst_pair, f32, device>) attributes {flow.graph = #flow.graph<nodes = 1000, edges = 100000, srcPairs = 6000, dstPairs = 2000, relations = 2, nodeTypes = 2, uniform = 0>} {
  %m = flow.mul %p, %x[src] : <edge, f32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst_pair : <edge, 64xf32, device> -> <dst_pair, 64xf32, device>
  %d = flow.dot %u[src_ntype], %x[src] : <ntype, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{not computed from another sum: another factor differs from row to row}}
  %r = flow.reduce sum %c via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  return %s, %r : !flow.rows<dst_pair, 64xf32, device>, !flow.rows<dst_pair, f32, device>
}
