// RUN: hector-opt %s --flow-join-sums --split-input-file | FileCheck %s

// Two products leave one table.
// CHECK-LABEL: func.func @products
// CHECK: %[[A:.*]] = flow.linear %arg0,
// CHECK: %[[B:.*]] = flow.linear %arg1,
// CHECK-NEXT: %[[C:.*]] = flow.add %[[A]], %[[B]] : <src_pair, 8xf32, device>, <src_pair, 8xf32, device> -> <src_pair, 8xf32, device>
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %[[C]] via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
// CHECK-NEXT: return %[[S]]
func.func @products(%x: !flow.rows<src_pair, 8xf32, device>, %y: !flow.rows<src_pair, 8xf32, device>, %v: !flow.rows<etype, 8x8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.linear %x, %v[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %s = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %b = flow.linear %y, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %t = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %u = flow.add %s, %t : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %u : !flow.rows<node, 8xf32, device>
}

// -----

// Others may stand between them, and a sum of what takes no table joins in.
// CHECK-LABEL: func.func @nested
// CHECK: %[[A:.*]] = flow.linear %arg0,
// CHECK: %[[N:.*]] = flow.chain %arg2, %arg3[etype]
// CHECK: %[[B:.*]] = flow.linear %arg1,
// CHECK: %[[C:.*]] = flow.add %[[A]], %[[N]]
// CHECK-NEXT: %[[D:.*]] = flow.add %[[C]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %[[D]] via node
// CHECK-NEXT: %[[T:.*]] = flow.add %arg5, %[[S]]
// CHECK-NEXT: %[[U:.*]] = flow.add %[[T]], %arg6
// CHECK-NEXT: return %[[U]]
func.func @nested(%x: !flow.rows<src_pair, 8xf32, device>, %y: !flow.rows<src_pair, 8xf32, device>, %n: !flow.rows<src_pair, 1xf32, device>, %r: !flow.rows<etype, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>, %p: !flow.rows<node, 8xf32, device>, %q: !flow.rows<node, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %s = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %c = flow.chain %n, %r[etype] : <src_pair, 1xf32, device>, <etype, 8xf32, device> -> <src_pair, 8xf32, device>
  %o = flow.reduce sum %c via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %b = flow.linear %y, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %t = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %1 = flow.add %p, %s : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.add %1, %o : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %3 = flow.add %2, %q : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %4 = flow.add %3, %t : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %4 : !flow.rows<node, 8xf32, device>
}

// -----

// What is subtracted from what is subtracted is added; means are joined with means.
// CHECK-LABEL: func.func @signs
// CHECK: %[[A:.*]] = flow.linear %arg0,
// CHECK: %[[B:.*]] = flow.linear %arg1,
// CHECK: %[[D:.*]] = flow.sub %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = flow.reduce mean %[[D]] via node
// CHECK-NEXT: %[[T:.*]] = flow.sub %arg3, %[[S]]
// CHECK-NEXT: return %[[T]]
func.func @signs(%x: !flow.rows<src_pair, 8xf64, device>, %y: !flow.rows<src_pair, 8xf64, device>, %w: !flow.rows<etype, 8x8xf64, device>, %p: !flow.rows<node, 8xf64, device>) -> !flow.rows<node, 8xf64, device> {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf64, device>, <etype, 8x8xf64, device> -> <src_pair, 8xf64, device>
  %s = flow.reduce mean %a via node : <src_pair, 8xf64, device> -> <node, 8xf64, device>
  %b = flow.linear %y, %w[etype] : <src_pair, 8xf64, device>, <etype, 8x8xf64, device> -> <src_pair, 8xf64, device>
  %t = flow.reduce mean %b via node : <src_pair, 8xf64, device> -> <node, 8xf64, device>
  %1 = flow.sub %s, %t : <node, 8xf64, device>, <node, 8xf64, device> -> <node, 8xf64, device>
  %2 = flow.sub %p, %1 : <node, 8xf64, device>, <node, 8xf64, device> -> <node, 8xf64, device>
  return %2 : !flow.rows<node, 8xf64, device>
}

// -----

// What is subtracted is added first.
// CHECK-LABEL: func.func @subtracted
// CHECK: %[[D:.*]] = flow.add
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %[[D]] via node
// CHECK-NEXT: %[[T:.*]] = flow.sub %arg3, %[[S]]
// CHECK-NEXT: return %[[T]]
func.func @subtracted(%x: !flow.rows<src_pair, 8xf32, device>, %y: !flow.rows<src_pair, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>, %p: !flow.rows<node, 8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %s = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %b = flow.linear %y, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %t = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %1 = flow.add %s, %t : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.sub %p, %1 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %2 : !flow.rows<node, 8xf32, device>
}

// -----

// Maxima, other maps, and sums of rows that take no table stay.
// CHECK-LABEL: func.func @declined
// CHECK-COUNT-2: flow.reduce max
// CHECK: flow.reduce sum %{{.*}} via node : <src_pair
// CHECK: flow.reduce sum %{{.*}} via node : <dst_pair
// CHECK-COUNT-2: flow.reduce sum %{{.*}} via src
// CHECK-NOT: flow.reduce
// CHECK: return
func.func @declined(%x: !flow.rows<src_pair, 8xf32, device>, %y: !flow.rows<dst_pair, 8xf32, device>, %e: !flow.rows<edge, 8xf32, device>, %f: !flow.rows<edge, f32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>) {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %b = flow.linear %x, %w[etype] {transposed} : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %1 = flow.reduce max %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.reduce max %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %3 = flow.add %1, %2 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %c = flow.linear %y, %w[etype] : <dst_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <dst_pair, 8xf32, device>
  %d = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %4 = flow.reduce sum %d via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %5 = flow.reduce sum %c via node : <dst_pair, 8xf32, device> -> <node, 8xf32, device>
  %6 = flow.add %4, %5 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %g = flow.mul %f, %e : <edge, f32, device>, <edge, 8xf32, device> -> <edge, 8xf32, device>
  %7 = flow.reduce sum %e via src : <edge, 8xf32, device> -> <node, 8xf32, device>
  %8 = flow.reduce sum %g via src : <edge, 8xf32, device> -> <node, 8xf32, device>
  %9 = flow.add %7, %8 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %3, %6, %9 : !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>
}

// -----

// A sum that another op reads stays, and so does that of a product that another op reads.
// CHECK-LABEL: func.func @read_by_others
// CHECK-COUNT-4: flow.reduce sum
// CHECK: return
func.func @read_by_others(%x: !flow.rows<src_pair, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<src_pair, 8xf32, device>) {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %b = flow.linear %x, %w[etype] {transposed} : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %1 = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %3 = flow.add %1, %2 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  %c = flow.neg %a : <src_pair, 8xf32, device> -> <src_pair, 8xf32, device>
  %d = flow.linear %c, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %f = flow.linear %c, %w[etype] {transposed} : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %4 = flow.reduce sum %d via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %5 = flow.reduce sum %f via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %6 = flow.add %4, %5 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %3, %6, %4, %f : !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<node, 8xf32, device>, !flow.rows<src_pair, 8xf32, device>
}

// -----

// A table that is there anyway is summed by itself.
// CHECK-LABEL: func.func @table
// CHECK-COUNT-2: flow.reduce sum
// CHECK: return
func.func @table(%x: !flow.rows<src_pair, 8xf32, device>, %t: !flow.rows<src_pair, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %1 = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.reduce sum %t via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %3 = flow.add %1, %2 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %3 : !flow.rows<node, 8xf32, device>
}
