// RUN: hector-opt %s --split-input-file --flow-differentiate --flow-add-updates --cse | FileCheck %s

// The gradient of a parameter becomes the parameter after a step; that of another input stays.
// CHECK-LABEL: func.func @sgd
// CHECK-SAME: %[[X:.*]]: !flow.rows<node, 4xf32, device> {flow.name = "x"}
// CHECK-SAME: %[[W:.*]]: !flow.rows<etype, 4x2xf32, device> {flow.name = "w"}
// CHECK-SAME: %[[G:.*]]: !flow.rows<edge, 2xf32, device> {flow.name = "grad.y"}
// CHECK-SAME: %[[DECAY:.*]]: !flow.rows<one, f32, device> {flow.name = "step.decay"}
// CHECK-SAME: %[[B:.*]]: !flow.rows<etype, 4x2xf32, device> {flow.name = "state.b.w"}
// CHECK-SAME: %[[MOMENTUM:.*]]: !flow.rows<one, f32, device> {flow.name = "step.momentum"}
// CHECK-SAME: %[[RATE:.*]]: !flow.rows<one, f32, device> {flow.name = "step.rate"}
// CHECK-SAME: {flow.name = "y"}
// CHECK-SAME: {flow.name = "grad.x"}
// CHECK-SAME: {flow.name = "next.w"}
// CHECK-SAME: {flow.name = "next.state.b.w"}
// CHECK-NOT: flow.optimiser
// CHECK: %[[DW:.*]] = flow.weight_grad
// CHECK: %[[L2:.*]] = flow.mul %[[W]], %[[DECAY]][one]
// CHECK: %[[SUM:.*]] = flow.add %[[DW]], %[[L2]]
// CHECK: %[[OLD:.*]] = flow.mul %[[B]], %[[MOMENTUM]][one]
// CHECK: %[[NEW:.*]] = flow.add %[[OLD]], %[[SUM]]
// CHECK: %[[STEP:.*]] = flow.mul %[[NEW]], %[[RATE]][one]
// CHECK: %[[NEXT:.*]] = flow.sub %[[W]], %[[STEP]]
// CHECK: return %{{.*}}, %{{.*}}, %[[NEXT]], %[[NEW]]
func.func @sgd(%x: !flow.rows<node, 4xf32, device> {flow.name = "x"},
               %w: !flow.rows<etype, 4x2xf32, device> {flow.name = "w"})
    -> (!flow.rows<edge, 2xf32, device> {flow.name = "y"})
    attributes {flow.optimiser = #flow.optimiser<sgd, ["w"]>} {
  %y = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x2xf32, device> -> <edge, 2xf32, device>
  return %y : !flow.rows<edge, 2xf32, device>
}

// -----

// A shared parameter reads the numbers of the step without a map. Adam keeps two tables for each parameter, and all
// parameters share the numbers.
// CHECK-LABEL: func.func @adam
// CHECK-SAME: {flow.name = "state.m.a"}
// CHECK-SAME: {flow.name = "state.v.a"}
// CHECK-SAME: %[[GAIN:[a-z0-9]+]]: !flow.rows<one, f32, device> {flow.name = "step.gain1"}
// CHECK-SAME: {flow.name = "state.m.b"}
// CHECK-NOT: step.gain1
// CHECK: %[[PART:.*]] = flow.mul %{{.*}}, %[[GAIN]] : <one
// CHECK: %[[MEAN:.*]] = flow.add %{{.*}}, %[[PART]]
// CHECK: flow.div %[[MEAN]],
// CHECK: flow.mul %{{.*}}, %[[GAIN]][one]
func.func @adam(%a: !flow.rows<one, 2xf32, device> {flow.name = "a"},
                %b: !flow.rows<ntype, 2xf32, device> {flow.name = "b"})
    -> (!flow.rows<node, 2xf32, device> {flow.name = "y"})
    attributes {flow.gradients = ["a", "b"], flow.optimiser = #flow.optimiser<adam, ["a", "b"]>} {
  %y = flow.mul %a[one], %b[ntype] : <one, 2xf32, device>, <ntype, 2xf32, device> -> <node, 2xf32, device>
  return %y : !flow.rows<node, 2xf32, device>
}

// -----

// adamw takes decay off the weights and leaves the gradient alone.
// CHECK-LABEL: func.func @adamw
// CHECK-SAME: %[[W:[a-z0-9]+]]: !flow.rows<one, 2xf32, device> {flow.name = "w"}
// CHECK-SAME: %[[KEEP:[a-z0-9]+]]: !flow.rows<one, f32, device> {flow.name = "step.keep"}
// CHECK-NOT: step.decay
// CHECK: %[[KEPT:.*]] = flow.mul %[[W]], %[[KEEP]]
// CHECK: flow.sub %[[KEPT]],
func.func @adamw(%w: !flow.rows<one, 2xf32, device> {flow.name = "w"})
    -> (!flow.rows<node, 2xf32, device> {flow.name = "y"})
    attributes {flow.optimiser = #flow.optimiser<adamw, ["w"]>} {
  %y = flow.spread %w via one : <one, 2xf32, device> -> <node, 2xf32, device>
  return %y : !flow.rows<node, 2xf32, device>
}

// -----

// Without an optimiser, nothing changes.
// CHECK-LABEL: func.func @none
// CHECK-SAME: {flow.name = "grad.w"}
func.func @none(%w: !flow.rows<one, 2xf32, device> {flow.name = "w"})
    -> (!flow.rows<node, 2xf32, device> {flow.name = "y"}) {
  %y = flow.spread %w via one : <one, 2xf32, device> -> <node, 2xf32, device>
  return %y : !flow.rows<node, 2xf32, device>
}
