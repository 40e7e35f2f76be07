// RUN: hector-opt %s --split-input-file --flow-reuse-sums --verify-diagnostics | FileCheck %s

// The gradient of an edge softmax: the sum of p · d is the dot product of the gradient and the layer's own sum. A row
// that only edges read needs no care where there are none.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via dst : <edge, 64xf32, device>
// CHECK-NOT: flow.reduce
// CHECK: %[[D:.*]] = flow.dot %arg2, %[[S]] {guarded} : {{.*}} -> <node, f32, device>
// CHECK: %[[I:.*]] = flow.div %{{.*}}[one], %arg3 : {{.*}} -> <node, f32, device>
// CHECK: %[[C:.*]] = flow.chain %[[D]], %[[I]]
// CHECK: %[[N:.*]] = flow.neg %[[C]]
// CHECK: flow.add %arg1, %[[N]][dst]
func.func @softmax(%x: !flow.rows<node, 64xf32, device>, %e: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 64xf32, device>, %t: !flow.rows<node, f32, device>) -> (!flow.rows<node, 64xf32, device>, !flow.rows<edge, f32, device>) {
  %p = flow.div %e, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %m = flow.mul %x[src], %p : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %d = flow.dot %g[dst], %x[src] {guarded} : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %q = flow.div %p, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %c = flow.chain %d, %q : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %n = flow.neg %c : <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %n via dst : <edge, f32, device> -> <node, f32, device>
  %a = flow.add %e, %r[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %s, %a : !flow.rows<node, 64xf32, device>, !flow.rows<edge, f32, device>
}

// -----

// One sum per head.
// CHECK-LABEL: func.func @heads
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via dst
// CHECK-NOT: flow.reduce
// CHECK: flow.dot %arg2, %[[S]] {guarded} : <node, 4x16xf32, device>, <node, 4x16xf32, device> -> <node, 4xf32, device>
func.func @heads(%x: !flow.rows<node, 4x16xf32, device>, %p: !flow.rows<edge, 4xf32, device>, %g: !flow.rows<node, 4x16xf32, device>) -> (!flow.rows<node, 4x16xf32, device>, !flow.rows<edge, 4xf32, device>) {
  %k = flow.reshape %p : <edge, 4xf32, device> -> <edge, 4x1xf32, device>
  %m = flow.mul %k, %x[src] : <edge, 4x1xf32, device>, <node, 4x16xf32, device> -> <edge, 4x16xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst : <edge, 4x16xf32, device> -> <node, 4x16xf32, device>
  %d = flow.dot %g[dst], %x[src] {guarded} : <node, 4x16xf32, device>, <node, 4x16xf32, device> -> <edge, 4xf32, device>
  %c = flow.chain %d, %p : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %a = flow.add %p, %r[dst] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  return %s, %a : !flow.rows<node, 4x16xf32, device>, !flow.rows<edge, 4xf32, device>
}

// -----

// One factor for all heads: both axes are summed over.
// CHECK-LABEL: func.func @all_heads
// CHECK-DAG: %[[A:.*]] = flow.reshape %arg2 : {{.*}} -> <node, 64xf32, device>
// CHECK-DAG: %[[B:.*]] = flow.reshape %{{.*}} : {{.*}} -> <node, 64xf32, device>
// CHECK: flow.dot %[[A]], %[[B]] : {{.*}} -> <node, f32, device>
func.func @all_heads(%x: !flow.rows<node, 4x16xf32, device>, %p: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 4x16xf32, device>) -> (!flow.rows<node, 4x16xf32, device>, !flow.rows<edge, f32, device>) {
  %m = flow.mul %p, %x[src] : <edge, f32, device>, <node, 4x16xf32, device> -> <edge, 4x16xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst : <edge, 4x16xf32, device> -> <node, 4x16xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 4x16xf32, device>, <node, 4x16xf32, device> -> <edge, 4xf32, device>
  %h = flow.row_reduce %d {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <edge, 4xf32, device> -> <edge, f32, device>
  %c = flow.mul %h, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  %a = flow.add %p, %r[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %s, %a : !flow.rows<node, 4x16xf32, device>, !flow.rows<edge, f32, device>
}

// -----

// Rows summed by pairs, multiplied by weights, and summed again: the edges' gradient has the same weights, transposed.
// CHECK-LABEL: func.func @pairs_between
// CHECK: flow.reduce sum %{{.*}} via dst_pair
// CHECK: %[[O:.*]] = flow.reduce sum %{{.*}} via node
// CHECK-NOT: flow.reduce
// CHECK: flow.dot %arg3, %[[O]] {guarded} : {{.*}} -> <node, f32, device>
func.func @pairs_between(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x32xf32, device>, %p: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 32xf32, device>) -> (!flow.rows<node, 32xf32, device>, !flow.rows<edge, f32, device>) {
  %m = flow.mul %x[src], %p : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst_pair : <edge, 64xf32, device> -> <dst_pair, 64xf32, device>
  %y = flow.linear %s, %w[etype] : <dst_pair, 64xf32, device>, <etype, 64x32xf32, device> -> <dst_pair, 32xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %out = flow.reduce sum %y via node : <dst_pair, 32xf32, device> -> <node, 32xf32, device>
  %h = flow.linear %g[node], %w[etype] {guarded, transposed} : <node, 32xf32, device>, <etype, 64x32xf32, device> -> <dst_pair, 64xf32, device>
  %d = flow.dot %h[dst_pair], %x[src] {guarded} : <dst_pair, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %c = flow.chain %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  %a = flow.add %p, %r[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %out, %a : !flow.rows<node, 32xf32, device>, !flow.rows<edge, f32, device>
}

// -----

// If only the sums by pairs exist, their dot products are summed.
// CHECK-LABEL: func.func @by_pairs
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via dst_pair
// CHECK: %[[D:.*]] = flow.dot %arg2, %[[S]] : {{.*}} -> <dst_pair, f32, device>
// CHECK: flow.reduce sum %[[D]] via node
func.func @by_pairs(%x: !flow.rows<node, 4xf32, device>, %p: !flow.rows<edge, f32, device>, %h: !flow.rows<dst_pair, 4xf32, device>) -> (!flow.rows<dst_pair, 4xf32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #flow.graph<nodes = 100, edges = 100000, srcPairs = 500, dstPairs = 500, relations = 2, nodeTypes = 1, uniform = 0>} {
  %m = flow.mul %x[src], %p : <node, 4xf32, device>, <edge, f32, device> -> <edge, 4xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst_pair : <edge, 4xf32, device> -> <dst_pair, 4xf32, device>
  %d = flow.dot %h[dst_pair], %x[src] : <dst_pair, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<dst_pair, 4xf32, device>, !flow.rows<node, f32, device>
}

// -----

// A softmax within pairs is normalised there.
// CHECK-LABEL: func.func @within_pairs
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via dst_pair
// CHECK-NOT: flow.reduce
// CHECK: flow.dot %arg2[node], %[[S]] {guarded} : {{.*}} -> <dst_pair, f32, device>
func.func @within_pairs(%x: !flow.rows<node, 16xf32, device>, %p: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 16xf32, device>) -> (!flow.rows<dst_pair, 16xf32, device>, !flow.rows<dst_pair, f32, device>) attributes {flow.graph = #flow.graph<nodes = 100, edges = 100000, srcPairs = 500, dstPairs = 500, relations = 2, nodeTypes = 1, uniform = 0>} {
  %m = flow.mul %x[src], %p : <node, 16xf32, device>, <edge, f32, device> -> <edge, 16xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst_pair : <edge, 16xf32, device> -> <dst_pair, 16xf32, device>
  %d = flow.dot %g[dst], %x[src] {guarded} : <node, 16xf32, device>, <node, 16xf32, device> -> <edge, f32, device>
  %c = flow.chain %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  return %s, %r : !flow.rows<dst_pair, 16xf32, device>, !flow.rows<dst_pair, f32, device>
}

// -----

// A result has rows that no edge leads to. There the sum is 0, whatever the divisor is.
// CHECK-LABEL: func.func @empty_rows
// CHECK: %[[S:.*]] = flow.reduce sum %arg0 via dst
// CHECK: %[[Q:.*]] = flow.div %[[S]], %arg1 : {{.*}} -> <node, f32, device>
// CHECK: %[[N:.*]] = flow.reduce sum %{{.*}} via dst
// CHECK: %[[F:.*]] = flow.less %{{.*}}[one], %[[N]]
// CHECK: flow.select %[[F]], %[[Q]], %{{.*}}[one]
func.func @empty_rows(%e: !flow.rows<edge, f32, device>, %t: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) {
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %p = flow.div %e, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %p via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// -----

// Numbers in either sum: 3 · Σ / 2.
// CHECK-LABEL: func.func @numbers
// CHECK: %[[S:.*]] = flow.reduce sum
// CHECK: %[[C:.*]] = flow.constant -1.500000e+00
// CHECK: flow.mul %[[S]], %[[C]][one]
func.func @numbers(%e: !flow.rows<edge, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) {
  %two = flow.constant 2.000000e+00 : <one, f32, device>
  %three = flow.constant 3.000000e+00 : <one, f32, device>
  %a = flow.mul %e, %two[one] : <edge, f32, device>, <one, f32, device> -> <edge, f32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %n = flow.neg %e : <edge, f32, device> -> <edge, f32, device>
  %b = flow.mul %n, %three[one] : <edge, f32, device>, <one, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %b via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// -----

// Means of the same rows.
// CHECK-LABEL: func.func @means
// CHECK: %[[S:.*]] = flow.reduce mean
// CHECK-NOT: flow.reduce mean
// CHECK: flow.dot %arg1, %[[S]]
func.func @means(%x: !flow.rows<node, 8xf32, device>, %g: !flow.rows<node, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>) {
  %m = flow.spread %x via src : <node, 8xf32, device> -> <edge, 8xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce mean %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %d = flow.dot %g[dst], %x[src] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce mean %d via dst : <edge, f32, device> -> <node, f32, device>
  return %s, %r : !flow.rows<node, 8xf32, device>, !flow.rows<node, f32, device>
}

// -----

// On a uniform graph a pair finds the type of its sources through its relation, and the function says that it relies on
// that.
// CHECK-LABEL: func.func @uniform
// CHECK-SAME: flow.relation_ends = [#flow.map<src_ntype>]
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via dst_pair : <edge, 64xf32, device>
// CHECK: flow.dot %arg2[src_ntype], %[[S]] : {{.*}} -> <dst_pair, f32, device>
func.func @uniform(%x: !flow.rows<node, 64xf32, device>, %p: !flow.rows<edge, f32, device>, %u: !flow.rows<ntype, 64xf32, device>) -> (!flow.rows<dst_pair, 64xf32, device>, !flow.rows<dst_pair, f32, device>) attributes {flow.graph = #flow.graph<nodes = 1000, edges = 100000, srcPairs = 6000, dstPairs = 2000, relations = 2, nodeTypes = 2, uniform = 1>} {
  %m = flow.mul %p, %x[src] : <edge, f32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  // expected-remark @below {{another sum is computed from this one}}
  %s = flow.reduce sum %m via dst_pair : <edge, 64xf32, device> -> <dst_pair, 64xf32, device>
  %d = flow.dot %u[src_ntype], %x[src] : <ntype, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %c = flow.mul %d, %p : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{computed from another sum:}}
  %r = flow.reduce sum %c via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  return %s, %r : !flow.rows<dst_pair, 64xf32, device>, !flow.rows<dst_pair, f32, device>
}
