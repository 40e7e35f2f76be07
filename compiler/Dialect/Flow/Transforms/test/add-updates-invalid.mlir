// RUN: hector-opt %s --split-input-file --flow-add-updates --verify-diagnostics

// expected-error @below {{'func.func' op has no gradient of `w`, which `flow.optimiser` is to change}}
func.func @no_gradient(%w: !flow.rows<one, 2xf32, device> {flow.name = "w"})
    -> (!flow.rows<one, 2xf32, device> {flow.name = "y"})
    attributes {flow.optimiser = #flow.optimiser<sgd, ["w"]>} {
  return %w : !flow.rows<one, 2xf32, device>
}

// -----

// expected-error @below {{an optimiser changes a list of strings, the names of inputs, but is given [1]}}
func.func @no_names() attributes {flow.optimiser = #flow.optimiser<sgd, [1]>} {
  return
}

// -----

// expected-error @below {{has `flow.optimiser` = "sgd", but it is a #flow.optimiser}}
func.func @unknown() attributes {flow.optimiser = "sgd"} {
  return
}
