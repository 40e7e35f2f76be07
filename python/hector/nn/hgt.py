"""Heterogeneous graph transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter, ParameterDict
from torch.nn import functional as F

from .. import Graph, InvalidError
from . import _arguments as arguments
from ._graphs import edges_by_type
from ._linear import LinearByType, Matrices, ones, parameter_key
from ._texts import model

HGT = """
# HGT (Hu et al. 2020): k, q, v = x·W + b by node type, for each head a = softmax(q_v·(k_u·k_rel_r)·p_rel_r/√d),
# o = Σ a·v_u·v_rel_r, y = gelu(o)·W_out + b_out, out = β·y + (1-β)·x with β = sigmoid(skip) (`skip`). Where node types have
# rows of different sizes, k, q and v are given, and o is the result (not `project`)
def hgt(g,
        x: Node[d_in],                                                                      # if project
        Wk: NodeType[d_in, heads * d], bk: NodeType[heads * d],                             # if project
        Wq: NodeType[d_in, heads * d], bq: NodeType[heads * d],                             # if project
        Wv: NodeType[d_in, heads * d], bv: NodeType[heads * d],                             # if project
        W_out: NodeType[heads * d, heads * d], b_out: NodeType[heads * d],                  # if project
        skip: NodeType[],                                                                   # if skip
        kqv: Node[3 * heads * d],                                                           # if not project
        k_rel: EdgeType[heads, d, d], v_rel: EdgeType[heads, d, d], p_rel: EdgeType[heads]):
    for n in g.nodes():
        k = n.x * Wk[n.ntype] + bk[n.ntype]                                                 # if project
        q = n.x * Wq[n.ntype] + bq[n.ntype]                                                 # if project
        v = n.x * Wv[n.ntype] + bv[n.ntype]                                                 # if project
        k, q, v = split(n.kqv, 3)                                                           # if not project
        n["k"] = reshape(k, heads, d)
        n["q"] = reshape(q, heads, d)
        n["v"] = reshape(v, heads, d)
    for e in g.edges():
        score = dot_prod(e.dst["q"], linear(e.src["k"], k_rel[e.etype]))
        e["a"] = score * p_rel[e.etype] / sqrt(d)
        e["m"] = linear(e.src["v"], v_rel[e.etype])
    edge_softmax(g, "a")
    for n in g.nodes():
        out = reshape(sum(e["a"][:, None] * e["m"] for e in n.incoming_edges()), heads * d)
        out = gelu(out) * W_out[n.ntype] + b_out[n.ntype]                                   # if project
        beta = sigmoid(skip[n.ntype])                                                       # if skip
        out = beta * out + (1.0 - beta) * n.x                                               # if skip
        n["out"] = out
    return n["out"]
"""


def check_metadata(metadata: Any) -> tuple:
    """Node types, and edge types of three texts each."""
    is_pair = isinstance(metadata, (tuple, list)) and len(metadata) == 2
    if not is_pair or not all(isinstance(types, (tuple, list)) for types in metadata):
        raise InvalidError(f"`metadata` is {metadata!r}; expected node types and edge types, as `data.metadata()` gives them")
    for edge_type in metadata[1]:
        if not isinstance(edge_type, (tuple, list)) or len(edge_type) != 3:
            raise InvalidError(f"`metadata` has the edge type {edge_type!r}; expected (source, name, destination)")
    for name in (*metadata[0], *(part for edge_type in metadata[1] for part in edge_type)):
        if not isinstance(name, str):
            raise InvalidError(f"`metadata` has the name {name!r}, a {type(name).__name__}; expected a str")
    return tuple(metadata)


class HGTConv(Module):
    """HGT (Hu et al. 2020), as `torch_geometric.nn.HGTConv`.

        >>> conv = HGTConv(16, 32, metadata=(["author", "paper"], [("author", "writes", "paper")]), heads=2)
        >>> y = conv({"author": a, "paper": p}, {("author", "writes", "paper"): edge_index})
        >>> y["paper"]                              # [papers, 32]; no edge type leads to authors

    `in_channels` is a number, or one for each node type; -1 stands for the number of channels of the first input.
    """

    def __init__(
        self,
        in_channels: int | dict[str, int],
        out_channels: int,
        metadata: tuple[list[str], list[tuple[str, str, str]]],
        heads: int = 1,
        **kwargs: Any,
    ):
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, kwargs)
        arguments.check_count(layer, "out_channels", out_channels)
        arguments.check_count(layer, "heads", heads)
        if out_channels % heads:
            raise InvalidError(f"`out_channels` of {layer} is {out_channels}; it must be a multiple of `heads={heads}`")
        node_types, edge_types = check_metadata(metadata)
        if not isinstance(in_channels, dict):
            in_channels = {node_type: in_channels for node_type in node_types}
        for width in in_channels.values():
            arguments.check_count(layer, "in_channels", width, lazy=True)
        missing = [node_type for node_type in node_types if node_type not in in_channels]
        if missing:
            raise InvalidError(f"`in_channels` of {layer} has no {missing[0]!r}, which `metadata` names")
        for edge_type in edge_types:
            if edge_type[0] not in node_types or edge_type[2] not in node_types:
                raise InvalidError(f"`metadata` has the edge type {edge_type!r}, but its node types are {list(node_types)}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = heads
        self.node_types = node_types
        self.edge_types = edge_types
        self.edge_types_map = {tuple(edge_type): number for number, edge_type in enumerate(edge_types)}
        self.dst_node_types = {edge_type[-1] for edge_type in edge_types}
        self.kqv_lin = LinearByType(in_channels, 3 * out_channels)
        self.out_lin = LinearByType({node_type: out_channels for node_type in node_types}, out_channels)
        dim = out_channels // heads
        self.k_rel = Matrices(dim, dim, heads * len(edge_types))
        self.v_rel = Matrices(dim, dim, heads * len(edge_types))
        self.skip = ParameterDict({parameter_key(node_type): Parameter(torch.empty(1)) for node_type in node_types})
        self.p_rel = ParameterDict()
        for edge_type in edge_types:  # in this order, as optimisers count parameters; a dictionary would be sorted
            self.p_rel[parameter_key("__".join(edge_type))] = Parameter(torch.empty(1, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in (self.kqv_lin, self.out_lin, self.k_rel, self.v_rel):
            module.reset_parameters()
        for parameters in (self.skip, self.p_rel):
            for parameter in parameters.values():
                ones(parameter)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[tuple[str, str, str], Tensor]) -> dict[str, Tensor]:
        arguments.check_dict(x_dict, "x_dict", "features by node type")
        arguments.check_dict(edge_index_dict, "edge_index_dict", "tensors of shape [2, edges] by edge type")
        lins = self.kqv_lin.lins
        unknown = [node_type for node_type in x_dict if node_type not in lins]
        if unknown:
            raise InvalidError(f"`x_dict` has {unknown[0]!r}, but the layer was made for the node types {list(lins)}")
        types = [node_type for node_type in lins if node_type in x_dict]
        if not types:
            raise InvalidError(f"`x_dict` is empty; expected features of {list(lins)}")
        for node_type in types:
            name = f"x_dict[{node_type!r}]"
            lins[node_type].fit(arguments.check_features(x_dict[node_type], name), name)
        counts = {node_type: x_dict[node_type].size(0) for node_type in types}
        graph = self._graph(edge_index_dict, counts)

        num_relations, dim = len(self.edge_types), self.out_channels // self.heads
        relations = {
            name: matrices.weight.view(self.heads, num_relations, dim, dim).transpose(0, 1).contiguous()
            for name, matrices in (("k_rel", self.k_rel), ("v_rel", self.v_rel))
        }
        relations["p_rel"] = torch.cat([self.p_rel[parameter_key("__".join(edge_type))] for edge_type in self.edge_types])
        widths = {lins[node_type].in_channels for node_type in types}
        run = self._run_projected if len(widths) == 1 else self._run_in_parts
        out = run(graph, x_dict, types, counts, relations)
        return {node_type: out[node_type] for node_type in types if node_type in self.dst_node_types}

    def _run_projected(self, graph, x_dict, types, counts, relations) -> dict[str, Tensor]:
        """All of the layer as one model, where rows of all node types have the same size."""
        lins = [self.kqv_lin.lins[node_type] for node_type in types]
        outs = [self.out_lin.lins[node_type] for node_type in types]
        shape = (len(types), 3, self.out_channels)
        weights = torch.stack([lin.weight for lin in lins]).view(*shape, -1).transpose(2, 3).unbind(1)
        biases = torch.stack([lin.bias for lin in lins]).view(shape).unbind(1)
        inputs = {
            "x": torch.cat([x_dict[node_type] for node_type in types]) if len(types) > 1 else x_dict[types[0]],
            **{f"W{letter}": weight.contiguous() for letter, weight in zip("kqv", weights)},
            **{f"b{letter}": bias.contiguous() for letter, bias in zip("kqv", biases)},
            "W_out": torch.stack([lin.weight for lin in outs]).transpose(1, 2).contiguous(),
            "b_out": torch.stack([lin.bias for lin in outs]),
        }
        has_skip = lins[0].in_channels == self.out_channels
        if has_skip:
            inputs["skip"] = torch.cat([self.skip[parameter_key(node_type)] for node_type in types])
        out = model("hgt", HGT, project=True, skip=has_skip)(graph, **inputs, **relations)
        return dict(zip(types, out.split([counts[node_type] for node_type in types])))

    def _run_in_parts(self, graph, x_dict, types, counts, relations) -> dict[str, Tensor]:
        """The products of each node type by PyTorch, and what happens on edges as a model."""
        kqv = torch.cat([self.kqv_lin.lins[node_type](x_dict[node_type]) for node_type in types])
        summed = model("hgt", HGT, project=False, skip=False)(graph, kqv=kqv, **relations)
        results = {}
        for node_type, o in zip(types, summed.split([counts[node_type] for node_type in types])):
            x, out = x_dict[node_type], self.out_lin.lins[node_type](F.gelu(o))
            if x.size(1) == self.out_channels:
                beta = self.skip[parameter_key(node_type)].sigmoid()
                out = beta * out + (1 - beta) * x
            results[node_type] = out
        return results

    def _graph(self, edge_index_dict, counts: dict[str, int]) -> Graph:
        """One graph of all edges: nodes of the first type come first, and edge types have the order of `metadata`."""
        for edge_type, edge_index in edge_index_dict.items():
            if edge_type not in self.edge_types_map:
                known = list(self.edge_types_map)
                raise InvalidError(f"`edge_index_dict` has {edge_type!r}, but the layer was made for {known}")
            for end in (edge_type[0], edge_type[2]):
                if end not in counts:
                    raise InvalidError(f"`edge_index_dict` has {edge_type!r}, but `x_dict` has no {end!r}")
            arguments.check_edge_index(edge_index, f"edge_index_dict[{edge_type!r}]")
        present = [edge_type for edge_type in self.edge_types_map if edge_type in edge_index_dict]

        places = {node_type: place for place, node_type in enumerate(counts)}
        return edges_by_type(
            tuple(edge_index_dict[edge_type] for edge_type in present),
            tuple(counts.values()),
            tuple((places[kind[0]], self.edge_types_map[kind], places[kind[2]]) for kind in present),
            len(self.edge_types),
            [f"edge_index_dict[{edge_type!r}]" for edge_type in present],
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(-1, {self.out_channels}, heads={self.heads})"
