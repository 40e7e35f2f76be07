// RUN: hector-opt %s | hector-opt | FileCheck %s

// A flat loop may end with a sum over everything.
// CHECK-LABEL: func.func @flat
// CHECK: flow.group flat node forward (%[[X:.*]] = %arg0) : (!flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<one, 4xf32, device>) {
// CHECK-NEXT: %[[Y:.*]] = flow.relu %[[X]]
// CHECK-NEXT: %[[S:.*]] = flow.reduce sum %[[Y]] via one
// CHECK-NEXT: flow.yield %[[Y]], %[[S]]
func.func @flat(%x: !flow.rows<node, 4xf32, device>) -> !flow.rows<one, 4xf32, device> {
  %r:2 = flow.group flat node forward (%a = %x) : (!flow.rows<node, 4xf32, device>) -> (!flow.rows<node, 4xf32, device>, !flow.rows<one, 4xf32, device>) {
    %0 = flow.relu %a : <node, 4xf32, device> -> <node, 4xf32, device>
    %1 = flow.reduce sum %0 via one : <node, 4xf32, device> -> <one, 4xf32, device>
    flow.yield %0, %1 : !flow.rows<node, 4xf32, device>, !flow.rows<one, 4xf32, device>
  }
  return %r#1 : !flow.rows<one, 4xf32, device>
}

// A group may share the launch of the one before it.
// CHECK-LABEL: func.func @beside
// CHECK: flow.group flat etype weights beside (%{{.*}} = %arg0) : (!flow.rows<etype, f32, device>) -> !flow.rows<etype, f32, device> {
func.func @beside(%w: !flow.rows<etype, f32, device>) -> !flow.rows<etype, f32, device> {
  %r = flow.group flat etype weights beside (%a = %w) : (!flow.rows<etype, f32, device>) -> !flow.rows<etype, f32, device> {
    %0 = flow.exp %a : <etype, f32, device> -> <etype, f32, device>
    flow.yield %0 : !flow.rows<etype, f32, device>
  }
  return %r : !flow.rows<etype, f32, device>
}

// CHECK-LABEL: func.func @by_dst
// CHECK: flow.group by_dst edge backward
// CHECK-NEXT: %[[S:.*]] = flow.sweep -> !flow.rows<node, f32, device> {
// CHECK: %[[Y:.*]] = flow.sweep -> !flow.rows<edge, f32, device> {
// CHECK-NEXT: flow.div %{{.*}}, %[[S]][dst]
func.func @by_dst(%x: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %r = flow.group by_dst edge backward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    %s = flow.sweep -> !flow.rows<node, f32, device> {
      %0 = flow.reduce sum %a via dst : <edge, f32, device> -> <node, f32, device>
      flow.yield %0 : !flow.rows<node, f32, device>
    }
    %y = flow.sweep -> !flow.rows<edge, f32, device> {
      %0 = flow.div %a, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
      flow.yield %0 : !flow.rows<edge, f32, device>
    }
    flow.yield %y : !flow.rows<edge, f32, device>
  }
  return %r : !flow.rows<edge, f32, device>
}

// A pair's maximum is complete within the sweep, so the node's sum over pairs reads it in the same walk.
// CHECK-LABEL: func.func @two_levels
// CHECK: flow.reduce max %{{.*}} via dst_pair
// CHECK-NEXT: flow.reduce sum %{{.*}} via node
func.func @two_levels(%x: !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
    %s = flow.sweep -> !flow.rows<node, f32, device> {
      %0 = flow.reduce max %a via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
      %1 = flow.reduce sum %0 via node : <dst_pair, f32, device> -> <node, f32, device>
      flow.yield %1 : !flow.rows<node, f32, device>
    }
    flow.yield %s : !flow.rows<node, f32, device>
  }
  return %r : !flow.rows<node, f32, device>
}

// One product or several over the same rows.
// CHECK-LABEL: func.func @gemm
// CHECK: flow.group gemm src_pair forward
// CHECK: flow.linear %{{.*}}[node], %{{.*}}[etype]
// CHECK: flow.weight_grad
func.func @gemm(%x: !flow.rows<node, 4xf32, device>, %w: !flow.rows<etype, 4x2xf32, device>, %g: !flow.rows<src_pair, 2xf32, device>) -> !flow.rows<etype, 4x2xf32, device> {
  %r:2 = flow.group gemm src_pair forward (%a = %x, %b = %w, %c = %g) : (!flow.rows<node, 4xf32, device>, !flow.rows<etype, 4x2xf32, device>, !flow.rows<src_pair, 2xf32, device>) -> (!flow.rows<src_pair, 2xf32, device>, !flow.rows<etype, 4x2xf32, device>) {
    %0 = flow.linear %a[node], %b[etype] : <node, 4xf32, device>, <etype, 4x2xf32, device> -> <src_pair, 2xf32, device>
    %1 = flow.weight_grad %a[node], %c over src_pair via etype : <node, 4xf32, device>, <src_pair, 2xf32, device> -> <etype, 4x2xf32, device>
    flow.yield %0, %1 : !flow.rows<src_pair, 2xf32, device>, !flow.rows<etype, 4x2xf32, device>
  }
  return %r#1 : !flow.rows<etype, 4x2xf32, device>
}

// The sum of squares, with accumulators written out.
// CHECK-LABEL: func.func @fold
// CHECK: flow.fold %{{.*}} via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
// CHECK: } step {
// CHECK: ^bb0(%{{.*}}: !flow.rows<node, f32, device>, %{{.*}}: !flow.rows<node, f32, device>):
// CHECK: } join {
// CHECK: } finish {
func.func @fold(%x: !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
  %r = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
    %s = flow.sweep -> !flow.rows<node, f32, device> {
      %0 = flow.fold %a via dst : (!flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> init {
        %zero = flow.constant 0.0 : <one, f32, device>
        %z = flow.expand %zero[one] : <one, f32, device> -> <node, f32, device>
        flow.yield %z : !flow.rows<node, f32, device>
      } step {
      ^bb0(%sum: !flow.rows<node, f32, device>, %v: !flow.rows<node, f32, device>):
        %q = flow.mul %v, %v : <node, f32, device>, <node, f32, device> -> <node, f32, device>
        %n = flow.add %sum, %q : <node, f32, device>, <node, f32, device> -> <node, f32, device>
        flow.yield %n : !flow.rows<node, f32, device>
      } join {
      ^bb0(%first: !flow.rows<node, f32, device>, %second: !flow.rows<node, f32, device>):
        %n = flow.add %first, %second : <node, f32, device>, <node, f32, device> -> <node, f32, device>
        flow.yield %n : !flow.rows<node, f32, device>
      } finish {
      ^bb0(%sum: !flow.rows<node, f32, device>):
        flow.yield %sum : !flow.rows<node, f32, device>
      }
      flow.yield %0 : !flow.rows<node, f32, device>
    }
    flow.yield %s : !flow.rows<node, f32, device>
  }
  return %r : !flow.rows<node, f32, device>
}

// Orders are written for all results, or for none. The first one is the loop's own, nodes have none.
// CHECK-LABEL: func.func @orders
// CHECK: flow.group by_dst edge forward ({{.*}}) : {{.*}} -> (!flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<dst_pair, f32, device>, !flow.rows<node, f32, device>) in (by_dst, by_src, by_type, none) {
func.func @orders(%x: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
  %r:4 = flow.group by_dst edge forward (%a = %x) : (!flow.rows<edge, f32, device>) -> (!flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<dst_pair, f32, device>, !flow.rows<node, f32, device>) in (by_dst, by_src, by_type, none) {
    %s:4 = flow.sweep -> !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<dst_pair, f32, device>, !flow.rows<node, f32, device> {
      %0 = flow.exp %a : <edge, f32, device> -> <edge, f32, device>
      %1 = flow.neg %0 : <edge, f32, device> -> <edge, f32, device>
      %2 = flow.reduce sum %0 via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
      %3 = flow.reduce sum %2 via node : <dst_pair, f32, device> -> <node, f32, device>
      flow.yield %0, %1, %2, %3 : !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<dst_pair, f32, device>, !flow.rows<node, f32, device>
    }
    flow.yield %s#0, %s#1, %s#2, %s#3 : !flow.rows<edge, f32, device>, !flow.rows<edge, f32, device>, !flow.rows<dst_pair, f32, device>, !flow.rows<node, f32, device>
  }
  return %r#1 : !flow.rows<edge, f32, device>
}
