// RUN: hector-opt %s --pass-pipeline='builtin.module(func.func(flow-aggregate-first{only=1}))' | FileCheck %s
// RUN: hector-opt %s --pass-pipeline='builtin.module(func.func(flow-aggregate-first{skip=0,7}))' | FileCheck %s

// Only the second of two sums is considered: by name, or since the first is left out.
// CHECK-LABEL: func.func @two
// CHECK: flow.linear %arg0[src], %arg1[etype] : {{.*}} -> <edge, 4xf32, device>
// CHECK: flow.linear %{{.*}}, %arg1[etype] : {{.*}} -> <src_pair, 4xf32, device>
func.func @two(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) {
  %m = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x4xf32, device> -> <edge, 4xf32, device>
  %a = flow.reduce sum %m via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %n = flow.linear %x[dst], %w[etype] : <node, 4xf32, device>, <etype, 4x4xf32, device> -> <edge, 4xf32, device>
  %b = flow.reduce sum %n via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  return %a, %b : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}
