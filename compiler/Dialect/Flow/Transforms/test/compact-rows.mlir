// RUN: hector-opt %s --split-input-file --flow-compact-rows | FileCheck %s

// A message of source and type is computed once per source pair; the product with a value of each edge stays there.
// CHECK-LABEL: func.func @message
// CHECK: %[[M:.*]] = flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <src_pair, 2xf32, device>
// CHECK: %[[Y:.*]] = flow.mul %arg2, %[[M]][src_pair] : {{.*}} -> <edge, 2xf32, device>
// CHECK: return %[[Y]]
func.func @message(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x2xf32, device>, %a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, 2xf32, device> {
  %m = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x2xf32, device> -> <edge, 2xf32, device>
  %y = flow.mul %a, %m : <edge, f32, device>, <edge, 2xf32, device> -> <edge, 2xf32, device>
  return %y : !flow.rows<edge, 2xf32, device>
}

// -----

// A chain moves as a whole, and a reduction at its end gets a spread.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = flow.exp %arg0 : <node, f32, device> -> <node, f32, device>
// CHECK: %[[B:.*]] = flow.tanh %[[A]] : <node, f32, device> -> <node, f32, device>
// CHECK: %[[S:.*]] = flow.spread %[[B]] via src
// CHECK: flow.reduce sum %[[S]] via dst
func.func @chain(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  %a = flow.exp %x[src] : <node, f32, device> -> <edge, f32, device>
  %b = flow.tanh %a : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %b via dst : <edge, f32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// -----

// Source and destination never unify.
// CHECK-LABEL: func.func @two_ends
// CHECK: flow.add %arg0[src], %arg0[dst] : {{.*}} -> <edge, f32, device>
func.func @two_ends(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> {
  %y = flow.add %x[src], %x[dst] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// Destination and type give destination pairs; a node's type alone gives node types; a constant the single row.
// CHECK-LABEL: func.func @others
// CHECK: flow.mul %arg0[node], %arg1[etype] : {{.*}} -> <dst_pair, f32, device>
// CHECK: flow.neg %arg2 : <ntype, f32, device> -> <ntype, f32, device>
// CHECK: flow.exp %{{.*}} : <one, f32, device> -> <one, f32, device>
func.func @others(%x: !flow.rows<node, f32, device>, %w: !flow.rows<etype, f32, device>, %v: !flow.rows<ntype, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>) {
  %a = flow.mul %x[dst], %w[etype] : <node, f32, device>, <etype, f32, device> -> <edge, f32, device>
  %b = flow.neg %v[src_ntype] : <ntype, f32, device> -> <edge, f32, device>
  %c = flow.constant 1.000000e+00 : <one, f32, device>
  %d = flow.exp %c[one] : <one, f32, device> -> <node, f32, device>
  return %a, %b, %d : !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// -----

// More nodes than edges: what a source determines is computed at the pairs, of which there are fewest.
// CHECK-LABEL: func.func @many_nodes
// CHECK: flow.exp %arg0[node] : {{.*}} -> <src_pair, f32, device>
func.func @many_nodes(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #flow.graph<nodes = 99, edges = 9, srcPairs = 7, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1>} {
  %y = flow.exp %x[src] : <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// The gradient of weights reads the coarser rows through the longer map.
// CHECK-LABEL: func.func @weight_grad
// CHECK: %[[G:.*]] = flow.exp %arg1 : <node, 2xf32, device> -> <node, 2xf32, device>
// CHECK: flow.weight_grad %arg0[src], %[[G]][dst] over edge via etype
func.func @weight_grad(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 2xf32, device>) -> !flow.rows<etype, 4x2xf32, device> {
  %e = flow.exp %g[dst] : <node, 2xf32, device> -> <edge, 2xf32, device>
  %w = flow.weight_grad %x[src], %e over edge via etype : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  return %w : !flow.rows<etype, 4x2xf32, device>
}

// -----

// Edges that repeat the rows of pairs: the largest is found among the pairs, a sum counts the edges of each.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[P:.*]] = flow.mul %arg0[node], %arg1[etype] : {{.*}} -> <dst_pair, f32, device>
// CHECK: flow.reduce max %[[P]] via node : <dst_pair, f32, device> -> <node, f32, device>
// CHECK: %[[ONES:.*]] = flow.spread %{{.*}} via one : <one, f32, device> -> <edge, f32, device>
// CHECK: %[[N:.*]] = flow.reduce sum %[[ONES]] via dst_pair
// CHECK: %[[S:.*]] = flow.mul %[[P]], %[[N]] : <dst_pair
// CHECK: flow.reduce sum %[[S]] via etype : <dst_pair, f32, device> -> <etype, f32, device>
func.func @pairs(%x: !flow.rows<node, f32, device>, %w: !flow.rows<etype, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<etype, f32, device>) {
  %p = flow.mul %x[dst], %w[etype] : <node, f32, device>, <etype, f32, device> -> <edge, f32, device>
  %top = flow.reduce max %p via dst : <edge, f32, device> -> <node, f32, device>
  %sum = flow.reduce sum %p via etype : <edge, f32, device> -> <etype, f32, device>
  return %top, %sum : !flow.rows<node, f32, device>, !flow.rows<etype, f32, device>
}

// -----

// On ties among the edges of a relation the first edge takes the gradient, and pairs come in another order.
// CHECK-LABEL: func.func @ties
// CHECK: flow.reduce max %{{.*}} via etype : <edge
func.func @ties(%x: !flow.rows<node, f32, device>, %w: !flow.rows<etype, f32, device>) -> !flow.rows<etype, f32, device> {
  %p = flow.mul %x[dst], %w[etype] : <node, f32, device>, <etype, f32, device> -> <edge, f32, device>
  %top = flow.reduce max %p via etype : <edge, f32, device> -> <etype, f32, device>
  return %top : !flow.rows<etype, f32, device>
}
