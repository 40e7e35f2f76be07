"""Layers for DGL as their authors write them, run by DGL and with `@hector.compile`: forward and backward pass, in ms.

    HECTOR_LIBRARY=build/release/libhector.so PYTHONPATH=python build/peers/dgl/bin/python bench/python/dgl_layers.py

Both have the same parameters and inputs, and have to give the same results and gradients.
"""

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path

import dgl
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
import dgl_models as models  # noqa: E402  (the tests' file)

import hector  # noqa: E402

LAYERS = {  # the class, and the columns of its edges
    "GraphSAGE, mean": (models.GraphSage, None),
    "GCN, functions": (models.Gcn, None),
    "GAT, 4 heads": (models.Gat, None),
    "GAT, functions": (models.GatOfFunctions, None),
    "RGCN, TypedLinear": (models.TypedRgcn, None),
    "Gated GCN": (models.GatedGcn, "d"),
    "Gated GCN, functions": (models.GatedGcnOfFunctions, "d"),
    "EdgeConv, max": (models.EdgeConv, None),
    "MoNet, 3 kernels": (models.Monet, 2),
    "APPNP, 4 steps": (models.Appnp, None),
}


def step(layer, inputs, start):
    """Results and gradients of one forward and backward pass."""
    for tensor in (*inputs, *layer.parameters()):
        if isinstance(tensor, torch.Tensor):
            tensor.grad = None
    found = layer(*inputs)
    found = found if isinstance(found, tuple) else (found,)
    torch.autograd.backward(found, start[: len(found)])
    leaves = (*inputs, *layer.parameters())
    return [*found, *(x.grad for x in leaves if isinstance(x, torch.Tensor) and x.grad is not None)]


def measure(layers, inputs, start, repeat):
    """Median times of layers in ms. They take turns, so that other load on the machine meets all of them."""
    times = [[] for _ in layers]
    for _ in range(repeat + 1):
        for layer, own in zip(layers, times):
            begin = time.perf_counter()
            step(layer, inputs, start)
            own.append(1e3 * (time.perf_counter() - begin))
    return [statistics.median(own[1:]) for own in times]  # the first one warms up


def difference(wanted, found):
    """The largest difference of one tensor, relative to its largest number."""
    return max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-6)) for a, b in zip(wanted, found, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--relations", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", default="", help="part of a layer's name")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    hector.set_num_threads(options.threads)
    torch.manual_seed(1)
    warnings.simplefilter("error", UserWarning)  # nothing may run as DGL does it
    d, num_edges = options.columns, options.edges
    ends = torch.randint(0, options.nodes, (2, num_edges))
    graph = dgl.graph((ends[0], ends[1]), num_nodes=options.nodes)
    graph.create_formats_()
    graph.edata["rel_type"] = torch.randint(0, options.relations, (num_edges,))
    graph.edata["norm"] = torch.rand(num_edges, 1)
    print(f"{options.nodes:,} nodes, {num_edges:,} edges, {d} columns, {options.threads} threads, median of {options.repeat}")
    print(f"{'layer':<22} {'DGL ms':>9} {'Hector ms':>10} {'times':>6}  largest difference")
    for name, (cls, columns) in LAYERS.items():
        if options.only.lower() not in name.lower():
            continue
        has_graph = cls is models.GatOfFunctions
        arguments = (graph, d) if has_graph else (d, options.relations) if cls is models.TypedRgcn else (d,)
        plain = cls(*arguments)
        ours = hector.compile(type(cls.__name__, (cls,), {}))(*arguments)
        ours.load_state_dict(plain.state_dict())
        inputs = [torch.randn(options.nodes, d, requires_grad=True)]
        if columns is not None:
            inputs.append(torch.randn(num_edges, d if columns == "d" else columns, requires_grad=True))
        inputs = inputs if has_graph else [graph, *inputs]
        start = [torch.randn(options.nodes, d) / options.nodes, torch.randn(num_edges, d) / num_edges]
        wanted = [x.detach().clone() for x in step(plain, inputs, start)]
        off = difference(wanted, step(ours, inputs, start))
        assert off < 1e-3, f"{name}: results or gradients differ by {off:.1e}"
        times = measure((plain, ours), inputs, start, options.repeat)
        print(f"{name:<22} {times[0]:>9.1f} {times[1]:>10.1f} {times[0] / times[1]:>6.2f}  {off:.0e}", flush=True)


if __name__ == "__main__":
    main()
