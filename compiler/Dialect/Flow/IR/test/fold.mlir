// What folds, and what looks alike but must stay.
// RUN: hector-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @add_identity(
func.func @add_identity(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.add %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @add_identity_on_the_left(
func.func @add_identity_on_the_left(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.add %c[one], %x : <one, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @add_other_number(
func.func @add_other_number(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 2.0 : <one, f64, device>
  %r = flow.add %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.add
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @add_identity_through_a_map(
func.func @add_identity_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.add %x[src], %c[one] : <node, 4xf64, device>, <one, f64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.add
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @sub_identity(
func.func @sub_identity(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.sub %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @sub_identity_on_the_left(
func.func @sub_identity_on_the_left(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.sub %c[one], %x : <one, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.sub
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @sub_other_number(
func.func @sub_other_number(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 2.0 : <one, f64, device>
  %r = flow.sub %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.sub
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @sub_identity_through_a_map(
func.func @sub_identity_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.sub %x[src], %c[one] : <node, 4xf64, device>, <one, f64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.sub
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @mul_identity(
func.func @mul_identity(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.mul %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @mul_identity_on_the_left(
func.func @mul_identity_on_the_left(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.mul %c[one], %x : <one, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @mul_other_number(
func.func @mul_other_number(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 2.0 : <one, f64, device>
  %r = flow.mul %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.mul
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @mul_identity_through_a_map(
func.func @mul_identity_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.mul %x[src], %c[one] : <node, 4xf64, device>, <one, f64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.mul
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_identity(
func.func @div_identity(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.div %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @div_identity_on_the_left(
func.func @div_identity_on_the_left(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.div %c[one], %x : <one, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.div
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_other_number(
func.func @div_other_number(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 2.0 : <one, f64, device>
  %r = flow.div %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.div
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_identity_through_a_map(
func.func @div_identity_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.div %x[src], %c[one] : <node, 4xf64, device>, <one, f64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.div
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @pow_identity(
func.func @pow_identity(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.pow %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @pow_identity_on_the_left(
func.func @pow_identity_on_the_left(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.pow %c[one], %x : <one, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.pow
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @pow_other_number(
func.func @pow_other_number(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 2.0 : <one, f64, device>
  %r = flow.pow %x, %c[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.pow
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @pow_identity_through_a_map(
func.func @pow_identity_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.pow %x[src], %c[one] : <node, 4xf64, device>, <one, f64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK: %[[R:.*]] = flow.pow
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @add_repeats(
func.func @add_repeats(%x: !flow.rows<node, f64, device>, %y: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %c = flow.constant 0.0 : <one, f64, device>
  %r = flow.add %x, %c[one] : <node, f64, device>, <one, f64, device> -> <node, f64, device>
  %s = flow.add %r, %y : <node, f64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %s : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: %[[S:.*]] = flow.add %arg0, %arg1
  // CHECK-NEXT: return %[[S]]
}

// CHECK-LABEL: func.func @add_constants_f64(
func.func @add_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 2.0 : <one, f64, device>
  %r = flow.add %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 5.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// 0.1 is a little more than a tenth: it is contained nine times.
// CHECK-LABEL: func.func @floor_div_constants_f64(
func.func @floor_div_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 1.0 : <one, f64, device>
  %b = flow.constant 0.1 : <one, f64, device>
  %r = flow.floor_div %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 9.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @mod_constants_f64(
func.func @mod_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant -7.0 : <one, f64, device>
  %b = flow.constant 3.0 : <one, f64, device>
  %r = flow.mod %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 2.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @add_constants_f32(
func.func @add_constants_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.add %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 5.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @sub_constants_f64(
func.func @sub_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 2.0 : <one, f64, device>
  %r = flow.sub %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 1.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @sub_constants_f32(
func.func @sub_constants_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.sub %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 1.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @mul_constants_f64(
func.func @mul_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 2.0 : <one, f64, device>
  %r = flow.mul %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 6.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @mul_constants_f32(
func.func @mul_constants_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.mul %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 6.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_constants_f64(
func.func @div_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 2.0 : <one, f64, device>
  %r = flow.div %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 1.500000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_constants_f32(
func.func @div_constants_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.div %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 1.500000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @pow_constants_f64(
func.func @pow_constants_f64() -> !flow.rows<one, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 2.0 : <one, f64, device>
  %r = flow.pow %a, %b : <one, f64, device>, <one, f64, device> -> <one, f64, device>
  return %r : !flow.rows<one, f64, device>
  // CHECK: %[[R:.*]] = flow.constant 9.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @pow_constants_f32(
func.func @pow_constants_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.pow %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 9.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// Constants read by rows are a constant that is read by rows.
// CHECK-LABEL: func.func @constants_read_by_rows(
func.func @constants_read_by_rows() -> !flow.rows<node, f64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %r = flow.add %a[one], %a[one] : <one, f64, device>, <one, f64, device> -> <node, f64, device>
  return %r : !flow.rows<node, f64, device>
  // CHECK: %[[C:.*]] = flow.constant 6.000000e+00
  // CHECK-NEXT: %[[R:.*]] = flow.spread %[[C]] via one
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @max_same(
func.func @max_same(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.max %x, %x : <node, 4xf64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @max_same_through_other_maps(
func.func @max_same_through_other_maps(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.max %x[src], %x[dst] : <node, 4xf64, device>, <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.max %arg0[src], %arg0[dst]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @min_same(
func.func @min_same(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.min %x, %x : <node, 4xf64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @min_same_through_other_maps(
func.func @min_same_through_other_maps(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.min %x[src], %x[dst] : <node, 4xf64, device>, <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.min %arg0[src], %arg0[dst]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @neg_neg(
func.func @neg_neg(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %a = flow.neg %x : <node, 4xf64, device> -> <node, 4xf64, device>
  %r = flow.neg %a : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @neg_neg_outer_map(
func.func @neg_neg_outer_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %a = flow.neg %x : <node, 4xf64, device> -> <node, 4xf64, device>
  %r = flow.neg %a[src] : <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[A:.*]] = flow.neg %arg0
  // CHECK-NEXT: %[[R:.*]] = flow.neg %[[A]][src]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @neg_neg_inner_map(
func.func @neg_neg_inner_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %a = flow.neg %x[src] : <node, 4xf64, device> -> <edge, 4xf64, device>
  %r = flow.neg %a : <edge, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[A:.*]] = flow.neg %arg0[src]
  // CHECK-NEXT: %[[R:.*]] = flow.neg %[[A]]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @not_not(
func.func @not_not(%x: !flow.rows<node, 4xi1, device>) -> !flow.rows<node, 4xi1, device> {
  %a = flow.not %x : <node, 4xi1, device> -> <node, 4xi1, device>
  %r = flow.not %a : <node, 4xi1, device> -> <node, 4xi1, device>
  return %r : !flow.rows<node, 4xi1, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @not_not_outer_map(
func.func @not_not_outer_map(%x: !flow.rows<node, 4xi1, device>) -> !flow.rows<edge, 4xi1, device> {
  %a = flow.not %x : <node, 4xi1, device> -> <node, 4xi1, device>
  %r = flow.not %a[src] : <node, 4xi1, device> -> <edge, 4xi1, device>
  return %r : !flow.rows<edge, 4xi1, device>
  // CHECK-NEXT: %[[A:.*]] = flow.not %arg0
  // CHECK-NEXT: %[[R:.*]] = flow.not %[[A]][src]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @not_not_inner_map(
func.func @not_not_inner_map(%x: !flow.rows<node, 4xi1, device>) -> !flow.rows<edge, 4xi1, device> {
  %a = flow.not %x[src] : <node, 4xi1, device> -> <edge, 4xi1, device>
  %r = flow.not %a : <edge, 4xi1, device> -> <edge, 4xi1, device>
  return %r : !flow.rows<edge, 4xi1, device>
  // CHECK-NEXT: %[[A:.*]] = flow.not %arg0[src]
  // CHECK-NEXT: %[[R:.*]] = flow.not %[[A]]
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @select_same(
func.func @select_same(%c: !flow.rows<node, i1, device>, %x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.select %c, %x, %x : <node, i1, device>, <node, 4xf64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg1
}

// CHECK-LABEL: func.func @select_same_through_other_maps(
func.func @select_same_through_other_maps(%c: !flow.rows<edge, i1, device>, %x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.select %c, %x[src], %x[dst] : <edge, i1, device>, <node, 4xf64, device>, <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.select
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @select_same_but_repeated(
func.func @select_same_but_repeated(%c: !flow.rows<node, 4xi1, device>, %x: !flow.rows<node, f64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.select %c, %x, %x : <node, 4xi1, device>, <node, f64, device>, <node, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.select
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @expand_nothing(
func.func @expand_nothing(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.expand %x : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @expand_something(
func.func @expand_something(%x: !flow.rows<node, 1xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.expand %x : <node, 1xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.expand
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @expand_to_edges(
func.func @expand_to_edges(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.expand %x[src] : <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.expand
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @reshape_nothing(
func.func @reshape_nothing(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.reshape %x : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @reshape_reshape(
func.func @reshape_reshape(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 1x4xf64, device> {
  %a = flow.reshape %x : <node, 4xf64, device> -> <node, 2x2xf64, device>
  %r = flow.reshape %a : <node, 2x2xf64, device> -> <node, 1x4xf64, device>
  return %r : !flow.rows<node, 1x4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.reshape %arg0 : <node, 4xf64, device> -> <node, 1x4xf64, device>
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @reshape_back(
func.func @reshape_back(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %a = flow.reshape %x : <node, 4xf64, device> -> <node, 2x2xf64, device>
  %r = flow.reshape %a : <node, 2x2xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @reshape_reshape_maps_compose(
func.func @reshape_reshape_maps_compose(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %a = flow.reshape %x[node] : <node, 4xf64, device> -> <dst_pair, 2x2xf64, device>
  %r = flow.reshape %a[dst_pair] : <dst_pair, 2x2xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.reshape %arg0[dst] : <node, 4xf64, device> -> <edge, 4xf64, device>
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @transpose_nothing(
func.func @transpose_nothing(%x: !flow.rows<node, 2x3x4xf64, device>) -> !flow.rows<node, 2x3x4xf64, device> {
  %r = flow.transpose %x {permutation = array<i64: 0, 1, 2>} : <node, 2x3x4xf64, device> -> <node, 2x3x4xf64, device>
  return %r : !flow.rows<node, 2x3x4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @transpose_back(
func.func @transpose_back(%x: !flow.rows<node, 2x3x4xf64, device>) -> !flow.rows<node, 2x3x4xf64, device> {
  %a = flow.transpose %x {permutation = array<i64: 1, 2, 0>} : <node, 2x3x4xf64, device> -> <node, 3x4x2xf64, device>
  %r = flow.transpose %a {permutation = array<i64: 2, 0, 1>} : <node, 3x4x2xf64, device> -> <node, 2x3x4xf64, device>
  return %r : !flow.rows<node, 2x3x4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @transpose_twice_the_same_way(
func.func @transpose_twice_the_same_way(%x: !flow.rows<node, 2x3x4xf64, device>) -> !flow.rows<node, 4x2x3xf64, device> {
  %a = flow.transpose %x {permutation = array<i64: 1, 2, 0>} : <node, 2x3x4xf64, device> -> <node, 3x4x2xf64, device>
  %r = flow.transpose %a {permutation = array<i64: 1, 2, 0>} : <node, 3x4x2xf64, device> -> <node, 4x2x3xf64, device>
  return %r : !flow.rows<node, 4x2x3xf64, device>
  // CHECK-NEXT: %[[A:.*]] = flow.transpose
  // CHECK-NEXT: %[[R:.*]] = flow.transpose
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @transpose_back_through_a_map(
func.func @transpose_back_through_a_map(%x: !flow.rows<node, 2x3x4xf64, device>) -> !flow.rows<edge, 2x3x4xf64, device> {
  %a = flow.transpose %x {permutation = array<i64: 1, 0, 2>} : <node, 2x3x4xf64, device> -> <node, 3x2x4xf64, device>
  %r = flow.transpose %a[src] {permutation = array<i64: 1, 0, 2>} : <node, 3x2x4xf64, device> -> <edge, 2x3x4xf64, device>
  return %r : !flow.rows<edge, 2x3x4xf64, device>
  // CHECK-NEXT: %[[A:.*]] = flow.transpose
  // CHECK-NEXT: %[[R:.*]] = flow.transpose
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @slice_everything(
func.func @slice_everything(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.slice %x {axis = 0 : i64, offset = 0 : i64} : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @slice_a_part(
func.func @slice_a_part(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 2xf64, device> {
  %r = flow.slice %x {axis = 0 : i64, offset = 1 : i64} : <node, 4xf64, device> -> <node, 2xf64, device>
  return %r : !flow.rows<node, 2xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.slice
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @slice_everything_elsewhere(
func.func @slice_everything_elsewhere(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.slice %x[src] {axis = 0 : i64, offset = 0 : i64} : <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.slice
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @concat_one(
func.func @concat_one(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.concat %x {axis = 0 : i64} : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @concat_one_elsewhere(
func.func @concat_one_elsewhere(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %r = flow.concat %x[src] {axis = 0 : i64} : <node, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.concat
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @spread_self(
func.func @spread_self(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.spread %x via self : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// CHECK-LABEL: func.func @constant_once(
func.func @constant_once(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %a = flow.constant 3.0 : <one, f64, device>
  %b = flow.constant 3.0 : <one, f64, device>
  %m = flow.mul %x, %a[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  %r = flow.mul %m, %b[one] : <node, 4xf64, device>, <one, f64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: %[[C:.*]] = flow.constant 3.000000e+00
  // CHECK-NEXT: %[[M:.*]] = flow.mul %arg0, %[[C]][one]
  // CHECK-NEXT: %[[R:.*]] = flow.mul %[[M]], %[[C]][one]
}

// CHECK-LABEL: func.func @dropout_of_nothing(
func.func @dropout_of_nothing(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<node, 4xf64, device> {
  %r = flow.dropout %x {rate = 0.0 : f64, stream = 0 : i64} : <node, 4xf64, device> -> <node, 4xf64, device>
  return %r : !flow.rows<node, 4xf64, device>
  // CHECK-NEXT: return %arg0
}

// Numbers that are drawn for each edge differ, even if they are drawn from a constant.
// CHECK-LABEL: func.func @dropout_of_a_constant(
func.func @dropout_of_a_constant() -> !flow.rows<edge, f64, device> {
  %c = flow.constant 1.0 : <one, f64, device>
  %r = flow.dropout %c[one] {rate = 0.5 : f64, stream = 0 : i64} : <one, f64, device> -> <edge, f64, device>
  return %r : !flow.rows<edge, f64, device>
  // CHECK: %[[R:.*]] = flow.dropout %{{.*}}[one] {{.*}} -> <edge, f64, device>
  // CHECK-NEXT: return %[[R]]
}

// Rows that are drawn for each edge are no rows of nodes.
// CHECK-LABEL: func.func @dropout_through_a_map(
func.func @dropout_through_a_map(%x: !flow.rows<node, 4xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %s = flow.spread %x via src : <node, 4xf64, device> -> <edge, 4xf64, device>
  %r = flow.dropout %s {rate = 0.5 : f64, stream = 0 : i64} : <edge, 4xf64, device> -> <edge, 4xf64, device>
  return %r : !flow.rows<edge, 4xf64, device>
  // CHECK-NEXT: %[[R:.*]] = flow.dropout %arg0[src] {{.*}} -> <edge, 4xf64, device>
}

// CHECK-LABEL: func.func @div_constants_rounded_f32(
func.func @div_constants_rounded_f32() -> !flow.rows<one, f32, device> {
  %a = flow.constant 1.0 : <one, f32, device>
  %b = flow.constant 3.0 : <one, f32, device>
  %r = flow.div %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 0.3333333432674408
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_constants_rounded_f16(
func.func @div_constants_rounded_f16() -> !flow.rows<one, f16, device> {
  %a = flow.constant 1.0 : <one, f16, device>
  %b = flow.constant 3.0 : <one, f16, device>
  %r = flow.div %a, %b : <one, f16, device>, <one, f16, device> -> <one, f16, device>
  return %r : !flow.rows<one, f16, device>
  // CHECK: %[[R:.*]] = flow.constant 0.333251953125
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @div_constants_rounded_bf16(
func.func @div_constants_rounded_bf16() -> !flow.rows<one, bf16, device> {
  %a = flow.constant 1.0 : <one, bf16, device>
  %b = flow.constant 3.0 : <one, bf16, device>
  %r = flow.div %a, %b : <one, bf16, device>, <one, bf16, device> -> <one, bf16, device>
  return %r : !flow.rows<one, bf16, device>
  // CHECK: %[[R:.*]] = flow.constant 0.333984375
  // CHECK-NEXT: return %[[R]]
}

// 0.1 is read as a bf16, 0.10009765625, and only then added: 0.2001953125 is one of them, 0.2 is not.
// CHECK-LABEL: func.func @constants_are_rounded_as_they_are_read(
func.func @constants_are_rounded_as_they_are_read() -> !flow.rows<one, bf16, device> {
  %a = flow.constant 0.1 : <one, bf16, device>
  %r = flow.add %a, %a : <one, bf16, device>, <one, bf16, device> -> <one, bf16, device>
  return %r : !flow.rows<one, bf16, device>
  // CHECK: %[[R:.*]] = flow.constant 0.2001953125
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @neg_constant(
func.func @neg_constant() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %r = flow.neg %a : <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant -3.000000e+00
  // CHECK-NEXT: return %[[R]]
}

// CHECK-LABEL: func.func @chain_constants(
func.func @chain_constants() -> !flow.rows<one, f32, device> {
  %a = flow.constant 3.0 : <one, f32, device>
  %b = flow.constant 2.0 : <one, f32, device>
  %r = flow.chain %a, %b : <one, f32, device>, <one, f32, device> -> <one, f32, device>
  return %r : !flow.rows<one, f32, device>
  // CHECK: %[[R:.*]] = flow.constant 6.000000e+00
  // CHECK-NEXT: return %[[R]]
}
