// Row-wise ops that read both a product and a sum over edges, as in x·root + bias + Σ m.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s

// The product hides the bytes that they move, so they go with it, and it runs last.
// CHECK-LABEL: func.func @behind_product
// CHECK: flow.group by_dst edge forward
// CHECK: flow.reduce
// CHECK-NOT: flow.add
// CHECK: flow.group gemm node forward
// CHECK: flow.linear
// CHECK: flow.add
// CHECK: flow.add
// CHECK-NOT: flow.group
// CHECK: return
func.func @behind_product(%x: !flow.rows<node, 64xf32, device>, %root: !flow.rows<one, 64x64xf32, device>, %bias: !flow.rows<one, 64xf32, device>, %m: !flow.rows<edge, 64xf32, device>)
    -> !flow.rows<node, 64xf32, device> {
  %0 = flow.linear %x, %root[one] : <node, 64xf32, device>, <one, 64x64xf32, device> -> <node, 64xf32, device>
  %1 = flow.add %0, %bias[one] : <node, 64xf32, device>, <one, 64xf32, device> -> <node, 64xf32, device>
  %2 = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %3 = flow.add %1, %2 : <node, 64xf32, device>, <node, 64xf32, device> -> <node, 64xf32, device>
  return %3 : !flow.rows<node, 64xf32, device>
}

// The edges read the product, which thus runs first.
// CHECK-LABEL: func.func @edges_read_product
// CHECK: flow.group gemm node forward
// CHECK: flow.linear
// CHECK: flow.group by_dst edge forward
// CHECK: flow.reduce
// CHECK: flow.add
// CHECK-NOT: flow.group
// CHECK: return
func.func @edges_read_product(%x: !flow.rows<node, 64xf32, device>, %root: !flow.rows<one, 64x64xf32, device>)
    -> !flow.rows<node, 64xf32, device> {
  %0 = flow.linear %x, %root[one] : <node, 64xf32, device>, <one, 64x64xf32, device> -> <node, 64xf32, device>
  %1 = flow.spread %0 via src : <node, 64xf32, device> -> <edge, 64xf32, device>
  %2 = flow.reduce sum %1 via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %3 = flow.add %0, %2 : <node, 64xf32, device>, <node, 64xf32, device> -> <node, 64xf32, device>
  return %3 : !flow.rows<node, 64xf32, device>
}
