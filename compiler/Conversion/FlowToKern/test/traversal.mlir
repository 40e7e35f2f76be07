// RUN: hector-opt %s --split-input-file --lower-to-kern | FileCheck %s

// Pairs and edges below nodes; what a later walk reads of edges is in a buffer, what belongs to the node in registers.
// CHECK-LABEL: kern.kernel @by_dst_edge by_dst edge reads 2
// CHECK-SAME: (%[[X:.*]]: !flow.rows<node, 4xf32, device>, %[[A:.*]]: !flow.rows<edge, f32, device>, %[[Y:.*]]: !flow.rows<node, f32, device>)
// CHECK-NEXT: kern.for node {
// CHECK-NEXT:   %[[XN:.*]] = kern.load %[[X]] at node []
// CHECK-NEXT:   %[[MAX:.*]] = kern.acc max
// CHECK-NEXT:   %[[KEPT:.*]] = kern.buffer : <edge, f32>
// CHECK-NEXT:   kern.for dst_pair {
// CHECK-NEXT:     %[[P:.*]] = kern.map mul(%[[XN]], %[[XN]]) {{.*}} combine <sum>
// CHECK-NEXT:     kern.for edge {
// CHECK-NEXT:       %[[AE:.*]] = kern.load %[[A]] at edge ["edge_row.src.dst"]
// CHECK-NEXT:       %[[S:.*]] = kern.map add(%[[AE]], %[[P]])
// CHECK-NEXT:       kern.step %[[MAX]], %[[S]]
// CHECK-NEXT:       kern.put %[[S]], %[[KEPT]]
// CHECK:        %[[TOP:.*]] = kern.finish %[[MAX]]
// CHECK-NEXT:   %[[SUM:.*]] = kern.acc sum
// CHECK-NEXT:   kern.for edge {
// CHECK-NEXT:     %[[G:.*]] = kern.get %[[KEPT]]
// CHECK-NEXT:     kern.map sub(%[[G]], %[[TOP]])
// CHECK:          kern.step %[[SUM]]
// CHECK:        %[[T:.*]] = kern.finish %[[SUM]]
// CHECK-NEXT:   kern.store %[[T]], %[[Y]] at node []
func.func @sweeps(%x: !flow.rows<node, 4xf32, device>, %a: !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
  %b = flow.group by_src edge forward (%a0 = %a) : (!flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> {
    %s = flow.sweep -> !flow.rows<edge, f32, device> {
      %n = flow.neg %a0 : <edge, f32, device> -> <edge, f32, device>
      flow.yield %n : !flow.rows<edge, f32, device>
    }
    flow.yield %s : !flow.rows<edge, f32, device>
  }
  %0 = flow.group by_dst edge forward (%x0 = %x, %b0 = %b) : (!flow.rows<node, 4xf32, device>, !flow.rows<edge, f32, device>) -> !flow.rows<node, f32, device> {
    %1:2 = flow.sweep -> !flow.rows<edge, f32, device>, !flow.rows<node, f32, device> {
      %p = flow.dot %x0[node], %x0[node] : <node, 4xf32, device>, <node, 4xf32, device> -> <dst_pair, f32, device>
      %s = flow.add %b0, %p[dst_pair] : <edge, f32, device>, <dst_pair, f32, device> -> <edge, f32, device>
      %m = flow.reduce max %s via dst : <edge, f32, device> -> <node, f32, device>
      flow.yield %s, %m : !flow.rows<edge, f32, device>, !flow.rows<node, f32, device>
    }
    %2 = flow.sweep -> !flow.rows<node, f32, device> {
      %d = flow.sub %1#0, %1#1[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
      %t = flow.reduce sum %d via dst : <edge, f32, device> -> <node, f32, device>
      flow.yield %t : !flow.rows<node, f32, device>
    }
    flow.yield %2 : !flow.rows<node, f32, device>
  }
  return %0 : !flow.rows<node, f32, device>
}

// -----

// Which edge was first: by its number in the file.
// CHECK-LABEL: kern.kernel @by_dst_edge
// CHECK: %[[F:.*]] = kern.acc nearest : <vector<4xindex>>
// CHECK: kern.for edge {
// CHECK:   %[[R:.*]] = kern.load %{{.*}} at edge ["edge_src.dst"]
// CHECK:   %[[NEG:.*]] = kern.map neg(%[[R]])
// CHECK:   %[[N:.*]] = kern.number edge ["edge_row.file.dst"]
// CHECK:   kern.step %[[F]], %[[NEG]], %{{.*}}, %[[N]]
// CHECK: kern.finish %[[F]]
func.func @first(%x: !flow.rows<node, 4xf32, device>, %top: !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xindex, device> {
  %0 = flow.group by_dst edge backward (%a = %x, %b = %top) : (!flow.rows<node, 4xf32, device>, !flow.rows<node, 4xf32, device>) -> !flow.rows<node, 4xindex, device> {
    %1 = flow.sweep -> !flow.rows<node, 4xindex, device> {
      %e = flow.neg %a[src] : <node, 4xf32, device> -> <edge, 4xf32, device>
      %w = flow.first_index %e, %b via dst : <edge, 4xf32, device>, <node, 4xf32, device> -> <node, 4xindex, device>
      flow.yield %w : !flow.rows<node, 4xindex, device>
    }
    flow.yield %1 : !flow.rows<node, 4xindex, device>
  }
  return %0 : !flow.rows<node, 4xindex, device>
}

// -----

// A fold keeps its own init, step, join and finish, on rows.
// CHECK-LABEL: kern.kernel @by_dst_edge
// CHECK: %[[F:.*]] = kern.fold : <f32> init {
// CHECK:   kern.yield %{{.*}} : f32
// CHECK: } step {
// CHECK: ^bb0(%[[A:.*]]: f32, %[[V:.*]]: f32):
// CHECK:   %[[Q:.*]] = kern.map mul(%[[V]], %[[V]])
// CHECK:   kern.map add(%[[A]], %[[Q]])
// CHECK: } join {
// CHECK: } finish {
// CHECK: kern.for edge {
// CHECK:   kern.step %[[F]], %{{.*}} : <f32>, f32
// CHECK: kern.finish %[[F]] : <f32> -> f32
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
