// Two loops in one order that one loop could be. As long as each may become the loop that suits it best, the products are
// priced by source and the sums by destination, and both seem to take less time apart. When orders are chosen, they are merged.
// RUN: hector-opt %s --flow-form-groups | FileCheck %s

// CHECK-LABEL: func.func @side_by_side
// CHECK: flow.group by_dst edge forward
// CHECK: flow.mul
// CHECK: flow.reduce
// CHECK-NOT: flow.group
// CHECK: return
func.func @side_by_side(%x: !flow.rows<node, f32, device>, %p: !flow.rows<src_pair, f32, device>, %a: !flow.rows<edge, f32, device>, %b: !flow.rows<edge, f32, device>)
    -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>) {
  %0 = flow.mul %a, %x[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  %2 = flow.mul %a, %p[src_pair] : <edge, f32, device>, <src_pair, f32, device> -> <edge, f32, device>
  %3 = flow.reduce sum %2 via dst : <edge, f32, device> -> <node, f32, device>
  %4 = flow.mul %b, %x[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  %5 = flow.reduce sum %4 via dst : <edge, f32, device> -> <node, f32, device>
  return %1, %3, %5 : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}
