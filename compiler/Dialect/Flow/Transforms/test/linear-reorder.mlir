// RUN: hector-opt %s --split-input-file --flow-linear-reorder | FileCheck %s
// RUN: hector-opt %s --split-input-file --flow-linear-reorder=eager=true | FileCheck %s --check-prefix=EAGER

// Without `flow.graph`, there are 100,000 nodes, 1,000,000 edges, 400,000 pairs of each kind, 50 relations and 4 node
// types.

// Weights are contracted with weights, once per relation; the rest is computed where it has the fewest rows.
// CHECK-LABEL: func.func @weights_first
// CHECK-NEXT: %[[WA:.*]] = flow.linear %arg2, %arg1 {transposed} : {{.*}} -> <etype, 8xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.dot %arg0[node], %[[WA]][etype] : {{.*}} -> <dst_pair, f32, device>
// CHECK-NEXT: %[[E:.*]] = flow.spread %[[S]] via dst_pair
// CHECK-NEXT: return %[[E]]
func.func @weights_first(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %a: !flow.rows<etype, 4xf32, device>) -> !flow.rows<edge, f32, device> {
  %y = flow.linear %x[dst], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <edge, 4xf32, device>
  %s = flow.dot %y, %a[etype] : <edge, 4xf32, device>, <etype, 4xf32, device> -> <edge, f32, device>
  return %s : !flow.rows<edge, f32, device>
}

// -----

// The same on the right, with heads on the weights and a transposed matrix.
// CHECK-LABEL: func.func @weights_first_heads
// CHECK-NEXT: %[[WA:.*]] = flow.linear %arg2, %arg1 : <etype, 2x4xf32, device>, <etype, 2x4x8xf32, device> -> <etype, 2x8xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.dot %[[WA]][etype], %arg0[node] : {{.*}} -> <dst_pair, 2xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @weights_first_heads(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 2x4x8xf32, device>, %a: !flow.rows<etype, 2x4xf32, device>) -> !flow.rows<dst_pair, 2xf32, device> {
  %y = flow.linear %x[node], %w[etype] {transposed} : <node, 8xf32, device>, <etype, 2x4x8xf32, device> -> <dst_pair, 2x4xf32, device>
  %s = flow.dot %a[etype], %y : <etype, 2x4xf32, device>, <dst_pair, 2x4xf32, device> -> <dst_pair, 2xf32, device>
  return %s : !flow.rows<dst_pair, 2xf32, device>
}

// -----

// Heads that a reshape makes become heads of the weights.
// CHECK-LABEL: func.func @weights_first_split
// CHECK: %[[R:.*]] = flow.reshape %arg1 : <one, 8x6xf32, device> -> <one, 8x2x3xf32, device>
// CHECK: %[[W:.*]] = flow.transpose %[[R]] {permutation = array<i64: 1, 0, 2>} : {{.*}} -> <one, 2x8x3xf32, device>
// CHECK: %[[WA:.*]] = flow.linear %arg2, %[[W]] {transposed} : {{.*}} -> <one, 2x8xf32, device>
// CHECK: %[[S:.*]] = flow.dot %arg0, %[[WA]][one] : {{.*}} -> <node, 2xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @weights_first_split(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x6xf32, device>, %a: !flow.rows<one, 2x3xf32, device>) -> !flow.rows<node, 2xf32, device> {
  %y = flow.linear %x, %w[one] : <node, 8xf32, device>, <one, 8x6xf32, device> -> <node, 6xf32, device>
  %h = flow.reshape %y : <node, 6xf32, device> -> <node, 2x3xf32, device>
  %s = flow.dot %h, %a[one] : <node, 2x3xf32, device>, <one, 2x3xf32, device> -> <node, 2xf32, device>
  return %s : !flow.rows<node, 2xf32, device>
}

// -----

// Fewer destination pairs than source pairs: the product moves to the other side of the dot product.
// CHECK-LABEL: func.func @fewer_rows
// CHECK-NEXT: %[[QK:.*]] = flow.linear %arg0[node], %arg2[etype] {transposed} : {{.*}} -> <dst_pair, 8xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.dot %[[QK]][dst_pair], %arg1[src] : {{.*}} -> <edge, f32, device>
// CHECK-NEXT: return %[[S]]
func.func @fewer_rows(%q: !flow.rows<node, 8xf32, device>, %k: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #flow.graph<nodes = 1000, edges = 9000, srcPairs = 8000, dstPairs = 2000, relations = 5, nodeTypes = 1, uniform = 1>} {
  %y = flow.linear %k[node], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %s = flow.dot %q[dst], %y[src_pair] : <node, 8xf32, device>, <src_pair, 8xf32, device> -> <edge, f32, device>
  return %s : !flow.rows<edge, f32, device>
}

// -----

// A gradient keeps its guards: zeros in `g` stay without influence, whatever `k` and `w` hold.
// CHECK-LABEL: func.func @fewer_rows_guarded
// CHECK-NEXT: %[[GW:.*]] = flow.linear %arg0, %arg2[ntype] {guarded, transposed} : {{.*}} -> <node, 8xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.dot %[[GW]][dst], %arg1 {guarded} : {{.*}} -> <edge, f32, device>
// CHECK-NEXT: return %[[S]]
func.func @fewer_rows_guarded(%g: !flow.rows<node, 8xf32, device>, %k: !flow.rows<edge, 8xf32, device>, %w: !flow.rows<ntype, 8x8xf32, device>) -> !flow.rows<edge, f32, device> {
  %y = flow.linear %k, %w[dst_ntype] : <edge, 8xf32, device>, <ntype, 8x8xf32, device> -> <edge, 8xf32, device>
  %s = flow.dot %g[dst], %y {guarded} : <node, 8xf32, device>, <edge, 8xf32, device> -> <edge, f32, device>
  return %s : !flow.rows<edge, f32, device>
}

// -----

// Two products in a row, with a bias in between; on a uniform graph, a node's matrix is found through the relation, and
// the function says that it relies on that.
// CHECK-LABEL: func.func @product_of_weights
// CHECK-SAME: flow.relation_ends = [#flow.map<src_ntype>]
// CHECK-DAG: %[[P:.*]] = flow.linear %arg1[src_ntype], %arg3 : {{.*}} -> <etype, 8x8xf32, device>
// CHECK-DAG: %[[X:.*]] = flow.linear %arg0[node], %[[P]][etype] : {{.*}} -> <src_pair, 8xf32, device>
// CHECK-DAG: %[[B:.*]] = flow.linear %arg2[src_ntype], %arg3 : {{.*}} -> <etype, 8xf32, device>
// CHECK: %[[Y:.*]] = flow.add %[[X]], %[[B]][etype] : {{.*}} -> <src_pair, 8xf32, device>
// CHECK-NEXT: return %[[Y]]
func.func @product_of_weights(%x: !flow.rows<node, 8xf32, device>, %v: !flow.rows<ntype, 8x8xf32, device>, %b: !flow.rows<ntype, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<src_pair, 8xf32, device> attributes {flow.graph = #flow.graph<nodes = 1000, edges = 9000, srcPairs = 1500, dstPairs = 2000, relations = 5, nodeTypes = 3, uniform = 1>} {
  %y = flow.linear %x, %v[ntype] : <node, 8xf32, device>, <ntype, 8x8xf32, device> -> <node, 8xf32, device>
  %k = flow.add %y, %b[ntype] : <node, 8xf32, device>, <ntype, 8xf32, device> -> <node, 8xf32, device>
  %z = flow.linear %k[node], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  return %z : !flow.rows<src_pair, 8xf32, device>
}

// -----

// Gradients, transposed and guarded: the product of the weights is as it lies, and needs no turning.
// CHECK-LABEL: func.func @product_of_weights_transposed
// CHECK-NEXT: %[[P:.*]] = flow.linear %arg2, %arg1[one] : <etype, 5x4xf32, device>, <one, 4x3xf32, device> -> <etype, 5x3xf32, device>
// CHECK-NEXT: %[[Y:.*]] = flow.linear %arg0, %[[P]][etype] {guarded, transposed} : {{.*}} -> <edge, 5xf32, device>
// CHECK-NEXT: return %[[Y]]
func.func @product_of_weights_transposed(%g: !flow.rows<edge, 3xf32, device>, %v: !flow.rows<one, 4x3xf32, device>, %w: !flow.rows<etype, 5x4xf32, device>) -> !flow.rows<edge, 5xf32, device> {
  %y = flow.linear %g, %v[one] {guarded, transposed} : <edge, 3xf32, device>, <one, 4x3xf32, device> -> <edge, 4xf32, device>
  %z = flow.linear %y, %w[etype] {guarded, transposed} : <edge, 4xf32, device>, <etype, 5x4xf32, device> -> <edge, 5xf32, device>
  return %z : !flow.rows<edge, 5xf32, device>
}

// -----

// Heads on both matrices are multiplied one by one.
// CHECK-LABEL: func.func @product_of_heads
// CHECK-COUNT-2: flow.linear %{{.*}}, %{{.*}} : <one, 2x3xf32, device>, <one, 3x2xf32, device> -> <one, 2x2xf32, device>
// CHECK: %[[P:.*]] = flow.concat {{.*}} {axis = 0 : i64} : {{.*}} -> <one, 2x2x2xf32, device>
// CHECK: flow.linear %arg0, %[[P]][one] : <node, 2xf32, device>, <one, 2x2x2xf32, device> -> <node, 2x2xf32, device>
func.func @product_of_heads(%x: !flow.rows<node, 2xf32, device>, %v: !flow.rows<one, 2x2x3xf32, device>, %w: !flow.rows<one, 2x3x2xf32, device>) -> !flow.rows<node, 2x2xf32, device> {
  %y = flow.linear %x, %v[one] : <node, 2xf32, device>, <one, 2x2x3xf32, device> -> <node, 2x3xf32, device>
  %z = flow.linear %y, %w[one] : <node, 2x3xf32, device>, <one, 2x3x2xf32, device> -> <node, 2x2xf32, device>
  return %z : !flow.rows<node, 2x2xf32, device>
}

// -----

// Parts side by side are multiplied each by its rows of the matrix, where each has its key.
// CHECK-LABEL: func.func @parts
// CHECK-DAG: %[[W0:.*]] = flow.slice %arg1 {axis = 0 : i64, offset = 0 : i64} : <one, 16x4xf32, device> -> <one, 8x4xf32, device>
// CHECK-DAG: %[[W1:.*]] = flow.slice %arg1 {axis = 0 : i64, offset = 8 : i64} : <one, 16x4xf32, device> -> <one, 8x4xf32, device>
// CHECK-DAG: %[[A:.*]] = flow.linear %arg0, %[[W0]][one] : {{.*}} -> <node, 4xf32, device>
// CHECK-DAG: %[[B:.*]] = flow.linear %arg0, %[[W1]][one] : {{.*}} -> <node, 4xf32, device>
// CHECK: flow.add %[[A]][src], %[[B]][dst] : {{.*}} -> <edge, 4xf32, device>
func.func @parts(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 16x4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %c = flow.concat %x[src], %x[dst] {axis = 0 : i64} : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, 16xf32, device>
  %y = flow.linear %c, %w[one] : <edge, 16xf32, device>, <one, 16x4xf32, device> -> <edge, 4xf32, device>
  return %y : !flow.rows<edge, 4xf32, device>
}

// -----

// A dot product with parts side by side: a score for each node.
// CHECK-LABEL: func.func @parts_of_dot
// CHECK-DAG: %[[A:.*]] = flow.dot %arg0, %{{.*}}[one] : {{.*}} -> <node, 2xf32, device>
// CHECK-DAG: %[[B:.*]] = flow.dot %arg0, %{{.*}}[one] : {{.*}} -> <node, 2xf32, device>
// CHECK: flow.add %[[A]][src], %[[B]][dst] : {{.*}} -> <edge, 2xf32, device>
func.func @parts_of_dot(%x: !flow.rows<node, 2x8xf32, device>, %a: !flow.rows<one, 2x16xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %c = flow.concat %x[src], %x[dst] {axis = 1 : i64} : <node, 2x8xf32, device>, <node, 2x8xf32, device> -> <edge, 2x16xf32, device>
  %s = flow.dot %c, %a[one] : <edge, 2x16xf32, device>, <one, 2x16xf32, device> -> <edge, 2xf32, device>
  return %s : !flow.rows<edge, 2xf32, device>
}

// -----

// The difference of two ends: one product per node serves both.
// CHECK-LABEL: func.func @difference
// CHECK-NEXT: %[[Y:.*]] = flow.linear %arg0, %arg1[one] : {{.*}} -> <node, 4xf32, device>
// CHECK-NEXT: %[[D:.*]] = flow.sub %[[Y]][src], %[[Y]][dst] : {{.*}} -> <edge, 4xf32, device>
// CHECK-NEXT: return %[[D]]
func.func @difference(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %d = flow.sub %x[src], %x[dst] : <node, 8xf32, device>, <node, 8xf32, device> -> <edge, 8xf32, device>
  %y = flow.linear %d, %w[one] : <edge, 8xf32, device>, <one, 8x4xf32, device> -> <edge, 4xf32, device>
  return %y : !flow.rows<edge, 4xf32, device>
}

// -----

// Two products with the same matrix are one product of the sum; two of the same rows one with the sum of the matrices.
// CHECK-LABEL: func.func @merge
// CHECK-NEXT: %[[A:.*]] = flow.add %arg0, %arg1 : {{.*}} -> <edge, 8xf32, device>
// CHECK-NEXT: %[[Y:.*]] = flow.linear %[[A]], %arg2[etype] {guarded} : {{.*}} -> <edge, 4xf32, device>
// CHECK-NEXT: %[[W:.*]] = flow.sub %arg2, %arg3[one] : {{.*}} -> <etype, 8x4xf32, device>
// CHECK-NEXT: %[[Z:.*]] = flow.linear %arg0, %[[W]][etype] : {{.*}} -> <edge, 4xf32, device>
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @merge(%a: !flow.rows<edge, 8xf32, device>, %b: !flow.rows<edge, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %v: !flow.rows<one, 8x4xf32, device>) -> (!flow.rows<edge, 4xf32, device>, !flow.rows<edge, 4xf32, device>) {
  %0 = flow.linear %a, %w[etype] {guarded} : <edge, 8xf32, device>, <etype, 8x4xf32, device> -> <edge, 4xf32, device>
  %1 = flow.linear %b, %w[etype] {guarded} : <edge, 8xf32, device>, <etype, 8x4xf32, device> -> <edge, 4xf32, device>
  %2 = flow.add %0, %1 : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  %3 = flow.linear %a, %w[etype] : <edge, 8xf32, device>, <etype, 8x4xf32, device> -> <edge, 4xf32, device>
  %4 = flow.linear %a, %v[one] : <edge, 8xf32, device>, <one, 8x4xf32, device> -> <edge, 4xf32, device>
  %5 = flow.sub %3, %4 : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  return %2, %5 : !flow.rows<edge, 4xf32, device>, !flow.rows<edge, 4xf32, device>
}

// -----

// A factor of each head comes after the product, which is then one per node.
// CHECK-LABEL: func.func @factor
// CHECK-NEXT: %[[Y:.*]] = flow.linear %arg1, %arg2[one] : {{.*}} -> <node, 2x4xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.mul %arg0, %[[Y]][src] : <edge, 2x1xf32, device>, <node, 2x4xf32, device> -> <edge, 2x4xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @factor(%s: !flow.rows<edge, 2x1xf32, device>, %x: !flow.rows<node, 2x8xf32, device>, %w: !flow.rows<one, 8x4xf32, device>) -> !flow.rows<edge, 2x4xf32, device> {
  %m = flow.mul %s, %x[src] : <edge, 2x1xf32, device>, <node, 2x8xf32, device> -> <edge, 2x8xf32, device>
  %y = flow.linear %m, %w[one] : <edge, 2x8xf32, device>, <one, 8x4xf32, device> -> <edge, 2x4xf32, device>
  return %y : !flow.rows<edge, 2x4xf32, device>
}

// -----

// Factors of gradients stay chains: the gradient, rows or factor, is on the left.
// CHECK-LABEL: func.func @factor_of_gradient
// CHECK-NEXT: %[[A:.*]] = flow.linear %arg1[node], %arg2[etype] {guarded, transposed} : {{.*}} -> <dst_pair, 8xf32, device>
// CHECK-NEXT: %[[C:.*]] = flow.chain %[[A]][dst_pair], %arg0 : {{.*}} -> <edge, 8xf32, device>
// CHECK-NEXT: %[[B:.*]] = flow.linear %arg3, %arg2 {guarded, transposed} : {{.*}} -> <etype, 8xf32, device>
// CHECK-NEXT: %[[D:.*]] = flow.chain %arg0, %[[B]][etype] : {{.*}} -> <edge, 8xf32, device>
// CHECK-NEXT: return %[[C]], %[[D]]
func.func @factor_of_gradient(%s: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %a: !flow.rows<etype, 4xf32, device>) -> (!flow.rows<edge, 8xf32, device>, !flow.rows<edge, 8xf32, device>) {
  %0 = flow.chain %g[dst], %s : <node, 4xf32, device>, <edge, f32, device> -> <edge, 4xf32, device>
  %1 = flow.linear %0, %w[etype] {guarded, transposed} : <edge, 4xf32, device>, <etype, 8x4xf32, device> -> <edge, 8xf32, device>
  %2 = flow.chain %s, %a[etype] : <edge, f32, device>, <etype, 4xf32, device> -> <edge, 4xf32, device>
  %3 = flow.linear %2, %w[etype] {guarded, transposed} : <edge, 4xf32, device>, <etype, 8x4xf32, device> -> <edge, 8xf32, device>
  return %1, %3 : !flow.rows<edge, 8xf32, device>, !flow.rows<edge, 8xf32, device>
}

// -----

// A quotient in a guarded dot product: where the gradient is 0, the divisor may be 0 as well.
// CHECK-LABEL: func.func @quotient_guarded
// CHECK-DAG: %[[S:.*]] = flow.dot %arg0, %arg1 {guarded} : {{.*}} -> <node, f32, device>
// CHECK-DAG: %[[I:.*]] = flow.div %{{.*}}[one], %arg2 : {{.*}} -> <edge, f32, device>
// CHECK: flow.chain %[[S]][dst], %[[I]] : {{.*}} -> <edge, f32, device>
func.func @quotient_guarded(%g: !flow.rows<node, 64xf32, device>, %x: !flow.rows<node, 64xf32, device>, %z: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %q = flow.div %x[dst], %z : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %s = flow.dot %g[dst], %q {guarded} : <node, 64xf32, device>, <edge, 64xf32, device> -> <edge, f32, device>
  return %s : !flow.rows<edge, f32, device>
}

// -----

// The zeros beside the gradient of a slice are not multiplied.
// CHECK-LABEL: func.func @zeros
// CHECK: %[[W:.*]] = flow.slice %arg1 {axis = 1 : i64, offset = 4 : i64} : <one, 4x8xf32, device> -> <one, 4x4xf32, device>
// CHECK-NEXT: %[[Y:.*]] = flow.linear %arg0, %[[W]][one] {guarded, transposed} : {{.*}} -> <edge, 4xf32, device>
// CHECK-NEXT: return %[[Y]]
func.func @zeros(%g: !flow.rows<edge, 4xf32, device>, %w: !flow.rows<one, 4x8xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %zero = flow.constant 0.000000e+00 : <one, f32, device>
  %none = flow.expand %zero : <one, f32, device> -> <one, 4xf32, device>
  %c = flow.concat %none[one], %g {axis = 0 : i64} : <one, 4xf32, device>, <edge, 4xf32, device> -> <edge, 8xf32, device>
  %y = flow.linear %c, %w[one] {guarded, transposed} : <edge, 8xf32, device>, <one, 4x8xf32, device> -> <edge, 4xf32, device>
  return %y : !flow.rows<edge, 4xf32, device>
}

// -----

// A product that another op reads is not saved, so nothing is gained; eagerly, its weights are contracted all the same.
// CHECK-LABEL: func.func @read_twice
// CHECK-NEXT: %[[Y:.*]] = flow.linear %arg0[node], %arg1[etype]
// CHECK-NEXT: %[[S:.*]] = flow.dot %[[Y]], %arg2[etype]
// CHECK-NEXT: return %[[Y]], %[[S]]
// EAGER-LABEL: func.func @read_twice
// EAGER-DAG: %[[Y:.*]] = flow.linear %arg0[node], %arg1[etype] : {{.*}} -> <src_pair, 4xf32, device>
// EAGER-DAG: %[[WA:.*]] = flow.linear %arg2, %arg1 {transposed} : {{.*}} -> <etype, 8xf32, device>
// EAGER: %[[S:.*]] = flow.dot %arg0[node], %[[WA]][etype] : {{.*}} -> <src_pair, f32, device>
// EAGER-NEXT: return %[[Y]], %[[S]]
func.func @read_twice(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %a: !flow.rows<etype, 4xf32, device>) -> (!flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>) {
  %y = flow.linear %x[node], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 4xf32, device>
  %s = flow.dot %y, %a[etype] : <src_pair, 4xf32, device>, <etype, 4xf32, device> -> <src_pair, f32, device>
  return %y, %s : !flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>
}
