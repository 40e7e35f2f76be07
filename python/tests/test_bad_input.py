"""What is wrong with an input is said; it never gives wrong numbers or ends the process."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import hector  # noqa: E402

TEXT = """\
def gather(g, x: Node[d_in], W: EdgeType[d_in, d_out]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
    return n["out"]
"""


@pytest.fixture(scope="module")
def model():
    return hector.parse(TEXT)


@pytest.fixture(scope="module")
def g():
    return hector.Graph([0, 1, 2, 3], [1, 2, 3, 3], [0, 1, 0, 1], num_nodes=4)


@pytest.fixture
def x():
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def weights():
    return torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(2))


def refused(call, message, kind=hector.InvalidError):
    with pytest.raises(kind, match=message):
        call()


# --- what changes between the passes


def test_saved_tensors_of_another_shape(model, g, x, weights):
    weights.requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor[:1].clone()):
        out = model(g, x, weights)
    refused(lambda: out.sum().backward(), r"`x` was f32 \[4, 8\] in the forward pass, and is f32 \[1, 8\]")


@pytest.mark.parametrize("change", [lambda data: data.half(), lambda data: data[:2].clone(), lambda data: data.new_empty(0)])
def test_data_that_is_replaced_before_the_backward_pass(model, g, x, weights, change):
    x.requires_grad_()
    out = model(g, x, weights.requires_grad_())
    x.data = change(x.data)
    refused(lambda: out.sum().backward(), "`x`")


def test_data_that_is_replaced_by_the_same_shape(model, g, x, weights):
    """Parameters that are moved or swapped: the numbers are those of the backward pass."""
    weights.requires_grad_()
    out = model(g, x, weights)
    out.sum().backward(retain_graph=True)
    wanted = weights.grad.clone()
    x.data = x.data.clone()
    weights.grad = None
    out.sum().backward()
    assert torch.equal(weights.grad, wanted)


@pytest.mark.parametrize("when", ["forward", "backward"])
def test_memory_that_was_given_away(model, g, x, weights, when):
    weights.requires_grad_()
    out = model(g, x, weights)
    x.untyped_storage().resize_(0)
    refused(lambda: model(g, x, weights) if when == "forward" else out.sum().backward(), "`x` has shape .* but no numbers")


def test_graphs_and_models_may_go_before_the_backward_pass(x, weights):
    model, g = hector.parse(TEXT), hector.Graph([0, 1], [2, 3], [0, 1], num_nodes=4)
    out = model(g, x, weights.requires_grad_())
    del model, g
    hector.clear_cache()
    out.sum().backward()
    assert torch.equal(weights.grad[0], x[0, :, None].expand(8, 8))


def test_a_hook_that_fails_leaves_later_steps_alone(model, g, x, weights):
    def fail(_):
        raise KeyError("mine")

    weights.requires_grad_()
    model(g, x, weights).sum().backward()
    wanted, weights.grad = weights.grad, None
    out = model(g, x, weights)
    out.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        out.sum().backward()
    model(g, x, weights).sum().backward()
    assert torch.equal(weights.grad, wanted)


def test_gradients_of_results_may_be_sparse(model, g, x, weights):
    weights.requires_grad_()
    start = torch.eye(4, 8)
    model(g, x, weights).backward(start)
    wanted, weights.grad = weights.grad, None
    model(g, x, weights).backward(start.to_sparse())
    assert torch.equal(weights.grad, wanted)


# --- tensors and arrays of other kinds


def test_nested_tensors(model, g, x, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([x[:2], x[2:]])
    refused(lambda: model(g, nested, weights), "`x` is a nested tensor")


def test_tensors_without_numbers(model, g, x, weights):
    refused(lambda: model(g, x.to("meta"), weights), "`x` is on meta")
    refused(lambda: model(g, torch._efficientzerotensor((4, 8)), weights), "`x` has shape .* but no numbers")


def test_other_types_of_number(model, g, x, weights):
    refused(lambda: model(g, x.to(torch.complex64), weights), "`x` is torch.complex64")
    refused(lambda: model(g, x.half(), weights), "`x` holds f16 and `W` f32")
    refused(lambda: model(g, x.int(), weights.int()), "`x` holds i32")
    for dtype in (object, "U3", "M8[s]", np.longdouble, [("a", "f4")]):
        refused(lambda: model(g, np.zeros((4, 8), dtype), weights.numpy()), "`x` is an array of .*; convert it")


@pytest.mark.parametrize("value", [None, "text", 3, [1.0], {}, object()], ids=repr)
def test_what_is_no_array(model, g, x, weights, value):
    refused(lambda: model(g, value, weights), "`x` is a .*pass torch tensors only")
    refused(lambda: model(g, value, weights.numpy()), "`x` is a ")
    refused(lambda: model(g, x, value), "`W` is a ")


def test_masked_arrays(model, g, x, weights):
    masked = np.ma.masked_array(x.numpy(), mask=x.numpy() > 0)
    refused(lambda: model(g, masked, weights.numpy()), r"`x` is a masked array.*`x.filled\(0\)`")
    refused(lambda: hector.Graph(np.ma.masked_array([0, 1], mask=[True, False]), [1, 1]), "`src` is a masked array")


@pytest.mark.parametrize("kind", ["torch", "numpy", "memoryview"])
def test_numbers_at_any_address(model, g, x, weights, kind):
    """A part of a file may start anywhere."""
    memory = bytearray(1 + x.numel() * 4)
    memory[1:] = x.numpy().tobytes()
    if kind == "torch":
        found = model(g, torch.frombuffer(memory, dtype=torch.float32, offset=1).view(4, 8), weights)
    elif kind == "numpy":
        found = model(g, np.frombuffer(memory, np.float32, offset=1).reshape(4, 8), weights.numpy())
    else:
        found = model(g, memoryview(memory)[1:].cast("f", (4, 8)), memoryview(weights.numpy()))
    np.testing.assert_array_equal(np.asarray(found), model(g, x, weights).numpy())


def test_shapes_that_do_not_fit(model, g, x, weights):
    refused(lambda: model(g, torch.tensor(1.0), weights), "`x` is one number")
    refused(lambda: model(g, torch.zeros([1] * 60), weights), "`x` has shape .* but the graph has 4 nodes")
    refused(lambda: model(g, torch.zeros(4, 0), torch.zeros(2, 0, 8)), "every size is at least 1")
    refused(lambda: model(g, x, weights[:, :, :, None]), "`W`")


def test_tensors_that_are_too_large_for_the_machine(model, g, weights):
    with pytest.raises(RuntimeError, match="allocate"):
        model(g, torch.zeros(1, 1).expand(10**9, 10**9), weights)


# --- modes of PyTorch


def test_traces_are_refused(model, g, x, weights):
    refused(lambda: torch.jit.trace(lambda x, weights: model(g, x, weights), (x, weights)), "torch.jit.trace does not see")


def test_derivatives_in_forward_mode_are_refused(model, g, x, weights):
    with torch.autograd.forward_ad.dual_level():
        assert torch.equal(model(g, x, weights), model(g, x, weights))
        dual = torch.autograd.forward_ad.make_dual(weights, weights)
        refused(lambda: model(g, x, dual), "`W` has a tangent")


# --- graphs

BAD_IDS = [
    (float("nan"), "other things than ints"),
    ("ab", "`src` is a str"),
    (b"ab", "`src` holds u8"),
    (None, "a graph needs `src`"),
    ({0, 1}, "`src` is a set"),
    (np.array([0, None], object), "`src` is an array of object"),
    (np.array([0.0, np.nan]), "`src` holds f64"),
    (np.array([True, False]), "`src` holds bool"),
    (np.int64(0), r"`graph.src` has shape \[\]"),
    (np.zeros((2, 2), np.int64), r"`graph.src` has shape \[2, 2\]"),
    (torch.tensor([0.0, 1.0], requires_grad=True), "`src` holds f32"),
    (torch.tensor([0, 1], device="meta"), "meta"),
    (torch.tensor([0, 1]).to_sparse(), "`src` is a sparse tensor"),
    ([0, -1], "-1"),
    ([0, 2**62], "at most .* nodes are supported"),
    ([0, 2**64], "ids are integers of 32 or 64 bits"),
]


@pytest.mark.parametrize("ids, message", BAD_IDS, ids=lambda value: str(value)[:20].replace("\n", " "))
def test_what_is_no_id(ids, message):
    refused(lambda: hector.Graph([ids] if isinstance(ids, float) else ids, [1, 1]), message, (hector.InvalidError, NotImplementedError))


@pytest.mark.parametrize("starts", [[], [0], [1, 4], [0, 3, 1, 4], [0, -1, 4], [4, 0], [0, 2**62], [-(2**63), 4], [0, 2]], ids=str)
def test_starts_of_node_types(starts):
    refused(lambda: hector.Graph([0, 1, 2, 3], [1, 2, 3, 3], ntype_ptr=starts), "graph")


def test_ids_in_any_order_of_bytes_and_steps():
    g = hector.Graph(np.array([0, 1], ">i8"), np.array([[1, 5], [2, 6]], ">i4")[:, 0])
    assert (g.num_nodes, g.num_edges) == (3, 2)
    assert hector.Graph(np.arange(3)[::-1], torch.arange(6)[::2]).num_nodes == 5


def test_graphs_of_data_without_what_they_need():
    from types import SimpleNamespace

    edge_index = torch.zeros(2, 2, dtype=torch.int64)
    refused(lambda: hector.Graph.from_pyg(SimpleNamespace(edge_index=edge_index)), "has no `num_nodes`")
    data = SimpleNamespace(edge_index=edge_index, num_nodes=2, node_type=torch.tensor([0, 10**12]))
    refused(lambda: hector.Graph.from_pyg(data), "`node_type` is 1000000000000 at node 1")
    for value in (None, 5, "text"):
        refused(lambda: hector.Graph.from_pyg(value), "has no `edge_index`")
        refused(lambda: hector.Graph.from_dgl(value), "expected a dgl.DGLGraph")


# --- layers


def layer(name, **options):
    from hector import nn

    arguments = {"in_channels": 8, "out_channels": 8, **options}
    if name in ("RGCNConv", "FastRGCNConv", "RGATConv"):
        arguments.setdefault("num_relations", 2)
    if name == "HGTConv":
        arguments.setdefault("metadata", (["a"], [("a", "to", "a")]))
    return getattr(nn, name)(**arguments)


NAMES = ["RGCNConv", "FastRGCNConv", "RGATConv", "GCNConv", "GATConv", "GATv2Conv", "SAGEConv", "HGTConv"]
COUNTS = [None, "8", 0, -5, 1.5, float("nan"), 10**30, [], (8, "a"), (8, 8, 8), True, {}, object()]


@pytest.mark.parametrize("value", COUNTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_number_of_channels(name, value):
    refused(lambda: layer(name, out_channels=value), f"`out_channels` of {name} is")
    if value != {}:
        refused(lambda: layer(name, in_channels=value), f"`in_channels` of {name}")


@pytest.mark.parametrize("value", [None, "0.5", [], (8,), {}, object()], ids=str)
@pytest.mark.parametrize("argument", ["negative_slope", "dropout"])
@pytest.mark.parametrize("name", ["RGATConv", "GATConv", "GATv2Conv"])
def test_what_is_no_number(name, argument, value):
    refused(lambda: layer(name, **{argument: value}), f"`{argument}` of {name} is .*; expected a number")


@pytest.mark.parametrize("metadata", [None, "ab", 5, (), (["a"],), (["a"], 5), (5, []), ([5], []), (["a"], ["aaa"]), (["a"], [("a", "b")])], ids=str)
def test_what_is_no_metadata(metadata):
    refused(lambda: layer("HGTConv", metadata=metadata), "`metadata`")


@pytest.mark.parametrize("value", [None, "text", 5, [], torch.zeros(2, 2), object()], ids=lambda value: type(value).__name__)
def test_what_is_no_dictionary(value):
    conv = layer("HGTConv")
    refused(lambda: conv(value, {}), "`x_dict` is a .*; expected a dictionary")
    refused(lambda: conv({"a": torch.zeros(2, 8)}, value), "`edge_index_dict` is a .*; expected a dictionary")


@pytest.mark.parametrize("name", NAMES)
def test_sparse_features(name):
    conv, x, edges = layer(name), torch.eye(3, 8).to_sparse(), torch.tensor([[0, 1], [1, 2]])
    types = (torch.tensor([0, 1]),) if "num_relations" in vars(conv) else ()
    metadata = {("a", "to", "a"): edges}
    call = (lambda: conv({"a": x}, metadata)) if name == "HGTConv" else (lambda: conv(x, edges, *types))
    refused(call, "is a sparse tensor .*to_dense")


EDGES = torch.tensor([[0, 1], [1, 2]])
BAD_EDGES = [
    None, "text", 5, [[0, 1], [1, 2]], EDGES.numpy(), EDGES.float(), EDGES.bool(), EDGES.to(torch.uint8), EDGES.to(torch.int16),
    EDGES.to("meta"), EDGES.to_sparse(), EDGES[0], EDGES.T.repeat(2, 1), -EDGES, EDGES + 2, EDGES * 10**15,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BAD_EDGES)))
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_edge_index(name, number):
    conv, x, edges = layer(name), torch.zeros(3, 8), BAD_EDGES[number]
    types = (torch.tensor([0, 1]),) if "num_relations" in vars(conv) else ()
    call = (lambda: conv({"a": x}, {("a", "to", "a"): edges})) if name == "HGTConv" else (lambda: conv(x, edges, *types))
    refused(call, "`edge_index")


# --- settings


def test_limits_beyond_what_is_counted():
    refused(lambda: hector.set_num_threads(2**70), "the number of threads is .*; expected a number from 0 to")
    refused(lambda: hector.set_memory_limit(2**70), "the memory limit is .*; expected a number from 0 to")


@pytest.mark.parametrize("value", [None, 5, "", ["a"]], ids=repr)
def test_names_of_sizes(value):
    refused(lambda: hector.sizes(value), "`names` is")


@pytest.mark.parametrize("value", [5, "x", {"x": 1}, [None], [["x"]]], ids=repr)
def test_names_of_gradients(model, g, x, weights, value):
    refused(lambda: model.value_and_grad(g, x.numpy(), weights.numpy(), wrt=value), "`wrt` is .*; expected a list of names")


def test_a_library_that_is_another():
    path = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc" in line)
    environment = {**os.environ, "HECTOR_LIBRARY": path, "PYTHONPATH": str(Path(hector.__file__).resolve().parents[1])}
    done = subprocess.run([sys.executable, "-c", "import hector"], capture_output=True, text=True, env=environment)
    assert "is no library of Hector; set HECTOR_LIBRARY" in done.stderr
