"""Graph attention: GAT and GATv2."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from .. import InvalidError
from . import _arguments as arguments
from ._graphs import Edges, edges_as_given, edges_with_loops, features_with_loops, is_compiling
from ._linear import Linear, glorot, zeros
from ._texts import model, number

GAT = """
# GAT (Veličković et al. 2018): h = x·W, a = leakyrelu(h_u·att_src + (y_v·W_dst)·att_dst + (w·W_edge)·att_edge) for each
# head, out_v = Σ softmax(a)·h_u + y_v·W_res + bias, heads side by side or averaged; y is x unless there is a `pair`
def gat(g, x: Node[d_src], W: Shared[d_src, heads * d], att_src: Shared[heads, d],
        att_dst: Shared[heads, d],                                                          # if target
        y: Node[d_dst],                                                                     # if pair
        W_dst: Shared[d_dst, heads * d],                                                    # if pair
        w: Edge[d_edge], W_edge: Shared[d_edge, heads * d], att_edge: Shared[heads, d],     # if edges
        W_res: Shared[d_res, d_out],                                                        # if residual
        bias: Shared[d_out],                                                                # if bias
        p: float = 0.0,                                                                     # if dropout
        slope: float = 0.2, join: Literal["concat", "mean"] = "concat"):
    for n in g.nodes():
        n["h"] = reshape(n.x * W, heads, d)
        n["s"] = dot_prod(n["h"], att_src)
        n["t"] = dot_prod(n["h"], att_dst)                                                  # if target and not pair
        n["t"] = dot_prod(reshape(n.y * W_dst, heads, d), att_dst)                          # if pair
    for e in g.edges():
        score = e.src["s"]
        score = score + e.dst["t"]                                                          # if target
        score = score + dot_prod(reshape(e.w * W_edge, heads, d), att_edge)                 # if edges
        e["a"] = leakyrelu(score, slope)
    edge_softmax(g, "a")
    for e in g.edges():                                                                     # if dropout
        e["a"] = dropout(e["a"], p)                                                         # if dropout
    for n in g.nodes():
        o = sum(e["a"][:, None] * e.src["h"] for e in n.incoming_edges())
        out = reshape(o, heads * d) if join == "concat" else mean(o, axis=0)
        out = out + n.x * W_res                                                             # if residual and not pair
        out = out + n.y * W_res                                                             # if residual and pair
        out = out + bias                                                                    # if bias
        n["out"] = out
    return n["out"]                                                                         # if not weights
    return n["out"], e["a"]                                                                 # if weights
"""

GATV2 = """
# GATv2 (Brody et al. 2022): l = x·W_l + b_l, r = y·W_r + b_r, a = att·leakyrelu(l_u + r_v + w·W_edge) for each head,
# out_v = Σ softmax(a)·l_u + y_v·W_res + bias, heads side by side or averaged; y is x unless there is a `pair`, and r is l
# where they `share` a weight
def gatv2(g, x: Node[d_src], W_l: Shared[d_src, heads * d], att: Shared[heads, d],
          y: Node[d_dst],                                                                   # if pair
          W_r: Shared[d_dst, heads * d],                                                    # if not share
          b_l: Shared[heads * d],                                                           # if bias
          b_r: Shared[heads * d],                                                           # if bias and not share
          w: Edge[d_edge], W_edge: Shared[d_edge, heads * d],                               # if edges
          W_res: Shared[d_res, d_out],                                                      # if residual
          bias: Shared[d_out],                                                              # if bias
          p: float = 0.0,                                                                   # if dropout
          slope: float = 0.2, join: Literal["concat", "mean"] = "concat"):
    for n in g.nodes():
        n["l"] = reshape(n.x * W_l, heads, d)                                               # if not bias
        n["l"] = reshape(n.x * W_l + b_l, heads, d)                                         # if bias
        n["r"] = n["l"]                                                                     # if share
        r = n.x * W_r                                                                       # if not share and not pair
        r = n.y * W_r                                                                       # if not share and pair
        r = r + b_r                                                                         # if not share and bias
        n["r"] = reshape(r, heads, d)                                                       # if not share
    for e in g.edges():
        z = e.src["l"] + e.dst["r"]
        z = z + reshape(e.w * W_edge, heads, d)                                             # if edges
        e["a"] = dot_prod(leakyrelu(z, slope), att)
    edge_softmax(g, "a")
    for e in g.edges():                                                                     # if dropout
        e["a"] = dropout(e["a"], p)                                                         # if dropout
    for n in g.nodes():
        o = sum(e["a"][:, None] * e.src["l"] for e in n.incoming_edges())
        out = reshape(o, heads * d) if join == "concat" else mean(o, axis=0)
        out = out + n.x * W_res                                                             # if residual and not pair
        out = out + n.y * W_res                                                             # if residual and pair
        out = out + bias                                                                    # if bias
        n["out"] = out
    return n["out"]                                                                         # if not weights
    return n["out"], e["a"]                                                                 # if weights
"""

REDUCTIONS = ("add", "sum", "mean", "min", "max", "mul")


class Attention(Module):
    """What GAT and GATv2 share: their arguments, loops, and heads that are put side by side or averaged."""

    negative_slope, dropout = number("negative_slope"), number("dropout")

    def __init__(self, in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim,
                 fill_value, residual, options):  # fmt: skip
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, options)
        self.widths = arguments.check_channels(layer, in_channels, lazy=True)
        arguments.check_count(layer, "out_channels", out_channels)
        arguments.check_count(layer, "heads", heads)
        if edge_dim is not None:
            arguments.check_count(layer, "edge_dim", edge_dim, lazy=True)
        if isinstance(fill_value, str):
            arguments.check_choice(layer, "fill_value", fill_value, REDUCTIONS)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = heads
        self.concat = concat
        self.negative_slope = negative_slope
        self.dropout = arguments.check_fraction(layer, "dropout", dropout)
        self.add_self_loops = add_self_loops
        self.edge_dim = edge_dim
        self.fill_value = fill_value
        self.residual = residual

    @property
    def total_channels(self) -> int:
        return self.out_channels * (self.heads if self.concat else 1)

    def _add_last(self, bias: bool) -> None:
        """The parameters that both layers make after their own."""
        if self.residual:
            self.res = Linear(self.widths[1], self.total_channels, bias=False, use_glorot=True)
        else:
            self.register_parameter("res", None)
        self.register_parameter("bias", Parameter(torch.empty(self.total_channels)) if bias else None)

    def _run(self, text, ends, inputs, options, edge_index, edge_attr, give_weights):
        """Runs the model with what is common to both, and gives what `forward` returns."""
        layer = type(self).__name__
        arguments.check_edge_index(edge_index)
        if edge_attr is not None and self.lin_edge is not None and self.lin_edge.is_lazy:
            self.lin_edge.fit(edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr, "edge_attr")
        edge_dim = None if self.lin_edge is None else self.lin_edge.in_channels
        edge_attr = arguments.check_edge_attr(layer, edge_attr, edge_dim, edge_index.size(1))
        if self.add_self_loops and edge_attr is None and not give_weights and is_compiling():
            graph = Edges("with loops", (ends.num_src, ends.num_dst), (edge_index,))
        elif self.add_self_loops:
            edges = edges_with_loops(edge_index, ends.num_src, ends.num_dst)
            graph = edges.graph
            if give_weights:
                edge_index = edges.index.clone()  # the caller's own
            if edge_attr is not None:
                edge_attr = features_with_loops(edge_attr, edges, self.fill_value)
        else:
            graph = edges_as_given(edge_index, ends.num_src, ends.num_dst)
        if edge_attr is not None:
            inputs.update(w=edge_attr, W_edge=self.lin_edge.matrix())
        has_residual = self.res is not None and ends.dst is not None
        if has_residual:
            self.res.fit(ends.dst, "x")
            inputs.update(W_res=self.res.matrix())
        if self.bias is not None:
            inputs.update(bias=self.bias)
        if self.dropout > 0.0:
            inputs.update(p=self._dropout_text)
        attention = model(
            layer,
            text,
            **options,
            edges=edge_attr is not None,
            residual=has_residual,
            bias=self.bias is not None,
            dropout=self.dropout > 0.0,
            weights=bool(give_weights),
        )
        out = attention(
            graph,
            **inputs,
            slope=self._negative_slope_text,
            join="concat" if self.concat else "mean",
            training=self.training and self.dropout > 0.0,
        )
        if give_weights:
            return arguments.first_rows(out[0], ends.num_dst), (edge_index, out[1])
        return arguments.first_rows(out, ends.num_dst)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


class GATConv(Attention):
    """GAT (Veličković et al. 2018), as `torch_geometric.nn.GATConv`.

        >>> conv = GATConv(16, 8, heads=4)
        >>> y = conv(x, edge_index)                                 # [nodes, 16], [2, edges] -> [nodes, 32]
        >>> y = GATConv((16, 4), 8)((x_src, x_dst), edge_index)     # of destinations, [nodes, 8]
        >>> y, (edges, weights) = conv(x, edge_index, return_attention_weights=True)

    All arguments of PyG's layer are supported. As there, loops are replaced by one for each node unless
    `add_self_loops=False`, and `edges` above includes them. `edge_attr` needs a layer with `edge_dim`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        residual: bool = False,
        **kwargs: Any,
    ):
        super().__init__(in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim,
                         fill_value, residual, kwargs)  # fmt: skip
        width = heads * out_channels
        self.lin = self.lin_src = self.lin_dst = None
        if isinstance(in_channels, int):
            self.lin = Linear(in_channels, width, bias=False, use_glorot=True)
        else:
            self.lin_src = Linear(in_channels[0], width, bias=False, use_glorot=True)
            self.lin_dst = Linear(in_channels[1], width, bias=False, use_glorot=True)
        self.att_src = Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = Parameter(torch.empty(1, heads, out_channels))
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False, use_glorot=True)
            self.att_edge = Parameter(torch.empty(1, heads, out_channels))
        else:
            self.lin_edge = None
            self.register_parameter("att_edge", None)
        self._add_last(bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for lin in (self.lin, self.lin_src, self.lin_dst, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)
        glorot(self.att_edge)
        zeros(self.bias)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
        return_attention_weights: bool | None = None,
    ):
        ends = arguments.check_ends(x, size)
        lin_src, lin_dst = (self.lin_src, self.lin_dst) if self.lin is None else (self.lin, self.lin)
        is_pair = ends.dst is not None and (ends.is_pair or self.lin is None)
        lin_src.fit(ends.src, "x")
        inputs = {"x": arguments.pad_rows(ends.src, ends.num_nodes), "W": lin_src.matrix(), "att_src": self.att_src[0]}
        if ends.dst is not None:
            inputs.update(att_dst=self.att_dst[0])
        if is_pair:
            lin_dst.fit(ends.dst, "x")
            inputs.update(y=arguments.pad_rows(ends.dst, ends.num_nodes), W_dst=lin_dst.matrix())
        if edge_attr is not None and self.att_edge is not None:
            inputs.update(att_edge=self.att_edge[0])
        options = {"pair": is_pair, "target": ends.dst is not None}
        return self._run(GAT, ends, inputs, options, edge_index, edge_attr, return_attention_weights)


class GATv2Conv(Attention):
    """GATv2 (Brody et al. 2022), as `torch_geometric.nn.GATv2Conv`.

        >>> conv = GATv2Conv(16, 8, heads=4, edge_dim=3)
        >>> y = conv(x, edge_index, edge_attr)      # [nodes, 16], [2, edges], [edges, 3] -> [nodes, 32]

    All arguments of PyG's layer are supported; see `GATConv`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        share_weights: bool = False,
        residual: bool = False,
        **kwargs: Any,
    ):
        super().__init__(in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim,
                         fill_value, residual, kwargs)  # fmt: skip
        width = heads * out_channels
        if share_weights and self.widths[0] != self.widths[1]:
            raise InvalidError(f"`share_weights` needs sources and destinations of one width, not {self.widths}")
        self.share_weights = share_weights
        self.lin_l = Linear(self.widths[0], width, bias=bias, use_glorot=True)
        self.lin_r = self.lin_l if share_weights else Linear(self.widths[1], width, bias=bias, use_glorot=True)
        self.att = Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, width, bias=False, use_glorot=True)
        self._add_last(bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for lin in (self.lin_l, self.lin_r, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att)
        zeros(self.bias)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ):
        ends = arguments.check_ends(x, needs_dst=True)
        self.lin_l.fit(ends.src, "x")
        self.lin_r.fit(ends.dst, "x")
        inputs = {"x": arguments.pad_rows(ends.src, ends.num_nodes), "W_l": self.lin_l.matrix(), "att": self.att[0]}
        has_bias = self.lin_l.bias is not None
        is_shared = self.share_weights and not ends.is_pair
        if ends.is_pair:
            inputs.update(y=arguments.pad_rows(ends.dst, ends.num_nodes))
        if has_bias:
            inputs.update(b_l=self.lin_l.bias)
        if not is_shared:
            inputs.update(W_r=self.lin_r.matrix())
            if has_bias:
                inputs.update(b_r=self.lin_r.bias)
        options = {"pair": ends.is_pair, "share": is_shared}
        return self._run(GATV2, ends, inputs, options, edge_index, edge_attr, return_attention_weights)
