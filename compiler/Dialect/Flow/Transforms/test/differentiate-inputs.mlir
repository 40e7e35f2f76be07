// RUN: hector-opt %s --pass-pipeline="builtin.module(func.func(flow-differentiate{inputs=w}))" | FileCheck %s
// RUN: not hector-opt %s --pass-pipeline="builtin.module(func.func(flow-differentiate{inputs=u}))" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Only what is asked for is built: no gradient of x, nor of anything on the way to it alone.
// CHECK-LABEL: func.func @f
// CHECK-NOT: grad.x
// CHECK: flow.tanh
// CHECK: flow.linear
// CHECK-NEXT: %[[DW:.*]] = flow.weight_grad
// CHECK-NEXT: return %{{.*}}, %[[DW]]
// UNKNOWN: has no input `u` to differentiate by
func.func @f(%x: !flow.rows<node, 4xf64, device> {flow.name = "x"},
             %w: !flow.rows<one, 4x2xf64, device> {flow.name = "w"})
    -> (!flow.rows<node, 2xf64, device> {flow.name = "y"}) {
  %h = flow.tanh %x : <node, 4xf64, device> -> <node, 4xf64, device>
  %y = flow.linear %h, %w[one] : <node, 4xf64, device>, <one, 4x2xf64, device> -> <node, 2xf64, device>
  return %y : !flow.rows<node, 2xf64, device>
}

// A function may say itself what is wanted; the option comes before it. Nothing is built for x, on either way to it.
// RUN: hector-opt %s --flow-differentiate | FileCheck %s --check-prefix OWN
// OWN-LABEL: func.func @own
// OWN-NOT: flow.gradients
// OWN-NOT: grad.x
// OWN: flow.exp
// OWN-NEXT: flow.mul
// OWN-NEXT: flow.max
// OWN-NEXT: flow.less_equal
// OWN-NEXT: flow.constant
// OWN-NEXT: flow.select
// OWN-NEXT: flow.chain
// OWN-NEXT: return
func.func @own(%x: !flow.rows<node, 4xf64, device> {flow.name = "x"}, %w: !flow.rows<node, 4xf64, device> {flow.name = "w"})
    -> (!flow.rows<node, 4xf64, device> {flow.name = "y"}) attributes {flow.gradients = ["w"]} {
  %e = flow.exp %x : <node, 4xf64, device> -> <node, 4xf64, device>
  %m = flow.mul %e, %w : <node, 4xf64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  %y = flow.max %e, %m : <node, 4xf64, device>, <node, 4xf64, device> -> <node, 4xf64, device>
  return %y : !flow.rows<node, 4xf64, device>
}
