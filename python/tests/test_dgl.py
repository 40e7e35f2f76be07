"""`@hector.compile` on classes and functions for DGL, as their authors write them."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
dgl = pytest.importorskip("dgl")

import dgl.function as fn  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from dgl.nn.functional import edge_softmax  # noqa: E402

import dgl_models as models  # noqa: E402
import hector  # noqa: E402

NODES, EDGES, D, TYPES = 30, 120, 8, 3


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(7)
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_warnings():
    """What Hector computes is computed without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.fixture
def g():
    """A graph with isolated nodes, repeated edges and self loops."""
    src, dst = torch.randint(0, NODES - 4, (EDGES,)), torch.randint(0, NODES - 4, (EDGES,))
    src[:10], dst[:10] = src[10:20], dst[10:20]
    dst[20:30] = src[20:30]
    graph = dgl.graph((src, dst), num_nodes=NODES)
    graph.edata["rel_type"] = torch.randint(0, TYPES, (EDGES,))
    graph.edata["norm"] = torch.rand(EDGES, 1)
    return graph


def compiled(layer):
    """The same layer of a compiled class. The class itself stays as it is."""
    made = copy.copy(layer)
    made.__class__ = hector.compile(type(layer.__class__.__name__, (layer.__class__,), {"__module__": __name__}))
    return made


def results_and_gradients(function, parameters, inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    for parameter in parameters:
        parameter.grad = None
    found = function(*inputs)
    found = found if isinstance(found, tuple) else (found,)
    generator = torch.Generator().manual_seed(1)
    loss = sum((x * torch.randn(x.shape, generator=generator)).sum() for x in found)
    loss.backward()
    gradients = [x.grad.clone() for x in (*inputs, *parameters) if x.grad is not None]
    return [x.detach() for x in found], gradients


def check(plain, ours, inputs, parameters=()):
    """Two functions have the same results and gradients."""
    parameters = list(parameters)
    wanted, found = (results_and_gradients(function, parameters, inputs) for function in (plain, ours))
    assert len(wanted[1]) == len(found[1])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def check_layer(layer, g, *inputs):
    ours = compiled(layer)
    check(lambda *x: layer(g, *x), lambda *x: ours(g, *x), inputs, layer.parameters())


def check_function(function, g, *inputs):
    ours = hector.compile(function)
    check(lambda *x: function(g, *x), lambda *x: ours(g, *x), inputs)


# --- models


LAYERS = {
    "sage": (models.GraphSage, ()),
    "gat": (models.Gat, ()),
    "rgcn": (models.Rgcn, ()),
    "typed_rgcn": (models.TypedRgcn, ()),
    "gated_gcn": (models.GatedGcn, (D,)),
    "gated_gcn_of_functions": (models.GatedGcnOfFunctions, (D,)),
    "edge_conv": (models.EdgeConv, ()),
    "monet": (models.Monet, (2,)),
    "appnp": (models.Appnp, ()),
    "gin": (models.Gin, ()),
    "gatv2": (models.Gatv2, ()),
    "agnn": (models.Agnn, ()),
    "graph_transformer": (models.GraphTransformer, ()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_models_compute_what_dgl_does(name, g):
    cls, columns = LAYERS[name]
    check_layer(cls(D), g, torch.randn(NODES, D), *(torch.randn(EDGES, count) for count in columns))


def test_standard_deviations_of_messages(g):
    """In float64, as their gradients are large where a node has one message."""
    check_layer(models.Pna(D).double(), g, torch.randn(NODES, D, dtype=torch.float64))


def test_a_class_that_names_itself_is_compiled(g):
    class Layer(models.Gcn):
        def __init__(self, d):
            super(Layer, self).__init__(d)

    plain = models.Gcn(D)
    Layer = hector.compile(Layer)
    ours, x = Layer(D), torch.randn(NODES, D)  # does not call itself
    ours.load_state_dict(plain.state_dict())
    torch.testing.assert_close(ours(g, x), plain(g, x))


def test_functions_of_edges_and_nodes_with_norm(g):
    check_layer(models.Gcn(D), g, torch.randn(NODES, D))


def test_a_softmax_over_the_mailbox_and_a_graph_that_the_layer_has(g):
    layer = models.GatOfFunctions(g, D)
    check(layer, compiled(layer), [torch.randn(NODES, D)], layer.parameters())


@pytest.mark.parametrize("name", ["GraphConv", "SAGEConv", "GATConv", "GATv2Conv", "GINConv", "RelGraphConv", "EdgeConv"])
def test_layers_of_dgl(name, g):
    cls, x = getattr(dgl.nn, name), torch.randn(NODES, D)
    arguments = {
        "GraphConv": dict(in_feats=D, out_feats=D, allow_zero_in_degree=True),
        "SAGEConv": dict(in_feats=D, out_feats=D, aggregator_type="pool"),
        "GATConv": dict(in_feats=D, out_feats=4, num_heads=2, allow_zero_in_degree=True),
        "GATv2Conv": dict(in_feats=D, out_feats=4, num_heads=2, allow_zero_in_degree=True),
        "GINConv": dict(apply_func=nn.Linear(D, D), aggregator_type="max"),
        "RelGraphConv": dict(in_feat=D, out_feat=D, num_rels=TYPES, regularizer="basis", num_bases=2),
        "EdgeConv": dict(in_feat=D, out_feat=D, allow_zero_in_degree=True),
    }[name]
    layer, more = cls(**arguments), (g.edata["rel_type"],) if name == "RelGraphConv" else ()
    ours = hector.compile(cls)(**arguments)
    ours.load_state_dict(layer.state_dict())
    assert not hasattr(cls.forward, "__wrapped__")  # DGL's class stays as it is
    wanted = results_and_gradients(lambda x: layer(g, x, *more), list(layer.parameters()), [x])
    found = results_and_gradients(lambda x: ours(g, x, *more), list(ours.parameters()), [x])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


# --- single operations


def passing(message, reduce):
    def layer(g, x, w):
        with g.local_scope():
            g.ndata["h"], g.edata["w"] = x, w
            g.update_all(message, reduce)
            return g.ndata["o"]

    return layer


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("message", ["u_add_v", "v_sub_u", "u_mul_e", "e_div_u", "e_mul_v", "u_dot_v", "e_dot_v", "v_add_e"])
def test_built_in_functions(message, reduce, g):
    fields = {"u": "h", "v": "h", "e": "w"}
    built_in = getattr(fn, message)(fields[message[0]], fields[message[-1]], "m")
    layer = passing(built_in, getattr(fn, reduce)("m", "o"))
    check_function(layer, g, torch.rand(NODES, D) + 0.5, torch.rand(EDGES, D) + 0.5)


@pytest.mark.parametrize("shapes", [((D,), ()), ((2, D), (2, 1)), ((2, D), (D,)), ((), ()), ((2, 1), (2, D))])
def test_built_in_functions_broadcast(shapes, g):
    layer = passing(fn.u_mul_e("h", "w", "m"), fn.sum("m", "o"))
    check_function(layer, g, torch.randn(NODES, *shapes[0]), torch.randn(EDGES, *shapes[1]))


def test_infinite_maxima_are_zero_as_in_dgl(g):
    x = torch.randn(NODES, D)
    x[:3] = float("inf")
    layer = passing(fn.copy_u("h", "m"), fn.max("m", "o"))
    torch.testing.assert_close(hector.compile(layer)(g, x, torch.zeros(EDGES)), layer(g, x, torch.zeros(EDGES)))


REDUCERS = {
    "method": lambda nodes: {"o": nodes.mailbox["m"].sum(1)},
    "negative_axis": lambda nodes: {"o": nodes.mailbox["m"].mean(dim=-2)},
    "max": lambda nodes: {"o": torch.max(nodes.mailbox["m"], dim=1).values},
    "max_of_two": lambda nodes: {"o": torch.max(nodes.mailbox["m"].max(1)[0], nodes.data["h"])},
    "bias": lambda nodes: {"o": nodes.mailbox["m"].sum(1) + 1.0},
    "old_value": lambda nodes: {"o": nodes.data["h"] + torch.tanh(nodes.mailbox["m"]).sum(1)},
    "mean_and_deviation": lambda nodes: {
        "o": torch.sqrt(((nodes.mailbox["m"] - nodes.mailbox["m"].mean(1, keepdim=True)) ** 2).mean(1) + 1e-3)
    },
    "ratio": lambda nodes: {"o": nodes.mailbox["m"].sum(1) / nodes.mailbox["m"].exp().sum(1)},
    "several": lambda nodes: {
        "o": torch.cat([nodes.mailbox["m"].mean(1), nodes.mailbox["m"].max(1)[0], nodes.mailbox["m"].min(dim=1)[0]], dim=1)
    },
    "query": lambda nodes: {
        "o": (
            torch.softmax((nodes.data["h"].unsqueeze(1) * nodes.mailbox["m"]).sum(-1), 1).unsqueeze(-1) * nodes.mailbox["m"]
        ).sum(1)
    },
    "dropout_in_eval": lambda nodes: {"o": (F.dropout(nodes.mailbox["m"], 0.5, training=False)).sum(1)},
    "linear": lambda nodes: {"o": F.linear(nodes.mailbox["m"], torch.full((3, D), 0.5)).sum(1)},
    "weights": lambda nodes: {"o": (nodes.mailbox["m"] * torch.softmax(torch.arange(1.0, D + 1), dim=0)).sum(1)},
    "width": lambda nodes: {"o": nodes.mailbox["m"].sum(1) / nodes.mailbox["m"].shape[-1] ** 0.5},
    "number_of_nodes": lambda nodes: {"o": nodes.mailbox["m"].sum(1) + torch.ones(nodes.batch_size(), 1)},
    "joined": lambda nodes: {"o": torch.cat([nodes.mailbox["m"], nodes.mailbox["m"] ** 2], dim=-1).sum(1)},
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCERS)
def test_functions_of_nodes(name, g):
    layer = passing(lambda edges: {"m": edges.src["h"] * edges.data["w"]}, REDUCERS[name])
    check_function(layer, g, torch.randn(NODES, D), torch.randn(EDGES, 1))


def test_reductions_that_are_read_together_are_one_model(g, monkeypatch):
    from hector import _dgl_functions

    calls = []
    run = _dgl_functions.run
    monkeypatch.setattr(_dgl_functions, "run", lambda *args: calls.append(1) or run(*args))
    ours = compiled(models.GatedGcnOfFunctions(D))
    ours(g, torch.randn(NODES, D), torch.randn(EDGES, D))
    assert len(calls) == 1


def test_weights_of_types_are_not_copied_to_edges(g):
    from hector import _dgl_functions

    hector.clear_cache()
    ours = compiled(models.Rgcn(D))
    ours(g, torch.randn(NODES, D))
    ((_, model),) = _dgl_functions._models.items()
    assert f"EdgeType[{D}, {D}]" in model._text[0] and f"Edge[{D}, {D}]" not in model._text[0]


@pytest.mark.parametrize("norm_by", ["dst", "src"])
def test_edge_softmax(norm_by, g):
    def attention(g, scores):
        return edge_softmax(g, scores, norm_by=norm_by)

    check_function(attention, g, torch.randn(EDGES, 2, 1))


def test_apply_edges_gives_several_values(g):
    def layer(g, x, w):
        with g.local_scope():
            g.ndata["h"], g.edata["w"] = x, w
            g.apply_edges(lambda edges: {
                "a": edges.src["h"] - edges.dst["h"], "b": torch.relu(edges.data["w"]), "t": edges.data["rel_type"] * 2
            })  # fmt: skip
            assert g.edata["t"].dtype == torch.int64
            return g.edata["a"], g.edata["b"] * g.edata["t"].unsqueeze(1)

    check_function(layer, g, torch.randn(NODES, D), torch.randn(EDGES, D))


def test_tensors_of_edges_around_a_function(g):
    def layer(g, x, w, table):
        with g.local_scope():
            g.ndata["h"] = x
            etypes, mask = g.edata["rel_type"], (g.edata["rel_type"] == 1).unsqueeze(1)
            g.update_all(lambda edges: {"m": torch.where(mask, edges.src["h"] * w, table[etypes])}, fn.sum("m", "o"))
            return g.ndata["o"]

    check_function(layer, g, torch.randn(NODES, D), torch.randn(EDGES, 1), torch.randn(TYPES, D))


def test_types_of_two_kinds(g):
    def layer(g, x, a, b):
        with g.local_scope():
            g.ndata["h"], g.ndata["kind"] = x, torch.arange(NODES) % 5
            g.update_all(
                lambda edges: {"m": edges.src["h"] * a[edges.data["rel_type"]] + b[edges.src["kind"]]}, fn.mean("m", "o")
            )
            return g.ndata["o"]

    check_function(layer, g, torch.randn(NODES, D), torch.randn(TYPES, D), torch.randn(5, D))


def test_sorted_types_of_typed_linear():
    src, dst = torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,))
    graph, types = dgl.graph((src, dst), num_nodes=NODES), torch.randint(0, TYPES, (EDGES,)).sort()[0]
    linear = dgl.nn.TypedLinear(D, D, TYPES)

    def layer(g, x):
        with g.local_scope():
            g.ndata["h"], g.edata["t"] = x, types
            g.update_all(lambda edges: {"m": linear(edges.src["h"], edges.data["t"], True)}, fn.sum("m", "o"))
            return g.ndata["o"]

    check_function(layer, graph, torch.randn(NODES, D))


def test_dropout_of_messages_follows_the_seed(g):
    def layer(g, x):
        with g.local_scope():
            g.ndata["h"] = x
            g.update_all(lambda edges: {"m": F.dropout(edges.src["h"], 0.5)}, fn.sum("m", "o"))
            return g.ndata["o"]

    ours, x = hector.compile(layer), torch.ones(NODES, D)
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        found.append(ours(g, x))
    assert torch.equal(*found)
    assert abs(found[0].sum() / layer(g, x).sum() - 1) < 0.3
    assert not torch.equal(found[0], ours(g, x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_types_of_numbers(dtype, g):
    layer = hector.compile(passing(lambda edges: {"m": edges.src["h"] * edges.data["w"]}, fn.sum("m", "o")))
    x, w = torch.randn(NODES, D, dtype=dtype), torch.randn(EDGES, 1, dtype=dtype)
    src, dst = g.edges()
    wanted = torch.zeros(NODES, D, dtype=torch.float64).index_add(0, dst, x.double()[src] * w.double())
    found = layer(g, x, w)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), wanted, **({} if dtype == torch.float64 else dict(rtol=0.05, atol=0.05)))


# --- what stays as it is


def test_data_of_the_graph_is_as_dgl_leaves_it(g):
    def layer(g, x):
        g.ndata["h"] = x
        g.update_all(fn.copy_u("h", "m"), fn.sum("m", "o"))
        g.apply_edges(fn.u_sub_v("h", "o", "d"))
        with g.local_scope():
            g.ndata["inner"] = x
            g.update_all(fn.copy_u("inner", "m"), fn.sum("m", "inner"))
        return g

    x, other = torch.randn(NODES, D), g.clone()
    assert hector.compile(layer)(g, x) is g
    layer(other, x)
    assert set(g.ndata) == set(other.ndata) and set(g.edata) == set(other.edata)
    torch.testing.assert_close(g.ndata["o"], other.ndata["o"])
    torch.testing.assert_close(g.edata["d"], other.edata["d"])


def test_outside_of_compiled_code_dgl_computes(g, monkeypatch):
    from hector import _dgl_functions

    models.GraphSage(D)
    compiled(models.GraphSage(D))(g, torch.randn(NODES, D))  # DGL's methods are replaced from here on
    monkeypatch.setattr(_dgl_functions, "run", None)
    assert models.GraphSage(D)(g, torch.randn(NODES, D)).shape == (NODES, D)


def test_a_graph_that_changes(g):
    layer, x = models.GraphSage(D), torch.randn(NODES, D)
    ours = compiled(layer)
    ours(g, x)
    g.add_edges(torch.tensor([0, 1]), torch.tensor([NODES - 1, NODES - 1]))
    torch.testing.assert_close(ours(g, x), layer(g, x))


def test_nodes_that_are_added(g):
    layer = models.GraphSage(D)
    ours = compiled(layer)
    ours(g, torch.randn(NODES, D))
    g.add_nodes(2)
    x = torch.randn(NODES + 2, D)
    torch.testing.assert_close(ours(g, x), layer(g, x))


def test_messages_of_one_number(g):
    layer = passing(
        lambda edges: {"m": edges.src["h"] * edges.data["w"], "e": edges.data["w"]},
        lambda nodes: {"o": (torch.softmax(nodes.mailbox["e"], dim=-1) * nodes.mailbox["m"]).sum(1)},
    )
    check_function(layer, g, torch.randn(NODES), torch.randn(EDGES))


def test_inference_mode(g):
    layer, x = models.Rgcn(D), torch.randn(NODES, D)
    ours = compiled(layer)
    with torch.inference_mode():
        found = ours(g, x)
    torch.testing.assert_close(found, layer(g, x))
    torch.testing.assert_close(ours(g, x), layer(g, x))


def test_graphs_that_are_made_inside(g):
    def layer(g, x):
        g = dgl.add_self_loop(g)
        with g.local_scope():
            g.ndata["h"] = x
            g.update_all(fn.copy_u("h", "m"), fn.mean("m", "o"))
            return g.ndata["o"]

    check_function(layer, g, torch.randn(NODES, D))


def test_a_graph_without_edges():
    graph, x = dgl.graph(([], []), num_nodes=3), torch.randn(3, D)
    layer = models.GraphSage(D)
    torch.testing.assert_close(compiled(layer)(graph, x), layer(graph, x))


def test_a_graph_of_one_edge():
    graph, x = dgl.graph(([0], [1]), num_nodes=3), torch.randn(3, D)
    layer = models.Gat(D)
    torch.testing.assert_close(compiled(layer)(graph, x), layer(graph, x))


def test_ids_of_32_bits(g):
    check_layer(models.Rgcn(D), g.int(), torch.randn(NODES, D))


def test_without_gradients(g):
    layer, x = models.GatedGcnOfFunctions(D), torch.randn(NODES, D)
    with torch.no_grad():
        e = g.edata["norm"].expand(-1, D)
        torch.testing.assert_close(compiled(layer)(g, x, e), layer(g, x, e))


def test_training(g):
    ours = compiled(models.EdgeConv(D))
    optimizer = torch.optim.Adam(ours.parameters(), lr=0.01)
    x, wanted, losses = torch.randn(NODES, D), torch.randn(NODES, D), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = F.mse_loss(ours(g, x), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_threads_do_not_disturb_each_other(g):
    layer, x = models.GatedGcnOfFunctions(D), torch.randn(NODES, D)
    e = torch.randn(EDGES, D)
    ours, wanted, wrong = compiled(layer), layer(g, x, e).detach(), []
    graphs = [g.clone() for _ in range(4)]

    def work(graph):
        for _ in range(5):
            if not torch.allclose(ours(graph, x, e), wanted, atol=1e-5):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=(graph,)) for graph in graphs]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_dgl_is_not_imported():
    code = (
        "import sys, torch, hector\n"
        "layer = hector.compile(type('Layer', (torch.nn.Module,), {'forward': lambda self, x: x + 1}))()\n"
        "assert layer(torch.ones(1)) == 2 and 'dgl' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_example_of_the_documentation_runs():
    page = (Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
    (example,) = re.findall(r"^```py dgl\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(example, "docs/python.md", "exec"), {"__name__": "example"})


def test_a_function_without_declarations_is_no_model():
    @hector.compile
    def gather(g, x):
        for n in g.nodes():
            n["out"] = sum(e.src.x for e in n.incoming_edges())
        return n["out"]

    with pytest.raises(hector.InvalidError, match="`gather` declares no inputs"):
        gather(hector.Graph(src=[0], dst=[1]), torch.ones(2, 1))


def test_functions_in_hectors_language_are_still_read():
    @hector.compile
    def gather(g, x: Node[d]):  # noqa: F821
        for n in g.nodes():
            n["out"] = sum(e.src.x for e in n.incoming_edges())
        return n["out"]

    assert isinstance(gather, hector.Model)


# --- what DGL has to run


def check_falls_back(layer, g, inputs, match):
    """One warning with a place in this file or that of the models, and DGL's result and gradients."""
    ours = compiled(layer) if isinstance(layer, nn.Module) else hector.compile(layer)
    parameters = list(layer.parameters()) if isinstance(layer, nn.Module) else []
    wanted = results_and_gradients(lambda *x: layer(g, *x), parameters, inputs)
    with pytest.warns(UserWarning, match=rf"(dgl_models|test_dgl)\.py:\d+: `.*` runs as DGL does it: .*{match}") as told:
        found = results_and_gradients(lambda *x: ours(g, *x), parameters, inputs)
    assert len(told) == 1
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(results_and_gradients(lambda *x: ours(g, *x), parameters, inputs), wanted)  # silently


def test_an_lstm_over_messages(g):
    check_falls_back(models.LstmSage(D), g, [torch.randn(NODES, D)], "new_zeros")


def test_scalers_by_the_number_of_messages(g):
    x = torch.randn(NODES, D, dtype=torch.float64)
    check_falls_back(models.PnaWithScalers(D).double(), g, [x], "how many messages a node has")


def test_sorted_messages(g):
    check_falls_back(models.SortedMessages(), g, [torch.randn(NODES, D)], "sort")


UNREADABLE = {
    "control_flow": (lambda edges: {"m": edges.src["h"] if edges.data["w"].sum() > 0 else edges.dst["h"]}, fn.sum("m", "o")),
    "degree": (fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"].sum(1) / nodes.mailbox["m"].shape[1]}),
    "index_of_maximum": (fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"].max(1)[1].float()}),
    "median": (fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"].median(1)[0]}),
    "first_message": (fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"][:, 0]}),
    "batch_of_nodes": (fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"].sum(1) * nodes.data["h"].mean(0)}),
    "cumulative": (lambda edges: {"m": torch.cumsum(edges.src["h"], 0)}, fn.sum("m", "o")),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_has_no_word(name, g):
    layer = passing(*UNREADABLE[name])
    ours, x, w = hector.compile(layer), torch.randn(NODES, D), torch.randn(EDGES, 1)
    wanted = layer(g, x, w)
    with pytest.warns(UserWarning, match=r"test_dgl.py:\d+: `layer` runs as DGL does it: Hector has no word for") as told:
        found = ours(g, x, w)
    assert len(told) == 1
    torch.testing.assert_close(found, wanted)


def test_a_tensor_that_is_kept(g):
    class Keeps(nn.Module):
        def forward(self, g, x):
            def message(edges):
                self.kept = edges.src["h"] * 2
                return {"m": self.kept}

            with g.local_scope():
                g.ndata["h"] = x
                g.update_all(message, fn.sum("m", "o"))
                return g.ndata["o"]

    x = torch.randn(NODES, D)
    layer = Keeps()
    ours = compiled(layer)
    with pytest.warns(UserWarning, match="keeps a tensor"):
        torch.testing.assert_close(ours(g, x), layer(g, x))
    torch.testing.assert_close(ours.kept, 2 * x[g.edges()[0]])


def test_graphs_of_several_types():
    graph = dgl.heterograph({("a", "r", "b"): ([0, 1], [1, 0]), ("b", "s", "a"): ([0], [1])})

    def layer(g, x):
        with g.local_scope():
            g.nodes["a"].data["h"] = x
            g.update_all(fn.copy_u("h", "m"), fn.sum("m", "o"), etype="r")
            return g.nodes["b"].data["o"]

    check_falls_back(layer, graph, [torch.randn(2, D)], "several types")


def test_blocks(g):
    block = dgl.to_block(dgl.in_subgraph(g, torch.arange(5)), torch.arange(5))

    def layer(g, x):
        with g.local_scope():
            g.srcdata["h"] = x
            g.update_all(fn.copy_u("h", "m"), fn.sum("m", "o"))
            return g.dstdata["o"]

    check_falls_back(layer, block, [torch.randn(block.num_src_nodes(), D)], "a block")


def test_some_of_the_edges(g):
    def layer(g, x):
        with g.local_scope():
            g.ndata["h"] = x
            g.send_and_recv(torch.arange(10), fn.copy_u("h", "m"), fn.sum("m", "o"))
            return g.ndata["o"]

    check_falls_back(layer, g, [torch.randn(NODES, D)], "send_and_recv")


def test_an_initializer_of_nodes(g):
    g.set_n_initializer(lambda shape, dtype, ctx, ids: torch.ones(shape, dtype=dtype))
    layer = passing(fn.copy_u("h", "m"), lambda nodes: {"o": nodes.mailbox["m"].sum(1)})
    check_falls_back(layer, g, [torch.randn(NODES, D), torch.randn(EDGES, 1)], "initializer")


def test_types_out_of_range_fail_as_before(g):
    def layer(g, x, table):
        with g.local_scope():
            g.ndata["h"] = x
            g.update_all(lambda edges: {"m": edges.src["h"] * table[edges.data["rel_type"] - 1]}, fn.sum("m", "o"))
            return g.ndata["o"]

    x, table = torch.randn(NODES, D), torch.randn(TYPES, D)
    with pytest.warns(UserWarning, match="runs as DGL does it"):
        torch.testing.assert_close(hector.compile(layer)(g, x, table), layer(g, x, table))  # -1 is the last row


def test_mistakes_are_those_of_dgl(g):
    layer = hector.compile(passing(lambda edges: {"m": edges.src["missing"]}, fn.sum("m", "o")))
    with pytest.warns(UserWarning, match="KeyError"), pytest.raises(KeyError, match="missing"):
        layer(g, torch.randn(NODES, D), torch.randn(EDGES, 1))
