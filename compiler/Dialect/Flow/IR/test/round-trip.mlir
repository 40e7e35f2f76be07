// Every op and every form of the type, printed, read back, and printed again; in the generic form as well.
// RUN: hector-opt %s > %t.once
// RUN: hector-opt %t.once > %t.twice
// RUN: diff %t.once %t.twice
// RUN: hector-opt %s --mlir-print-op-generic > %t.generic
// RUN: hector-opt %t.generic > %t.back
// RUN: diff %t.once %t.back
// RUN: FileCheck %s < %t.once

// CHECK-LABEL: func.func @types(
// CHECK-SAME: !flow.rows<one, f64, device>
// CHECK-SAME: !flow.rows<ntype, 4xf32, host>
// CHECK-SAME: !flow.rows<etype, 4x16xf16, disk>
// CHECK-SAME: !flow.rows<node, 1x2x3xbf16, device>
// CHECK-SAME: !flow.rows<src_pair, f32, host>
// CHECK-SAME: !flow.rows<dst_pair, 8xi1, disk>
// CHECK-SAME: !flow.rows<edge, i1, device>
func.func @types(%a0: !flow.rows<one, f64, device>, %a1: !flow.rows<ntype, 4xf32, host>, %a2: !flow.rows<etype, 4x16xf16, disk>, %a3: !flow.rows<node, 1x2x3xbf16, device>, %a4: !flow.rows<src_pair, f32, host>, %a5: !flow.rows<dst_pair, 8xi1, disk>, %a6: !flow.rows<edge, i1, device>) {
  return
}

// Every map, read by a spread, by a dense op, and collected by a reduction.
// CHECK-LABEL: func.func @maps(
func.func @maps(%one: !flow.rows<one, 4xf32, device>, %ntype: !flow.rows<ntype, 4xf32, device>, %etype: !flow.rows<etype, 4xf32, device>, %node: !flow.rows<node, 4xf32, device>, %src_pair: !flow.rows<src_pair, 4xf32, device>, %dst_pair: !flow.rows<dst_pair, 4xf32, device>, %edge: !flow.rows<edge, 4xf32, device>) {
  // CHECK: flow.spread %{{.*}} via src : <node, 4xf32, device> -> <edge, 4xf32, device>
  %r25 = flow.spread %node via src : <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  %r27 = flow.add %edge, %node[src] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  %r29 = flow.reduce sum %edge via src : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst : <node, 4xf32, device> -> <edge, 4xf32, device>
  %r31 = flow.spread %node via dst : <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  %r33 = flow.add %edge, %node[dst] : <edge, 4xf32, device>, <node, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %r35 = flow.reduce sum %edge via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via src_pair : <src_pair, 4xf32, device> -> <edge, 4xf32, device>
  %r37 = flow.spread %src_pair via src_pair : <src_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src_pair] : <edge, 4xf32, device>, <src_pair, 4xf32, device> -> <edge, 4xf32, device>
  %r39 = flow.add %edge, %src_pair[src_pair] : <edge, 4xf32, device>, <src_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src_pair : <edge, 4xf32, device> -> <src_pair, 4xf32, device>
  %r41 = flow.reduce sum %edge via src_pair : <edge, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst_pair : <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  %r43 = flow.spread %dst_pair via dst_pair : <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst_pair] : <edge, 4xf32, device>, <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  %r45 = flow.add %edge, %dst_pair[dst_pair] : <edge, 4xf32, device>, <dst_pair, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst_pair : <edge, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r47 = flow.reduce sum %edge via dst_pair : <edge, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via etype : <etype, 4xf32, device> -> <edge, 4xf32, device>
  %r49 = flow.spread %etype via etype : <etype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[etype] : <edge, 4xf32, device>, <etype, 4xf32, device> -> <edge, 4xf32, device>
  %r51 = flow.add %edge, %etype[etype] : <edge, 4xf32, device>, <etype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via etype : <edge, 4xf32, device> -> <etype, 4xf32, device>
  %r53 = flow.reduce sum %edge via etype : <edge, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via src_ntype : <ntype, 4xf32, device> -> <edge, 4xf32, device>
  %r55 = flow.spread %ntype via src_ntype : <ntype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src_ntype] : <edge, 4xf32, device>, <ntype, 4xf32, device> -> <edge, 4xf32, device>
  %r57 = flow.add %edge, %ntype[src_ntype] : <edge, 4xf32, device>, <ntype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src_ntype : <edge, 4xf32, device> -> <ntype, 4xf32, device>
  %r59 = flow.reduce sum %edge via src_ntype : <edge, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst_ntype : <ntype, 4xf32, device> -> <edge, 4xf32, device>
  %r61 = flow.spread %ntype via dst_ntype : <ntype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst_ntype] : <edge, 4xf32, device>, <ntype, 4xf32, device> -> <edge, 4xf32, device>
  %r63 = flow.add %edge, %ntype[dst_ntype] : <edge, 4xf32, device>, <ntype, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst_ntype : <edge, 4xf32, device> -> <ntype, 4xf32, device>
  %r65 = flow.reduce sum %edge via dst_ntype : <edge, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <edge, 4xf32, device>
  %r67 = flow.spread %one via one : <one, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <edge, 4xf32, device>, <one, 4xf32, device> -> <edge, 4xf32, device>
  %r69 = flow.add %edge, %one[one] : <edge, 4xf32, device>, <one, 4xf32, device> -> <edge, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <edge, 4xf32, device> -> <one, 4xf32, device>
  %r71 = flow.reduce sum %edge via one : <edge, 4xf32, device> -> <one, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via node : <node, 4xf32, device> -> <src_pair, 4xf32, device>
  %r73 = flow.spread %node via node : <node, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[node] : <src_pair, 4xf32, device>, <node, 4xf32, device> -> <src_pair, 4xf32, device>
  %r75 = flow.add %src_pair, %node[node] : <src_pair, 4xf32, device>, <node, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via node : <src_pair, 4xf32, device> -> <node, 4xf32, device>
  %r77 = flow.reduce sum %src_pair via node : <src_pair, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via etype : <etype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r79 = flow.spread %etype via etype : <etype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[etype] : <src_pair, 4xf32, device>, <etype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r81 = flow.add %src_pair, %etype[etype] : <src_pair, 4xf32, device>, <etype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via etype : <src_pair, 4xf32, device> -> <etype, 4xf32, device>
  %r83 = flow.reduce sum %src_pair via etype : <src_pair, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r85 = flow.spread %ntype via ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r87 = flow.add %src_pair, %ntype[ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r89 = flow.reduce sum %src_pair via ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via src_ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r91 = flow.spread %ntype via src_ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src_ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r93 = flow.add %src_pair, %ntype[src_ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src_ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r95 = flow.reduce sum %src_pair via src_ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst_ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r97 = flow.spread %ntype via dst_ntype : <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst_ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  %r99 = flow.add %src_pair, %ntype[dst_ntype] : <src_pair, 4xf32, device>, <ntype, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst_ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r101 = flow.reduce sum %src_pair via dst_ntype : <src_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via node : <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r103 = flow.spread %node via node : <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[node] : <dst_pair, 4xf32, device>, <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r105 = flow.add %dst_pair, %node[node] : <dst_pair, 4xf32, device>, <node, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via node : <dst_pair, 4xf32, device> -> <node, 4xf32, device>
  %r107 = flow.reduce sum %dst_pair via node : <dst_pair, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via etype : <etype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r109 = flow.spread %etype via etype : <etype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[etype] : <dst_pair, 4xf32, device>, <etype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r111 = flow.add %dst_pair, %etype[etype] : <dst_pair, 4xf32, device>, <etype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via etype : <dst_pair, 4xf32, device> -> <etype, 4xf32, device>
  %r113 = flow.reduce sum %dst_pair via etype : <dst_pair, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r115 = flow.spread %ntype via ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r117 = flow.add %dst_pair, %ntype[ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r119 = flow.reduce sum %dst_pair via ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via src_ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r121 = flow.spread %ntype via src_ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src_ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r123 = flow.add %dst_pair, %ntype[src_ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src_ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r125 = flow.reduce sum %dst_pair via src_ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst_ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r127 = flow.spread %ntype via dst_ntype : <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst_ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r129 = flow.add %dst_pair, %ntype[dst_ntype] : <dst_pair, 4xf32, device>, <ntype, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst_ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  %r131 = flow.reduce sum %dst_pair via dst_ntype : <dst_pair, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via ntype : <ntype, 4xf32, device> -> <node, 4xf32, device>
  %r133 = flow.spread %ntype via ntype : <ntype, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[ntype] : <node, 4xf32, device>, <ntype, 4xf32, device> -> <node, 4xf32, device>
  %r135 = flow.add %node, %ntype[ntype] : <node, 4xf32, device>, <ntype, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via ntype : <node, 4xf32, device> -> <ntype, 4xf32, device>
  %r137 = flow.reduce sum %node via ntype : <node, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <node, 4xf32, device>
  %r139 = flow.spread %one via one : <one, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <node, 4xf32, device>, <one, 4xf32, device> -> <node, 4xf32, device>
  %r141 = flow.add %node, %one[one] : <node, 4xf32, device>, <one, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <node, 4xf32, device> -> <one, 4xf32, device>
  %r143 = flow.reduce sum %node via one : <node, 4xf32, device> -> <one, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via src_ntype : <ntype, 4xf32, device> -> <etype, 4xf32, device>
  %r145 = flow.spread %ntype via src_ntype : <ntype, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[src_ntype] : <etype, 4xf32, device>, <ntype, 4xf32, device> -> <etype, 4xf32, device>
  %r147 = flow.add %etype, %ntype[src_ntype] : <etype, 4xf32, device>, <ntype, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via src_ntype : <etype, 4xf32, device> -> <ntype, 4xf32, device>
  %r149 = flow.reduce sum %etype via src_ntype : <etype, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via dst_ntype : <ntype, 4xf32, device> -> <etype, 4xf32, device>
  %r151 = flow.spread %ntype via dst_ntype : <ntype, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst_ntype] : <etype, 4xf32, device>, <ntype, 4xf32, device> -> <etype, 4xf32, device>
  %r153 = flow.add %etype, %ntype[dst_ntype] : <etype, 4xf32, device>, <ntype, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst_ntype : <etype, 4xf32, device> -> <ntype, 4xf32, device>
  %r155 = flow.reduce sum %etype via dst_ntype : <etype, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <etype, 4xf32, device>
  %r157 = flow.spread %one via one : <one, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <etype, 4xf32, device>, <one, 4xf32, device> -> <etype, 4xf32, device>
  %r159 = flow.add %etype, %one[one] : <etype, 4xf32, device>, <one, 4xf32, device> -> <etype, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <etype, 4xf32, device> -> <one, 4xf32, device>
  %r161 = flow.reduce sum %etype via one : <etype, 4xf32, device> -> <one, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <ntype, 4xf32, device>
  %r163 = flow.spread %one via one : <one, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <ntype, 4xf32, device>, <one, 4xf32, device> -> <ntype, 4xf32, device>
  %r165 = flow.add %ntype, %one[one] : <ntype, 4xf32, device>, <one, 4xf32, device> -> <ntype, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <ntype, 4xf32, device> -> <one, 4xf32, device>
  %r167 = flow.reduce sum %ntype via one : <ntype, 4xf32, device> -> <one, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r169 = flow.spread %one via one : <one, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <dst_pair, 4xf32, device>, <one, 4xf32, device> -> <dst_pair, 4xf32, device>
  %r171 = flow.add %dst_pair, %one[one] : <dst_pair, 4xf32, device>, <one, 4xf32, device> -> <dst_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <dst_pair, 4xf32, device> -> <one, 4xf32, device>
  %r173 = flow.reduce sum %dst_pair via one : <dst_pair, 4xf32, device> -> <one, 4xf32, device>
  // CHECK: flow.spread %{{.*}} via one : <one, 4xf32, device> -> <src_pair, 4xf32, device>
  %r175 = flow.spread %one via one : <one, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[one] : <src_pair, 4xf32, device>, <one, 4xf32, device> -> <src_pair, 4xf32, device>
  %r177 = flow.add %src_pair, %one[one] : <src_pair, 4xf32, device>, <one, 4xf32, device> -> <src_pair, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via one : <src_pair, 4xf32, device> -> <one, 4xf32, device>
  %r179 = flow.reduce sum %src_pair via one : <src_pair, 4xf32, device> -> <one, 4xf32, device>
  return
}

// CHECK-LABEL: func.func @movement(
func.func @movement(%x: !flow.rows<edge, 4xf32, device>, %n: !flow.rows<node, 4xf32, device>) {
  // CHECK: flow.constant 5.000000e-01 : <one, f32, device>
  %0 = flow.constant 5.000000e-01 : <one, f32, device>
  // CHECK: flow.constant 0xFFF0000000000000 : <one, f64, host>
  %1 = flow.constant 0xFFF0000000000000 : <one, f64, host>
  // CHECK: flow.constant -1.000000e+00 : <one, bf16, disk>
  %2 = flow.constant -1.000000e+00 : <one, bf16, disk>
  // CHECK: flow.spread %{{.*}} via self : <node, 4xf32, device> -> <node, 4xf32, device>
  %3 = flow.spread %n via self : <node, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce sum %{{.*}} via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %4 = flow.reduce sum %x via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce max %{{.*}} via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %5 = flow.reduce max %x via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce min %{{.*}} via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %6 = flow.reduce min %x via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce mean %{{.*}} via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  %7 = flow.reduce mean %x via dst : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce max %{{.*}} via dst init %{{.*}} : <edge, 4xf32, device> -> <node, 4xf32, device>
  %8 = flow.reduce max %x via dst init %n : <edge, 4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.reduce min %{{.*}} via dst init %{{.*}} : <edge, 4xf32, device> -> <node, 4xf32, device>
  %9 = flow.reduce min %x via dst init %n : <edge, 4xf32, device> -> <node, 4xf32, device>
  return
}

// CHECK-LABEL: func.func @elementwise(
func.func @elementwise(%x: !flow.rows<edge, 4x3xf32, device>, %y: !flow.rows<node, 4x1xf32, device>, %s: !flow.rows<one, f32, device>) {
  // CHECK: flow.neg %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %0 = flow.neg %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.abs %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %1 = flow.abs %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sign %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %2 = flow.sign %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.floor %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %3 = flow.floor %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.exp %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %4 = flow.exp %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.log %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %5 = flow.log %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sqrt %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %6 = flow.sqrt %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.rsqrt %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %7 = flow.rsqrt %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sin %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %8 = flow.sin %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.cos %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %9 = flow.cos %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.tanh %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %10 = flow.tanh %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sigmoid %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %11 = flow.sigmoid %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.softplus %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %12 = flow.softplus %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.erf %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %13 = flow.erf %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.relu %{{.*}} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %14 = flow.relu %x : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.relu %{{.*}}[src] : <node, 4x1xf32, device> -> <edge, 4x1xf32, device>
  %15 = flow.relu %y[src] : <node, 4x1xf32, device> -> <edge, 4x1xf32, device>
  // CHECK: flow.leaky_relu %{{.*}} {slope = 2.000000e-01 : f64} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %16 = flow.leaky_relu %x {slope = 2.000000e-01 : f64} : <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.dropout %{{.*}}[src] {rate = 5.000000e-01 : f64, stream = 3 : i64} : <node, 4x1xf32, device> -> <edge, 4x1xf32, device>
  %dropped = flow.dropout %y[src] {rate = 5.000000e-01 : f64, stream = 3 : i64} : <node, 4x1xf32, device> -> <edge, 4x1xf32, device>
  // CHECK: flow.add %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %17 = flow.add %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sub %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %18 = flow.sub %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.mul %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %19 = flow.mul %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.div %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %20 = flow.div %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.floor_div %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %floor_div = flow.floor_div %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.mod %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %mod = flow.mod %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.pow %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %21 = flow.pow %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.max %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %22 = flow.max %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.min %{{.*}}, %{{.*}}[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  %23 = flow.min %x, %y[dst] : <edge, 4x3xf32, device>, <node, 4x1xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.add %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %24 = flow.add %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.sub %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %25 = flow.sub %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.mul %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %26 = flow.mul %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.div %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %27 = flow.div %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.pow %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %28 = flow.pow %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.max %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %29 = flow.max %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  // CHECK: flow.min %{{.*}}[one], %{{.*}} : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  %30 = flow.min %s[one], %x : <one, f32, device>, <edge, 4x3xf32, device> -> <edge, 4x3xf32, device>
  return
}

// CHECK-LABEL: func.func @truth(
func.func @truth(%x: !flow.rows<edge, 4xf32, device>, %s: !flow.rows<one, f32, device>, %c: !flow.rows<edge, 4xi1, device>, %k: !flow.rows<etype, i1, device>) {
  // CHECK: flow.less %{{.*}}, %{{.*}}[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  %0 = flow.less %x, %s[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  // CHECK: flow.less_equal %{{.*}}, %{{.*}}[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  %1 = flow.less_equal %x, %s[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  // CHECK: flow.equal %{{.*}}, %{{.*}}[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  %2 = flow.equal %x, %s[one] : <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xi1, device>
  // CHECK: flow.and %{{.*}}, %{{.*}}[etype] : <edge, 4xi1, device>, <etype, i1, device> -> <edge, 4xi1, device>
  %3 = flow.and %c, %k[etype] : <edge, 4xi1, device>, <etype, i1, device> -> <edge, 4xi1, device>
  // CHECK: flow.or %{{.*}}, %{{.*}}[etype] : <edge, 4xi1, device>, <etype, i1, device> -> <edge, 4xi1, device>
  %4 = flow.or %c, %k[etype] : <edge, 4xi1, device>, <etype, i1, device> -> <edge, 4xi1, device>
  // CHECK: flow.not %{{.*}} : <edge, 4xi1, device> -> <edge, 4xi1, device>
  %5 = flow.not %c : <edge, 4xi1, device> -> <edge, 4xi1, device>
  // CHECK: flow.cast %{{.*}} : <edge, 4xi1, device> -> <edge, 4xf32, device>
  %6 = flow.cast %c : <edge, 4xi1, device> -> <edge, 4xf32, device>
  // CHECK: flow.cast %{{.*}} : <edge, 4xf32, device> -> <edge, 4xf16, device>
  %7 = flow.cast %x : <edge, 4xf32, device> -> <edge, 4xf16, device>
  // CHECK: flow.select %{{.*}}[etype], %{{.*}}, %{{.*}}[one] : <etype, i1, device>, <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xf32, device>
  %8 = flow.select %k[etype], %x, %s[one] : <etype, i1, device>, <edge, 4xf32, device>, <one, f32, device> -> <edge, 4xf32, device>
  return
}

// CHECK-LABEL: func.func @contraction(
func.func @contraction(%x: !flow.rows<node, 4xf32, device>, %h: !flow.rows<node, 2x4xf32, device>, %w: !flow.rows<etype, 4x3xf32, device>, %v: !flow.rows<one, 2x4x3xf32, device>) {
  // CHECK: flow.linear %{{.*}}[src], %{{.*}}[etype] : <node, 4xf32, device>, <etype, 4x3xf32, device> -> <edge, 3xf32, device>
  %0 = flow.linear %x[src], %w[etype] : <node, 4xf32, device>, <etype, 4x3xf32, device> -> <edge, 3xf32, device>
  // CHECK: flow.linear %{{.*}}, %{{.*}}[one] : <node, 4xf32, device>, <one, 2x4x3xf32, device> -> <node, 2x3xf32, device>
  %1 = flow.linear %x, %v[one] : <node, 4xf32, device>, <one, 2x4x3xf32, device> -> <node, 2x3xf32, device>
  // CHECK: flow.linear %{{.*}}, %{{.*}}[one] : <node, 2x4xf32, device>, <one, 2x4x3xf32, device> -> <node, 2x3xf32, device>
  %2 = flow.linear %h, %v[one] : <node, 2x4xf32, device>, <one, 2x4x3xf32, device> -> <node, 2x3xf32, device>
  // CHECK: flow.linear %{{.*}}[dst], %{{.*}}[etype] : <node, 2x4xf32, device>, <etype, 4x3xf32, device> -> <edge, 2x3xf32, device>
  %3 = flow.linear %h[dst], %w[etype] : <node, 2x4xf32, device>, <etype, 4x3xf32, device> -> <edge, 2x3xf32, device>
  // CHECK: flow.linear %{{.*}}, %{{.*}} {transposed} : <etype, 4x3xf32, device>, <etype, 4x3xf32, device> -> <etype, 4x4xf32, device>
  %4 = flow.linear %w, %w {transposed} : <etype, 4x3xf32, device>, <etype, 4x3xf32, device> -> <etype, 4x4xf32, device>
  // CHECK: flow.dot %{{.*}}, %{{.*}} : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, 2xf32, device>
  %5 = flow.dot %h, %x : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, 2xf32, device>
  // CHECK: flow.dot %{{.*}}[src], %{{.*}}[dst] {guarded} : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  %guarded = flow.dot %x[src], %x[dst] {guarded} : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  // CHECK: flow.dot %{{.*}}[src], %{{.*}}[dst] : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  %6 = flow.dot %x[src], %x[dst] : <node, 4xf32, device>, <node, 4xf32, device> -> <edge, f32, device>
  // CHECK: flow.outer %{{.*}}, %{{.*}} : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, 2x4x4xf32, device>
  %7 = flow.outer %h, %x : <node, 2x4xf32, device>, <node, 4xf32, device> -> <node, 2x4x4xf32, device>
  return
}

// CHECK-LABEL: func.func @shape(
func.func @shape(%x: !flow.rows<node, 2x4xf32, device>, %c: !flow.rows<node, 4xi1, device>) {
  // CHECK: flow.row_reduce %{{.*}} {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  %0 = flow.row_reduce %x {axis = 0 : i64, kind = #flow.reduce_kind<sum>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.row_reduce %{{.*}} {axis = 1 : i64, kind = #flow.reduce_kind<max>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  %1 = flow.row_reduce %x {axis = 1 : i64, kind = #flow.reduce_kind<max>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  // CHECK: flow.row_reduce %{{.*}} {axis = 0 : i64, kind = #flow.reduce_kind<min>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  %2 = flow.row_reduce %x {axis = 0 : i64, kind = #flow.reduce_kind<min>} : <node, 2x4xf32, device> -> <node, 4xf32, device>
  // CHECK: flow.row_reduce %{{.*}} {axis = 1 : i64, kind = #flow.reduce_kind<mean>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  %3 = flow.row_reduce %x {axis = 1 : i64, kind = #flow.reduce_kind<mean>} : <node, 2x4xf32, device> -> <node, 2xf32, device>
  // CHECK: flow.expand %{{.*}}[src] : <node, 2x4xf32, device> -> <edge, 2x4xf32, device>
  %4 = flow.expand %x[src] : <node, 2x4xf32, device> -> <edge, 2x4xf32, device>
  // CHECK: flow.reshape %{{.*}} : <node, 2x4xf32, device> -> <node, 8xf32, device>
  %5 = flow.reshape %x : <node, 2x4xf32, device> -> <node, 8xf32, device>
  // CHECK: flow.reshape %{{.*}} : <node, 4xi1, device> -> <node, 2x2xi1, device>
  %6 = flow.reshape %c : <node, 4xi1, device> -> <node, 2x2xi1, device>
  // CHECK: flow.transpose %{{.*}} {permutation = array<i64: 1, 0>} : <node, 2x4xf32, device> -> <node, 4x2xf32, device>
  %7 = flow.transpose %x {permutation = array<i64: 1, 0>} : <node, 2x4xf32, device> -> <node, 4x2xf32, device>
  // CHECK: flow.slice %{{.*}} {axis = 1 : i64, offset = 1 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf32, device>
  %8 = flow.slice %x {axis = 1 : i64, offset = 1 : i64} : <node, 2x4xf32, device> -> <node, 2x3xf32, device>
  // CHECK: flow.concat %{{.*}}[src], %{{.*}}[dst] {axis = 1 : i64} : <node, 2x4xf32, device>, <node, 2x4xf32, device> -> <edge, 2x8xf32, device>
  %9 = flow.concat %x[src], %x[dst] {axis = 1 : i64} : <node, 2x4xf32, device>, <node, 2x4xf32, device> -> <edge, 2x8xf32, device>
  return
}

// CHECK-LABEL: @graph_numbers
// CHECK-SAME{LITERAL}: flow.graph = #flow.graph<nodes = 6, edges = 9, srcPairs = 7, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1, sourceReads = [1, 2, 3]>
func.func @graph_numbers() attributes {flow.graph = #flow.graph<nodes = 6, edges = 9, srcPairs = 7, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1, sourceReads = [1, 2, 3]>} {
  return
}

// CHECK-LABEL: @machine_numbers
// CHECK-SAME: flow.machine = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 2, lineBytes = 3, randomReads = 4, cachedReads = 5, productRate = 6, scalarRate = 7, launch = 8>
func.func @machine_numbers() attributes {flow.machine = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 2, lineBytes = 3, randomReads = 4, cachedReads = 5, productRate = 6, scalarRate = 7, launch = 8>} {
  return
}
