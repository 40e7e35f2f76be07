"""Layers for DGL as their authors write them, run by DGL and with `@hector.compile`: forward and backward pass, in ms.

    HECTOR_LIBRARY=build/release/lib/libhector.so PYTHONPATH=python build/peers/dgl/bin/python bench/python/dgl_layers.py

Both have the same parameters and inputs, and have to give the same results and gradients. That is checked in float64, where
rounding does not decide which of two messages is the maximum; times are those of float32. The table says what runs as DGL
does it, and why.
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
    "GCN (Kipf and Welling 2017)": (models.Gcn, None),
    "GraphSAGE, mean (Hamilton et al. 2017)": (models.GraphSage, None),
    "MoNet, 3 kernels (Monti et al. 2017)": (models.Monet, 2),
    "GAT, 4 heads (Velickovic et al. 2018)": (models.Gat, None),
    "GAT, softmax in the mailbox": (models.GatOfFunctions, None),
    "RGCN (Schlichtkrull et al. 2018)": (models.TypedRgcn, None),
    "Gated GCN (Bresson and Laurent 2018)": (models.GatedGcn, "d"),
    "Gated GCN, sums in the mailbox": (models.GatedGcnOfFunctions, "d"),
    "AGNN (Thekumparampil et al. 2018)": (models.Agnn, None),
    "EdgeConv (Wang et al. 2019)": (models.EdgeConv, None),
    "GIN (Xu et al. 2019)": (models.Gin, None),
    "APPNP, 4 steps (Klicpera et al. 2019)": (models.Appnp, None),
    "PNA, no scalers (Corso et al. 2020)": (models.Pna, None),
    "Graph Transformer (Dwivedi and Bresson 2021)": (models.GraphTransformer, None),
    "GATv2, 4 heads (Brody et al. 2022)": (models.Gatv2, None),
    "PNA, with scalers": (models.PnaWithScalers, None),
    "GraphSAGE, LSTM": (models.LstmSage, None),
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
    d, num_edges = options.columns, options.edges
    ends = torch.randint(0, options.nodes, (2, num_edges))
    graph = dgl.graph((ends[0], ends[1]), num_nodes=options.nodes)
    graph.create_formats_()
    graph.edata["rel_type"] = torch.randint(0, options.relations, (num_edges,))
    norm = torch.rand(num_edges, 1)
    print(f"{options.nodes:,} nodes, {num_edges:,} edges, {d} columns, {options.threads} threads, median of {options.repeat}")
    print("| Layer | Read | DGL ms | Hector ms | Times faster | Largest difference |\n|---|---|---:|---:|---:|---:|")
    for name, (cls, columns) in LAYERS.items():
        if options.only.lower() not in name.lower():
            continue
        has_graph = cls is models.GatOfFunctions
        arguments = (graph, d) if has_graph else (d, options.relations) if cls is models.TypedRgcn else (d,)
        plain = cls(*arguments).double()
        ours = hector.compile(type(cls.__name__, (cls,), {}))(*arguments).double()
        ours.load_state_dict(plain.state_dict())
        shapes = [(options.nodes, d)] + ([] if columns is None else [(num_edges, d if columns == "d" else columns)])
        inputs = [torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes]
        start = [torch.randn(rows, d, dtype=torch.float64) / rows for rows in (options.nodes, num_edges)]
        given = (lambda: inputs) if has_graph else (lambda: [graph, *inputs])
        graph.edata["norm"] = norm.double()
        wanted = [x.detach().clone() for x in step(plain, given(), start)]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            off = difference(wanted, step(ours, given(), start))
        reasons = [str(each.message).split("runs as DGL does it: ")[1] for each in told if "runs as DGL" in str(each.message)]
        assert off < 1e-6, f"{name}: results or gradients differ by {off:.1e}"
        plain.float(), ours.float()
        graph.edata["norm"] = norm
        inputs, start = [x.detach().float().requires_grad_() for x in inputs], [x.float() for x in start]
        times = measure((plain, ours), given(), start, options.repeat)
        read = "yes" if not reasons else f"no: {reasons[0]}"
        print(f"| {name} | {read} | {times[0]:.0f} | {times[1]:.0f} | {times[0] / times[1]:.1f} | {off:.0e} |", flush=True)


if __name__ == "__main__":
    main()
