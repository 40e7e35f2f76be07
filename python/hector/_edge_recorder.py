"""Recording of functions of DGL's edges: operations on `edges.src`, `edges.dst` and `edges.data`."""

from __future__ import annotations

import collections.abc

import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_map

from . import _recorder
from ._recorder import Recorded, Recorder, Row, Unreadable

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_IDS = (torch.int32, torch.int64)


def functions(*names):
    """PyTorch's functions of these names, as functions, methods and operators."""
    owners = (torch, torch.Tensor, F)
    spelled = [spelling for name in names for spelling in (name, f"__{name}__", f"__r{name}__")]
    return {getattr(owner, name) for owner in owners for name in spelled if hasattr(owner, name)}


ELEMENTWISE = functions(
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "truediv", "true_divide", "eq", "ne", "lt", "le", "gt", "ge",
    "and", "or", "invert", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_not",
    "masked_fill", "where", "neg", "negative", "pow", "square", "abs", "absolute", "exp", "log", "tanh", "sigmoid", "relu",
    "sqrt", "rsqrt", "cos", "sin", "sign", "erf", "floor", "silu", "softplus", "leaky_relu", "elu", "gelu", "dropout", "clone",
    "contiguous", "clamp", "clip", "clamp_min", "clamp_max",
)  # fmt: skip
CAT, BMM, LINEAR, MATMUL = (functions(*names) for names in (("cat", "concat"), ("bmm",), ("linear",), ("matmul",)))
SOFTMAX, SQUEEZE, UNSQUEEZE = (functions(name) for name in ("softmax", "squeeze", "unsqueeze"))


class Frame(collections.abc.Mapping):
    """The data of edges or nodes by name, made when it is read."""

    def __init__(self, names, get):
        self._names, self._get = names, get

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._get(name)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


class Edges:
    """What a function of edges is given."""

    def __init__(self, src, dst, data, ends, canonical_etype):
        self.src, self.dst, self.data, self._ends, self.canonical_etype = src, dst, data, ends, canonical_etype

    def edges(self):
        return self._ends()

    def batch_size(self):
        return self._ends()[0].size(0)

    __len__ = batch_size


class Nodes:
    """What a function of nodes and their messages is given."""

    def __init__(self, data, mailbox, nodes, ntype):
        self.data, self.mailbox, self._nodes, self.ntype = data, mailbox, nodes, ntype

    def nodes(self):
        return self._nodes

    def batch_size(self):
        return self._nodes.size(0)

    __len__ = batch_size


class Ids(torch.Tensor):
    """Whole numbers of edges, such as types. They are known, and a table that is read at them tells the recorder."""


def plain(x):
    """Ids as the tensor that they are. Other things stay as they are."""
    if not isinstance(x, Ids):
        return x
    with torch._C.DisableTorchFunctionSubclass():
        return x.as_subclass(torch.Tensor)


class EdgeRecorder(Recorder):
    """Records a function of edges. Beside rows of edges, it takes plain tensors that have a row for each edge."""

    def __init__(self, num_edges, num_nodes, device):
        super().__init__(num_edges, num_nodes, True, device)
        self.etype, self.num_types = None, None  # by which typed inputs are read

    def __torch_function__(self, function, types, args=(), kwargs=None):
        has_ids = Ids in types
        if has_ids:
            args, kwargs = tree_map(plain, (args, kwargs or {}))
            types = tuple(kind for kind in types if kind is not Ids)
        if Recorded in types:
            return super().__torch_function__(function, types, args, kwargs)
        found = self._typed(function, args, kwargs)
        if found is None:
            found = super().__torch_function__(function, types, args, kwargs)
            if has_ids and type(found) is torch.Tensor and found.dtype in _IDS:
                found = found.as_subclass(Ids)
        return found

    def _record(self, function, args, kwargs):
        if function in ELEMENTWISE or function in CAT:
            args = tree_map(self._with_rows(args), args)
        elif function in BMM or (function in MATMUL and _all_recorded(args)):
            return self._bmm(*args, **kwargs)
        elif function in SOFTMAX:
            return self._softmax(*args, **kwargs)
        elif function in SQUEEZE and len(args) == 1 and not kwargs:
            if self.num_edges == 1:
                raise Unreadable("`squeeze` of all axes")
            return _recorder._reshape(args[0], -1, *(extent for extent in _recorder._row(args[0]).shape if extent != 1))
        return super()._record(function, args, kwargs)

    def _with_rows(self, args):
        """Makes tensors with a row for each edge known as such, beside others that are."""
        leaves: list = []
        tree_map(lambda x: leaves.append(x._row.rank) if isinstance(x, Recorded) else None, args)
        rank = max(leaves)

        def convert(x):
            is_plain = isinstance(x, torch.Tensor) and not isinstance(x, Recorded)
            if is_plain and x.dim() == rank and x.size(0) == self.num_edges and self.num_edges > 1:
                return self.edges(x)
            return x

        return convert

    def as_row(self, x):
        """A message, which may be a tensor that nothing was recorded of."""
        if isinstance(x, torch.Tensor) and not isinstance(x, Recorded) and x.dim() > 0 and x.size(0) == self.num_edges:
            x = self.edges(x)
        return _recorder._row(x)

    def _bmm(self, input, mat2):
        if any(not isinstance(x, Recorded) and x.size(0) != self.num_edges for x in (input, mat2)):
            raise Unreadable("a product with something that is not of edges")
        a, b = (x if isinstance(x, Recorded) else self.edges(x) for x in (input, mat2))
        left, right = self.as_row(a), self.as_row(b)
        is_product = len(left.shape) == len(right.shape) == 2 and left.shape[1] == right.shape[0]
        if not is_product or left.dtype != right.dtype:
            raise Unreadable(f"a product of rows of {list(left.shape)} and {list(right.shape)}")
        shape = (left.shape[0], right.shape[1])
        requires_grad = _recorder._requires_grad(a) or _recorder._requires_grad(b)
        return self.write(f"linear({left.text}, {right.text})", shape, left.dtype, requires_grad)

    def _softmax(self, input, dim=None, _stacklevel=3, dtype=None):
        row = _recorder._row(input)
        if dtype not in (None, row.dtype):
            raise Unreadable(f"`softmax` with dtype={dtype}")
        return _recorder._write(input, f"softmax({row.text}, axis={_recorder._axis(row, dim)})")

    # --- tables by type

    def _typed(self, function, args, kwargs):
        """Rows of a table at the types of edges: `W[edges.data["type"]]`, or None for other functions."""
        if kwargs or len(args) < 2:
            return None
        if function is torch.Tensor.__getitem__:
            table, types = args
            types = types[0] if isinstance(types, tuple) and len(types) == 1 else types
        elif function in (torch.index_select, torch.Tensor.index_select) and len(args) == 3 and args[1] == 0:
            table, types = args[0], args[2]
        else:
            return None
        return self.typed(table, types)

    def typed(self, table, types):
        """Rows of a table at the types of edges, or None if they are not read this way."""
        types = plain(types)
        are_tensors = isinstance(table, torch.Tensor) and isinstance(types, torch.Tensor)
        if not are_tensors or types.dtype not in _IDS or types.shape != (self.num_edges,):
            return None
        if table.dtype not in FLOATS or table.dim() == 0 or not 0 < table.size(0) <= self.num_edges:
            return None
        if self.etype is None:
            self.etype, self.num_types = types, table.size(0)
        elif table.size(0) != self.num_types or not (types is self.etype or torch.equal(types, self.etype)):
            return None
        shape = tuple(table.shape[1:])
        text = lambda: f"{self.add_input('EdgeType', shape, table)}[e.etype]"  # noqa: E731
        return self._recorded(Row(self, text, shape, table.dtype), table.requires_grad)

    def typed_product(self, rows, table, types):
        """Rows times the matrix of their type, as DGL's `gather_mm` has it."""
        row, matrices = _recorder._row(rows), self.typed(table, types)
        if matrices is None:
            matrices = self.edges(table[types])
        matrix = matrices._row
        if len(row.shape) != 1 or len(matrix.shape) != 2 or row.shape[0] != matrix.shape[0] or row.dtype != matrix.dtype:
            raise Unreadable(f"a product of rows of {list(row.shape)} and {list(matrix.shape)}")
        requires_grad = _recorder._requires_grad(rows) or _recorder._requires_grad(matrices)
        return self.write(f"linear({row.text}, {matrix.text})", matrix.shape[1:], row.dtype, requires_grad)


def _all_recorded(args):
    return len(args) == 2 and all(isinstance(x, Recorded) for x in args)
