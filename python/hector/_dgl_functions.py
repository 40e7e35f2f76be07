"""DGL's graphs and functions of their edges and nodes, as graphs and models of Hector."""

from __future__ import annotations

import functools
import sys
import weakref

import torch

from . import _gpu
from ._edge_recorder import FLOATS, Edges, Frame, Ids, Nodes, plain
from ._graph import Graph
from ._mailbox import GraphRecorder, Mail, Pending
from ._model import parse
from ._recent import Recent
from ._recorder import Recorded, Unreadable

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

_models = Recent(256)  # by their texts
_structures: dict = {}  # by the id of DGL's index of a graph, which has no hash: a reference to it and its structure


def forget():
    """Forgets models and graphs."""
    _models.clear()
    _structures.clear()


class AsDgl(Exception):
    """There is nothing for Hector to do, or DGL has to run it as it did before."""


# --- graphs


class Structure:
    """The edges of one of DGL's graphs, and Hector's graphs of them."""

    def __init__(self, index):
        self.src, self.dst, _ = index.edges(0, "eid")
        self.device = self.src.device
        self.num_nodes, self.num_edges = index.num_nodes(0), self.src.size(0)
        self._plain = self._reversed = None
        has_messages = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.device)
        has_messages[self.dst.long()] = True
        self.rows = None if bool(has_messages.all()) else has_messages.nonzero().view(-1)

    def graph(self, etype=None, num_types=None):
        if etype is not None:
            etype = etype.to(self.src.dtype)
            return Graph.cached(self.src, self.dst, etype, num_edge_types=num_types, num_nodes=self.num_nodes)
        if self._plain is None:
            self._plain = Graph(self.src, self.dst, num_nodes=self.num_nodes)
        return self._plain

    def reversed(self):
        if self._reversed is None:
            self._reversed = Graph(self.dst, self.src, num_nodes=self.num_nodes)
        return self._reversed


def structure_of(index):
    reference, found = _structures.get(id(index), (None, None))
    if reference is None or reference() is not index:
        if index.number_of_etypes() != 1 or index.number_of_ntypes() != 1:
            raise Unreadable("a graph with several types of nodes or edges, or a block")
        with torch.inference_mode(False):
            found = Structure(index)
        key = id(index)
        _structures[key] = weakref.ref(index, lambda reference: _release(key, reference)), found
    if found.num_edges == 0:
        raise AsDgl
    return found


def _release(key, reference):
    if _structures.get(key, (None,))[0] is reference:
        _structures.pop(key, None)


def recorder_of(structure):
    compute = functools.partial(run_reductions, structure)
    return GraphRecorder(structure.num_edges, structure.num_nodes, structure.rows, compute, structure.device)


# --- running


def run(structure, recorder, name, ending, graph=None):
    """The results of what was recorded."""
    text = "\n".join([f"def {name}(g, {', '.join(recorder.declarations)}):", *recorder.lines, *ending]) + "\n"
    model = _models.find(text) or _models.keep(text, parse(text, "DGL"))
    graph = graph or structure.graph(recorder.etype, recorder.num_types)
    has_dropout = "dropout(" in text
    if has_dropout and recorder.random_state is None:
        recorder.random_state = (structure.device, _gpu.random_state(structure.device))
    return model(graph, **recorder.inputs, training=has_dropout)


def run_reductions(structure, recorder, reductions, is_builtin=False):
    """The results of reductions, for all nodes. DGL's own maxima have 0 in place of infinities."""
    lines, results = ["    for n in g.nodes():"], []
    for place, reduction in enumerate(reductions):
        combined = f'{reduction.word}(e["{reduction.name}"] for e in n.incoming_edges())'
        if is_builtin and reduction.word in ("max", "min"):
            lines.append(f'        n["m{place}"] = {combined}')
            combined = f'where(abs(n["m{place}"]) == inf, 0.0, n["m{place}"])'
        lines.append(f'        n["o{place}"] = {combined}')
        results.append(f'n["o{place}"]')
    made = run(structure, recorder, "update_all", [*lines, f"    return {', '.join(results)}"])
    return made if len(results) > 1 else (made,)


# --- functions of edges and nodes


def checked(tensor):
    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in FLOATS or tensor.layout is not torch.strided:
        raise Unreadable(f"data of {getattr(tensor, 'dtype', type(tensor).__name__)}")
    return tensor


def messages_of(recorder, structure, g, function, are_texts):
    """What a function of edges gives, by name: recorded tensors; of a built-in function, its text if that is enough."""
    if sys.modules["dgl.core"].is_builtin(function):
        text, shape, dtype, requires_grad = _built_in(recorder, g, function)
        return {function.out_field: text if are_texts else recorder.write(text, shape, dtype, requires_grad)}
    with recorder:
        found = function(_edges(recorder, structure, g))
    if not isinstance(found, dict):
        raise Unreadable(f"a function of edges that returns a {type(found).__name__}")
    return {name: plain(value) for name, value in found.items()}


def _built_in(recorder, g, function):
    """The text of a built-in message, its shape and type, and whether it requires gradients."""
    homes = (("Node", "e.src."), ("Node", "e.dst."), ("Edge", "e."))  # as DGL numbers them
    frames = (g.srcdata, g.dstdata, g.edata)

    def read(target, tensor):
        home, prefix = homes[target]
        return prefix + recorder.add_input(home, tuple(tensor.shape[1:]), tensor)

    if hasattr(function, "in_field"):
        tensor = checked(frames[function.target][function.in_field])
        return read(function.target, tensor), tuple(tensor.shape[1:]), tensor.dtype, tensor.requires_grad
    left, right = checked(frames[function.lhs][function.lhs_field]), checked(frames[function.rhs][function.rhs_field])
    rank = max(left.dim(), right.dim())
    left, right = (
        x if x.dim() == rank else x.reshape(x.size(0), *(1,) * (rank - x.dim()), *x.shape[1:]) for x in (left, right)
    )
    shapes = left.shape[1:], right.shape[1:]
    if left.dtype != right.dtype or any(a != b and 1 not in (a, b) for a, b in zip(*shapes)):
        raise Unreadable(f"data of {left.dtype} {list(shapes[0])} and {right.dtype} {list(shapes[1])} in one message")
    shape = tuple(b if a == 1 else a for a, b in zip(*shapes))
    texts = read(function.lhs, left), read(function.rhs, right)
    if function.binary_op in _SYMBOLS:
        text = f" {_SYMBOLS[function.binary_op]} ".join(texts)
    elif function.binary_op == "dot" and rank > 1 and shapes[0][-1] == shapes[1][-1]:
        product = f"dot_prod({', '.join(texts)})" if shapes[0] == shapes[1] else f"sum({' * '.join(texts)}, axis={rank - 2})"
        shape = (*shape[:-1], 1)
        text = f"reshape({product}, {', '.join(map(str, shape))})"
    else:
        raise Unreadable(f"the message `{function.name}` of these shapes")
    return text, shape, left.dtype, left.requires_grad or right.requires_grad


def _edges(recorder, structure, g):
    """Edges that record. Whole numbers, such as types, are known, so they are what they are."""

    def frame(data, record, choose):
        def get(name):
            tensor = data[name]
            return record(tensor) if tensor.dtype in FLOATS else choose(tensor).as_subclass(Ids)

        return Frame(data, get)

    def ends():
        if sys.modules["dgl.core"].EID in g.edata:
            raise Unreadable("the ends of edges that have other numbers")
        numbers = torch.arange(structure.num_edges, dtype=structure.src.dtype, device=structure.device)
        return structure.src, structure.dst, numbers

    nodes, edges = g._node_frames[0], g._edge_frames[0]
    src, dst = structure.src.long(), structure.dst.long()
    return Edges(
        frame(nodes, lambda x: recorder.nodes(x, True), lambda x: x[src]),
        frame(nodes, lambda x: recorder.nodes(x, False), lambda x: x[dst]),
        frame(edges, recorder.edges, lambda x: x),
        ends,
        g.canonical_etypes[0],
    )


def reduce(recorder, structure, g, function, messages):
    """What a function of nodes and their messages gives, by name and for all nodes."""
    frame, rows = g._node_frames[0], structure.rows
    if frame._initializers or frame._default_initializer is not None:
        raise Unreadable("nodes without messages that have an initializer of their own")
    choose = (lambda x: x) if rows is None else (lambda x: x.index_select(0, rows))
    data = Frame(frame, lambda name: choose(frame[name]))
    mailbox = Frame(messages, lambda name: recorder.mail(messages[name]))
    ids = frame.get(sys.modules["dgl.core"].NID, None)
    numbers = torch.arange(structure.num_nodes, dtype=structure.src.dtype, device=structure.device) if ids is None else ids
    recorder.is_in_mailbox = True
    with recorder:
        found = function(Nodes(data, mailbox, choose(numbers), g.dsttypes[0]))
    if not isinstance(found, dict):
        raise Unreadable(f"a function of nodes that returns a {type(found).__name__}")
    results = {}
    for name, value in found.items():
        if isinstance(value, Pending):
            results[name] = recorder.result(value)
        elif isinstance(value, (Mail, Recorded)) or not isinstance(value, torch.Tensor) or value.dim() == 0:
            raise Unreadable("a function of nodes that returns something else than rows of nodes")
        elif value.size(0) != recorder.num_rows:
            raise Unreadable(f"a function of nodes that returns {value.size(0)} rows for {recorder.num_rows} nodes")
        else:
            results[name] = recorder.for_all_nodes(value)
    messages.clear()
    return results
