// Folds and canonical forms leave groups valid.
// RUN: hector-opt %s --flow-form-groups --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @constant
// CHECK: flow.group flat edge graph
// CHECK: flow.exp %{{.*}}[one] : <one, f64, device> -> <edge, f64, device>
func.func @constant() -> !flow.rows<edge, f64, device> {
  %c = flow.constant 1.5 : <one, f64, device>
  %y = flow.exp %c[one] : <one, f64, device> -> <edge, f64, device>
  return %y : !flow.rows<edge, f64, device>
}

// CHECK-LABEL: func.func @sum_of_products
// CHECK: flow.row_reduce
func.func @sum_of_products(%x: !flow.rows<node, 4x8xf64, device>, %w: !flow.rows<node, 1x8xf64, device>) -> !flow.rows<edge, 4xf64, device> {
  %p = flow.mul %x[src], %w[dst] : <node, 4x8xf64, device>, <node, 1x8xf64, device> -> <edge, 4x8xf64, device>
  %y = flow.row_reduce %p {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <edge, 4x8xf64, device> -> <edge, 4xf64, device>
  return %y : !flow.rows<edge, 4xf64, device>
}
