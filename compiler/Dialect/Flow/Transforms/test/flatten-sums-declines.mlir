// RUN: hector-opt %s --split-input-file --flow-flatten-sums --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @maximum
// CHECK: flow.reduce max %arg0 via dst_pair
// CHECK: flow.reduce sum %{{.*}} via node
func.func @maximum(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce max %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: `max` is no sum}}
  %s = flow.reduce sum %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// The largest of the means is none of a node's edges.
// CHECK-LABEL: func.func @maximum_of_means
// CHECK: flow.reduce mean %arg0 via dst_pair
// CHECK: flow.reduce max %{{.*}} via node
func.func @maximum_of_means(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce max %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// CHECK-LABEL: func.func @another_reader
// CHECK: flow.reduce mean %arg0 via dst_pair
// CHECK: flow.reduce sum %{{.*}} via node
func.func @another_reader(%e: !flow.rows<edge, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<dst_pair, 8xf32, device>) {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: another op reads the rows of the pairs}}
  %s = flow.reduce sum %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s, %m : !flow.rows<node, 8xf32, device>, !flow.rows<dst_pair, 8xf32, device>
}

// -----

// CHECK-LABEL: func.func @square
// CHECK: flow.reduce sum %{{.*}} via node
func.func @square(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.mul %m, %m : <dst_pair, 8xf32, device>, <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: sums are multiplied with each other}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// CHECK-LABEL: func.func @divisor
// CHECK: flow.reduce sum %{{.*}} via node
func.func @divisor(%e: !flow.rows<edge, 8xf32, device>, %x: !flow.rows<node, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.div %x[node], %m : <node, 8xf32, device>, <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: a division is between the two}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// Of a node whose number is 0, the sum is inf, and the sum of quotients would be NaN.
// CHECK-LABEL: func.func @quotient
// CHECK: flow.reduce sum %{{.*}} via node
func.func @quotient(%e: !flow.rows<edge, 8xf32, device>, %x: !flow.rows<node, f32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce sum %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.div %m, %x[node] : <dst_pair, 8xf32, device>, <node, f32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: a division is between the two}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// CHECK-LABEL: func.func @not_linear
// CHECK: flow.reduce sum %{{.*}} via node
func.func @not_linear(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.exp %m : <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: `flow.exp` is between the two}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// A bias counts once for each pair, and not for each edge.
// CHECK-LABEL: func.func @bias
// CHECK: flow.reduce sum %{{.*}} via node
func.func @bias(%e: !flow.rows<edge, 8xf32, device>, %b: !flow.rows<etype, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.add %m, %b[etype] : <dst_pair, 8xf32, device>, <etype, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: rows that are no sums of edges are added to the sum}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// CHECK-LABEL: func.func @gates
// CHECK: flow.reduce sum %{{.*}} via node
func.func @gates(%e: !flow.rows<edge, 8xf32, device>, %g: !flow.rows<dst_pair, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %q = flow.mul %m, %g : <dst_pair, 8xf32, device>, <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  // expected-remark @below {{edges are summed to pairs first: a pair has a factor for each of its numbers}}
  %s = flow.reduce sum %q via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// -----

// Sums of pairs that are no sums of edges, and sums that lead elsewhere, are not looked at.
// CHECK-LABEL: func.func @elsewhere
// CHECK: flow.reduce sum %arg0 via node
// CHECK: flow.reduce sum %{{.*}} via etype
func.func @elsewhere(%p: !flow.rows<dst_pair, 8xf32, device>, %e: !flow.rows<edge, 8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<etype, 8xf32, device>) {
  %s = flow.reduce sum %p via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %t = flow.reduce sum %m via etype : <dst_pair, 8xf32, device> -> <etype, 8xf32, device>
  return %s, %t : !flow.rows<node, 8xf32, device>, !flow.rows<etype, 8xf32, device>
}
