// RUN: hector-opt %s --flow-join-sums --split-input-file --verify-diagnostics

func.func @joined(%x: !flow.rows<src_pair, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<node, 8xf32, device> {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %b = flow.linear %x, %w[etype] {transposed} : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  // expected-remark @below {{2 sums are one: their rows are added before}}
  %1 = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %3 = flow.add %1, %2 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %3 : !flow.rows<node, 8xf32, device>
}

// -----

func.func @read_elsewhere(%x: !flow.rows<src_pair, 8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> (!flow.rows<node, 8xf32, device>, !flow.rows<src_pair, 8xf32, device>) {
  %a = flow.linear %x, %w[etype] : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %b = flow.linear %x, %w[etype] {transposed} : <src_pair, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  %1 = flow.reduce sum %a via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  %2 = flow.reduce sum %b via node : <src_pair, 8xf32, device> -> <node, 8xf32, device>
  // expected-remark @below {{a sum is not joined with another one: its product is read elsewhere too}}
  %3 = flow.add %1, %2 : <node, 8xf32, device>, <node, 8xf32, device> -> <node, 8xf32, device>
  return %3, %b : !flow.rows<node, 8xf32, device>, !flow.rows<src_pair, 8xf32, device>
}
