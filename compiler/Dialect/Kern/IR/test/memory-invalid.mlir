// RUN: hector-opt %s --split-input-file --verify-diagnostics

kern.kernel @load_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{needs a table that the kernel reads}}
    %r = kern.load %y at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
  }
}

// -----

kern.kernel @load_c2 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a row of 3 numbers, but rows of the table have 4}}
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<3xf32>
  }
}

// -----

kern.kernel @load_c3_level by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{starts at a row of edge, but no loop around it has one}}
    %r = kern.load %x at edge ["edge_src.dst"] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
  }
}

// -----

kern.kernel @load_c3_name by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{looks up "edge_source", which is no index array}}
    %r = kern.load %x at node ["edge_source"] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
  }
}

// -----

kern.kernel @store_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{needs a table that the kernel writes}}
    kern.store %r, %x at node [] : vector<4xf32>, !flow.rows<node, 4xf32, device>
  }
}

// -----

kern.kernel @store_c2 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %c = kern.constant 1.0 : f32
    // expected-error @below {{has a row of 1 numbers, but rows of the table have 4}}
    kern.store %c, %y at node [] : f32, !flow.rows<node, 4xf32, device>
  }
}

// -----

kern.kernel @store_c3 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{starts at a row of etype, but no loop around it has one}}
    kern.store %r, %y at etype [] : vector<4xf32>, !flow.rows<node, 4xf32, device>
  }
}

// -----

kern.kernel @number_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{starts at a row of edge, but no loop around it has one}}
    %n = kern.number edge []
  }
}

// -----

kern.kernel @number_c1_relation by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{looks up "relation", which is no index array}}
    %n = kern.number node [] relation ["relation"]
  }
}

// -----

kern.kernel @buffer_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a row for each row of src_pair, but is neither in a loop that has these below it nor in a tile of a certain height}}
    %b = kern.buffer : !kern.buffer<src_pair, f32>
  }
}

// -----

kern.kernel @buffer_c1_height flat edge reads 0 (%y: !flow.rows<edge, f32, device>) {
  kern.tile edge {
    // expected-error @below {{nor in a tile of a certain height}}
    %b = kern.buffer : !kern.buffer<edge, f32>
  }
}

// -----

kern.kernel @put_c1_type by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %b = kern.buffer : !kern.buffer<edge, f32>
    kern.for edge {
      %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
      // expected-error @below {{has a row of type 'vector<4xf32>', but the buffer's are 'f32'}}
      kern.put %r, %b : vector<4xf32>, !kern.buffer<edge, f32>
    }
  }
}

// -----

kern.kernel @get_c1_loop by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %b = kern.buffer : !kern.buffer<edge, f32>
    // expected-error @below {{is in no loop over edge}}
    %r = kern.get %b : !kern.buffer<edge, f32> -> f32
  }
}

// -----

// expected-error @below {{a row is a number or a vector of numbers with one axis, but is given 'vector<2x2xf32>'}}
func.func private @acc_type_c1(!kern.acc<vector<2x2xf32>>)

// -----

// expected-error @below {{a row is a number or a vector of numbers with one axis, but is given 'i32'}}
func.func private @buffer_type_c1(!kern.buffer<edge, i32>)

// -----

// expected-error @below {{has `kern.order` = "by_dst", but it is a #flow.order}}
func.func private @order_a1_kind(!flow.rows<edge, f32, device> {kern.order = "by_dst"})

// -----

// expected-error @below {{has `kern.order` = #flow.order<by_dst> on '!flow.rows<node, f32, device>', but edges are stored by type, destination or source, pairs by type or by their node, and other rows have no order}}
func.func private @order_a1_domain(!flow.rows<node, f32, device> {kern.order = #flow.order<by_dst>})

// -----

// expected-error @below {{has `kern.order` = #flow.order<by_dst> on '!flow.rows<src_pair, f32, device>'}}
func.func private @order_a1_result() -> (!flow.rows<src_pair, f32, device> {kern.order = #flow.order<by_dst>})

// -----

// expected-error @below {{has `kern.order`, which belongs on an argument or result of a function}}
func.func private @order_a1_place() attributes {kern.order = #flow.order<by_dst>}
