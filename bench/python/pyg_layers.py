"""Layers for PyG as their authors write them, run by PyG and with `@hector.compile`: forward and backward pass, in ms.

    HECTOR_LIBRARY=build/release/lib/libhector.so PYTHONPATH=python build/python/bin/python bench/python/pyg_layers.py

Both have the same parameters and inputs, and have to give the same results and gradients. That is checked in float64, where
rounding does not decide which of two messages is the maximum; times are those of float32.
"""

import argparse
import sys
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
import test_message_passing as models  # noqa: E402  (the tests' file)

import hector  # noqa: E402

LAYERS = {
    "GCN (Kipf and Welling 2017)": "gcn",
    "EdgeConv (Wang et al. 2019)": "edge_conv",
    "GINE (Hu et al. 2020)": "gine",
    "GAT, 2 heads (Velickovic et al. 2018)": "gat",
    "Transformer, 2 heads (Shi et al. 2021)": "transformer",
    "MoNet, 3 kernels (Monti et al. 2017)": "monet",
}


def step(layer, inputs, start):
    """Results and gradients of one forward and backward pass."""
    leaves = [tensor for tensor in (*inputs, *layer.parameters()) if tensor.requires_grad]
    for leaf in leaves:
        leaf.grad = None
    out = layer(*inputs)
    out.backward(start[:, : out.size(1)])
    return [out.detach(), *(leaf.grad for leaf in leaves)]


def difference(wanted, found):
    """The largest difference of one tensor, relative to its largest number."""
    return max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-6)) for a, b in zip(wanted, found, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    hector.set_num_threads(options.threads)
    torch.manual_seed(1)
    models.D = options.columns
    edge_index = torch.randint(0, options.nodes, (2, options.edges))
    print(
        f"{options.nodes:,} nodes, {options.edges:,} edges drawn at random, {options.columns} columns, "
        f"{options.threads} threads, median of {options.repeat}\n"
    )
    print("| Layer | Read | PyG ms | Hector ms | Times faster | Largest difference |")
    print("|---|---|---:|---:|---:|---:|")
    for name, key in LAYERS.items():
        cls, edge_columns = models.CASES[key]
        plain, ours = cls(), hector.compile(cls)()
        ours.load_state_dict(plain.state_dict())
        inputs = [torch.randn(options.nodes, options.columns, requires_grad=True), edge_index]
        inputs += [torch.randn(options.edges, columns) for columns in edge_columns]
        start = torch.randn(options.nodes, 2 * options.columns) / options.nodes
        plain.double(), ours.double()
        doubles = [x.detach().double().requires_grad_(x.requires_grad) if x.is_floating_point() else x for x in inputs]
        wanted = [tensor.clone() for tensor in step(plain, doubles, start.double())]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            off = difference(wanted, step(ours, doubles, start.double()))
        plain.float(), ours.float()
        reasons = [str(one.message).partition("runs as PyG does it: ")[2] for one in said]
        reason = next((one for one in reasons if one), None)
        assert off < 1e-9, f"{name}: results or gradients differ by {off:.1e}"
        times = ([], [])
        for _ in range(options.repeat + 1):  # in turns, so that other load on the machine meets both
            for layer, own in zip((plain, ours), times):
                begin = perf_counter()
                step(layer, inputs, start)
                own.append(1e3 * (perf_counter() - begin))
        theirs, mine = (median(own[1:]) for own in times)  # the first one warms up
        read = "yes" if reason is None else f"no: {reason}"
        print(f"| {name} | {read} | {theirs:.0f} | {mine:.0f} | {theirs / mine:.1f} | {off:.0e} |", flush=True)


if __name__ == "__main__":
    main()
