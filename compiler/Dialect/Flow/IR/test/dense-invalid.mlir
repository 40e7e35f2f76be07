// What all dense ops share: (D1) to (D3).
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @d1_too_few(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{has 2 operands, but 1 maps}}
  %r = "flow.add"(%a, %a) {maps = [#flow.map<self>]} : (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device>
  return
}

// -----

func.func @d1_no_maps(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{requires attribute 'maps'}}
  %r = "flow.relu"(%a) : (!flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device>
  return
}

// -----

func.func @d1_not_maps(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{attribute 'maps' failed to satisfy constraint}}
  %r = "flow.relu"(%a) {maps = [1 : i64]} : (!flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device>
  return
}

// -----

func.func @d2_no_such_map(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{reads operand 0 through `src`, which domain node does not have}}
  %r = flow.relu %a[src] : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @d2_wrong_domain(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<ntype, 4xf32, device>) {
  // expected-error @below {{reads operand 1 through `etype`, which leads from edge to etype, but the operand has domain ntype}}
  %r = flow.add %a[src], %b[etype] : <node, 4xf32, device>, <ntype, 4xf32, device> -> <edge, 4xf32, device>
  return
}

// -----

func.func @d2_self_of_other_domain(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{reads operand 0 through `self`, which leads from edge to edge, but the operand has domain node}}
  %r = flow.relu %a : <node, 4xf32, device> -> <edge, 4xf32, device>
  return
}

// -----

func.func @d2_one_to_one(%a: !flow.rows<one, f32, device>) {
  // expected-error @below {{reads operand 0 through `one`, which domain one does not have}}
  %r = flow.relu %a[one] : <one, f32, device> -> <one, f32, device>
  return
}

// -----

func.func @d2_pairs_do_not_meet(%a: !flow.rows<dst_pair, 4xf32, device>) {
  // expected-error @below {{reads operand 0 through `dst_pair`, which domain src_pair does not have}}
  %r = flow.relu %a[dst_pair] : <dst_pair, 4xf32, device> -> <src_pair, 4xf32, device>
  return
}

// -----

func.func @d3(%a: !flow.rows<node, 4xf32, host>) {
  // expected-error @below {{has its result on device, but operand 0 on host}}
  %r = flow.relu %a : <node, 4xf32, host> -> <node, 4xf32, device>
  return
}

// -----

func.func @unknown_map(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{unknown map `source`}}
  %r = flow.relu %a[source] : <node, 4xf32, device> -> <edge, 4xf32, device>
  return
}

// -----

func.func @types_for_operands(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{expected 2 operands, but found 1}}
  %r = flow.add %a : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}
