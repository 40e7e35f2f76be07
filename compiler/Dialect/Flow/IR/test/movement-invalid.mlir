// Constants, spreads and reductions.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @constant_c1_domain() {
  // expected-error @below {{is one number, `<one, dtype, residency>`, but its result has type '!flow.rows<node, f32, device>'}}
  %r = flow.constant 1.0 : <node, f32, device>
  return
}

// -----

func.func @constant_c1_shape() {
  // expected-error @below {{is one number, `<one, dtype, residency>`, but its result has type '!flow.rows<one, 4xf32, device>'}}
  %r = flow.constant 1.0 : <one, 4xf32, device>
  return
}

// -----

func.func @constant_c1_truth() {
  // expected-error @below {{is one number, `<one, dtype, residency>`, but its result has type '!flow.rows<one, i1, device>'}}
  %r = flow.constant 1.0 : <one, i1, device>
  return
}

// -----

func.func @spread_c1_no_such_map(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{goes along `src`, which domain node does not have}}
  %r = flow.spread %a via src : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @spread_c1_wrong_domain(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{goes along `etype`, which leads from edge to etype, not to node}}
  %r = flow.spread %a via etype : <node, 4xf32, device> -> <edge, 4xf32, device>
  return
}

// -----

func.func @spread_c2_shape(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{keeps rows as they are, but reads and writes different ones: '!flow.rows<edge, 8xf32, device>' and '!flow.rows<node, 4xf32, device>'}}
  %r = flow.spread %a via src : <node, 4xf32, device> -> <edge, 8xf32, device>
  return
}

// -----

func.func @spread_c2_type(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{keeps rows as they are}}
  %r = flow.spread %a via src : <node, 4xf32, device> -> <edge, 4xf64, device>
  return
}

// -----

func.func @spread_c2_residency(%a: !flow.rows<node, 4xf32, host>) {
  // expected-error @below {{keeps rows as they are}}
  %r = flow.spread %a via src : <node, 4xf32, host> -> <edge, 4xf32, device>
  return
}

// -----

func.func @reduce_c1_self(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{goes along `self`, which collects nothing}}
  %r = flow.reduce sum %a via self : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @reduce_c1_no_such_map(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{goes along `dst`, which domain node does not have}}
  %r = flow.reduce sum %a via dst : <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @reduce_c1_wrong_domain(%a: !flow.rows<edge, 4xf32, device>) {
  // expected-error @below {{goes along `dst`, which leads from edge to node, not to etype}}
  %r = flow.reduce sum %a via dst : <edge, 4xf32, device> -> <etype, 4xf32, device>
  return
}

// -----

func.func @reduce_c2_shape(%a: !flow.rows<edge, 4xf32, device>) {
  // expected-error @below {{keeps rows as they are}}
  %r = flow.reduce sum %a via dst : <edge, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @reduce_c2_type(%a: !flow.rows<edge, 4xf32, device>) {
  // expected-error @below {{keeps rows as they are}}
  %r = flow.reduce sum %a via dst : <edge, 4xf32, device> -> <node, 4xf16, device>
  return
}

// -----

func.func @reduce_c2_residency(%a: !flow.rows<edge, 4xf32, device>) {
  // expected-error @below {{keeps rows as they are}}
  %r = flow.reduce sum %a via dst : <edge, 4xf32, device> -> <node, 4xf32, disk>
  return
}

// -----

func.func @reduce_c2_truth(%a: !flow.rows<edge, i1, device>) {
  // expected-error @below {{combines numbers, but is given i1}}
  %r = flow.reduce sum %a via dst : <edge, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @reduce_kind(%a: !flow.rows<edge, 4xf32, device>) {
  // expected-error @below {{unknown reduction `product`; expected sum, max, min or mean}}
  %r = flow.reduce product %a via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @reduce_c2_init(%a: !flow.rows<edge, 4xf32, device>, %b: !flow.rows<node, 1xf32, device>) {
  // expected-error @below {{starts from '!flow.rows<node, 1xf32, device>', but its result is '!flow.rows<node, 4xf32, device>'}}
  %r = "flow.reduce"(%a, %b) {kind = #flow.reduce_kind<max>, via = #flow.map<dst>} : (!flow.rows<edge, 4xf32, device>, !flow.rows<node, 1xf32, device>) -> !flow.rows<node, 4xf32, device>
  return
}

// -----

func.func @reduce_c3_sum(%a: !flow.rows<edge, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{takes `init` for max and min only, not for sum}}
  %r = flow.reduce sum %a via dst init %b : <edge, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @reduce_c3_mean(%a: !flow.rows<edge, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{takes `init` for max and min only, not for mean}}
  %r = flow.reduce mean %a via dst init %b : <edge, 4xf32, device> -> <node, 4xf32, device>
  return
}
