// Attributes of flow on functions and ops: kinds, numbers and places.
// RUN: hector-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'func.func' op has `flow.graph` = 3 : i64, but it is a #flow.graph}}
func.func @a1_kind() attributes {flow.graph = 3 : i64} {
  return
}

// -----

// expected-error @below {{'builtin.module' op has `flow.graph`, which belongs on a function}}
module attributes {flow.graph = #flow.graph<nodes = 1, edges = 1, srcPairs = 1, dstPairs = 1, relations = 1,
                                            nodeTypes = 1, uniform = 1>} {
}

// -----

// expected-error @below {{'func.func' op has `flow.machine` = "fast", but it is a #flow.machine}}
func.func @a2_kind() attributes {flow.machine = "fast"} {
  return
}

// -----

func.func @a2_place() {
  // expected-error @below {{'func.return' op has `flow.machine`, which belongs on a function}}
  return {flow.machine = #flow.machine<target = cpu, bandwidth = 1, cacheBytes = 1, lineBytes = 1, randomReads = 1, cachedReads = 1,
                                       productRate = 1, scalarRate = 1, launch = 1>}
}

// -----

// expected-error @below {{'func.func' op has `flow.forward_results` = 1 : i64, but it is an i64 from 0 to the number of results, 0}}
func.func @a3_many() attributes {flow.forward_results = 1 : i64} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.forward_results` = -1 : i64, but it is an i64 from 0}}
func.func @a3_negative() attributes {flow.forward_results = -1 : i64} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.forward_results` = 0 : ui64, but it is an i64 from 0}}
func.func @a3_unsigned() attributes {flow.forward_results = 0 : ui64} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.forward_results` = "all", but it is an i64 from 0}}
func.func @a3_kind() attributes {flow.forward_results = "all"} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.name` = 1 : i64, but it is a string}}
func.func @a4_argument(%x: !flow.rows<node, f32, device> {flow.name = 1 : i64}) {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.name` = unit, but it is a string}}
func.func @a4_result(%x: !flow.rows<node, f32, device>) -> (!flow.rows<node, f32, device> {flow.name}) {
  return %x : !flow.rows<node, f32, device>
}

// -----

// expected-error @below {{'func.func' op has `flow.name`, which belongs on an argument or result of a function}}
func.func @a4_place() attributes {flow.name = "f"} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.gradients` = [1], but it is a list of strings, the names of inputs}}
func.func @a5(%x: !flow.rows<node, f32, device>) attributes {flow.gradients = [1]} {
  return
}

// -----

// expected-error @below {{'func.func' op has `flow.relation_ends` = [#flow.map<src>], but it is a list of #flow.map<src_ntype> and #flow.map<dst_ntype>}}
func.func @a6(%x: !flow.rows<node, f32, device>) attributes {flow.relation_ends = [#flow.map<src>]} {
  return
}
