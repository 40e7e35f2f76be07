"""Thousands of calls: memory stays as it is, also where graphs change. And threads, forked workers and failures."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

import hector  # noqa: E402
from hector import nn  # noqa: E402

NODES, EDGES, D = 30, 120, 8
GROWTH = 8 << 20  # bytes: 1 KB for each of 8,000 calls, or 20 KB for each of 400 graphs


@hector.compile
class Scaled(pyg.MessagePassing):
    def __init__(self):
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(D, D)
        self.on_message = None

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        if self.on_message is not None:
            self.on_message()
        return self.lin(x_j).relu()


RGCN = hector.parse("""\
def rgcn(g, x: Node[d], W: EdgeType[d, d]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
    return n["out"]
""")


def edges(seed=0):
    return torch.randint(0, NODES, (2, EDGES), generator=torch.Generator().manual_seed(seed))


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def step_of_numpy():
    g = hector.Graph(*edges().numpy(), num_nodes=NODES)
    x, weights = np.ones((NODES, D), np.float32), np.ones((1, D, D), np.float32)
    return lambda number: RGCN(g, x, weights)


def step_of_torch():
    g = hector.Graph(*edges(), num_nodes=NODES)
    x, weights = torch.randn(NODES, D, requires_grad=True), torch.randn(1, D, D, requires_grad=True)
    return lambda number: RGCN(g, x, weights).sum().backward()


def step_of(layer):
    x, edge_index = torch.randn(NODES, D, requires_grad=True), edges()
    return lambda number: layer(x, edge_index).sum().backward()


STEPS = {
    "numpy": step_of_numpy,
    "torch": step_of_torch,
    "layer": lambda: step_of(nn.SAGEConv(D, D)),
    "class": lambda: step_of(Scaled()),
}


@pytest.mark.parametrize("name", STEPS)
def test_memory_does_not_grow(name):
    step = STEPS[name]()
    for number in range(2_000):
        step(number)
    before = resident()
    for number in range(8_000):
        step(number)
    assert resident() - before < GROWTH


@pytest.mark.parametrize("make", [lambda: nn.SAGEConv(D, D), Scaled], ids=["layer", "class"])
def test_memory_does_not_grow_with_graphs_that_change(make):
    layer, x = make(), torch.randn(NODES, D, requires_grad=True)
    for number in range(100):
        layer(x, edges(number)).sum().backward()
    before = resident()
    for number in range(100, 500):
        layer(x, edges(number)).sum().backward()
    assert resident() - before < GROWTH


@pytest.mark.parametrize("make", [lambda: nn.SAGEConv(D, D), Scaled], ids=["layer", "class"])
def test_four_threads(make):
    layer = make()
    inputs = [(torch.randn(NODES, D), edges(number)) for number in range(4)]
    wanted = [layer(*call).detach() for call in inputs]
    failures = []

    def work(number):
        for _ in range(50):
            out = layer(*inputs[number])
            torch.autograd.grad(out.sum(), list(layer.parameters()))
            if not torch.equal(out.detach(), wanted[number]):
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


class _Results(torch.utils.data.Dataset):
    def __init__(self, layer, x, edge_index):
        self.call = layer, x, edge_index

    def __len__(self):
        return 4

    def __getitem__(self, index):
        layer, x, edge_index = self.call
        return layer(x, edge_index).detach() + index


@pytest.mark.parametrize("make", [lambda: nn.SAGEConv(D, D), Scaled], ids=["layer", "class"])
def test_forked_workers(make):
    layer, x, edge_index = make(), torch.randn(NODES, D), edges()
    wanted = layer(x, edge_index).detach()  # so that the parent has threads and runs of its own
    loader = torch.utils.data.DataLoader(
        _Results(layer, x, edge_index), batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    for index, out in enumerate(loader):
        assert torch.equal(out, wanted + index)


def test_a_failure_in_a_message_leaves_the_layer_as_it_was():
    class Stop(BaseException):
        pass

    def stop():
        raise Stop

    layer, x, edge_index = Scaled(), torch.randn(NODES, D, requires_grad=True), edges()
    wanted = layer(x, edge_index).detach()
    layer.on_message = stop
    with pytest.raises(Stop):
        layer(x, edge_index)
    layer.on_message = None
    out = layer(x, edge_index)
    assert torch.equal(out.detach(), wanted)
    out.sum().backward()
    assert x.grad is not None
