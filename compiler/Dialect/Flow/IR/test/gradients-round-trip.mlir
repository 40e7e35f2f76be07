// RUN: hector-opt %s | hector-opt | FileCheck %s

// CHECK: flow.weight_grad %{{.*}}[src], %{{.*}} over edge via etype : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
// CHECK: flow.weight_grad %{{.*}}[src], %{{.*}} over edge via etype {transposed}
// CHECK: flow.first_index %{{.*}}, %{{.*}} via dst : <edge, f32, device>, <node, f32, device> -> <node, index, device>
// CHECK: flow.first_index %{{.*}}, %{{.*}} via dst init %{{.*}} : <edge, f32, device>, <node, f32, device> -> <node, index, device>
// CHECK: flow.is_row %{{.*}}[dst] : <node, index, device> -> <edge, i1, device>
// CHECK: flow.row_first_match %{{.*}}, %{{.*}} {axis = 0 : i64}
// CHECK: flow.chain %{{.*}}[dst], %{{.*}}
func.func @ops(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<edge, 2xf32, device>, %a: !flow.rows<edge, f32, device>, %t: !flow.rows<node, f32, device>) {
  %w = flow.weight_grad %x[src], %g over edge via etype : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  %v = flow.weight_grad %x[src], %g over edge via etype {transposed} : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 2x4xf32, device>
  %m = flow.first_index %a, %t via dst : <edge, f32, device>, <node, f32, device> -> <node, index, device>
  %n = flow.first_index %a, %t via dst init %t : <edge, f32, device>, <node, f32, device> -> <node, index, device>
  %f = flow.is_row %n[dst] : <node, index, device> -> <edge, i1, device>
  %r = flow.row_first_match %x, %t {axis = 0 : i64} : <node, 4xf32, device>, <node, f32, device> -> <node, 4xi1, device>
  %c = flow.chain %t[dst], %a : <node, f32, device>, <edge, f32, device> -> <edge, f32, device>
  return
}
