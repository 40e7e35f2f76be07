"""`@hector.compile` on classes and functions that use DGL's graphs.

While such a function runs, `update_all`, `apply_edges` and `edge_softmax` are computed by Hector, each as one model.
DGL's built-in functions are written as a model's text; those of the user are run with tensors that record what is done
to them. Everything else is DGL's: graphs, their data and scopes. What cannot be recorded runs as DGL does it, after a
warning that says what it was and where.

DGL's methods are replaced once, by ones that do as before outside of a compiled function. DGL is never imported here.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import traceback
import warnings
import weakref

import torch

from . import _dgl_functions, _gpu
from ._dgl_functions import AsDgl, checked, messages_of, recorder_of, reduce, run, run_reductions, structure_of
from ._errors import HectorError, InvalidError
from ._graph import Graph
from ._mailbox import Reduction
from ._recorder import Recorded, Unreadable

_OTHERS = ("multi_update_all", "send_and_recv", "push", "pull", "prop_nodes", "prop_edges")  # as DGL does them
_HERE = os.path.dirname(__file__)

_callers: weakref.WeakSet = weakref.WeakSet()
_running = threading.local()
_lock = threading.Lock()


def forget():
    """Forgets models and graphs, and which functions run as DGL does it."""
    _dgl_functions.forget()
    for caller in list(_callers):
        caller.fell_back.clear()


# --- what is compiled


def compile_class(cls, in_place):
    """The class with a `forward` whose graph operations Hector computes: a class of its own, or the same one changed."""
    caller = _Caller(cls.__name__)
    forward = _wrapped(cls.forward, caller)
    if in_place:
        cls.forward = forward
        return cls
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__, "forward": forward}
    return type(cls)(cls.__name__, (cls,), names)


def compile_function(function):
    """The function with graph operations that Hector computes."""
    call = _wrapped(function, _Caller(function.__name__))

    @functools.wraps(function)
    def checked_call(*args, **kwargs):
        if args and isinstance(args[0], Graph):
            raise InvalidError(
                f"`{function.__name__}` declares no inputs, so it is code for DGL; declare them, as in `x: Node[d]`"
            )
        return call(*args, **kwargs)

    return checked_call


def _wrapped(function, caller):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if not _replace_methods():
            return function(*args, **kwargs)
        stack = _running.__dict__.setdefault("stack", [])
        is_training = args[0].training if args and isinstance(args[0], torch.nn.Module) else None
        stack.append((caller, is_training))
        try:
            return function(*args, **kwargs)
        finally:
            stack.pop()

    return call


class _Caller:
    """A compiled class or function: what was told about it, and what DGL has to run."""

    def __init__(self, name):
        self.name, self.told, self.fell_back = name, set(), set()
        _callers.add(self)

    def tell(self, reason, place):
        if (reason, place) not in self.told:
            self.told.add((reason, place))
            warnings.warn(f"{place}: `{self.name}` runs as DGL does it: {reason}", stacklevel=3)


# --- DGL's methods


def _replace_methods():
    """Replaces methods of DGL once. False if the program does not use DGL."""
    dgl = sys.modules.get("dgl")
    graph_class = getattr(dgl, "DGLGraph", None)
    if graph_class is None:
        return False
    linear = sys.modules.get("dgl.nn.pytorch.linear")
    if _is_done(graph_class) and (linear is None or _is_done(linear)):
        return True
    with _lock:
        if linear is not None and not _is_done(linear):
            linear.gather_mm, linear.segment_mm = _gather_mm(linear.gather_mm), _segment_mm(linear.segment_mm)
            linear._hector = True
        if _is_done(graph_class):
            return True
        for name, compute in (("update_all", _update_all), ("apply_edges", _apply_edges)):
            setattr(graph_class, name, _replacement(getattr(graph_class, name), compute))
        for name in _OTHERS:
            if hasattr(graph_class, name):
                setattr(graph_class, name, _replacement(getattr(graph_class, name), functools.partial(_refuse, name)))
        softmax = sys.modules["dgl.ops.edge_softmax"]
        softmax.edge_softmax_internal = _replacement(softmax.edge_softmax_internal, _edge_softmax)
        graph_class._hector = True
    return True


def _is_done(place):
    return "_hector" in vars(place)


def _replacement(plain, compute):
    @functools.wraps(plain)
    def method(*args, **kwargs):
        stack = _running.__dict__.get("stack")
        if not stack:
            return plain(*args, **kwargs)
        caller, is_training = stack[-1]
        try:
            return compute(_Situation(caller, is_training), *args, **kwargs)
        except AsDgl:
            pass
        except _InFunction as error:
            frames = traceback.extract_stack() + traceback.extract_tb(error.__traceback__)
            caller.tell(f"Hector has no word for {error}", _where(frames))
        except Unreadable as error:
            caller.tell(f"Hector has no word for {error}", _where(traceback.extract_stack()))
        except HectorError as error:
            caller.tell(str(error), _where(traceback.extract_stack()))
        return plain(*args, **kwargs)

    return method


def _where(frames):
    """The last line of the user's code; of DGL's, if there is none."""
    frames = [frame for frame in frames if not frame.filename.startswith((os.path.dirname(torch.__file__), _HERE, "<"))]
    own = os.path.dirname(sys.modules["dgl"].__file__)
    users = [frame for frame in frames if not frame.filename.startswith(own)]
    frame = (users or frames)[-1] if frames else None
    return f"{frame.filename}:{frame.lineno}" if frame else "forward"


class _InFunction(Unreadable):
    """What is unreadable in a function of the user, and will be so next time."""


class _Situation:
    """A compiled function that runs. What was unreadable before is not tried again."""

    def __init__(self, caller, is_training):
        self.caller, self.is_training = caller, is_training

    def key(self, g, functions):
        codes = tuple(getattr(getattr(each, "__func__", each), "__code__", None) or type(each) for each in functions)
        frames = (*g._node_frames[0].items(), None, *g._edge_frames[0].items())
        signature = tuple(item and (item[0], item[1].dtype, item[1].dim()) for item in frames)
        return codes, self.is_training, signature

    def attempt(self, g, functions, compute):
        """Runs functions of the user to record them."""
        key = self.key(g, functions)
        if key in self.caller.fell_back:
            raise AsDgl
        recorder = recorder_of(structure_of(g._graph))
        try:
            found = compute(recorder)
            if recorder.are_kept():
                raise Unreadable("something outside of a function of edges or nodes that keeps a tensor of theirs")
            return found
        except Exception as error:  # a mistake of the class shows when DGL runs it
            if recorder.random_state is not None:
                _gpu.set_random_state(*recorder.random_state)
            self.caller.fell_back.add(key)
            if isinstance(error, HectorError):
                raise
            said = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            raise _InFunction(said).with_traceback(error.__traceback__) from None


# --- one operation


def _update_all(situation, g, message_func, reduce_func, apply_node_func=None, etype=None):
    core, structure = sys.modules["dgl.core"], structure_of(g._graph)
    g.get_etype_id(etype)  # fails if there is none of this name
    is_builtin = core.is_builtin(reduce_func)

    def compute(recorder):
        messages = messages_of(recorder, structure, g, message_func, is_builtin)
        if not is_builtin:
            return reduce(recorder, structure, g, reduce_func, messages)
        message = messages[reduce_func.msg_field]
        text = message if isinstance(message, str) else recorder.as_row(message).text
        reduction = Reduction(reduce_func.name, recorder.assign(text), (), None)
        messages.clear()
        return {reduce_func.out_field: run_reductions(structure, recorder, [reduction], True)[0]}

    if is_builtin and core.is_builtin(message_func):
        if message_func.out_field != reduce_func.msg_field:
            raise AsDgl  # which says so
        found = compute(recorder_of(structure))
    else:
        found = situation.attempt(g, (message_func, reduce_func), compute)
    if apply_node_func is not None:
        ids = g.dstdata.get(core.NID, None)
        found = {**{name: value for name, value in g.dstdata.items() if name not in found}, **found}
        found = core.invoke_node_udf(g, core.ALL, g.dsttypes[0], apply_node_func, ndata=found, orig_nid=ids)
    g._set_n_repr(0, core.ALL, found)


def _apply_edges(situation, g, func, edges=None, etype=None, **others):
    core, structure = sys.modules["dgl.core"], structure_of(g._graph)
    g.get_etype_id(etype)
    if others or not (edges is None or core.is_all(edges)):
        raise Unreadable("`apply_edges` for some of the edges")

    def compute(recorder):
        found = messages_of(recorder, structure, g, func, True)
        computed = {}
        for name, value in list(found.items()):
            if isinstance(value, (str, Recorded)):
                computed[name] = recorder.assign(value if isinstance(value, str) else recorder.as_row(value).text)
                del value, found[name]
        results = ", ".join(f'e["{name}"]' for name in computed.values())
        if computed:
            made = run(structure, recorder, "apply_edges", [f"    return {results}"])
            found.update(zip(computed, made if len(computed) > 1 else (made,)))
        return found

    if core.is_builtin(func):
        found = compute(recorder_of(structure))
    else:
        found = situation.attempt(g, (func,), compute)
    g._set_e_repr(0, core.ALL, found)


def _edge_softmax(situation, index, logits, eids=None, norm_by="dst"):
    structure, base = structure_of(index), sys.modules["dgl.base"]
    if not (eids is None or base.is_all(eids)):
        raise Unreadable("`edge_softmax` over some of the edges")
    recorder = recorder_of(structure)
    name = recorder.assign("e." + recorder.add_input("Edge", tuple(logits.shape[1:]), checked(logits)))
    ending = [f'    edge_softmax(g, "{name}")', f'    return e["{name}"]']
    return run(structure, recorder, "attend", ending, structure.reversed() if norm_by == "src" else None)


def _refuse(name, situation, *args, **kwargs):
    raise Unreadable(f"`{name}`")


# --- typed products of DGL, which functions of edges may call


def _gather_mm(plain):
    @functools.wraps(plain)
    def gather_mm(a, b, *, idx_b):
        if isinstance(a, Recorded):
            return a._row.recorder.typed_product(a, b, idx_b)
        return plain(a, b, idx_b=idx_b)

    return gather_mm


def _segment_mm(plain):
    @functools.wraps(plain)
    def segment_mm(a, b, seglen_a):
        if isinstance(a, Recorded):
            types_ = torch.repeat_interleave(torch.arange(b.size(0), device=seglen_a.device), seglen_a)
            return a._row.recorder.typed_product(a, b, types_)
        return plain(a, b, seglen_a)

    return segment_mm
