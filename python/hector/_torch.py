"""Models called with PyTorch's tensors: autograd, and results that PyTorch owns."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from . import _gpu, _torch_ops
from ._errors import InvalidError
from ._passes import Lease, Waiting, arrays, differentiate, result_type


def call(model, g, values, settings, sizes, training):
    """The results of a model, as a list of tensors."""
    for value, name in zip(values, model.inputs):
        if not isinstance(value, torch.Tensor):
            raise InvalidError(f"`{name}` is a {type(value).__name__} and others are torch tensors; pass torch tensors only")
    _check_modes(model, values)
    tensors = _torch_ops.without_autocast(values)
    wanted = None
    if torch.is_grad_enabled():
        wanted = tuple(name for tensor, name in zip(tensors, model.inputs) if tensor.requires_grad) or None
    views = [arrays.view(tensor, name) for tensor, name in zip(tensors, model.inputs)]
    layer = model._layer(g, views, settings, sizes, wanted)
    randomness = _gpu.randomness_of(_gpu.seed_for(_gpu.device_of(layer.place))) if training else None
    if wanted is None:
        lease = Lease(layer)
        results = lease.forward(views, randomness)
        lease.close()
        dtype = result_type(tensors)
        return [result if result.dtype == dtype else result.to(dtype) for result in results]
    return list(_Apply.apply(_Call(layer, views, randomness, model.inputs), *tensors))


def _check_modes(model, values):
    """Refuses what would give wrong numbers without a word."""
    if torch._C._get_tracing_state() is not None:
        raise InvalidError(
            "torch.jit.trace does not see what Hector computes; use torch.compile, or call the model outside of what is traced"
        )
    if forward_ad._current_level >= 0:
        for value, name in zip(values, model.inputs):
            if forward_ad.unpack_dual(value).tangent is not None:
                raise InvalidError(
                    f"`{name}` has a tangent, and Hector has no derivatives in forward mode; use backward() or torch.autograd.grad()"
                )


class _Call:
    """What the forward and the backward pass of one call share."""

    def __init__(self, layer, views, randomness, names):
        self.layer, self.views, self.randomness, self.names = layer, views, randomness, names
        self.waiting = []  # the forward pass, until a backward pass takes it


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call_, *tensors):
        lease, layer = Lease(call_.layer), call_.layer
        views, call_.views = call_.views, None
        results = lease.forward(views, call_.randomness)
        kept = [results[place] for place in layer.kept]
        call_.waiting.append(Waiting(lease, tensors, kept, views))
        ctx.call = call_
        ctx.num_inputs = len(tensors)
        ctx.set_materialize_grads(False)
        # The backward pass reads some results where the forward pass wrote them. Others may be changed by then.
        ctx.save_for_backward(*tensors, *kept)
        dtype = result_type(tensors)
        return tuple(result if result.dtype == dtype else result.to(dtype) for result in results)

    @staticmethod
    def backward(ctx, *output_gradients):
        if torch.is_grad_enabled():
            raise InvalidError(
                "Hector has no second derivatives; call backward() or torch.autograd.grad() without create_graph=True"
            )
        call_, saved = ctx.call, ctx.saved_tensors  # fails if one has changed since
        inputs, kept = saved[: ctx.num_inputs], saved[ctx.num_inputs :]
        try:
            waiting = call_.waiting.pop()  # one of several threads gets it
        except IndexError:
            waiting = None
        places, made = differentiate(call_.layer, waiting, inputs, call_.names, kept, call_.randomness, output_gradients)
        gradients = [None] * (ctx.num_inputs + 1)
        for place, gradient in zip(places, made):
            gradients[place + 1] = gradient
        return tuple(gradients)
