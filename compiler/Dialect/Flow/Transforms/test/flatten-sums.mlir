// RUN: hector-opt %s --flow-flatten-sums | FileCheck %s

// A mean becomes a factor of each edge, which depends on the graph alone.
// CHECK-LABEL: func.func @mean
// CHECK: %[[N:.*]] = flow.reduce sum %{{.*}} via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
// CHECK: %[[C:.*]] = flow.div %{{.*}}[one], %[[N]][dst_pair] : {{.*}} -> <edge, f32, device>
// CHECK: %[[T:.*]] = flow.mul %arg0[src], %[[C]] : {{.*}} -> <edge, 8xf32, device>
// CHECK: %[[S:.*]] = flow.reduce sum %[[T]] via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @mean(%x: !flow.rows<node, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %e = flow.spread %x via src : <node, 8xf32, device> -> <edge, 8xf32, device>
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce sum %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// A sum needs no factor.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %arg0 via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @sum(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce sum %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce sum %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// By source alike. The sum is added to other things.
// CHECK-LABEL: func.func @by_source
// CHECK: %[[N:.*]] = flow.reduce sum %{{.*}} via src_pair
// CHECK: flow.div %{{.*}}[one], %[[N]][src_pair]
// CHECK: %[[S:.*]] = flow.reduce sum %{{.*}} via src : <edge, 8xf32, device> -> <node, 8xf32, device>
// CHECK-NEXT: flow.add %arg1, %[[S]]
func.func @by_source(%e: !flow.rows<edge, 8xf32, device>, %x: !flow.rows<node, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via src_pair : <edge, 8xf32, device> -> <src_pair, 8xf32, device>
  %s = flow.reduce sum %m via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %y = flow.add %x, %s : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %y : !flow.rows<node, 8xf32, device>
}

// A mean of means: the number of edges times the number of pairs. A node without pairs is read by no edge.
// CHECK-LABEL: func.func @mean_of_means
// CHECK-DAG: %[[K:.*]] = flow.reduce sum %{{.*}} via node : <dst_pair, f32, device> -> <node, f32, device>
// CHECK-DAG: %[[N:.*]] = flow.reduce sum %{{.*}} via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
// CHECK: %[[NK:.*]] = flow.mul %[[N]][dst_pair], %[[K]][dst] : {{.*}} -> <edge, f32, device>
// CHECK: flow.div %{{.*}}[one], %[[NK]]
// CHECK: flow.reduce sum %{{.*}} via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
func.func @mean_of_means(%e: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce mean %m via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// Factors of one number are multiplied in their order, as they were with the sum.
// CHECK-LABEL: func.func @factors
// CHECK: %[[C:.*]] = flow.div
// CHECK: %[[T:.*]] = flow.mul %arg0, %[[C]] : {{.*}} -> <edge, 8xf32, device>
// CHECK: %[[M:.*]] = flow.neg %[[T]]
// CHECK: %[[A:.*]] = flow.mul %arg1[dst_pair], %[[M]] : {{.*}} -> <edge, 8xf32, device>
// CHECK: %[[B:.*]] = flow.mul %[[A]], %arg2[dst] : {{.*}} -> <edge, 8xf32, device>
// CHECK: flow.reduce sum %[[B]] via dst
func.func @factors(%e: !flow.rows<edge, 8xf32, device>, %f: !flow.rows<dst_pair, f32, device>, %d: !flow.rows<node, f32, device>) -> !flow.rows<node, 8xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %a = flow.neg %m : <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  %b = flow.mul %f, %a : <dst_pair, f32, device>, <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  %c = flow.mul %b, %d[node] : <dst_pair, 8xf32, device>, <node, f32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce sum %c via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}

// Factors for each head, or rows of types, are multiplied at the edges; shapes change there too.
// CHECK-LABEL: func.func @rows_between
// CHECK: %[[C:.*]] = flow.div
// CHECK: %[[T:.*]] = flow.mul %arg0, %[[C]] : {{.*}} -> <edge, 8xf32, device>
// CHECK: %[[H:.*]] = flow.reshape %[[T]] : <edge, 8xf32, device> -> <edge, 2x4xf32, device>
// CHECK: %[[P:.*]] = flow.mul %[[H]], %arg1[dst_pair] : {{.*}} -> <edge, 2x4xf32, device>
// CHECK: %[[W:.*]] = flow.mul %arg2[etype], %[[P]] : {{.*}} -> <edge, 2x4xf32, device>
// CHECK: flow.reduce sum %[[W]] via dst
func.func @rows_between(%e: !flow.rows<edge, 8xf32, device>, %p: !flow.rows<dst_pair, 2x1xf32, device>, %w: !flow.rows<etype, 2x4xf32, device>) -> !flow.rows<node, 2x4xf32, device> {
  %m = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %h = flow.reshape %m : <dst_pair, 8xf32, device> -> <dst_pair, 2x4xf32, device>
  %a = flow.mul %h, %p : <dst_pair, 2x4xf32, device>, <dst_pair, 2x1xf32, device> -> <dst_pair, 2x4xf32, device>
  %b = flow.mul %w[etype], %a : <etype, 2x4xf32, device>, <dst_pair, 2x4xf32, device> -> <dst_pair, 2x4xf32, device>
  %s = flow.reduce sum %b via node : <dst_pair, 2x4xf32, device> -> <node, 2x4xf32, device>
  return %s : !flow.rows<node, 2x4xf32, device>
}

// Sums are added to one another, each with its factor.
// CHECK-LABEL: func.func @two_sums
// CHECK: %[[T:.*]] = flow.mul %arg0, %{{.*}} : {{.*}} -> <edge, 8xf32, device>
// CHECK: %[[D:.*]] = flow.sub %[[T]], %arg1 : {{.*}} -> <edge, 8xf32, device>
// CHECK: flow.reduce sum %[[D]] via dst
func.func @two_sums(%e: !flow.rows<edge, 8xf32, device>, %f: !flow.rows<edge, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.reduce mean %e via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %b = flow.reduce sum %f via dst_pair : <edge, 8xf32, device> -> <dst_pair, 8xf32, device>
  %c = flow.sub %a, %b : <dst_pair, 8xf32, device>, <dst_pair, 8xf32, device> -> <dst_pair, 8xf32, device>
  %s = flow.reduce sum %c via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  return %s : !flow.rows<node, 8xf32, device>
}
