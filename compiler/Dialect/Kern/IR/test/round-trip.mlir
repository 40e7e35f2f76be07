// RUN: hector-opt %s | hector-opt | FileCheck %s
// RUN: hector-opt %s --mlir-print-op-generic | hector-opt | FileCheck %s

// CHECK-LABEL: func.func @layer
// CHECK-SAME: {kern.order = #flow.order<by_dst>}
func.func @layer(%s: !flow.rows<src_pair, 64xf32, device>, %a: !flow.rows<edge, f32, device> {kern.order = #flow.order<by_dst>})
    -> (!flow.rows<node, 64xf32, device>, !flow.rows<src_pair, f32, device> {kern.order = #flow.order<by_src>}) {
  // CHECK: kern.launch @traversal(%{{.*}}, %{{.*}}) <forward> in [#flow.order<none>, #flow.order<by_src>] : (!flow.rows<src_pair, 64xf32, device>, !flow.rows<edge, f32, device>) -> (!flow.rows<node, 64xf32, device>, !flow.rows<src_pair, f32, device>)
  %out:2 = kern.launch @traversal(%s, %a) <forward> in [#flow.order<none>, #flow.order<by_src>]
      : (!flow.rows<src_pair, 64xf32, device>, !flow.rows<edge, f32, device>)
      -> (!flow.rows<node, 64xf32, device>, !flow.rows<src_pair, f32, device>)
  // CHECK: kern.launch @traversal(%{{.*}}, %{{.*}}) <backward> beside in [
  %again:2 = kern.launch @traversal(%s, %a) <backward> beside in [#flow.order<none>, #flow.order<by_src>]
      : (!flow.rows<src_pair, 64xf32, device>, !flow.rows<edge, f32, device>)
      -> (!flow.rows<node, 64xf32, device>, !flow.rows<src_pair, f32, device>)
  return %out#0, %again#1 : !flow.rows<node, 64xf32, device>, !flow.rows<src_pair, f32, device>
}

// CHECK-LABEL: kern.kernel @traversal by_src edge reads 2 (%{{.*}}: !flow.rows<src_pair, 64xf32, device>, %{{.*}}: !flow.rows<edge, f32, device>, %{{.*}}: !flow.rows<node, 64xf32, device>, %{{.*}}: !flow.rows<src_pair, f32, device>) {
kern.kernel @traversal by_src edge reads 2 (%s: !flow.rows<src_pair, 64xf32, device>, %a: !flow.rows<edge, f32, device>, %out: !flow.rows<node, 64xf32, device>, %top: !flow.rows<src_pair, f32, device>) {
  // CHECK: kern.for node {
  kern.for node {
    // CHECK: kern.buffer : <src_pair, f32>
    %kept = kern.buffer : !kern.buffer<src_pair, f32>
    // CHECK: kern.acc sum : <vector<64xf32>>
    %sum = kern.acc sum : !kern.acc<vector<64xf32>>
    // CHECK: kern.for src_pair {
    kern.for src_pair {
      // CHECK: kern.acc max : <f32>
      %max = kern.acc max : !kern.acc<f32>
      kern.for edge {
        // CHECK: kern.load %{{.*}} at edge ["edge_row.dst.src"] : !flow.rows<edge, f32, device> -> f32
        %x = kern.load %a at edge ["edge_row.dst.src"] : !flow.rows<edge, f32, device> -> f32
        // CHECK: kern.step %{{.*}}, %{{.*}} : <f32>, f32
        kern.step %max, %x : !kern.acc<f32>, f32
      }
      // CHECK: kern.finish %{{.*}} : <f32> -> f32
      %m = kern.finish %max : !kern.acc<f32> -> f32
      // CHECK: kern.put %{{.*}}, %{{.*}} : f32, <src_pair, f32>
      kern.put %m, %kept : f32, !kern.buffer<src_pair, f32>
      // CHECK: kern.store %{{.*}}, %{{.*}} at src_pair [] : f32, !flow.rows<src_pair, f32, device>
      kern.store %m, %top at src_pair [] : f32, !flow.rows<src_pair, f32, device>
    }
    kern.for src_pair {
      // CHECK: kern.get %{{.*}} : <src_pair, f32> -> f32
      %m = kern.get %kept : !kern.buffer<src_pair, f32> -> f32
      %x = kern.load %s at src_pair ["place_pair.src"] : !flow.rows<src_pair, 64xf32, device> -> vector<64xf32>
      // CHECK: kern.map mul(%{{.*}}, %{{.*}}) [#{{.*}}, #{{.*}}] sizes [4, 16] reduced [] : f32, vector<64xf32> -> vector<64xf32>
      %y = kern.map mul(%m, %x) [affine_map<(d0, d1) -> (0)>, affine_map<(d0, d1) -> (d0 * 16 + d1)>] sizes [4, 16] reduced [] : f32, vector<64xf32> -> vector<64xf32>
      kern.step %sum, %y : !kern.acc<vector<64xf32>>, vector<64xf32>
    }
    %row = kern.finish %sum : !kern.acc<vector<64xf32>> -> vector<64xf32>
    kern.store %row, %out at node [] : vector<64xf32>, !flow.rows<node, 64xf32, device>
  }
}

// CHECK-LABEL: kern.kernel @rows
kern.kernel @rows flat edge reads 2 (%x: !flow.rows<edge, 6xf32, device>, %old: !flow.rows<etype, 2xf32, device>, %y: !flow.rows<edge, 7xf32, device>, %top: !flow.rows<etype, 2xf32, device>) {
  // CHECK: kern.total max %{{.*}} at etype [] init %{{.*}} : !flow.rows<etype, 2xf32, device> sorted : !flow.rows<etype, 2xf32, device> -> <vector<2xf32>>
  %total = kern.total max %top at etype [] init %old : !flow.rows<etype, 2xf32, device> sorted : !flow.rows<etype, 2xf32, device> -> !kern.acc<vector<2xf32>>
  // CHECK: kern.constant 2.500000e-01 : f32
  %c = kern.constant 2.5e-01 : f32
  // CHECK: kern.tile edge of <etype> {
  kern.tile edge of <etype> {
    kern.for edge {
      %r = kern.load %x at edge [] : !flow.rows<edge, 6xf32, device> -> vector<6xf32>
      // CHECK: kern.map copy(%{{.*}}) [#{{.*}}] sizes [2] reduced [3] combine <max> : vector<6xf32> -> vector<2xf32>
      %m = kern.map copy(%r) [affine_map<(d0, d1) -> (d0 * 3 + d1)>] sizes [2] reduced [3] combine <max> : vector<6xf32> -> vector<2xf32>
      // CHECK: kern.match %{{.*}}, %{{.*}} axis 2, 3, 1 : vector<6xf32>, vector<2xf32> -> vector<6xi1>
      %first = kern.match %r, %m axis 2, 3, 1 : vector<6xf32>, vector<2xf32> -> vector<6xi1>
      // CHECK: kern.map leaky_relu(%{{.*}}) [#{{.*}}] sizes [6] reduced [] parameter 2.000000e-01 : vector<6xf32> -> vector<6xf32>
      %l = kern.map leaky_relu(%r) [affine_map<(d0) -> (d0)>] sizes [6] reduced [] parameter 2.0e-01 : vector<6xf32> -> vector<6xf32>
      // CHECK: kern.number edge ["edge_row.file.type"]
      %n = kern.number edge ["edge_row.file.type"]
      // CHECK: kern.map dropout(%{{.*}}, %{{.*}}) [#{{.*}}, #{{.*}}] sizes [6] reduced [] parameter 5.000000e-01 stream 3 : vector<6xf32>, index -> vector<6xf32>
      %d = kern.map dropout(%l, %n) [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>] sizes [6] reduced [] parameter 5.0e-01 stream 3 : vector<6xf32>, index -> vector<6xf32>
      %z = kern.map select(%first, %d, %c) [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>] sizes [6] reduced [] : vector<6xi1>, vector<6xf32>, f32 -> vector<6xf32>
      // CHECK: kern.concat %{{.*}}, %{{.*}} repeats 1 : vector<6xf32>, f32 -> vector<7xf32>
      %j = kern.concat %z, %c repeats 1 : vector<6xf32>, f32 -> vector<7xf32>
      kern.store %j, %y at edge [] : vector<7xf32>, !flow.rows<edge, 7xf32, device>
      kern.step %total, %m : !kern.acc<vector<2xf32>>, vector<2xf32>
    }
  }
}

// CHECK-LABEL: kern.kernel @products
kern.kernel @products gemm src_pair reads 3 (%x: !flow.rows<node, 8xf32, device>, %w: !flow.rows<etype, 8x4xf32, device>, %g: !flow.rows<src_pair, 4xf32, device>, %y: !flow.rows<src_pair, 4xf32, device>, %dw: !flow.rows<etype, 8x4xf32, device>) {
  %total = kern.total sum %dw at etype [] sorted : !flow.rows<etype, 8x4xf32, device> -> !kern.acc<vector<32xf32>>
  // CHECK: kern.tile src_pair of <etype> height 32 {
  kern.tile src_pair of <etype> height 32 {
    %rows = kern.buffer : !kern.buffer<src_pair, vector<8xf32>>
    %grads = kern.buffer : !kern.buffer<src_pair, vector<4xf32>>
    %result = kern.buffer : !kern.buffer<src_pair, vector<4xf32>>
    kern.for src_pair {
      %r = kern.load %x at src_pair ["pair_node.src"] : !flow.rows<node, 8xf32, device> -> vector<8xf32>
      kern.put %r, %rows : vector<8xf32>, !kern.buffer<src_pair, vector<8xf32>>
      %d = kern.load %g at src_pair [] : !flow.rows<src_pair, 4xf32, device> -> vector<4xf32>
      kern.put %d, %grads : vector<4xf32>, !kern.buffer<src_pair, vector<4xf32>>
    }
    // CHECK: kern.product %{{.*}}, %{{.*}} at etype [] to %{{.*}} {guarded, heads = 1 : i64, inner = 8 : i64, outer = 4 : i64} : <src_pair, vector<8xf32>>, !flow.rows<etype, 8x4xf32, device>, <src_pair, vector<4xf32>>
    kern.product %rows, %w at etype [] to %result {guarded, heads = 1 : i64, inner = 8 : i64, outer = 4 : i64} : !kern.buffer<src_pair, vector<8xf32>>, !flow.rows<etype, 8x4xf32, device>, !kern.buffer<src_pair, vector<4xf32>>
    // CHECK: kern.outer %{{.*}}, %{{.*}} into %{{.*}} {heads = 1 : i64, inner = 8 : i64, outer = 4 : i64} : <src_pair, vector<8xf32>>, <src_pair, vector<4xf32>>, <vector<32xf32>>
    kern.outer %rows, %grads into %total {heads = 1 : i64, inner = 8 : i64, outer = 4 : i64} : !kern.buffer<src_pair, vector<8xf32>>, !kern.buffer<src_pair, vector<4xf32>>, !kern.acc<vector<32xf32>>
    kern.for src_pair {
      %r = kern.get %result : !kern.buffer<src_pair, vector<4xf32>> -> vector<4xf32>
      kern.store %r, %y at src_pair [] : vector<4xf32>, !flow.rows<src_pair, 4xf32, device>
    }
  }
}

// CHECK-LABEL: kern.kernel @folds
kern.kernel @folds by_dst edge reads 2 (%a: !flow.rows<edge, f32, device>, %first: !flow.rows<node, f32, device>, %y: !flow.rows<node, f32, device>, %w: !flow.rows<node, index, device>) {
  kern.for node {
    // CHECK: kern.fold : <f32, f32> init {
    %fold = kern.fold : !kern.acc<f32, f32> init {
      %zero = kern.constant 0.0 : f32
      // CHECK: kern.yield %{{.*}}, %{{.*}} : f32, f32
      kern.yield %zero, %zero : f32, f32
    } step {
    ^bb0(%m: f32, %s: f32, %x: f32):
      kern.yield %m, %x : f32, f32
    } join {
    ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
      kern.yield %m0, %s1 : f32, f32
    } finish {
    ^bb0(%m: f32, %s: f32):
      kern.yield %s : f32
    }
    // CHECK: kern.acc nearest : <index>
    %which = kern.acc nearest : !kern.acc<index>
    %old = kern.load %first at node [] : !flow.rows<node, f32, device> -> f32
    kern.for edge {
      %x = kern.load %a at edge [] : !flow.rows<edge, f32, device> -> f32
      kern.step %fold, %x : !kern.acc<f32, f32>, f32
      %n = kern.number edge ["edge_row.file.dst"]
      // CHECK: kern.step %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : <index>, f32, f32, index
      kern.step %which, %x, %old, %n : !kern.acc<index>, f32, f32, index
    }
    // CHECK: kern.finish %{{.*}} : <f32, f32> -> f32
    %row = kern.finish %fold : !kern.acc<f32, f32> -> f32
    kern.store %row, %y at node [] : f32, !flow.rows<node, f32, device>
    // CHECK: kern.finish %{{.*}} init %{{.*}}, %{{.*}} : f32, f32 : <index> -> index
    %index = kern.finish %which init %old, %old : f32, f32 : !kern.acc<index> -> index
    kern.store %index, %w at node [] : index, !flow.rows<node, index, device>
  }
}

// CHECK-LABEL: kern.kernel @dropout
kern.kernel @dropout by_dst dst_pair reads 0 (%y: !flow.rows<dst_pair, index, device>) {
  kern.for dst_pair {
    // CHECK: kern.number dst_pair ["place_pair.dst", "pair_node.dst"] relation ["place_type.dst"]
    %n = kern.number dst_pair ["place_pair.dst", "pair_node.dst"] relation ["place_type.dst"]
    kern.store %n, %y at dst_pair [] : index, !flow.rows<dst_pair, index, device>
  }
}
