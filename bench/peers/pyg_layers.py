"""The layers of PyG, with the parameters of a case.

`RGATConv` has one attention vector for all relations where models/rgat.hec has one per relation, so that its cases have
the same vector for every relation (`TIED`), and its gradients are compared with sums over relations.
"""

import torch
from torch_geometric.nn import FastRGCNConv, HGTConv, RGATConv, RGCNConv

TIED = {"RGATConv": ("w_s", "w_t")}


def edges_of(case):
    return torch.stack([case.src, case.dst]), case.etype


def put(layer, name, value):
    """Makes an input of the case a parameter of the layer, so that it gets the gradient."""
    delattr(layer, name)
    setattr(layer, name, value)


def rgcn(kind):
    def make(case):
        i = case.inputs
        layer = kind(i["x"].shape[1], i["W"].shape[2], case.num_etypes, aggr="mean")
        for name, key in (("weight", "W"), ("root", "root"), ("bias", "bias")):
            put(layer, name, i[key])
        edges, types = edges_of(case)
        return lambda: layer(i["x"], edges, types)

    return make


def rgat(case):
    i = case.inputs
    layer = RGATConv(i["x"].shape[1], i["W"].shape[2], case.num_etypes, heads=1, bias=False)
    put(layer, "weight", i["W"])
    for name, key in (("q", "w_t"), ("k", "w_s")):
        i[key] = i[key].detach()[0].clone().requires_grad_(case.training)
        put(layer, name, i[key].unsqueeze(1))
    edges, types = edges_of(case)
    return lambda: layer(i["x"], edges, types)


def hgt(case):
    i = case.inputs
    x, d = i["x"], i["x"].shape[1]
    if any(isinstance(ends, set) for ends in case.ends):
        raise NotImplementedError("a relation joins several node types, which HGTConv has no word for")
    nodes = [f"n{t}" for t in range(case.num_ntypes)]
    relations = [r for r in range(case.num_etypes) if case.ends[r]]
    names = {r: (nodes[case.ends[r][0]], f"r{r}", nodes[case.ends[r][1]]) for r in relations}
    layer = HGTConv(d, d, (nodes, [names[r] for r in relations]), heads=1)
    edges = {}
    for r in relations:
        a, b = case.etype_ptr[r : r + 2]
        source, target = (case.ntype_ptr[end] for end in case.ends[r])
        edges[names[r]] = torch.stack([case.src[a:b] - source, case.dst[a:b] - target])
    x_dict = {nodes[t]: x[case.ntype_ptr[t] : case.ntype_ptr[t + 1]] for t in range(case.num_ntypes)}
    # The layer's own parameters are leaves; those of the case are read from them.
    with torch.no_grad():
        for t, node in enumerate(nodes):
            kqv, out = layer.kqv_lin.lins[node], layer.out_lin.lins[node]
            kqv.weight.copy_(torch.cat([i["Wk"][t], i["Wq"][t], i["Wv"][t]], 1).T)
            kqv.bias.copy_(torch.cat([i["bk"][t], i["bq"][t], i["bv"][t]]))
            out.weight.copy_(i["Wo"][t].T)
            out.bias.copy_(i["bo"][t])
            layer.skip[node].fill_(float(i["skip"][t]))
        layer.k_rel.weight.copy_(i["k_rel"][relations])
        layer.v_rel.weight.copy_(i["v_rel"][relations])
        for r in relations:
            layer.p_rel["__".join(names[r])].fill_(float(i["p_rel"][r]))
    for parameter in layer.parameters():
        parameter.requires_grad_(case.training)

    def forward():
        out = layer(x_dict, edges)
        missing = [node for node in nodes if out.get(node) is None]
        if missing:
            raise NotImplementedError("a node type has no incoming edges, and HGTConv has no result for it")
        return torch.cat([out[node] for node in nodes])

    def gradients():
        """The gradients of the layer's parameters, as those of the case."""
        linears = [layer.kqv_lin.lins[node] for node in nodes], [layer.out_lin.lins[node] for node in nodes]
        kqv, out = (torch.stack([linear.weight.grad.T for linear in group]) for group in linears)
        kqv_bias, out_bias = (torch.stack([linear.bias.grad for linear in group]) for group in linears)
        found = dict(zip(("Wk", "Wq", "Wv"), kqv.split(d, 2))) | dict(zip(("bk", "bq", "bv"), kqv_bias.split(d, 1)))
        found |= {"Wo": out, "bo": out_bias, "x": x.grad}
        found["skip"] = torch.cat([layer.skip[node].grad for node in nodes])
        for name, grad in (("k_rel", layer.k_rel.weight.grad), ("v_rel", layer.v_rel.weight.grad)):
            found[name] = torch.zeros_like(i[name]).index_copy(0, torch.tensor(relations, device=x.device), grad)
        p_rel = torch.cat([layer.p_rel["__".join(names[r])].grad.view(1) for r in relations])
        found["p_rel"] = torch.zeros_like(i["p_rel"]).index_copy(0, torch.tensor(relations, device=x.device), p_rel)
        return found

    forward.leaves = [x, *layer.parameters()]
    forward.gradients = gradients
    return forward


LAYERS = {
    "rgcn": {"RGCNConv": rgcn(RGCNConv), "FastRGCNConv": rgcn(FastRGCNConv)},
    "rgat": {"RGATConv": rgat},
    "hgt": {"HGTConv": hgt},
}
