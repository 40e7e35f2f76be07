// What groups move, counted by hand. 4 nodes, 10 edges, 6 source pairs, 5 destination pairs. The machine's time is that of
// bytes: one takes a nanosecond, and so does the start of a loop.
// RUN: hector-opt %s --flow-print-cost -o /dev/null | FileCheck %s

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 3, nodeTypes = 2, uniform = 0>
#bytes = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>
// Here an operation takes a nanosecond as well.
#scalar = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1, launch = 1>
// And here the cache holds 4000 bytes.
#cache = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 4000, lineBytes = 4, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// Scores are read once, by edge; sums never leave the loop. The loop is at an edge's destination when it visits the edge,
// which needs no index. Five operations for each edge, and three more since the sum is folded with the maximum: one more
// exponential and its argument, and the scaling of what was summed.
// CHECK-LABEL: groups of @softmax: 1
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK-NEXT:   flow.reduce %0: 10 rows, 10 operations, 56 bytes alone
// CHECK-NEXT:   flow.sub %1: 10 rows, 10 operations, 96 bytes alone
// CHECK-NEXT:   flow.exp %2: 10 rows, 10 operations, 80 bytes alone
// CHECK-NEXT:   flow.reduce %3: 10 rows, 10 operations, 56 bytes alone
// CHECK-NEXT:   flow.div %4: 10 rows, 10 operations, 96 bytes alone
// CHECK-NEXT:   reads %arg0: 40 bytes{{$}}
// CHECK-NEXT:   writes %4: 40 bytes
// CHECK-NEXT:   80 operations, 80 bytes
// CHECK-NEXT: total: 80 operations, 80 bytes, at most 40 bytes live, 40 bytes of inputs, 0 bytes of the graph
func.func @softmax(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// Where operations take their time, three sweeps are better: exponentials are kept for each edge.
// CHECK-LABEL: groups of @softmax_in_sweeps: 1
// CHECK:        50 operations, 80 bytes
func.func @softmax_in_sweeps(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #scalar} {
  %t = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.sub %a, %t[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %e = flow.exp %d : <edge, f32, device> -> <edge, f32, device>
  %s = flow.reduce sum %e via dst : <edge, f32, device> -> <node, f32, device>
  %y = flow.div %e, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// A product: the input by [src], the weights of relation after relation, no index for the sorted types. Its own rows,
// read twice, count once; i1 takes one byte.
// CHECK-LABEL: groups of @gemm
// CHECK-NEXT: group 0: forward, gemm over edge
// CHECK-NEXT:   flow.linear %0: 10 rows, 640 operations,
// CHECK-NEXT:   flow.less %1: 10 rows, 40 operations,
// CHECK-NEXT:   reads %arg0[src]: 128 bytes, gathered
// CHECK-NEXT:   reads %arg1[etype]: 384 bytes{{$}}
// CHECK-NEXT:   reads %arg2: 160 bytes{{$}}
// CHECK-NEXT:   indices: 40 bytes
// CHECK-NEXT:   writes %1: 40 bytes
// CHECK-NEXT:   680 operations, 752 bytes
func.func @gemm(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %b: !flow.rows<edge, 4xf32, device>)
    -> !flow.rows<edge, 4xi1, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %m = flow.linear %x[src], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <edge, 4xf32, device>
  %c = flow.less %m, %b : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xi1, device>
  return %c : !flow.rows<edge, 4xi1, device>
}

// The sum of outer products leaves the loop once. f64 takes 8 bytes.
// CHECK-LABEL: groups of @weight_grad
// CHECK-NEXT: group 0: forward, gemm over dst_pair
// CHECK-NEXT:   flow.weight_grad %0: 5 rows, 80 operations,
// CHECK-NEXT:   reads %arg0[node]: 128 bytes, gathered
// CHECK-NEXT:   reads %arg1: 80 bytes{{$}}
// CHECK-NEXT:   indices: 20 bytes
// CHECK-NEXT:   writes %0: 192 bytes
// CHECK-NEXT:   80 operations, 420 bytes
func.func @weight_grad(%x: !flow.rows<node, 4xf64, device>, %g: !flow.rows<dst_pair, 2xf64, device>) -> !flow.rows<etype, 4x2xf64, device>
    attributes {flow.graph = #small, flow.machine = #bytes} {
  %d = flow.weight_grad %x[node], %g over dst_pair via etype : <node, 4xf64, device>, <dst_pair, 2xf64, device> -> <etype, 4x2xf64, device>
  return %d : !flow.rows<etype, 4x2xf64, device>
}

// In a traversal a level's row is at hand: %arg0 by [dst] and by the node itself are one read. Types are not in order
// there: the table is gathered and each edge says its type. %arg0[src] is another row. The constant is not read.
// CHECK-LABEL: groups of @levels
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:        reads %arg0[dst]: 16 bytes{{$}}
// CHECK-NEXT:   reads %arg0[src]: 16 bytes, gathered
// CHECK-NEXT:   reads %arg1[etype]: 12 bytes, gathered
// CHECK-NEXT:   indices: 80 bytes
// CHECK-NEXT:   writes %{{.*}}: 16 bytes
// CHECK-NEXT:   48 operations, 140 bytes
func.func @levels(%x: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>) -> !flow.rows<node, f32, device>
    attributes {flow.graph = #small, flow.machine = #bytes} {
  %c = flow.constant 2.0 : <one, f32, device>
  %0 = flow.mul %x[dst], %x[src] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  %1 = flow.mul %0, %r[etype] : <edge, f32, device>, <etype, f32, device> -> <edge, f32, device>
  %2 = flow.mul %1, %c[one] : <edge, f32, device>, <one, f32, device> -> <edge, f32, device>
  %3 = flow.reduce sum %2 via dst : <edge, f32, device> -> <node, f32, device>
  %4 = flow.add %3, %x : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  %5 = flow.relu %4 : <node, f32, device> -> <node, f32, device>
  return %5 : !flow.rows<node, f32, device>
}

// Nodes are sorted by their type, edges by theirs: no index, and weights are streamed.
// CHECK-LABEL: groups of @sorted
// CHECK-NEXT: group 0: forward, flat over node
// CHECK-NEXT:   flow.mul
// CHECK-NEXT:   reads %arg0: 16 bytes{{$}}
// CHECK-NEXT:   reads %arg1[ntype]: 8 bytes{{$}}
// CHECK-NEXT:   writes
// CHECK-NEXT:   4 operations, 40 bytes
// CHECK-NEXT: group 1: forward, flat over src_pair
// CHECK-NEXT:   flow.add
// CHECK-NEXT:   reads %arg2: 24 bytes{{$}}
// CHECK-NEXT:   reads %arg1[ntype]: 8 bytes, gathered
// CHECK-NEXT:   indices: 24 bytes
// CHECK-NEXT:   writes
// CHECK-NEXT:   6 operations, 80 bytes
func.func @sorted(%x: !flow.rows<node, f32, device>, %t: !flow.rows<ntype, f32, device>, %p: !flow.rows<src_pair, f32, device>)
    -> (!flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.mul %x, %t[ntype] : <node, f32, device>, <ntype, f32, device> -> <node, f32, device>
  %1 = flow.add %p, %t[ntype] : <src_pair, f32, device>, <ntype, f32, device> -> <src_pair, f32, device>
  return %0, %1 : !flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>
}

// Results stay, %1 is live until the third group has read it: 64 + 160 + 64 bytes.
// CHECK-LABEL: groups of @live: 3
// CHECK:      total: {{.*}}, at most 288 bytes live, 128 bytes of inputs
func.func @live(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 4x4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.linear %x, %w[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <node, 4xf32, device>
  %1 = flow.linear %0[src], %w[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <edge, 4xf32, device>
  %2 = flow.reduce sum %1 via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %0, %2 : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// What the backward phase reads of the forward phase, results of the function among it; neither arguments nor what it
// computes again, such as %0.
// CHECK-LABEL: groups of @kept
// CHECK:      group 1: backward, by_dst over edge
// CHECK-NEXT:   flow.exp %0:
// CHECK-NOT:  {{^}}kept
// CHECK:      {{^}}kept %1: 16 bytes
// CHECK-NEXT: total:
func.func @kept(%a: !flow.rows<edge, f32, device>, %g: !flow.rows<node, f32, device>)
    -> (!flow.rows<node, f32, device>, !flow.rows<edge, f32, device>) attributes {flow.graph = #small, flow.machine = #bytes, flow.forward_results = 1 : i64} {
  %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  %2 = flow.mul %g, %1 : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  %3 = flow.mul %a, %0 : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %4 = flow.mul %3, %2[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %1, %4 : !flow.rows<node, f32, device>, !flow.rows<edge, f32, device>
}

// 1000 nodes with rows of 40 bytes, 8000 edges, and room for 100 rows. Without a profile every row is read 8 times:
// 100 rows once, 900 rows 8 times: 7300 rows.
// CHECK-LABEL: groups of @uniform
// CHECK:        reads %arg0[src]: 292000 bytes, gathered
func.func @uniform(%x: !flow.rows<node, 10xf32, device>) -> !flow.rows<node, 10xf32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 8000, srcPairs = 1000, dstPairs = 1000, relations = 1, nodeTypes = 1, uniform = 1>,
                flow.machine = #cache} {
  %0 = flow.relu %x[src] : <node, 10xf32, device> -> <edge, 10xf32, device>
  %1 = flow.reduce sum %0 via dst : <edge, 10xf32, device> -> <node, 10xf32, device>
  return %1 : !flow.rows<node, 10xf32, device>
}

// The same with 48 hubs of 128 to 255 edges, 452 nodes with one edge and 500 with none. The profile's middles are
// 48 · 191.5 + 452 = 9644 reads, 8000 / 9644 of which there are. Hubs and 52 others count once, 400 others each time,
// 0.83 times: 48 + 52 · 0.83 + 400 · 0.83 rows.
// CHECK-LABEL: groups of @hubs
// CHECK:        reads %arg0[src]: 16918 bytes, gathered
func.func @hubs(%x: !flow.rows<node, 10xf32, device>) -> !flow.rows<node, 10xf32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 8000, srcPairs = 1000, dstPairs = 1000, relations = 1, nodeTypes = 1, uniform = 1,
                    sourceReads = [500, 452, 0, 0, 0, 0, 0, 0, 48]>,
                flow.machine = #cache} {
  %0 = flow.relu %x[src] : <node, 10xf32, device> -> <edge, 10xf32, device>
  %1 = flow.reduce sum %0 via dst : <edge, 10xf32, device> -> <node, 10xf32, device>
  return %1 : !flow.rows<node, 10xf32, device>
}

// A loop by source would read each row once, in order, and takes no more indices: it is chosen.
// CHECK-LABEL: groups of @best_loop
// CHECK-NEXT: group 0: forward, by_src over edge
// CHECK:        reads %arg0[src]: 40000 bytes{{$}}
func.func @best_loop(%x: !flow.rows<node, 10xf32, device>) -> !flow.rows<edge, 10xf32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 8000, srcPairs = 1000, dstPairs = 1000, relations = 1, nodeTypes = 1, uniform = 1>,
                flow.machine = #cache} {
  %0 = flow.relu %x[src] : <node, 10xf32, device> -> <edge, 10xf32, device>
  return %0 : !flow.rows<edge, 10xf32, device>
}

// Fewer readers than rows: no more can be read than they are.
// CHECK-LABEL: groups of @few_readers
// CHECK:        reads %arg0[src]: 40 bytes, gathered
func.func @few_readers(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 10, srcPairs = 10, dstPairs = 10, relations = 1, nodeTypes = 1, uniform = 1>, flow.machine = #bytes} {
  %0 = flow.spread %x via src : <node, f32, device> -> <edge, f32, device>
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  return %1 : !flow.rows<node, f32, device>
}

// What misses the cache is read by lines. Ten lines fit: 10 numbers are read once, the other 990 by each of their 8 edges,
// 7930 lines of 64 bytes.
// CHECK-LABEL: groups of @lines
// CHECK:        reads %arg0[src]: 507520 bytes, gathered
func.func @lines(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 8000, srcPairs = 1000, dstPairs = 1000, relations = 1, nodeTypes = 1, uniform = 1>,
                flow.machine = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 640, lineBytes = 64, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>} {
  %0 = flow.spread %x via src : <node, f32, device> -> <edge, f32, device>
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  return %1 : !flow.rows<node, f32, device>
}

// %0 is written by the loop by destination, where its rows are at hand, and stored in that order. The loop by source reads
// it through a list: 2560 bytes of rows and 40 of the list.
// CHECK-LABEL: groups of @permuted: 2
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:        writes %0: 2560 bytes
// CHECK:      group 1: forward, by_src over edge
// CHECK:        reads %0: 2600 bytes, permuted
func.func @permuted(%x: !flow.rows<node, 64xf32, device>, %a: !flow.rows<edge, f32, device>)
    -> (!flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>) attributes {flow.graph = #small, flow.machine = #bytes} {
  %0 = flow.mul %x[dst], %a : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %1 = flow.reduce max %0 via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %2 = flow.reduce sum %0 via src : <edge, 64xf32, device> -> <node, 64xf32, device>
  return %0, %1, %2 : !flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>
}

// Two loops by source read it, one of each phase: it is stored in their order, and the loop that writes it goes through the
// list.
// CHECK-LABEL: groups of @permuted_once: 3
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:        writes %0: 2600 bytes
// CHECK:      group 1: forward, by_src over edge
// CHECK:        reads %0: 2560 bytes{{$}}
// CHECK:      group 2: backward, by_src over edge
// CHECK:        reads %0: 2560 bytes{{$}}
func.func @permuted_once(%x: !flow.rows<node, 64xf32, device>, %a: !flow.rows<edge, f32, device>, %g: !flow.rows<node, 64xf32, device>)
    -> (!flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, f32, device>)
    attributes {flow.graph = #small, flow.machine = #bytes, flow.forward_results = 3 : i64} {
  %0 = flow.mul %x[dst], %a : <node, 64xf32, device>, <edge, f32, device> -> <edge, 64xf32, device>
  %1 = flow.reduce max %0 via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %2 = flow.reduce sum %0 via src : <edge, 64xf32, device> -> <node, 64xf32, device>
  %3 = flow.dot %0, %g[src] : <edge, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  %4 = flow.reduce sum %3 via src : <edge, f32, device> -> <node, f32, device>
  return %0, %1, %2, %4 : !flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, 64xf32, device>, !flow.rows<node, f32, device>
}

// Dropout draws a number for each of a row's, at ten operations. It is drawn in every step, so it is none of the graph's
// own even where it reads nothing else.
// CHECK-LABEL: groups of @dropout
// CHECK-NEXT: group 0: forward, {{.*}} over edge
// CHECK-NEXT:   flow.dropout %{{.*}}: 10 rows, 100 operations,
func.func @dropout() -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #bytes} {
  %one = flow.constant 1.0 : <one, f32, device>
  %d = flow.dropout %one[one] {rate = 0.5 : f64, stream = 0 : i64} : <one, f32, device> -> <edge, f32, device>
  return %d : !flow.rows<edge, f32, device>
}
