"""Graphs of layers, which are made once for each `edge_index`."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import Graph, InvalidError
from .._known import find
from .._torch_ops import is_compiling


class Edges(NamedTuple):
    """Stands for a graph while PyTorch compiles a layer: tensors have no numbers then. It is made when the layer runs."""

    kind: str  # a key of `MAKERS`
    counts: tuple
    tensors: tuple


def check_ids(src: Tensor, dst: Tensor, num_src: int, num_dst: int, name: str) -> None:
    for row, ids, count, what in ((0, src, num_src, "sources"), (1, dst, num_dst, "destinations")):
        if ids.numel() == 0:
            continue
        least, most = (int(value) for value in torch.aminmax(ids))
        if least < 0 or most >= count:
            raise InvalidError(
                f"`{name}[{row}]` holds node {least if least < 0 else most}, but there are {count} {what}: 0 to {count - 1}"
            )


def edges_as_given(edge_index: Tensor, num_src: int, num_dst: int) -> Graph | Edges:
    """A graph of edges of one type."""

    def make():
        src, dst = edge_index.detach()
        check_ids(src, dst, num_src, num_dst, "edge_index")
        return Graph(src, dst, num_nodes=max(num_src, num_dst))

    if is_compiling():
        return Edges("as given", (num_src, num_dst), (edge_index,))
    return find(("as given", num_src, num_dst), (edge_index,), make)


def typed_edges(edge_index: Tensor, edge_type: Tensor, num_src: int, num_dst: int, num_relations: int) -> Graph | Edges:
    """A graph of edges of several types."""

    def make():
        src, dst = edge_index.detach()
        check_ids(src, dst, num_src, num_dst, "edge_index")
        if edge_type.numel():
            least, most = (int(value) for value in torch.aminmax(edge_type))
            if least < 0 or most >= num_relations:
                raise InvalidError(
                    f"`edge_type` holds relation {least if least < 0 else most}, but the layer was made with "
                    f"`num_relations={num_relations}`: 0 to {num_relations - 1}"
                )
        return Graph(src, dst, edge_type, num_edge_types=num_relations, num_nodes=max(num_src, num_dst))

    if is_compiling():
        return Edges("typed", (num_src, num_dst, num_relations), (edge_index, edge_type))
    return find(("typed", num_src, num_dst, num_relations), (edge_index, edge_type), make)


class LooplessEdges(NamedTuple):
    """The edges that are no loops. All numbers are places in the given `edge_index`."""

    graph: Graph
    kept: Tensor | None  # of these edges; None: of all
    loop_nodes: Tensor  # nodes that had a loop,
    loops: Tensor  # and the last loop of each


def edges_without_loops(edge_index: Tensor, num_nodes: int) -> LooplessEdges:
    """A graph of all edges that join two nodes."""
    if is_compiling():
        return torch.compiler.disable(edges_without_loops)(edge_index, num_nodes)

    def make():
        src, dst = edge_index.detach()
        check_ids(src, dst, num_nodes, num_nodes, "edge_index")
        is_loop = src == dst
        loops = is_loop.nonzero().view(-1)
        if loops.numel() == 0:
            return LooplessEdges(edges_as_given(edge_index, num_nodes, num_nodes), None, loops, loops)
        last = torch.full((num_nodes,), -1, device=src.device).scatter_reduce(0, src[loops].long(), loops, "amax")
        loop_nodes = (last >= 0).nonzero().view(-1)
        kept = (~is_loop).nonzero().view(-1)
        return LooplessEdges(Graph(src[kept], dst[kept], num_nodes=num_nodes), kept, loop_nodes, last[loop_nodes])

    return find(("without loops", num_nodes), (edge_index,), make)


class LoopedEdges(NamedTuple):
    """The edges that are no loops, then one loop for each node."""

    graph: Graph
    index: Tensor  # [2, edges]
    kept: Tensor | None  # places of edges that are no loops in the given `edge_index`; None: all
    num_loops: int


def edges_with_loops(edge_index: Tensor, num_src: int, num_dst: int) -> LoopedEdges:
    """A graph in which each node that is a source and a destination has exactly one loop."""
    if is_compiling():
        return torch.compiler.disable(edges_with_loops)(edge_index, num_src, num_dst)

    def make():
        given = edge_index.detach()
        check_ids(*given, num_src, num_dst, "edge_index")
        kept = (given[0] != given[1]).nonzero().view(-1)
        kept = None if kept.numel() == given.size(1) else kept
        num_loops = min(num_src, num_dst)
        loops = torch.arange(num_loops, dtype=given.dtype, device=given.device).expand(2, -1)
        index = torch.cat([given if kept is None else given[:, kept], loops], dim=1)
        return LoopedEdges(Graph(*index, num_nodes=max(num_src, num_dst)), index, kept, num_loops)

    return find(("with loops", num_src, num_dst), (edge_index,), make)


def edges_by_type(tensors: tuple, node_counts: tuple, relations: tuple, num_relations: int, names=None) -> Graph | Edges:
    """One graph of the edges of several tensors. Nodes of the first type come first.

    Edges of tensor `i` lead from nodes of type `relations[i][0]` to those of type `relations[i][2]` and have the edge type
    `relations[i][1]`.
    """
    if is_compiling():
        flat = tuple(number for relation in relations for number in relation)
        return Edges("by type", (num_relations, len(node_counts), *node_counts, *flat), tuple(tensors))

    def make():
        starts = [sum(node_counts[:place]) for place in range(len(node_counts) + 1)]
        parts = [torch.empty(3, 0, dtype=torch.int64, device=tensors[0].device if tensors else None)]
        for place, (edge_index, (source, relation, destination)) in enumerate(zip(tensors, relations)):
            src, dst = edge_index.detach().long()
            name = "edge_index" if names is None else names[place]
            check_ids(src, dst, node_counts[source], node_counts[destination], name)
            parts.append(torch.stack([src + starts[source], dst + starts[destination], torch.full_like(src, relation)]))
        src, dst, etype = torch.cat(parts, dim=1)
        return Graph(src, dst, etype, ntype_ptr=starts, num_edge_types=num_relations)

    return find(("by type", node_counts, relations, num_relations), tensors, make)


def _by_type(tensors, counts):
    num_relations, num_types, *rest = counts
    flat = rest[num_types:]
    relations = tuple(tuple(flat[place : place + 3]) for place in range(0, len(flat), 3))
    return edges_by_type(tuple(tensors), tuple(rest[:num_types]), relations, num_relations)


MAKERS = {
    "as given": lambda tensors, counts: edges_as_given(*tensors, *counts),
    "typed": lambda tensors, counts: typed_edges(*tensors, *counts),
    "without loops": lambda tensors, counts: edges_without_loops(*tensors, *counts).graph,
    "with loops": lambda tensors, counts: edges_with_loops(*tensors, *counts).graph,
    "by type": _by_type,
}


def stand_in(kind: str, counts: tuple, num_edges: tuple) -> Graph:
    """A graph with as many nodes and edges as that of `Edges` will have, whose results have the same shapes."""
    ids = array("q", [0]) * sum(num_edges)
    if kind == "by type":
        num_relations, num_types, *rest = counts
        starts = [sum(rest[:place]) for place in range(num_types + 1)]
        return Graph(ids, ids, ids, starts, num_edge_types=num_relations)
    num_nodes = max(counts[:2])
    return Graph(ids, ids, ids if kind == "typed" else None, num_nodes=num_nodes,
                 num_edge_types=counts[2] if kind == "typed" else None)  # fmt: skip


def features_with_loops(edge_attr: Tensor, edges: LoopedEdges, fill_value: Any) -> Tensor:
    """The features of edges, then those of loops: `fill_value`, or how they follow from edges to the same node."""
    if edges.kept is not None:
        edge_attr = edge_attr[edges.kept]
    shape = (edges.num_loops, edge_attr.size(1))
    if fill_value is None:
        loops = edge_attr.new_ones(shape)
    elif isinstance(fill_value, Tensor):
        loops = fill_value.to(edge_attr.device, edge_attr.dtype).expand(shape)
    elif not isinstance(fill_value, str):
        loops = edge_attr.new_full(shape, fill_value)
    else:
        dst = edges.index[1, : edge_attr.size(0)].long()
        start = torch.ones if fill_value == "mul" else torch.zeros
        start = start(shape, dtype=edge_attr.dtype, device=edge_attr.device)
        if fill_value in ("add", "sum", "mean"):
            loops = start.index_add(0, dst, edge_attr)
            if fill_value == "mean":
                loops = loops / torch.bincount(dst, minlength=edges.num_loops).clamp(min=1).to(edge_attr.dtype)[:, None]
        else:
            reduction = {"max": "amax", "min": "amin", "mul": "prod"}[fill_value]
            places = dst[:, None].expand_as(edge_attr)
            loops = start.scatter_reduce(0, places, edge_attr, reduction, include_self=fill_value == "mul")
    return torch.cat([edge_attr, loops])
