// Small loops that do not wait for each other share a launch of a GPU: those that are `beside` the one before them.
// RUN: hector-opt %s --flow-form-groups=fuse=false | FileCheck %s

#graph = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#cpu = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 100>

// %c reads %a, and %d reads nothing that is computed: it comes to the front. A loop over nodes has a launch of its own, and
// so has what runs in another phase.
// CHECK-LABEL: func.func @weights
// CHECK: flow.group flat etype weights (
// CHECK-NEXT: flow.exp
// CHECK: flow.group flat etype weights beside (
// CHECK-NEXT: flow.neg
// CHECK: flow.group flat etype weights beside (
// CHECK-NEXT: flow.tanh
// CHECK: flow.group flat etype weights (
// CHECK-NEXT: flow.mul
// CHECK: flow.group flat node forward (
// CHECK: flow.group flat node forward (
func.func @weights(%w: !flow.rows<etype, f32, device>, %x: !flow.rows<node, f32, device>) -> (!flow.rows<etype, f32, device>, !flow.rows<etype, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>) attributes {flow.graph = #graph, flow.machine = #gpu} {
  %a = flow.exp %w : <etype, f32, device> -> <etype, f32, device>
  %b = flow.neg %w : <etype, f32, device> -> <etype, f32, device>
  %c = flow.mul %a, %b : <etype, f32, device>, <etype, f32, device> -> <etype, f32, device>
  %y = flow.exp %x : <node, f32, device> -> <node, f32, device>
  %z = flow.neg %x : <node, f32, device> -> <node, f32, device>
  %d = flow.tanh %w : <etype, f32, device> -> <etype, f32, device>
  return %c, %d, %y, %z : !flow.rows<etype, f32, device>, !flow.rows<etype, f32, device>, !flow.rows<node, f32, device>, !flow.rows<node, f32, device>
}

// Loops over relations and over node types differ in their blocks.
// CHECK-LABEL: func.func @domains
// CHECK-NOT: beside
// CHECK: return
func.func @domains(%w: !flow.rows<etype, f32, device>, %v: !flow.rows<ntype, f32, device>) -> (!flow.rows<etype, f32, device>, !flow.rows<ntype, f32, device>) attributes {flow.graph = #graph, flow.machine = #gpu} {
  %a = flow.exp %w : <etype, f32, device> -> <etype, f32, device>
  %b = flow.exp %v : <ntype, f32, device> -> <ntype, f32, device>
  return %a, %b : !flow.rows<etype, f32, device>, !flow.rows<ntype, f32, device>
}

// A CPU starts a loop sooner.
// CHECK-LABEL: func.func @cpu
// CHECK-NOT: beside
// CHECK: return
func.func @cpu(%w: !flow.rows<etype, f32, device>) -> (!flow.rows<etype, f32, device>, !flow.rows<etype, f32, device>) attributes {flow.graph = #graph, flow.machine = #cpu} {
  %a = flow.exp %w : <etype, f32, device> -> <etype, f32, device>
  %b = flow.neg %w : <etype, f32, device> -> <etype, f32, device>
  return %a, %b : !flow.rows<etype, f32, device>, !flow.rows<etype, f32, device>
}

// Loops that take much longer than a launch have one of their own: a row of 512 numbers takes 2 microseconds here.
// CHECK-LABEL: func.func @long
// CHECK-NOT: beside
// CHECK: return
func.func @long(%w: !flow.rows<etype, 512xf32, device>) -> (!flow.rows<etype, 512xf32, device>, !flow.rows<etype, 512xf32, device>) attributes {flow.graph = #graph, flow.machine = #gpu} {
  %a = flow.exp %w : <etype, 512xf32, device> -> <etype, 512xf32, device>
  %b = flow.neg %w : <etype, 512xf32, device> -> <etype, 512xf32, device>
  return %a, %b : !flow.rows<etype, 512xf32, device>, !flow.rows<etype, 512xf32, device>
}
