"""Graphs: nodes, edges and their types."""

from __future__ import annotations

import itertools
import json
import operator
import os
import weakref
from array import array
from ctypes import byref

from . import _arrays, _known, _operands
from ._errors import InvalidError
from ._library import Handle, describe_tensor, lib
from ._recent import Recent


class Graph:
    """A graph whose edge `i` goes from node `src[i]` to node `dst[i]` and has the type `etype[i]`.

    Ids are lists or arrays of integers: PyTorch's, NumPy's or the standard library's. They are copied, those on a GPU to
    the memory of the host. A graph serves layers on all devices. Nodes of one type
    have contiguous ids: type `k` owns `ntype_ptr[k]` to `ntype_ptr[k + 1] - 1`. Without `ntype_ptr` all nodes have one
    type, and without `etype` all edges have.

    How many edge types and nodes there are follows from the largest ids, unless it is given. Where a layer's inputs have
    more rows, there are as many as they have.

        >>> g = hector.Graph(src=[0, 1, 2], dst=[1, 2, 0], etype=[0, 0, 1])
        >>> g
        Graph(3 nodes of 1 type, 3 edges of 2 types)
    """

    def __init__(self, src, dst, etype=None, ntype_ptr=None, num_edge_types=None, num_nodes=None):
        given = {"src": src, "dst": dst, "etype": etype, "ntype_ptr": ntype_ptr}
        views = {name: None if value is None else _arrays.view(_arrays.on_cpu(value), name) for name, value in given.items()}
        for name in ("src", "dst"):
            if views[name] is None:
                raise InvalidError(f"a graph needs `{name}`, the {'source' if name == 'src' else 'destination'} of each edge")
        for name, view in views.items():
            if view is not None and view.dtype not in ("i32", "i64"):
                raise InvalidError(f"`{name}` holds {view.dtype}, but ids are integers of 32 or 64 bits")
        num_edge_types, num_nodes = _count(num_edge_types, "num_edge_types"), _count(num_nodes, "num_nodes")
        self._views, self._counts, self._path = views, (num_edge_types, num_nodes), None
        self._has_edge_types, self._has_nodes = num_edge_types is not None, num_nodes is not None or ntype_ptr is not None
        self._make(-1 if num_edge_types is None else num_edge_types, -1 if num_nodes is None else num_nodes)
        # Ids are read again where inputs say that there are more nodes or types, and in another process.
        self._views = {name: view and _arrays.copied(view) for name, view in views.items()}

    def _make(self, num_edge_types, num_nodes):
        tensors = [v if v is None else describe_tensor(v.pointer, v.shape, v.dtype) for v in self._views.values()]
        places = [None if tensor is None else byref(tensor) for tensor in tensors]
        self._take(Handle(lambda out: lib.hector_graph_create(*places, num_edge_types, num_nodes, out), lib.hector_graph_free))

    def _take(self, handle):
        self._handle = handle
        numbers = json.loads(lib.hector_graph_describe(handle.pointer))
        self.num_nodes: int = numbers["nodes"]
        self.num_edges: int = numbers["edges"]
        self.num_node_types: int = numbers["node_types"]
        self.num_edge_types: int = numbers["edge_types"]
        self._rows = {
            "Node": self.num_nodes,
            "Edge": self.num_edges,
            "EdgeType": self.num_edge_types,
            "NodeType": self.num_node_types,
        }
        self._layers = weakref.WeakKeyDictionary()  # compiled for this graph, by model
        self._larger = Recent(4)  # the same edges, with more types or nodes
        self.node_type_names: list[str] | None = getattr(self, "node_type_names", None)
        self.edge_type_names: list | None = getattr(self, "edge_type_names", None)
        self._number = next(_numbers)
        _operands.graphs[self._number] = self  # last: other threads find it there

    @classmethod
    def load(cls, path) -> Graph:
        """The graph of a file that `hector data` wrote."""
        try:
            name = os.fsencode(path)
        except (TypeError, ValueError):
            raise InvalidError(f"the path of a graph is {path!r}; expected a str or a Path") from None
        if b"\0" in name:
            raise InvalidError(f"the path of a graph is {path!r}, which has the character '\\x00'")
        graph = cls.__new__(cls)
        graph._views, graph._has_edge_types, graph._has_nodes = {}, True, True
        graph._path = os.path.abspath(name)
        graph._take(Handle(lambda out: lib.hector_graph_load(name, out), lib.hector_graph_free))
        return graph

    @classmethod
    def from_pyg(cls, data) -> Graph:
        """The graph of a `torch_geometric.data.HeteroData` or `Data`, the latter with or without `edge_type` and `node_type`.

        Nodes of a `Data` have to be sorted by `node_type`, as `HeteroData.to_homogeneous()` makes them.

        Node types of a `HeteroData` keep the order of `data.node_types`, edge types that of `data.edge_types`; both are kept
        as `node_type_names` and `edge_type_names`. Nodes are numbered by type: those of the first type come first.
        """
        if not hasattr(data, "node_types"):
            if getattr(data, "edge_index", None) is None:
                raise InvalidError(f"the data, a {type(data).__name__}, has no `edge_index`")
            if not hasattr(data, "num_nodes"):
                raise InvalidError(f"the data, a {type(data).__name__}, has no `num_nodes`; expected a torch_geometric.data.Data")
            src, dst = _ends(data.edge_index, "edge_index")
            edge_type, node_type = getattr(data, "edge_type", None), getattr(data, "node_type", None)
            if node_type is None:
                return cls(src, dst, edge_type, num_nodes=data.num_nodes)
            return cls(src, dst, edge_type, _starts_of_types(node_type, data.num_nodes))
        counts, edges = {}, {}
        for edge_type in data.edge_types:
            edge_index = getattr(data[edge_type], "edge_index", None)
            if edge_index is None:
                raise InvalidError(f"the edge type {edge_type!r} has no `edge_index`")
            edges[edge_type] = _ends(edge_index, f"edge_index of {edge_type!r}")
        for node_type in data.node_types:
            counts[node_type] = _num_nodes(data[node_type])
            if counts[node_type] is None:
                raise InvalidError(f"the node type {node_type!r} has no count of nodes; set `data[{node_type!r}].num_nodes`")
        return cls._by_type(counts, edges)

    @classmethod
    def _by_type(cls, counts, edges) -> Graph:
        """The graph of node types with so many nodes, and of edge types with ids that count from 0 in each node type."""
        import torch

        starts = dict(zip(counts, itertools.accumulate(counts.values(), initial=0)))
        parts = [torch.empty(3, 0, dtype=torch.int64)]
        for number, (edge_type, ends) in enumerate(edges.items()):
            for row, node_type in ((0, edge_type[0]), (1, edge_type[2])):
                if node_type not in counts:
                    raise InvalidError(f"the edge type {edge_type!r} needs nodes of type {node_type!r}, and there are none")
                wrong = ((ends[row] < 0) | (ends[row] >= counts[node_type])).nonzero()
                if wrong.numel():
                    place = int(wrong[0])
                    raise InvalidError(
                        f"`edge_index[{row}, {place}]` of {edge_type!r} is node {int(ends[row][place])}, but there are "
                        f"{counts[node_type]} nodes of type {node_type!r}: ids from 0 on, without those of other types"
                    )
            src, dst = (ids.long().cpu() for ids in ends)
            src, dst = src + starts[edge_type[0]], dst + starts[edge_type[2]]
            parts.append(torch.stack([src, dst, torch.full_like(src, number)]))
        src, dst, etype = torch.cat(parts, dim=1)
        graph = cls(src, dst, etype, [*starts.values(), sum(counts.values())], num_edge_types=len(edges))
        graph.node_type_names, graph.edge_type_names = list(counts), list(edges)
        return graph

    @classmethod
    def from_dgl(cls, g) -> Graph:
        """The graph of a `dgl.DGLGraph`, with one node and edge type or with several."""
        if not hasattr(g, "canonical_etypes") or not hasattr(g, "ntypes"):
            raise InvalidError(f"the graph is a {type(g).__name__}; expected a dgl.DGLGraph")
        counts = {node_type: g.num_nodes(node_type) for node_type in g.ntypes}
        return cls._by_type(counts, {kind: g.edges(etype=kind, order="eid") for kind in g.canonical_etypes})

    @classmethod
    def cached(cls, src, dst, etype=None, ntype_ptr=None, num_edge_types=None, num_nodes=None) -> Graph:
        """The same as `Graph(...)`, for code that has tensors of PyTorch and no place to keep a graph.

        Tensors of the same numbers as before give the same graph again, which is compared with them each time. A graph
        lives as long as the tensor of its sources; of graphs whose tensors are gone, the last 16 are kept.
        `hector.clear_cache()` drops all of them.
        """
        if isinstance(ntype_ptr, (list, tuple)) and _arrays.are_torch((src, dst)):
            import torch

            ntype_ptr = torch.tensor(ntype_ptr, dtype=torch.int64)
        arrays = (src, dst, etype, ntype_ptr)
        given = tuple(array for array in arrays if array is not None)
        kinds = {_arrays.dtype_of(array) for array in given} if _arrays.are_torch(given) else {None}
        if not kinds <= {"i32", "i64"} or src is None:
            return cls(*arrays, num_edge_types, num_nodes)  # not of PyTorch's, or says what is wrong
        kind = (cls, tuple(array is None for array in arrays), num_edge_types, num_nodes)
        copies = Graph._ids if cls is Graph else None  # a subclass may hold other ids than it is given
        return _known.find(kind, given, lambda: cls(*arrays, num_edge_types, num_nodes), copies)

    def _ids(self):
        """The graph's copies of the arrays that it was made of, without those that were not given."""
        return [view for view in self._views.values() if view is not None]

    def _fitting(self, num_edge_types, num_nodes) -> Graph:
        """This graph, or one of the same edges with as many types and nodes, where these numbers were not given."""
        types = max(num_edge_types, self.num_edge_types) if not self._has_edge_types else self.num_edge_types
        nodes = max(num_nodes, self.num_nodes) if not self._has_nodes else self.num_nodes
        if (types, nodes) == (self.num_edge_types, self.num_nodes):
            return self
        graph = self._larger.find((types, nodes))
        if graph is None:
            graph = Graph.__new__(Graph)
            graph._views, graph._has_edge_types, graph._has_nodes = self._views, True, True
            graph._counts, graph._path = (types, None if self._views["ntype_ptr"] is not None else nodes), None
            graph._make(types, -1 if self._views["ntype_ptr"] is not None else nodes)
            self._larger.keep((types, nodes), graph)
        return graph

    def __copy__(self):
        return self  # nothing about it changes

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        """Edges are sorted again in the other process. One that was loaded is loaded there."""
        names = {"node_type_names": self.node_type_names, "edge_type_names": self.edge_type_names}
        if self._path is not None:
            return type(self).load, (self._path,), names
        ids = tuple(view and (view.dtype, view.owner) for view in self._views.values())
        return _of_bytes, (type(self), ids, *self._counts), names

    def __repr__(self):
        def counted(count, noun):
            return f"{count:,} {noun}" + ("" if count == 1 else "s")

        return (
            f"Graph({counted(self.num_nodes, 'node')} of {counted(self.num_node_types, 'type')}, "
            f"{counted(self.num_edges, 'edge')} of {counted(self.num_edge_types, 'type')})"
        )


def _count(number, name):
    """A number of nodes or types, or None."""
    if number is None:
        return None
    try:
        number = operator.index(number)
    except TypeError:
        raise InvalidError(f"`{name}` is {number!r}; expected a whole number") from None
    if not 0 <= number < 1 << 62:
        raise InvalidError(f"`{name}` is {number}; expected a number that is not negative")
    return number


def _num_nodes(store):
    """How many nodes a type of PyG's has, or None. PyG warns where it has to guess from names of attributes."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return store.num_nodes


def _ends(edge_index, name):
    """Sources and destinations of an `edge_index` of PyG's."""
    if not _arrays.are_torch((edge_index,)) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        found = f"of shape {list(edge_index.shape)}" if _arrays.are_torch((edge_index,)) else f"a {type(edge_index).__name__}"
        raise InvalidError(f"the {name} is {found}; expected a tensor of shape [2, edges]")
    if _arrays.dtype_of(edge_index) not in ("i32", "i64"):
        raise InvalidError(f"the {name} holds {edge_index.dtype}, but ids are integers of 32 or 64 bits")
    return edge_index[0], edge_index[1]


def _starts_of_types(node_type, num_nodes):
    """The `ntype_ptr` of nodes that are sorted by their type."""
    import torch

    is_tensor = _arrays.are_torch((node_type,))
    if not is_tensor or _arrays.dtype_of(node_type) not in ("i32", "i64") or tuple(node_type.shape) != (num_nodes,):
        found = f"{node_type.dtype} of shape {list(node_type.shape)}" if is_tensor else f"a {type(node_type).__name__}"
        raise InvalidError(f"`node_type` is {found}; expected one integer for each of {num_nodes} nodes")
    steps = node_type[1:] < node_type[:-1]
    if steps.any():
        place = int(steps.nonzero()[0])
        raise InvalidError(
            f"`node_type` is {int(node_type[place])} at node {place} and {int(node_type[place + 1])} at node {place + 1}, but "
            "nodes of one type need contiguous ids; sort the nodes by type, as HeteroData.to_homogeneous() does"
        )
    if num_nodes and int(node_type[0]) < 0:
        raise InvalidError(f"`node_type` is {int(node_type[0])} at node 0; types are numbered from 0 on")
    if num_nodes and int(node_type[-1]) >= 1 << 24:
        raise InvalidError(f"`node_type` is {int(node_type[-1])} at node {num_nodes - 1}; at most {1 << 24} types are supported")
    counts = torch.bincount(node_type) if num_nodes else torch.zeros(1, dtype=torch.int64)
    return [0, *counts.cumsum(0).tolist()]


def _of_bytes(cls, ids, num_edge_types, num_nodes):
    """A graph from another process."""
    arrays = (item and array("i" if item[0] == "i32" else "q", item[1]) for item in ids)
    return cls(*arrays, num_edge_types, num_nodes)


_numbers = itertools.count()
