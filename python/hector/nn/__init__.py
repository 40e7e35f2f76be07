"""Layers with the interface of PyTorch Geometric 2.8, computed by Hector.

    from hector.nn import RGCNConv          # instead of torch_geometric.nn

Constructors, `forward`, names and shapes of parameters, and what they are initialised with are those of the layers of the
same name, so state dicts can be loaded both ways. PyTorch Geometric itself is not needed.

What a layer does not support, it refuses by name with `hector.InvalidError`: no argument is ignored. All of them take
`edge_index` as a tensor of shape [2, edges]; sparse matrices are refused, and so are options of `MessagePassing` other
than their defaults. All tensors of a call are on the CPU, or all on one GPU of NVIDIA.

A graph is prepared when a layer first sees its `edge_index`, and again when its numbers have changed. It lives as long as
the tensor does; a copy of the tensor finds the same graph.
"""

from .gat import GATConv, GATv2Conv
from .gcn import GCNConv
from .hgt import HGTConv
from .rgat import RGATConv
from .rgcn import FastRGCNConv, RGCNConv
from .sage import SAGEConv

__all__ = ["FastRGCNConv", "GATConv", "GATv2Conv", "GCNConv", "HGTConv", "RGATConv", "RGCNConv", "SAGEConv"]
