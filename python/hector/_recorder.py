"""Tensors that record what is done to them, and the text of the model that they write.

A `Recorded` is a tensor with a row for each edge, of which only the shape is known. While a `Recorder` is active, all of
PyTorch's functions come to it first. What it has a rule for becomes a line of the model; everything else is `Unreadable`.
A rule takes the arguments that it honours and no others, so an argument that would change the meaning is unreadable, too.
"""

from __future__ import annotations

import functools
import math
import numbers
import weakref

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from . import _gpu
from ._torch_ops import without_autocast

_FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_IN_PLACE = frozenset(("__setitem__", "__delitem__", "__set__", "__delete__", "resize_as", "set_data"))
_IN_PLACE |= {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "matmul")}
_IN_PLACE |= {f"__i{name}__" for name in ("and", "or", "xor", "lshift", "rshift")}
_CHANGES_MODULES = ("batch_norm", "instance_norm")
_RANDOM = ("rand", "bernoulli", "multinomial", "normal", "dropout", "poisson")


class Unreadable(Exception):
    """Something in `message` that has no word in Hector's language."""


class Row:
    """What a `Recorded` stands for: an expression at an edge, with the shape and the type of its rows."""

    __slots__ = ("recorder", "shape", "dtype", "_text")

    def __init__(self, recorder, text, shape, dtype):
        self.recorder, self._text, self.shape, self.dtype = recorder, text, shape, dtype

    @property
    def text(self):
        """The expression. An input is declared when it is first read."""
        if callable(self._text):
            self._text = self._text()
        return self._text

    @property
    def rank(self):
        return len(self.shape) + 1


class Recorded(torch.Tensor):
    """A tensor whose numbers are not known."""

    @staticmethod
    def __new__(cls, row, requires_grad):
        shape = (row.recorder.num_edges, *row.shape)
        return cls._make_wrapper_subclass(cls, shape, dtype=row.dtype, device=row.recorder.device, requires_grad=requires_grad)

    def __init__(self, row, requires_grad):
        self._row = row

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Unreadable("a tensor of edges that is used after `message` has ended")

    __torch_dispatch__ = __torch_function__


class Recorder(TorchFunctionMode):
    """The model that is being written: its statements, and the tensors that are its inputs by name."""

    def __init__(self, num_edges, num_nodes, is_forward, device):
        super().__init__()
        self.device = device
        self.num_edges, self.num_nodes, self.is_forward = num_edges, num_nodes, is_forward
        self.inputs: dict[str, torch.Tensor] = {}
        self.declarations: list[str] = []
        self.lines: list[str] = []
        self.random_state = None  # of PyTorch's generator, before `message` first used it
        self.has_gradients = torch.is_grad_enabled()
        self._names: dict = {}
        self._sources: list = []  # of inputs, so that their ids stay theirs
        self._count = 0
        self._made: list[weakref.ref] = []
        self._index = None

    # --- what `message` is given

    def nodes(self, tensor, is_source):
        """The rows of nodes at one end of edges."""
        return self._argument("Node", f"e.{'src' if is_source else 'dst'}.", tensor)

    def edges(self, tensor):
        """The rows of edges."""
        return self._argument("Edge", "e.", tensor)

    def _argument(self, home, prefix, tensor):
        shape = tuple(tensor.shape[1:])

        def text():
            name = prefix + self.add_input(home, shape, tensor)
            return f"({name} != 0.0)" if tensor.dtype == torch.bool else name

        return self._recorded(Row(self, text, shape, tensor.dtype), tensor.requires_grad)

    def index(self):
        """The nodes that messages go to, which only a softmax takes."""
        made = self._index and self._index()
        if made is None:
            made = self._recorded(Row(self, "", (), torch.int64), False)
            self._index = weakref.ref(made)
        return made

    # --- what is written

    def add_input(self, home, shape, tensor, key=None):
        """The name of an input. It is chosen here, so that names of arguments cannot meet."""
        key = (home, shape, *(key or (id(tensor),)))
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"v{len(self.inputs)}"
            self.inputs[name] = tensor
            self.declarations.append(f"{name}: {home}[{', '.join(map(str, shape))}]")
        return name

    def parameter(self, tensor, rank, dtype):
        """A tensor that is the same for all edges, as an operand of rows with `rank` axes: its text and its shape."""
        shape = tuple(tensor.shape)
        if len(shape) == rank + 1:
            if shape[0] != 1:
                raise Unreadable(f"a tensor of shape {list(shape)} that is not one of edges or nodes")
            shape = shape[1:]
        if len(shape) > rank:
            raise Unreadable(f"a tensor of shape {list(tensor.shape)} beside rows of {rank} axes")
        shape = (1,) * (rank - len(shape)) + shape
        operand = tensor.to(dtype) if tensor.dim() == 0 else without_autocast(tensor)  # numbers as PyTorch does it
        if operand.dtype != dtype:
            raise Unreadable(f"a tensor of {tensor.dtype} beside rows of {dtype}")
        self._sources.append(tensor)
        return self.add_input("Shared", shape, operand.reshape(shape), (id(tensor),)), shape

    def number(self, value, dtype):
        """A number that may be another one in the next call, so it is an input."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise Unreadable(f"an operand that is a {type(value).__name__}")
        value = float(value)
        if dtype in (torch.bfloat16, torch.float16):
            return literal(value)  # an input would be rounded to 16 bits
        return self.add_input("Shared", (), _tensor_of(value, dtype, self.device), ("number", len(self.inputs)))

    def write(self, expression, shape, dtype, requires_grad):
        """A value at each edge, as a statement of its own."""
        name = self.assign(expression)
        return self._recorded(Row(self, f'e["{name}"]', shape, dtype), requires_grad)

    def assign(self, expression):
        name = f"t{self._count}"
        self._count += 1
        self.lines += ["    for e in g.edges():", f'        e["{name}"] = {expression}']
        return name

    def _recorded(self, row, requires_grad):
        with torch._C.DisableTorchFunction():
            made = Recorded(row, requires_grad and self.has_gradients)
        self._made.append(weakref.ref(made))
        return made

    def are_kept(self):
        """Whether something outside still has a tensor that this recorder made."""
        return any(reference() is not None for reference in self._made)

    # --- PyTorch's functions

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if Recorded in types:
            return self._record(function, args, kwargs)
        name = getattr(function, "__name__", "")
        is_in_place = (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE
        if is_in_place or kwargs.get("inplace") or kwargs.get("out") is not None:
            raise Unreadable(f"`{name}`, which changes a tensor in place")
        if name in _CHANGES_MODULES:
            raise Unreadable(f"`{name}`, which may change its module")
        if self.random_state is None and any(word in name for word in _RANDOM):
            self.random_state = (self.device, _gpu.random_state(self.device))
        return function(*args, **kwargs)

    def _record(self, function, args, kwargs):
        if function in _FACTS:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **kwargs)
        rule, name = _RULES.get(function), getattr(function, "__name__", str(function))
        if rule is None:
            raise Unreadable(f"a property of a tensor of edges (`{name}`)" if name == "__get__" else f"`{name}`")
        if torch.is_grad_enabled() != self.has_gradients:
            raise Unreadable("gradients that are switched off or on")
        if kwargs:
            kwargs = {_ALIASES.get(key, key): value for key, value in kwargs.items()}
        try:
            return rule(*args, **kwargs)
        except TypeError:
            raise Unreadable(f"these arguments of `{name}`") from None

    def __enter__(self):
        with torch._C.DisableTorchFunction():
            return super().__enter__()


def literal(value):
    """A number as the language spells it."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise Unreadable(f"the number {value!r}")
    return repr(float(value))


@functools.lru_cache(maxsize=1024)
def _known_tensor_of(value, _sign, dtype, device):
    """`0.0` and `-0.0` are equal, so the sign is part of the key."""
    with torch.inference_mode(False):  # other modes use it, too
        return torch.full((), value, dtype=dtype, device=device)


def _tensor_of(value, dtype, device):
    """A tensor of one number. One that is captured has no number yet, and is not for later calls."""
    make = _known_tensor_of.__wrapped__ if _gpu.is_capturing(device) else _known_tensor_of
    return make(value, math.copysign(1.0, value), dtype, device)


# --- rules: they have the signatures of PyTorch's functions, as far as they are honoured


def _row(x):
    """The row of an operand that has to be one of floats."""
    if not isinstance(x, Recorded):
        raise Unreadable("an operation that needs a tensor of edges in another place")
    row = x._row
    if row.dtype not in _FLOATS:
        raise Unreadable(f"an operation on a tensor of edges of {row.dtype}")
    return row


def _axis(row, axis, more=0):
    """An axis of rows. That of edges cannot be combined."""
    rank = row.rank + more
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
        raise Unreadable(f"the axis {axis!r} of a tensor with {row.rank} axes")
    if axis % rank == 0:
        raise Unreadable("an operation along the axis of edges")
    return axis % rank - 1


def _broadcast(a, b):
    if len(a) != len(b) or any(x != y and 1 not in (x, y) for x, y in zip(a, b)):
        raise Unreadable(f"rows of shapes {list(a)} and {list(b)} in one operation")
    return tuple(y if x == 1 else x for x, y in zip(a, b))


def _operands(*operands):
    """Texts of operands of one operation, their common shape and type, and whether one of them requires gradients.

    Truth values are numbers beside floats.
    """
    rows = [x._row for x in operands if isinstance(x, Recorded)]
    recorder = rows[0].recorder
    types = {row.dtype for row in rows if row.dtype != torch.bool}
    if len(types) != 1 or not types <= set(_FLOATS):
        raise Unreadable("an operation on tensors of edges of " + ", ".join(sorted({str(row.dtype) for row in rows})))
    (dtype,) = types
    shape = rows[0].shape
    for row in rows[1:]:
        shape = _broadcast(shape, row.shape)
    texts = []
    for x in operands:
        if isinstance(x, Recorded):
            texts.append(f"float({x._row.text})" if x._row.dtype == torch.bool else x._row.text)
        elif isinstance(x, torch.Tensor):
            text, own = recorder.parameter(x, len(rows[0].shape), dtype)
            shape = _broadcast(shape, own)
            texts.append(text)
        else:
            texts.append(recorder.number(x, dtype))
    return recorder, texts, shape, dtype, any(isinstance(x, torch.Tensor) and _requires_grad(x) for x in operands)


def _requires_grad(x):
    with torch._C.DisableTorchFunctionSubclass():
        return x.requires_grad


def _write(x, expression, shape=None):
    """A new value that follows from one other."""
    row = x._row
    return row.recorder.write(expression, row.shape if shape is None else tuple(shape), row.dtype, _requires_grad(x))


def _binary(symbol):
    def apply(input, other):
        recorder, (left, right), shape, dtype, requires_grad = _operands(input, other)
        return recorder.write(f"{left} {symbol} {right}", shape, dtype, requires_grad)

    return apply


def _sum_of_two(symbol):
    def apply(input, other, *, alpha=1):
        if alpha != 1:
            raise Unreadable(f"`{symbol}` with alpha={alpha}")
        return _binary(symbol)(input, other)

    return apply


def _divide(input, other, *, rounding_mode=None):
    if rounding_mode is not None:
        raise Unreadable(f"a division with rounding_mode={rounding_mode!r}")
    return _binary("/")(input, other)


def _reversed(rule):
    return lambda input, other: rule(other, input)


def _compare(symbol):
    def apply(input, other):
        recorder, (left, right), shape, _, _ = _operands(input, other)
        return recorder._recorded(Row(recorder, f"({left} {symbol} {right})", shape, torch.bool), False)

    return apply


def _truth(x):
    if not isinstance(x, Recorded) or x._row.dtype != torch.bool:
        raise Unreadable("a condition that is no comparison of edges")
    return x._row


def _combine(word):
    def apply(input, other):
        left, right = _truth(input), _truth(other)
        text = f"({left.text} {word} {right.text})"
        return left.recorder._recorded(Row(left.recorder, text, _broadcast(left.shape, right.shape), torch.bool), False)

    return apply


def _not(input):
    row = _truth(input)
    return row.recorder._recorded(Row(row.recorder, f"(not {row.text})", row.shape, torch.bool), False)


def _where(condition, input, other):
    chosen = _truth(condition)
    if not any(isinstance(x, Recorded) and x._row.dtype != torch.bool for x in (input, other)):
        raise Unreadable("a choice between values that are not of edges")
    recorder, (left, right), shape, dtype, requires_grad = _operands(input, other)
    return recorder.write(f"where({chosen.text}, {left}, {right})", _broadcast(chosen.shape, shape), dtype, requires_grad)


def _masked_fill(input, mask, value):
    if isinstance(value, torch.Tensor):
        raise Unreadable("`masked_fill` with a tensor")
    return _where(mask, value, input)


def _unary(word):
    return lambda input: _write(input, f"{word}({_row(input).text})")


def _activation(word):
    def apply(input, inplace=False):
        _refuse_in_place(inplace)
        return _write(input, f"{word}({_row(input).text})")

    return apply


def _refuse_in_place(inplace):
    if inplace:
        raise Unreadable("an operation in place")


def _negate(input):
    return _write(input, f"-{_row(input).text}")


def _power(input, exponent):
    return _write(input, f"pow({_row(input).text}, {literal(exponent)})")


def _square(input):
    return _write(input, f"{_row(input).text} * {_row(input).text}")


def _clamp(input, min=None, max=None):
    """With comparisons, so that gradients at the bounds and NaN are those of PyTorch."""
    row = _row(input)
    if (min is None and max is None) or (min is not None and max is not None and float(literal(min)) > float(literal(max))):
        raise Unreadable(f"`clamp` from {min} to {max}")
    text = row.text
    if min is not None:
        text = f"where({row.text} < {literal(min)}, {literal(min)}, {text})"
    if max is not None:
        text = f"where({row.text} > {literal(max)}, {literal(max)}, {text})"
    return _write(input, text)


def _leaky_relu(input, negative_slope=0.01, inplace=False):
    _refuse_in_place(inplace)
    return _write(input, f"leakyrelu({_row(input).text}, {literal(negative_slope)})")


def _elu(input, alpha=1.0, inplace=False):
    _refuse_in_place(inplace)
    return _write(input, f"elu({_row(input).text}, {literal(alpha)})")


def _gelu(input, *, approximate="none"):
    if approximate != "none":
        raise Unreadable(f"`gelu` with approximate={approximate!r}")
    return _write(input, f"gelu({_row(input).text})")


def _softplus(input, beta=1, threshold=20):
    if beta != 1 or threshold != 20:
        raise Unreadable(f"`softplus` with beta={beta} and threshold={threshold}")
    return _write(input, f"softplus({_row(input).text})")


def _dropout(input, p=0.5, training=True, inplace=False):
    _refuse_in_place(inplace)
    row = _row(input)
    if not training or p == 0:
        return input
    return _write(input, f"dropout({row.text}, {literal(p)})")


def _reshape(input, *shape):
    row = _row(input)
    shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if not shape or any(isinstance(extent, bool) or not isinstance(extent, int) for extent in shape):
        raise Unreadable("a `view` whose sizes are not numbers")
    size, wanted = math.prod(row.shape), shape[1:]
    if shape[0] == row.recorder.num_edges and wanted.count(-1) == 1 and size > 0:
        known = math.prod(extent for extent in wanted if extent != -1)
        if known > 0 and size % known == 0:
            wanted[wanted.index(-1)] = size // known
    elif shape[0] not in (-1, row.recorder.num_edges):
        raise Unreadable("a `view` that does not start with the edges")
    if any(extent < 0 for extent in wanted) or math.prod(wanted) != size:
        raise Unreadable(f"a `view` of rows of {list(row.shape)} as {wanted}")
    if not wanted:  # rows of one number have no axes, or axes of size 1
        return _write(input, f"sum({row.text})" if row.shape else row.text, ())
    return _write(input, f"reshape({row.text}, {', '.join(map(str, wanted))})", wanted)


def _reshape_as_list(input, shape):
    return _reshape(input, shape)


def _unsqueeze(input, dim):
    shape = list(_row(input).shape)
    shape.insert(_axis(input._row, dim, 1), 1)
    return _reshape(input, -1, *shape)


def _squeeze(input, dim):
    row = _row(input)
    place = _axis(row, dim)
    if row.shape[place] != 1:
        return input
    return _reshape(input, -1, *(extent for i, extent in enumerate(row.shape) if i != place))


def _subscript(input, index):
    parts = index if isinstance(index, tuple) else (index,)

    def is_whole(part):
        return isinstance(part, slice) and part == slice(None)

    if parts and is_whole(parts[0]) and all(part is None or is_whole(part) for part in parts):
        shape, rest = [], list(_row(input).shape)
        for part in parts[1:]:
            if part is not None and not rest:
                raise Unreadable("a subscript with too many axes")
            shape.append(1 if part is None else rest.pop(0))
        return _reshape(input, -1, *shape, *rest)
    if len(parts) == 2 and parts[0] is Ellipsis and parts[1] is None:
        return _unsqueeze(input, -1)
    raise Unreadable("a subscript other than `[:, None]`")


def _reduce(word):
    def apply(input, dim=None, keepdim=False, *, dtype=None):
        row = _row(input)
        if dtype not in (None, row.dtype):
            raise Unreadable(f"`{word}` with dtype={dtype}")
        if dim is None:
            raise Unreadable(f"`{word}` over all edges")
        axes = sorted(_axis(row, axis) for axis in (dim if isinstance(dim, (tuple, list)) else (dim,)))
        if not axes or len(set(axes)) != len(axes):
            raise Unreadable(f"`{word}` over the axes {dim}")
        made = input
        for place in reversed(axes):
            shape = made._row.shape
            made = _write(made, f"{word}({made._row.text}, axis={place})", shape[:place] + shape[place + 1 :])
        if keepdim:
            made = _reshape(made, -1, *(1 if i in axes else extent for i, extent in enumerate(row.shape)))
        return made

    return apply


def _product(x, matrix, key):
    """Rows times a matrix [in, out]."""
    row = _row(x)
    if not isinstance(matrix, torch.Tensor) or isinstance(matrix, Recorded) or matrix.dim() != 2 or len(row.shape) != 1:
        raise Unreadable("a product other than rows times a matrix")
    if matrix.size(0) != row.shape[0] or matrix.dtype != row.dtype:
        raise Unreadable(f"a product of rows of {list(row.shape)} and a matrix of {list(matrix.shape)} and {matrix.dtype}")
    name = row.recorder.add_input("Shared", tuple(matrix.shape), matrix, key)
    requires_grad = _requires_grad(x) or matrix.requires_grad
    return row.recorder.write(f"linear({row.text}, {name})", (matrix.size(1),), row.dtype, requires_grad)


def _matmul(input, other):
    _row(input).recorder._sources.append(other)
    return _product(input, other, (id(other), "matrix"))


def _linear(input, weight, bias=None):
    row = _row(input)
    if not isinstance(weight, torch.Tensor) or isinstance(weight, Recorded):
        raise Unreadable("`linear` whose weights depend on edges")
    row.recorder._sources.append(weight)
    made = _product(input, weight.t(), (id(weight), "transposed"))
    return made if bias is None else _binary("+")(made, bias)


def _cat(tensors, dim=0):
    tensors = list(tensors)
    rows = [_row(tensor) for tensor in tensors]
    if len({(row.rank, row.dtype) for row in rows}) != 1:
        raise Unreadable("`cat` of tensors with different axes or types")
    place = _axis(rows[0], dim)
    if len({row.shape[:place] + row.shape[place + 1 :] for row in rows}) != 1:
        raise Unreadable("`cat` of tensors with different shapes")
    shape = list(rows[0].shape)
    shape[place] = sum(row.shape[place] for row in rows)
    texts = ", ".join(row.text for row in rows)
    requires_grad = any(_requires_grad(tensor) for tensor in tensors)
    return rows[0].recorder.write(f"concat({texts}, axis={place})", tuple(shape), rows[0].dtype, requires_grad)


def _same(input):
    """A copy that nothing can change is the same."""
    _row(input)
    return input


def _to(input, *args):
    wanted = args[0] if len(args) == 1 else None
    if isinstance(wanted, torch.Tensor):
        wanted = wanted.dtype
    if not isinstance(wanted, torch.dtype) or wanted not in _FLOATS:
        raise Unreadable("`to` of something else than a type of float")
    row = input._row
    if row.dtype == wanted:
        return input
    if row.dtype != torch.bool:
        raise Unreadable(f"a change from {row.dtype} to {wanted}")
    return row.recorder.write(f"float({row.text})", row.shape, wanted, False)


def softmax(src, index, ptr=None, num_nodes=None, dim=0):
    """What PyG's softmax over the edges of a node is while recording."""
    if not isinstance(src, Recorded) or not isinstance(index, Recorded):
        raise Unreadable("`softmax` over something else than the edges of a node")
    row = _row(src)
    recorder = row.recorder
    if recorder._index is None or index is not recorder._index() or ptr is not None:
        raise Unreadable("`softmax` over something else than the edges of a node")
    if num_nodes is not None and num_nodes != recorder.num_nodes:
        raise Unreadable(f"`softmax` over {num_nodes} nodes of {recorder.num_nodes}")
    if dim != 0:
        raise Unreadable(f"`softmax` along axis {dim}")
    if not recorder.is_forward:
        raise Unreadable("a softmax over outgoing edges")
    name = recorder.assign(row.text)
    recorder.lines.append(f'    edge_softmax(g, "{name}")')
    return recorder._recorded(Row(recorder, f'e["{name}"]', row.shape, row.dtype), _requires_grad(src))


_ALIASES = {"axis": "dim", "keepdims": "keepdim"}

# What is known of a tensor of edges as well as of any other.
_FACTS = {
    getattr(torch.Tensor, name).__get__
    for name in ("shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_cuda", "is_sparse", "is_quantized",
                 "is_meta", "is_mps", "is_nested")
} | {
    torch.Tensor.size, torch.Tensor.dim, torch.Tensor.ndimension, torch.Tensor.numel, torch.Tensor.nelement,
    torch.Tensor.is_floating_point, torch.Tensor.is_complex, torch.Tensor.__len__, torch.numel, torch.is_floating_point,
    torch.is_complex,
}  # fmt: skip


def _rules():
    """Rules by function: PyTorch's, those of its tensors, and operators."""
    named = {
        "add": _sum_of_two("+"), "sub": _sum_of_two("-"), "subtract": _sum_of_two("-"), "mul": _binary("*"),
        "multiply": _binary("*"), "div": _divide, "divide": _divide, "true_divide": _binary("/"),
        "eq": _compare("=="), "ne": _compare("!="), "lt": _compare("<"), "le": _compare("<="), "gt": _compare(">"),
        "ge": _compare(">="), "logical_and": _combine("and"), "logical_or": _combine("or"), "logical_not": _not,
        "bitwise_and": _combine("and"), "bitwise_or": _combine("or"), "bitwise_not": _not, "masked_fill": _masked_fill,
        "neg": _negate, "negative": _negate, "pow": _power, "square": _square, "absolute": _unary("abs"),
        "sum": _reduce("sum"), "mean": _reduce("mean"), "unsqueeze": _unsqueeze, "squeeze": _squeeze,
        "matmul": _matmul, "mm": _matmul, "clone": _same, "clamp": _clamp, "clip": _clamp,
        "clamp_min": lambda input, min: _clamp(input, min), "clamp_max": lambda input, max: _clamp(input, max=max),
    }  # fmt: skip
    for word in ("exp", "log", "tanh", "sigmoid", "relu", "abs", "sqrt", "rsqrt", "cos", "sin", "sign", "erf", "floor"):
        named[word] = _unary(word)
    rules = {}
    for owner in (torch, torch.Tensor):
        rules.update({getattr(owner, name): rule for name, rule in named.items() if hasattr(owner, name)})
    operators = {
        "add": _binary("+"), "radd": _binary("+"), "sub": _binary("-"), "rsub": _reversed(_binary("-")), "mul": _binary("*"),
        "rmul": _binary("*"), "truediv": _binary("/"), "div": _binary("/"), "rtruediv": _reversed(_binary("/")),
        "rdiv": _reversed(_binary("/")), "eq": _compare("=="), "ne": _compare("!="), "lt": _compare("<"),
        "le": _compare("<="), "gt": _compare(">"), "ge": _compare(">="), "and": _combine("and"), "or": _combine("or"),
        "invert": _not, "neg": _negate, "abs": _unary("abs"), "pow": _power, "matmul": _matmul, "getitem": _subscript,
    }  # fmt: skip
    for name, rule in operators.items():
        function = getattr(torch.Tensor, f"__{name}__", None)
        if function is not None:
            rules.setdefault(function, rule)
    rules.update({
        F.relu: _activation("relu"), F.silu: _activation("silu"), F.sigmoid: _unary("sigmoid"), F.tanh: _unary("tanh"),
        F.softplus: _softplus, F.leaky_relu: _leaky_relu, F.elu: _elu, F.gelu: _gelu, F.dropout: _dropout,
        F.linear: _linear, torch.cat: _cat, torch.concat: _cat, torch.concatenate: _cat, torch.where: _where,
        torch.reshape: _reshape_as_list, torch.Tensor.reshape: _reshape, torch.Tensor.view: _reshape,
        torch.Tensor.contiguous: _same, torch.Tensor.float: lambda input: _to(input, torch.float32),
        torch.Tensor.double: lambda input: _to(input, torch.float64), torch.Tensor.to: _to, torch.Tensor.type_as: _to,
        torch.Tensor.where: lambda input, condition, other: _where(condition, input, other),
    })  # fmt: skip
    return rules


_RULES = _rules()
