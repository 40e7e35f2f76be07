"""What a call from Python takes besides its kernels: a layer on a graph of three nodes.

    PYTHONPATH=python build/peers/pyg/bin/python bench/python/overhead.py
"""

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


def main():
    model, g = hector.parse(TEXT), hector.Graph([0, 1], [2, 2])
    x, weights = np.ones((3, 4), np.float32), np.ones((1, 4, 4), np.float32)
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


if __name__ == "__main__":
    main()
