// RUN: hector-opt %s --flow-form-groups=rebuild=false --flow-split-phases | FileCheck %s --implicit-check-not func.func

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>

// Each phase is a function. What the graph, the weights and the forward phase leave for another phase are results of one
// function and arguments of the other; results of the whole that no other phase reads are results of their phase alone.
// CHECK: func.func @all(
// CHECK-NEXT: %[[G:.*]] = call @all.graph() : () -> !flow.rows<node, f32, device>
// CHECK-NEXT: %[[W:.*]] = call @all.weights(%arg1) : (!flow.rows<one, f32, device>) -> !flow.rows<one, f32, device>
// CHECK-NEXT: %[[F:.*]]:2 = call @all.forward(%arg0, %[[W]], %[[G]]) : {{.*}} -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>)
// CHECK-NEXT: %[[B:.*]] = call @all.backward(%[[F]]#0, %arg2) : {{.*}} -> !flow.rows<node, f32, device>
// CHECK-NEXT: return %[[F]]#1, %[[B]]
// Arguments and results have their names, and what one phase leaves for another has one on both sides. Functions keep the graph.
// CHECK: func.func private @all.graph() -> (!flow.rows<node, f32, device> {flow.name = "kept"}) attributes {flow.graph =
// CHECK: flow.group by_dst edge graph
// CHECK: func.func private @all.weights(%arg0: !flow.rows<one, f32, device> {flow.name = "w"}) -> (!flow.rows<one, f32, device> {flow.name = "kept.1"}) attributes {flow.graph =
// CHECK: flow.group flat one weights
// CHECK: func.func private @all.forward(%arg0: !flow.rows<node, f32, device> {flow.name = "x"}, %arg1: !flow.rows<one, f32, device> {flow.name = "kept.1"}, %arg2: !flow.rows<node, f32, device> {flow.name = "kept"}) -> (!flow.rows<node, f32, device> {flow.name = "kept.2"}, !flow.rows<node, f32, device> {flow.name = "out"}) attributes {flow.graph =
// CHECK: flow.group flat node forward
// CHECK: func.func private @all.backward(%arg0: !flow.rows<node, f32, device> {flow.name = "kept.2"}, %arg1: !flow.rows<node, f32, device> {flow.name = "grad.out"}) -> (!flow.rows<node, f32, device> {flow.name = "grad.x"}) attributes {flow.graph =
// CHECK: flow.group flat node backward
func.func @all(%x: !flow.rows<node, f32, device> {flow.name = "x"}, %w: !flow.rows<one, f32, device> {flow.name = "w"}, %g: !flow.rows<node, f32, device> {flow.name = "grad.out"})
    -> (!flow.rows<node, f32, device> {flow.name = "out"}, !flow.rows<node, f32, device> {flow.name = "grad.x"}) attributes {flow.graph = #small, flow.forward_results = 1 : i64} {
  %one = flow.constant 1.0 : <one, f32, device>
  %edges = flow.spread %one via one : <one, f32, device> -> <edge, f32, device>
  %degree = flow.reduce sum %edges via dst : <edge, f32, device> -> <node, f32, device>
  %v = flow.exp %w : <one, f32, device> -> <one, f32, device>
  %kept = flow.mul %x, %v[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
  %out = flow.mul %kept, %degree : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  %dx = flow.mul %kept, %g : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  return %out, %dx : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// A table that two phases read is an argument of both; one that is a result as well keeps the result's name.
// CHECK: func.func @kept_result(
// CHECK-NEXT: %[[F:.*]] = call @kept_result.forward(%arg0)
// CHECK-NEXT: %[[B:.*]] = call @kept_result.backward(%[[F]], %arg1)
// CHECK-NEXT: return %[[F]], %[[B]]
// CHECK: func.func private @kept_result.forward({{.*}}) -> (!flow.rows<node, f32, device> {flow.name = "out"})
// CHECK: func.func private @kept_result.backward(%arg0: !flow.rows<node, f32, device> {flow.name = "out"}
func.func @kept_result(%x: !flow.rows<node, f32, device>, %g: !flow.rows<node, f32, device>)
    -> (!flow.rows<node, f32, device> {flow.name = "out"}, !flow.rows<node, f32, device>) attributes {flow.forward_results = 1 : i64} {
  %y = flow.exp %x : <node, f32, device> -> <node, f32, device>
  %dx = flow.mul %y, %g : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  return %y, %dx : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// A result that is an argument or a constant belongs to no phase.
// CHECK: func.func @no_group(
// CHECK-NEXT: %[[C:.*]] = flow.constant 2.0
// CHECK-NEXT: %[[F:.*]] = call @no_group.forward(%arg0)
// CHECK-NEXT: return %arg0, %[[C]], %[[F]]
// CHECK: func.func private @no_group.forward
// CHECK: flow.constant 2.0
// CHECK: flow.mul
func.func @no_group(%x: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<one, f32, device>, !flow.rows<node, f32, device>) {
  %two = flow.constant 2.0 : <one, f32, device>
  %y = flow.mul %x, %two[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
  return %x, %two, %y : !flow.rows<node, f32, device>, !flow.rows<one, f32, device>, !flow.rows<node, f32, device>
}

// Without groups there is nothing to call.
// CHECK: func.func @nothing(
// CHECK-NEXT: return %arg0
func.func @nothing(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  return %x : !flow.rows<node, f32, device>
}
