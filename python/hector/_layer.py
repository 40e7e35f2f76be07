"""Compiled layers: a model, a graph and the sizes of its inputs; and the runs that compute them."""

from __future__ import annotations

import json
import operator
from ctypes import byref, c_char_p, c_void_p, cast, sizeof

from ._errors import InvalidError
from ._library import CPU, Handle, Options, Placement, Randomness, Tensor, check, describe_tensor, encoded, lib, texts


class Limits:
    """What all layers that are compiled from now on may use."""

    threads = 0  # as many as PyTorch has, or as there are processors
    memory = 0  # what the machine has
    precision = "highest"


def set_num_threads(count: int) -> None:
    """How many threads a layer runs on. Results do not depend on it.

    0 stands for as many as `torch.get_num_threads()` says where PyTorch is imported, else for one per processor.

    Layers that were compiled before keep their number; they are compiled again when they are next called.
    """
    Limits.threads = _whole(count, "the number of threads", 1 << 31)


def set_memory_limit(size: int) -> None:
    """How many bytes a layer may take beside its inputs and results; 0 stands for what the machine has.

    On the CPU, a layer that needs more than the limit is refused with `hector.InvalidError`. One that needs more than the
    machine has, and any that does not fit on a GPU, is refused with `hector.MachineError`.
    """
    Limits.memory = _whole(size, "the memory limit", 1 << 63)


def set_precision(name: str) -> None:
    """How exact products of float32 are on a GPU: "highest", "high" or "medium", as PyTorch calls them.

    "highest" multiplies in float32. The other two take the GPU's units for matrices with numbers rounded to fewer bits,
    which is faster. It holds for all layers that are called from then on; nothing changes on the CPU.
    """
    if name not in ("highest", "high", "medium"):
        raise InvalidError(f"the precision is {name!r}; expected 'highest', 'high' or 'medium'")
    Limits.precision = name


def get_precision() -> str:
    """What `set_precision` has set; "highest" at first."""
    return Limits.precision


def _whole(number, what, end):
    try:
        number = operator.index(number)
    except TypeError:
        raise InvalidError(f"{what} is {number!r}; expected a whole number") from None
    if not 0 <= number < end:
        raise InvalidError(f"{what} is {number}; expected a number from 0 to {end - 1}")
    return number


class Setup:
    """How a model is compiled."""

    __slots__ = ("settings", "sizes", "gradients", "dtype", "passes", "place", "threads")

    def __init__(self, settings=(), sizes=(), gradients=None, dtype="f32", passes=None, place=CPU, threads=0):
        self.settings, self.sizes, self.gradients, self.dtype, self.passes = settings, sizes, gradients, dtype, passes
        self.place, self.threads = place, threads

    def options(self):
        options = Options(struct_size=sizeof(Options))
        options.attributes, options.num_attributes = texts(self.settings, "an attribute")
        options.sizes, options.num_sizes = texts(self.sizes, "a size")
        if self.gradients is not None:
            options.with_gradients = 1
            options.gradients, options.num_gradients = texts(self.gradients, "an input")
        options.dtype = encoded(self.dtype, "`dtype`")
        options.passes = encoded(self.passes, "`passes`") if self.passes else None
        options.threads, options.memory_limit = self.threads, Limits.memory
        options.device_type, options.device_id = self.place
        options.precision = encoded(Limits.precision, "the precision")
        return options


def _tensors(descriptions, place):
    """An array of tensors without data. Its shapes live as long as it does."""
    items = [describe_tensor(None, shape, dtype, place) for shape, dtype in descriptions]
    array = (Tensor * len(items))(*items)
    array.items = items
    return array


def text_of(model, graph, setup, form):
    """The model as one of the compiler's forms."""
    out = c_void_p()
    options, form = setup.options(), encoded(form, "`form`")
    check(lib.hector_layer_text(model.pointer, graph.pointer, byref(options), None, 0, form, byref(out)))
    try:
        return cast(out, c_char_p).value.decode()
    finally:
        lib.hector_text_free(out)


class Layer:
    """A model compiled for a graph. `inputs` are (shape, dtype) of each input, in the order of the model."""

    def __init__(self, model, graph, setup, inputs):
        tensors = _tensors(inputs, setup.place)
        options = setup.options()
        self.handle = Handle(
            lambda out: lib.hector_layer_compile(model.pointer, graph.pointer, byref(options), tensors, len(inputs), out),
            lib.hector_layer_free,
        )
        found = json.loads(lib.hector_layer_describe(self.handle.pointer))
        self.peak_bytes: int = found["peak_bytes"]
        self.passes: str = found["passes"]
        self.inputs = inputs
        self.place = setup.place
        self.is_on_gpu = setup.place[0] != CPU[0]
        self.work_bytes: int = found["work_bytes"]  # that a run on a GPU is lent
        self.outputs = [(tuple(port["shape"]), port["dtype"]) for port in found["outputs"]]
        self.kept = [place for place, port in enumerate(found["outputs"]) if port["kept"]]  # read by backward passes
        self.gradient_names = [port["name"] for port in found["gradients"]]
        self.gradients = [(tuple(port["shape"]), port["dtype"]) for port in found["gradients"]]
        self._free: list[Run] = []

    def take_run(self) -> Run:
        """A run that nobody else uses."""
        try:
            return self._free.pop()
        except IndexError:
            return Run(self)

    def give_back(self, run):
        if len(self._free) < 4:
            self._free.append(run)


class Run:
    """The memory of one forward pass, which a backward pass reads."""

    def __init__(self, layer):
        self.handle = Handle(lambda out: lib.hector_run_create(layer.handle.pointer, out), lib.hector_run_free)
        place = layer.place
        self.inputs, self.outputs = _tensors(layer.inputs, place), _tensors(layer.outputs, place)
        # The gradients of outputs have their shapes and types.
        self.output_gradients, self.gradients = _tensors(layer.outputs, place), _tensors(layer.gradients, place)

    def place(self, stream, memory, random):
        """Where passes on a GPU do their work: a stream, and addresses of memory and of numbers for dropout, or None."""
        check(lib.hector_run_place(self.handle.pointer, byref(Placement(sizeof(Placement), stream, memory, random))))

    def forward(self, inputs, outputs, randomness=None):
        """Computes outputs. All are addresses, in the order of the layer."""
        for slot, address in zip(self.inputs, inputs):
            slot.data = address
        for slot, address in zip(self.outputs, outputs):
            slot.data = address
        random = None if randomness is None else byref(Randomness(*randomness))
        check(lib.hector_run_forward(
            self.handle.pointer, self.inputs, len(self.inputs), self.outputs, len(self.outputs), random
        ))  # fmt: skip

    def backward(self, output_gradients, gradients):
        """Computes gradients; an address of None stands for a gradient of 0."""
        for slot, address in zip(self.output_gradients, output_gradients):
            slot.data = address
        for slot, address in zip(self.gradients, gradients):
            slot.data = address
        check(lib.hector_run_backward(
            self.handle.pointer, self.output_gradients, len(self.output_gradients), self.gradients, len(self.gradients)
        ))  # fmt: skip
