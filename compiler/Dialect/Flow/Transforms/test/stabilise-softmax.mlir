// RUN: hector-opt %s --split-input-file --flow-stabilise-softmax | FileCheck %s

// CHECK-LABEL: func.func @naive
// CHECK-SAME: %[[A:.*]]: !flow.rows<edge, 2xf32, device>
// CHECK-NEXT: %[[T:.*]] = flow.reduce max %[[A]] via dst
// CHECK-NEXT: %[[D:.*]] = flow.sub %[[A]], %[[T]][dst]
// CHECK-NEXT: %[[E:.*]] = flow.exp %[[D]]
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %[[E]] via dst
// CHECK-NEXT: %[[Y:.*]] = flow.div %[[E]], %[[S]][dst]
// CHECK-NEXT: return %[[Y]]
func.func @naive(%a: !flow.rows<edge, 2xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %e = flow.exp %a : <edge, 2xf32, device> -> <edge, 2xf32, device>
  %s = flow.reduce sum %e via dst : <edge, 2xf32, device> -> <node, 2xf32, device>
  %y = flow.div %e, %s[dst] : <edge, 2xf32, device>, <node, 2xf32, device> -> <edge, 2xf32, device>
  return %y : !flow.rows<edge, 2xf32, device>
}

// -----

// Within a relation: the same shape along another map. The exponential read the scores through a map of its own.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[A:.*]] = flow.spread %{{.*}} via src
// CHECK: flow.reduce max %[[A]] via dst_pair
// CHECK: flow.sub %[[A]], %{{.*}}[dst_pair]
func.func @pairs(%a: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> {
  %e = flow.exp %a[src] : <node, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  %y = flow.div %e, %s[dst_pair] : <edge, f32, device>, <dst_pair, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// Stable already: left alone.
// CHECK-LABEL: func.func @stable
// CHECK-COUNT-1: flow.reduce max
// CHECK-NOT: flow.reduce max
func.func @stable(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// No softmax: summed by source, divided by destination.
// CHECK-LABEL: func.func @two_ends
// CHECK-NOT: flow.reduce max
func.func @two_ends(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %e = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via src : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// A mean is no sum, and the sum of something else is not the divisor of a softmax.
// CHECK-LABEL: func.func @other_divisors
// CHECK-NOT: flow.reduce max
func.func @other_divisors(%a: !flow.rows<edge, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>) {
  %e = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
  %m = flow.reduce mean %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %m[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %z = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y, %z : !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>
}
