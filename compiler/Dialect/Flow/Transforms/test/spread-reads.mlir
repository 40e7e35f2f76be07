// RUN: hector-opt %s --flow-spread-reads | FileCheck %s
// RUN: hector-opt %s --flow-spread-reads --canonicalize | FileCheck %s --check-prefix=BACK

// CHECK: %[[X:.*]] = flow.spread %arg0 via src
// CHECK: %[[W:.*]] = flow.spread %arg1 via etype
// CHECK: flow.linear %[[X]], %[[W]] :
// BACK: flow.linear %arg0[src], %arg1[etype] :
func.func @message(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x2xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %m = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x2xf32, device> -> <edge, 2xf32, device>
  return %m : !flow.rows<edge, 2xf32, device>
}
