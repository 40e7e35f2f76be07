"""Relational graph convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from .. import InvalidError
from . import _arguments as arguments
from ._graphs import typed_edges
from ._linear import glorot, zeros
from ._texts import model

RGCN = """
# R-GCN (Schlichtkrull et al. 2018): out_v = Σ_r AGG_{u in N_r(v)}(x_u)·W_r + y_v·root + bias, where W_r is a matrix,
# Σ_b coef_rb·basis_b (`bases`), or has blocks on its diagonal (`blocks`)
def transform(x, r):
    return x * W[r]                                                                     # if full
    return x * r["W"]                                                                   # if bases
    return reshape(linear(reshape(x, blocks, i), W[r]), blocks * o)                     # if blocks

def rgcn(g, x: Node[d_in],
         W: EdgeType[d_in, d_out],                                                      # if full
         basis: Shared[bases, d_in, d_out], coef: EdgeType[bases],                      # if bases
         W: EdgeType[blocks, i, o],                                                     # if blocks
         y: Node[d_own],                                                                # if root and pair
         root: Shared[d_own, d_all],                                                    # if root
         bias: Shared[d_all],                                                           # if bias
         aggregate: Literal["mean", "sum", "max", "min"] = "mean"):
    for t in g.edge_types():                                                            # if bases
        t["W"] = reshape(coef[t] * reshape(basis, bases, d_in * d_out), d_in, d_out)    # if bases
    for n in g.nodes():
        for p in n.incoming_types():
            if aggregate == "mean":
                p["m"] = mean(transform(e.src.x, p.etype) for e in p.edges())
            elif aggregate == "sum":
                p["m"] = sum(transform(e.src.x, p.etype) for e in p.edges())
            elif aggregate == "max":
                p["m"] = transform(max(e.src.x for e in p.edges()), p.etype)
            else:
                p["m"] = transform(min(e.src.x for e in p.edges()), p.etype)
        out = sum(p["m"] for p in n.incoming_types())
        out = out + n.x * root                                                          # if root and not pair
        out = out + n.y * root                                                          # if root and pair
        out = out + bias                                                                # if bias
        n["out"] = out
    return n["out"]
"""

RGCN_OF_IDS = """
# R-GCN without features, where node u has row u of each W_r: out_v = Σ_r AGG_{u in N_r(v)}(W_r[u]) + own_v + bias.
# `m` has W_r[u] for each edge; or `rows` has row u of each basis, and W_r[u] = Σ_b coef_rb·rows_ub (`bases`)
def message(e):
    return e.m                                                                          # if not bases
    return coef[e.etype] * e.src.rows                                                   # if bases

def rgcn(g,
         m: Edge[d_out],                                                                # if not bases
         rows: Node[bases, d_out], coef: EdgeType[bases],                               # if bases
         own: Node[d_out],                                                              # if root
         bias: Shared[d_out],                                                           # if bias
         aggregate: Literal["mean", "sum", "max", "min"] = "mean"):
    for n in g.nodes():
        for p in n.incoming_types():
            if aggregate == "mean":
                p["m"] = mean(message(e) for e in p.edges())
            elif aggregate == "sum":
                p["m"] = sum(message(e) for e in p.edges())
            elif aggregate == "max":
                p["m"] = max(message(e) for e in p.edges())
            else:
                p["m"] = min(message(e) for e in p.edges())
        out = sum(p["m"] for p in n.incoming_types())
        out = out + n.own                                                               # if root
        out = out + bias                                                                # if bias
        n["out"] = out
    return n["out"]
"""


def check_ids(ids: Any, name: str, count: int) -> None:
    if not isinstance(ids, Tensor) or ids.dim() != 1 or ids.dtype not in (torch.int64, torch.int32):
        found = f"{ids.dtype} of shape {list(ids.shape)}" if isinstance(ids, Tensor) else f"a {type(ids).__name__}"
        raise InvalidError(f"`{name}` is {found}; ids of nodes are int64 of shape [nodes]")
    if ids.numel():
        least, most = (int(value) for value in torch.aminmax(ids))
        if least < 0 or most >= count:
            wrong = least if least < 0 else most
            raise InvalidError(f"`{name}` holds the id {wrong}, but `in_channels` allows 0 to {count - 1}")


class RGCNConv(Module):
    """R-GCN (Schlichtkrull et al. 2018), as `torch_geometric.nn.RGCNConv`.

        >>> conv = RGCNConv(16, 32, num_relations=4, num_bases=2)
        >>> y = conv(x, edge_index, edge_type)      # [nodes, 16], [2, edges], [edges] -> [nodes, 32]

    `x` is a table of features, a pair of tables for sources and destinations, ids of nodes (int64), or None for the ids
    0, 1, …, in_channels - 1. With ids, each relation's matrix has one row per node. `aggr` is "mean", "add", "max" or
    "min". `is_sorted` may be set; edges are sorted by Hector in any case.
    """

    aggregations = tuple(arguments.AGGREGATIONS)

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        num_relations: int,
        num_bases: int | None = None,
        num_blocks: int | None = None,
        aggr: str = "mean",
        root_weight: bool = True,
        is_sorted: bool = False,
        bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, kwargs)
        in_src, in_dst = arguments.check_channels(layer, in_channels)
        arguments.check_count(layer, "out_channels", out_channels)
        arguments.check_count(layer, "num_relations", num_relations)
        if num_bases is not None and num_blocks is not None:
            raise InvalidError(f"{layer} has `num_bases={num_bases}` and `num_blocks={num_blocks}`; give one of them")
        self.in_channels = in_channels
        self.in_channels_l = in_src
        self.out_channels = out_channels
        self.num_relations = num_relations
        self.num_bases = num_bases
        self.num_blocks = num_blocks
        self.aggr = arguments.check_aggr(layer, aggr, self.aggregations)
        self.is_sorted = is_sorted
        if num_bases is not None:
            arguments.check_count(layer, "num_bases", num_bases)
            self.weight = Parameter(torch.empty(num_bases, in_src, out_channels))
            self.comp = Parameter(torch.empty(num_relations, num_bases))
        else:
            shape = (in_src, out_channels)
            if num_blocks is not None:
                arguments.check_count(layer, "num_blocks", num_blocks)
                if in_src % num_blocks or out_channels % num_blocks:
                    raise InvalidError(
                        f"{layer} has {in_src} channels in and {out_channels} out; both must be multiples of "
                        f"`num_blocks={num_blocks}`"
                    )
                shape = (num_blocks, in_src // num_blocks, out_channels // num_blocks)
            self.weight = Parameter(torch.empty(num_relations, *shape))
            self.register_parameter("comp", None)
        self.register_parameter("root", Parameter(torch.empty(in_dst, out_channels)) if root_weight else None)
        self.register_parameter("bias", Parameter(torch.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        glorot(self.weight)
        glorot(self.comp)
        glorot(self.root)
        zeros(self.bias)

    def forward(self, x: Tensor | tuple[Tensor | None, Tensor] | None, edge_index: Tensor, edge_type: Tensor | None = None):
        arguments.check_edge_index(edge_index)
        arguments.check_edge_type(edge_type, edge_index.size(1))
        src, dst = x if isinstance(x, (tuple, list)) else (x, x)
        if src is None:
            src = torch.arange(self.in_channels_l, device=edge_index.device)
            dst = src if dst is None else dst
        if isinstance(dst, Tensor) and not dst.is_floating_point():
            return self._forward_of_ids(src, dst, edge_index, edge_type)
        ends = arguments.check_ends(x, needs_dst=True)
        arguments.check_width(ends.src, "x", self.in_channels_l)
        if self.root is not None:
            arguments.check_width(ends.dst, "x", self.root.size(0))
        graph = typed_edges(edge_index, edge_type, ends.num_src, ends.num_dst, self.num_relations)
        inputs = {"x": arguments.pad_rows(ends.src, ends.num_nodes)}
        if self.num_bases is not None:
            inputs.update(basis=self.weight, coef=self.comp)
        else:
            inputs.update(W=self.weight)
        is_pair = self.root is not None and ends.is_pair
        if is_pair:
            inputs.update(y=arguments.pad_rows(ends.dst, ends.num_nodes))
        if self.root is not None:
            inputs.update(root=self.root)
        rgcn = model(
            "rgcn",
            RGCN,
            full=self.num_bases is None and self.num_blocks is None,
            bases=self.num_bases is not None,
            blocks=self.num_blocks is not None,
            root=self.root is not None,
            pair=is_pair,
            bias=self.bias is not None,
        )
        return self._run(rgcn, graph, inputs, ends.num_dst)

    def _forward_of_ids(self, src: Tensor, dst: Tensor, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        """Sources and destinations are ids of rows, not features."""
        check_ids(src, "x", self.in_channels_l)
        check_ids(dst, "x", self.in_channels_l if self.root is None else self.root.size(0))
        if self.num_blocks is not None:
            raise InvalidError(f"`num_blocks={self.num_blocks}` needs features, but `x` holds ids of nodes")
        num_src, num_dst = src.size(0), dst.size(0)
        num_nodes = max(num_src, num_dst)
        graph = typed_edges(edge_index, edge_type, num_src, num_dst, self.num_relations)
        inputs = {}
        if self.num_bases is not None:
            rows = self.weight.transpose(0, 1).index_select(0, src)
            rows = torch.nn.functional.pad(rows, (0, 0, 0, 0, 0, num_nodes - num_src))
            inputs.update(rows=rows, coef=self.comp)
        else:
            places = edge_type.long() * self.in_channels_l + src.index_select(0, edge_index[0])
            inputs.update(m=self.weight.view(-1, self.out_channels).index_select(0, places))
        if self.root is not None:
            inputs.update(own=arguments.pad_rows(self.root.index_select(0, dst), num_nodes))
        rgcn = model(
            "rgcn",
            RGCN_OF_IDS,
            bases=self.num_bases is not None,
            root=self.root is not None,
            bias=self.bias is not None,
        )
        return self._run(rgcn, graph, inputs, num_dst)

    def _run(self, rgcn, graph, inputs, num_dst) -> Tensor:
        if self.bias is not None:
            inputs.update(bias=self.bias)
        out = rgcn(graph, aggregate=arguments.AGGREGATIONS[self.aggr], **inputs)
        return arguments.first_rows(out, num_dst)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"


class FastRGCNConv(RGCNConv):
    """`RGCNConv` under the name of `torch_geometric.nn.FastRGCNConv`, which computes the same.

        >>> conv = FastRGCNConv(16, 32, num_relations=4)
        >>> y = conv(x, edge_index, edge_type)

    `aggr` is "mean" or "add", as in PyG.
    """

    aggregations = ("add", "sum", "mean")
