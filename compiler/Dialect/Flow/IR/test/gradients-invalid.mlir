// RUN: hector-opt %s --split-input-file --verify-diagnostics

func.func @weight_grad_c1(%x: !flow.rows<node, 2x4xf32, device>, %g: !flow.rows<edge, 3x2xf32, device>) {
  // expected-error @below {{cannot multiply rows of 2x4xf32 and 3x2xf32}}
  %w = flow.weight_grad %x[src], %g over edge via etype : <node, 2x4xf32, device>, <edge, 3x2xf32, device> -> <etype, 4x2xf32, device>
  return
}

// -----

func.func @weight_grad_c2_read(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<edge, 2xf32, device>) {
  // expected-error @below {{reads an input of domain node from edge through `self`}}
  %w = flow.weight_grad %x, %g over edge via etype : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  return
}

// -----

func.func @weight_grad_c2_via(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<edge, 2xf32, device>) {
  // expected-error @below {{sums from edge along `one`, which does not lead to etype}}
  %w = flow.weight_grad %x[src], %g over edge via one : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  return
}

// -----

func.func @weight_grad_c3(%x: !flow.rows<node, 4xf32, device>, %g: !flow.rows<edge, 2xf32, device>) {
  // expected-error @below {{gives rows of 4x2xf32 or 4x2xf32, but its result has 2x4xf32}}
  %w = flow.weight_grad %x[src], %g over edge via etype : <node, 4xf32, device>, <edge, 2xf32, device> -> <etype, 2x4xf32, device>
  return
}

// -----

func.func @weight_grad_c4(%x: !flow.rows<node, 4xf64, device>, %g: !flow.rows<edge, 2xf32, device>) {
  // expected-error @below {{has operands and a result of different kinds}}
  %w = flow.weight_grad %x[src], %g over edge via etype : <node, 4xf64, device>, <edge, 2xf32, device> -> <etype, 4x2xf32, device>
  return
}

// -----

func.func @first_index_c1(%a: !flow.rows<edge, f32, device>) {
  // expected-error @below {{goes along `self`, which groups nothing}}
  %m = flow.first_index %a, %a via self : <edge, f32, device>, <edge, f32, device> -> <edge, index, device>
  return
}

// -----

func.func @first_index_c2(%a: !flow.rows<edge, i1, device>, %t: !flow.rows<node, i1, device>) {
  // expected-error @below {{looks for numbers, but is given i1}}
  %m = flow.first_index %a, %t via dst : <edge, i1, device>, <node, i1, device> -> <node, index, device>
  return
}

// -----

func.func @is_row_c1(%w: !flow.rows<node, f32, device>) {
  // expected-error @below {{compares the numbers of rows and gives i1, but has operand and result of 'f32' and 'i1'}}
  %m = flow.is_row %w[dst] : <node, f32, device> -> <edge, i1, device>
  return
}

// -----

func.func @first_index_c3(%a: !flow.rows<edge, 2xf32, device>, %t: !flow.rows<node, 2xf32, device>) {
  // expected-error @below {{but its result has type '!flow.rows<node, 2xf32, device>'}}
  %m = flow.first_index %a, %t via dst : <edge, 2xf32, device>, <node, 2xf32, device> -> <node, 2xf32, device>
  return
}

// -----

func.func @row_first_match_c1(%x: !flow.rows<node, 4x8xf32, device>, %t: !flow.rows<node, 4xf32, device>) {
  // expected-error @below {{compares rows of 4x8xf32 with 4xf32}}
  %m = flow.row_first_match %x, %t {axis = 0 : i64} : <node, 4x8xf32, device>, <node, 4xf32, device> -> <node, 4x8xi1, device>
  return
}

// -----

func.func @row_first_match_c2(%x: !flow.rows<node, 4x8xf32, device>, %t: !flow.rows<node, 8xf32, device>) {
  // expected-error @below {{compares numbers of one type and gives i1}}
  %m = flow.row_first_match %x, %t {axis = 0 : i64} : <node, 4x8xf32, device>, <node, 8xf32, device> -> <node, 4x8xf32, device>
  return
}

// -----

func.func @chain_c1(%g: !flow.rows<node, 4xf32, device>, %f: !flow.rows<node, 3xf32, device>) {
  // expected-error @below {{cannot combine rows of 4xf32 and 3xf32 element by element}}
  %d = flow.chain %g, %f : <node, 4xf32, device>, <node, 3xf32, device> -> <node, 4xf32, device>
  return
}

// -----

func.func @weight_grad_c3_long(%a: !flow.rows<node, 2097152xf32, device>) {
  // expected-error @below {{gives rows of 2097152x2097152xf32 or 2097152x2097152xf32, but its result has 4x4xf32}}
  %r = flow.weight_grad %a, %a over node via one : <node, 2097152xf32, device>, <node, 2097152xf32, device> -> <one, 4x4xf32, device>
  return
}
