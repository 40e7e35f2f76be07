// Ops that look inside a row.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @row_reduce_c1(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{names axis 2, but operand 0 has 2}}
  %r = flow.row_reduce %a {axis = 2 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @row_reduce_c1_negative(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{names axis -1, but operand 0 has 2}}
  %r = flow.row_reduce %a {axis = -1 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @row_reduce_c2(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{gives rows of 4xf32, but its result has 2xf32}}
  %r = flow.row_reduce %a {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @row_reduce_c3_type(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{has a result of 'f64', but operand 0 of 'f32'}}
  %r = flow.row_reduce %a {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 4xf64, device>
  return
}

// -----

func.func @row_reduce_c3_truth(%a: !flow.rows<node, 4xi1, device>) {
  // expected-error @below {{computes with numbers, but its result holds i1}}
  %r = flow.row_reduce %a {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 4xi1, device> -> <node, i1, device>
  return
}

// -----

func.func @expand_c1_size(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot repeat rows of 2x4xf32 to 3x4xf32}}
  %r = flow.expand %a : <node, 2x4xf32, device> -> <node, 3x4xf32, device>
  return
}

// -----

func.func @expand_c1_rank(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{cannot repeat rows of 4xf32 to 2x4xf32}}
  %r = flow.expand %a : <node, 4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @expand_c1_shrink(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{cannot repeat rows of 2x4xf32 to 1x4xf32}}
  %r = flow.expand %a : <node, 2x4xf32, device> -> <node, 1x4xf32, device>
  return
}

// -----

func.func @expand_c2(%a: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{has a result of 'f64', but an operand of 'f32'}}
  %r = flow.expand %a : <node, 4xf32, device> -> <node, 4xf64, device>
  return
}

// -----

func.func @reshape_c1(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{keeps the numbers of a row, but there are 8 before and 6 after}}
  %r = flow.reshape %a : <node, 2x4xf32, device> -> <node, 6xf32, device>
  return
}

// -----

func.func @reshape_c2(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{has a result of 'f16', but an operand of 'f32'}}
  %r = flow.reshape %a : <node, 2x4xf32, device> -> <node, 8xf16, device>
  return
}

// -----

func.func @transpose_c1_twice(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{names axis 0 twice or beyond the 2 axes of its operand}}
  %r = flow.transpose %a {permutation = array<i64: 0, 0>} : <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @transpose_c1_beyond(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{names axis 2 twice or beyond the 2 axes of its operand}}
  %r = flow.transpose %a {permutation = array<i64: 0, 2>} : <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @transpose_c1_few(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{permutes 1 axes, but its operand has 2}}
  %r = flow.transpose %a {permutation = array<i64: 0>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @transpose_c2(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{gives rows of 4x2xf32, but its result has 2x4xf32}}
  %r = flow.transpose %a {permutation = array<i64: 1, 0>} : <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @transpose_c3(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{has a result of 'f64', but an operand of 'f32'}}
  %r = flow.transpose %a {permutation = array<i64: 1, 0>} : <node, 2x4xf32, device> -> <node, 4x2xf64, device>
  return
}

// -----

func.func @slice_c1(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{names axis 2, but operand 0 has 2}}
  %r = flow.slice %a {axis = 2 : i64, offset = 0 : i64} : <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  return
}

// -----

func.func @slice_c2_end(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{takes 3 from 2 on, but the axis has 4}}
  %r = flow.slice %a {axis = 1 : i64, offset = 2 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf32, device>
  return
}

// -----

func.func @slice_c2_start(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{takes 3 from -1 on, but the axis has 4}}
  %r = flow.slice %a {axis = 1 : i64, offset = -1 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf32, device>
  return
}

// -----

func.func @slice_c2_far(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{takes 3 from 9223372036854775807 on, but the axis has 4}}
  %r = flow.slice %a {axis = 1 : i64, offset = 9223372036854775807 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf32, device>
  return
}

// -----

func.func @slice_c3_rank(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{keeps 2 axes, but its result has 1}}
  %r = flow.slice %a {axis = 1 : i64, offset = 0 : i64} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @slice_c3_sizes(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{gives rows of 2x3xf32, but its result has 1x3xf32}}
  %r = flow.slice %a {axis = 1 : i64, offset = 0 : i64} : <node, 2x4xf32, device> -> <node, 1x3xf32, device>
  return
}

// -----

func.func @slice_c3_type(%a: !flow.rows<node, 2x4xf32, device>) {
  // expected-error @below {{has a result of 'f64', but an operand of 'f32'}}
  %r = flow.slice %a {axis = 1 : i64, offset = 0 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf64, device>
  return
}

// -----

func.func @concat_c1_nothing() {
  // expected-error @below {{needs at least one operand}}
  %r = "flow.concat"() {maps = [], axis = 0 : i64} : () -> !flow.rows<node, 4xf32, device>
  return
}

// -----

func.func @concat_c1_axis(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{names axis 1, but operand 0 has 1}}
  %r = flow.concat %a, %b {axis = 1 : i64} : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 8xf32, device>
  return
}

// -----

func.func @concat_c1_other(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{names axis 1, but operand 1 has 1}}
  %r = flow.concat %a, %b {axis = 1 : i64} : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, 2x8xf32, device>
  return
}

// -----

func.func @concat_c2_sum(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{gives rows of 8xf32, but its result has 9xf32}}
  %r = flow.concat %a, %b {axis = 0 : i64} : <node, 4xf32, device>, <node, 4xf32, device> -> <node, 9xf32, device>
  return
}

// -----

func.func @concat_c2_sizes(%a: !flow.rows<node, 2x4xf32, device>, %b: !flow.rows<node, 3x4xf32, device>) {
  // expected-error @below {{cannot put rows of 3x4xf32 beside 2x4xf32}}
  %r = flow.concat %a, %b {axis = 1 : i64} : <node, 2x4xf32, device>, <node, 3x4xf32, device> -> <node, 2x8xf32, device>
  return
}

// -----

func.func @concat_c2_type(%a: !flow.rows<node, 4xf32, device>, %b: !flow.rows<node, 4xf64, device>) {
  // expected-error @below {{cannot put rows of 4xf64 beside 4xf32}}
  %r = flow.concat %a, %b {axis = 0 : i64} : <node, 4xf32, device>, <node, 4xf64, device> -> <node, 8xf32, device>
  return
}
