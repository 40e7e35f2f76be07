"""Forward and backward passes of compiled layers on PyTorch's tensors."""

from __future__ import annotations

import torch

from . import _arrays, _gpu
from ._errors import InvalidError

arrays = _arrays.torch_arrays()


class Lease:
    """A run that is given back when nobody needs it: after the backward pass, or with the graph of autograd.

    On a GPU the memory that a run works in is PyTorch's, and goes with the lease.
    """

    run = memory = random = None

    def __init__(self, layer):
        self.layer = layer
        self.device = _gpu.device_of(layer.place) if layer.is_on_gpu else "cpu"
        self.run = layer.take_run()

    def forward(self, views, randomness):
        layer, device = self.layer, self.device
        made = [arrays.empty(shape, dtype, device) for shape, dtype in layer.outputs]
        try:
            if layer.is_on_gpu:
                self._place(randomness)
                randomness = randomness if type(randomness) is tuple else None
            self.run.forward([view.pointer for view in views], [view.pointer for _, view in made], randomness)
        except BaseException:
            self.run = None  # not to be used again
            raise
        return [tensor for tensor, _ in made]

    def _place(self, randomness):
        layer, device = self.layer, self.device
        _gpu.keep_if_capturing(layer, device)
        self.memory = torch.empty(layer.work_bytes + _SPARE, dtype=torch.uint8, device=device)
        self.random = randomness if isinstance(randomness, torch.Tensor) else None
        self.run.place(
            _gpu.stream_of(layer.place[1]),
            (self.memory.data_ptr() + _SPARE) // 256 * 256,
            None if self.random is None else self.random.data_ptr(),
        )

    def backward(self, output_gradients):
        """Gradients in the order of the layer. One of None stands for zeros."""
        layer, device = self.layer, self.device
        starts = [_start(layer, gradient, *output, device) for gradient, output in zip(output_gradients, layer.outputs)]
        made = [arrays.empty(shape, dtype, device) for shape, dtype in layer.gradients]
        try:
            self.run.backward(
                [None if start is None else start.data_ptr() for start in starts], [view.pointer for _, view in made]
            )
        except BaseException:
            self.run = None
            raise
        self.close()
        return [tensor for tensor, _ in made]

    def close(self):
        run, self.run = self.run, None
        self.memory = self.random = None
        if run is not None:
            self.layer.give_back(run)

    __del__ = close


_SPARE = 255  # bytes, so that the memory has an address that 256 divides


def _start(layer, gradient, shape, dtype, device):
    """The gradient of an output as a layer reads it."""
    if gradient is None:
        return torch.zeros(shape, dtype=arrays.by_name[dtype], device=device) if layer.is_on_gpu else None
    if gradient.layout is not torch.strided:
        gradient = gradient.to_dense()
    start = gradient.to(arrays.by_name[dtype]).contiguous()
    return start.clone() if layer.is_on_gpu and start.data_ptr() % 16 else start


class Waiting:
    """A forward pass that waits for its backward pass, which reads inputs and results where they were."""

    def __init__(self, lease, inputs, kept, alive):
        self.lease = lease
        self.pointers = _pointers(inputs, kept)
        self.alive = alive  # copies of inputs that are not contiguous, and results that were converted


def _pointers(inputs, kept):
    return [tensor.data_ptr() for tensor in (*inputs, *kept)]


def differentiate(layer, waiting, inputs, names, kept, randomness, output_gradients):
    """The gradients of the inputs that the layer has some for, in the types of these."""
    lease, again = (None, None) if waiting is None else (waiting.lease, waiting.alive)
    if lease is None or waiting.pointers != _pointers(inputs, kept):
        # A second backward pass, or tensors that were moved meanwhile: what the forward pass kept is gone.
        views = [arrays.view(tensor, name) for tensor, name in zip(inputs, names)]
        _check_unchanged(layer, views, names)
        lease = Lease(layer)
        again = lease.forward(views, randomness), views
    made = lease.backward(output_gradients)
    del again  # the run has read it
    places = [names.index(name) for name in layer.gradient_names]
    return places, [tensor.to(inputs[place].dtype) for tensor, place in zip(made, places)]


def _check_unchanged(layer, views, names):
    """What is read again has to be as large as before: `.data` and hooks of saved tensors put other tensors in their place."""
    for view, name, (shape, dtype) in zip(views, names, layer.inputs):
        if (view.shape, view.dtype, view.place) != (shape, dtype, layer.place):
            raise InvalidError(
                f"`{name}` was {dtype} {list(shape)} in the forward pass, and is {view.dtype} {list(view.shape)} in the backward "
                "pass; keep its type, shape and device until backward() is done"
            )


def result_type(inputs):
    return next((tensor.dtype for tensor in inputs if tensor.dtype != torch.bool), torch.float32)
