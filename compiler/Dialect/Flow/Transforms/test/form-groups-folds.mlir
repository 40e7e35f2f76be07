// Sums of exponentials less their maximum are collected with it, in one sweep: a fold.
// RUN: hector-opt %s --flow-form-groups --split-input-file | FileCheck %s

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// One walk instead of three. The weighted sum is divided at the end; a row without edges would divide by 0, and divides by 1.
// CHECK-LABEL: func.func @one_head
// CHECK: flow.group by_dst edge forward
// CHECK-NEXT: flow.sweep -> !flow.rows<node, 4xf32, device> {
// CHECK-NEXT: %[[X:.*]] = flow.spread %{{.*}} via src
// CHECK-NEXT: flow.fold %{{.*}}, %[[X]] via dst : (!flow.rows<edge, f32, device>, !flow.rows<edge, 4xf32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, 4xf32, device>) init {
// CHECK: flow.constant 0xFFF0000000000000
// CHECK: } step {
// CHECK-NEXT: ^bb0(%[[M:.*]]: !flow.rows<node, f32, device>, %[[S:.*]]: !flow.rows<node, f32, device>, %[[R:.*]]: !flow.rows<node, 4xf32, device>, %[[MET:.*]]: !flow.rows<node, f32, device>, %[[A:.*]]: !flow.rows<node, f32, device>, %[[V:.*]]: !flow.rows<node, 4xf32, device>):
// CHECK-NEXT: %[[TOP:.*]] = flow.max %[[M]], %[[A]]
// CHECK-DAG: %[[LESS:.*]] = flow.sub %[[M]], %[[TOP]]
// CHECK-DAG: %[[SAME:.*]] = flow.equal %[[M]], %[[TOP]]
// CHECK: %[[DOWN:.*]] = flow.select %[[SAME]]
// CHECK-NEXT: %[[S1:.*]] = flow.mul %[[S]], %[[DOWN]]
// CHECK-NEXT: %[[R1:.*]] = flow.mul %[[R]], %[[DOWN]]
// CHECK-DAG: %[[LARGEST:.*]] = flow.equal %[[A]], %[[TOP]]
// CHECK-DAG: %[[D:.*]] = flow.sub %[[A]], %[[TOP]]
// CHECK: %[[E:.*]] = flow.select %[[LARGEST]]
// CHECK-NEXT: %[[S2:.*]] = flow.add %[[S1]], %[[E]]
// CHECK-NEXT: %[[W:.*]] = flow.mul %[[E]], %[[V]]
// CHECK-NEXT: %[[R2:.*]] = flow.add %[[R1]], %[[W]]
// CHECK: flow.yield %[[TOP]], %[[S2]], %[[R2]], %{{.*}} :
// CHECK: } join {
// CHECK: } finish {
// CHECK: %[[EMPTY:.*]] = flow.equal
// CHECK: %[[BY:.*]] = flow.select %[[EMPTY]], %{{.*}}, %{{.*}}
// CHECK: flow.div %{{.*}}, %{{.*}} : <node, 4xf32, device>, <node, f32, device>
// CHECK-NOT: flow.sweep
// CHECK: return
func.func @one_head(%a: !flow.rows<edge, f32, device>, %x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %m = flow.mul %y, %x[src] : <edge, f32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  %o = flow.reduce sum %m via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %o : !flow.rows<node, 4xf32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// Two heads with a maximum each: what scales a sum gets the sum's shape.
// CHECK-LABEL: func.func @heads
// CHECK: flow.group by_dst edge forward
// CHECK: flow.fold {{.*}} -> (!flow.rows<node, 2xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 2x4xf32, device>) init {
// CHECK: } step {
// CHECK: flow.max
// CHECK: %[[DOWN:.*]] = flow.select %{{.*}} -> <node, 2xf32, device>
// CHECK: %[[WIDE:.*]] = flow.reshape %[[DOWN]] : <node, 2xf32, device> -> <node, 2x1xf32, device>
// CHECK: flow.mul %{{.*}}, %[[WIDE]] : <node, 2x4xf32, device>, <node, 2x1xf32, device>
// CHECK: } finish {
// CHECK: flow.reshape
// CHECK: flow.add
// CHECK: flow.select
// CHECK: %[[BY:.*]] = flow.reshape %{{.*}} : <node, 2xf32, device> -> <node, 2x1xf32, device>
// CHECK: flow.div %{{.*}}, %[[BY]] : <node, 2x4xf32, device>, <node, 2x1xf32, device>
// CHECK-NOT: flow.sweep
// CHECK: return
func.func @heads(%a: !flow.rows<edge, 2xf32, device>, %x: !flow.rows<node, 2x4xf32, device>) -> !flow.rows<node, 2x4xf32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, 2xf32, device> -> <node, 2xf32, device>
  %d = flow.sub %a, %t[dst] : <edge, 2xf32, device>, <node, 2xf32, device> -> <edge, 2xf32, device>
  %e = flow.exp %d : <edge, 2xf32, device> -> <edge, 2xf32, device>
  %s = flow.reduce sum %e via dst : <edge, 2xf32, device> -> <node, 2xf32, device>
  %y = flow.div %e, %s[dst] : <edge, 2xf32, device>, <node, 2xf32, device> -> <edge, 2xf32, device>
  %r = flow.reshape %y : <edge, 2xf32, device> -> <edge, 2x1xf32, device>
  %m = flow.mul %r, %x[src] : <edge, 2x1xf32, device>, <node, 2x4xf32, device> -> <edge, 2x4xf32, device>
  %o = flow.reduce sum %m via dst : <edge, 2x4xf32, device> -> <node, 2x4xf32, device>
  return %o : !flow.rows<node, 2x4xf32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// Factors of an edge, computed in the same loop, and constants are part of a step.
// CHECK-LABEL: func.func @factor
// CHECK: flow.group by_dst edge forward
// CHECK: %[[F:.*]] = flow.tanh
// CHECK: flow.fold %{{.*}}, %[[F]] via dst
// CHECK: } step {
// CHECK: %[[HALF:.*]] = flow.constant 5.000000e-01
// CHECK-NOT: flow.sweep
// CHECK: return
func.func @factor(%a: !flow.rows<edge, f32, device>, %b: !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %half = flow.constant 0.5 : <one, f32, device>
  %f = flow.tanh %b : <edge, f32, device> -> <edge, f32, device>
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %w = flow.mul %f, %e : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %v = flow.mul %w, %half[one] : <edge, f32, device>, <one, f32, device> -> <edge, f32, device>
  %o = flow.reduce sum %v via dst : <edge, f32, device> -> <node, f32, device>
  return %o : !flow.rows<node, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// The sum is that of a pair, the maximum that of its node: a larger maximum of another pair would not reach it.
// CHECK-LABEL: func.func @other_level
// CHECK-NOT: flow.fold
// CHECK: return
func.func @other_level(%a: !flow.rows<edge, f32, device>) -> !flow.rows<dst_pair, f32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  return %s : !flow.rows<dst_pair, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// The maximum of other values: the exponentials could overflow before they are scaled down.
// CHECK-LABEL: func.func @other_values
// CHECK-NOT: flow.fold
// CHECK: return
func.func @other_values(%a: !flow.rows<edge, f32, device>, %b: !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %b via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// An initial value takes part in the maximum, and is no value of the edges.
// CHECK-LABEL: func.func @start
// CHECK-NOT: flow.fold
// CHECK: return
func.func @start(%a: !flow.rows<edge, f32, device>, %i: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst init %i : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// The exponentials are a result: no fold has them before the maximum is complete, so the edges are walked by a second loop.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: flow.group by_dst edge forward
// CHECK: flow.reduce max
// CHECK: flow.group by_dst edge forward
// CHECK: flow.exp
// CHECK: flow.reduce sum
// CHECK: return
func.func @read_elsewhere(%a: !flow.rows<edge, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  return %e, %s : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// A quotient of another shape than the total's is not divided at the end: it gets a walk of its own.
// CHECK-LABEL: func.func @widened_before_the_division
// CHECK: flow.fold {{.*}} -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) init
// CHECK: flow.group
// CHECK: flow.reduce sum
// CHECK: return
func.func @widened_before_the_division(%a: !flow.rows<edge, f32, device>, %x: !flow.rows<node, 4x1xf32, device>) -> !flow.rows<node, 4x1xf32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %w = flow.expand %e : <edge, f32, device> -> <edge, 4xf32, device>
  %y = flow.div %w, %s[dst] : <edge, 4xf32, device>, <node, f32, device> -> <edge, 4xf32, device>
  %r = flow.reshape %y : <edge, 4xf32, device> -> <edge, 4x1xf32, device>
  %m = flow.mul %r, %x[src] : <edge, 4x1xf32, device>, <node, 4x1xf32, device> -> <edge, 4x1xf32, device>
  %o = flow.reduce sum %m via dst : <edge, 4x1xf32, device> -> <node, 4x1xf32, device>
  return %o : !flow.rows<node, 4x1xf32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// Sums of bf16 would stop growing at 256.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: flow.fold
// CHECK: return
func.func @narrow(%a: !flow.rows<edge, bf16, device>) -> !flow.rows<node, bf16, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %t = flow.reduce max %a via dst : <edge, bf16, device> -> <node, bf16, device>
  %d = flow.sub %a, %t[dst] : <edge, bf16, device>, <node, bf16, device> -> <edge, bf16, device>
  %e = flow.exp %d : <edge, bf16, device> -> <edge, bf16, device>
  %s = flow.reduce sum %e via dst : <edge, bf16, device> -> <node, bf16, device>
  return %s : !flow.rows<node, bf16, device>
}
