// The canonical forms: dense ops read through maps, spreads are single.
// RUN: hector-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @read_through_spread(
func.func @read_through_spread(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %s = flow.spread %x via src : <node, 4xf32, device> -> <edge, 4xf32, device>
  %d = flow.spread %x via dst : <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.add %arg0[src], %arg0[dst]
  %r = flow.add %s, %d : <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// CHECK-LABEL: func.func @read_through_composed_map(
func.func @read_through_composed_map(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %p = flow.spread %x via node : <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.relu %arg0[dst]
  %r = flow.relu %p[dst_pair] : <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// CHECK-LABEL: func.func @read_types_through_ends(
func.func @read_types_through_ends(%x: !flow.rows<ntype, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %n = flow.spread %x via ntype : <ntype, 4xf32, device> -> <node, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.sub %arg0[src_ntype], %arg0[dst_ntype]
  %r = flow.sub %n[src], %n[dst] : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// CHECK-LABEL: func.func @read_variadic(
func.func @read_variadic(%x: !flow.rows<node, 4xf32, device>, %e: !flow.rows<edge, 4xf32, device>) -> !flow.rows<edge, 12xf32, device> {
  %s = flow.spread %x via src : <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.concat %arg0[src], %arg1, %arg0[src]
  %r = flow.concat %s, %e, %s {axis = 0 : i64} : <edge, 4xf32, device>, <edge, 4xf32, device>, <edge, 4xf32, device> -> <edge, 12xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 12xf32, device>
}

// CHECK-LABEL: func.func @compose_spreads(
func.func @compose_spreads(%x: !flow.rows<one, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %t = flow.spread %x via one : <one, 4xf32, device> -> <ntype, 4xf32, device>
  %n = flow.spread %t via ntype : <ntype, 4xf32, device> -> <node, 4xf32, device>
  %p = flow.spread %n via node : <node, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.spread %arg0 via one
  %r = flow.spread %p via src_pair : <src_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// CHECK-LABEL: func.func @compose_spreads_to_types(
func.func @compose_spreads_to_types(%x: !flow.rows<ntype, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %t = flow.spread %x via dst_ntype : <ntype, 4xf32, device> -> <etype, 4xf32, device>
  %p = flow.spread %t via etype : <etype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.spread %arg0 via dst_ntype
  %r = flow.spread %p via dst_pair : <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// A reduction collects rows that exist, so its operand stays spread.
// CHECK-LABEL: func.func @reduce_keeps_its_spread(
func.func @reduce_keeps_its_spread(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  // CHECK-NEXT: %[[S:.*]] = flow.spread %arg0 via src
  %s = flow.spread %x via src : <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.reduce sum %[[S]] via dst
  %r = flow.reduce sum %s via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<node, 4xf32, device>
}

// CHECK-LABEL: func.func @sum_of_products(
func.func @sum_of_products(%x: !flow.rows<node, 2x4xf32, device>, %e: !flow.rows<edge, 2x4xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %p = flow.mul %x[src], %e : <node, 2x4xf32, device>, <edge, 2x4xf32, device> -> <edge, 2x4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.dot %arg0[src], %arg1 : <node, 2x4xf32, device>, <edge, 2x4xf32, device> -> <edge, 2xf32, device>
  %r = flow.row_reduce %p {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <edge, 2x4xf32, device> -> <edge, 2xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 2xf32, device>
}

// The gradient stays the left operand; an operand without heads serves all of them.
// CHECK-LABEL: func.func @sum_of_chain(
func.func @sum_of_chain(%g: !flow.rows<node, 2x4xf32, device>, %w: !flow.rows<etype, 1x4xf32, device>) -> !flow.rows<edge, 2xf32, device> {
  %p = flow.chain %g[dst], %w[etype] : <node, 2x4xf32, device>, <etype, 1x4xf32, device> -> <edge, 2x4xf32, device>
  // CHECK-NEXT: %[[W:.*]] = flow.reshape %arg1 : <etype, 1x4xf32, device> -> <etype, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.dot %arg0[dst], %[[W]][etype] {guarded} : <node, 2x4xf32, device>, <etype, 4xf32, device> -> <edge, 2xf32, device>
  %r = flow.row_reduce %p {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <edge, 2x4xf32, device> -> <edge, 2xf32, device>
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 2xf32, device>
}

// A product that is read twice is kept, as are means, sums along other axes, and factors that lack the summed axis.
// CHECK-LABEL: func.func @other_sums(
// CHECK-NOT: flow.dot
func.func @other_sums(%x: !flow.rows<node, 2x4xf32, device>, %s: !flow.rows<node, 2x1xf32, device>) -> (!flow.rows<node, 2x4xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 2xf32, device>) {
  %p = flow.mul %x, %x : <node, 2x4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  %a = flow.row_reduce %p {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  %c = flow.chain %x, %x : <node, 2x4xf32, device>, <node, 2x4xf32, device> -> <node, 2x4xf32, device>
  %b = flow.row_reduce %c {axis = 1 : i64, kind = #flow.reduce_kind<mean>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  %q = flow.chain %x, %s : <node, 2x4xf32, device>, <node, 2x1xf32, device> -> <node, 2x4xf32, device>
  %d = flow.row_reduce %q {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  %t = flow.mul %x, %s : <node, 2x4xf32, device>, <node, 2x1xf32, device> -> <node, 2x4xf32, device>
  %e = flow.row_reduce %t {axis = 1 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  return %p, %a, %b, %d, %e : !flow.rows<node, 2x4xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 2xf32, device>, !flow.rows<node, 4xf32, device>, !flow.rows<node, 2xf32, device>
}

// What is made of constants alone is made once, whatever rows it is wanted for.
// CHECK-LABEL: func.func @constants_of_edges(
func.func @constants_of_edges(%x: !flow.rows<edge, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %a = flow.constant 1.0 : <one, f32, device>
  %b = flow.constant 8.0 : <one, f32, device>
  %c = flow.div %a[one], %b[one] : <one, f32, device>, <one, f32, device> -> <edge, f32, device>
  %r = flow.mul %x, %c : <edge, 4xf32, device>, <edge, f32, device> -> <edge, 4xf32, device>
  // CHECK: %[[C:.*]] = flow.constant 1.250000e-01
  // CHECK-NEXT: %[[R:.*]] = flow.mul %arg0, %[[C]][one]
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// CHECK-LABEL: func.func @row_of_constants(
func.func @row_of_constants(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<edge, 4xf32, device> {
  %a = flow.constant 2.0 : <one, f32, device>
  %e = flow.expand %a[one] : <one, f32, device> -> <node, 4xf32, device>
  %r = flow.max %x[src], %e[dst] : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: %[[E:.*]] = flow.expand {{.*}} -> <one, 4xf32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.max %arg0[src], %[[E]][one]
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, 4xf32, device>
}

// A parameter is no constant.
// CHECK-LABEL: func.func @parameters_of_edges(
func.func @parameters_of_edges(%b: !flow.rows<one, f32, device>) -> !flow.rows<edge, f32, device> {
  %r = flow.add %b[one], %b[one] : <one, f32, device>, <one, f32, device> -> <edge, f32, device>
  // CHECK-NEXT: %[[R:.*]] = flow.add %arg0[one], %arg0[one]
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<edge, f32, device>
}

// CHECK-LABEL: func.func @mean_of_a_constant_at_pairs(
func.func @mean_of_a_constant_at_pairs(%x: !flow.rows<dst_pair, f32, device>) -> !flow.rows<dst_pair, f32, device> {
  %a = flow.constant 2.0 : <one, f32, device>
  %e = flow.spread %a via one : <one, f32, device> -> <edge, f32, device>
  %m = flow.reduce mean %e via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  %r = flow.mul %x, %m : <dst_pair, f32, device>, <dst_pair, f32, device> -> <dst_pair, f32, device>
  // CHECK: %[[C:.*]] = flow.constant 2.000000e+00
  // CHECK-NEXT: %[[R:.*]] = flow.mul %arg0, %[[C]][one]
  // CHECK-NEXT: return %[[R]]
  return %r : !flow.rows<dst_pair, f32, device>
}

// Nodes that no edge leads to have a mean of 0.
// CHECK-LABEL: func.func @mean_of_a_constant_at_nodes(
func.func @mean_of_a_constant_at_nodes(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {
  %a = flow.constant 2.0 : <one, f32, device>
  %e = flow.spread %a via one : <one, f32, device> -> <edge, f32, device>
  %m = flow.reduce mean %e via dst : <edge, f32, device> -> <node, f32, device>
  %r = flow.mul %x, %m : <node, f32, device>, <node, f32, device> -> <node, f32, device>
  // CHECK: flow.reduce mean
  return %r : !flow.rows<node, f32, device>
}

// One over the number of a pair's edges is neither inf nor NaN: a gradient of 0 need not be looked for.
// CHECK-LABEL: func.func @chain_of_share(
// CHECK: %[[C:.*]] = flow.div
// CHECK: %[[M:.*]] = flow.mul %arg0[dst], %[[C]]
// CHECK: %[[P:.*]] = flow.div
// CHECK: %[[Q:.*]] = flow.mul %arg0[dst], %[[P]][dst_pair]
// CHECK: return %[[M]], %[[Q]]
func.func @chain_of_share(%g: !flow.rows<node, 4xf32, device>) -> (!flow.rows<edge, 4xf32, device>, !flow.rows<edge, 4xf32, device>) {
  %one = flow.constant 1.0 : <one, f32, device>
  %ones = flow.spread %one via one : <one, f32, device> -> <edge, f32, device>
  %n = flow.reduce sum %ones via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  %pairs = flow.spread %one via one : <one, f32, device> -> <dst_pair, f32, device>
  %k = flow.reduce sum %pairs via node : <dst_pair, f32, device> -> <node, f32, device>
  %b = flow.mul %n[dst_pair], %k[dst] : <dst_pair, f32, device>, <node, f32, device> -> <edge, f32, device>
  %c = flow.div %one[one], %b : <one, f32, device>, <edge, f32, device> -> <edge, f32, device>
  %m = flow.chain %g[dst], %c : <node, 4xf32, device>, <edge, f32, device> -> <edge, 4xf32, device>
  %d = flow.div %one[one], %n : <one, f32, device>, <dst_pair, f32, device> -> <dst_pair, f32, device>
  %q = flow.chain %g[dst], %d[dst_pair] : <node, 4xf32, device>, <dst_pair, f32, device> -> <edge, 4xf32, device>
  return %m, %q : !flow.rows<edge, 4xf32, device>, !flow.rows<edge, 4xf32, device>
}

// A node without edges divides by 0.
// CHECK-LABEL: func.func @chain_of_nothing(
// CHECK: flow.chain
func.func @chain_of_nothing(%g: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xf32, device> {
  %one = flow.constant 1.0 : <one, f32, device>
  %ones = flow.spread %one via one : <one, f32, device> -> <edge, f32, device>
  %n = flow.reduce sum %ones via dst : <edge, f32, device> -> <node, f32, device>
  %d = flow.div %one[one], %n : <one, f32, device>, <node, f32, device> -> <node, f32, device>
  %q = flow.chain %g, %d : <node, 4xf32, device>, <node, f32, device> -> <node, 4xf32, device>
  return %q : !flow.rows<node, 4xf32, device>
}
