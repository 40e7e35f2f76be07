"""What a call from Python takes besides its kernels: a layer on a graph of three nodes.

    PYTHONPATH=python build/peers/pyg/bin/python bench/python/overhead.py
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/overhead.py --device cuda

On a GPU a call returns before its kernels have run: the first number is how long the call takes, the second how long until
the GPU is done. A replay is that of a CUDA graph with one call.
"""

import argparse
import statistics
import time

import numpy as np
import torch

import hector

TEXT = """\
def gather(g, x: Node[d], W: EdgeType[d, d]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
    return n["out"]
"""


def median_us(call, runs=2000):
    for _ in range(100):
        call()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def median_us_on_gpu(call, runs=2000):
    """Of the call, and until the GPU is done."""
    for _ in range(100):
        call()
    torch.cuda.synchronize()
    calls, ends = [], []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        calls.append(time.perf_counter() - begin)
        torch.cuda.synchronize()
        ends.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(calls), 1e6 * statistics.median(ends)


def captured(call):
    """A replay of a CUDA graph of a call."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def on_gpu(model, g, x, weights):
    x, weights = torch.from_numpy(x).cuda(), torch.from_numpy(weights).cuda()
    gx, gw = x.clone().requires_grad_(), weights.clone().requires_grad_()
    start = torch.ones(3, 4, device="cuda")
    calls = {
        "no gradients": lambda: model(g, x, weights),
        "no gradients, replayed": captured(lambda: model(g, x, weights)),
        "forward with gradients": lambda: model(g, gx, gw),
        "forward and backward": lambda: torch.autograd.grad(model(g, gx, gw), (gx, gw), start),
        "forward and backward, replayed": captured(lambda: torch.autograd.grad(model(g, gx, gw), (gx, gw), start)),
        "for comparison, x @ w of PyTorch": lambda: x @ weights[0],
    }
    for name, call in calls.items():
        print("{}: {:.1f} us, {:.1f} us until the GPU is done".format(name, *median_us_on_gpu(call)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    model, g = hector.parse(TEXT), hector.Graph([0, 1], [2, 2])
    x, weights = np.ones((3, 4), np.float32), np.ones((1, 4, 4), np.float32)
    if options.device == "cuda":
        return on_gpu(model, g, x, weights)
    tx, tw = torch.from_numpy(x), torch.from_numpy(weights)
    gx, gw = tx.clone().requires_grad_(), tw.clone().requires_grad_()
    layer = model._layer(g, [hector._arrays.view(a, "x") for a in (x, weights)], (), ())
    run, out = layer.take_run(), np.empty((3, 4), np.float32)
    pointers = [x.ctypes.data, weights.ctypes.data], [out.ctypes.data]
    start = torch.ones(3, 4)
    print(f"the run alone: {median_us(lambda: run.forward(*pointers)):.1f} us")
    print(f"NumPy: {median_us(lambda: model(g, x, weights)):.1f} us")
    print(f"PyTorch, no gradients: {median_us(lambda: model(g, tx, tw)):.1f} us")
    print(f"PyTorch, forward with gradients: {median_us(lambda: model(g, gx, gw)):.1f} us")
    print(f"PyTorch, forward and backward: {median_us(lambda: model(g, gx, gw).backward(start)):.1f} us")
    print(f"for comparison, x @ w of PyTorch, forward and backward: {median_us(lambda: (gx @ gw[0]).backward(start)):.1f} us")


if __name__ == "__main__":
    main()
