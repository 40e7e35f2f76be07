// RUN: hector-opt %s --split-input-file --flow-linear-reorder --verify-diagnostics

func.func @read_twice(%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %a: !flow.rows<etype, 4xf32, device>) -> (!flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>) {
  %y = flow.linear %x[node], %w[etype] : <node, 8xf32, device>, <etype, 8x4xf32, device> -> <src_pair, 4xf32, device>
  // expected-remark @below {{not reordered: another op reads this product; 80 us now, 160.1 us then}}
  %s = flow.dot %y, %a[etype] : <src_pair, 4xf32, device>, <etype, 4xf32, device> -> <src_pair, f32, device>
  return %y, %s : !flow.rows<src_pair, 4xf32, device>, !flow.rows<src_pair, f32, device>
}

// -----

// More relations than nodes to save.
func.func @many_relations(%x: !flow.rows<node, 8xf32, device>, %v: !flow.rows<ntype, 8x8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<src_pair, 8xf32, device> attributes {flow.graph = #flow.graph<nodes = 1000, edges = 9000, srcPairs = 1500, dstPairs = 2000, relations = 474, nodeTypes = 3, uniform = 1>} {
  %y = flow.linear %x, %v[ntype] : <node, 8xf32, device>, <ntype, 8x8xf32, device> -> <node, 8xf32, device>
  // expected-remark @below {{not reordered: 9.7 us now, 17.83 us then}}
  %z = flow.linear %y[node], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  return %z : !flow.rows<src_pair, 8xf32, device>
}

// -----

// Where a relation may join several node types, the product of the weights would be one for each pair.
func.func @several_types(%x: !flow.rows<node, 8xf32, device>, %v: !flow.rows<ntype, 8x8xf32, device>, %w: !flow.rows<etype, 8x8xf32, device>) -> !flow.rows<src_pair, 8xf32, device> attributes {flow.graph = #flow.graph<nodes = 1000, edges = 9000, srcPairs = 1500, dstPairs = 2000, relations = 5, nodeTypes = 3, uniform = 0>} {
  %y = flow.linear %x, %v[ntype] : <node, 8xf32, device>, <ntype, 8x8xf32, device> -> <node, 8xf32, device>
  // expected-remark @below {{not reordered: 9.7 us now, 53.7 us then}}
  %z = flow.linear %y[node], %w[etype] : <node, 8xf32, device>, <etype, 8x8xf32, device> -> <src_pair, 8xf32, device>
  return %z : !flow.rows<src_pair, 8xf32, device>
}

// -----

// A sum of what is at the same place as the product stays one product.
func.func @sum_in_place(%a: !flow.rows<edge, 8xf32, device>, %b: !flow.rows<edge, 8xf32, device>, %w: !flow.rows<one, 8x4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %s = flow.add %a, %b : <edge, 8xf32, device>, <edge, 8xf32, device> -> <edge, 8xf32, device>
  // expected-remark @below {{not reordered: 3400 us now, 6500 us then}}
  %y = flow.linear %s, %w[one] : <edge, 8xf32, device>, <one, 8x4xf32, device> -> <edge, 4xf32, device>
  return %y : !flow.rows<edge, 4xf32, device>
}
