// Linear maps, dot and outer products.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @linear_c1(%a: !flow.rows<node, 8xf32, device>, %b: !flow.rows<one, 4x3xf32, device>) {
  // expected-error @below {{multiplies rows of 4 elements, but is given rows of 8}}
  %r = flow.linear %a, %b[one] : <node, 8xf32, device>, <one, 4x3xf32, device> -> <node, 3xf32, device>
  return
}

// -----

func.func @linear_c1_transposed(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<one, 4x3xf32, device>) {
  // expected-error @below {{multiplies rows of 3 elements, but is given rows of 4}}
  %r = flow.linear %a, %b[one] {transposed} : <node, 4xf32, device>, <one, 4x3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @linear_c2_rank(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<one, 4xf32, device>) {
  // expected-error @below {{needs rows of at least 1 and 2 axes, but is given 4xf32 and 4xf32}}
  %r = flow.linear %a, %b[one] : <node, 4xf32, device>, <one, 4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @linear_c2_scalar(%a: !flow.rows<node, f32, device>, %b: !flow.rows<one, 4x3xf32, device>) {
  // expected-error @below {{needs rows of at least 1 and 2 axes, but is given f32 and 4x3xf32}}
  %r = flow.linear %a, %b[one] : <node, f32, device>, <one, 4x3xf32, device> -> <node, 3xf32, device>
  return
}

// -----

func.func @linear_c2_heads(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<one, 5x4x3xf32, device>) {
  // expected-error @below {{needs equal leading sizes, but is given 2x4xf32 and 5x4x3xf32}}
  %r = flow.linear %a, %b[one] : <node, 2x4xf32, device>, <one, 5x4x3xf32, device> -> <node, 2x3xf32, device>
  return
}

// -----

func.func @linear_c3(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<one, 4x3xf32, device>) {
  // expected-error @below {{gives rows of 3xf32, but its result has 4xf32}}
  %r = flow.linear %a, %b[one] : <node, 4xf32, device>, <one, 4x3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @linear_c3_heads(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<one, 2x4x3xf32, device>) {
  // expected-error @below {{gives rows of 2x3xf32, but its result has 3xf32}}
  %r = flow.linear %a, %b[one] : <node, 4xf32, device>, <one, 2x4x3xf32, device> -> <node, 3xf32, device>
  return
}

// -----

func.func @linear_c4_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<one, 4x3xbf16, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'bf16'}}
  %r = flow.linear %a, %b[one] : <node, 4xf32, device>, <one, 4x3xbf16, device> -> <node, 3xf32, device>
  return
}

// -----

func.func @linear_c4_truth(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<one, 4x3xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.linear %a, %b[one] : <node, 4xi1, device>, <one, 4x3xi1, device> -> <node, 3xi1, device>
  return
}

// -----

func.func @dot_c1(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{needs rows of one length, but is given 4 and 3}}
  %r = flow.dot %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, f32, device>
  return
}

// -----

func.func @dot_c2_scalar(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, f32, device>) {
  // expected-error @below {{needs rows of at least 1 and 1 axes, but is given 4xf32 and f32}}
  %r = flow.dot %a, %b : <node, 4xf32, device>, <node, f32, device> -> <node, f32, device>
  return
}

// -----

func.func @dot_c2_heads(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<node, 3x4xf32, device>) {
  // expected-error @below {{needs equal leading sizes, but is given 2x4xf32 and 3x4xf32}}
  %r = flow.dot %a, %b : <node, 2x4xf32, device>, <node, 3x4xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @dot_c2_result(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 2xf32, but its result has f32}}
  %r = flow.dot %a, %b : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, f32, device>
  return
}

// -----

func.func @dot_c3_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f64'}}
  %r = flow.dot %a, %b : <node, 4xf32, device>, <node, 4xf64, device> -> <node, f32, device>
  return
}

// -----

func.func @dot_c3_truth(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.dot %a, %b : <node, 4xi1, device>, <node, 4xi1, device> -> <node, i1, device>
  return
}

// -----

func.func @outer_c1(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, f32, device>) {
  // expected-error @below {{needs rows of at least 1 and 1 axes, but is given 4xf32 and f32}}
  %r = flow.outer %a, %b : <node, 4xf32, device>, <node, f32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @outer_c2(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<node, 3x4xf32, device>) {
  // expected-error @below {{needs equal leading sizes, but is given 2x4xf32 and 3x4xf32}}
  %r = flow.outer %a, %b : <node, 2x4xf32, device>, <node, 3x4xf32, device> -> <node, 2x4x4xf32, device>
  return
}

// -----

func.func @outer_c3(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{gives rows of 4x3xf32, but its result has 3x4xf32}}
  %r = flow.outer %a, %b : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 3x4xf32, device>
  return
}

// -----

func.func @outer_c4_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 3xf64, device>) {
  // expected-error @below {{has a result of 'f32', but operand 1 of 'f64'}}
  %r = flow.outer %a, %b : <node, 4xf32, device>, <node, 3xf64, device> -> <node, 4x3xf32, device>
  return
}

// -----

func.func @outer_c4_truth(%a: !flow.rows<node, 4xi1, device>, %b: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.outer %a, %b : <node, 4xi1, device>, <node, 4xi1, device> -> <node, 4x4xi1, device>
  return
}

// -----

func.func @outer_c3_long(%a: !flow.rows<node, 2097152xf32, device>) {
  // expected-error @below {{gives rows of 2097152x2097152xf32, but its result has 4x4xf32}}
  %r = flow.outer %a, %a : <node, 2097152xf32, device>, <node, 2097152xf32, device> -> <node, 4x4xf32, device>
  return
}
