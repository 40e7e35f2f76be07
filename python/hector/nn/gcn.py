"""Graph convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from .. import InvalidError
from . import _arguments as arguments
from ._graphs import Edges, edges_as_given, edges_without_loops, is_compiling
from ._linear import Linear, zeros
from ._texts import model

GCN = """
# GCN (Kipf and Welling 2017): out_v = norm_v·Σ w·norm_u·(x_u·W) + bias, norm = 1/√(Σ w) over incoming edges, 0 where that
# is 1/√0. With `loops`, each node has a loop of weight `loop`; the graph has none. Weights are 1 unless they are given
def weight(e):
    return e.w                                                          # if weights
    return 1.0                                                          # if not weights

def own(n):
    return n.loop                                                       # if loops and weights
    return 1.0                                                          # if loops and not weights
    return 0.0                                                          # if not loops

def gcn(g, x: Node[d_in], W: Shared[d_in, d_out],
        w: Edge[],                                                      # if weights
        loop: Node[],                                                   # if loops and weights
        bias: Shared[d_out],                                            # if bias
        normalize: bool = True):
    for n in g.nodes():
        n["h"] = n.x * W
    if normalize:
        for n in g.nodes():
            degree = sum(weight(e) for e in n.incoming_edges()) + own(n)
            n["norm"] = where(degree == 0.0, 0.0, rsqrt(where(degree == 0.0, 1.0, degree)))
            n["h"] = n["norm"] * n["h"]
    for n in g.nodes():
        out = sum(e.src["h"] for e in n.incoming_edges())               # if not weights
        out = sum(e.w * e.src["h"] for e in n.incoming_edges())         # if weights
        out = out + own(n) * n["h"]                                     # if loops
        out = n["norm"] * out if normalize else out
        out = out + bias                                                # if bias
        n["out"] = out
    return n["out"]
"""


class GCNConv(Module):
    """GCN (Kipf and Welling 2017), as `torch_geometric.nn.GCNConv`.

        >>> conv = GCNConv(16, 32)
        >>> y = conv(x, edge_index)                 # [nodes, 16], [2, edges] -> [nodes, 32]
        >>> y = conv(x, edge_index, edge_weight)    # [edges]; gradients flow to weights, also through the degrees

    As in PyG 2.8, `improved` counts only where `edge_weight` is given. With `cached`, the first graph and weights are
    kept and used for all later calls.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, kwargs, node_dims=(-2, 0))
        arguments.check_count(layer, "in_channels", in_channels, lazy=True)
        arguments.check_count(layer, "out_channels", out_channels)
        if add_self_loops is None:
            add_self_loops = normalize
        if add_self_loops and not normalize:
            raise InvalidError(f"{layer} has `add_self_loops=True` and `normalize=False`; loops are added to normalise")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.improved = improved
        self.cached = cached
        self.add_self_loops = add_self_loops
        self.normalize = normalize
        self._cache = None
        self.lin = Linear(in_channels, out_channels, bias=False, use_glorot=True)
        self.register_parameter("bias", Parameter(torch.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        zeros(self.bias)
        self._cache = None

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        if isinstance(x, (tuple, list)):
            layer = type(self).__name__
            raise InvalidError(f"`x` is a {type(x).__name__}; {layer} needs one table of features for all nodes")
        arguments.check_features(x, "x")
        self.lin.fit(x, "x")
        edges = self._cache
        if edges is None:
            edges = self._edges(edge_index, edge_weight, x.size(0))
            if self.cached and self.normalize and not is_compiling():  # PyG caches the norm alone
                self._cache = edges
        graph, weights = edges
        bias = {} if self.bias is None else {"bias": self.bias}
        gcn = model("gcn", GCN, weights="w" in weights, loops=self.add_self_loops, bias=self.bias is not None)
        return gcn(graph, x=x, W=self.lin.matrix(), **weights, **bias, normalize=self.normalize)

    def _edges(self, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> tuple:
        """The graph without loops, where the model adds them, and the weights of edges and loops by name."""
        arguments.check_edge_index(edge_index)
        num_edges = edge_index.size(1)
        if edge_weight is not None:
            if not isinstance(edge_weight, Tensor) or edge_weight.numel() != num_edges:
                found = list(edge_weight.shape) if isinstance(edge_weight, Tensor) else type(edge_weight).__name__
                raise InvalidError(f"`edge_weight` is {found}; expected a tensor with a number for each edge, [{num_edges}]")
            edge_weight = edge_weight.view(-1)
        if not self.add_self_loops:
            return edges_as_given(edge_index, num_nodes, num_nodes), {} if edge_weight is None else {"w": edge_weight}
        if edge_weight is None and is_compiling():
            return Edges("without loops", (num_nodes,), (edge_index,)), {}
        edges = edges_without_loops(edge_index, num_nodes)
        if edge_weight is None:
            return edges.graph, {}
        loop = edge_weight.new_full((num_nodes,), 2.0 if self.improved else 1.0)
        if edges.kept is None:
            return edges.graph, {"w": edge_weight, "loop": loop}
        loop = loop.index_copy(0, edges.loop_nodes, edge_weight[edges.loops])
        return edges.graph, {"w": edge_weight[edges.kept], "loop": loop}

    def __getstate__(self):
        # A copy keeps the first graph of its own calls.
        return {**self.__dict__, "_cache": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
