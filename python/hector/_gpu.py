"""GPUs of PyTorch: which stream work goes to, the memory that it is done in, and what is captured.

A layer on a GPU works as PyTorch's own functions do: in the current stream, without waiting, and in memory of PyTorch's
allocator. So PyTorch's rules for streams hold, and `torch.cuda.graph` captures layers.
"""

from __future__ import annotations

import torch

from ._errors import MachineError

CUDA = 2  # as DLPack numbers devices

_captured: set = set()  # layers: what was captured refers to their kernels and index arrays


def device_of(place):
    """PyTorch's name of where a layer runs."""
    kind, number = place
    return torch.device("cuda", number) if kind == CUDA else torch.device("cpu")


try:
    stream_of = torch._C._cuda_getCurrentRawStream
except AttributeError:  # PyTorch without CUDA

    def stream_of(number):
        return torch.cuda.current_stream(number).cuda_stream


def is_capturing(device):
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def keep_if_capturing(layer, device):
    if is_capturing(device):
        _captured.add(layer)


def forget():
    """Lets go what was captured. CUDA graphs with these layers must not be replayed any more."""
    _captured.clear()


def with_memory(make):
    """What `make` makes; again, without the memory that PyTorch keeps for later, where memory does not suffice."""
    try:
        return make()
    except MachineError as error:
        if "out of device memory" not in str(error) or not torch.cuda.is_initialized():
            raise
        torch.cuda.empty_cache()
        return make()


def seed_for(device):
    """What dropout draws from. On a GPU it stays there, so that each replay of a CUDA graph draws other numbers."""
    if device.type == "cpu":
        return torch.randint(0, 2**62, (), device="cpu")
    return torch.randint(0, 2**62, (2,), device=device)


def randomness_of(seed):
    """The same as a run takes it: two numbers, or a tensor of them on a GPU."""
    return seed if seed is None or seed.device.type != "cpu" else (int(seed), 0)


def random_state(device):
    """The state of the generator that draws for a device, or None if it cannot be known."""
    if device.type == "cpu":
        return torch.get_rng_state()
    return None if is_capturing(device) else torch.cuda.get_rng_state(device)


def set_random_state(device, state):
    if state is None:
        return
    if device.type == "cpu":
        torch.set_rng_state(state)
    else:
        torch.cuda.set_rng_state(state, device)
