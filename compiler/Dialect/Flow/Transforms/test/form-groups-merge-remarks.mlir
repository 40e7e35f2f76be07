// Why groups stay apart. A byte takes a nanosecond, a gathered number that was read before a twelfth of its size, and a loop
// takes a nanosecond to start; arithmetic takes none.
// RUN: hector-opt %s --flow-form-groups=rebuild=false --split-input-file --verify-diagnostics

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#cpu = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// One loop, by destination, gathers 4 rows of 256 bytes for 10 edges (1024 + 2560/12), finds them (40) and writes 16: 1294.3
// with its start. Apart, the loop by source reads the rows once (1024) and writes 40; the other one reads 40 and writes 16.
// That is 1122, and 40 bytes are permuted in between.
func.func @lost_order(%x: !flow.rows<node, 64xf32, device>) -> !flow.rows<node, f32, device> attributes {flow.graph = #small, flow.machine = #cpu} {
  %a = flow.dot %x[src], %x[src] : <node, 64xf32, device>, <node, 64xf32, device> -> <edge, f32, device>
  // expected-remark-re @+1 {{not merged: 1.294 us in one loop, {{1.1[0-9]+}} us in 2}}
  %s = flow.reduce max %a via dst : <edge, f32, device> -> <node, f32, device>
  return %s : !flow.rows<node, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

func.func @sweeps(%x: !flow.rows<edge, f32, device>) -> !flow.rows<edge, f32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %s = flow.reduce sum %x via dst : <edge, f32, device> -> <node, f32, device>
  // expected-remark @+1 {{not merged: the edges would be walked twice, and a loop of a GPU walks them once}}
  %y = flow.div %x, %s[dst] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return %y : !flow.rows<edge, f32, device>
}

// -----

#small = #flow.graph<nodes = 4, edges = 10, srcPairs = 6, dstPairs = 5, relations = 2, nodeTypes = 2, uniform = 0>
#gpu = #flow.machine<target = gpu, bandwidth = 1, cacheBytes = 1099511627776, lineBytes = 1, randomReads = 1000000, cachedReads = 1000000, productRate = 1000000, scalarRate = 1000000, launch = 1>

// Sixteen threads share a row. Two tables of 1024 bytes are gathered, with two rows of each on their way, and 1024 bytes are
// summed: (4 · 1024 + 1024) / 4 / 16 registers of 4 bytes for each thread, and 16 for everything else.
func.func @registers(%x: !flow.rows<node, 256xf32, device>, %y: !flow.rows<node, 256xf32, device>) -> !flow.rows<node, 256xf32, device> attributes {flow.graph = #small, flow.machine = #gpu} {
  %b = flow.mul %x[src], %y[src] : <node, 256xf32, device>, <node, 256xf32, device> -> <edge, 256xf32, device>
  // expected-remark @+1 {{not merged: the loop would take 96 registers}}
  %t = flow.reduce sum %b via dst : <edge, 256xf32, device> -> <node, 256xf32, device>
  return %t : !flow.rows<node, 256xf32, device>
}
