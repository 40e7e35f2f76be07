"""Recording of functions of DGL's nodes: operations on `nodes.mailbox`.

A mailbox has a row for each message of a node. How many there are is not known, so `Mail` has an axis of unknown size in
second place, along which it can be summed or normalised. What comes out has a row per node and is `Pending`: the model
runs as soon as something reads it, and computes everything that is pending then. From there on, PyTorch goes on.
"""

from __future__ import annotations

import collections
import weakref

import torch
from torch.utils._pytree import tree_map

from . import _recorder
from ._edge_recorder import CAT, ELEMENTWISE, LINEAR, MATMUL, SOFTMAX, SQUEEZE, UNSQUEEZE, EdgeRecorder, functions
from ._recorder import Recorded, Row, Unreadable

_SUMS, _MEANS, _MAXIMA, _MINIMA = (functions(name) for name in ("sum", "mean", "max", "min"))
_SHAPE, _SIZE = {torch.Tensor.shape.__get__}, {torch.Tensor.size}
_FACTS = {
    getattr(torch.Tensor, name).__get__ for name in ("ndim", "dtype", "device", "layout", "requires_grad", "is_cuda")
} | {torch.Tensor.dim, torch.Tensor.is_floating_point, torch.is_floating_point}  # fmt: skip
# In DGL, functions of nodes see some of the nodes at a time. What they do along that axis depends on which.
_OVER_ROWS = frozenset((
    "sum", "mean", "max", "min", "amax", "amin", "std", "var", "std_mean", "var_mean", "norm", "prod", "median", "softmax",
    "log_softmax", "logsumexp", "cumsum", "cumprod", "sort", "argsort", "topk", "argmax", "argmin", "flip", "roll", "cummax",
))  # fmt: skip


class Mail(torch.Tensor):
    """The messages of nodes, [nodes, messages, ...]."""

    @staticmethod
    def __new__(cls, recorded):
        row = recorded._row
        return _wrapper(
            cls, row.recorder.device, (row.recorder.num_rows, 1, *row.shape), row.dtype, _recorder._requires_grad(recorded)
        )

    def __init__(self, recorded):
        self._recorded = recorded

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Unreadable("messages that are used after the function has ended")

    __torch_dispatch__ = __torch_function__


class Pending(torch.Tensor):
    """What messages were combined to, [nodes, ...]."""

    @staticmethod
    def __new__(cls, reduction, num_rows, requires_grad, device):
        return _wrapper(cls, device, (num_rows, *reduction.shape), reduction.dtype, requires_grad)

    def __init__(self, reduction, num_rows, requires_grad, device):
        self._reduction = reduction

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Unreadable("a result that is used after the function has ended")

    __torch_dispatch__ = __torch_function__


def _wrapper(cls, device, shape, dtype, requires_grad):
    return cls._make_wrapper_subclass(cls, shape, dtype=dtype, device=device, requires_grad=requires_grad)


class Reduction:
    """A combination of messages that the model computes, and its result for all nodes once it has run."""

    def __init__(self, word, name, shape, dtype):
        self.word, self.name, self.shape, self.dtype, self.value = word, name, shape, dtype, None


class _Shape(tuple):
    """The shape of mail. How many messages a node has is not one number."""

    def __getitem__(self, place):
        found = super().__getitem__(place)
        if found is None or (isinstance(found, tuple) and None in found):
            raise Unreadable("how many messages a node has")
        return found

    def __iter__(self):
        raise Unreadable("how many messages a node has")


class _Indices:
    """What `max` gives besides values."""

    def __getattr__(self, name):
        raise Unreadable("where the largest or smallest message is")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Unreadable("where the largest or smallest message is")


_Extremum = collections.namedtuple("_Extremum", ("values", "indices"))


class GraphRecorder(EdgeRecorder):
    """Records a function of edges and a function of their mailboxes.

    `rows` are the nodes that have messages, or None if all have. `run` computes reductions of a recorder.
    """

    def __init__(self, num_edges, num_nodes, rows, run, device):
        super().__init__(num_edges, num_nodes, device)
        self.rows, self.num_rows = rows, num_nodes if rows is None else rows.size(0)
        self.is_in_mailbox = False
        self._run, self._reductions = run, []

    # --- where PyTorch's functions arrive

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {_recorder._ALIASES.get(key, key): value for key, value in (kwargs or {}).items()}
        if Pending in types:
            if function in _recorder._FACTS:
                with torch._C.DisableTorchFunctionSubclass():
                    return function(*args, **kwargs)
            args, kwargs = tree_map(self._settled, (args, kwargs))
            types = tuple(kind for kind in types if kind is not Pending)
        if Mail in types:
            try:
                return self._record_mail(function, args, kwargs)
            except TypeError:
                raise Unreadable(f"these arguments of `{_name(function)}`") from None
        if self.is_in_mailbox and _name(function) in _OVER_ROWS:
            self._check_axis(function, *args, **kwargs)
        return super().__torch_function__(function, types, args, kwargs)

    def _typed(self, function, args, kwargs):
        return None if self.is_in_mailbox else super()._typed(function, args, kwargs)

    def _check_axis(self, function, input=None, dim=None, *_, **__):
        is_of_rows = isinstance(input, torch.Tensor) and input.dim() > 0 and input.size(0) == self.num_rows
        if is_of_rows and not isinstance(dim, torch.Tensor):
            dims = dim if isinstance(dim, (tuple, list)) else (dim,)
            if any(not isinstance(axis, int) or axis % input.dim() == 0 for axis in dims):
                raise Unreadable(f"`{_name(function)}` over the axis of nodes")

    # --- mailboxes

    def mail(self, message):
        if not isinstance(message, Recorded):
            self.as_row(message)
            message = self.edges(message)
        return self._keep_track(lambda: Mail(message))

    def _keep_track(self, make):
        with torch._C.DisableTorchFunction():
            made = make()
        self._made.append(weakref.ref(made))
        return made

    def _record_mail(self, function, args, kwargs):
        if function in _FACTS:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **kwargs)
        if function in _SHAPE or function in _SIZE:
            shape = _Shape((self.num_rows, None, *args[0]._recorded._row.shape))
            return shape if len(args) == 1 and not kwargs else shape[args[1] if len(args) == 2 else kwargs["dim"]]
        for functions, word in ((_SUMS, "sum"), (_MEANS, "mean"), (_MAXIMA, "max"), (_MINIMA, "min")):
            if function in functions:
                return self._reduce(word, *args, **kwargs)
        if function in SOFTMAX:
            return self._softmax_of_mail(*args, **kwargs)
        if function in UNSQUEEZE or function in SQUEEZE:
            return self._change_axis(function, *args, **kwargs)
        if function in CAT:
            return self._cat(*args, **kwargs)
        if function in LINEAR or function in MATMUL:
            if not isinstance(args[0], Mail) or any(isinstance(x, Mail) for x in args[1:]):
                raise Unreadable("a product other than messages times a matrix")
            return self._again(function, (args[0]._recorded, *args[1:]), kwargs)
        if function not in ELEMENTWISE:
            raise Unreadable(f"`{_name(function)}` of messages")
        rank = max(x._recorded._row.rank for x in (*args, *kwargs.values()) if isinstance(x, Mail)) + 1
        operand = lambda x: self._operand(x, rank)  # noqa: E731
        return self._again(function, tuple(map(operand, args)), {key: operand(x) for key, x in kwargs.items()})

    def _again(self, function, args, kwargs):
        made = self._record(function, args, kwargs)
        return self._keep_track(lambda: Mail(made))

    def _operand(self, x, rank):
        """An operand beside mail: other mail, a row per node, or the same for all."""
        if isinstance(x, Mail):
            return x._recorded
        if not isinstance(x, torch.Tensor) or x.dim() == 0:
            return x
        shape = (1,) * (rank - x.dim()) + tuple(x.shape)
        if len(shape) != rank or shape[1] != 1 or shape[0] not in (1, self.num_rows):
            raise Unreadable(f"a tensor of shape {list(x.shape)} beside messages")
        if shape[0] == 1:
            return x.reshape(shape[2:])
        return self.nodes(self.for_all_nodes(x.reshape(shape[0], *shape[2:])), False)

    def for_all_nodes(self, x):
        """A row for each node, of rows for those that have messages. Others are 0."""
        if self.rows is None:
            return x
        return x.new_zeros((self.num_nodes, *x.shape[1:])).index_copy(0, self.rows, x)

    def _mail_axis(self, mail, axis, more=0):
        """An axis as the rows of messages have it; 0 is that of messages."""
        rank = mail._recorded._row.rank + 1 + more
        if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank or axis % rank == 0:
            raise Unreadable(f"the axis {axis!r} of messages")
        return axis % rank - 1

    def _reduce(self, word, input, dim=None, keepdim=False, *, dtype=None):
        row = _recorder._row(input._recorded)
        if dtype not in (None, row.dtype):
            raise Unreadable(f"`{word}` with dtype={dtype}")
        if isinstance(dim, (tuple, list)) and len(dim) == 1:
            dim = dim[0]
        axis = self._mail_axis(input, dim)
        if axis > 0:
            if word in ("max", "min"):
                raise Unreadable(f"`{word}` within a message")
            return self._again(getattr(torch, word), (input._recorded, axis, keepdim), {})
        reduction = Reduction(word, self.assign(row.text), row.shape, row.dtype)
        self._reductions.append(reduction)
        requires_grad = _recorder._requires_grad(input)
        made = self._keep_track(lambda: Pending(reduction, self.num_rows, requires_grad, self.device))
        if keepdim:
            made = self._settled(made).unsqueeze(1)
        return _Extremum(made, _Indices()) if word in ("max", "min") else made

    def _softmax_of_mail(self, input, dim=None, _stacklevel=3, dtype=None):
        row = _recorder._row(input._recorded)
        if dtype not in (None, row.dtype):
            raise Unreadable(f"`softmax` with dtype={dtype}")
        axis = self._mail_axis(input, dim)
        if axis > 0:
            return self._again(torch.softmax, (input._recorded, axis), {})
        name = self.assign(row.text)
        self.lines.append(f'    edge_softmax(g, "{name}")')
        made = self._recorded(Row(self, f'e["{name}"]', row.shape, row.dtype), _recorder._requires_grad(input))
        return self._keep_track(lambda: Mail(made))

    def _change_axis(self, function, input, dim):
        axis = self._mail_axis(input, dim, 1 if function in UNSQUEEZE else 0)
        if axis == 0:
            raise Unreadable("another axis beside that of messages")
        return self._again(function, (input._recorded, axis), {})

    def _cat(self, tensors, dim=0):
        if not all(isinstance(x, Mail) for x in tensors):
            raise Unreadable("`cat` of messages and something else")
        axis = self._mail_axis(tensors[0], dim)
        if axis == 0:
            raise Unreadable("`cat` along the axis of messages")
        return self._again(torch.cat, ([x._recorded for x in tensors], axis), {})

    # --- results

    def _settled(self, x):
        """The numbers of a pending result, for the nodes that have messages."""
        if not isinstance(x, Pending):
            return x
        value = self.result(x)
        return value if self.rows is None else value.index_select(0, self.rows)

    def result(self, pending):
        """The numbers of a pending result, for all nodes."""
        reduction = pending._reduction
        if reduction.value is None:
            waiting = [each for each in self._reductions if each.value is None]
            for each, value in zip(waiting, self._run(self, waiting)):
                each.value = value
        return reduction.value


def _name(function):
    return getattr(function, "__name__", str(function))
