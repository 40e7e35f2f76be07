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

// -----

func.func @group_c3_domain(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{walks src_pair, which is no level of a loop `by_dst`}}
  %r = flow.group by_dst src_pair forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
    %s = flow.sweep -> !flow.rows<node, f32, device> {
      %0 = flow.exp %a : <node, f32, device> -> <node, f32, device>
      flow.yield %0 : !flow.rows<node, f32, device>
    }
    flow.yield %s : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c6_product(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<one, 4x4xf32, device>) {
  %r = flow.group flat node forward (%a = %x, %b = %w) : (!flow.rows<node, 4xf32, device>, !flow.rows<one, 4x4xf32, device>) -> !flow.rows<node, 4xf32, device> {
    // expected-error @below {{is a product, which a loop `flat` cannot hold}}
    %0 = flow.linear %a, %b[one] : <node, 4xf32, device>, <one, 4x4xf32, device> -> <node, 4xf32, device>
    flow.yield %0 : !flow.rows<node, 4xf32, device>
  }
  return
}

// -----

func.func @group_c6_weights(%x: !flow.rows<etype, 4xf32, device>, %w: !flow.rows<etype, 4x4xf32, device>) {
  %r = flow.group gemm etype forward (%a = %x, %b = %w) : (!flow.rows<etype, 4xf32, device>, !flow.rows<etype, 4x4xf32, device>) -> !flow.rows<etype, 4xf32, device> {
    %0 = flow.neg %b : <etype, 4x4xf32, device> -> <etype, 4x4xf32, device>
    // expected-error @below {{multiplies by weights that its own loop computes}}
    %1 = flow.linear %a, %0 : <etype, 4xf32, device>, <etype, 4x4xf32, device> -> <etype, 4xf32, device>
    flow.yield %1 : !flow.rows<etype, 4xf32, device>
  }
  return
}

// -----

func.func @sweep_c1(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    // expected-error @below {{has results of type '!flow.rows<edge, f32, device>', but yielded values of type '!flow.rows<node, f32, device>'}}
    %s = flow.sweep -> !flow.rows<edge, f32, device> {
      %0 = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
      flow.yield %0 : !flow.rows<node, f32, device>
    }
    flow.yield %s : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @sweep_c3(%x: !flow.rows<edge, f32, device>) {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    %s = flow.sweep -> !flow.rows<edge, f32, device> {
      // expected-error @below {{gives a value that its sweep does not compute}}
      flow.yield %a : !flow.rows<edge, f32, device>
    }
    flow.yield %s : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @fold_c1(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{collects from edge to node along `etype`, which does not lead there for all inputs and results}}
  %0 = flow.fold %x via etype : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
    flow.yield
  } step {
    flow.yield
  } join {
    flow.yield
  } finish {
    flow.yield
  }
  return
}

// -----

func.func @fold_c2_none(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has no accumulator: its `init` yields nothing}}
  %0 = flow.fold %x via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
    flow.yield
  } step {
    flow.yield
  } join {
    flow.yield
  } finish {
    flow.yield
  }
  return
}

// -----

func.func @fold_c2_join(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has 2 accumulators twice, but 1 arguments of `join`}}
  %0 = flow.fold %x via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
    %c = flow.constant 0.0 : <one, f32, device>
    %z = flow.expand %c[one] : <one, f32, device> -> <node, f32, device>
    flow.yield %z : !flow.rows<node, f32, device>
  } step {
  ^bb0(%a: !flow.rows<node, f32, device>, %v: !flow.rows<node, f32, device>):
    flow.yield %v : !flow.rows<node, f32, device>
  } join {
  ^bb0(%a: !flow.rows<node, f32, device>):
    flow.yield %a : !flow.rows<node, f32, device>
  } finish {
  ^bb0(%a: !flow.rows<node, f32, device>):
    flow.yield %a : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @fold_c3(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has 1 results, but 2 results of `finish`}}
  %0 = flow.fold %x via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
    %c = flow.constant 0.0 : <one, f32, device>
    %z = flow.expand %c[one] : <one, f32, device> -> <node, f32, device>
    flow.yield %z : !flow.rows<node, f32, device>
  } step {
  ^bb0(%a: !flow.rows<node, f32, device>, %v: !flow.rows<node, f32, device>):
    flow.yield %v : !flow.rows<node, f32, device>
  } join {
  ^bb0(%a: !flow.rows<node, f32, device>, %b: !flow.rows<node, f32, device>):
    flow.yield %a : !flow.rows<node, f32, device>
  } finish {
  ^bb0(%a: !flow.rows<node, f32, device>):
    flow.yield %a, %a : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @fold_c4(%x: !flow.rows<edge, f32, device>) {
  %0 = flow.fold %x via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
    %c = flow.constant 0.0 : <one, f32, device>
    // expected-error @below {{cannot be part of a fold}}
    %z = flow.dropout %c[one] {rate = 0.5 : f64, stream = 0 : i64} : <one, f32, device> -> <node, f32, device>
    flow.yield %z : !flow.rows<node, f32, device>
  } step {
  ^bb0(%a: !flow.rows<node, f32, device>, %v: !flow.rows<node, f32, device>):
    flow.yield %v : !flow.rows<node, f32, device>
  } join {
  ^bb0(%a: !flow.rows<node, f32, device>, %b: !flow.rows<node, f32, device>):
    flow.yield %a : !flow.rows<node, f32, device>
  } finish {
  ^bb0(%a: !flow.rows<node, f32, device>):
    flow.yield %a : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c7_count(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has 1 results, but 2 orders}}
  %r = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> in (by_src, by_dst) {
    %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @group_c7_edge(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{writes rows of edge in the order none, which they cannot have}}
  %r = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> in (none) {
    %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }
  return
}

// -----

func.func @group_c7_dst_pair(%x: !flow.rows<dst_pair, f32, device>) {
  // expected-error @below {{writes rows of dst_pair in the order by_src, which they cannot have}}
  %r = flow.group flat dst_pair forward (%a = %x) : (!flow.rows<dst_pair, f32, device>) -> !flow.rows<dst_pair, f32, device> in (by_src) {
    %0 = flow.exp %a : <dst_pair, f32, device> -> <dst_pair, f32, device>
    flow.yield %0 : !flow.rows<dst_pair, f32, device>
  }
  return
}

// -----

func.func @group_c7_src_pair(%x: !flow.rows<src_pair, f32, device>) {
  // expected-error @below {{writes rows of src_pair in the order by_dst, which they cannot have}}
  %r = flow.group flat src_pair forward (%a = %x) : (!flow.rows<src_pair, f32, device>) -> !flow.rows<src_pair, f32, device> in (by_dst) {
    %0 = flow.exp %a : <src_pair, f32, device> -> <src_pair, f32, device>
    flow.yield %0 : !flow.rows<src_pair, f32, device>
  }
  return
}

// -----

func.func @group_c7_node(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{writes rows of node in the order by_type, which they cannot have}}
  %r = flow.group flat node forward (%a = %x) : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> in (by_type) {
    %0 = flow.exp %a : <node, f32, device> -> <node, f32, device>
    flow.yield %0 : !flow.rows<node, f32, device>
  }
  return
}

// -----

func.func @group_c7_attribute(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{writes rows of edge in the order none, which they cannot have}}
  %r = "flow.group"(%x) <{loop = #flow.loop<flat>, domain = #flow.domain<edge>, phase = #flow.phase<forward>, orders = [1 : i64]}> ({
  ^bb0(%a: !flow.rows<edge, f32, device>):
    %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device>
  return
}

// -----

func.func @group_order_word(%x: !flow.rows<edge, f32, device>) {
  // expected-error @below {{unknown order `by_weight`}}
  %r = flow.group flat edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> in (by_weight) {
    %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
    flow.yield %0 : !flow.rows<edge, f32, device>
  }
  return
}
