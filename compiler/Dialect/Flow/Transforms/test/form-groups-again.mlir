// What is computed again in the groups that read it. The machine counts little but bytes.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s
// RUN: hector-opt %s --flow-form-groups=rebuild=false | FileCheck %s --check-prefix OFF

#few = #flow.graph<nodes = 4, edges = 100, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#bytes = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// The attention of an edge is computed again from two numbers per pair and two per node where the gradient reads it:
// neither it nor the exponential is stored for each edge, but the node's maximum and sum are.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[F:.*]]:3 = flow.group by_dst edge forward {{.*}} -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, 4xf32, device>) {
// CHECK: flow.group by_src edge backward (
// CHECK-SAME: %[[TOP:arg[0-9]+]] = %[[F]]#0, %[[SUM:arg[0-9]+]] = %[[F]]#1
// CHECK: %[[A:.*]] = flow.add %{{.*}}[src_pair], %{{.*}}[dst_pair]
// CHECK-NEXT: %[[D:.*]] = flow.sub %[[A]], %[[TOP]][dst]
// CHECK-NEXT: %[[E:.*]] = flow.exp %[[D]]
// CHECK-NEXT: %[[Y:.*]] = flow.div %[[E]], %[[SUM]][dst]
// CHECK-NEXT: flow.mul %{{.*}}[dst], %[[Y]]
// OFF-LABEL: func.func @softmax
// OFF: flow.group by_dst edge forward {{.*}} -> (!flow.rows<edge, f32, device>, !flow.rows<node, 4xf32, device>)
// OFF: flow.group by_src edge backward
// OFF-NOT: flow.div
// OFF: return
func.func @softmax(%s: !flow.rows<src_pair, f32, device>, %t: !flow.rows<dst_pair, f32, device>, %m: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.graph = #few, flow.machine = #bytes, flow.forward_results = 1 : i64} {
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

// The product is a result and stored anyway. Both readers compute its positive part themselves, and the product's own
// group no longer does.
// CHECK-LABEL: func.func @home
// CHECK: %[[H:.*]] = flow.group gemm node forward {{.*}} -> !flow.rows<node, 4xf32, device> {
// CHECK-NEXT: flow.linear
// CHECK-NEXT: flow.yield
// CHECK: flow.group gemm node forward (%[[G:.*]] = %[[H]],
// CHECK-NEXT: flow.relu %[[G]]
// CHECK: flow.group by_dst edge forward (%[[B:.*]] = %[[H]])
// CHECK: flow.relu %[[B]]
// OFF-LABEL: func.func @home
// OFF: flow.relu
// OFF-NOT: flow.relu
// OFF: return
func.func @home(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 4x4xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<edge, f32, device>) attributes {flow.graph = #few, flow.machine = #bytes} {
  %h = flow.linear %x, %w[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <node, 4xf32, device>
  %y = flow.relu %h : <node, 4xf32, device> -> <node, 4xf32, device>
  %z = flow.linear %y, %w[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <node, 4xf32, device>
  %t = flow.dot %y[dst], %y[dst] : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  return %h, %z, %t : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<edge, f32, device>
}

// What is returned is stored anyway, and read.
// CHECK-LABEL: func.func @returned
// CHECK: %[[A:.*]] = flow.group {{.*}} edge forward
// CHECK: flow.exp
// CHECK: flow.group by_src edge backward ({{.*}} = %[[A]],
// CHECK-NOT: flow.exp
// CHECK: return
func.func @returned(%s: !flow.rows<node, f32, device>, %g: !flow.rows<node, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<node, f32, device>)
    attributes {flow.graph = #few, flow.machine = #bytes, flow.forward_results = 1 : i64} {
  %a = flow.exp %s[src] : <node, f32, device> -> <edge, f32, device>
  %b = flow.mul %a, %g[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %d = flow.reduce sum %b via src : <edge, f32, device> -> <node, f32, device>
  return %a, %d : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// What is computed again draws from the same stream, and so drops the same.
// CHECK-LABEL: func.func @dropout
// CHECK: flow.group by_dst edge forward
// CHECK: flow.dropout %{{.*}}[src] {rate = 5.000000e-01 : f64, stream = 3 : i64}
// CHECK: flow.group by_src edge backward
// CHECK: flow.dropout %{{.*}}[src] {rate = 5.000000e-01 : f64, stream = 3 : i64}
func.func @dropout(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>)
    attributes {flow.graph = #few, flow.machine = #bytes, flow.forward_results = 1 : i64} {
  %d = flow.dropout %x[src] {rate = 0.5 : f64, stream = 3 : i64} : <node, 4xf32, device> -> <edge, 4xf32, device>
  %t = flow.mul %d, %d : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  %out = flow.reduce sum %t via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %b = flow.mul %g[dst], %d : <node, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  %dx = flow.reduce sum %b via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %out, %dx : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// What depends on parameters alone is computed once per update, never again.
// CHECK-LABEL: func.func @weights
// CHECK: %[[W:.*]] = flow.group flat etype weights
// CHECK: flow.group gemm edge forward ({{.*}}%[[W]]
// CHECK-NOT: flow.exp
// CHECK: return
func.func @weights(%x: !flow.rows<edge, 4xf32, device>, %w: !flow.rows<etype, 4xf32, device>, %u: !flow.rows<one, 4x4xf32, device>)
    -> (!flow.rows<edge, 4xf32, device>) attributes {flow.graph = #few, flow.machine = #bytes} {
  %e = flow.exp %w : <etype, 4xf32, device> -> <etype, 4xf32, device>
  %y = flow.mul %x, %e[etype] : <edge, 4xf32, device>, <etype, 4xf32, device> -> <edge, 4xf32, device>
  %z = flow.linear %y, %u[one] : <edge, 4xf32, device>, <one, 4x4xf32, device> -> <edge, 4xf32, device>
  return %z : !flow.rows<edge, 4xf32, device>
}
