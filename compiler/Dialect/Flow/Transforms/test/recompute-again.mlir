// Numbers of `flow.again` begin at 0 in every function, and go on after those that are there.
// RUN: hector-opt %s --mlir-disable-threading --flow-recompute | FileCheck %s

// CHECK-LABEL: func.func @first
// CHECK: flow.again = 0 : i64
func.func @first(%s: !flow.rows<src_pair, f32, device>, %t: !flow.rows<dst_pair, f32, device>, %m: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
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

// CHECK-LABEL: func.func @second
// CHECK: flow.again = 0 : i64
func.func @second(%s: !flow.rows<src_pair, f32, device>, %t: !flow.rows<dst_pair, f32, device>, %m: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
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

// CHECK-LABEL: func.func @third
// CHECK: flow.again = 7 : i64
// CHECK: flow.again = 8 : i64
func.func @third(%s: !flow.rows<src_pair, f32, device>, %t: !flow.rows<dst_pair, f32, device>, %m: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
  %a = flow.add %s[src_pair], %t[dst_pair] {flow.again = 7 : i64} : <src_pair, f32, device>, <dst_pair, f32, device> -> <edge, f32, device>
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
