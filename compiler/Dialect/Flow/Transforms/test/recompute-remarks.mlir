// RUN: hector-opt %s --split-input-file --flow-recompute --verify-diagnostics

// What is rebuilt says what that saves. By hand, with 1 M edges and 0.1 M nodes: stored, each of the two loops reads or
// writes two tables of the nodes (0.8 MB), finds both ends (8 MB) and moves the edges' table (4 MB), which is kept (8 MB);
// 4 M operations are worth 0.5 MB: 34.1 MB. Rebuilt, the first loop moves 8.8 MB, the second 9.2 MB, and 5 M operations
// are worth 0.625 MB: 18.625 MB.
func.func @cheap(%s: !flow.rows<node, f32, device>, %g: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.forward_results = 1 : i64} {
  // expected-remark @+1 {{rebuilt where it is read: 18.62 MB instead of 34.1 MB}}
  %e = flow.exp %s[dst] : <node, f32, device> -> <edge, f32, device>
  %out = flow.reduce sum %e via src : <edge, f32, device> -> <node, f32, device>
  %b = flow.mul %g[src], %e : <node, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %d = flow.reduce sum %b via dst : <edge, f32, device> -> <node, f32, device>
  return %out, %d : !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// -----

// What stays says what it would have cost.
func.func @wide(%q: !flow.rows<node, 64xf32, device>, %k: !flow.rows<src_pair, 64xf32, device>, %g: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>) attributes {flow.forward_results = 1 : i64} {
  // expected-remark @+1 {{stored: 282 MB, and 410 MB if it were rebuilt where it is read}}
  %a = flow.dot %q[dst], %k[src_pair] : <node, 64xf32, device>, <src_pair, 64xf32, device> -> <edge, f32, device>
  %out = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
  %b = flow.mul %g[dst], %a : <node, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %dk = flow.reduce sum %b via src_pair : <edge, f32, device> -> <src_pair, f32, device>
  return %out, %dk : !flow.rows<node, f32, device>, !flow.rows<src_pair, f32, device>
}
