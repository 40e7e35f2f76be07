// What passes make of dropout: nothing. It stays where it is drawn, and what is drawn apart stays apart.
// RUN: hector-opt %s --split-input-file --cse --canonicalize | FileCheck %s --check-prefixes CHECK,SIMPLIFY
// RUN: hector-opt %s --split-input-file --flow-compact-rows | FileCheck %s --check-prefixes CHECK,COMPACT
// RUN: hector-opt %s --split-input-file --flow-linear-reorder --canonicalize | FileCheck %s --check-prefixes CHECK,REORDER
// RUN: hector-opt %s --split-input-file --flow-aggregate-first --canonicalize | FileCheck %s --check-prefixes CHECK,AGGREGATE

// The rows that it reads are equal for all edges of a source, what it gives is not: it stays at the edges, and so does
// what reads it.
// CHECK-LABEL: func.func @edges
// COMPACT: %[[T:.*]] = flow.tanh %arg0 : <node, 4xf32, device> -> <node, 4xf32, device>
// COMPACT-NEXT: %[[D:.*]] = flow.dropout %[[T]][src] {{.*}} -> <edge, 4xf32, device>
// COMPACT-NEXT: flow.exp %[[D]] : <edge, 4xf32, device> -> <edge, 4xf32, device>
func.func @edges(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %t = flow.tanh %x[src] : <node, 4xf32, device> -> <edge, 4xf32, device>
  %d = flow.dropout %t {rate = 0.5 : f64, stream = 0 : i64} : <edge, 4xf32, device> -> <edge, 4xf32, device>
  %e = flow.exp %d : <edge, 4xf32, device> -> <edge, 4xf32, device>
  return %e : !flow.rows<edge, 4xf32, device>
}

// -----

// Pairs are drawn one by one as well.
// CHECK-LABEL: func.func @pairs
// COMPACT: flow.dropout %arg0[node] {{.*}} -> <dst_pair, 4xf32, device>
func.func @pairs(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<dst_pair, 4xf32, device> {
  %d = flow.dropout %x[node] {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  return %d : !flow.rows<dst_pair, 4xf32, device>
}

// -----

// Streams tell dropouts apart; of one stream they are one.
// CHECK-LABEL: func.func @streams
// SIMPLIFY: %[[A:.*]] = flow.dropout %arg0 {rate = 5.000000e-01 : f64, stream = 0 : i64}
// SIMPLIFY-NEXT: %[[B:.*]] = flow.dropout %arg0 {rate = 5.000000e-01 : f64, stream = 1 : i64}
// SIMPLIFY-NEXT: return %[[A]], %[[B]], %[[A]]
func.func @streams(%x: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) {
  %a = flow.dropout %x {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  %b = flow.dropout %x {rate = 0.5 : f64, stream = 1 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  %c = flow.dropout %x {rate = 0.5 : f64, stream = 0 : i64} : <node, 4xf32, device> -> <node, 4xf32, device>
  return %a, %b, %c : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// -----

// dot(x W, a) would become dot(x, W a), but for what is drawn in between.
// CHECK-LABEL: func.func @between_products
// REORDER: flow.linear %arg0, %arg1[one] : {{.*}} -> <node, 8xf32, device>
// REORDER-NEXT: flow.dropout {{.*}} -> <node, 8xf32, device>
// REORDER-NEXT: flow.dot {{.*}} -> <node, f32, device>
func.func @between_products(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<one, 8x8xf32, device>, %a: !flow.rows<one, 8xf32, device>) -> !flow.rows<node, f32, device> {
  %m = flow.linear %x, %w[one] : <node, 8xf32, device>, <one, 8x8xf32, device> -> <node, 8xf32, device>
  %d = flow.dropout %m {rate = 0.5 : f64, stream = 0 : i64} : <node, 8xf32, device> -> <node, 8xf32, device>
  %s = flow.dot %d, %a[one] : <node, 8xf32, device>, <one, 8xf32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// -----

// A product before it is not summed first; one after it is, and sums what was drawn.
// CHECK-LABEL: func.func @sums
// AGGREGATE: %[[M:.*]] = flow.linear %arg0[src], %arg1[etype] : {{.*}} -> <edge, 8xf32, device>
// AGGREGATE: %[[D:.*]] = flow.dropout %[[M]] {{.*}} -> <edge, 8xf32, device>
// AGGREGATE: %[[S:.*]] = flow.reduce sum %[[D]] via dst_pair
// AGGREGATE: flow.linear %[[S]], %arg2[etype] : {{.*}} -> <dst_pair, 8xf32, device>
func.func @sums(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>, %v: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.linear %x[src], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <edge, 8xf32, device>
  %d = flow.dropout %m {rate = 0.5 : f64, stream = 0 : i64} : <edge, 8xf32, device> -> <edge, 8xf32, device>
  %n = flow.linear %d, %v[etype] : <edge, 8xf32, device>, <etype, 8x8xf32, device> -> <edge, 8xf32, device>
  %y = flow.reduce sum %n via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  return %y : !flow.rows<node, 8xf32, device>
}
