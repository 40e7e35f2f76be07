"""`@hector.compile` on a PyG `MessagePassing` class.

`propagate` is replaced: `message` is run with tensors that only record what is done to them, and what they recorded is
written as a model of Hector. The model is compiled for the shapes at hand and computes messages and their sum in one
go. `update` runs as it is, on the result. What cannot be recorded runs as PyG does it, after a warning that says what
it was and where.

`message` runs in each call, so attributes and control flow of Python mean what they always do. It runs on a copy of the
layer's attributes, which are taken over if it can be recorded and dropped if PyG runs it instead.
"""

from __future__ import annotations

import collections
import dis
import functools
import inspect
import traceback
import types
import warnings
import weakref

import torch
from torch_geometric.nn import MessagePassing
from torch_geometric.nn import aggr as aggregations
from torch_geometric.utils import softmax

from . import _gpu, _propagate_op, _recorder, _torch_ops
from ._compile import names_of
from ._errors import HectorError
from ._graph import Graph
from ._model import parse
from ._recent import Recent
from ._recorder import Recorded, Recorder, Unreadable

_AGGREGATIONS = {
    "add": ("sum", aggregations.SumAggregation),
    "sum": ("sum", aggregations.SumAggregation),
    "mean": ("mean", aggregations.MeanAggregation),
    "max": ("max", aggregations.MaxAggregation),
    "min": ("min", aggregations.MinAggregation),
}
# What `propagate` is made of, besides `message` and `update`.
_PIPELINE = ("propagate", "aggregate", "_check_input", "_set_size", "_lift", "_index_select", "_index_select_safe", "_collect")
_HOOKS = tuple(
    f"_{name}_forward{kind}_hooks" for name in ("propagate", "message", "aggregate") for kind in ("", "_pre")
)  # fmt: skip
_CONTAINERS = (list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict)
_HERE = __file__.rsplit("/", 1)[0]

models = Recent(256)  # by their texts
_fell_back: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by layer: in which situations


class _Bare(MessagePassing):
    """A layer without anything of its own. PyG changes the class of a layer that is made, so it is not its base."""


@functools.lru_cache(maxsize=None)
def _common_attributes():
    """The attributes that each layer has of `Module` and `MessagePassing`."""
    return frozenset(vars(_Bare()))


def forget():
    """Forgets models, and which layers run as PyG does it."""
    models.clear()
    _fell_back.clear()


# --- the class


def _why_not(cls):
    """Why PyG has to run a class, or None."""
    for name in _PIPELINE:
        for owner in cls.__mro__[: cls.__mro__.index(MessagePassing)]:
            own = vars(owner).get(name)
            is_generated = own is vars(owner).get("_jinja_propagate") and own is not vars(owner).get("_orig_propagate")
            if own is not None and not is_generated and not hasattr(own, "_is_hectors"):
                return f"it has a `{name}` of its own"
    return None


def compile_class(cls, in_place):
    """The class with a `propagate` that Hector computes: a class of its own, or the same one changed."""
    own = next((vars(owner)["propagate"] for owner in cls.__mro__ if "propagate" in vars(owner)), None)
    plain = own if _why_not(cls) is not None else MessagePassing.propagate
    told = set()

    def tell(layer, reason, place):
        if (reason, place) not in told:
            told.add((reason, place))
            warnings.warn(f"{place}: `{type(layer).__name__}` runs as PyG does it: {reason}", stacklevel=5)

    def make_propagate(owner):
        why = _why_not(owner)

        def compute(self, edge_index, size, kwargs, known_as):
            """The result of `propagate`. What is known of the layer is kept for `known_as`, of which it may be a copy."""
            if self.explain or self.decomposed_layers > 1 or _has_hooks(self):
                return plain(self, edge_index, size=size, **kwargs)  # these look at single messages
            reason, place = why or _why_not_this(self, edge_index), owner.__name__
            situation = self.training, tuple(name for name, value in kwargs.items() if value is None)
            if reason is None and situation in _fell_back.get(known_as, ()):
                return plain(self, edge_index, size=size, **kwargs)
            if reason is None:
                try:
                    return _compute(self, edge_index, size, kwargs)
                except _InMessage as error:
                    _fell_back.setdefault(known_as, set()).add(situation)
                    reason, place = f"Hector has no word for {error}", _where(error)
                except Unreadable as error:
                    reason, place = f"Hector has no word for {error}", "propagate"
                except HectorError as error:
                    reason, place = str(error), "propagate"
            tell(self, reason, place)
            return plain(self, edge_index, size=size, **kwargs)

        compute.plain = plain
        number = _propagate_op.add(compute)
        now = compute if _torch_ops.is_supported else torch.compiler.disable(compute)

        @functools.wraps(MessagePassing.propagate)
        def propagate(self, edge_index, size=None, **kwargs):
            if _torch_ops.is_compiling():
                if why is not None:
                    return plain(self, edge_index, size=size, **kwargs)
                made = None
                if isinstance(edge_index, torch.Tensor):
                    made = _propagate_op.call(number, self, edge_index, size, kwargs)
                return _outside_of_compiled_code(self, edge_index, size, kwargs) if made is None else made
            return now(self, edge_index, size, kwargs, self)

        propagate._compute = compute  # which is found by its number as long as the class is there
        propagate._is_hectors = True
        return propagate

    def init_subclass(sub, **kwargs):
        # PyG gives each class a `propagate` that has none of its own.
        super(made, sub).__init_subclass__(**kwargs)
        if "propagate" not in vars(sub):
            sub.propagate = make_propagate(sub)

    def new(sub, *args, **kwargs):
        layer = object.__new__(sub) if own_new is object.__new__ else own_new(sub, *args, **kwargs)
        _propagate_op.layers[id(layer)] = layer  # copies and pickles come here as well
        return layer

    own_new = cls.__new__
    if in_place:
        made, made.propagate = cls, make_propagate(cls)
    else:
        names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        made = type(cls)(cls.__name__, (cls,), {**names, "propagate": make_propagate(cls)})
    made.__init_subclass__ = classmethod(init_subclass)
    made.__new__ = staticmethod(new)
    return made


@torch.compiler.disable
def _outside_of_compiled_code(layer, edge_index, size, kwargs):
    """For edges and arguments that the operator does not take."""
    return layer.propagate(edge_index, size=size, **kwargs)


def _has_hooks(layer):
    names, module = vars(layer), layer.aggr_module
    if any(names[name] for name in _HOOKS):
        return True
    return module is not None and bool(module._forward_hooks or module._forward_pre_hooks)


def _why_not_this(layer, edge_index):
    """Why PyG has to run this layer on these edges, or None."""
    if type(edge_index) is not torch.Tensor or edge_index.layout is not torch.strided or edge_index.dim() != 2:
        return "the edges are no tensor of two rows"
    replaced = [name for name in _PIPELINE if name != "propagate" and name in vars(layer)]
    if replaced:
        return f"it has a `{replaced[0]}` of its own"
    known = _AGGREGATIONS.get(layer.aggr if isinstance(layer.aggr, str) else "")
    if known is None or type(layer.aggr_module) is not known[1]:
        return f"Hector has no word for the aggregation {layer.aggr_module or layer.aggr}"
    return None


def _where(error):
    """The last line of the user's code that an exception came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HERE)]
    frames = [frame for frame in frames if "/torch/" not in frame.filename and "/torch_geometric/" not in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "message"


# --- one call


class _InMessage(Unreadable):
    """What is unreadable in the code of `message`, and will be so next time."""


def _compute(layer, edge_index, size, kwargs):
    """The result of `propagate`."""
    message = _parameters(layer.message)
    num_nodes = _count_nodes(message, size, kwargs)
    update = _update_arguments(layer, kwargs)
    recorder = Recorder(edge_index.size(1), num_nodes, layer.flow == "source_to_target", _device_of(edge_index, kwargs))
    text = _record(layer, recorder, message, _torch_ops.without_autocast(kwargs))
    graph = Graph.cached(edge_index[0], edge_index[1], num_nodes=num_nodes)
    model = models.find(text) or models.keep(text, parse(text, type(layer).__name__))
    # Whether anything is dropped was decided when it was recorded.
    out = model(graph, **recorder.inputs, training="dropout(" in text)
    return layer.update(out, **update)


def _device_of(edge_index, kwargs):
    """Where messages are: where the first tensor of floats is. Ids may be elsewhere."""
    for value in kwargs.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, torch.Tensor) and item.is_floating_point():
                return item.device
    return edge_index.device


def _parameters(method):
    function = getattr(method, "__func__", method)
    try:
        return _known_parameters[function]
    except (KeyError, TypeError):
        pass
    found = tuple(inspect.signature(method).parameters.values())
    _known_parameters[function] = found
    return found


_known_parameters: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _base_of(name, kwargs):
    """The argument of `propagate` that `x_i` or `x_j` comes from."""
    return name[:-2] if name.endswith(("_i", "_j")) and name[:-2] in kwargs else None


def _count_nodes(message, size, kwargs):
    counts = set() if size is None else {count for count in size if count is not None}
    for parameter in message:
        base = _base_of(parameter.name, kwargs)
        values = kwargs[base] if base is not None else None
        for value in values if isinstance(values, (tuple, list)) else (values,):
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                counts.add(value.size(0))
    if len(counts) > 1:
        raise Unreadable(f"a graph with different nodes at both ends ({' and '.join(map(str, sorted(counts)))})")
    if not counts:
        raise Unreadable("how many nodes there are")
    return counts.pop()


def _update_arguments(layer, kwargs):
    """What `update` takes besides the result."""
    arguments = {}
    for parameter in _parameters(layer.update)[1:]:
        name = parameter.name
        is_plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if not is_plain or name in MessagePassing.special_args or name.endswith(("_i", "_j")):
            raise Unreadable(f"the argument `{name}` of `update`")
        if name in kwargs:
            arguments[name] = kwargs[name]
        elif parameter.default is parameter.empty:
            raise Unreadable(f"the argument `{name}` of `update`")
    return arguments


def _argument(layer, recorder, name, kwargs):
    """What `message` is given for one of its parameters."""
    if name in ("index", "edge_index_i"):
        return recorder.index()
    if name == "ptr":
        return None  # as PyG has it for edges in any order
    if name in ("size_i", "size_j", "dim_size"):
        return recorder.num_nodes
    base = _base_of(name, kwargs)
    if base is not None:
        value = kwargs[base]
        is_source = name.endswith("_j") == recorder.is_forward
        if isinstance(value, (tuple, list)):
            value = value[0 if is_source else 1] if len(value) == 2 else None
        if not isinstance(value, torch.Tensor):
            return value
        if value.dim() == 0 or layer.node_dim % value.dim() != 0:
            raise Unreadable(f"`node_dim={layer.node_dim}` for a tensor of {value.dim()} axes")
        return recorder.nodes(value, is_source)
    if name not in kwargs or name in MessagePassing.special_args:
        raise Unreadable(f"the argument `{name}` of `message`")
    value = kwargs[name]
    if isinstance(value, torch.Tensor) and value.dim() > 0 and value.size(0) == recorder.num_edges:
        return recorder.edges(value)
    return value


def _record(layer, recorder, parameters, kwargs):
    """The text of a layer's propagation."""
    arguments = {parameter.name: _argument(layer, recorder, parameter.name, kwargs) for parameter in parameters}
    shadow = _Shadow(layer)
    try:
        with recorder:
            message = shadow.layer.message(**arguments)
        text = _text(layer, recorder, message)
        del arguments, message
        if recorder.are_kept():
            raise Unreadable(shadow.holder())
    except HectorError:
        raise
    except Exception as error:  # a mistake of the class shows when PyG runs it
        if recorder.random_state is not None:
            _gpu.set_random_state(*recorder.random_state)
        said = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
        raise _InMessage(said).with_traceback(error.__traceback__) from None
    shadow.take_over()
    return text


def _text(layer, recorder, message):
    if not isinstance(message, Recorded):
        raise Unreadable("a message that does not depend on edges")
    row = _recorder._row(message)
    if layer.node_dim % row.rank != 0:
        raise Unreadable(f"`node_dim={layer.node_dim}` for messages of {row.rank} axes")
    name = recorder.assign(row.text)
    end = "incoming_edges" if recorder.is_forward else "outgoing_edges"
    lines = [
        f"def propagate(g, {', '.join(recorder.declarations)}):",
        *recorder.lines,
        "    for n in g.nodes():",
        f'        n["out"] = {_AGGREGATIONS[layer.aggr][0]}(e["{name}"] for e in n.{end}())',
        '    return n["out"]',
    ]
    return "\n".join(lines) + "\n"


class _Shadow:
    """A layer with the attributes of another, which `message` may set or fill without changing the other."""

    def __init__(self, layer):
        self.of = layer
        self.layer = object.__new__(type(layer))
        common, state, copies = _common_attributes(), dict(vars(layer)), {}
        for name, value in vars(layer).items():
            if name in ("_parameters", "_buffers", "_modules") or (name not in common and type(value) in _CONTAINERS):
                state[name] = copies[name] = value.copy()
        self.state, self.copies = state, copies
        object.__setattr__(self.layer, "__dict__", state)
        self.methods = _methods_with_softmax(self.layer)
        state.update(self.methods)

    def holder(self):
        """Who keeps a tensor of edges, in words."""
        for name, value in self.state.items():
            values = value.values() if isinstance(value, dict) else value if type(value) in _CONTAINERS else (value,)
            if any(isinstance(item, Recorded) for item in values):
                return f"`self.{name}`, which keeps a tensor of edges"
        return "something outside of `message` that keeps a tensor of edges"

    def take_over(self):
        """Gives the layer what `message` has set."""
        names = vars(self.of)
        for name in self.methods:
            self.state.pop(name, None)
            if name in names:
                self.state[name] = names[name]
        for name, value in self.state.items():
            copy = self.copies.get(name)
            if copy is None or copy is not value:
                if name not in names or names[name] is not value:
                    names[name] = value
            elif not _holds_same(copy, names[name]):
                names[name].clear()
                (names[name].update if isinstance(copy, (dict, set)) else names[name].extend)(copy)
        for name in [name for name in names if name not in self.state]:
            del names[name]


def _holds_same(a, b):
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return all(x is y and v is w for (x, v), (y, w) in zip(a.items(), b.items()))
    return all(x is y for x, y in zip(a, b))


# --- softmax: code of the user finds PyG's by its name, so copies of the code find the recording one


def _methods_with_softmax(layer):
    """The methods of a layer that use PyG's softmax, with the recording one in its place. The class stays as it is."""
    functions = _functions_with_softmax(type(layer))
    if not functions:
        return {}
    spaces: dict = {}
    return {name: types.MethodType(_with_softmax(function, spaces), layer) for name, function in functions.items()}


def _functions_with_softmax(cls):
    known = _softmax_users.get(cls)
    if known is None:
        known, seen = {}, set()
        for owner in cls.__mro__[: cls.__mro__.index(MessagePassing)]:
            for name, value in vars(owner).items():
                if name not in seen and isinstance(value, types.FunctionType) and not name.startswith("__"):
                    if name not in ("forward", "propagate", "update") and _has_softmax(value):
                        known[name] = value
                seen.add(name)
        _softmax_users[cls] = known
    return known


_softmax_users: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _contents(function):
    """What a function has around it: the functions and values of its file that it names, and its own cells."""
    for name in names_of(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for cell in function.__closure__ or ():
        try:
            yield None, cell.cell_contents
        except ValueError:  # not yet assigned
            pass


def _has_softmax(function):
    """Whether a function uses PyG's softmax, from what was found out before or anew."""
    if function not in _softmax_functions:
        _softmax_functions[function] = _uses_softmax(function, set())
    return _softmax_functions[function]


_softmax_functions: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _uses_softmax(function, seen):
    """Whether a function or one that it calls names PyG's softmax. One that assigns globals is left alone."""
    if function in seen or any(part.opname == "STORE_GLOBAL" for part in dis.get_instructions(function)):
        return False
    seen.add(function)
    return any(
        value is softmax or (isinstance(value, types.FunctionType) and _is_of_users(value) and _uses_softmax(value, seen))
        for _, value in _contents(function)
    )


def _is_of_users(function):
    return not (function.__module__ or "").startswith(("torch.", "torch_geometric.", "hector."))


def _with_softmax(function, spaces):
    """A copy of a function that finds the recording softmax. `spaces` has the names of each file, copied once."""
    names = spaces.get(id(function.__globals__))
    if names is None:
        names = spaces[id(function.__globals__)] = dict(function.__globals__)

    def replace(value):
        if value is softmax:
            return _recorder.softmax
        if isinstance(value, types.FunctionType) and _is_of_users(value) and _has_softmax(value):
            return spaces.get(value) or _with_softmax(value, spaces)
        return value

    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    spaces[function] = made
    for name, value in _contents(function):
        if name is not None:
            names[name] = replace(names[name])
    if function.__closure__:
        cells = tuple(_cell(cell, replace) for cell in function.__closure__)
        made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        spaces[function] = made
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _cell(cell, replace):
    try:
        value = cell.cell_contents
    except ValueError:
        return cell
    replaced = replace(value)
    return cell if replaced is value else types.CellType(replaced)
