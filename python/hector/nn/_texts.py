"""Models of layers whose inputs depend on their options.

A text marks the lines that only some options need:

    bias: Shared[d_out],        # if bias
    out = out + n.y * root      # if root and pair

What can be chosen without other inputs is an attribute of the model instead.
"""

from __future__ import annotations

import functools
import re

import torch

from .. import Model, parse
from .._model import spelled
from .._torch_ops import call_by_number, is_compiling
from ._arguments import check_number

_MARK = re.compile(r"\s*# if ([a-z_ ]+)$")


def choose(text: str, options: dict[str, bool]) -> str:
    """The text without marks and without the lines whose conditions do not hold."""
    lines = []
    for line in text.strip().splitlines():
        mark = _MARK.search(line)
        if mark:
            terms = (term.split() for term in mark[1].split(" and "))
            if not all(options[term[-1]] != (term[0] == "not") for term in terms):
                continue
            line = line[: mark.start()]
        lines.append(line)
    return "\n".join(lines) + "\n"


def model(name: str, text: str, **options: bool) -> Model | ModelByNumber:
    """The model of a layer with these options."""
    if is_compiling():
        chosen = tuple((key, True if value else False) for key, value in options.items())  # `bool` would not decide it
        return ModelByNumber(*_number_and_inputs(name, text, chosen))
    return _parsed(name, text, tuple(options.items()))


@functools.lru_cache(maxsize=None)  # operators of compiled code find models by number, so none may go
def _parsed(name: str, text: str, options: tuple) -> Model:
    return parse(choose(text, dict(options)), name)


def _number_and_inputs(name: str, text: str, options: tuple) -> tuple:
    made = _parsed(name, text, options)
    return made._number, tuple(made.inputs)


# What torch.compiler.assume_constant_result does, which takes a second to import.
_number_and_inputs._dynamo_marked_constant = True


def number(name: str) -> property:
    """An attribute that is a float, and is spelled under `_NAME_text`.

    PyTorch compiles code for all values of a float, but attributes of a model are known when it is compiled.
    """

    def get(self):
        return getattr(self, f"_{name}")

    def put(self, value):
        object.__setattr__(self, f"_{name}", value)
        object.__setattr__(self, f"_{name}_text", repr(check_number(type(self).__name__, name, value)))

    return property(get, put)


class ModelByNumber:
    """Stands for a model while PyTorch compiles a layer: such code can hold numbers and texts, but no model."""

    def __init__(self, number: int, inputs: tuple):
        self.number, self.inputs = number, inputs

    def __call__(self, g, training: bool = False, **named):
        values = [named[name] for name in self.inputs]
        settings = sorted(f"{name}={spelled(name, value)}" for name, value in named.items() if name not in self.inputs)
        results = call_by_number(self.number, self.inputs, g, values, settings, (), training)
        return results[0] if len(results) == 1 else tuple(results)
