// RUN: hector-opt %s --flow-form-groups --split-input-file | FileCheck %s

// A softmax that weighs rows: three sweeps of one loop. Exponentials are carried from the second to the third.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[R:.*]] = flow.group by_dst edge forward (%[[A:.*]] = %arg0, %[[X:.*]] = %arg1)
// CHECK-NEXT: %[[T:.*]] = flow.sweep -> !flow.rows<node, f32, device> {
// CHECK-NEXT: flow.reduce max %[[A]] via dst
// CHECK: %[[S:.*]]:2 = flow.sweep -> !flow.rows<edge, f32, device>, !flow.rows<node, f32, device> {
// CHECK-NEXT: flow.sub %[[A]], %[[T]][dst]
// CHECK-NEXT: flow.exp
// CHECK-NEXT: flow.reduce sum
// CHECK: %[[O:.*]] = flow.sweep -> !flow.rows<node, 64xf32, device> {
// CHECK-NEXT: flow.div %[[S]]#0, %[[S]]#1[dst]
// CHECK-NEXT: flow.mul %{{.*}}, %[[X]][src]
// CHECK-NEXT: flow.reduce sum
// CHECK: flow.yield %[[O]]
// CHECK-NOT: flow.group
// CHECK: return %[[R]]
func.func @softmax(%a: !flow.rows<edge, f32, device>, %x: !flow.rows<node, 64xf32, device>) -> (!flow.rows<node, 64xf32, device>) {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %m = flow.mul %y, %x[src] : <edge, f32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  %o = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %o : !flow.rows<node, 64xf32, device>
}

// -----

// A score that takes rows of 64 to rebuild is carried over instead.
// CHECK-LABEL: func.func @scratch
// CHECK: %[[F:.*]]:2 = flow.sweep -> !flow.rows<{{.*}}>, !flow.rows<{{.*}}> {
// CHECK: flow.dot
// CHECK: flow.sweep -> !flow.rows<edge, f32, device> {
// CHECK-NOT: flow.dot
// CHECK: flow.sub %[[F]]#{{[01]}}, %[[F]]#{{[01]}}[dst]
func.func @scratch(%q: !flow.rows<node, 64xf32, device>) -> (!flow.rows<edge, f32, device>) {
  %a = flow.dot %q[src], %q[dst] : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %d : !flow.rows<edge, f32, device>
}

// -----

// A read by source ends the loop by destination: two groups, and what is between them is a table.
// CHECK-LABEL: func.func @two_loops
// CHECK: %[[S:.*]] = flow.group by_dst edge forward
// CHECK: flow.group {{.*}} edge forward ({{.*}} = %[[S]]
func.func @two_loops(%a: !flow.rows<edge, f32, device>) -> (!flow.rows<edge, f32, device>) {
  %s = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %a, %s[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// Constants are in every group that reads them; a result may be an argument or a constant.
// CHECK-LABEL: func.func @constants
// CHECK: %[[TWO:.*]] = flow.constant 2.0
// CHECK: %[[Y:.*]] = flow.group flat node forward (%[[X:.*]] = %arg0)
// CHECK-NEXT: %[[C:.*]] = flow.constant 2.0
// CHECK-NEXT: flow.mul %[[X]], %[[C]][one]
// CHECK: return %[[Y]], %arg0, %[[TWO]]
func.func @constants(%x: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<one, f32, device>) {
  %c = flow.constant 2.0 : <one, f32, device>
  %y = flow.mul %x, %c[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
  return %y, %x, %c : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<one, f32, device>
}

// -----

// What runs once for a graph is stored in each order in which it is read row after row.
// CHECK-LABEL: func.func @copies
// CHECK: %[[C:.*]]:2 = flow.group by_src edge graph {{.*}} in (by_dst, by_src) {
// CHECK: flow.yield %[[D:.*]], %[[D]]
// CHECK: flow.group by_dst edge forward ({{.*}} = %[[C]]#0)
// CHECK: flow.group by_src edge forward ({{.*}} = %[[C]]#1)
func.func @copies(%x: !flow.rows<node, 64xf32, device>) -> (!flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>) {
  %one = flow.constant 1.0 : <one, f32, device>
  %ones = flow.spread %one via one : <one, f32, device> -> <edge, f32, device>
  %n = flow.reduce sum %ones via src : <edge, f32, device> -> <node, f32, device>
  %c = flow.div %one[one], %n[src] : <one, f32, device>, <node, f32, device> -> <edge, f32, device>
  %m = flow.mul %x[src], %c : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %k = flow.mul %x[dst], %c : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %t = flow.reduce sum %k via src : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %s, %t : !flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>
}
