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

// -----

func.func @no_group(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  %a = flow.group flat node forward (%i = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  // expected-error @below {{'flow.neg' op is part of no group, but phases are made of groups}}
  %b = flow.neg %a : <node, f32, device> -> <node, f32, device>
  return %b : !flow.rows<node, f32, device>
}

// -----

func.func @later_phase(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  %a = flow.group flat node backward (%i = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  // expected-error @below {{runs in the phase `forward`, but reads what the phase `backward` computes}}
  %b = flow.group flat node forward (%i = %a) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %i : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return %b : !flow.rows<node, f32, device>
}
