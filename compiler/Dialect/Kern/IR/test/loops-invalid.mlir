// RUN: hector-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has argument 0 of type 'f32', but arguments are tables}}
kern.kernel @kernel_c1_type flat one reads 0 (%x: f32) {
  kern.for one {
  }
}

// -----

// expected-error @below {{reads 2 tables, but has 1 arguments}}
kern.kernel @kernel_c1_count flat one reads 2 (%x: !flow.rows<one, f32, device>) {
  kern.for one {
  }
}

// -----

kern.kernel @kernel_c2_two flat node reads 0 (%y: !flow.rows<node, f32, device>) {
  // expected-error @below {{is out of place: a kernel has constants and totals, and then one loop}}
  kern.for node {
  }
  kern.for node {
  }
}

// -----

kern.kernel @kernel_c2_after flat node reads 0 (%y: !flow.rows<node, f32, device>) {
  // expected-error @below {{is out of place}}
  kern.for node {
  }
  %c = kern.constant 1.0 : f32
}

// -----

// expected-error @below {{has no loop}}
kern.kernel @kernel_c2_none flat node reads 0 (%y: !flow.rows<node, f32, device>) {
}

// -----

func.func @launch_c1_kernel(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{launches @absent, but there is no such kernel}}
  %y = kern.launch @absent(%x) <forward> in [#flow.order<none>] : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device>
  return
}

// -----

kern.kernel @copy flat node reads 1 (%x: !flow.rows<node, f32, device>, %y: !flow.rows<node, f32, device>) {
  kern.for node {
  }
}
func.func @launch_c1_types(%x: !flow.rows<node, f64, device>) {
  // expected-error @below {{has operands and results of other types than the tables of @copy}}
  %y = kern.launch @copy(%x) <forward> in [#flow.order<none>] : (!flow.rows<node, f64, device>) -> !flow.rows<node, f32, device>
  return
}

// -----

kern.kernel @copy flat node reads 1 (%x: !flow.rows<node, f32, device>, %y: !flow.rows<node, f32, device>) {
  kern.for node {
  }
}
func.func @launch_c2(%x: !flow.rows<node, f32, device>) {
  // expected-error @below {{has the orders [] for 1 results, but there is a #flow.order for each}}
  %y = kern.launch @copy(%x) <forward> in [] : (!flow.rows<node, f32, device>) -> !flow.rows<node, f32, device>
  return
}

// -----

kern.kernel @for_c1_finer by_dst edge reads 0 (%y: !flow.rows<node, f32, device>) {
  kern.for edge {
    // expected-error @below {{walks rows of node, which are not below those of edge in a kernel that goes by_dst}}
    kern.for node {
    }
  }
}

// -----

kern.kernel @for_c1_side by_dst edge reads 0 (%y: !flow.rows<node, f32, device>) {
  kern.for node {
    // expected-error @below {{walks rows of src_pair, which are not below those of node in a kernel that goes by_dst}}
    kern.for src_pair {
    }
  }
}

// -----

kern.kernel @for_c1_tile flat edge reads 0 (%y: !flow.rows<node, f32, device>) {
  kern.tile edge {
    // expected-error @below {{walks rows of node in a tile of edge}}
    kern.for node {
    }
  }
}

// -----

kern.kernel @tile_c1 gemm edge reads 0 (%y: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has tiles of ntype, but rows of edge are sorted by etype}}
  kern.tile edge of <ntype> {
  }
}

// -----

kern.kernel @tile_c1_unsorted gemm etype reads 0 (%y: !flow.rows<etype, f32, device>) {
  // expected-error @below {{has tiles of etype, but rows of etype are not sorted}}
  kern.tile etype of <etype> {
  }
}

// -----

kern.kernel @tile_c2 gemm edge reads 0 (%y: !flow.rows<edge, f32, device>) {
  // expected-error @below {{has tiles of 0 rows, but a tile has at least 1}}
  kern.tile edge height 0 {
  }
}

// -----

kern.kernel @tile_c3 gemm edge reads 0 (%y: !flow.rows<edge, f32, device>) {
  kern.tile edge height 4 {
    // expected-error @below {{is out of place: a tile has buffers, loads, products and loops}}
    %c = kern.constant 1.0 : f32
  }
}
