"""Hector compiles relational graph neural networks: a layer of a dozen lines becomes fused code.

    import hector

    model = hector.load("models/rgat.hec")
    g = hector.Graph(src, dst, etype)
    y = model(g, x, W, w_s, w_t)        # NumPy or PyTorch; compiled on first use

`hector.nn` has layers with the interface of PyTorch Geometric.
"""

from ._cache import clear_cache
from ._compile import Edge, EdgeType, Node, NodeType, Shared, compile, sizes
from ._errors import HectorError, InternalError, InvalidError, MachineError, ModelError
from ._graph import Graph
from ._layer import get_precision, set_memory_limit, set_num_threads, set_precision
from ._library import version as __version__
from ._model import Model, load, parse
from ._summary import Summary

__all__ = [
    "Edge", "EdgeType", "Graph", "HectorError", "InternalError", "InvalidError", "MachineError", "Model", "ModelError",
    "Node", "NodeType", "Shared", "Summary", "clear_cache", "compile", "get_precision", "load", "parse", "set_memory_limit",
    "set_num_threads", "set_precision", "sizes",
]  # fmt: skip


def _define_operators():
    """Operators have to be there before torch.compile sees a model."""
    import sys

    if "torch" in sys.modules:
        from . import _torch  # noqa: F401


_define_operators()


def __getattr__(name):
    if name == "nn":  # needs PyTorch
        import importlib

        return importlib.import_module(".nn", __name__)
    raise AttributeError(f"module 'hector' has no attribute '{name}'")
