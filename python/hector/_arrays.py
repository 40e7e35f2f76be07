"""Arrays of the caller: PyTorch's, NumPy's, and whatever has Python's buffer protocol (array.array, ctypes, memoryview).

A kind of array says how to read one (`view`), how to make one for a result (`empty`), and how to give it another type
(`converted`). PyTorch and NumPy are never
imported here: an array of theirs means that the caller has done so.
"""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, NamedTuple

from ._errors import InvalidError
from ._library import CPU, DTYPES


class View(NamedTuple):
    """The numbers of an array. `owner` keeps them alive."""

    pointer: int
    shape: tuple
    dtype: str
    owner: Any
    place: tuple = CPU


def size_of(view):
    """How many bytes the numbers take."""
    return math.prod(view.shape) * DTYPES[view.dtype][1] // 8


def copied(view):
    """The same numbers, which are on the CPU, in memory of their own."""
    owner = ctypes.string_at(view.pointer, size) if (size := size_of(view)) else b""
    return view._replace(pointer=ctypes.cast(owner, ctypes.c_void_p).value, owner=owner)


class TorchArrays:
    """torch.Tensor on the CPU or on a GPU of NVIDIA."""

    kinds = {"cpu": 1, "cuda": 2}  # of devices, as DLPack numbers them

    def __init__(self):
        import torch

        self.torch = torch
        self.tensor = torch.Tensor
        self.dtypes = {
            torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16",
            torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8",
            torch.bool: "bool",
        }  # fmt: skip
        self.by_name = {name: dtype for dtype, name in self.dtypes.items()}

    def place_of(self, value, name):
        device = value.device
        kind = self.kinds.get(device.type)
        if kind == CPU[0]:
            return CPU
        if kind is None:
            raise InvalidError(f"`{name}` is on {device}, where Hector does not run; pass `{name}.cpu()` or `{name}.cuda()`")
        return kind, device.index or 0

    def view(self, value, name):
        place = self.place_of(value, name)
        if value.layout is not self.torch.strided or value.is_nested:
            if value.is_nested:
                raise InvalidError(f"`{name}` is a nested tensor; pass a dense one, such as `{name}.to_padded_tensor(0.0)`")
            raise InvalidError(f"`{name}` is a sparse tensor ({value.layout}); pass a dense one: `{name}.to_dense()`")
        dtype = self.dtypes.get(value.dtype)
        if dtype is None:
            raise InvalidError(f"`{name}` is {value.dtype}, which Hector has no type for; convert it to float32 or int64")
        value = value.detach()
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        if not value.is_contiguous():
            value = value.contiguous()
        try:
            pointer = value.data_ptr()
        except RuntimeError:  # such as those of torch.func.grad and torch.vmap
            raise InvalidError(
                f"`{name}` is a tensor without numbers of its own, as torch.func and torch.vmap make them; call the model "
                "outside of these, and backward() or torch.autograd.grad() for gradients"
            ) from None
        # Kernels of a GPU read 16 bytes at once, and those of a CPU whole numbers; bytes of a file may start anywhere.
        if pointer % (16 if place[0] != 1 else value.element_size()):
            value = value.clone(memory_format=self.torch.contiguous_format)
            pointer = value.data_ptr()
        return View(pointer, tuple(value.shape), dtype, value, place)

    def converted(self, value, dtype):
        return value.to(self.by_name[dtype])

    def empty(self, shape, dtype, device="cpu"):
        made = self.torch.empty(shape, dtype=self.by_name[dtype], device=device)
        return made, View(made.data_ptr(), shape, dtype, made)


class NumpyArrays:
    """numpy.ndarray, and its scalars."""

    def __init__(self):
        import numpy

        self.numpy = numpy
        self.dtypes = {
            "float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16",
            "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool",
        }  # fmt: skip
        self.by_name = {name: dtype for dtype, name in self.dtypes.items()}

    def view(self, value, name):
        if isinstance(value, self.numpy.ma.MaskedArray):
            raise InvalidError(f"`{name}` is a masked array, and Hector does not read masks; pass `{name}.filled(0)`")
        # `ascontiguousarray` would give a number an axis. Bytes of another order become those of this machine.
        value = self.numpy.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
        if not value.flags.aligned:
            value = value.copy()
        dtype = self.dtypes.get(value.dtype.name)
        if dtype is None:
            raise InvalidError(f"`{name}` is an array of {value.dtype}; convert it to float32, or ids to int64, with `astype`")
        return View(value.ctypes.data, value.shape, dtype, value)

    def converted(self, value, dtype):
        return value.astype(self.by_name[dtype], copy=False)

    def empty(self, shape, dtype):
        made = self.numpy.empty(shape, dtype=self.by_name[dtype])
        return made, View(made.ctypes.data, shape, dtype, made)


class Buffers:
    """The buffer protocol alone: results are memoryviews. Those of 16-bit numbers stay as they are computed, in 32 bits."""

    dtypes = {"f": "f32", "d": "f64", "e": "f16", "?": "bool", "b": "i8", "B": "u8", "h": "i16", "H": "u16"}
    by_name = {"f32": "f", "f64": "d"}
    native = "@=<" if sys.byteorder == "little" else "@=>!"  # prefixes of formats in this machine's byte order

    def view(self, value, name):
        try:
            view = memoryview(value)
        except TypeError:
            raise InvalidError(
                f"`{name}` is a {type(value).__name__}; expected an array of PyTorch, NumPy or the standard library"
            ) from None
        code = view.format.lstrip(self.native)
        dtype = self.dtypes.get(code)
        if code in ("i", "l", "q", "n"):
            dtype = "i64" if view.itemsize == 8 else "i32"
        if dtype is None:
            raise InvalidError(f"`{name}` holds items of format '{view.format}'; expected numbers, such as 'f' or 'q'")
        shape = view.shape
        if view.readonly or not view.c_contiguous:
            view = memoryview(bytearray(view.tobytes()))
        pointer = ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes else 0
        if pointer % view.itemsize:
            view = bytearray(view)
            pointer = ctypes.addressof(ctypes.c_char.from_buffer(view))
        return View(pointer, shape, dtype, view)

    def converted(self, value, dtype):
        return value

    def empty(self, shape, dtype):
        size = 4 if dtype == "f32" else 8
        for extent in shape:
            size *= extent
        memory = bytearray(size)
        made = memoryview(memory)
        made = made.cast(self.by_name[dtype], shape) if size and shape else made.cast(self.by_name[dtype])
        return made, View(ctypes.addressof(ctypes.c_char.from_buffer(memory)) if size else 0, shape, dtype, memory)


_kinds: dict = {}


def _kind(cls):
    if cls not in _kinds:
        _kinds[cls] = cls()
    return _kinds[cls]


def torch_arrays():
    """PyTorch's, if the caller uses it; else None."""
    return _kind(TorchArrays) if "torch" in sys.modules else None


def is_any_torch(values):
    """Whether one of them is a tensor of PyTorch's."""
    torch = sys.modules.get("torch")
    return torch is not None and any(isinstance(value, torch.Tensor) for value in values)


def are_torch(values):
    """Whether all of them are tensors of PyTorch's."""
    torch = sys.modules.get("torch")
    return torch is not None and all(isinstance(value, torch.Tensor) for value in values)


def on_cpu(value):
    """An array of ids where graphs are made."""
    torch = sys.modules.get("torch")
    is_elsewhere = torch is not None and isinstance(value, torch.Tensor) and value.device.type != "cpu"
    return value.cpu() if is_elsewhere else value


def dtype_of(tensor):
    """The type of a tensor of PyTorch's, or None if Hector has none for it."""
    return torch_arrays().dtypes.get(tensor.dtype)


_BY_WORD = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def dtype_name(dtype):
    """The name of a type that may be PyTorch's or NumPy's; texts are names already."""
    if isinstance(dtype, str):
        return dtype
    word = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = _BY_WORD.get(str(word).rpartition(".")[2])
    if name is None:
        raise InvalidError(f"`dtype` is {dtype!r}; expected f64, f32, bf16 or f16, or the type of PyTorch or NumPy")
    return name


def kind_of(value):
    """Who can read an array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _kind(TorchArrays)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _kind(NumpyArrays)
    return _kind(Buffers)


def view(value, name):
    """The numbers of an array of any kind. Lists of numbers are copied."""
    if isinstance(value, (list, tuple)):
        from array import array

        if not all(isinstance(item, int) for item in value):
            raise InvalidError(f"`{name}` is a {type(value).__name__} of other things than ints; pass an array")
        try:
            value = array("q", value)
        except OverflowError:
            place = next(place for place, item in enumerate(value) if not -(1 << 63) <= item < 1 << 63)
            raise InvalidError(f"`{name}[{place}]` is {value[place]}; ids are integers of 32 or 64 bits") from None
    return kind_of(value).view(value, name)
