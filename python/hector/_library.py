"""libhector.so by ctypes: one Python function for each function of include/hector.h."""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p
from pathlib import Path

from ._errors import HectorError, InternalError, InvalidError, MachineError, ModelError

ABI_VERSION = 1
ERRORS = {1: InvalidError, 2: ModelError, 3: MachineError, 4: InternalError}
CPU = 1, 0  # where a tensor is: DLPack's kind of device, and its number
# DLPack's code and number of bits for each type of number.
DTYPES = {
    "i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64),
    "u8": (1, 8), "u16": (1, 16), "u32": (1, 32), "u64": (1, 64),
    "f16": (2, 16), "f32": (2, 32), "f64": (2, 64), "bf16": (4, 16), "bool": (6, 8),
}  # fmt: skip


class Tensor(Structure):
    """`hector_tensor`, which is DLPack's DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype_code", c_uint8),
        ("dtype_bits", c_uint8),
        ("dtype_lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Options(Structure):
    """`hector_options`."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("attributes", POINTER(c_char_p)),
        ("num_attributes", c_size_t),
        ("sizes", POINTER(c_char_p)),
        ("num_sizes", c_size_t),
        ("with_gradients", c_int),
        ("gradients", POINTER(c_char_p)),
        ("num_gradients", c_size_t),
        ("dtype", c_char_p),
        ("passes", c_char_p),
        ("threads", c_int),
        ("memory_limit", c_int64),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("precision", c_char_p),
    ]


class Placement(Structure):
    """`hector_placement`."""

    _fields_ = [("struct_size", c_size_t), ("stream", c_void_p), ("memory", c_void_p), ("random", c_void_p)]


class Randomness(Structure):
    """`hector_randomness`."""

    _fields_ = [("seed", c_uint64), ("step", c_uint64)]


def _candidates():
    named = os.environ.get("HECTOR_LIBRARY")
    if named:
        return [Path(named)]
    here = Path(__file__).resolve().parent
    root = here.parent.parent  # in a checkout
    return [here / "libhector.so", root / "build/release/lib/libhector.so", root / "build/dev/lib/libhector.so"]


def _load():
    paths = _candidates()
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        places = ", ".join(str(path) for path in paths)
        raise MachineError(f"there is no libhector.so; looked for {places}. Build it with `./x wheel` or `./x build`")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MachineError(f"{path} cannot be loaded: {error}") from None
    if not hasattr(library, "hector_abi_version"):
        raise MachineError(f"{path} is no library of Hector; set HECTOR_LIBRARY to a libhector.so, or unset it")
    found = library.hector_abi_version()
    if found != ABI_VERSION:
        raise MachineError(f"{path} has version {found} of its interface, but this package needs {ABI_VERSION}")
    return library


lib = _load()

_TENSORS = POINTER(Tensor)
_SIGNATURES = {
    "hector_version": (c_char_p, []),
    "hector_error_message": (c_char_p, []),
    "hector_use_threads": (None, [c_void_p, c_int]),
    "hector_model_parse": (c_int, [c_char_p, c_char_p, c_char_p, POINTER(c_void_p)]),
    "hector_model_describe": (c_char_p, [c_void_p]),
    "hector_model_free": (None, [c_void_p]),
    "hector_model_forget": (None, [c_void_p]),
    "hector_graph_create": (c_int, [_TENSORS] * 4 + [c_int64, c_int64, POINTER(c_void_p)]),
    "hector_graph_load": (c_int, [c_char_p, POINTER(c_void_p)]),
    "hector_graph_describe": (c_char_p, [c_void_p]),
    "hector_graph_free": (None, [c_void_p]),
    "hector_layer_compile": (c_int, [c_void_p, c_void_p, POINTER(Options), _TENSORS, c_size_t, POINTER(c_void_p)]),
    "hector_layer_describe": (c_char_p, [c_void_p]),
    "hector_layer_free": (None, [c_void_p]),
    "hector_layer_text": (c_int, [c_void_p, c_void_p, POINTER(Options), _TENSORS, c_size_t, c_char_p, POINTER(c_void_p)]),
    "hector_text_free": (None, [c_void_p]),
    "hector_run_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "hector_run_free": (None, [c_void_p]),
    "hector_run_place": (c_int, [c_void_p, POINTER(Placement)]),
    "hector_run_forward": (c_int, [c_void_p, _TENSORS, c_size_t, _TENSORS, c_size_t, POINTER(Randomness)]),
    "hector_run_backward": (c_int, [c_void_p, _TENSORS, c_size_t, _TENSORS, c_size_t]),
}  # fmt: skip
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

version = lib.hector_version().decode()


# What is an option of the command line is an argument or a function here.
_OPTIONS = (
    (re.compile(r"\b(?:add|bind it with) `--(?:size|set) ([^`]*)`"), r"give `\1`"),
    (re.compile(r"\(([^()\n]*) from --size\)"), r"(\1 is given)"),
    (re.compile(r" \(--backend cpu\)"), ""),
    (re.compile(r"--(?:size|set) takes NAME=VALUE"), "an argument is NAME=VALUE"),
    (re.compile(r"; allow more\b"), "; allow more with `hector.set_memory_limit`"),
    (re.compile(r"\bcompute with --dtype bf16\b"), "give 16-bit inputs"),
    (re.compile(r"\bcompute without --grad\b"), "compute without gradients, as under `torch.no_grad()`"),
    (re.compile(r"--passes\b"), "`passes`"),
)


def check(status):
    """Raises the message of a call that failed."""
    if status != 0:
        message = lib.hector_error_message().decode("utf-8", "replace").rstrip("\n")
        for pattern, words in _OPTIONS:
            message = pattern.sub(words, message)
        raise ERRORS.get(status, HectorError)(message)


class Handle:
    """Owns what a function of the library made, and frees it."""

    __slots__ = ("pointer", "_free")

    def __init__(self, make, free):
        self._free = None
        out = c_void_p()
        check(make(byref(out)))
        self.pointer = out.value
        self._free = free

    def __del__(self):
        if getattr(self, "_free", None) is not None:
            self._free(self.pointer)

    def __reduce__(self):
        raise TypeError("what libhector.so has made cannot be copied to another process")


def encoded(text, what):
    """A text as the library takes it: it ends at its first NUL."""
    if not isinstance(text, str):
        raise InvalidError(f"{what} is a {type(text).__name__}; expected a str")
    try:
        found = text.encode()
    except UnicodeEncodeError as error:
        where = _place(text, error.start)
        raise InvalidError(f"{what} has the surrogate {ascii(text[error.start])}{where}, which is no character") from None
    if 0 in found:
        raise InvalidError(f"{what} has the character '\\x00'{_place(text, text.index(chr(0)))}; leave it out")
    return found


def _place(text, position):
    line = text.count("\n", 0, position) + 1
    return f" in line {line}, column {position - text.rfind(chr(10), 0, position)}"


def texts(items, what):
    """An array of C strings, and how many there are."""
    items = list(items)
    return (c_char_p * len(items))(*(encoded(item, what) for item in items)), len(items)


def describe_tensor(pointer, shape, dtype, place=CPU):
    """A `Tensor` without gaps. Its shape lives as long as it does."""
    code, bits = DTYPES[dtype]
    return Tensor(pointer, *place, len(shape), code, bits, 1, (c_int64 * max(1, len(shape)))(*shape), None, 0)
