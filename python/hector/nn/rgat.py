"""Relational graph attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from .. import InvalidError
from . import _arguments as arguments
from ._graphs import typed_edges
from ._linear import Linear, glorot, ones, zeros
from ._texts import model, number

RGAT = """
# RGAT (Busbridge et al. 2019): s = x_u·W_r and t = x_v·W_r, then for each head and dimension
# a = leakyrelu(t·q + s·k + w·W_edge·c), or (t·q)⊙(s·k)⊙(w·W_edge·c) ("multiplicative"), and out_v = Σ softmax(a)·s + bias;
# softmax over all of v's edges, or over those of one type ("within"). `additive`, `scaled`, `f_additive` and `f_scaled`
# (Zhang and Xie 2020) let the number of edges count
def transform(x, r):
    return x * W[r]                                                                         # if full
    return x * r["W"]                                                                       # if bases
    return reshape(linear(reshape(x, blocks, i), W[r]), blocks * o)                         # if blocks

def message(e):
    return e["a"][:, None] * reshape(e["s"], heads, d)                                      # if flat
    return reshape(e["a"], heads, dim, 1) * reshape(e["s"], heads, 1, d)                    # if not flat and not additive
    return (reshape(e["a"], heads, dim, 1) + gain) * reshape(e["s"], heads, 1, d)           # if additive

def rgat(g, x: Node[d_in],
         W: EdgeType[d_in, heads * d],                                                      # if full
         basis: Shared[bases, d_in, heads * d], coef: EdgeType[bases],                      # if bases
         W: EdgeType[blocks, i, o],                                                         # if blocks
         q: Shared[heads * d, heads * dim], k: Shared[heads * d, heads * dim],
         w: Edge[d_edge], W_edge: Shared[d_edge, heads * d], c: Shared[heads * d, heads * dim],     # if edges
         gain: Shared[1, 1, d],                                                             # if additive
         l1: Shared[d], b1: Shared[d], l2: Shared[d, d], b2: Shared[d],                     # if scaled
         bias: Shared[d_out],                                                               # if bias
         p: float = 0.0,                                                                    # if dropout
         heads: int = 1, dim: int = 1, slope: float = 0.2,
         mode: Literal["additive", "multiplicative"] = "additive",
         softmax: Literal["across", "within"] = "across", join: Literal["concat", "mean"] = "concat"):
    for t in g.edge_types():                                                                # if bases
        t["W"] = reshape(coef[t] * reshape(basis, bases, d_in * heads * d), d_in, heads * d)    # if bases
    for e in g.edges():
        e["s"] = transform(e.src.x, e.etype)
        query = transform(e.dst.x, e.etype) * q
        key = e["s"] * k
        edge = e.w * W_edge * c                                                             # if edges
        if mode == "additive":
            score = query + key
            score = score + edge                                                            # if edges
            e["a"] = leakyrelu(score, slope)
        else:
            score = query * key
            score = score * edge                                                            # if edges
            e["a"] = score
    if softmax == "within":
        relation_softmax(g, "a")
    else:
        edge_softmax(g, "a")
    for e in g.edges():                                                                     # if changed
        e["alpha"] = e["a"]                                                                 # if changed
        e["a"] = dropout(e["a"], p)                                                         # if dropout
        e["a"] = where(e["a"] > 0.0, e["a"] + 1.0, e["a"])                                  # if f_additive
    for n in g.nodes():
        near = reshape(sum(message(e) for e in n.incoming_edges()), heads * dim, d)
        near = near * (relu(in_degree(n) * l1 + b1) * l2 + b2)[None]                        # if scaled
        near = near * in_degree(n)                                                          # if f_scaled
        if join == "concat":
            out = reshape(near, heads * dim * d)
        else:
            out = mean(reshape(near, heads, dim * d), axis=0)
        out = out + bias                                                                    # if bias
        n["out"] = out
    return n["out"]                                                                         # if not weights
    return n["out"], e["a"]                                                                 # if weights and not changed
    return n["out"], e["alpha"]                                                             # if weights and changed
"""

MODES = {"additive-self-attention": "additive", "multiplicative-self-attention": "multiplicative"}
MECHANISMS = {"across-relation": "across", "within-relation": "within"}
MODS = ("additive", "scaled", "f-additive", "f-scaled")


class RGATConv(Module):
    """RGAT (Busbridge et al. 2019), as `torch_geometric.nn.RGATConv`.

        >>> conv = RGATConv(16, 8, num_relations=4, heads=2)
        >>> y = conv(x, edge_index, edge_type)      # [nodes, 16], [2, edges], [edges] -> [nodes, 16]

    All arguments of PyG's layer are supported. With `return_attention_weights` the result is
    `(y, (edge_index, weights))`, and weights are those before `mod` and dropout.
    """

    negative_slope, dropout = number("negative_slope"), number("dropout")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_relations: int,
        num_bases: int | None = None,
        num_blocks: int | None = None,
        mod: str | None = None,
        attention_mechanism: str = "across-relation",
        attention_mode: str = "additive-self-attention",
        heads: int = 1,
        dim: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        edge_dim: int | None = None,
        bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, kwargs)
        counts = {
            "in_channels": in_channels,
            "out_channels": out_channels,
            "num_relations": num_relations,
            "num_bases": num_bases,
            "num_blocks": num_blocks,
            "heads": heads,
            "dim": dim,
            "edge_dim": edge_dim,
        }
        for name, value in counts.items():
            if value is not None or name not in ("num_bases", "num_blocks", "edge_dim"):
                arguments.check_count(layer, name, value)
        arguments.check_choice(layer, "mod", mod, (None, *MODS))
        arguments.check_choice(layer, "attention_mechanism", attention_mechanism, MECHANISMS)
        arguments.check_choice(layer, "attention_mode", attention_mode, MODES)
        if attention_mode == "additive-self-attention" and dim > 1:
            raise InvalidError(f"{layer} has `dim={dim}`, which needs `attention_mode='multiplicative-self-attention'`")
        arguments.check_fraction(layer, "dropout", dropout)
        if dropout > 0.0 and mod is not None:
            raise InvalidError(f"{layer} has `dropout={dropout}` and `mod={mod!r}`; give one of them")
        if num_bases is not None and num_blocks is not None:
            raise InvalidError(f"{layer} has `num_bases={num_bases}` and `num_blocks={num_blocks}`; give one of them")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.num_relations = num_relations
        self.num_bases = num_bases
        self.num_blocks = num_blocks
        self.mod = mod
        self.attention_mechanism = attention_mechanism
        self.attention_mode = attention_mode
        self.heads = heads
        self.dim = dim
        self.concat = concat
        self.negative_slope = negative_slope
        self.dropout = float(dropout)
        self.edge_dim = edge_dim

        width = heads * out_channels
        self.q = Parameter(torch.empty(width, heads * dim))
        self.k = Parameter(torch.empty(width, heads * dim))
        bias_width = (heads if concat else 1) * dim * out_channels
        self.register_parameter("bias", Parameter(torch.empty(bias_width)) if bias else None)
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False, use_glorot=True)
            self.e = Parameter(torch.empty(width, heads * dim))
        else:
            self.lin_edge = None
            self.register_parameter("e", None)
        if num_bases is not None:
            self.att = Parameter(torch.empty(num_relations, num_bases))
            self.basis = Parameter(torch.empty(num_bases, in_channels, width))
        elif num_blocks is not None:
            if in_channels % num_blocks or width % num_blocks:
                raise InvalidError(
                    f"{layer} has {in_channels} channels in and {width} out (`heads * out_channels`); both must be "
                    f"multiples of `num_blocks={num_blocks}`"
                )
            self.weight = Parameter(torch.empty(num_relations, num_blocks, in_channels // num_blocks, width // num_blocks))
        else:
            self.weight = Parameter(torch.empty(num_relations, in_channels, width))
        # Only some `mod`s read these, but state dicts have them.
        self.w = Parameter(torch.ones(out_channels))
        self.l1 = Parameter(torch.empty(1, out_channels))
        self.b1 = Parameter(torch.empty(1, out_channels))
        self.l2 = Parameter(torch.empty(out_channels, out_channels))
        self.b2 = Parameter(torch.empty(1, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.num_bases is not None:
            glorot(self.basis)
            glorot(self.att)
        else:
            glorot(self.weight)
        glorot(self.q)
        glorot(self.k)
        zeros(self.bias)
        ones(self.l1)
        zeros(self.b1)
        torch.nn.init.constant_(self.l2, 1 / self.out_channels)  # PyG means to, and leaves it as allocated
        zeros(self.b2)
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()
            glorot(self.e)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_type: Tensor | None = None,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
        return_attention_weights: bool | None = None,
    ):
        layer = type(self).__name__
        if isinstance(x, (tuple, list)):
            raise InvalidError(f"`x` is a {type(x).__name__}; {layer} needs one table of features for all nodes")
        arguments.check_width(arguments.check_features(x, "x"), "x", self.in_channels)
        arguments.check_ends(x, size)
        arguments.check_edge_index(edge_index)
        arguments.check_edge_type(edge_type, edge_index.size(1))
        edge_attr = arguments.check_edge_attr(layer, edge_attr, self.edge_dim, edge_index.size(1))
        graph = typed_edges(edge_index, edge_type, x.size(0), x.size(0), self.num_relations)

        inputs = {"x": x, "q": self.q, "k": self.k}
        if self.num_bases is not None:
            inputs.update(basis=self.basis, coef=self.att)
        else:
            inputs.update(W=self.weight)
        if edge_attr is not None:
            inputs.update(w=edge_attr, W_edge=self.lin_edge.matrix(), c=self.e)
        if self.mod == "additive":
            inputs.update(gain=self.w.view(1, 1, -1))
        if self.mod == "scaled":
            inputs.update(l1=self.l1.view(-1), b1=self.b1.view(-1), l2=self.l2, b2=self.b2.view(-1))
        if self.bias is not None:
            inputs.update(bias=self.bias)
        if self.dropout > 0.0:
            inputs.update(p=self._dropout_text)
        gives_weights = isinstance(return_attention_weights, bool)
        rgat = model(
            "rgat",
            RGAT,
            full=self.num_bases is None and self.num_blocks is None,
            bases=self.num_bases is not None,
            blocks=self.num_blocks is not None,
            edges=edge_attr is not None,
            additive=self.mod == "additive",
            scaled=self.mod == "scaled",
            f_additive=self.mod == "f-additive",
            f_scaled=self.mod == "f-scaled",
            flat=self.dim == 1 and self.mod != "additive",
            bias=self.bias is not None,
            dropout=self.dropout > 0.0,
            changed=self.dropout > 0.0 or self.mod == "f-additive",
            weights=gives_weights,
        )
        out = rgat(
            graph,
            **inputs,
            heads=self.heads,
            dim=self.dim,
            slope=self._negative_slope_text,
            mode=MODES[self.attention_mode],
            softmax=MECHANISMS[self.attention_mechanism],
            join="concat" if self.concat else "mean",
            training=self.training and self.dropout > 0.0,
        )
        return (out[0], (edge_index, out[1])) if gives_weights else out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"
