"""Compiled classes of PyG under `torch.compile(fullgraph=True)`."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import pytest
from test_message_passing import CASES, D, EDGES, NODES, Sum, graph_and_nodes, layer_of, torch

import hector
from hector import _propagate_op

pytestmark = pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="operators need PyTorch 2.4")

# PyTorch 2.11 watches dictionaries of classes on behalf of guards, and may look for a guard that is gone when Python ends.
if hasattr(torch._dynamo.config, "use_recursive_dict_tags_for_guards"):
    torch._dynamo.config.use_recursive_dict_tags_for_guards = False


def compiled(layer, backend="aot_eager"):
    torch._dynamo.reset()
    return torch.compile(layer, fullgraph=True, backend=backend)


def step(call, layer, x, *more):
    """The result and all gradients of one step."""
    layer.zero_grad()
    x = x.detach().clone().requires_grad_()
    out = call(x, *more)
    (out * torch.linspace(-1, 1, out.numel()).view(out.shape)).sum().backward()
    return [out.detach(), x.grad, *(value.grad for value in layer.parameters())]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", CASES)
def test_classes_are_taken_whole(name, backend):
    cls, edge_features = CASES[name]
    torch.manual_seed(0)
    layer = hector.compile(cls)()
    edge_index, x = graph_and_nodes()
    more = [torch.randn(EDGES, columns) for columns in edge_features]
    whole = compiled(layer, backend)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs as PyG does it.*")
        for _ in range(2):
            for found, wanted in zip(step(whole, layer, x, edge_index, *more), step(layer, layer, x, edge_index, *more)):
                torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_what_cannot_be_read_is_taken_whole_too():
    layer = hector.compile(layer_of(lambda self, x_j: torch.sort(x_j, dim=1).values))()
    edge_index, x = graph_and_nodes()
    whole = compiled(lambda x: layer(edge_index, x=x))
    with pytest.warns(UserWarning, match="`sort`"):
        found = whole(x)
    torch.testing.assert_close(found, layer(edge_index, x=x))


def test_attributes_may_change():
    layer = hector.compile(layer_of(lambda self, x_j: x_j * self.scales[0] if self.is_on else -x_j))(scales=[1.0], is_on=True)
    edge_index, x = graph_and_nodes()
    whole = compiled(lambda x: layer(edge_index, x=x))
    once = whole(x)
    layer.scales[0] = 2.0
    torch.testing.assert_close(whole(x), 2 * once)
    layer.is_on = False
    torch.testing.assert_close(whole(x), -once)


def test_attributes_are_set_once_for_each_call():
    def message(self, x_j):
        self.calls += 1
        return x_j

    layer = hector.compile(layer_of(message))(calls=0)
    edge_index, x = graph_and_nodes()
    whole = compiled(lambda x: layer(edge_index, x=x))
    for _ in range(3):
        whole(x)
    assert layer.calls == 3


def test_parameters_are_those_of_the_graph():
    """A parameter that compiled code changes before the call."""
    layer = hector.compile(layer_of(lambda self, x_j: x_j * self.scale))(scale=torch.nn.Parameter(torch.ones(D)))
    edge_index, x = graph_and_nodes()

    def forward(x):
        with torch.no_grad():
            layer.scale.mul_(2)
        return layer(edge_index, x=x)

    found = compiled(forward)(x)
    torch.testing.assert_close(found, layer(edge_index, x=x))
    torch.testing.assert_close(layer.scale.detach(), torch.full((D,), 2.0))


class Scaled(Sum):
    """Its source can be read, so pickles find it."""

    def __init__(self):
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(D, D)
        self.factor = 1.0

    def message(self, x_j):
        return self.lin(x_j) * self.factor


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))], ids=["copy", "pickle"])
def test_copies_are_layers_of_their_own(duplicate):
    edge_index, x = graph_and_nodes()
    layer = Scaled()
    whole = compiled(lambda layer, x: layer(x, edge_index))
    wanted = whole(layer, x).detach()
    other = duplicate(layer)
    assert _propagate_op.layers[id(other)] is other and _propagate_op.layers[id(layer)] is layer
    other.factor = 3.0
    torch.testing.assert_close(whole(other, x), 3 * wanted)
    assert torch.equal(whole(layer, x), wanted)
    whole(other, x).sum().backward()
    assert layer.lin.weight.grad is None and other.lin.weight.grad is not None


def test_layers_that_are_gone_leave_nothing_behind():
    edge_index, x = graph_and_nodes()
    gc.collect()
    before = len(_propagate_op.layers)
    layer = hector.compile(layer_of(lambda self, x_j: x_j))()
    compiled(lambda x: layer(edge_index, x=x))(x.clone().requires_grad_()).sum().backward()
    gone = weakref.ref(layer)
    assert len(_propagate_op.layers) == before + 1 and not _propagate_op._waiting
    torch._dynamo.reset()
    del layer
    gc.collect()
    assert gone() is None and len(_propagate_op.layers) == before


def test_results_that_nobody_differentiates_leave_nothing_behind():
    layer = hector.compile(layer_of(lambda self, x_j: x_j))()
    edge_index, x = graph_and_nodes()
    whole = compiled(lambda x: layer(edge_index, x=x))
    for _ in range(3):
        out = whole(x.clone().requires_grad_())
    del out
    gc.collect()
    assert not _propagate_op._waiting


def test_dropout_is_the_same_in_both_passes():
    layer = hector.compile(layer_of(lambda self, x_j: torch.nn.functional.dropout(x_j, 0.5)))()
    edge_index = torch.arange(NODES).expand(2, -1).contiguous()
    x = torch.rand(NODES, D) + 1
    leaf = x.requires_grad_()
    whole = compiled(lambda x: layer(edge_index, x=x))
    out = whole(leaf)
    out.sum().backward(retain_graph=True)
    assert torch.equal(leaf.grad == 0, out == 0) and 0 < int((out == 0).sum()) < out.numel()
    first, leaf.grad = leaf.grad, None
    out.sum().backward()  # runs the forward pass again
    assert torch.equal(leaf.grad, first)
    assert not torch.equal(whole(leaf) == 0, out == 0)


def test_other_tensors_that_require_gradients_are_refused():
    other = torch.nn.Parameter(torch.ones(D))
    layer = hector.compile(layer_of(lambda self, x_j: x_j * other))()
    edge_index, x = graph_and_nodes()
    with pytest.raises(hector.InvalidError, match=r"tensor of shape \[6\].* neither a parameter of the layer"):
        compiled(lambda x: layer(edge_index, x=x))(x.requires_grad_())


def test_other_arguments_break_the_graph():
    layer = hector.compile(layer_of(lambda self, x_j, kind: x_j * len(kind)))()
    edge_index, x = graph_and_nodes()
    forward = lambda x: layer(edge_index, x=x, kind={"a", "b"})  # noqa: E731
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(forward, backend="aot_eager")(x), forward(x))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="hector"):
        compiled(forward)(x)
