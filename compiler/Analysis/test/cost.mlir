// What groups move, counted by hand. 4 nodes, 10 edges, 6 source pairs, 5 destination pairs.
// RUN: hector-opt %s --flow-print-cost -o /dev/null | FileCheck %s

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 3, nodeTypes = 2, uniform = 0>

// Scores are read once, by edge; sums never leave the loop. [dst] is an index of 4 bytes per edge.
// CHECK-LABEL: groups of @softmax
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK-NEXT:   flow.reduce %0: 10 rows, 10 operations, 96 bytes alone
// CHECK-NEXT:   flow.sub %1: 10 rows, 10 operations, 136 bytes alone
// CHECK-NEXT:   flow.exp %2: 10 rows, 10 operations, 80 bytes alone
// CHECK-NEXT:   flow.reduce %3: 10 rows, 10 operations, 96 bytes alone
// CHECK-NEXT:   flow.div %4: 10 rows, 10 operations, 136 bytes alone
// CHECK-NEXT:   reads %arg0: 40 bytes{{$}}
// CHECK-NEXT:   indices: 40 bytes
// CHECK-NEXT:   writes %4: 40 bytes
// CHECK-NEXT:   50 operations, 120 bytes
// CHECK-NEXT: total: 50 operations, 120 bytes, at most 40 bytes live, 40 bytes of inputs, 0 bytes of the graph
func.func @softmax(%a: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small} {
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
    -> !flow.rows<edge, 4xi1, device> attributes {flow.graph = #small} {
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
    attributes {flow.graph = #small} {
  %d = flow.weight_grad %x[node], %g over dst_pair via etype : <node, 4xf64, device>, <dst_pair, 2xf64, device> -> <etype, 4x2xf64, device>
  return %d : !flow.rows<etype, 4x2xf64, device>
}

// In a traversal a level's row is at hand: %arg0 by [dst] and by the node itself are one read. Types are not in order
// there: the table is gathered and each edge says its type. %arg0[src] is another row. The constant is a number.
// CHECK-LABEL: groups of @levels
// CHECK-NEXT: group 0: forward, by_dst over edge
// CHECK:        reads %arg0[dst]: 16 bytes{{$}}
// CHECK-NEXT:   reads %arg0[src]: 16 bytes, gathered
// CHECK-NEXT:   reads %arg1[etype]: 12 bytes, gathered
// CHECK-NEXT:   reads %{{.*}}[one]: 4 bytes{{$}}
// CHECK-NEXT:   indices: 120 bytes
// CHECK-NEXT:   writes %{{.*}}: 16 bytes
// CHECK-NEXT:   48 operations, 184 bytes
func.func @levels(%x: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>) -> !flow.rows<node, f32, device>
    attributes {flow.graph = #small} {
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
    -> (!flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>) attributes {flow.graph = #small} {
  %0 = flow.mul %x, %t[ntype] : <node, f32, device>, <ntype, f32, device> -> <node, f32, device>
  %1 = flow.add %p, %t[ntype] : <src_pair, f32, device>, <ntype, f32, device> -> <src_pair, f32, device>
  return %0, %1 : !flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>
}

// Results stay, %1 is live until the second group has read it: 16 + 16 + 40 bytes.
// CHECK-LABEL: groups of @live
// CHECK:      total: 40 operations, 248 bytes, at most 72 bytes live, 40 bytes of inputs
func.func @live(%a: !flow.rows<edge, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #small} {
  %0 = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %1 = flow.relu %0[src] : <node, f32, device> -> <edge, f32, device>
  %2 = flow.reduce sum %1 via src : <edge, f32, device> -> <node, f32, device>
  %3 = flow.reduce sum %1 via etype : <edge, f32, device> -> <etype, f32, device>
  return %0, %2 : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// What the backward phase reads of the forward phase, results of the function among it; never arguments.
// CHECK-LABEL: groups of @kept
// CHECK:      kept %0: 40 bytes
// CHECK-NEXT: kept %1: 16 bytes
// CHECK-NEXT: total:
func.func @kept(%a: !flow.rows<edge, f32, device>, %g: !flow.rows<node, f32, device>)
    -> (!flow.rows<node, f32, device>, !flow.rows<edge, f32, device>) attributes {flow.graph = #small, flow.forward_results = 1 : i64} {
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
                flow.machine = #flow.machine<cacheBytes = 4000, operationsPerByte = 8>} {
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
                flow.machine = #flow.machine<cacheBytes = 4000, operationsPerByte = 8>} {
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
                flow.machine = #flow.machine<cacheBytes = 4000, operationsPerByte = 8>} {
  %0 = flow.relu %x[src] : <node, 10xf32, device> -> <edge, 10xf32, device>
  return %0 : !flow.rows<edge, 10xf32, device>
}

// Fewer readers than rows: no more can be read than they are.
// CHECK-LABEL: groups of @few_readers
// CHECK:        reads %arg0[src]: 40 bytes, gathered
func.func @few_readers(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device>
    attributes {flow.graph = #flow.graph<nodes = 1000, edges = 10, srcPairs = 10, dstPairs = 10, relations = 1, nodeTypes = 1, uniform = 1>} {
  %0 = flow.relu %x[src] : <node, f32, device> -> <edge, f32, device>
  return %0 : !flow.rows<edge, f32, device>
}

// Dropout draws a number for each of a row's, at ten operations. It is drawn in every step, so it is none of the graph's
// own even where it reads nothing else.
// CHECK-LABEL: groups of @dropout
// CHECK-NEXT: group 0: forward, {{.*}} over edge
// CHECK-NEXT:   flow.dropout %{{.*}}: 10 rows, 100 operations,
func.func @dropout() -> !flow.rows<edge, f32, device> attributes {flow.graph = #small} {
  %one = flow.constant 1.0 : <one, f32, device>
  %d = flow.dropout %one[one] {rate = 0.5 : f64, stream = 0 : i64} : <one, f32, device> -> <edge, f32, device>
  return %d : !flow.rows<edge, f32, device>
}
