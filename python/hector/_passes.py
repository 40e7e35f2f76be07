"""Forward and backward passes of compiled layers on PyTorch's tensors."""

from __future__ import annotations

import torch

from . import _arrays

arrays = _arrays.torch_arrays()


class Lease:
    """A run that is given back when nobody needs it: after the backward pass, or with the graph of autograd."""

    run = None

    def __init__(self, layer):
        self.layer = layer
        self.run = layer.take_run()

    def forward(self, views, randomness):
        made = [arrays.empty(shape, dtype) for shape, dtype in self.layer.outputs]
        try:
            self.run.forward([view.pointer for view in views], [view.pointer for _, view in made], randomness)
        except BaseException:
            self.run = None  # not to be used again
            raise
        return [tensor for tensor, _ in made]

    def backward(self, output_gradients):
        """Gradients in the order of the layer. One of None stands for zeros."""
        starts = [
            None if gradient is None else gradient.to(arrays.by_name[dtype]).contiguous()
            for gradient, (_, dtype) in zip(output_gradients, self.layer.outputs)
        ]
        made = [arrays.empty(shape, dtype) for shape, dtype in self.layer.gradients]
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
        if run is not None:
            self.layer.give_back(run)

    __del__ = close


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
        lease = Lease(layer)
        again = lease.forward(views, randomness), views
    made = lease.backward(output_gradients)
    del again  # the run has read it
    places = [names.index(name) for name in layer.gradient_names]
    return places, [tensor.to(inputs[place].dtype) for tensor, place in zip(made, places)]


def result_type(inputs):
    return next((tensor.dtype for tensor in inputs if tensor.dtype != torch.bool), torch.float32)
