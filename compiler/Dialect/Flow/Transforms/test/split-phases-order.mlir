// Groups of phases in any order: the phases run one after the other.
// RUN: hector-opt %s --flow-split-phases | FileCheck %s

// CHECK-LABEL: func.func @mixed(
// CHECK-NEXT: %[[F:.*]] = call @mixed.forward(%arg0)
// CHECK-NEXT: %[[B:.*]]:2 = call @mixed.backward(%arg0, %[[F]])
// CHECK-NEXT: return %[[B]]#0, %[[F]], %[[B]]#1
func.func @mixed(%x: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>) {
  %a = flow.group flat node backward (%i = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  %b = flow.group flat node forward (%i = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.neg %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  %c = flow.group flat node backward (%i = %b) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return %a, %b, %c : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}
