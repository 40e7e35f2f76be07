// RUN: hector-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --flow-split-phases

func.func @f3(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{'odd.op' op is no op of flow, and functions of flow hold nothing else before their return}}
  "odd.op"() : () -> ()
  return
}

// -----

// expected-error @below {{'func.func' op has argument 0 of type 'i32', but functions of flow take tables, !flow.rows}}
func.func @f2(%i: i32) {
  return
}
