// RUN: hector-opt %s --split-input-file --flow-differentiate --cse | FileCheck %s
// RUN: hector-opt %s --split-input-file --flow-differentiate --canonicalize --cse -o /dev/null

// A read along a map becomes a sum along it; the weights' gradient is one op, and no edge × 4 × 2 table exists.
// CHECK-LABEL: func.func @typed_linear
// CHECK-SAME: %[[X:.*]]: !flow.rows<node, 4xf64, device> {flow.name = "x"}
// CHECK-SAME: %[[W:.*]]: !flow.rows<etype, 4x2xf64, device> {flow.name = "w"}
// CHECK-SAME: %[[G:.*]]: !flow.rows<edge, 2xf64, device> {flow.name = "grad.y"}
// CHECK-SAME: {flow.name = "y"}
// CHECK-SAME: {flow.name = "grad.x"}
// CHECK-SAME: {flow.name = "grad.w"}
// CHECK: %[[Y:.*]] = flow.linear
// CHECK-NEXT: %[[DE:.*]] = flow.linear %[[G]], %[[W]][etype] {guarded, transposed}
// CHECK-NEXT: %[[DX:.*]] = flow.reduce sum %[[DE]] via src
// CHECK-NEXT: %[[DW:.*]] = flow.weight_grad %[[X]][src], %[[G]] over edge via etype
// CHECK-NEXT: return %[[Y]], %[[DX]], %[[DW]]
func.func @typed_linear(%x: !flow.rows<node, 4xf64, device> {flow.name = "x"},
                        %w: !flow.rows<etype, 4x2xf64, device> {flow.name = "w"})
    -> (!flow.rows<edge, 2xf64, device> {flow.name = "y"}) {
  %y = flow.linear %x[src], %w[etype] : <node, 4xf64, device>, <etype, 4x2xf64, device> -> <edge, 2xf64, device>
  return %y : !flow.rows<edge, 2xf64, device>
}

// -----

// The gradient of a sum is read along its map where it is needed; no edge table is made for it.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[A:.*]]: !flow.rows<edge, 3xf64, device>
// CHECK-SAME: %[[G:[a-z0-9]+]]: !flow.rows<node, 3xf64, device> {flow.name = "grad.y"}
// CHECK: %[[E:.*]] = flow.exp %[[A]]
// CHECK: flow.reduce sum
// CHECK-NEXT: %[[DA:.*]] = flow.chain %[[G]][dst], %[[E]]
// CHECK-NEXT: return %{{.*}}, %[[DA]]
func.func @sum(%a: !flow.rows<edge, 3xf64, device> {flow.name = "a"})
    -> (!flow.rows<node, 3xf64, device> {flow.name = "y"}) {
  %e = flow.exp %a : <edge, 3xf64, device> -> <edge, 3xf64, device>
  %y = flow.reduce sum %e via dst : <edge, 3xf64, device> -> <node, 3xf64, device>
  return %y : !flow.rows<node, 3xf64, device>
}

// -----

// A mean divides by the number of rows, which the graph alone decides.
// CHECK-LABEL: func.func @mean
// CHECK: %[[ONES:.*]] = flow.spread %{{.*}} via one
// CHECK-NEXT: %[[N:.*]] = flow.reduce sum %[[ONES]] via dst
// CHECK-NEXT: %[[DA:.*]] = flow.div %{{.*}}[dst], %[[N]][dst]
// CHECK-NEXT: return %{{.*}}, %[[DA]]
func.func @mean(%a: !flow.rows<edge, 3xf64, device> {flow.name = "a"})
    -> (!flow.rows<node, 3xf64, device> {flow.name = "y"}) {
  %y = flow.reduce mean %a via dst : <edge, 3xf64, device> -> <node, 3xf64, device>
  return %y : !flow.rows<node, 3xf64, device>
}

// -----

// The first row that gave the maximum takes the gradient.
// CHECK-LABEL: func.func @max
// CHECK: %[[Y:.*]] = flow.reduce max %[[A:.*]] via dst
// CHECK: %[[WINNER:.*]] = flow.first_index %[[A]], %[[Y]] via dst
// CHECK: %[[FIRST:.*]] = flow.is_row %[[WINNER]][dst]
// CHECK: %[[DA:.*]] = flow.select %[[FIRST]], %{{.*}}[dst], %{{.*}}[one]
// CHECK-NEXT: return %[[Y]], %[[DA]]
func.func @max(%a: !flow.rows<edge, 3xf64, device> {flow.name = "a"})
    -> (!flow.rows<node, 3xf64, device> {flow.name = "y"}) {
  %y = flow.reduce max %a via dst : <edge, 3xf64, device> -> <node, 3xf64, device>
  return %y : !flow.rows<node, 3xf64, device>
}

// -----

// What is repeated forward is summed backward: over heads, along axes of size 1, and over all rows of a shared table.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: %[[X:.*]]: !flow.rows<node, 2x3xf64, device> {flow.name = "x"}
// CHECK-SAME: %[[G:[a-z0-9]+]]: !flow.rows<node, 2x3xf64, device> {flow.name = "grad.y"}
// CHECK: %[[P:.*]] = flow.chain %[[G]], %[[X]]
// CHECK-NEXT: %[[S:.*]] = flow.row_reduce %[[P]] {axis = 1 : i64, kind = {{.*}}sum
// CHECK-NEXT: %[[R:.*]] = flow.reshape %[[S]]
// CHECK-NEXT: %[[DB:.*]] = flow.reduce sum %[[R]] via one
// CHECK-NEXT: return %{{.*}}, %{{.*}}, %[[DB]]
func.func @broadcast(%x: !flow.rows<node, 2x3xf64, device> {flow.name = "x"},
                     %b: !flow.rows<one, 2x1xf64, device> {flow.name = "b"})
    -> (!flow.rows<node, 2x3xf64, device> {flow.name = "y"}) {
  %y = flow.mul %x, %b[one] : <node, 2x3xf64, device>, <one, 2x1xf64, device> -> <node, 2x3xf64, device>
  return %y : !flow.rows<node, 2x3xf64, device>
}

// -----

// A value used twice accumulates.
// CHECK-LABEL: func.func @twice
// CHECK: %[[D1:.*]] = flow.chain
// CHECK: flow.cos
// CHECK: %[[D2:.*]] = flow.chain
// CHECK: flow.add %[[D1]], %[[D2]]
func.func @twice(%x: !flow.rows<node, f64, device> {flow.name = "x"})
    -> (!flow.rows<node, f64, device> {flow.name = "y"}) {
  %s = flow.sin %x : <node, f64, device> -> <node, f64, device>
  %y = flow.mul %x, %s : <node, f64, device>, <node, f64, device> -> <node, f64, device>
  return %y : !flow.rows<node, f64, device>
}

// -----

// Truth values do not block what goes around them, and get no gradient.
// CHECK-LABEL: func.func @truth
// CHECK: flow.select
// CHECK: %[[DX:.*]] = flow.select %{{.*}}, %{{.*}}, %{{.*}}[one]
// CHECK: return %{{.*}}, %[[DX]] :
func.func @truth(%x: !flow.rows<node, f64, device> {flow.name = "x"},
                 %m: !flow.rows<node, i1, device> {flow.name = "m"})
    -> (!flow.rows<node, f64, device> {flow.name = "y"}) {
  %zero = flow.constant 0.000000e+00 : <one, f64, device>
  %y = flow.select %m, %x, %zero[one] : <node, i1, device>, <node, f64, device>, <one, f64, device> -> <node, f64, device>
  return %y : !flow.rows<node, f64, device>
}

// -----

// An input that no result depends on has a gradient of zeros.
// CHECK-LABEL: func.func @unused
// CHECK: %[[ZERO:.*]] = flow.constant 0.0
// CHECK: %[[DX:.*]] = flow.expand %[[ZERO]][one] : <one, f64, device> -> <node, 3xf64, device>
// CHECK: return %{{.*}}, %[[DX]], %{{.*}}
func.func @unused(%x: !flow.rows<node, 3xf64, device> {flow.name = "x"},
                  %z: !flow.rows<node, f64, device> {flow.name = "z"})
    -> (!flow.rows<node, f64, device> {flow.name = "y"}) {
  %y = flow.neg %z : <node, f64, device> -> <node, f64, device>
  return %y : !flow.rows<node, f64, device>
}

// -----

// The largest score of a softmax gets no gradient: the quotient does not depend on it.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT: flow.first_index
// CHECK: return
func.func @softmax(%a: !flow.rows<edge, f64, device> {flow.name = "a"})
    -> (!flow.rows<edge, f64, device> {flow.name = "y"}) {
  %t = flow.reduce max %a via dst : <edge, f64, device> -> <node, f64, device>
  %d = flow.sub %a, %t[dst] : <edge, f64, device>, <node, f64, device> -> <edge, f64, device>
  %e = flow.exp %d : <edge, f64, device> -> <edge, f64, device>
  %s = flow.reduce sum %e via dst : <edge, f64, device> -> <node, f64, device>
  %y = flow.div %e, %s[dst] : <edge, f64, device>, <node, f64, device> -> <edge, f64, device>
  return %y : !flow.rows<edge, f64, device>
}

// -----

// Where the exponentials themselves are a result, it does.
// CHECK-LABEL: func.func @not_only_softmax
// CHECK: flow.first_index
func.func @not_only_softmax(%a: !flow.rows<edge, f64, device> {flow.name = "a"})
    -> (!flow.rows<edge, f64, device> {flow.name = "y"}, !flow.rows<edge, f64, device> {flow.name = "e"}) {
  %t = flow.reduce max %a via dst : <edge, f64, device> -> <node, f64, device>
  %d = flow.sub %a, %t[dst] : <edge, f64, device>, <node, f64, device> -> <edge, f64, device>
  %e = flow.exp %d : <edge, f64, device> -> <edge, f64, device>
  %s = flow.reduce sum %e via dst : <edge, f64, device> -> <node, f64, device>
  %y = flow.div %e, %s[dst] : <edge, f64, device>, <node, f64, device> -> <edge, f64, device>
  return %y, %e : !flow.rows<edge, f64, device>, !flow.rows<edge, f64, device>
}

// -----

// What was dropped gets no gradient: the same stream drops it again, and the row itself is not read.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[X:.*]]: !flow.rows<node, 3xf64, device> {flow.name = "x"}
// CHECK-SAME: %[[G:[a-z0-9]+]]: !flow.rows<node, 3xf64, device> {flow.name = "grad.y"}
// CHECK: %[[D:.*]] = flow.dropout %[[X]][src] {rate = 2.500000e-01 : f64, stream = 7 : i64}
// CHECK-NEXT: flow.reduce sum %[[D]] via dst
// CHECK-NEXT: %[[E:.*]] = flow.dropout %[[G]][dst] {rate = 2.500000e-01 : f64, stream = 7 : i64} : {{.*}} -> <edge, 3xf64, device>
// CHECK-NEXT: %[[DX:.*]] = flow.reduce sum %[[E]] via src
// CHECK-NEXT: return %{{.*}}, %[[DX]]
func.func @dropout(%x: !flow.rows<node, 3xf64, device> {flow.name = "x"})
    -> (!flow.rows<node, 3xf64, device> {flow.name = "y"}) {
  %d = flow.dropout %x[src] {rate = 0.25 : f64, stream = 7 : i64} : <node, 3xf64, device> -> <edge, 3xf64, device>
  %y = flow.reduce sum %d via dst : <edge, 3xf64, device> -> <node, 3xf64, device>
  return %y : !flow.rows<node, 3xf64, device>
}

// -----

// A spread to its own domain passes the gradient on as it is.
// CHECK-LABEL: func.func @spread_self
// CHECK-SAME: %[[G:[a-z0-9]+]]: !flow.rows<node, f64, device> {flow.name = "grad.0"}
// CHECK: return %{{.*}}, %[[G]]
func.func @spread_self(%x: !flow.rows<node, f64, device>) -> !flow.rows<node, f64, device> {
  %y = flow.spread %x via self : <node, f64, device> -> <node, f64, device>
  return %y : !flow.rows<node, f64, device>
}
