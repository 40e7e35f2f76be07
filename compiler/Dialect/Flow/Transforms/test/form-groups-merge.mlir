// Which groups merge. The machines count little but bytes; a loop takes a nanosecond to start.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s
// RUN: hector-opt %s --flow-form-groups=fuse=false | FileCheck %s --check-prefix APART

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#cpu = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// By itself %a is best computed by source, where no row is gathered; with the maximum it would gather %x. But %m gathers
// the same rows, and the maximum lies between the two: all of them are one loop.
// CHECK-LABEL: func.func @between
// CHECK: flow.group by_dst edge forward
// CHECK-NOT: flow.group
// CHECK: return
// Without fusion every op is a group.
// APART-LABEL: func.func @between
// APART: flow.group by_src edge forward
// APART: flow.dot
// APART: flow.group by_dst edge forward
// APART: flow.reduce
// APART: flow.group {{.*}} edge forward
// APART: flow.mul
// APART: flow.group by_dst edge forward
// APART: flow.reduce
// APART: return
func.func @between(%x: !flow.rows<node, 64xf32, device>) -> !flow.rows<node, 64xf32, device> attributes {flow.graph = #small, flow.machine = #cpu} {
  %a = flow.dot %x[src], %x[src] : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %s = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %m = flow.mul %x[src], %s[dst] : <node, 64xf32, device>, <node, f32, device> -> <edge, 64xf32, device>
  %o = flow.reduce sum %m via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %o : !flow.rows<node, 64xf32, device>
}

// The first half of the above stays apart.
// CHECK-LABEL: func.func @not_between
// CHECK: flow.group by_src edge forward
// CHECK: flow.group by_dst edge forward
func.func @not_between(%x: !flow.rows<node, 64xf32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #cpu} {
  %a = flow.dot %x[src], %x[src] : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %s = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// A GPU walks the edges of a row once. What reads a sum from below is another loop, though both gather the same rows.
// CHECK-LABEL: func.func @one_sweep
// CHECK: flow.group by_dst edge forward
// CHECK: flow.sweep
// CHECK-NOT: flow.sweep
// CHECK: flow.group by_dst edge forward
// CHECK: flow.sweep
// CHECK-NOT: flow.sweep
// CHECK: return
func.func @one_sweep(%x: !flow.rows<node, 64xf32, device>, %p: !flow.rows<edge, 1xf32, device>) -> !flow.rows<node, 64xf32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %a = flow.mul %p, %x[src] : <edge, 1xf32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  %s = flow.reduce sum %a via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %y = flow.sub %s[dst], %x[src] : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  %o = flow.reduce max %y via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %o : !flow.rows<node, 64xf32, device>
}

// A spread is part of every group that reads it, and of no other.
// CHECK-LABEL: func.func @spread
// CHECK-COUNT-2: flow.spread
// CHECK-NOT: flow.spread
// CHECK: return
// APART-LABEL: func.func @spread
// APART: flow.spread
// APART-NOT: flow.spread
// APART: return
func.func @spread(%x: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small, flow.machine = #cpu} {
  %e = flow.spread %x via src : <node, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %t = flow.reduce sum %e via src : <edge, f32, device> -> <node, f32, device>
  return %s, %t : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}
