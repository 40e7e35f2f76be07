"""GraphSAGE."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import Module

from . import _arguments as arguments
from ._graphs import edges_as_given
from ._linear import Linear
from ._texts import model

SAGE = """
# GraphSAGE (Hamilton et al. 2017): out_v = AGG_u(x_u)·W + y_v·root + bias; x_u is relu(x_u·P + p) first (`project`), and
# `unit` scales each row to length 1
def sent(n):
    return n.x                                                          # if not project
    return n["h"]                                                       # if project

def sage(g, x: Node[d_src], W: Shared[d_src, d_out],
         P: Shared[d_src, d_src], p: Shared[d_src],                     # if project
         y: Node[d_dst],                                                # if root and pair
         root: Shared[d_dst, d_out],                                    # if root
         bias: Shared[d_out],                                           # if bias
         aggregate: Literal["mean", "sum", "max", "min"] = "mean", unit: bool = False):
    for n in g.nodes():                                                 # if project
        n["h"] = relu(n.x * P + p)                                      # if project
    for n in g.nodes():
        if aggregate == "mean":
            near = mean(sent(e.src) for e in n.incoming_edges())
        elif aggregate == "sum":
            near = sum(sent(e.src) for e in n.incoming_edges())
        elif aggregate == "max":
            near = max(sent(e.src) for e in n.incoming_edges())
        else:
            near = min(sent(e.src) for e in n.incoming_edges())
        out = near * W
        out = out + bias                                                # if bias
        out = out + n.x * root                                          # if root and not pair
        out = out + n.y * root                                          # if root and pair
        if unit:
            out = out * rsqrt(max(sum(out * out, axis=-1, keepdims=True), 1e-24))
        n["out"] = out
    return n["out"]
"""


class SAGEConv(Module):
    """GraphSAGE (Hamilton et al. 2017), as `torch_geometric.nn.SAGEConv`.

        >>> conv = SAGEConv(16, 32, aggr="max")
        >>> y = conv(x, edge_index)                         # [nodes, 16], [2, edges] -> [nodes, 32]
        >>> y = conv((x_src, x_dst), edge_index)            # of destinations

    `aggr` is "mean", "add", "max" or "min". In a pair, `x_dst` may be None: destinations have no term of their own then.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str | None = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__()
        layer = type(self).__name__
        arguments.check_options(layer, kwargs, node_dims=(-2, 0))
        in_src, in_dst = arguments.check_channels(layer, in_channels, lazy=not project)
        arguments.check_count(layer, "out_channels", out_channels)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.aggr = arguments.check_aggr(layer, aggr)
        self.normalize = normalize
        self.root_weight = root_weight
        self.project = project
        if project:
            self.lin = Linear(in_src, in_src)
        self.lin_l = Linear(in_src, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(in_dst, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.project:
            self.lin.reset_parameters()
        self.lin_l.reset_parameters()
        if self.root_weight:
            self.lin_r.reset_parameters()

    def forward(
        self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Tensor, size: tuple[int, int] | None = None
    ) -> Tensor:
        ends = arguments.check_ends(x, size)
        arguments.check_edge_index(edge_index)
        has_root = self.root_weight and ends.dst is not None
        self.lin_l.fit(ends.src, "x")
        inputs = {"x": arguments.pad_rows(ends.src, ends.num_nodes), "W": self.lin_l.matrix()}
        if has_root:
            self.lin_r.fit(ends.dst, "x")
            inputs.update(root=self.lin_r.matrix())
            if ends.is_pair:
                inputs.update(y=arguments.pad_rows(ends.dst, ends.num_nodes))
        if self.project:
            inputs.update(P=self.lin.matrix(), p=self.lin.bias)
        if self.lin_l.bias is not None:
            inputs.update(bias=self.lin_l.bias)
        sage = model(
            "sage",
            SAGE,
            project=self.project,
            root=has_root,
            pair=has_root and ends.is_pair,
            bias=self.lin_l.bias is not None,
        )
        graph = edges_as_given(edge_index, ends.num_src, ends.num_dst)
        out = sage(graph, **inputs, aggregate=arguments.AGGREGATIONS[self.aggr], unit=self.normalize)
        return arguments.first_rows(out, ends.num_dst)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"
