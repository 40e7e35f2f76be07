// RUN: hector-opt %s --split-input-file --verify-diagnostics

kern.kernel @constant by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{must be a number, but got 'vector<2xf32>'}}
    %c = kern.constant 1.0 : vector<2xf32>
  }
}

// -----

kern.kernel @map_c1_count by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has 0 maps for 1 operands}}
    %z = kern.map neg(%r) [] sizes [4] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c1_axes by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has the map affine_map<(d0, d1) -> (d0)>, but maps lead from 1 axes to one offset}}
    %z = kern.map neg(%r) [affine_map<(d0, d1) -> (d0)>] sizes [4] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c2 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has 3 points, but a result of 4 numbers}}
    %z = kern.map neg(%r) [affine_map<(d0) -> (d0)>] sizes [3] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c3 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{combines numbers exactly if it has an axis to combine them along}}
    %z = kern.map neg(%r) [affine_map<(d0) -> (d0)>] sizes [4] reduced [] combine <sum> : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c3_two by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{combines numbers exactly if it has an axis to combine them along}}
    %z = kern.map neg(%r) [affine_map<(d0, d1) -> (d0 * 2 + d1)>] sizes [] reduced [2, 2] combine <sum> : vector<4xf32> -> f32
  }
}

// -----

kern.kernel @map_c4 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has 1 operands, but `add` takes 2}}
    %z = kern.map add(%r) [affine_map<(d0) -> (d0)>] sizes [4] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c5 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has a parameter exactly if it is `leaky_relu` or `dropout`, and a stream if it is `dropout`}}
    %z = kern.map leaky_relu(%r) [affine_map<(d0) -> (d0)>] sizes [4] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_c5_stream by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{and a stream if it is `dropout`}}
    %z = kern.map neg(%r) [affine_map<(d0) -> (d0)>] sizes [4] reduced [] stream 1 : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @map_word by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{unknown function `twice`}}
    %z = kern.map twice(%r) [affine_map<(d0) -> (d0)>] sizes [4] reduced [] : vector<4xf32> -> vector<4xf32>
  }
}

// -----

kern.kernel @concat_c1_parts by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{cannot cut 4 numbers into 3 parts}}
    %z = kern.concat %r, %r repeats 3 : vector<4xf32>, vector<4xf32> -> vector<8xf32>
  }
}

// -----

kern.kernel @concat_c1_sum by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{joins 8 numbers, but the result has 7}}
    %z = kern.concat %r, %r repeats 2 : vector<4xf32>, vector<4xf32> -> vector<7xf32>
  }
}

// -----

kern.kernel @match_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    // expected-error @below {{has rows that do not fit the axis}}
    %z = kern.match %r, %r axis 1, 4, 1 : vector<4xf32>, vector<4xf32> -> vector<4xi1>
  }
}

// -----

kern.kernel @acc_c1_rows by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has an accumulator of 2 rows, but only a fold has several}}
    %a = kern.acc sum : !kern.acc<f32, f32>
  }
}

// -----

kern.kernel @acc_c1_first by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{keeps 'f32', but `nearest`, and nothing else, keeps numbers of rows}}
    %a = kern.acc nearest : !kern.acc<f32>
  }
}

// -----

kern.kernel @fold_c1_init_yields by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `init` that does not yield the accumulators}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c, %c : f32, f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_init_takes by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `init` that takes something}}
    %f = kern.fold : !kern.acc<f32> init {
    ^bb0(%z: f32):
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_step_yields by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `step` that does not yield the accumulators}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %m, %v : f32, f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_step_takes by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `step` that does not take the accumulators}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%w: f64, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_join_yields by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `join` that does not yield the accumulators}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %m, %n : f32, f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_join_takes by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `join` that does not take the accumulators twice}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @fold_c1_finish_takes by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    // expected-error @below {{has a region `finish` that does not take the accumulators}}
    %f = kern.fold : !kern.acc<f32> init {
      %c = kern.constant 0.0 : f32
      kern.yield %c : f32
    } step {
    ^bb0(%m: f32, %v: f32):
      kern.yield %v : f32
    } join {
    ^bb0(%m: f32, %n: f32):
      kern.yield %n : f32
    } finish {
    ^bb0(%m: f32, %n: f32):
      kern.yield
    }
  }
}

// -----

kern.kernel @step_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    %a = kern.acc sum : !kern.acc<f32>
    // expected-error @below {{takes rows of other types than its accumulator}}
    kern.step %a, %r : !kern.acc<f32>, vector<4xf32>
  }
}

// -----

kern.kernel @step_c1_first by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %r = kern.load %x at node [] : !flow.rows<node, 4xf32, device> -> vector<4xf32>
    %a = kern.acc nearest : !kern.acc<vector<4xindex>>
    // expected-error @below {{takes a row, what is looked for, and a number}}
    kern.step %a, %r, %r, %r : !kern.acc<vector<4xindex>>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
}

// -----

kern.kernel @finish_c1 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %a = kern.acc sum : !kern.acc<f32>
    // expected-error @below {{has results of other types than its accumulator gives}}
    %z = kern.finish %a : !kern.acc<f32> -> f64
  }
}

// -----

kern.kernel @finish_c1_total flat node reads 0 (%y: !flow.rows<one, f32, device>) {
  %total = kern.total sum %y at one [] : !flow.rows<one, f32, device> -> !kern.acc<f32>
  kern.for node {
    // expected-error @below {{has a total, which the end of the kernel finishes}}
    %z = kern.finish %total : !kern.acc<f32> -> f32
  }
}

// -----

kern.kernel @finish_c2 by_dst edge reads 1 (%x: !flow.rows<node, 4xf32, device>, %y: !flow.rows<node, 4xf32, device>) {
  kern.for node {
    %c = kern.constant 1.0 : f32
    %a = kern.acc sum : !kern.acc<f32>
    // expected-error @below {{has 1 rows that come first, which do not fit its accumulator}}
    %z = kern.finish %a init %c : f32 : !kern.acc<f32> -> f32
  }
}

// -----

kern.kernel @total_c1_table flat node reads 1 (%x: !flow.rows<one, 4xf32, device>, %y: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{needs a table that the kernel writes}}
  %total = kern.total sum %x at one [] : !flow.rows<one, 4xf32, device> -> !kern.acc<vector<4xf32>>
  kern.for node {
  }
}

// -----

kern.kernel @total_c1_rows flat node reads 1 (%x: !flow.rows<one, 4xf32, device>, %y: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{has an accumulator of other rows than its table}}
  %total = kern.total sum %y at one [] : !flow.rows<one, 4xf32, device> -> !kern.acc<f32>
  kern.for node {
  }
}

// -----

kern.kernel @total_c2 flat node reads 0 (%y: !flow.rows<ntype, f32, device>) {
  // expected-error @below {{is sorted by ntype, but the kernel has no tiles of that type}}
  %total = kern.total sum %y at ntype [] sorted : !flow.rows<ntype, f32, device> -> !kern.acc<f32>
  kern.for node {
  }
}

// -----

kern.kernel @total_c3_kind flat node reads 1 (%x: !flow.rows<one, 4xf32, device>, %y: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{has 1 tables that come first, which do not fit its kind}}
  %total = kern.total sum %y at one [] init %x : !flow.rows<one, 4xf32, device> : !flow.rows<one, 4xf32, device> -> !kern.acc<vector<4xf32>>
  kern.for node {
  }
}

// -----

kern.kernel @total_c3_table flat node reads 1 (%x: !flow.rows<one, 4xf32, device>, %y: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{needs a table that the kernel reads}}
  %total = kern.total max %y at one [] init %y : !flow.rows<one, 4xf32, device> : !flow.rows<one, 4xf32, device> -> !kern.acc<vector<4xf32>>
  kern.for node {
  }
}

// -----

kern.kernel @total_c4 flat node reads 1 (%x: !flow.rows<one, 4xf32, device>, %y: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{looks up "one", which is no index array}}
  %total = kern.total sum %y at node ["one"] : !flow.rows<one, 4xf32, device> -> !kern.acc<vector<4xf32>>
  kern.for node {
  }
}

// -----

kern.kernel @product_c1 gemm edge reads 1 (%w: !flow.rows<etype, 4x2xf32, device>, %y: !flow.rows<etype, 4x2xf32, device>) {
  kern.tile edge of <etype> height 8 {
    %rows = kern.buffer : !kern.buffer<edge, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<edge, vector<2xf32>>
    // expected-error @below {{needs a table that the kernel reads}}
    kern.product %rows, %y at etype [] to %result {heads = 1 : i64, inner = 4 : i64, outer = 2 : i64} : !kern.buffer<edge, vector<4xf32>>, !flow.rows<etype, 4x2xf32, device>, !kern.buffer<edge, vector<2xf32>>
  }
}

// -----

kern.kernel @product_c2 gemm edge reads 1 (%w: !flow.rows<etype, 4x2xf32, device>, %y: !flow.rows<etype, 4x2xf32, device>) {
  kern.tile edge of <etype> height 8 {
    %rows = kern.buffer : !kern.buffer<edge, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<edge, vector<2xf32>>
    // expected-error @below {{has rows of 4, a matrix of 8 and results of 2 numbers, which do not fit its sizes}}
    kern.product %rows, %w at etype [] to %result {heads = 1 : i64, inner = 3 : i64, outer = 2 : i64} : !kern.buffer<edge, vector<4xf32>>, !flow.rows<etype, 4x2xf32, device>, !kern.buffer<edge, vector<2xf32>>
  }
}

// -----

kern.kernel @product_c3 gemm edge reads 1 (%w: !flow.rows<etype, 4x2xf32, device>, %y: !flow.rows<etype, 4x2xf32, device>) {
  kern.tile edge of <etype> height 8 {
    %rows = kern.buffer : !kern.buffer<edge, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<edge, vector<2xf32>>
    // expected-error @below {{starts at a row of edge, but no loop around it has one}}
    kern.product %rows, %w at edge [] to %result {heads = 1 : i64, inner = 4 : i64, outer = 2 : i64} : !kern.buffer<edge, vector<4xf32>>, !flow.rows<etype, 4x2xf32, device>, !kern.buffer<edge, vector<2xf32>>
  }
}

// -----

kern.kernel @outer_c1 gemm edge reads 0 (%y: !flow.rows<etype, 4x2xf32, device>) {
  %total = kern.total sum %y at etype [] sorted : !flow.rows<etype, 4x2xf32, device> -> !kern.acc<vector<8xf32>>
  kern.tile edge of <etype> height 8 {
    %rows = kern.buffer : !kern.buffer<edge, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<edge, vector<2xf32>>
    // expected-error @below {{has rows of 4 and 2 and a total of 8 numbers, which do not fit its sizes}}
    kern.outer %rows, %result into %total {heads = 1 : i64, inner = 4 : i64, outer = 3 : i64} : !kern.buffer<edge, vector<4xf32>>, !kern.buffer<edge, vector<2xf32>>, !kern.acc<vector<8xf32>>
  }
}

// -----

kern.kernel @outer_c2 gemm edge reads 0 (%y: !flow.rows<etype, 4x2xf32, device>) {
  %acc = kern.acc sum : !kern.acc<vector<8xf32>>
  kern.tile edge of <etype> height 8 {
    %rows = kern.buffer : !kern.buffer<edge, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<edge, vector<2xf32>>
    // expected-error @below {{adds to an accumulator that is no total}}
    kern.outer %rows, %result into %acc {heads = 1 : i64, inner = 4 : i64, outer = 2 : i64} : !kern.buffer<edge, vector<4xf32>>, !kern.buffer<edge, vector<2xf32>>, !kern.acc<vector<8xf32>>
  }
}
