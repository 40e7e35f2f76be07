"""Models, layers and compiled classes under `torch.autocast`."""

from __future__ import annotations

import warnings

import pytest
from nn_layers import D_IN, D_OUT, ONE_OF_EACH, as_dict, assert_near, call_of, features, make_graph, ours, pyg, torch

import hector

GATHER = """\
def gather(g, x: Node[d], W: EdgeType[d, d]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
    return n["out"]
"""


class Net(torch.nn.Module):
    """A model and a layer between PyTorch's own layers, which leave 16-bit numbers under autocast."""

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(D_IN, D_OUT), torch.nn.Linear(D_OUT, 3)
        self.weight = torch.nn.Parameter(torch.randn(1, D_OUT, D_OUT))
        self.conv = ours.SAGEConv(D_OUT, D_OUT)
        self.gather, self.graph = hector.parse(GATHER), hector.Graph(*make_graph("random")[0], num_nodes=30)

    def forward(self, x, edge_index):
        h = self.first(x)
        a = self.gather(self.graph, h, self.weight)
        b = self.conv(h, edge_index)
        return self.last(a + b), (h.dtype, a.dtype, b.dtype)


def gradients_of(net, out):
    net.zero_grad()
    out.float().square().sum().backward()
    return {name: parameter.grad for name, parameter in net.named_parameters()}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_and_layers_compute_in_float32(dtype):
    torch.manual_seed(0)
    net, x, edge_index = Net(), features(30), make_graph("random")[0]
    with torch.autocast("cpu", dtype=dtype):
        out, dtypes = net(x, edge_index)
    assert dtypes == (dtype, torch.float32, torch.float32) and out.dtype == dtype
    found, wanted = gradients_of(net, out), gradients_of(net, net(x, edge_index)[0])
    for name, gradient in wanted.items():
        assert_near(found[name], gradient, 5e-2, name)


def test_results_are_those_of_the_same_numbers_in_float32():
    model, g = hector.parse(GATHER), hector.Graph([0, 1, 1], [2, 2, 0], num_nodes=3)
    x, weight = torch.randn(3, 4).bfloat16().requires_grad_(), torch.randn(1, 4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(g, x, weight)
    assert torch.equal(out, model(g, x.float(), weight))
    out.sum().backward()
    assert (x.grad.dtype, weight.grad.dtype) == (torch.bfloat16, torch.float32)  # each in the type of its input


def test_float64_stays_float64():
    model, g = hector.parse(GATHER), hector.Graph([0, 1, 1], [2, 2, 0], num_nodes=3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(g, torch.ones(3, 4).double(), torch.ones(1, 4, 4).double()).dtype == torch.float64


def test_mixed_types_are_refused_without_autocast():
    model, g = hector.parse(GATHER), hector.Graph([0, 1, 1], [2, 2, 0], num_nodes=3)
    with pytest.raises(hector.InvalidError, match="`x` holds bf16 and `W` f32; convert one of them"):
        model(g, torch.ones(3, 4).bfloat16(), torch.ones(1, 4, 4))
    with torch.autocast("cpu", enabled=False), pytest.raises(hector.InvalidError, match="`x` holds bf16 and `W` f32"):
        model(g, torch.ones(3, 4).bfloat16(), torch.ones(1, 4, 4))


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_layers_take_features_of_16_bits(name, arguments):
    conv, call = getattr(ours, name)(*arguments), call_of(name)

    def short(value):
        if isinstance(value, dict):
            return {key: short(item) for key, item in value.items()}
        return value.bfloat16() if value.is_floating_point() else value

    wanted = as_dict(conv(*call))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = as_dict(conv(*(short(value) for value in call)))
    for key, value in wanted.items():
        assert_near(found[key], value, 3e-2, key)
    sum(value.sum() for value in found.values()).backward()
    assert all(value.grad is None or value.grad.dtype == torch.float32 for value in conv.parameters())


@pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="operators need PyTorch 2.4")
@pytest.mark.parametrize("inside", [False, True], ids=["around", "inside"])
def test_torch_compile(inside):
    """Autocast around compiled code, and in it."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    net, x, edge_index = Net(), features(30), make_graph("random")[0]

    def step(x, edge_index):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside or torch.is_autocast_enabled("cpu")):
            return net(x, edge_index)[0]

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not inside):
        found, wanted = compiled(x, edge_index), step(x, edge_index)
    assert torch.equal(found, wanted)
    found_gradients, wanted_gradients = gradients_of(net, found), gradients_of(net, wanted)
    for name, gradient in wanted_gradients.items():
        assert_near(found_gradients[name], gradient, 1e-2, name)


def test_compiled_classes_are_read():
    class Weighted(pyg.MessagePassing):
        def __init__(self):
            super().__init__(aggr="add")
            self.lin, self.out = torch.nn.Linear(D_IN, D_OUT), torch.nn.Linear(D_OUT, D_OUT)
            self.scale = torch.nn.Parameter(torch.ones(D_OUT))

        def forward(self, x, edge_index, weight):
            return self.propagate(edge_index, x=self.lin(x), weight=weight)

        def message(self, x_i, x_j, weight):
            return self.out(torch.relu(x_j - x_i) * self.scale) * weight.view(-1, 1)

    torch.manual_seed(0)
    conv, x, edge_index = hector.compile(Weighted)(), features(30), make_graph("random")[0]
    weight = torch.rand(edge_index.size(1))
    wanted = conv(x, edge_index, weight)
    with torch.autocast("cpu", dtype=torch.bfloat16), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = conv(x, edge_index, weight)
    assert found.dtype == torch.float32
    assert_near(found, wanted, 3e-2, "out")
