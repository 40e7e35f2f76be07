// RUN: hector-opt %s --split-input-file --verify-diagnostics --flow-differentiate

// expected-error @below {{'func.func' op has gradients already: `flow.forward_results` = 1 : i64}}
func.func @twice(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<node, 4xf32, device>)
    -> (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) attributes {flow.forward_results = 1 : i64} {
  return %x, %g : !flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>
}

// -----

func.func @weight_grad(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<one, 4x4xf32, device> {
  // expected-error @below {{'flow.weight_grad' op is a gradient itself, and has no rule by which to differentiate it again}}
  %w = flow.weight_grad %x, %x over node via one : <node, 4xf32, device>, <node, 4xf32, device> -> <one, 4x4xf32, device>
  return %w : !flow.rows<one, 4x4xf32, device>
}
