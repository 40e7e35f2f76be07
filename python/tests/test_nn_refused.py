"""What layers of `hector.nn` refuse, by name."""

from __future__ import annotations

import pytest
from nn_layers import D_IN, D_OUT, METADATA, ONE_OF_EACH, RELATIONS, call_of, features, make_graph, ours, torch

import hector


REFUSED_ARGUMENTS = [
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"aggr": "mul"}, "aggr"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"aggr": ["add", "max"]}, "aggr"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"flow": "target_to_source"}, "flow"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"node_dim": 0}, "node_dim"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"num_bases": 2, "num_blocks": 2}, "num_blocks"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), {"num_blocks": 3}, "num_blocks"),
    ("RGCNConv", (-1, D_OUT, RELATIONS), {}, "in_channels"),
    ("FastRGCNConv", (D_IN, D_OUT, RELATIONS), {"aggr": "max"}, "aggr"),
    ("FastRGCNConv", (D_IN, D_OUT, RELATIONS), {"node_dim": 0}, "node_dim"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"mod": "cubic"}, "mod"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"attention_mode": "dot"}, "attention_mode"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"attention_mechanism": "both"}, "attention_mechanism"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"dim": 2}, "dim"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"dropout": 0.5, "mod": "additive"}, "mod"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), {"aggr": "max"}, "aggr"),
    ("HGTConv", (D_IN, D_OUT, METADATA), {"heads": 3}, "heads"),
    ("HGTConv", ({"a": 8}, D_OUT, METADATA), {}, "in_channels"),
    ("HGTConv", (D_IN, D_OUT, (["a"], [("a", "to", "b")])), {}, "metadata"),
    ("GCNConv", (D_IN, D_OUT), {"add_self_loops": True, "normalize": False}, "add_self_loops"),
    ("GCNConv", (D_IN, D_OUT), {"aggr": "max"}, "aggr"),
    ("GCNConv", (D_IN, D_OUT), {"decomposed_layers": 2}, "decomposed_layers"),
    ("GCNConv", (0, D_OUT), {}, "in_channels"),
    ("GATConv", (D_IN, D_OUT), {"dropout": 1.5}, "dropout"),
    ("GATConv", (D_IN, D_OUT), {"fill_value": "median", "edge_dim": 2}, "fill_value"),
    ("GATConv", (D_IN, D_OUT), {"node_dim": -2}, "node_dim"),
    ("GATv2Conv", (D_IN, D_OUT), {"flow": "target_to_source"}, "flow"),
    ("GATv2Conv", ((D_IN, 4), D_OUT), {"share_weights": True}, "share_weights"),
    ("SAGEConv", (D_IN, D_OUT), {"aggr": "lstm"}, "aggr"),
    ("SAGEConv", (-1, D_OUT), {"project": True}, "in_channels"),
]


@pytest.mark.parametrize("name, arguments, options, named", REFUSED_ARGUMENTS, ids=lambda value: str(value).replace(" ", ""))
def test_arguments_are_refused_by_name(name, arguments, options, named):
    with pytest.raises(hector.InvalidError, match=f"`{named}"):
        getattr(ours, name)(*arguments, **options)


def test_unknown_arguments_are_type_errors():
    with pytest.raises(TypeError, match="`edge_weight`"):
        ours.GCNConv(D_IN, D_OUT, edge_weight=True)


@pytest.mark.parametrize("name, arguments", ONE_OF_EACH, ids=lambda value: value if isinstance(value, str) else "")
def test_sparse_matrices_are_refused(name, arguments):
    conv, call = getattr(ours, name)(*arguments), list(call_of(name))
    sparse = torch.sparse_coo_tensor(make_graph("random", 12, 12)[0], torch.ones(120), (12, 12))
    call[1] = {METADATA[1][0]: sparse} if name == "HGTConv" else sparse
    with pytest.raises(hector.InvalidError, match="`edge_index.*sparse"):
        conv(*call)


X, (EDGES, TYPES) = features(30), make_graph("random")
REFUSED_CALLS = [
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), (X, EDGES), "`edge_type` is missing"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), (X, EDGES, TYPES[:5]), r"`edge_type` has shape \[5\].* 120 edges"),
    ("RGCNConv", (D_IN, D_OUT, 2), (X, EDGES, TYPES), "`edge_type` holds relation 3.*`num_relations=2`"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), (X[:, :5], EDGES, TYPES), "`x` has 5 channels.* 8"),
    ("RGCNConv", (D_IN, D_OUT, RELATIONS), (torch.arange(30), EDGES, TYPES), "`x` holds the id 29.* 0 to 7"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), ((X, X), EDGES, TYPES), "`x` is a tuple"),
    ("RGATConv", (D_IN, D_OUT, RELATIONS), (X, EDGES, TYPES, features(120, 3)), "`edge_attr`.*`edge_dim=None`"),
    ("GCNConv", (D_IN, D_OUT), ((X, X), EDGES), "`x` is a tuple"),
    ("GCNConv", (D_IN, D_OUT), (X[:10], EDGES), r"`edge_index\[0\]` holds node 29, but there are 10 sources"),
    ("GCNConv", (D_IN, D_OUT), (X, EDGES, torch.ones(3)), r"`edge_weight` is \[3\].*\[120\]"),
    ("GCNConv", (D_IN, D_OUT), (X, EDGES.float()), "`edge_index` holds torch.float32"),
    ("GCNConv", (D_IN, D_OUT), (X, EDGES.t()), r"`edge_index` has shape \[120, 2\]"),
    ("GCNConv", (D_IN, D_OUT), (X.double(), EDGES), "f64"),
    ("GATConv", (D_IN, D_OUT), (X, EDGES, features(120, 3)), "`edge_attr`.*`edge_dim=None`"),
    ("GATConv", (D_IN, D_OUT, 1, True, 0.2, 0.0, True, 2), (X, EDGES, features(120, 3)), r"`edge_attr`.*\[120, 2\]"),
    ("GATConv", (D_IN, D_OUT), (X, EDGES, None, (30, 20)), r"`size` is \(30, 20\)"),
    ("GATv2Conv", (D_IN, D_OUT), ((X, None), EDGES), r"`x\[1\]` is None"),
    ("GATv2Conv", (D_IN, D_OUT), (X[None], EDGES), r"`x` has shape \[1, 30, 8\]"),
    ("SAGEConv", (D_IN, D_OUT), (X.long(), EDGES), "`x` holds torch.int64"),
    ("SAGEConv", (D_IN, D_OUT), ((X, X[:5]), EDGES), r"`edge_index\[1\]` holds node .* 5 destinations"),
    ("HGTConv", (D_IN, D_OUT, METADATA), ({"z": X}, {}), "`x_dict` has 'z'"),
    ("HGTConv", (D_IN, D_OUT, METADATA), ({"a": X}, {("a", "no", "b"): EDGES}), r"`edge_index_dict` has \('a', 'no', 'b'\)"),
    ("HGTConv", (D_IN, D_OUT, METADATA), ({"a": X}, {("a", "to", "b"): EDGES}), "`x_dict` has no 'b'"),
]


@pytest.mark.parametrize("number", range(len(REFUSED_CALLS)))
def test_inputs_are_refused_by_name(number):
    name, arguments, call, message = REFUSED_CALLS[number]
    with pytest.raises(hector.InvalidError, match=message):
        getattr(ours, name)(*arguments)(*call)


def test_every_variant_of_a_text_names_its_options():
    """A mark that names an unknown option would fail only where a layer is called."""
    from hector.nn import _texts, gat, gcn, hgt, rgat, rgcn, sage

    for text in (gat.GAT, gat.GATV2, gcn.GCN, hgt.HGT, rgat.RGAT, rgcn.RGCN, rgcn.RGCN_OF_IDS, sage.SAGE):
        for line in text.splitlines():
            assert "# if" not in line or _texts._MARK.search(line), line
    text = "a  # if x and not y\nb\nc  # if y"
    assert _texts.choose(text, {"x": True, "y": False}) == "a\nb\n"
    assert _texts.choose(text, {"x": True, "y": True}) == "b\nc\n"
