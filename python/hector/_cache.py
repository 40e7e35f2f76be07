"""What Hector keeps between calls, and how to drop it."""

from __future__ import annotations

import sys

from . import _known, _operands
from ._library import lib


def clear_cache() -> None:
    """Drops what Hector keeps in memory between calls: graphs of tensors, models of PyG's and DGL's classes, layers.

    Graphs and models that the program has go on working; their layers are found again in the cache on disk. CUDA graphs
    that were captured with layers must not be replayed afterwards.
    """
    _known.forget()
    for graph in _operands.alive(_operands.graphs):
        graph._layers.clear()
        graph._larger.clear()
    for model in _operands.alive(_operands.models):
        lib.hector_model_forget(model._handle.pointer)
    for name in ("_message_passing", "_dgl", "_gpu"):
        module = sys.modules.get(f"{__package__}.{name}")
        if module is not None:
            module.forget()
