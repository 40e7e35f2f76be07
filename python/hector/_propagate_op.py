"""`propagate` of compiled `MessagePassing` classes as one operator of PyTorch, so that `torch.compile(fullgraph=True)` takes it.

The operator takes the id of a layer, and all tensors: those that `propagate` is given, and the layer's parameters and
buffers. It runs `propagate` as it runs without torch.compile, on a copy of the layer that has these tensors, so attributes
and control flow mean what they always do. torch.compile guards the identity of the layer, and layers that are gone have
no entry here: a copy of a layer, or one from a pickle, is another layer.

What a forward pass keeps for its backward pass waits under the address of a ticket, as in `_torch_ops`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import weakref

import torch
from torch.utils._python_dispatch import _disable_current_modes

from . import _gpu, _torch_ops
from ._errors import InvalidError

layers: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by their ids
_owners: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # functions that compute `propagate`, by number
_numbers = itertools.count()
_waiting: dict = {}  # forward passes, by the addresses of their tickets


def add(compute):
    """The number of a function that computes `propagate` for the layers of a class. Its `plain` is PyG's."""
    number = next(_numbers)
    _owners[number] = compute
    return number


# --- in code that torch.compile traces


def call(owner, layer, edge_index, size, kwargs):
    """`propagate` as an operator, or None if an argument is no tensor, number, text or tuple of these."""
    tensors = []
    forms = [_form(size, tensors)]
    for name, value in kwargs.items():
        forms.append(f"'{name}', {_form(value, tensors)}")
    form = "[" + ", ".join(forms) + "]"
    if "?" in form:
        return None
    tensors += [tensor for _, tensor in layer.named_parameters()]
    tensors += [tensor for _, tensor in layer.named_buffers()]
    is_wanted = torch.is_grad_enabled()
    wanted = "".join(["1" if is_wanted and tensor.requires_grad else "0" for tensor in tensors])
    device = _device_type(tensors)
    autocast = str(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else ""
    seed = torch.randint(0, 2**62, (), device="cpu")  # for what `message` draws
    return torch.ops.hector.propagate(owner, id(layer), form, wanted, autocast, seed, edge_index, tensors)[0]


def _device_type(tensors):
    """Where a layer runs: on a GPU if a tensor of it is on one."""
    return "cuda" if any([tensor.is_cuda for tensor in tensors]) else "cpu"


def _form(value, tensors):
    """A value as a text, in which `{}` stands for the next tensor and `?` for what has no text."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return "{}"
    if value is None or isinstance(value, (bool, str)):
        return repr(value).replace("?", "\\x3f")
    if isinstance(value, int):
        return f"{int(value)}"
    if isinstance(value, float) and value - value == 0.0:
        return f"{float(value)!r}"
    if isinstance(value, (tuple, list)):
        items = "".join([_form(item, tensors) + ", " for item in value])
        return f"({items})" if isinstance(value, tuple) else f"[{items}]"
    return "?"


# --- when it runs


@functools.lru_cache(maxsize=256)
def _parsed(form):
    return ast.literal_eval(form)


def _filled(form, tensors):
    """The value that a form stands for, with tensors from an iterator."""
    if isinstance(form, dict):
        return next(tensors)
    return type(form)(_filled(item, tensors) for item in form) if isinstance(form, (tuple, list)) else form


class _Copy:
    """A layer and its submodules with other tensors for their parameters and buffers."""

    def __init__(self, layer, tensors):
        own = [*(value for _, value in layer.named_parameters()), *(value for _, value in layer.named_buffers())]
        self.made: dict = {}
        self.tensors = dict(zip(map(id, own), tensors, strict=True))
        self.layer = self._copy(layer)

    def _copy(self, module):
        if id(module) in self.made:
            return self.made[id(module)][1]
        made = object.__new__(type(module))
        self.made[id(module)] = module, made
        state = dict(vars(module))
        for name in ("_parameters", "_buffers"):
            state[name] = type(state[name])((key, self.tensors.get(id(value), value)) for key, value in state[name].items())
        modules = ((key, value and self._copy(value)) for key, value in state["_modules"].items())
        state["_modules"] = type(state["_modules"])(modules)
        object.__setattr__(made, "__dict__", state)
        return made

    def take_over(self):
        """Gives the layer the attributes that were set."""
        ours = {id(tensor) for tensor in self.tensors.values()}
        for module, made in self.made.values():
            names = vars(module)
            for name, value in vars(made).items():
                if name not in ("_parameters", "_buffers", "_modules") and names.get(name, self) is not value:
                    names[name] = value
            for name, value in vars(made)["_buffers"].items():
                if id(value) not in ours and names["_buffers"].get(name) is not value:
                    names["_buffers"][name] = value


def _layer(number):
    layer = layers.get(number)
    if layer is None:
        raise InvalidError("a layer that is gone is still called by compiled code; call torch.compiler.reset()")
    return layer


@contextlib.contextmanager
def _state(autocast, seed, has_gradients, tensors=()):
    """Autograd, which operators run below of; the generators and autocast of the call."""
    exclude = torch._C._dispatch_tls_local_exclude_set()
    for key in ("AutogradCPU", "AutogradCUDA", "AutogradOther", "AutogradFunctionality"):
        if hasattr(torch._C.DispatchKey, key):
            exclude = exclude - torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    dtype = getattr(torch, autocast.removeprefix("torch.")) if autocast else None
    # The generator of a GPU is left alone while it is captured.
    gpus = sorted({tensor.device.index for tensor in tensors if tensor.is_cuda and not _gpu.is_capturing(tensor.device)})
    with (
        torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), exclude),
        torch.random.fork_rng(devices=gpus),
        torch.set_grad_enabled(has_gradients),
        torch.autocast(_device_type(tensors), enabled=bool(autocast), dtype=dtype),
    ):
        torch.default_generator.manual_seed(int(seed))
        for gpu in gpus:
            torch.cuda.default_generators[gpu].manual_seed(int(seed))
        yield


def _run(owner, layer, form, wanted, autocast, seed, edge_index, tensors):
    """The result as autograd has it, and the tensors that it depends on."""
    layer, compute = _layer(layer), _owners[owner]
    leaves = [tensor.detach().requires_grad_(flag == "1") for tensor, flag in zip(tensors, wanted)]
    rest = iter(leaves)
    size, *named = _filled(_parsed(form), rest)
    copy = _Copy(layer, list(rest))
    with _state(autocast, seed, "1" in wanted, tensors):
        out = compute(copy.layer, edge_index, size, dict(zip(named[::2], named[1::2])), layer)
    if not isinstance(out, torch.Tensor):
        raise InvalidError(f"`update` of `{type(layer).__name__}` gives a {type(out).__name__}; torch.compile needs one tensor")
    _check_leaves(layer, out, leaves)
    copy.take_over()
    return out, leaves


def _check_leaves(layer, out, leaves):
    """Tensors that the operator is not given would get no gradients, so they are refused."""
    known, seen, nodes = {id(leaf) for leaf in leaves}, set(), [out.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor) and id(variable) not in known:
            raise InvalidError(
                f"`{type(layer).__name__}` uses a tensor of shape {list(variable.shape)} that requires gradients and is neither "
                "a parameter of the layer nor an argument of `propagate`, which torch.compile cannot follow; make it one of these"
            )
        nodes += [next_node for next_node, _ in node.next_functions]


def _pointers(tensors):
    return [tensor.data_ptr() for tensor in tensors]


def _forward(owner, layer, form, wanted, autocast, seed, edge_index, tensors):
    out, leaves = _run(owner, layer, form, wanted, autocast, seed, edge_index, tensors)
    result = out.detach().contiguous()
    if any(result.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr() for tensor in (edge_index, *tensors)):
        result = result.clone()  # results of operators have memory of their own
    memory = _torch_ops._Ticket(8)
    ticket = torch.frombuffer(memory, dtype=torch.int64)
    if out.requires_grad:
        _waiting[ticket.data_ptr()] = out, leaves, _pointers([*tensors, result])
        weakref.finalize(memory, _waiting.pop, ticket.data_ptr(), None).atexit = False
    return [result, ticket]


def _forward_fake(owner, layer, form, wanted, autocast, seed, edge_index, tensors):
    """The shape of the result: PyG's for zeros."""
    of, compute = _layer(layer), _owners[owner]
    shapes = [(tuple(map(int, tensor.shape)), tensor.dtype, tensor.device) for tensor in (edge_index, *tensors)]
    with _disable_current_modes(), torch.inference_mode(False):
        edges, *zeros = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in shapes]
        rest = iter(zeros)
        size, *named = _filled(_parsed(form), rest)
        copy = _Copy(of, list(rest))
        with _state(autocast, 0, False, zeros):
            out = compute.plain(copy.layer, edges, size=size, **dict(zip(named[::2], named[1::2])))
        if not isinstance(out, torch.Tensor):
            raise InvalidError(f"`update` of `{type(of).__name__}` gives a {type(out).__name__}; torch.compile needs one tensor")
        shape, dtype, device = tuple(out.shape), out.dtype, out.device
    return [torch.empty(shape, dtype=dtype, device=device), torch.empty((1,), dtype=torch.int64, device="cpu")]


def _backward(owner, layer, form, wanted, autocast, seed, ticket, edge_index, tensors, out, gradient):
    found = _waiting.pop(ticket.data_ptr(), None)
    if found is not None and found[2] == _pointers([*tensors, out]):
        result, leaves, _ = found
    else:  # a second backward pass, or tensors that were moved meanwhile
        result, leaves = _run(owner, layer, form, wanted, autocast, seed, edge_index, tensors)
    asked = [leaf for leaf in leaves if leaf.requires_grad]
    gradients = [None] * len(asked)
    if result.requires_grad:
        with _state("", seed, False, leaves):
            gradients = torch.autograd.grad(result, asked, gradient.to(result.dtype), allow_unused=True)
    # Operators give tensors of their own, also where autograd passes one on, and all of them contiguous.
    return [
        leaf.new_zeros(leaf.shape) if made is None else made.clone(memory_format=torch.contiguous_format)
        for leaf, made in zip(asked, gradients)
    ]


def _backward_fake(owner, layer, form, wanted, autocast, seed, ticket, edge_index, tensors, out, gradient):
    return [tensor.new_empty(tensor.shape) for tensor, flag in zip(tensors, wanted) if flag == "1"]


def _setup(ctx, inputs, output):
    *ctx.arguments, seed, edge_index, tensors = inputs
    ctx.save_for_backward(seed, edge_index, *output, *tensors)


def _differentiate(ctx, gradients):
    seed, edge_index, out, ticket, *tensors = ctx.saved_tensors
    wanted = ctx.arguments[3]
    gradient = torch.zeros_like(out) if gradients[0] is None else gradients[0]
    made = iter(torch.ops.hector.propagate_backward(*ctx.arguments, seed, ticket, edge_index, tensors, out, gradient))
    return *[None] * 7, [next(made) if flag == "1" else None for flag in wanted]


if _torch_ops.is_supported:
    _library = torch.library.Library("hector", "FRAGMENT")
    _CALL = "int owner, int layer, str form, str wanted, str autocast, Tensor seed"
    _library.define(f"propagate({_CALL}, Tensor edge_index, Tensor[] tensors) -> Tensor[]")
    _library.define(
        f"propagate_backward({_CALL}, Tensor ticket, Tensor edge_index, Tensor[] tensors, Tensor out, Tensor gradient) -> Tensor[]"
    )
    for _device in ("CPU", "CUDA"):
        _library.impl("propagate", _forward, _device)
        _library.impl("propagate_backward", _backward, _device)
    torch.library.register_fake("hector::propagate", _forward_fake, lib=_library)
    torch.library.register_fake("hector::propagate_backward", _backward_fake, lib=_library)
    torch.library.register_autograd("hector::propagate", _differentiate, setup_context=_setup, lib=_library)
