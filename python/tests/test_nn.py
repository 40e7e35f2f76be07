"""What all layers of `hector.nn` have in common: state dicts, copies, types, and graphs that are kept."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from nn_layers import (  # fmt: skip
    D_EDGE, D_IN, D_OUT, METADATA, ONE_OF_EACH, RELATIONS, as_dict, assert_near, call_of, compare, features,
    make_graph, ours, pyg, torch,
)

import hector


LAYERS = [
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {}),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"num_bases": 2}),
    ("FastRGCNConv", (D_IN, D_OUT, RELATIONS), {"num_blocks": 2}),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"heads": 2, "edge_dim": D_EDGE}),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"num_bases": 2}),
    ("HGTConv", (D_IN, D_OUT, METADATA), {"heads": 2}),
    ("GCNConv", (D_IN, D_OUT), {}),
    ("GATConv", (D_IN, D_OUT), {"heads": 2, "edge_dim": D_EDGE, "residual": True}),
    ("GATConv", ((D_IN, 4), D_OUT), {}),
    ("GATv2Conv", (D_IN, D_OUT), {"heads": 2, "edge_dim": D_EDGE, "residual": True}),
    ("GATv2Conv", (D_IN, D_OUT), {"share_weights": True}),
    ("SAGEConv", (D_IN, D_OUT), {"project": True}),
    ("SAGEConv", ((D_IN, 4), D_OUT), {}),
]


@pytest.mark.parametrize("name, arguments, options", LAYERS, ids=lambda value: str(value).replace(" ", ""))
def test_layers_start_from_the_same_numbers(name, arguments, options):
    torch.manual_seed(7)
    theirs = getattr(pyg, name)(*arguments, **options).state_dict()
    torch.manual_seed(7)
    mine = getattr(ours, name)(*arguments, **options).state_dict()
    assert set(mine) == set(theirs)
    for key, value in theirs.items():
        if key != "l2":  # PyG leaves it as it was allocated
            assert torch.equal(mine[key], value), key


UNSORTED = (["c", "b", "a"], [("c", "of", "b"), ("a", "to", "b"), ("b", "items", "a"), ("b", "in", "a")])


@pytest.mark.parametrize("name, arguments, options", [*LAYERS, ("HGTConv", (D_IN, D_OUT, UNSORTED), {})])
def test_parameters_have_the_same_order(name, arguments, options):
    """Optimisers save their state by the number of a parameter."""
    mine, theirs = (getattr(layers, name)(*arguments, **options) for layers in (ours, pyg))
    assert [key for key, _ in mine.named_parameters()] == [key for key, _ in theirs.named_parameters()]


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_float64(name, arguments):
    compare(name, (arguments, {}), call_of(name, torch.float64), torch.float64)


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_copies_and_pickles_compute_the_same(name, arguments):
    conv, call = getattr(ours, name)(*arguments), call_of(name)
    wanted = as_dict(conv(*call))
    for other in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        for key, value in as_dict(other(*call)).items():
            assert torch.equal(value, wanted[key])


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_ids_of_32_bits(name, arguments):
    conv, call = getattr(ours, name)(*arguments), call_of(name)

    def narrow(value):
        if isinstance(value, dict):
            return {key: narrow(item) for key, item in value.items()}
        return value if value.is_floating_point() else value.int()

    wanted = as_dict(conv(*call))
    for key, value in as_dict(conv(*(narrow(value) for value in call))).items():
        assert torch.equal(value, wanted[key])


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv", "SAGEConv"])
def test_the_first_input_decides_a_width(name):
    mine, theirs = getattr(ours, name)(-1, D_OUT), getattr(pyg, name)(-1, D_OUT)
    assert repr(mine) == repr(theirs)
    x, edge_index = call_of(name)
    torch.manual_seed(3)
    theirs(x, edge_index)
    torch.manual_seed(3)
    mine(x, edge_index)
    assert set(mine.state_dict()) == set(theirs.state_dict())
    theirs.load_state_dict(mine.state_dict())
    assert_near(mine(x, edge_index), theirs(x, edge_index), 1e-5, "out")
    fresh = getattr(ours, name)(-1, D_OUT)
    fresh.state_dict()
    fresh.load_state_dict(theirs.state_dict())
    assert_near(fresh(x, edge_index), theirs(x, edge_index), 1e-5, "out of a layer that was loaded")


def test_layers_need_no_pyg():
    code = (
        "import sys; sys.modules['torch_geometric'] = None\n"
        "import torch, hector.nn\n"
        "print(hector.nn.SAGEConv(3, 2)(torch.rand(3, 3), torch.tensor([[0, 1], [1, 2]])).shape)"
    )
    python = str(Path(hector.__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": python}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "torch.Size([3, 2])", done.stderr


# --- graphs that are kept


def test_a_graph_is_made_once_and_again_after_a_change():
    conv = ours.SAGEConv(D_IN, D_OUT)
    theirs = pyg.SAGEConv(D_IN, D_OUT)
    theirs.load_state_dict(conv.state_dict())
    x, (edge_index, _) = features(30), make_graph("random")
    first = ours._graphs.edges_as_given(edge_index, 30, 30)
    assert ours._graphs.edges_as_given(edge_index, 30, 30) is first
    assert_near(conv(x, edge_index), theirs(x, edge_index), 1e-5, "out")
    edge_index[0, 0] = (edge_index[0, 0] + 1) % 30
    assert ours._graphs.edges_as_given(edge_index, 30, 30) is not first
    assert_near(conv(x, edge_index), theirs(x, edge_index), 1e-5, "out after a change")


def test_a_graph_is_made_again_after_a_silent_change():
    conv, theirs = ours.SAGEConv(D_IN, D_OUT), pyg.SAGEConv(D_IN, D_OUT)
    theirs.load_state_dict(conv.state_dict())
    x, (edge_index, _) = features(30), make_graph("random")
    conv(x, edge_index)
    edge_index.numpy()[:] = make_graph("star")[0].numpy()  # tells PyTorch nothing
    assert_near(conv(x, edge_index), theirs(x, edge_index), 1e-5, "out after a change")


def test_a_graph_goes_with_its_tensors():
    from hector import _known

    conv, x = ours.GATConv(D_IN, D_OUT), features(30)
    hector.clear_cache()
    edge_index, _ = make_graph("loops", seed=77)
    conv(x, edge_index)
    ours.RGCNConv(D_IN, D_OUT, RELATIONS)(x, edge_index, torch.zeros(edge_index.size(1), dtype=torch.int64))
    assert len(_known._holders) == 1
    gone = weakref.ref(edge_index)
    del edge_index
    gc.collect()
    assert gone() is None and len(_known._holders) == 0


def test_edges_that_are_returned_are_the_callers():
    conv, x = ours.GATConv(D_IN, D_OUT), features(30)
    edge_index, _ = make_graph("loops")
    out, (edges, _) = conv(x, edge_index, return_attention_weights=True)
    wanted = edges.clone()
    edges += 100
    again, (edges, _) = conv(x, edge_index, return_attention_weights=True)
    assert torch.equal(edges, wanted) and torch.equal(again, out)


def test_inference_mode():
    conv, theirs = ours.GATConv(D_IN, D_OUT), pyg.GATConv(D_IN, D_OUT)
    theirs.load_state_dict(conv.state_dict())
    with torch.inference_mode():
        x, (edge_index, _) = features(30), make_graph("loops")
        assert_near(conv(x, edge_index), theirs(x, edge_index), 1e-5, "out")
        edge_index[0, 0] = (edge_index[0, 0] + 1) % 30
        assert_near(conv(x, edge_index), theirs(x, edge_index), 1e-5, "out after a change")
    x, (edge_index, _) = features(30).requires_grad_(), make_graph("loops")
    conv(x, edge_index).sum().backward()
    assert x.grad is not None


def test_a_cached_gcn_keeps_its_first_graph():
    conv, x = ours.GCNConv(D_IN, D_OUT, cached=True), features(30)
    first, other = make_graph("random")[0], make_graph("star")[0]
    out = conv(x, first)
    assert torch.equal(conv(x, other), out)
    assert not torch.equal(copy.deepcopy(conv)(x, other), out)
    conv.reset_parameters()
    conv(x, other)


def test_a_stack_learns():
    torch.manual_seed(0)
    edge_index, edge_type = make_graph("random")
    x, labels = features(30), torch.randint(3, (30,))
    convs = torch.nn.ModuleList([ours.RGCNConv(D_IN, D_OUT, RELATIONS), ours.RGATConv(D_OUT, 3, RELATIONS)])
    optimiser = torch.optim.Adam(convs.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        h = torch.relu(convs[0](x, edge_index, edge_type))
        loss = torch.nn.functional.cross_entropy(convs[1](h, edge_index, edge_type), labels)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
