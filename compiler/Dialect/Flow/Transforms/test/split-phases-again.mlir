// Functions that are split already stay as they are, and so do their parts.
// RUN: hector-opt %s --flow-form-groups --flow-split-phases -o %t.once
// RUN: hector-opt %t.once --flow-split-phases | diff %t.once -

func.func @f(%x: !flow.rows<node, f32, device>, %w: !flow.rows<one, f32, device>) -> !flow.rows<node, f32, device> {
  %v = flow.exp %w : <one, f32, device> -> <one, f32, device>
  %y = flow.mul %x, %v[one] : <node, f32, device>, <one, f32, device> -> <node, f32, device>
  return %y : !flow.rows<node, f32, device>
}
