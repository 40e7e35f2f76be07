// A rewrite that would need rows longer than a type allows, 2^40 numbers, is not made.
// RUN: hector-opt %s --flow-linear-reorder | FileCheck %s
// RUN: hector-opt %s --flow-aggregate-first | FileCheck %s

#graph = #flow.graph<nodes = 100000, edges = 1000000, srcPairs = 400000, dstPairs = 400000, relations = 1,
                     nodeTypes = 1, uniform = 1>

// V W would have 2^42 numbers.
// CHECK-LABEL: func.func @product_of_weights
// CHECK: flow.linear
// CHECK-SAME: -> <node, 1xf32, device>
// CHECK: flow.linear
// CHECK-SAME: -> <node, 2097152xf32, device>
func.func @product_of_weights(%x: !flow.rows<node, 2097152xf32, device>, %v: !flow.rows<one, 2097152x1xf32, device>,
                              %w: !flow.rows<one, 1x2097152xf32, device>) -> !flow.rows<node, 2097152xf32, device>
    attributes {flow.graph = #graph} {
  %h = flow.linear %x, %v[one] : <node, 2097152xf32, device>, <one, 2097152x1xf32, device> -> <node, 1xf32, device>
  %y = flow.linear %h, %w[one] : <node, 1xf32, device>, <one, 1x2097152xf32, device> -> <node, 2097152xf32, device>
  return %y : !flow.rows<node, 2097152xf32, device>
}

// q Wᵀ would have 2^21 numbers for each of 2^20 heads.
// CHECK-LABEL: func.func @dot_of_heads
// CHECK: flow.linear
// CHECK-SAME: -> <node, 1xf32, device>
// CHECK: flow.dot
// CHECK-SAME: -> <node, 1048576xf32, device>
func.func @dot_of_heads(%x: !flow.rows<node, 2097152xf32, device>, %w: !flow.rows<one, 2097152x1xf32, device>,
                        %q: !flow.rows<node, 1048576x1xf32, device>) -> !flow.rows<node, 1048576xf32, device>
    attributes {flow.graph = #graph} {
  %k = flow.linear %x, %w[one] : <node, 2097152xf32, device>, <one, 2097152x1xf32, device> -> <node, 1xf32, device>
  %s = flow.dot %q, %k : <node, 1048576x1xf32, device>, <node, 1xf32, device> -> <node, 1048576xf32, device>
  return %s : !flow.rows<node, 1048576xf32, device>
}

// Sums of x for each of 2^20 heads would have 2^41 numbers.
// CHECK-LABEL: func.func @sum_of_heads
// CHECK: flow.linear
// CHECK-SAME: -> <edge, 2xf32, device>
// CHECK: flow.mul
// CHECK: flow.reduce
func.func @sum_of_heads(%x: !flow.rows<node, 2097152xf32, device>, %w: !flow.rows<etype, 2097152x2xf32, device>,
                        %a: !flow.rows<edge, 1048576x1xf32, device>) -> !flow.rows<node, 1048576x2xf32, device>
    attributes {flow.graph = #graph} {
  %m = flow.linear %x[src], %w[etype] : <node, 2097152xf32, device>, <etype, 2097152x2xf32, device> -> <edge, 2xf32, device>
  %r = flow.reshape %m : <edge, 2xf32, device> -> <edge, 1x2xf32, device>
  %c = flow.mul %a, %r : <edge, 1048576x1xf32, device>, <edge, 1x2xf32, device> -> <edge, 1048576x2xf32, device>
  %y = flow.reduce sum %c via dst : <edge, 1048576x2xf32, device> -> <node, 1048576x2xf32, device>
  return %y : !flow.rows<node, 1048576x2xf32, device>
}
