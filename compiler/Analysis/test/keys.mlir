// What each op depends on, and the coarsest domain that holds it.
// RUN: hector-opt %s --flow-print-keys --split-input-file --verify-diagnostics

// A table's own rows; a node's type is part of the node.
func.func @domains(%e: !flow.rows<edge, f32, device>, %s: !flow.rows<src_pair, f32, device>, %d: !flow.rows<dst_pair, f32, device>,
                   %n: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>, %t: !flow.rows<ntype, f32, device>,
                   %o: !flow.rows<one, f32, device>) {
  // expected-remark @below {{key {edge}, fits edge}}
  %0 = flow.relu %e : <edge, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {node, etype}, fits src_pair}}
  %1 = flow.relu %s : <src_pair, f32, device> -> <src_pair, f32, device>
  // expected-remark @below {{key {node, etype}, fits dst_pair}}
  %2 = flow.relu %d : <dst_pair, f32, device> -> <dst_pair, f32, device>
  // expected-remark @below {{key {node}, fits node}}
  %3 = flow.relu %n : <node, f32, device> -> <node, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %4 = flow.relu %r : <etype, f32, device> -> <etype, f32, device>
  // expected-remark @below {{key {ntype}, fits ntype}}
  %5 = flow.relu %t : <ntype, f32, device> -> <ntype, f32, device>
  // expected-remark @below {{key {}, fits one}}
  %6 = flow.relu %o : <one, f32, device> -> <one, f32, device>
  // expected-remark @below {{key {node}, fits node}}
  %7 = flow.add %n, %t[ntype] : <node, f32, device>, <ntype, f32, device> -> <node, f32, device>
  return
}

// -----

func.func @maps_of_edges(%s: !flow.rows<src_pair, f32, device>, %d: !flow.rows<dst_pair, f32, device>, %n: !flow.rows<node, f32, device>,
                         %r: !flow.rows<etype, f32, device>, %t: !flow.rows<ntype, f32, device>, %o: !flow.rows<one, f32, device>) {
  // expected-remark @below {{key {source}, fits node}}
  %0 = flow.relu %n[src] : <node, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {destination}, fits node}}
  %1 = flow.relu %n[dst] : <node, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {source, etype}, fits src_pair}}
  %2 = flow.relu %s[src_pair] : <src_pair, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {destination, etype}, fits dst_pair}}
  %3 = flow.relu %d[dst_pair] : <dst_pair, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %4 = flow.relu %r[etype] : <etype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {source type}, fits ntype}}
  %5 = flow.relu %t[src_ntype] : <ntype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {destination type}, fits ntype}}
  %6 = flow.relu %t[dst_ntype] : <ntype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {}, fits one}}
  %7 = flow.relu %o[one] : <one, f32, device> -> <edge, f32, device>
  return
}

// -----

func.func @maps_of_pairs_and_types(%n: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>, %t: !flow.rows<ntype, f32, device>) {
  // expected-remark @below {{key {node}, fits node}}
  %0 = flow.relu %n[node] : <node, f32, device> -> <dst_pair, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %1 = flow.relu %r[etype] : <etype, f32, device> -> <src_pair, f32, device>
  // expected-remark @below {{key {ntype}, fits ntype}}
  %2 = flow.relu %t[ntype] : <ntype, f32, device> -> <dst_pair, f32, device>
  // A relation's end has a type because the relation has: the pair's own node says nothing of the far end.
  // expected-remark @below {{key {etype}, fits etype}}
  %3 = flow.relu %t[src_ntype] : <ntype, f32, device> -> <dst_pair, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %4 = flow.relu %t[dst_ntype] : <ntype, f32, device> -> <etype, f32, device>
  // expected-remark @below {{key {etype, ntype}, fits dst_pair}}
  %5 = flow.add %2, %3 : <dst_pair, f32, device>, <dst_pair, f32, device> -> <dst_pair, f32, device>
  return
}

// -----

func.func @unions(%n: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>, %t: !flow.rows<ntype, f32, device>, %e: !flow.rows<edge, f32, device>) {
  // Source and type make a pair, whichever order they come in.
  // expected-remark @below {{key {source, etype}, fits src_pair}}
  %0 = flow.mul %n[src], %r[etype] : <node, f32, device>, <etype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {destination, etype}, fits dst_pair}}
  %1 = flow.mul %r[etype], %n[dst] : <etype, f32, device>, <node, f32, device> -> <edge, f32, device>
  // No domain holds source and destination, with or without a type.
  // expected-remark @below {{key {source, destination}, fits edge}}
  %2 = flow.mul %n[src], %n[dst] : <node, f32, device>, <node, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {source, destination, etype}, fits edge}}
  %3 = flow.mul %0, %1 : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  // The source determines its type.
  // expected-remark @below {{key {source}, fits node}}
  %4 = flow.mul %n[src], %t[src_ntype] : <node, f32, device>, <ntype, f32, device> -> <edge, f32, device>
  // The other end's does not follow from it.
  // expected-remark @below {{key {source, destination type}, fits edge}}
  %5 = flow.mul %n[src], %t[dst_ntype] : <node, f32, device>, <ntype, f32, device> -> <edge, f32, device>
  // A relation may join several types: only a pair tells both.
  // expected-remark @below {{key {etype, source type}, fits src_pair}}
  %6 = flow.mul %r[etype], %t[src_ntype] : <etype, f32, device>, <ntype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {etype, destination type}, fits dst_pair}}
  %7 = flow.mul %r[etype], %t[dst_ntype] : <etype, f32, device>, <ntype, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {source type, destination type}, fits edge}}
  %8 = flow.mul %t[src_ntype], %t[dst_ntype] : <ntype, f32, device>, <ntype, f32, device> -> <edge, f32, device>
  // An edge determines everything.
  // expected-remark @below {{key {edge}, fits edge}}
  %9 = flow.mul %3, %e : <edge, f32, device>, <edge, f32, device> -> <edge, f32, device>
  return
}

// -----

func.func @movements(%n: !flow.rows<node, f32, device>, %r: !flow.rows<etype, f32, device>) {
  // expected-remark @below {{key {}, fits one}}
  %c = flow.constant 1.0 : <one, f32, device>
  // expected-remark @below {{key {}, fits one}}
  %0 = flow.spread %c via one : <one, f32, device> -> <edge, f32, device>
  // A reduction may differ in every row, whatever it collects: here it counts.
  // expected-remark @below {{key {node}, fits node}}
  %1 = flow.reduce sum %0 via dst : <edge, f32, device> -> <node, f32, device>
  // expected-remark @below {{key {node, etype}, fits dst_pair}}
  %2 = flow.reduce sum %0 via dst_pair : <edge, f32, device> -> <dst_pair, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %3 = flow.reduce max %0 via etype : <edge, f32, device> -> <etype, f32, device>
  // expected-remark @below {{key {}, fits one}}
  %4 = flow.reduce mean %0 via one : <edge, f32, device> -> <one, f32, device>
  // A key survives a spread and a finer domain in between.
  // expected-remark @below {{key {etype}, fits etype}}
  %5 = flow.spread %r via etype : <etype, f32, device> -> <dst_pair, f32, device>
  // expected-remark @below {{key {etype}, fits etype}}
  %6 = flow.spread %5 via dst_pair : <dst_pair, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {source, etype}, fits src_pair}}
  %7 = flow.add %6, %1[src] : <edge, f32, device>, <node, f32, device> -> <edge, f32, device>
  return
}

// -----

// Dropout draws every row of its domain by itself, whatever rows it reads.
func.func @dropout(%n: !flow.rows<node, f32, device>, %o: !flow.rows<one, f32, device>) {
  // expected-remark @below {{key {edge}, fits edge}}
  %0 = flow.dropout %n[src] {rate = 0.5 : f64, stream = 0 : i64} : <node, f32, device> -> <edge, f32, device>
  // expected-remark @below {{key {node, etype}, fits src_pair}}
  %1 = flow.dropout %n[node] {rate = 0.5 : f64, stream = 0 : i64} : <node, f32, device> -> <src_pair, f32, device>
  // expected-remark @below {{key {node}, fits node}}
  %2 = flow.dropout %o[one] {rate = 0.5 : f64, stream = 0 : i64} : <one, f32, device> -> <node, f32, device>
  // expected-remark @below {{key {}, fits one}}
  %3 = flow.dropout %o {rate = 0.5 : f64, stream = 0 : i64} : <one, f32, device> -> <one, f32, device>
  return
}
