"""The layers of DGL, with the parameters of a case.

`RelGraphConv` computes what models/rgcn.hec does. DGL has no RGAT, and its `HGTConv` has neither biases nor an
activation. These two are therefore made of DGL's parts: typed products, edge softmax and message passing. `HGTConv`
itself takes part for its time only (`OTHER_FUNCTION`).
"""

import math

import dgl
import dgl.function as fn
import torch
from dgl.nn.functional import edge_softmax
from dgl.nn.pytorch import HGTConv, RelGraphConv

OTHER_FUNCTION = {"HGTConv": "without biases and activation"}


def graph_of(case):
    graph = dgl.graph((case.src, case.dst), num_nodes=case.num_nodes)
    graph.create_formats_()
    return graph


def typed(rows, weights, ptr):
    """One product per type; rows are sorted by type, and `ptr` says where types start."""
    return dgl.ops.segment_mm(rows, weights, torch.tensor(ptr).diff())


def put(layer, name, value):
    delattr(layer, name)
    setattr(layer, name, value)


def rgcn(case):
    i = case.inputs
    layer = RelGraphConv(i["x"].shape[1], i["W"].shape[2], case.num_etypes, regularizer=None)
    put(layer, "h_bias", i["bias"])
    put(layer, "loop_weight", i["root"])
    put(layer.linear_r, "W", i["W"])
    graph, norm = graph_of(case), case.pair_counts().unsqueeze(1)
    return lambda: layer(graph, i["x"], case.etype, norm, presorted=True)


def weighted_sum(graph, messages, att):
    with graph.local_scope():
        graph.edata["m"] = messages * att
        graph.update_all(fn.copy_e("m", "m"), fn.sum("m", "out"))
        return graph.ndata["out"]


def rgat(case):
    x, w, w_s, w_t = (case.inputs[name] for name in ("x", "W", "w_s", "w_t"))
    graph, ptr = graph_of(case), case.etype_ptr

    def forward():
        s = typed(x.index_select(0, case.src), w, ptr)
        t = typed(x.index_select(0, case.dst), w, ptr)
        scores = typed(s, w_s.unsqueeze(2), ptr) + typed(t, w_t.unsqueeze(2), ptr)
        att = edge_softmax(graph, torch.nn.functional.leaky_relu(scores, 0.2))
        return weighted_sum(graph, s, att)

    return forward


def hgt(case):
    i = case.inputs
    x, d = i["x"], i["x"].shape[1]
    graph, ptr = graph_of(case), case.etype_ptr

    def linear(rows, name):
        return typed(rows, i["W" + name], case.ntype_ptr) + i["b" + name].index_select(0, case.ntype)

    def forward():
        k, q, v = (linear(x, name) for name in "kqv")
        keys = typed(k.index_select(0, case.src), i["k_rel"], ptr)
        values = typed(v.index_select(0, case.src), i["v_rel"], ptr)
        scores = (keys * q.index_select(0, case.dst)).sum(1) * i["p_rel"].index_select(0, case.etype) / math.sqrt(d)
        o = weighted_sum(graph, values, edge_softmax(graph, scores.unsqueeze(1)))
        beta = torch.sigmoid(i["skip"]).index_select(0, case.ntype).unsqueeze(1)
        return beta * linear(torch.nn.functional.gelu(o), "o") + (1 - beta) * x

    return forward


def hgt_conv(case):
    i = case.inputs
    layer = HGTConv(i["x"].shape[1], i["x"].shape[1], 1, case.num_ntypes, case.num_etypes, dropout=0.0)
    for parameter in layer.parameters():
        parameter.requires_grad_(case.training)
    graph = graph_of(case)
    forward = lambda: layer(graph, i["x"], case.ntype, case.etype, presorted=True)
    forward.leaves = [i["x"], *layer.parameters()]
    return forward


LAYERS = {
    "rgcn": {"RelGraphConv": rgcn},
    "rgat": {"parts": rgat},
    "hgt": {"parts": hgt, "HGTConv": hgt_conv},
}
