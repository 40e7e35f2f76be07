// Which ops share a loop, and the order in which loops run. The machine's time is that of bytes: one takes a nanosecond, and
// so does the start of a loop.
// RUN: hector-opt %s --flow-print-cost -o /dev/null | FileCheck %s

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#bytes = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// The sums of a node's edges are there before its edges are walked again.
// CHECK-LABEL: groups of @softmax: 1
// CHECK-NEXT: group 0: forward, by_dst over edge
func.func @softmax(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// Through the pairs of a node, up and down again.
// CHECK-LABEL: groups of @levels: 1
// CHECK-NEXT: group 0: forward, by_src over edge
func.func @levels(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %p = flow.reduce sum %a via src_pair : <edge, f32, device> -> <src_pair, f32, device>
  %q = flow.tanh %p : <src_pair, f32, device> -> <src_pair, f32, device>
  %n = flow.reduce max %q via node : <src_pair, f32, device> -> <node, f32, device>
  %r = flow.sub %q, %n[node] : <src_pair, f32, device>, <node, f32, device> -> <src_pair, f32, device>
  %y = flow.mul %r[src_pair], %n[src] : <src_pair, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// The row of another node's loop: %s is a table.
// CHECK-LABEL: groups of @no_fusion_across_src: 2
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK-NEXT:   flow.reduce
// CHECK:      group 1: forward, by_src over edge
// CHECK-NEXT:   flow.mul
func.func @no_fusion_across_src(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %s = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.mul %a, %s[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// One loop goes by destination or by source, not by both. Each computes the positive parts itself.
// CHECK-LABEL: groups of @two_directions: 2
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK-NEXT:   flow.relu
// CHECK-NEXT:   flow.reduce
// CHECK:      group 1: forward, by_src over edge
// CHECK-NEXT:   flow.relu
// CHECK-NEXT:   flow.reduce
func.func @two_directions(%a: !flow.rows<edge, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %r = flow.relu %a : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %r via dst : <edge, f32, device> -> <node, f32, device>
  %t = flow.reduce sum %r via src : <edge, f32, device> -> <node, f32, device>
  return %s, %t : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// A product has one group with the work before (operand 0 only) and after it. Weights come from elsewhere, even where
// their rows are those of the product. All arguments are parameters here, so it runs once per update.
// CHECK-LABEL: groups of @gemm: 2
// CHECK-NEXT: group 0: weights, flat over etype
// CHECK-NEXT:   flow.neg
// CHECK:      group 1: weights, gemm over etype
// CHECK-NEXT:   flow.relu
// CHECK-NEXT:   flow.linear
// CHECK-NEXT:   flow.add
// CHECK-NEXT:   flow.dot
// CHECK-NEXT:   reads
func.func @gemm(%x: !flow.rows<etype, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %b: !flow.rows<one, 4xf32, device>)
    -> !flow.rows<etype, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %v = flow.neg %w : <etype, 8x4xf32, device> -> <etype, 8x4xf32, device>
  %r = flow.relu %x : <etype, 8xf32, device> -> <etype, 8xf32, device>
  %m = flow.linear %r, %v : <etype, 8xf32, device>, <etype, 8x4xf32, device> -> <etype, 4xf32, device>
  %c = flow.add %m, %b[one] : <etype, 4xf32, device>, <one, 4xf32, device> -> <etype, 4xf32, device>
  %s = flow.dot %c, %c : <etype, 4xf32, device>, <etype, 4xf32, device> -> <etype, f32, device>
  return %s : !flow.rows<etype, f32, device>
}

// A product that reads another one waits for it. What lies between a sum and a product may be part of either.
// CHECK-LABEL: groups of @one_product_each: 3
// CHECK-NEXT: group 0: forward, gemm over edge
// CHECK-NEXT:   flow.linear
// CHECK-NEXT:   reads
// CHECK:      group 1: forward, by_dst over edge
// CHECK:      group 2: forward, gemm over node
// CHECK:        flow.linear
func.func @one_product_each(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>, %o: !flow.rows<one, 8x8xf32, device>)
    -> !flow.rows<node, 8xf32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %m = flow.linear %x[src], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <edge, 8xf32, device>
  %s = flow.reduce sum %m via dst : <edge, 8xf32, device> -> <node, 8xf32, device>
  %r = flow.relu %s : <node, 8xf32, device> -> <node, 8xf32, device>
  %y = flow.linear %r, %o[one] : <node, 8xf32, device>, <one, 8x8xf32, device> -> <node, 8xf32, device>
  return %y : !flow.rows<node, 8xf32, device>
}

// Work before a weight gradient, on either side; its sum is complete after the loop only.
// CHECK-LABEL: groups of @weight_grad: 2
// CHECK-NEXT: group 0: forward, gemm over edge
// CHECK-NEXT:   flow.relu
// CHECK-NEXT:   flow.neg
// CHECK-NEXT:   flow.weight_grad
// CHECK-NEXT:   reads
// CHECK:      group 1: forward, flat over etype
// CHECK-NEXT:   flow.neg
func.func @weight_grad(%a: !flow.rows<edge, 4xf32, device>, %b: !flow.rows<edge, 2xf32, device>) -> !flow.rows<etype, 4x2xf32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %r = flow.relu %a : <edge, 4xf32, device> -> <edge, 4xf32, device>
  %n = flow.neg %b : <edge, 2xf32, device> -> <edge, 2xf32, device>
  %g = flow.weight_grad %r, %n over edge via etype : <edge, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  %y = flow.neg %g : <etype, 4x2xf32, device> -> <etype, 4x2xf32, device>
  return %y : !flow.rows<etype, 4x2xf32, device>
}

// A sum over a type, or over everything, ends its loop. Both loops compute the exponential, which reads no more than it
// would itself take.
// CHECK-LABEL: groups of @terminal: 2
// CHECK-NEXT: group 0: forward, flat over node
// CHECK-NEXT:   flow.exp
// CHECK-NEXT:   flow.reduce
// CHECK-NEXT:   reads
// CHECK:      group 1: forward, flat over node
// CHECK-NEXT:   flow.exp
// CHECK-NEXT:   flow.div
func.func @terminal(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %e = flow.exp %x : <node, f32, device> -> <node, f32, device>
  %s = flow.reduce sum %e via ntype : <node, f32, device> -> <ntype, f32, device>
  %y = flow.div %e, %s[ntype] : <node, f32, device>, <ntype, f32, device> -> <node, f32, device>
  return %y : !flow.rows<node, f32, device>
}

// The first of equal rows is found in the loop that reduces them, with the start of the reduction too.
// CHECK-LABEL: groups of @first_index: 1
// CHECK-NEXT: group 0: forward, by_dst over dst_pair
func.func @first_index(%a: !flow.rows<dst_pair, f32, device>, %i: !flow.rows<node, f32, device>) -> !flow.rows<dst_pair, i1, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.neg %i : <node, f32, device> -> <node, f32, device>
  %t = flow.reduce max %a via node init %0 : <dst_pair, f32, device> -> <node, f32, device>
  %w = flow.first_index %a, %t via node init %0 : <dst_pair, f32, device>, <node, f32, device> -> <node, index, device>
  %m = flow.is_row %w[node] : <node, index, device> -> <dst_pair, i1, device>
  return %m : !flow.rows<dst_pair, i1, device>
}

// The product waits for %s, and %y for the product: one loop for %r, %s and %y would wait for itself, so %r is computed twice.
// CHECK-LABEL: groups of @no_cycle: 3
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:      group 1: forward, gemm over node
// CHECK-NEXT:   flow.linear
// CHECK-NEXT:   reads
// CHECK:      group 2: forward, by_dst over edge
// CHECK-NEXT:   flow.relu
// CHECK-NEXT:   flow.mul
func.func @no_cycle(%a: !flow.rows<edge, 4xf32, device>, %w: !flow.rows<one, 4x4xf32, device>) -> !flow.rows<edge, 4xf32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %r = flow.relu %a : <edge, 4xf32, device> -> <edge, 4xf32, device>
  %s = flow.reduce sum %r via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %m = flow.linear %s, %w[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <node, 4xf32, device>
  %y = flow.mul %r, %m[dst] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  return %y : !flow.rows<edge, 4xf32, device>
}

// Traversals that read the same rows read them once, whether in order or gathered: %arg2 and %arg0[src] have two readers each.
// CHECK-LABEL: groups of @side_by_side: 1
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:        reads %arg2: 40 bytes{{$}}
// CHECK-NEXT:   reads %arg0[src]: 16 bytes, gathered
// CHECK-NEXT:   reads %arg1[src_pair]: 24 bytes, gathered
// CHECK-NEXT:   reads %arg3: 40 bytes{{$}}
func.func @side_by_side(%x: !flow.rows<node, f32, device>, %p: !flow.rows<src_pair, f32, device>, %a: !flow.rows<edge, f32, device>, %b: !flow.rows<edge, f32, device>)
    -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.mul %a, %x[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  %2 = flow.mul %a, %p[src_pair] : <edge, f32, device>, <src_pair, f32, device> -> <edge, f32, device>
  %3 = flow.reduce sum %2 via dst : <edge, f32, device> -> <node, f32, device>
  %4 = flow.mul %b, %x[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %5 = flow.reduce sum %4 via dst : <edge, f32, device> -> <node, f32, device>
  return %1, %3, %5 : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// Of the groups that could run, the one that leaves least in memory does: %0 is read, and gone, before %1 is made.
// CHECK-LABEL: groups of @one_after_the_other: 4
// CHECK: flow.linear %0:
// CHECK: flow.reduce %2:
// CHECK: flow.linear %1:
// CHECK: flow.reduce %3:
// CHECK: total: {{.*}} at most 288 bytes live
func.func @one_after_the_other(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x4xf32, device> -> <edge, 4xf32, device>
  %1 = flow.linear %x[dst], %w[etype] : <node, 4xf32, device>, <etype, 4x4xf32, device> -> <edge, 4xf32, device>
  %2 = flow.reduce sum %0 via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %3 = flow.reduce sum %1 via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %2, %3 : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// %1 would fit into the loop of %0, but belongs to the second phase, which computes %0 again and keeps nothing. %2, which
// nothing needs, is in no group.
// CHECK-LABEL: groups of @phases: 2
// CHECK-NEXT: group 0: forward, by_src over edge
// CHECK-NEXT:   flow.exp %0:
// CHECK-NEXT:   flow.relu %3:
// CHECK:      group 1: backward, flat over node
// CHECK-NEXT:   flow.exp %0:
// CHECK-NEXT:   flow.mul %1:
// CHECK-NOT:    flow.neg
// CHECK-NOT:  {{^}}kept
// CHECK:      total:
func.func @phases(%x: !flow.rows<node, f32, device>, %g: !flow.rows<node, f32, device>)
    -> (!flow.rows<edge, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes, flow.forward_results = 1 : i64} {
  %y = flow.exp %x : <node, f32, device> -> <node, f32, device>
  %d = flow.mul %g, %y : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  %dead = flow.neg %x : <node, f32, device> -> <node, f32, device>
  %z = flow.relu %y[src] : <node, f32, device> -> <edge, f32, device>
  return %z, %d : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
}

// Degrees depend on the graph alone: they are computed once, before and apart from everything else.
// CHECK-LABEL: groups of @once: 2
// CHECK-NEXT: group 0: once, by_dst over edge
// CHECK-NEXT:   flow.spread
// CHECK-NEXT:   flow.reduce
// CHECK-NEXT:   flow.rsqrt
// CHECK:      group 1: forward, flat over node
// CHECK-NEXT:   flow.mul
// CHECK:      total: 4 operations, 48 bytes, at most 16 bytes live, 16 bytes of inputs, 16 bytes of the graph
func.func @once(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %c = flow.constant 1.0 : <one, f32, device>
  %e = flow.spread %c via one : <one, f32, device> -> <edge, f32, device>
  %n = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %r = flow.rsqrt %n : <node, f32, device> -> <node, f32, device>
  %y = flow.mul %x, %r : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  return %y : !flow.rows<node, f32, device>
}

// What depends on parameters alone runs once per update: on weights (%arg1, %arg2) and on numbers for all rows, not on rows
// (%arg0) and not on the gradient of a result (%arg3), which is another one in every step.
// CHECK-LABEL: groups of @weights: 3
// CHECK-NEXT: group 0: weights, flat over etype
// CHECK-NEXT:   flow.mul %0:
// CHECK-NEXT:   reads
// CHECK:      group 1: forward, flat over etype
// CHECK-NEXT:   flow.mul %2:
// CHECK:      group 2: forward, flat over edge
// CHECK-NEXT:   flow.mul %1:
func.func @weights(%x: !flow.rows<edge, f32, device>, %w: !flow.rows<etype, f32, device>, %v: !flow.rows<one, f32, device>, %g: !flow.rows<etype, f32, device> {flow.name = "grad.out"})
    -> (!flow.rows<edge, f32, device>, !flow.rows<etype, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.mul %w, %v[one] : <etype, f32, device>, <one, f32, device> -> <etype, f32, device>
  %1 = flow.mul %x, %0[etype] : <edge, f32, device>, <etype, f32, device> -> <edge, f32, device>
  %2 = flow.mul %w, %g : <etype, f32, device>, <etype, f32, device> -> <etype, f32, device>
  return %1, %2 : !flow.rows<edge, f32, device>, !flow.rows<etype, f32, device>
}

// Dropout draws other numbers in every step, though it reads a parameter.
// CHECK-LABEL: groups of @weights_dropped: 1
// CHECK-NEXT: group 0: forward
func.func @weights_dropped(%w: !flow.rows<etype, f32, device>) -> !flow.rows<etype, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.dropout %w {rate = 0.5 : f64, stream = 0 : i64} : <etype, f32, device> -> <etype, f32, device>
  return %0 : !flow.rows<etype, f32, device>
}

// CHECK-LABEL: groups of @nothing: 0
// CHECK-NEXT: total: 0 operations, 0 bytes, at most 0 bytes live, 16 bytes of inputs, 0 bytes of the graph
func.func @nothing(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  return %x : !flow.rows<node, f32, device>
}
