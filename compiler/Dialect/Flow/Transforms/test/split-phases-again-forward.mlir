// What is computed again in several phases is stored, if it has to be, by the first of them: here the spread, which both phases
// read, becomes a table of the forward phase although the ops of the backward phase come first.
// RUN: hector-opt %s --flow-form-groups --flow-split-phases | FileCheck %s

// CHECK: func.func @ph(
// CHECK: call @ph.forward
// CHECK: call @ph.backward
func.func @ph(%a: !flow.rows<edge, 64xf32, device> {flow.name="a"}, %x: !flow.rows<node, 64xf32, device> {flow.name = "x"}, %W: !flow.rows<etype, 64x64xf32, device> {flow.name = "W"}, %g: !flow.rows<node, 64xf32, device> {flow.name = "grad.q"}) -> (!flow.rows<node, 64xf32, device>, !flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>) attributes {flow.forward_results = 2 : i64} {
  %n = flow.reduce sum %x via ntype : <node, 64xf32, device> -> <ntype, 64xf32, device>
  %s = flow.spread %n via ntype : <ntype, 64xf32, device> -> <node, 64xf32, device>
  %b = flow.mul %s, %g : <node, 64xf32, device>, <node, 64xf32, device> -> <node, 64xf32, device>
  %w = flow.mul %a, %s[dst] : <edge, 64xf32, device>, <node, 64xf32, device> -> <edge, 64xf32, device>
  %r = flow.reduce sum %w via dst : <edge, 64xf32, device> -> <node, 64xf32, device>
  %L = flow.linear %w, %W[etype] : <edge, 64xf32, device>, <etype, 64x64xf32, device> -> <edge, 64xf32, device>
  return %r, %L, %b : !flow.rows<node, 64xf32, device>, !flow.rows<edge, 64xf32, device>, !flow.rows<node, 64xf32, device>
}
