"""GCN, GAT, GATv2 and SAGE beside PyTorch Geometric's: results and gradients."""

from __future__ import annotations

import pytest
from nn_layers import (  # fmt: skip
    D_EDGE, D_IN, D_OUT, RELATIONS, assert_near, cases, compare, features, make_graph, ours, pyg, torch,
)


GCN_OPTIONS = [
    {},
    {"bias": False},
    {"improved": True},
    {"add_self_loops": False},
    {"normalize": False},
    {"cached": True},
]


def without_second_loops(edge_index):
    """PyG gives all loops of a node the gradient of the one that counts."""
    seen, places = set(), []
    for place, (src, dst) in enumerate(edge_index.t().tolist()):
        if src != dst or src not in seen:
            places.append(place)
        if src == dst:
            seen.add(src)
    return edge_index[:, places]


@pytest.mark.parametrize("has_weights", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("options, kind, seed", cases(GCN_OPTIONS))
def test_gcn(options, kind, seed, has_weights):
    edge_index, _ = make_graph(kind, seed=seed)
    arguments = (features(30), edge_index)
    if has_weights:
        edge_index = without_second_loops(edge_index)
        weights = torch.rand(edge_index.size(1), generator=torch.Generator().manual_seed(3)) + 0.5
        arguments = (features(30), edge_index, weights)
    compare("GCNConv", ((D_IN, D_OUT), options), arguments)


def test_the_last_loop_of_a_node_counts():
    edge_index = torch.tensor([[0, 1, 1, 1, 2, 0], [1, 1, 1, 2, 2, 0]])
    weights = torch.tensor([0.5, 2.0, 3.0, 4.0, 5.0, 6.0])
    mine, theirs = ours.GCNConv(D_IN, D_OUT), pyg.GCNConv(D_IN, D_OUT)
    mine.load_state_dict(theirs.state_dict())
    x = features(4)
    assert_near(mine(x, edge_index, weights), theirs(x, edge_index, weights), 1e-5, "out")


GAT_OPTIONS = [
    {},
    {"heads": 2},
    {"heads": 2, "concat": False, "negative_slope": 0.3},
    {"heads": 2, "add_self_loops": False},
    {"heads": 2, "residual": True, "bias": False},
    {"heads": 2, "edge_dim": D_EDGE},
    {"heads": 2, "edge_dim": D_EDGE, "fill_value": "add", "concat": False},
    {"heads": 2, "edge_dim": D_EDGE, "fill_value": 0.5, "residual": True},
    {"heads": 2, "edge_dim": D_EDGE, "fill_value": "max"},
    {"heads": 2, "edge_dim": D_EDGE, "fill_value": "min"},
    {"heads": 2, "edge_dim": D_EDGE, "fill_value": "mul"},
    {"heads": 2, "edge_dim": D_EDGE, "add_self_loops": False},
]


def attention_arguments(options, edge_index, x):
    has_edges = "edge_dim" in options
    return (x, edge_index, features(edge_index.size(1), D_EDGE)) if has_edges else (x, edge_index)


@pytest.mark.parametrize("options, kind, seed", cases(GAT_OPTIONS))
def test_gat(options, kind, seed):
    edge_index, _ = make_graph(kind, seed=seed)
    compare("GATConv", ((D_IN, D_OUT), options), attention_arguments(options, edge_index, features(30)))


GATV2_OPTIONS = [*GAT_OPTIONS, {"share_weights": True}, {"heads": 2, "share_weights": True, "bias": False}]


@pytest.mark.parametrize("options, kind, seed", cases(GATV2_OPTIONS))
def test_gatv2(options, kind, seed):
    edge_index, _ = make_graph(kind, seed=seed)
    compare("GATv2Conv", ((D_IN, D_OUT), options), attention_arguments(options, edge_index, features(30)))


@pytest.mark.parametrize("in_channels", [(D_IN, 4), D_IN], ids=["two_widths", "one_width"])
@pytest.mark.parametrize("options", [{"heads": 2}, {"residual": True, "add_self_loops": False}], ids=str)
@pytest.mark.parametrize("num_src, num_dst", [(30, 12), (12, 30)])
@pytest.mark.parametrize("layer", ["GATConv", "GATv2Conv"])
def test_attention_of_a_pair(layer, options, in_channels, num_src, num_dst):
    edge_index, _ = make_graph("random", num_src, num_dst)
    x = (features(num_src), features(num_dst, in_channels[1] if isinstance(in_channels, tuple) else in_channels))
    compare(layer, ((in_channels, D_OUT), options), (x, edge_index))


def test_gatv2_of_a_pair_that_shares_weights():
    edge_index, _ = make_graph("random", 30, 12)
    compare("GATv2Conv", ((D_IN, D_OUT), {"share_weights": True}), ((features(30), features(12)), edge_index))


def test_gat_of_sources_alone():
    edge_index, _ = make_graph("random", 30, 12)
    options = ((D_IN, D_OUT), {"heads": 2, "add_self_loops": False})
    compare("GATConv", options, ((features(30), None), edge_index), call_options={"size": (30, 12)})
    compare("GATConv", options, ((features(30), None), make_graph("random")[0]))


def test_gat_of_two_widths_with_one_table():
    compare("GATConv", (((D_IN, D_IN), D_OUT), {"heads": 2}), (features(30), make_graph("loops")[0]))


def test_gat_with_one_number_per_edge():
    edge_index, _ = make_graph("loops")
    for layer in ("GATConv", "GATv2Conv"):
        numbers = features(edge_index.size(1), 1).view(-1)
        compare(layer, ((D_IN, D_OUT), {"edge_dim": 1}), (features(30), edge_index, numbers))


def test_gat_with_a_tensor_for_loops():
    edge_index, _ = make_graph("loops")
    options = {"edge_dim": D_EDGE, "fill_value": torch.tensor([0.1, 0.2, 0.3])}
    compare("GATConv", ((D_IN, D_OUT), options), (features(30), edge_index, features(edge_index.size(1), D_EDGE)))


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("layer", ["GATConv", "GATv2Conv"])
def test_attention_weights_are_returned(layer, loops):
    compare(
        layer,
        ((D_IN, D_OUT), {"heads": 2, "add_self_loops": loops}),
        (features(30), make_graph("loops")[0]),
        call_options={"return_attention_weights": True},
    )


@pytest.mark.parametrize("layer", ["GATConv", "GATv2Conv"])
def test_dropout_drops_weights_in_training(layer):
    conv = getattr(ours, layer)(D_IN, D_OUT, heads=2, dropout=0.4)
    x, (edge_index, _) = features(30), make_graph("random")
    torch.manual_seed(1)
    out, (_, weights) = conv(x, edge_index, return_attention_weights=True)
    again, _ = conv(x, edge_index, return_attention_weights=True)
    torch.manual_seed(1)
    same, _ = conv(x, edge_index, return_attention_weights=True)
    assert torch.equal(out, same) and not torch.equal(out, again)
    _, (_, expected) = conv.eval()(x, edge_index, return_attention_weights=True)
    dropped = weights == 0.0
    assert 0.25 < float(dropped.float().mean()) < 0.55
    assert_near(weights[~dropped], expected[~dropped] / 0.6, 1e-5, "weights that were kept")
    compare(layer, ((D_IN, D_OUT), {"heads": 2, "dropout": 0.0}), (x, edge_index))


def test_dropout_does_nothing_in_evaluation():
    edge_index, edge_type = make_graph("random")
    for name, arguments, more in (
        ("GATConv", (D_IN, D_OUT), ()),
        ("GATv2Conv", (D_IN, D_OUT), ()),
        ("RGATConv", (D_IN, D_OUT, RELATIONS), (edge_type,)),
    ):
        mine, theirs = getattr(ours, name)(*arguments, dropout=0.5), getattr(pyg, name)(*arguments, dropout=0.5)
        mine.load_state_dict(theirs.state_dict())
        x = features(30)
        found, wanted = mine.eval()(x, edge_index, *more), theirs.eval()(x, edge_index, *more)
        assert_near(found, wanted, 1e-5, name)


SAGE_OPTIONS = [
    {},
    {"aggr": "sum"},
    {"aggr": "max"},
    {"aggr": "min", "bias": False},
    {"normalize": True},
    {"normalize": True, "root_weight": False, "bias": False},
    {"project": True},
    {"project": True, "aggr": "max"},
    {"root_weight": False},
    {"aggr": "add", "normalize": True},
]


@pytest.mark.parametrize("options, kind, seed", cases(SAGE_OPTIONS))
def test_sage(options, kind, seed):
    edge_index, _ = make_graph(kind, seed=seed)
    compare("SAGEConv", ((D_IN, D_OUT), options), (features(30), edge_index))


@pytest.mark.parametrize("options", [{}, {"aggr": "max", "project": True}, {"root_weight": False}], ids=str)
@pytest.mark.parametrize("num_src, num_dst", [(30, 12), (12, 30)])
def test_sage_of_a_pair(options, num_src, num_dst):
    edge_index, _ = make_graph("random", num_src, num_dst)
    compare("SAGEConv", (((D_IN, 4), D_OUT), options), ((features(num_src), features(num_dst, 4)), edge_index))


def test_sage_of_sources_alone():
    edge_index, _ = make_graph("random", 30, 12)
    x = (features(30), None)
    compare("SAGEConv", ((D_IN, D_OUT), {}), (x, edge_index), call_options={"size": (30, 12)})
