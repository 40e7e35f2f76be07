// RUN: hector-opt %s --split-input-file --flow-differentiate --verify-diagnostics

// A gradient that no rule gives is an error, not zero.
func.func @no_rule(%x: !flow.rows<edge, 4xf64, device> {flow.name = "x"}, %g: !flow.rows<edge, 2xf64, device> {flow.name = "g"})
    -> (!flow.rows<etype, 4x2xf64, device> {flow.name = "y"}) {
  // expected-error @below {{'flow.weight_grad' op cannot be differentiated: there is no rule for its gradient}}
  %y = flow.weight_grad %x, %g over edge via etype : <edge, 4xf64, device>, <edge, 2xf64, device> -> <etype, 4x2xf64, device>
  return %y : !flow.rows<etype, 4x2xf64, device>
}

// -----

// expected-error @below {{'func.func' op has gradients already: `flow.forward_results` = 1 : i64}}
func.func @twice(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
  return %x, %g : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// -----

// expected-error @below {{has no input `u` to differentiate by}}
func.func @unknown_input(%x: !flow.rows<edge, f64, device> {flow.name = "x"})
    -> (!flow.rows<edge, f64, device> {flow.name = "y"}) attributes {flow.gradients = ["x", "u"]} {
  return %x : !flow.rows<edge, f64, device>
}

// -----

// expected-error @below {{cannot be differentiated by input `c`, which holds i1}}
func.func @truth(%c: !flow.rows<edge, i1, device> {flow.name = "c"}, %x: !flow.rows<edge, f64, device> {flow.name = "x"})
    -> (!flow.rows<edge, f64, device> {flow.name = "y"}) attributes {flow.gradients = ["c"]} {
  %y = flow.select %c, %x, %x : <edge, i1, device>, <edge, f64, device>, <edge, f64, device> -> <edge, f64, device>
  return %y : !flow.rows<edge, f64, device>
}
