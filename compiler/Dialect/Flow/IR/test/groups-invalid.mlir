// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @group_c1(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{has 1 results, but 0 yielded values}}
  %r = flow.group flat node forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    flow.yield
  }
  return
}

// -----

func.func @group_c2_op_in_traversal(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    // expected-error @below {{cannot stand by itself in a loop `by_dst`}}
    %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @group_c3(%x: !flow.rows<node, f32, device>, %y: !flow.rows<edge, f32, device>) {
  %r = flow.group flat node forward (%a = %x, %b = %y) : (!flow.rows<node, f32, device>, !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    // expected-error @below {{walks edge, which a loop `flat` over node does not}}
    %0 = flow.exp %b : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @group_c4(%x: !flow.rows<node, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> {
    %s = flow.sweep -> !flow.rows<edge, f32, device> {
      %0 = flow.exp %a : <node, f32, device> -> <node, f32, device>
      // expected-error @below {{reads a value of its own loop through `src`: the loop does not have that row at hand}}
      %1 = flow.neg %0[src] : <node, f32, device> -> <edge, f32, device>
      flow.yield %1 : !flow.rows<edge, f32, device>
    }
    flow.yield %s : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @group_c5_read(%x: !flow.rows<node, f32, device>) {
  %r = flow.group flat node forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.reduce sum %a via one : <node, f32, device> -> <one, f32, device>
    // expected-error @below {{reads a value of its own loop through `one`}}
    %1 = flow.div %a, %0[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
    flow.yield %1 : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c5_traversal(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
    %s = flow.sweep -> !flow.rows<node, f32, device> {
      // expected-error @below {{collects along `src`, which is no level of a loop `by_dst`}}
      %0 = flow.reduce sum %a via src : <edge, f32, device> -> <node, f32, device>
      flow.yield %0 : !flow.rows<node, f32, device>
    }
    flow.yield %s : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c5_flat(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
    // expected-error @below {{collects along `dst`, which needs a traversal}}
    %0 = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c6(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{is a `gemm` without a product}}
  %r = flow.group gemm node forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %0 = flow.exp %a : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @sweep_c2(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    %s = flow.sweep -> !flow.rows<edge, f32, device> {
      %0 = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
      %1 = flow.neg %0 : <node, f32, device> -> <node, f32, device>
      // expected-error @below {{reads from below what its own sweep collects}}
      %2 = flow.div %a, %1[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
      flow.yield %2 : !flow.rows<edge, f32, device>
    }
    flow.yield %s : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @isolated(%x: !flow.rows<node, f32, device>) {
  // expected-note @below {{required by region isolation constraints}}
  %r = flow.group flat node forward () : () -> !flow.rows<node, f32, device> {
    // expected-error @below {{using value defined outside the region}}
    %0 = flow.exp %x : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return
}
