"""RGCN, RGAT and HGT in plain PyTorch, as a careful user writes them.

Products run once per (node, edge type) pair and not per edge, one matrix product per type. Rows are copied to edges and
summed with `index_add`. Gradients come from autograd. Where PyTorch has two words for the same thing, the one with the
faster gradient is used: `index_select` for `[]`, and `unbind` for one `[]` per type.
"""

import math

import torch
from case import Pairs


def typed_product(rows, counts, weights, biases=None):
    """rows[i] · weights[type of i] + biases[type of i], for rows that are sorted by type; `counts` has rows per type."""
    groups = zip(rows.split(counts), weights.unbind())
    if biases is None:
        parts = [group @ w for group, w in groups]
    else:
        parts = [torch.addmm(b, group, w) for (group, w), b in zip(groups, biases.unbind())]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def edge_softmax(scores, dst, num_nodes):
    """Softmax over the edges of each destination."""
    top = torch.full((num_nodes,), -torch.inf, device=dst.device).index_reduce(0, dst, scores.detach(), "amax")
    weights = (scores - top.index_select(0, dst)).exp()
    total = torch.zeros(num_nodes, device=dst.device).index_add(0, dst, weights)
    return weights / total.index_select(0, dst)


def weighted_sum(out, dst, rows, pair_of_edge, weights):
    """out[v] + the sum of weights[e] · rows[pair of e] over the edges e that end in v."""
    return out.index_add(0, dst, rows.index_select(0, pair_of_edge) * weights.unsqueeze(1))


def rgcn(case):
    x, w, root, bias = (case.inputs[name] for name in ("x", "W", "root", "bias"))
    pairs, inverse = Pairs(case, case.src), case.pair_counts()

    def forward():
        y = typed_product(x.index_select(0, pairs.node), pairs.counts, w)
        return weighted_sum(torch.addmm(bias, x, root), case.dst, y, pairs.of_edge, inverse)

    return forward


def rgat(case):
    x, w, w_s, w_t = (case.inputs[name] for name in ("x", "W", "w_s", "w_t"))
    by_src, by_dst = Pairs(case, case.src), Pairs(case, case.dst)

    def dots(rows, vectors, pairs):
        """rows[p] · vectors[type of p] for each pair p, copied to the edges of the pair."""
        return (rows * vectors.index_select(0, pairs.type)).sum(1).index_select(0, pairs.of_edge)

    def forward():
        s = typed_product(x.index_select(0, by_src.node), by_src.counts, w)
        # x · W · w_t = x · (W · w_t): no product per destination.
        folded = torch.einsum("rio,ro->ri", w, w_t)
        scores = dots(s, w_s, by_src) + dots(x.index_select(0, by_dst.node), folded, by_dst)
        att = edge_softmax(torch.nn.functional.leaky_relu(scores, 0.2), case.dst, case.num_nodes)
        return weighted_sum(torch.zeros(case.num_nodes, w.shape[2], device=x.device), case.dst, s, by_src.of_edge, att)

    return forward


def hgt(case):
    i = case.inputs
    x, d = i["x"], i["x"].shape[1]
    pairs = Pairs(case, case.src)
    node_counts = torch.tensor(case.ntype_ptr).diff().tolist()

    def linear(rows, name):
        return typed_product(rows, node_counts, i["W" + name], i["b" + name])

    def forward():
        k, q, v = (linear(x, name) for name in "kqv")
        keys = typed_product(k.index_select(0, pairs.node), pairs.counts, i["k_rel"])
        values = typed_product(v.index_select(0, pairs.node), pairs.counts, i["v_rel"])
        scores = (q.index_select(0, case.dst) * keys.index_select(0, pairs.of_edge)).sum(1)
        scores = scores * (i["p_rel"] / math.sqrt(d)).index_select(0, case.etype)
        att = edge_softmax(scores, case.dst, case.num_nodes)
        o = weighted_sum(torch.zeros_like(x), case.dst, values, pairs.of_edge, att)
        beta = torch.sigmoid(i["skip"]).index_select(0, case.ntype).unsqueeze(1)
        return beta * linear(torch.nn.functional.gelu(o), "o") + (1 - beta) * x

    return forward


LAYERS = {"rgcn": rgcn, "rgat": rgat, "hgt": hgt}
