// RUN: hector-opt %s --split-input-file --canonicalize | FileCheck %s

// exp(log(x)) is NaN where x is negative, and log(exp(x)) infinite where exp overflows: neither is x.
// CHECK-LABEL: func.func @inverses
// CHECK-NEXT: %[[E:.*]] = flow.exp %arg0
// CHECK-NEXT: %[[A:.*]] = flow.log %[[E]]
// CHECK-NEXT: %[[L:.*]] = flow.log %arg0
// CHECK-NEXT: %[[B:.*]] = flow.exp %[[L]]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @inverses(%x: !flow.rows<node, 2xf32, device>) -> (!flow.rows<node, 2xf32, device>, !flow.rows<node, 2xf32, device>) {
  %e = flow.exp %x : <node, 2xf32, device> -> <node, 2xf32, device>
  %a = flow.log %e : <node, 2xf32, device> -> <node, 2xf32, device>
  %l = flow.log %x : <node, 2xf32, device> -> <node, 2xf32, device>
  %b = flow.exp %l : <node, 2xf32, device> -> <node, 2xf32, device>
  return %a, %b : !flow.rows<node, 2xf32, device>, !flow.rows<node, 2xf32, device>
}

// -----

// Through a map the rows are others: left alone.
// CHECK-LABEL: func.func @inverse_through_map
// CHECK: flow.log %{{.*}}[src]
func.func @inverse_through_map(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> {
  %e = flow.exp %x : <node, f32, device> -> <node, f32, device>
  %a = flow.log %e[src] : <node, f32, device> -> <edge, f32, device>
  return %a : !flow.rows<edge, f32, device>
}

// -----

// 1 but for x = 0, inf and NaN; 0 but for inf and NaN; x but for negative x.
// CHECK-LABEL: func.func @not_for_every_number
// CHECK-NEXT: %[[ZERO:.*]] = flow.constant 0
// CHECK-NEXT: %[[A:.*]] = flow.div %arg0, %arg0
// CHECK-NEXT: %[[B:.*]] = flow.sub %arg0, %arg0
// CHECK-NEXT: %[[C:.*]] = flow.mul %arg0, %[[ZERO]][one]
// CHECK-NEXT: %[[S:.*]] = flow.sqrt %arg0
// CHECK-NEXT: %[[D:.*]] = flow.mul %[[S]], %[[S]]
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @not_for_every_number(%x: !flow.rows<node, f64, device>) -> (!flow.rows<node, f64, device>,
    !flow.rows<node, f64, device>, !flow.rows<node, f64, device>, !flow.rows<node, f64, device>) {
  %zero = flow.constant 0.0 : <one, f64, device>
  %a = flow.div %x, %x : <node, f64, device>, <node, f64, device> -> <node, f64, device>
  %b = flow.sub %x, %x : <node, f64, device>, <node, f64, device> -> <node, f64, device>
  %c = flow.mul %x, %zero[one] : <node, f64, device>, <one, f64, device> -> <node, f64, device>
  %s = flow.sqrt %x : <node, f64, device> -> <node, f64, device>
  %d = flow.mul %s, %s : <node, f64, device>, <node, f64, device> -> <node, f64, device>
  return %a, %b, %c, %d : !flow.rows<node, f64, device>, !flow.rows<node, f64, device>, !flow.rows<node, f64, device>, !flow.rows<node, f64, device>
}

// -----

// CHECK-LABEL: func.func @negations
// CHECK-NEXT: flow.sub %arg0[dst], %arg0[src]
// CHECK-NEXT: flow.add %arg0[dst], %arg0[src]
// CHECK-NEXT: return
func.func @negations(%x: !flow.rows<node, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>) {
  %n = flow.neg %x : <node, f32, device> -> <node, f32, device>
  %a = flow.add %x[dst], %n[src] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  %b = flow.sub %x[dst], %n[src] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %a, %b : !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>
}

// -----

// CHECK-LABEL: func.func @transposed_weights
// CHECK-NEXT: flow.linear %arg0[src], %arg1[etype] {transposed}
// CHECK-NEXT: return
func.func @transposed_weights(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 2x4xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %t = flow.transpose %w {permutation = array<i64: 1, 0>} : <etype, 2x4xf32, device> -> <etype, 4x2xf32, device>
  %y = flow.linear %x[src], %t[etype] : <node, 4xf32, device>, <etype, 4x2xf32, device> -> <edge, 2xf32, device>
  return %y : !flow.rows<edge, 2xf32, device>
}

// -----

// Another turn than of the last two axes is left alone.
// CHECK-LABEL: func.func @other_transpose
// CHECK: flow.transpose
func.func @other_transpose(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 4x3x2xf32, device>) -> !flow.rows<node, 3x2xf32, device> {
  %t = flow.transpose %w {permutation = array<i64: 1, 0, 2>} : <one, 4x3x2xf32, device> -> <one, 3x4x2xf32, device>
  %y = flow.linear %x, %t[one] : <node, 4xf32, device>, <one, 3x4x2xf32, device> -> <node, 3x2xf32, device>
  return %y : !flow.rows<node, 3x2xf32, device>
}

// -----

// CHECK-LABEL: func.func @negated_choice
// CHECK-NEXT: flow.select %arg0, %arg2, %arg1
// CHECK-NEXT: return
func.func @negated_choice(%c: !flow.rows<node, i1, device>, %a: !flow.rows<node, f32, device>, %b: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  %n = flow.not %c : <node, i1, device> -> <node, i1, device>
  %y = flow.select %n, %a, %b : <node, i1, device>, <node, f32, device>, <node, f32, device> -> <node, f32, device>
  return %y : !flow.rows<node, f32, device>
}

// -----

// A matrix of one column is a row: its product is a dot product.
// CHECK-LABEL: func.func @single_column
// CHECK-NEXT: %[[ROW:.*]] = flow.reshape %arg1 : <etype, 4x1xf32, device> -> <etype, 4xf32, device>
// CHECK-NEXT: %[[DOT:.*]] = flow.dot %arg0[src], %[[ROW]][etype] : <node, 4xf32, device>, <etype, 4xf32, device> -> <edge, f32, device>
// CHECK-NEXT: %[[NUMBER:.*]] = flow.reshape %[[DOT]] : <edge, f32, device> -> <edge, 1xf32, device>
// CHECK-NEXT: return %[[NUMBER]]
func.func @single_column(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x1xf32, device>) -> !flow.rows<edge, 1xf32, device> {
  %y = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x1xf32, device> -> <edge, 1xf32, device>
  return %y : !flow.rows<edge, 1xf32, device>
}

// -----

// Heads stay, whichever side has them; a matrix that is read transposed has its numbers in the same order.
// CHECK-LABEL: func.func @single_column_of_heads
// CHECK-NEXT: %[[ROWS:.*]] = flow.reshape %arg1 : <one, 3x1x4xf32, device> -> <one, 3x4xf32, device>
// CHECK-NEXT: flow.dot %arg0, %[[ROWS]][one] : <node, 4xf32, device>, <one, 3x4xf32, device> -> <node, 3xf32, device>
func.func @single_column_of_heads(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 3x1x4xf32, device>) -> !flow.rows<node, 3x1xf32, device> {
  %y = flow.linear %x, %w[one] {transposed} : <node, 4xf32, device>, <one, 3x1x4xf32, device> -> <node, 3x1xf32, device>
  return %y : !flow.rows<node, 3x1xf32, device>
}

// -----

// A guarded product asks for rows of zeros, a guarded dot for single zeros: they are not the same.
// CHECK-LABEL: func.func @guarded_single_column
// CHECK-NEXT: flow.linear %arg0, %arg1[one] {guarded}
func.func @guarded_single_column(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 4x1xf32, device>) -> !flow.rows<node, 1xf32, device> {
  %y = flow.linear %x, %w[one] {guarded} : <node, 4xf32, device>, <one, 4x1xf32, device> -> <node, 1xf32, device>
  return %y : !flow.rows<node, 1xf32, device>
}
