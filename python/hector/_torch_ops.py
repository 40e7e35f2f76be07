"""Models as operators of PyTorch, so that `torch.compile(fullgraph=True)` takes them as they are.

An operator takes numbers, texts and tensors only. So models and graphs have numbers. What a forward pass keeps for its
backward pass waits under the address of a ticket, a tensor that goes from one to the other. A backward pass whose ticket
is not there any more runs the forward pass again.
"""

from __future__ import annotations

import functools
import weakref

import torch

from . import _arrays, _gpu
from ._operands import graphs, models
from ._passes import Lease, Waiting, arrays, differentiate, result_type

_waiting: dict = {}  # forward passes, by the addresses of their tickets


try:
    torch.is_autocast_enabled("cpu")
    is_autocast = torch.is_autocast_enabled
except TypeError:  # before PyTorch 2.4

    def is_autocast(device_type):
        return torch.is_autocast_cpu_enabled() if device_type == "cpu" else torch.is_autocast_enabled()


def without_autocast(values):
    """Inputs as a model takes them: with autocast, all of 16 bits as float32. Layers before it leave such types.

    Inputs are in lists or by name, and other things among them stay as they are.
    """
    if not is_autocast("cpu") and not is_autocast("cuda"):
        return values
    if type(values) is dict:
        return {name: without_autocast(value) for name, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)([without_autocast(value) for value in values])
    is_short = isinstance(values, torch.Tensor) and values.dtype in (torch.bfloat16, torch.float16)
    return values.float() if is_short and is_autocast(values.device.type) else values


class _Ticket(bytearray):
    """The memory of a ticket. It goes with the last tensor that has it, and what waits goes with it."""


def _split(text):
    return tuple(text.split("\n")) if text else ()


def _graph(kind, counts, edges):
    """The graph of a call: one that has a number, or one of tensors."""
    if kind == "":
        return graphs[counts[0]]
    from .nn import _graphs

    return _graphs.MAKERS[kind](edges, counts)


@functools.lru_cache(maxsize=8)
def _stand_in(kind, counts, num_edges):
    from .nn import _graphs

    return _graphs.stand_in(kind, counts, num_edges)


def _graph_of_shapes(kind, counts, edges):
    """A graph that gives results of the same shapes, where tensors have no numbers."""
    if kind == "":
        return graphs[counts[0]]
    return _stand_in(kind, tuple(map(int, counts)), tuple(int(tensor.size(-1)) for tensor in edges if tensor.dim() == 2))


def _find(model, graph, settings, sizes, gradients, inputs):
    """The compiled layer of a call. Tensors may be without numbers."""
    views = [
        _arrays.View(
            0,
            tuple(int(extent) for extent in tensor.shape),
            arrays.dtypes.get(tensor.dtype, str(tensor.dtype)),
            None,
            arrays.place_of(tensor, name),
        )
        for tensor, name in zip(inputs, models[model].inputs)
    ]
    wanted = _split(gradients) or None
    return models[model]._layer(graph, views, _split(settings), _split(sizes), wanted)


def _kept_places(layer, dtype):
    """The results that a backward pass reads and that the operator returns as they were computed."""
    return [place for place in layer.kept if arrays.by_name[layer.outputs[place][1]] == dtype]


def _forward(model, kind, counts, edges, settings, sizes, gradients, seed, inputs):
    graph, dtype = _graph(kind, counts, edges), result_type(inputs)
    layer = _find(model, graph, settings, sizes, gradients, inputs)
    views = [arrays.view(tensor, name) for tensor, name in zip(inputs, models[model].inputs)]
    lease = Lease(layer)
    results = lease.forward(views, _gpu.randomness_of(seed))
    memory = _Ticket(8)
    memory.operands = models[model], graph  # the backward pass finds them by number
    ticket = torch.frombuffer(memory, dtype=torch.int64)
    if gradients:
        kept = [results[place] for place in _kept_places(layer, dtype)]
        alive = views, [results[place] for place in layer.kept]
        _waiting[ticket.data_ptr()] = Waiting(lease, inputs, kept, alive)
        weakref.finalize(memory, _waiting.pop, ticket.data_ptr(), None).atexit = False
    else:
        lease.close()
    return [*(result.to(dtype) for result in results), ticket]


def _forward_fake(model, kind, counts, edges, settings, sizes, gradients, seed, inputs):
    graph, dtype = _graph_of_shapes(kind, counts, edges), result_type(inputs)
    layer = _find(model, graph, settings, sizes, gradients, inputs)
    like = inputs[0]
    made = [like.new_empty(shape, dtype=dtype) for shape, _ in layer.outputs]
    return [*made, torch.empty((1,), dtype=torch.int64, device="cpu")]


def _backward(model, kind, counts, edges, settings, sizes, gradients, seed, ticket, inputs, outputs, output_gradients):
    layer = _find(model, _graph(kind, counts, edges), settings, sizes, gradients, inputs)
    waiting = _waiting.pop(ticket.data_ptr(), None)
    kept = [outputs[place] for place in _kept_places(layer, result_type(inputs))]
    return differentiate(layer, waiting, inputs, models[model].inputs, kept, _gpu.randomness_of(seed), output_gradients)[1]


def _wanted_places(model, gradients):
    return [models[model]._places[name] for name in models[model].inputs if name in _split(gradients)]


def _backward_fake(model, kind, counts, edges, settings, sizes, gradients, seed, ticket, inputs, outputs, output_gradients):
    return [torch.empty_like(inputs[place]) for place in _wanted_places(model, gradients)]


def _setup(ctx, inputs, output):
    model, kind, counts, edges, settings, sizes, gradients, seed, tensors = inputs
    ctx.arguments = (model, kind, counts, settings, sizes, gradients)
    ctx.numbers = len(edges), len(tensors), len(output) - 1, seed is not None
    ctx.save_for_backward(*edges, *tensors, *output, *([seed] if seed is not None else []))


def _differentiate(ctx, output_gradients):
    num_edges, num_inputs, num_outputs, has_seed = ctx.numbers
    saved = list(ctx.saved_tensors)
    seed = saved.pop() if has_seed else None
    ticket = saved.pop()
    edges, inputs, outputs = saved[:num_edges], saved[num_edges : num_edges + num_inputs], saved[num_edges + num_inputs :]
    starts = [
        torch.zeros_like(output) if gradient is None else gradient
        for gradient, output in zip(output_gradients[:num_outputs], outputs)
    ]
    model, kind, counts, settings, sizes, wanted = ctx.arguments
    made = torch.ops.hector.backward(
        model, kind, counts, edges, settings, sizes, wanted, seed, ticket, inputs, outputs, starts
    )  # fmt: skip
    gradients = [None] * num_inputs
    for place, tensor in zip(_wanted_places(model, wanted), made):
        gradients[place] = tensor
    return None, None, None, [None] * num_edges, None, None, None, None, gradients


_library = torch.library.Library("hector", "DEF")
_CALL = "int model, str kind, int[] counts, Tensor[] edges, str settings, str sizes, str gradients, Tensor? seed"
_library.define(f"forward({_CALL}, Tensor[] inputs) -> Tensor[]")
_library.define(f"backward({_CALL}, Tensor ticket, Tensor[] inputs, Tensor[] outputs, Tensor[] output_gradients) -> Tensor[]")
for _device in ("CPU", "CUDA"):
    _library.impl("forward", _forward, _device)
    _library.impl("backward", _backward, _device)
is_supported = hasattr(torch.library, "register_autograd")  # PyTorch 2.4


def is_compiling() -> bool:
    """Whether PyTorch traces a call for `torch.compile`, and takes operators that have gradients."""
    return is_supported and torch.compiler.is_compiling()


if is_supported:
    torch.library.register_fake("hector::forward", _forward_fake, lib=_library)
    torch.library.register_fake("hector::backward", _backward_fake, lib=_library)
    torch.library.register_autograd("hector::forward", _differentiate, setup_context=_setup, lib=_library)


def call(model, g, values, settings, sizes, training):
    """A call while PyTorch compiles: an operator of its graph. Gives a list of results."""
    return call_by_number(model._number, model.inputs, g, values, settings, sizes, training)


def call_by_number(number, names, g, values, settings, sizes, training):
    values = without_autocast(values)
    wanted = ()
    if torch.is_grad_enabled():
        wanted = tuple(name for tensor, name in zip(values, names) if tensor.requires_grad)
    seed = _gpu.seed_for(values[0].device) if training else None
    graph = ("", [g._number], []) if hasattr(g, "_number") else (g.kind, list(g.counts), list(g.tensors))
    texts = ("\n".join(lines) for lines in (settings, sizes, wanted))
    return torch.ops.hector.forward(number, *graph, *texts, seed, list(values))[:-1]
