// RUN: hector-opt %s --split-input-file --flow-compact-rows --verify-diagnostics

// What moves says how many rows it saves.
func.func @fewer(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #flow.graph<nodes = 6, edges = 9, srcPairs = 7, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1>} {
  // expected-remark @+1 {{computed at node (6 rows) instead of edge (9 rows)}}
  %y = flow.exp %x[src] : <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

// Where every coarser domain has as many rows or more, nothing moves.
func.func @no_fewer(%x: !flow.rows<node, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #flow.graph<nodes = 99, edges = 9, srcPairs = 9, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1>} {
  // expected-remark @+1 {{stays at edge (9 rows): node (99 rows) has no fewer rows}}
  %y = flow.exp %x[src] : <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}
