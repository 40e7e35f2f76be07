"""Checks of what layers are made with and called with."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import InvalidError

MOST = 1 << 40  # numbers in a row
AGGREGATIONS = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max", "min": "min"}


def check_options(layer: str, options: dict[str, Any], aggr: str = "add", node_dims: tuple = ()) -> None:
    """Refuses options of PyG's `MessagePassing` that would change a result. Most layers of PyG's set `node_dim` themselves."""
    accepted = {
        "aggr": ("add", "sum") if aggr in ("add", "sum") else (aggr,),
        "aggr_kwargs": (None,),
        "flow": ("source_to_target",),
        "node_dim": node_dims,
        "decomposed_layers": (1,),
    }
    for name, value in options.items():
        if name not in accepted:
            raise TypeError(f"{layer}() has no argument `{name}`")
        if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in accepted[name]):
            other = f", or use {accepted[name][0]!r}" if accepted[name] else ""
            raise InvalidError(f"{layer} does not support `{name}={value!r}`; leave it out{other}")


def check_aggr(layer: str, aggr: Any, names=tuple(AGGREGATIONS)) -> str:
    """The name of an aggregation, which the layer has to know."""
    if not isinstance(aggr, str) or aggr not in names:
        raise InvalidError(f"{layer} does not support `aggr={aggr!r}`; it is one of {listed(names)}")
    return aggr


def check_choice(layer: str, name: str, value: Any, choices) -> Any:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise InvalidError(f"`{name}` of {layer} is {value!r}; it is one of {listed(choices)}")
    return value


def check_count(layer: str, name: str, value: Any, lazy: bool = False) -> int:
    """A number of channels, heads or relations; -1 stands for one that the first input decides."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or (value < 1 and not (lazy and value == -1)):
        expected = "a positive number, or -1 for that of the first input" if lazy else "a positive number"
        raise InvalidError(f"`{name}` of {layer} is {value!r}; expected {expected}")
    if value > MOST:
        raise InvalidError(f"`{name}` of {layer} is {value}; at most {MOST} are supported")
    return value


def check_number(layer: str, name: str, value: Any) -> float:
    """A number that is no text; those of NumPy are numbers, too."""
    try:
        return float(None if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidError(f"`{name}` of {layer} is {value!r}; expected a number") from None


def check_fraction(layer: str, name: str, value: Any) -> float:
    if not 0.0 <= check_number(layer, name, value) <= 1.0:
        raise InvalidError(f"`{name}` of {layer} is {value!r}; it is a probability, from 0 to 1")
    return float(value)


def check_channels(layer: str, in_channels: Any, lazy: bool = False) -> tuple[int, int]:
    """The channels of sources and of destinations."""
    if isinstance(in_channels, (tuple, list)) and len(in_channels) == 2:
        return tuple(check_count(layer, "in_channels", value, lazy) for value in in_channels)
    return (check_count(layer, "in_channels", in_channels, lazy),) * 2


def check_dict(value: Any, name: str, expected: str) -> None:
    if not hasattr(value, "items"):
        raise InvalidError(f"`{name}` is a {type(value).__name__}; expected a dictionary: {expected}")


def listed(names) -> str:
    return ", ".join(repr(name) for name in names)


def check_features(x: Any, name: str) -> Tensor:
    """A table of floats with one row per node."""
    if not isinstance(x, Tensor):
        raise InvalidError(f"`{name}` is a {type(x).__name__}; expected a tensor of shape [nodes, channels]")
    if x.layout is not torch.strided:
        raise InvalidError(f"`{name}` is a sparse tensor ({x.layout}); pass a dense one: `{name}.to_dense()`")
    if x.dim() != 2:
        raise InvalidError(f"`{name}` has shape {list(x.shape)}; expected [nodes, channels]")
    if not x.is_floating_point():
        raise InvalidError(f"`{name}` holds {x.dtype}; expected float32 or float64")
    return x


def check_width(x: Tensor, name: str, channels: int) -> Tensor:
    if x.size(1) != channels:
        raise InvalidError(f"`{name}` has {x.size(1)} channels, but the layer was made for {channels}")
    return x


class Ends(NamedTuple):
    """The features of both ends of edges. `dst` is None where destinations have none."""

    src: Tensor
    dst: Tensor | None
    num_src: int
    num_dst: int

    @property
    def num_nodes(self) -> int:
        """Node `i` of Hector's graph is source `i` and destination `i`: an edge never mixes them up."""
        return max(self.num_src, self.num_dst)

    @property
    def is_pair(self) -> bool:
        return self.dst is not None and self.dst is not self.src


def check_ends(x: Any, size: Any = None, needs_dst: bool = False) -> Ends:
    """One table for all nodes, or a pair of them: sources and destinations."""
    if isinstance(x, (tuple, list)):
        if len(x) != 2:
            raise InvalidError(f"`x` is a tuple of {len(x)}; expected the features of sources and of destinations")
        src = check_features(x[0], "x[0]")
        dst = None if x[1] is None else check_features(x[1], "x[1]")
        if dst is None and needs_dst:
            raise InvalidError("`x[1]` is None, but the layer needs the features of destinations")
    else:
        src = dst = check_features(x, "x")
    sizes = check_size(size)
    num_src = src.size(0)
    num_dst = dst.size(0) if dst is not None else num_src if sizes[1] is None else sizes[1]
    if sizes[0] not in (None, num_src) or sizes[1] not in (None, num_dst):
        raise InvalidError(f"`size` is {tuple(size)}, but `x` has {num_src} sources and {num_dst} destinations")
    return Ends(src, dst, num_src, num_dst)


def check_size(size: Any) -> tuple:
    if size is None:
        return None, None
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise InvalidError(f"`size` is {size!r}; expected (sources, destinations)")
    return tuple(size)


def check_edge_index(edge_index: Any, name: str = "edge_index") -> Tensor:
    if not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
        kind = str(edge_index.layout) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise InvalidError(f"`{name}` is a {kind}, which is not supported; expected a dense tensor of shape [2, edges]")
    if type(edge_index) is not Tensor and hasattr(edge_index, "as_tensor"):  # torch_geometric.EdgeIndex
        raise InvalidError(f"`{name}` is a {type(edge_index).__name__}, which is not supported; pass `{name}.as_tensor()`")
    if edge_index.device.type not in ("cpu", "cuda"):
        raise InvalidError(f"`{name}` is on {edge_index.device}, where Hector does not run; pass `{name}.cpu()`")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InvalidError(f"`{name}` has shape {list(edge_index.shape)}; expected [2, edges]")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise InvalidError(f"`{name}` holds {edge_index.dtype}; expected int64 or int32")
    return edge_index


def check_edge_type(edge_type: Any, num_edges: int) -> Tensor:
    if not isinstance(edge_type, Tensor):
        kind = "missing" if edge_type is None else f"a {type(edge_type).__name__}"
        raise InvalidError(f"`edge_type` is {kind}; expected a tensor with the relation of each edge")
    if edge_type.dim() != 1 or edge_type.size(0) != num_edges:
        raise InvalidError(f"`edge_type` has shape {list(edge_type.shape)}; `edge_index` has {num_edges} edges")
    if edge_type.dtype not in (torch.int64, torch.int32):
        raise InvalidError(f"`edge_type` holds {edge_type.dtype}; expected int64 or int32")
    return edge_type


def check_edge_attr(layer: str, edge_attr: Tensor | None, edge_dim: int | None, num_edges: int) -> Tensor | None:
    """The features of edges, as a table."""
    if edge_attr is None:
        return None
    if edge_dim is None:
        raise InvalidError(f"`edge_attr` is given, but {layer} was made with `edge_dim=None`; make it with `edge_dim`")
    if not isinstance(edge_attr, Tensor):
        raise InvalidError(f"`edge_attr` is a {type(edge_attr).__name__}; expected a tensor")
    table = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
    if table.dim() != 2 or table.size(0) != num_edges or table.size(1) != edge_dim:
        raise InvalidError(
            f"`edge_attr` has shape {list(edge_attr.shape)}; expected [{num_edges}, {edge_dim}]: edges and `edge_dim`"
        )
    return table


def pad_rows(x: Tensor, rows: int) -> Tensor:
    """The table with zeros below, so that it has a row for each node."""
    return x if x.size(0) == rows else torch.nn.functional.pad(x, (0, 0, 0, rows - x.size(0)))


def first_rows(x: Tensor, rows: int) -> Tensor:
    return x if x.size(0) == rows else x[:rows]
