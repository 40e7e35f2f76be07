// Passes take functions of flow alone, and name the op that is to blame otherwise.
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-aggregate-first
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-compact-rows
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-differentiate
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-flatten-sums
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-form-groups
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-join-sums
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-linear-reorder
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-print-cost
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-print-keys
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-reuse-sums
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-spread-reads
// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-stabilise-softmax

// expected-error @below {{'func.func' op has 2 blocks, but functions of flow have one}}
func.func @f1_blocks(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  "odd.branch"()[^next] : () -> ()
^next:
  return %x : !flow.rows<node, 4xf32, device>
}

// -----

func.func @f1_end(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  // expected-error @below {{'odd.return' op ends the body, but functions of flow end with func.return}}
  "odd.return"(%x) : (!flow.rows<node, 4xf32, device>) -> ()
}

// -----

// expected-error @below {{'func.func' op has argument 1 of type 'i32', but functions of flow take tables, !flow.rows}}
func.func @f2_integer(%x: !flow.rows<node, 4xf32, device>, %i: i32) -> !flow.rows<node, 4xf32, device> {
  return %x : !flow.rows<node, 4xf32, device>
}

// -----

// expected-error @below {{'func.func' op has argument 0 of type 'tensor<4xf32>', but functions of flow take tables, !flow.rows}}
func.func @f2_returned(%t: tensor<4xf32>) -> tensor<4xf32> {
  return %t : tensor<4xf32>
}

// -----

func.func private @callee(!flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device>

func.func @f3_call(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  // expected-error @below {{'func.call' op is no op of flow, and functions of flow hold nothing else before their return}}
  %y = func.call @callee(%x) : (!flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device>
  return %y : !flow.rows<node, 4xf32, device>
}

// -----

func.func @f3_unregistered(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  %y = flow.exp %x : <node, 4xf32, device> -> <node, 4xf32, device>
  // expected-error @below {{'odd.op' op is no op of flow}}
  %z:2 = "odd.op"(%y) : (!flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, i32)
  return %z#0 : !flow.rows<node, 4xf32, device>
}

// -----

func.func @f3_without_results(%x: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{'odd.op' op is no op of flow}}
  "odd.op"() : () -> ()
  return
}

// -----

func.func @f3_region(%x: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{'odd.op' op is no op of flow}}
  "odd.op"() ({
    %y = flow.exp %x : <node, 4xf32, device> -> <node, 4xf32, device>
  }) : () -> ()
  return
}

// -----

func.func @f3_cast(%x: !flow.rows<node, 4xf32, device>) -> i32 {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op is no op of flow}}
  %y = builtin.unrealized_conversion_cast %x : !flow.rows<node, 4xf32, device> to i32
  return %y : i32
}
