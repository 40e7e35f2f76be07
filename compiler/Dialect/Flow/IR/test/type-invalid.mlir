// Types that say nothing, or too much.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{a row's sizes are at least 1, but one is 0}}
func.func @c1_zero(%a: !flow.rows<node, 0xf32, device>) {
  return
}

// -----

// expected-error @+1 {{a row's sizes are at least 1, but one is 0}}
func.func @c1_zero_inside(%a: !flow.rows<node, 4x0x2xf32, device>) {
  return
}

// -----

// expected-error @+1 {{expected}}
func.func @c1_dynamic(%a: !flow.rows<node, ?xf32, device>) {
  return
}

// -----

// expected-error @+1 {{a row has at most 2^40 numbers}}
func.func @c1_huge(%a: !flow.rows<node, 1099511627776x2xf32, device>) {
  return
}

// -----

// expected-error @+1 {{a row has at most 2^40 numbers}}
func.func @c1_overflow(%a: !flow.rows<node, 9223372036854775807x9223372036854775807xf32, device>) {
  return
}

// -----

// expected-error @+1 {{rows hold f64, f32, f16, bf16, i1 or index, but are given 'i32'}}
func.func @c2_i32(%a: !flow.rows<node, 4xi32, device>) {
  return
}

// -----

// expected-error @+1 {{rows hold f64, f32, f16, bf16, i1 or index, but are given 'complex<f32>'}}
func.func @c2_complex(%a: !flow.rows<node, complex<f32>, device>) {
  return
}

// -----

// expected-error @+1 {{unknown domain `vertex`; expected one, ntype, etype, node, src_pair, dst_pair or edge}}
func.func @domain(%a: !flow.rows<vertex, 4xf32, device>) {
  return
}

// -----

// expected-error @+1 {{unknown residency `gpu`; expected device, host or disk}}
func.func @residency(%a: !flow.rows<node, 4xf32, gpu>) {
  return
}

// -----

// expected-error @+1 {{expected ','}}
func.func @no_residency(%a: !flow.rows<node, 4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected valid keyword}}
func.func @no_domain(%a: !flow.rows<4xf32, device>) {
  return
}

// -----

// expected-error @+1 {{expected}}
func.func @no_element(%a: !flow.rows<node, 4, device>) {
  return
}

// -----

// (C1) of the graph's numbers.
// expected-error@+1 {{a graph's numbers are at least 0, but one is -1}}
func.func @graph_c1() attributes {flow.graph = #flow.graph<nodes = -1, edges = 9, srcPairs = 7, dstPairs = 8, relations = 2, nodeTypes = 1, uniform = 1>} {
  return
}

// -----

// (C1) of the machine's numbers.
// expected-error@+1 {{a machine's numbers are at least 1, but one is 0}}
func.func @machine_c1() attributes {flow.machine = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1, lineBytes = 1, randomReads = 1, cachedReads = 1, productRate = 1, scalarRate = 1, launch = 0>} {
  return
}
