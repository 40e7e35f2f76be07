// RUN: hector-opt %s --split-input-file --flow-recompute | FileCheck %s

// The attention of an edge is rebuilt from two numbers per pair and two per node where the gradient reads it: neither it nor
// the exponential is stored for each edge, but the node's maximum and sum are.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[A:.*]] = flow.add %arg0[src_pair], %arg1[dst_pair] : {{.*}} -> <edge, f32, device>
// CHECK: %[[TOP:.*]] = flow.reduce max
// CHECK: %[[SUM:.*]] = flow.reduce sum
// CHECK: %[[OUT:.*]] = flow.reduce sum
// CHECK: %[[A2:.*]] = flow.add %arg0[src_pair], %arg1[dst_pair] {flow.again
// CHECK: %[[D2:.*]] = flow.sub %[[A2]], %[[TOP]][dst] {flow.again
// CHECK: %[[E2:.*]] = flow.exp %[[D2]] {flow.again
// CHECK: %[[Y2:.*]] = flow.div %[[E2]], %[[SUM]][dst] {flow.again
// CHECK: flow.mul %arg3[dst], %[[Y2]]
func.func @softmax(%s: !flow.rows<src_pair, f32, device>, %t: !flow.rows<dst_pair, f32, device>, %m: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
  %a = flow.add %s[src_pair], %t[dst_pair] : <src_pair, f32, device>, <dst_pair, f32, device> -> <edge, f32, device>
  %top = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %top[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %sum = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %sum[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %w = flow.mul %y, %m[src] : <edge, f32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  %out = flow.reduce sum %w via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %b = flow.mul %g[dst], %y : <node, 4xf32, device>, <edge, f32, device> -> <edge, 4xf32, device>
  %dm = flow.reduce sum %b via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %out, %dm : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// -----

// A dot of 64 columns is not rebuilt: it would gather two rows of 256 bytes to save one number.
// CHECK-LABEL: func.func @wide_dot
// CHECK: flow.dot
// CHECK-NOT: flow.dot
// CHECK: return
func.func @wide_dot(%q: !flow.rows<node, 64xf32, device>, %k: !flow.rows<src_pair, 64xf32, device>, %g: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>) attributes {flow.forward_results = 1 : i64} {
  %a = flow.dot %q[dst], %k[src_pair] : <node, 64xf32, device>, <src_pair, 64xf32, device> -> <edge, f32, device>
  %e = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
  %out = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %b = flow.mul %g[dst], %e : <node, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %dk = flow.reduce sum %b via src_pair : <edge, f32, device> -> <src_pair, f32, device>
  return %out, %dk : !flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>
}

// -----

// What is returned is stored anyway, and read.
// CHECK-LABEL: func.func @returned
// CHECK: flow.add
// CHECK-NOT: flow.again
// CHECK: return
func.func @returned(%s: !flow.rows<node, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<node, f32, device>) attributes {flow.forward_results = 1 : i64} {
  %a = flow.add %s[src], %s[dst] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  %out = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  return %a, %out : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// -----

// What is rebuilt draws from the same stream, and so drops the same.
// CHECK-LABEL: func.func @dropout
// CHECK: flow.dropout %arg0[src] {rate = 5.000000e-01 : f64, stream = 3 : i64}
// CHECK: flow.reduce sum
// CHECK: %[[AGAIN:.*]] = flow.dropout %arg0[src] {flow.again = 0 : i64, rate = 5.000000e-01 : f64, stream = 3 : i64}
// CHECK: flow.mul %arg1[dst], %[[AGAIN]]
func.func @dropout(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
  %d = flow.dropout %x[src] {rate = 0.5 : f64, stream = 3 : i64} : <node, 4xf32, device> -> <edge, 4xf32, device>
  %t = flow.mul %d, %d : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  %out = flow.reduce sum %t via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %b = flow.mul %g[dst], %d : <node, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  %dx = flow.reduce sum %b via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %out, %dx : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}
