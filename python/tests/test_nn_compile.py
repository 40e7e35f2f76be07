"""Layers of `hector.nn` under `torch.compile`."""

from __future__ import annotations

import pytest
from nn_layers import D_EDGE, D_IN, D_OUT, ONE_OF_EACH, as_dict, assert_near, call_of, features, make_graph, ours, torch

import hector

pytestmark = pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="operators need PyTorch 2.4")


def assert_compiled_whole(conv, call):
    """Results and gradients of a layer that `torch.compile` takes whole."""
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    gradients = []
    for layer in (compiled, conv):
        conv.zero_grad()
        out = as_dict(layer(*call))
        sum(value.sum() for value in out.values()).backward()
        gradients.append((out, {key: value.grad.clone() for key, value in conv.named_parameters() if value.grad is not None}))
    (found, found_gradients), (wanted, wanted_gradients) = gradients
    for key, value in wanted.items():
        assert torch.equal(found[key], value)
    assert wanted_gradients and set(found_gradients) == set(wanted_gradients)
    for key, value in wanted_gradients.items():
        torch.testing.assert_close(found_gradients[key], value)
    return compiled


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_torch_compile_takes_a_layer_whole(name, arguments):
    torch._dynamo.reset()
    assert_compiled_whole(getattr(ours, name)(*arguments), call_of(name))


def test_compiled_layers_see_other_edges_and_sizes():
    torch._dynamo.reset()
    conv, x = ours.GATConv(D_IN, D_OUT), features(30)
    edge_index, _ = make_graph("loops")
    compiled = assert_compiled_whole(conv, (x, edge_index))
    other = edge_index.flip(0).contiguous()
    assert torch.equal(compiled(x, other), conv(x, other))
    edge_index[0] = 3
    assert torch.equal(compiled(x, edge_index), conv(x, edge_index))
    fewer = make_graph("one_edge")[0]
    assert torch.equal(compiled(features(31), fewer), conv(features(31), fewer))


def test_compiled_layers_with_other_numbers():
    torch._dynamo.reset()
    x, (edge_index, _) = features(30), make_graph("random")
    for slope in (0.1, 0.3, 0.4):
        assert_compiled_whole(ours.GATConv(D_IN, D_OUT, negative_slope=slope), (x, edge_index))
    conv = ours.GATConv(D_IN, D_OUT, negative_slope=0.5)
    wanted = conv(x, edge_index)
    conv.negative_slope = 0.9
    assert not torch.equal(conv(x, edge_index), wanted)


def test_dropout_of_compiled_layers_drops():
    torch._dynamo.reset()
    x, (edge_index, _) = features(30), make_graph("random")
    conv = ours.GATConv(D_IN, D_OUT, dropout=0.5)
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    assert not torch.equal(compiled(x, edge_index), compiled(x, edge_index))


def test_edges_of_compiled_layers_are_checked():
    torch._dynamo.reset()
    compiled = torch.compile(ours.SAGEConv(D_IN, D_OUT), fullgraph=True, backend="aot_eager")
    with pytest.raises(hector.InvalidError, match=r"`edge_index\[0\]` holds node 31"):
        compiled(features(30), torch.tensor([[31], [0]]))


def test_layers_whose_sizes_depend_on_loops_break_the_graph():
    torch._dynamo.reset()
    edge_index, _ = make_graph("loops")
    conv, call = ours.GATConv(D_IN, D_OUT, edge_dim=D_EDGE), (features(30), edge_index, features(edge_index.size(1), D_EDGE))
    compiled = torch.compile(conv, backend="aot_eager")
    assert_near(compiled(*call), conv(*call), 1e-6, "out")
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(ours.GATConv(D_IN, D_OUT, edge_dim=D_EDGE), fullgraph=True, backend="aot_eager")(*call)
