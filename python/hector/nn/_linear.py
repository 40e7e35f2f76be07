"""Parameters as PyTorch Geometric has them.

Names, shapes and initial distributions are the same, and so is the order in which numbers are drawn: after the same
`torch.manual_seed`, a layer of Hector and one of PyG start from the same numbers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch.nn.parameter import UninitializedParameter

from .. import InvalidError


def glorot(tensor: Tensor | None) -> None:
    if tensor is not None:
        bound = math.sqrt(6.0 / (tensor.size(-2) + tensor.size(-1)))
        torch.nn.init.uniform_(tensor, -bound, bound)


def zeros(tensor: Tensor | None) -> None:
    if tensor is not None:
        torch.nn.init.zeros_(tensor)


def ones(tensor: Tensor | None) -> None:
    if tensor is not None:
        torch.nn.init.ones_(tensor)


def uniform(tensor: Tensor | None, fan: int) -> None:
    """What `torch.nn.Linear` starts from."""
    if tensor is not None:
        bound = 1.0 / math.sqrt(fan)
        torch.nn.init.uniform_(tensor, -bound, bound)


class Linear(Module):
    """The weight [out, in] and the bias of a linear map. With `in_channels=-1` the first input decides its width."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True, use_glorot: bool = False):
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.use_glorot = use_glorot
        if in_channels > 0:
            self.weight = Parameter(torch.empty(out_channels, in_channels))
        else:
            self.weight = UninitializedParameter()
        if bias:
            self.bias = Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    @property
    def is_lazy(self) -> bool:
        return isinstance(self.weight, UninitializedParameter)

    def reset_parameters(self) -> None:
        if self.is_lazy:
            return
        if self.use_glorot:
            glorot(self.weight)
        else:
            uniform(self.weight, self.in_channels)
        uniform(self.bias, self.in_channels)

    @torch.no_grad()
    def fit(self, x: Tensor, name: str) -> None:
        """Takes the width of `x` if none was given; else checks it."""
        if self.is_lazy:
            self._allocate(x.size(1))
            self.reset_parameters()
        elif x.size(1) != self.in_channels:
            raise InvalidError(f"`{name}` has {x.size(1)} channels, but the layer was made for {self.in_channels}")

    def _allocate(self, in_channels: int) -> None:
        self.in_channels = in_channels
        self.weight.materialize((self.out_channels, in_channels))

    def matrix(self) -> Tensor:
        """The weight as models multiply by it: [in, out]."""
        return self.weight.t().contiguous()

    def forward(self, x: Tensor) -> Tensor:
        self.fit(x, "x")
        return torch.nn.functional.linear(x, self.weight, self.bias)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if not self.is_lazy:
            return super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight
        if self.bias is not None:
            destination[prefix + "bias"] = self.bias if keep_vars else self.bias.detach()

    def _load_from_state_dict(self, state_dict, prefix, *args):
        weight = state_dict.get(prefix + "weight")
        if isinstance(weight, UninitializedParameter):
            self.in_channels, self.weight = -1, UninitializedParameter()
        elif weight is not None and self.is_lazy:
            self._allocate(weight.size(-1))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, bias={self.bias is not None}"


class LinearByType(Module):
    """One `Linear` for each node type."""

    def __init__(self, in_channels: dict[str, int], out_channels: int):
        super().__init__()
        self.lins = torch.nn.ModuleDict({key: Linear(width, out_channels) for key, width in in_channels.items()})
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for lin in self.lins.values():
            lin.reset_parameters()


class Matrices(Module):
    """One matrix for each type, [types, in, out]."""

    def __init__(self, in_channels: int, out_channels: int, num_types: int):
        super().__init__()
        self.weight = Parameter(torch.empty(num_types, in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        uniform(self.weight, self.weight.size(1))


_TAKEN = frozenset(dir(torch.nn.ParameterDict))


def parameter_key(name: str) -> str:
    """The name under which PyG's `ParameterDict` keeps a parameter: without dots, and none of the class's own."""
    return (f"<{name}>" if name in _TAKEN else name).replace(".", "#")
