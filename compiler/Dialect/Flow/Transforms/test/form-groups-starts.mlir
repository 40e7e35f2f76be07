// A constant from which a sum over all rows starts becomes a table, once per graph: kernels take first rows from tables.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s

// Two ops that start from one constant share its table; a third use of the constant stays one.
// CHECK-LABEL: func.func @starts
// CHECK: %[[START:.*]] = flow.group flat one graph ()
// CHECK-NEXT: flow.constant 2.0
// CHECK-NEXT: flow.yield
// CHECK: flow.group flat node forward (%{{.*}} = %{{.*}}, %[[FIRST:.*]] = %[[START]])
// CHECK: %[[TWO:.*]] = flow.constant 2.0
// CHECK: flow.mul %{{.*}}, %[[TWO]]
// CHECK-DAG: flow.reduce max %{{.*}} via one init %[[FIRST]]
// CHECK-DAG: flow.reduce min %{{.*}} via one init %[[FIRST]]
// CHECK-NOT: flow.constant
func.func @starts(%x: !flow.rows<node, f32, device>) -> (!flow.rows<one, f32, device>, !flow.rows<one, f32, device>) {
  %two = flow.constant 2.0 : <one, f32, device>
  %y = flow.mul %x, %two[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
  %top = flow.reduce max %y via one init %two : <node, f32, device> -> <one, f32, device>
  %low = flow.reduce min %y via one init %two : <node, f32, device> -> <one, f32, device>
  return %top, %low : !flow.rows<one, f32, device>, !flow.rows<one, f32, device>
}
