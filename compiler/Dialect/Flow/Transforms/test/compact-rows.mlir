// RUN: hector-opt %s --split-input-file --flow-compact-rows | FileCheck %s

// A message of source and type is computed once per source pair; the product with a value of each edge stays there.
// CHECK-LABEL: func.func @message
// CHECK: %[[M:.*]] = flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <src_pair, 32xf32, device>
// CHECK: %[[Y:.*]] = flow.mul %arg2, %[[M]][src_pair] : {{.*}} -> <edge, 32xf32, device>
// CHECK: return %[[Y]]
func.func @message(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x32xf32, device>, %a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, 32xf32, device> {
  %m = flow.linear %x[src], %w[etype] : <node, 64xf32, device>, <etype, 64x32xf32, device> -> <edge, 32xf32, device>
  %y = flow.mul %a, %m : <edge, f32, device>, <edge, 32xf32, device> -> <edge, 32xf32, device>
  return %y : !flow.rows<edge, 32xf32, device>
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

// Destination and type give destination pairs; a node's type alone gives node types; a number the single row.
// CHECK-LABEL: func.func @others
// CHECK: flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <dst_pair, 64xf32, device>
// CHECK: flow.neg %arg2 : <ntype, f32, device> -> <ntype, f32, device>
// CHECK: flow.exp %arg3 : <one, f32, device> -> <one, f32, device>
func.func @others(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x64xf32, device>, %v: !flow.rows<ntype, f32, device>, %c: !flow.rows<one, f32, device>) -> (!flow.rows<edge, 64xf32, device>, !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>) {
  %a = flow.linear %x[dst], %w[etype] : <node, 64xf32, device>, <etype, 64x64xf32, device> -> <edge, 64xf32, device>
  %b = flow.neg %v[src_ntype] : <ntype, f32, device> -> <edge, f32, device>
  %d = flow.exp %c[one] : <one, f32, device> -> <node, f32, device>
  return %a, %b, %d : !flow.rows<edge, 64xf32, device>, !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// -----

// More nodes than edges: what a source determines is computed at the pairs, where it takes the least time.
// CHECK-LABEL: func.func @many_nodes
// CHECK: flow.linear %arg0[node], %arg1[one] : {{.*}} -> <src_pair, 64xf32, device>
func.func @many_nodes(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<one, 64x64xf32, device>) -> !flow.rows<edge, 64xf32, device> attributes {flow.graph = #flow.graph<nodes = 99000, edges = 9000, srcPairs = 700, dstPairs = 8000, relations = 2, nodeTypes = 1, uniform = 1>} {
  %y = flow.linear %x[src], %w[one] : <node, 64xf32, device>, <one, 64x64xf32, device> -> <edge, 64xf32, device>
  return %y : !flow.rows<edge, 64xf32, device>
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
// CHECK: %[[P:.*]] = flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <dst_pair, 64xf32, device>
// CHECK: flow.reduce max %[[P]] via node : <dst_pair, 64xf32, device> -> <node, 64xf32, device>
// CHECK: %[[ONES:.*]] = flow.spread %{{.*}} via one : <one, f32, device> -> <edge, f32, device>
// CHECK: %[[N:.*]] = flow.reduce sum %[[ONES]] via dst_pair
// CHECK: %[[S:.*]] = flow.mul %[[P]], %[[N]] : <dst_pair
// CHECK: flow.reduce sum %[[S]] via etype : <dst_pair, 64xf32, device> -> <etype, 64xf32, device>
func.func @pairs(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x64xf32, device>) -> (!flow.rows<node, 64xf32, device>, !flow.rows<etype, 64xf32, device>) {
  %p = flow.linear %x[dst], %w[etype] : <node, 64xf32, device>, <etype, 64x64xf32, device> -> <edge, 64xf32, device>
  %top = flow.reduce max %p via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %sum = flow.reduce sum %p via etype : <edge, 64xf32, device> -> <etype, 64xf32, device>
  return %top, %sum : !flow.rows<node, 64xf32, device>, !flow.rows<etype, 64xf32, device>
}

// -----

// On ties among the edges of a relation the first edge takes the gradient, and pairs come in another order.
// CHECK-LABEL: func.func @ties
// CHECK: flow.linear {{.*}} -> <dst_pair
// CHECK: flow.reduce max %{{.*}} via etype : <edge
func.func @ties(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x64xf32, device>) -> !flow.rows<etype, 64xf32, device> {
  %p = flow.linear %x[dst], %w[etype] : <node, 64xf32, device>, <etype, 64x64xf32, device> -> <edge, 64xf32, device>
  %top = flow.reduce max %p via etype : <edge, 64xf32, device> -> <etype, 64xf32, device>
  return %top : !flow.rows<etype, 64xf32, device>
}

// -----

// A part of what could move: the pairs compute the product, and the edges repeat it in wider rows, which would take
// longer to gather.
// CHECK-LABEL: func.func @part
// CHECK: %[[M:.*]] = flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <src_pair, 64xf32, device>
// CHECK: flow.concat %[[M]][src_pair], %[[M]][src_pair] {axis = 0 : i64} : {{.*}} -> <edge, 128xf32, device>
func.func @part(%x: !flow.rows<node, 64xf32, device>, %w: !flow.rows<etype, 64x64xf32, device>) -> !flow.rows<edge, 128xf32, device> {
  %m = flow.linear %x[src], %w[etype] : <node, 64xf32, device>, <etype, 64x64xf32, device> -> <edge, 64xf32, device>
  %y = flow.concat %m, %m {axis = 0} : <edge, 64xf32, device>, <edge, 64xf32, device> -> <edge, 128xf32, device>
  return %y : !flow.rows<edge, 128xf32, device>
}

// -----

// A loop by source would gather the quotients from 400,000 pairs instead of the dividends from 100,000 nodes, which fit
// in the cache.
// CHECK-LABEL: func.func @other_side
// CHECK: flow.div %arg0[dst], %arg1[dst_pair] : {{.*}} -> <edge, 64xf32, device>
func.func @other_side(%g: !flow.rows<node, 64xf32, device>, %n: !flow.rows<dst_pair, f32, device>) -> !flow.rows<node, 64xf32, device> {
  %d = flow.div %g[dst], %n[dst_pair] : <node, 64xf32, device>, <dst_pair, f32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %d via src : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %s : !flow.rows<node, 64xf32, device>
}

// -----

// A loop by destination has the rows of the pair at hand.
// CHECK-LABEL: func.func @own_side
// CHECK: flow.div %arg0[node], %arg1 : {{.*}} -> <dst_pair, 64xf32, device>
func.func @own_side(%g: !flow.rows<node, 64xf32, device>, %n: !flow.rows<dst_pair, f32, device>, %a: !flow.rows<edge, f32, device>) -> !flow.rows<node, 64xf32, device> {
  %d = flow.div %g[dst], %n[dst_pair] : <node, 64xf32, device>, <dst_pair, f32, device> -> <edge, 64xf32, device>
  %m = flow.mul %a, %d : <edge, f32, device>, <edge, 64xf32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %s : !flow.rows<node, 64xf32, device>
}

// -----

// What runs once for a graph takes no time, whatever it reads. In a loop that runs every time, a number for each edge in
// order is read sooner than a number for each pair at random.
// CHECK-LABEL: func.func @once_for_a_graph
// CHECK: flow.div %{{.*}}[one], %{{.*}}[src_pair] : {{.*}} -> <edge, f32, device>
func.func @once_for_a_graph(%x: !flow.rows<node, 64xf32, device>) -> !flow.rows<node, 64xf32, device> {
  %one = flow.constant 1.0 : <one, f32, device>
  %ones = flow.spread %one via one : <one, f32, device> -> <edge, f32, device>
  %n = flow.reduce sum %ones via src_pair : <edge, f32, device> -> <src_pair, f32, device>
  %c = flow.div %one[one], %n[src_pair] : <one, f32, device>, <src_pair, f32, device> -> <edge, f32, device>
  %m = flow.mul %x[src], %c : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %s : !flow.rows<node, 64xf32, device>
}
