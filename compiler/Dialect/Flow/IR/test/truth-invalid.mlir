// Comparisons, truth values, and choosing by them.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @less_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.less %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @less_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has 3xi1}}
  %r = flow.less %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 3xi1, device>
  return
}

// -----

func.func @less_c2_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives i1, but its result holds 'f32'}}
  %r = flow.less %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @less_c2_operands(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{compares 'f32' with 'f64'}}
  %r = flow.less %a, %b : <node, 4xf32, device>, <node, 4xf64, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @less_equal_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.less_equal %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @less_equal_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has 3xi1}}
  %r = flow.less_equal %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 3xi1, device>
  return
}

// -----

func.func @less_equal_c2_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives i1, but its result holds 'f32'}}
  %r = flow.less_equal %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @less_equal_c2_operands(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{compares 'f32' with 'f64'}}
  %r = flow.less_equal %a, %b : <node, 4xf32, device>, <node, 4xf64, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @equal_c1_sizes(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %r = flow.equal %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @equal_c1_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has 3xi1}}
  %r = flow.equal %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 3xi1, device>
  return
}

// -----

func.func @equal_c2_result(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives i1, but its result holds 'f32'}}
  %r = flow.equal %a, %b : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @equal_c2_operands(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{compares 'f32' with 'f64'}}
  %r = flow.equal %a, %b : <node, 4xf32, device>, <node, 4xf64, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @and_c1_sizes(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 3xi1, device>) {
  // expected-error @below {{cannot combine rows of 4xi1 and 3xi1 element by element}}
  %r = flow.and %a, %b : <node, 4xi1, device>, <node, 3xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @and_c1_result(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has i1}}
  %r = flow.and %a, %b : <node, 4xi1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @and_c2_operand(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{works on i1, but is given 'f32'}}
  %r = flow.and %a, %b : <node, 4xf32, device>, <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @and_c2_result(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{works on i1, but is given 'f32'}}
  %r = flow.and %a, %b : <node, 4xi1, device>, <node, 4xi1, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @or_c1_sizes(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 3xi1, device>) {
  // expected-error @below {{cannot combine rows of 4xi1 and 3xi1 element by element}}
  %r = flow.or %a, %b : <node, 4xi1, device>, <node, 3xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @or_c1_result(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, i1, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has i1}}
  %r = flow.or %a, %b : <node, 4xi1, device>, <node, i1, device> -> <node, i1, device>
  return
}

// -----

func.func @or_c2_operand(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{works on i1, but is given 'f32'}}
  %r = flow.or %a, %b : <node, 4xf32, device>, <node, 4xi1, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @or_c2_result(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{works on i1, but is given 'f32'}}
  %r = flow.or %a, %b : <node, 4xi1, device>, <node, 4xi1, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @not_c1_shape(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{gives rows of 4xi1, but its result has i1}}
  %r = flow.not %a : <node, 4xi1, device> -> <node, i1, device>
  return
}

// -----

func.func @not_c1_type(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{works on i1, but is given 'f32'}}
  %r = flow.not %a : <node, 4xf32, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @cast_c1_shape(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 8xf32}}
  %r = flow.cast %a : <node, 4xi1, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @cast_c1_truth(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives numbers, but its result holds i1}}
  %r = flow.cast %a : <node, 4xf32, device> -> <node, 4xi1, device>
  return
}

// -----

func.func @select_c1_sizes(%a: !flow.rows<node, 3xi1, device>, %b: !flow.rows<node, 4xf32, device>, %c: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{cannot combine rows of 3xi1 and 4xf32 element by element}}
  %r = flow.select %a, %b, %c : <node, 3xi1, device>, <node, 4xf32, device>, <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @select_c1_result(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, 4xf32, device>, %c: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has f32}}
  %r = flow.select %a, %b, %c : <node, i1, device>, <node, 4xf32, device>, <node, 4xf32, device> -> <node, f32, device>
  return
}

// -----

func.func @select_c2_condition(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>, %c: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{chooses by i1, but is given 'f32'}}
  %r = flow.select %a, %b, %c : <node, 4xf32, device>, <node, 4xf32, device>, <node, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @select_c2_type(%a: !flow.rows<node, i1, device>, %b: !flow.rows<node, 4xf32, device>, %c: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but chooses from 'f64'}}
  %r = flow.select %a, %b, %c : <node, i1, device>, <node, 4xf32, device>, <node, 4xf64, device> -> <node, 4xf32, device>
  return
}
