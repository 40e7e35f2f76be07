// Ops on which no result depends are in no group, and go.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s

// CHECK-LABEL: func.func @unread
// CHECK-NEXT: flow.group
// CHECK-NEXT: flow.exp
// CHECK-NEXT: flow.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @unread(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %s = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %a, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %z = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
  return %z : !flow.rows<edge, f32, device>
}
