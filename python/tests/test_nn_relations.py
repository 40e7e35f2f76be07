"""RGCN, RGAT and HGT beside PyTorch Geometric's: results and gradients."""

from __future__ import annotations

import pytest
from nn_layers import (  # fmt: skip
    D_EDGE, D_IN, D_OUT, METADATA, RELATIONS, assert_near, cases, compare, features, make_graph, ours, pyg, torch,
)


RGCN_OPTIONS = [
    {},
    {"num_bases": 3},
    {"num_blocks": 2},
    {"aggr": "add", "bias": False},
    {"aggr": "max"},
    {"aggr": "min", "root_weight": False},
    {"aggr": "max", "num_bases": 3},
    {"aggr": "add", "num_blocks": 4, "root_weight": False, "bias": False},
    {"aggr": "sum", "num_bases": 3, "is_sorted": False},
]


@pytest.mark.parametrize("options, kind, seed", cases(RGCN_OPTIONS))
def test_rgcn(options, kind, seed):
    edge_index, edge_type = make_graph(kind, seed=seed)
    compare("RGCNConv", ((D_IN, D_OUT, RELATIONS), options), (features(30), edge_index, edge_type))


FAST_RGCN_OPTIONS = [
    {},
    {"num_bases": 3},
    {"num_blocks": 2},
    {"aggr": "add"},
    {"aggr": "sum", "num_blocks": 4},
    {"bias": False},
    {"root_weight": False},
    {"aggr": "add", "num_bases": 3, "root_weight": False, "bias": False},
    {"is_sorted": False},
]


@pytest.mark.parametrize("options, kind, seed", cases(FAST_RGCN_OPTIONS))
def test_fast_rgcn(options, kind, seed):
    edge_index, edge_type = make_graph(kind, seed=seed)
    compare("FastRGCNConv", ((D_IN, D_OUT, RELATIONS), options), (features(30), edge_index, edge_type))


@pytest.mark.parametrize("options", [{}, {"aggr": "max", "num_bases": 3}, {"num_blocks": 2, "root_weight": False}], ids=str)
@pytest.mark.parametrize("num_src, num_dst", [(30, 12), (12, 30)])
def test_rgcn_of_a_pair(options, num_src, num_dst):
    edge_index, edge_type = make_graph("random", num_src, num_dst)
    x = (features(num_src), features(num_dst, 4))
    compare("RGCNConv", (((D_IN, 4), D_OUT, RELATIONS), options), (x, edge_index, edge_type))


@pytest.mark.parametrize("kind", ["random", "no_edges", "isolated"])
@pytest.mark.parametrize("options", [{}, {"num_bases": 3}, {"aggr": "max"}, {"root_weight": False, "aggr": "add"}], ids=str)
@pytest.mark.parametrize("layer", ["RGCNConv", "FastRGCNConv"])
def test_rgcn_of_ids(layer, options, kind):
    if layer == "FastRGCNConv" and options.get("aggr") == "max":
        pytest.skip("PyG's FastRGCNConv has no max")
    edge_index, edge_type = make_graph(kind)
    compare(layer, ((30, D_OUT, RELATIONS), options), (None, edge_index, edge_type))


def test_rgcn_of_a_pair_of_ids():
    generator = torch.Generator().manual_seed(1)
    x = (torch.randint(50, (30,), generator=generator), torch.randint(50, (12,), generator=generator))
    for options in ({}, {"num_bases": 3}):
        compare("RGCNConv", ((50, D_OUT, RELATIONS), options), (x, *make_graph("random", 30, 12)))


RGAT_OPTIONS = [
    {},
    {"heads": 2},
    {"heads": 2, "concat": False, "bias": False},
    {"attention_mechanism": "within-relation", "heads": 2},
    {"num_bases": 3, "heads": 2, "negative_slope": 0.1},
    {"num_blocks": 2, "heads": 2},
    {"attention_mode": "multiplicative-self-attention", "heads": 2},
    {"attention_mode": "multiplicative-self-attention", "heads": 2, "dim": 3},
    {"attention_mode": "multiplicative-self-attention", "dim": 2, "concat": False, "attention_mechanism": "within-relation"},
    {"mod": "additive", "heads": 2},
    {"mod": "scaled", "heads": 2, "concat": False},
    {"mod": "f-additive"},
    {"mod": "f-scaled", "heads": 2},
    {"mod": "additive", "attention_mode": "multiplicative-self-attention", "dim": 2, "heads": 2},
]


@pytest.mark.parametrize("options, kind, seed", cases(RGAT_OPTIONS, 2))
def test_rgat(options, kind, seed):
    edge_index, edge_type = make_graph(kind, seed=seed)
    compare("RGATConv", ((D_IN, D_OUT, RELATIONS), options), (features(30), edge_index, edge_type))


@pytest.mark.parametrize("kind", ["random", "repeated"])
@pytest.mark.parametrize("mode", ["additive-self-attention", "multiplicative-self-attention"])
def test_rgat_with_features_of_edges(mode, kind):
    edge_index, edge_type = make_graph(kind)
    options = {"heads": 2, "edge_dim": D_EDGE, "attention_mode": mode}
    attributes = features(edge_index.size(1), D_EDGE)
    compare("RGATConv", ((D_IN, D_OUT, RELATIONS), options), (features(30), edge_index, edge_type, attributes))


@pytest.mark.parametrize("options", [{"heads": 2}, {"mod": "f-additive"}, {"heads": 2, "dropout": 0.5}], ids=str)
def test_rgat_returns_attention_weights(options):
    edge_index, edge_type = make_graph("random")
    if "dropout" not in options:
        compare(
            "RGATConv",
            ((D_IN, D_OUT, RELATIONS), options),
            (features(30), edge_index, edge_type),
            call_options={"return_attention_weights": True},
        )
        return
    conv = ours.RGATConv(D_IN, D_OUT, RELATIONS, **options)
    x = features(30)
    dropped, (_, weights) = conv(x, edge_index, edge_type, return_attention_weights=True)
    kept, (_, expected) = conv.eval()(x, edge_index, edge_type, return_attention_weights=True)
    assert_near(weights, expected, 1e-6, "weights before dropout")
    assert not torch.allclose(dropped, kept)


HGT_OPTIONS = [
    {"heads": 2},
    {"heads": 1},
    {"heads": 2, "in_channels": 4},
    {"heads": 2, "in_channels": {"a": 8, "b": 4, "c": 6}},
    {"heads": 4, "in_channels": {"a": 8, "b": 8, "c": 8}},
    {"heads": 1, "in_channels": {"a": 8, "b": 4, "c": 8}},
    {"heads": 2, "in_channels": -1},
]


@pytest.mark.parametrize("options, kind, seed", cases(HGT_OPTIONS, 4))
def test_hgt(options, kind, seed):
    counts = {"a": 12, "b": 30, "c": 7}
    options = {"in_channels": D_IN, **options}
    in_channels = options.pop("in_channels")
    widths = in_channels if isinstance(in_channels, dict) else dict.fromkeys(counts, in_channels)
    x_dict = {key: features(count, widths[key] if widths[key] > 0 else D_IN, seed=count) for key, count in counts.items()}
    edges = {
        edge_type: make_graph(kind, counts[edge_type[0]], counts[edge_type[2]], seed + number)[0]
        for number, edge_type in enumerate(METADATA[1])
    }
    if kind == "empty_relations":
        edges[METADATA[1][1]] = edges[METADATA[1][1]][:, :0]
    if in_channels == -1:
        mine, theirs = ours.HGTConv(-1, D_OUT, METADATA, **options), pyg.HGTConv(-1, D_OUT, METADATA, **options)
        with torch.no_grad():
            mine(x_dict, edges)
            theirs(x_dict, edges)
        theirs.load_state_dict(mine.state_dict())
        assert_near(mine(x_dict, edges)["b"], theirs(x_dict, edges)["b"], 1e-5, "b")
        return
    compare("HGTConv", ((in_channels, D_OUT, METADATA), options), (x_dict, edges), seed=seed)


def test_hgt_with_some_of_the_types():
    """Node types without features and edge types without edges may be left out."""
    x_dict = {"a": features(12), "b": features(30, seed=6)}
    edges = {METADATA[1][0]: make_graph("random", 12, 30)[0], METADATA[1][1]: make_graph("random", 30, 12)[0]}
    compare("HGTConv", ((D_IN, D_OUT, METADATA), {"heads": 2}), (x_dict, edges))


def test_hgt_with_dots_in_names():
    """State dicts have other names for these."""
    metadata = (["a", "b"], [("a", "of.b", "b"), ("b", "to", "a")])
    edges = {metadata[1][0]: make_graph("random", 12, 30)[0], metadata[1][1]: make_graph("random", 30, 12)[0]}
    compare("HGTConv", ((D_IN, D_OUT, metadata), {}), ({"a": features(12), "b": features(30)}, edges))
    assert ours._linear.parameter_key("pop") == "<pop>"
