"""The threads of layers on the CPU: where PyTorch is imported, as many as it has, and the very same ones.

A step computes with PyTorch and with Hector in turns. Threads of OpenMP, on which PyTorch computes, stay awake for a while
when they have done their work; with threads of its own, Hector would have to share the processors with them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from ._layer import Limits
from ._library import lib


class _Shared:
    """With how many threads PyTorch's are shared; None where they cannot be."""

    count: int | None = None if os.environ.get("HECTOR_SHARE_THREADS") == "0" else 0


def _forget():
    _Shared.count = None  # threads do not survive a fork, and OpenMP makes no others in the child


os.register_at_fork(after_in_child=_forget)


def number_of_threads() -> int:
    """The threads of layers that are compiled now; 0 stands for as many as there are processors."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_num_threads"):  # it may be half imported
        return Limits.threads
    count = torch.get_num_threads()
    if _Shared.count is not None and count != _Shared.count:
        _share(torch, count)
    return Limits.threads or (0 if os.environ.get("HECTOR_THREADS") else count)


def _share(torch, count):
    """Has loops of as many threads as PyTorch has run on PyTorch's."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        parallel = ctypes.CDLL(str(library)).GOMP_parallel  # that of the OpenMP which this library needs
    except (OSError, AttributeError):  # PyTorch without OpenMP
        _Shared.count = None
        return
    lib.hector_use_threads(ctypes.cast(parallel, ctypes.c_void_p), count)
    _Shared.count = count
