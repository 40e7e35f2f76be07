"""`@hector.compile` on classes of PyG, as their authors write them."""

from __future__ import annotations

import itertools
import math
import sys
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import torch.nn.functional as F  # noqa: E402
from torch.nn import Linear, Parameter, ReLU, Sequential  # noqa: E402
from torch_geometric.nn import MessagePassing  # noqa: E402
from torch_geometric.utils import add_self_loops, degree, softmax  # noqa: E402

import hector  # noqa: E402

NODES, EDGES, D = 30, 120, 6


class Gcn(MessagePassing):
    """Kipf and Welling 2017, as in PyG's tutorial."""

    def __init__(self):
        super().__init__(aggr="add")
        self.lin = Linear(D, D, bias=False)
        self.bias = Parameter(torch.zeros(D))

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        x = self.lin(x)
        row, col = edge_index
        deg = degree(col, x.size(0), dtype=x.dtype)
        norm = deg.pow(-0.5)[row] * deg.pow(-0.5)[col]
        return self.propagate(edge_index, x=x, norm=norm) + self.bias

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class EdgeConv(MessagePassing):
    """Wang et al. 2019, as in PyG's tutorial."""

    def __init__(self):
        super().__init__(aggr="max")
        self.mlp = Sequential(Linear(2 * D, D), ReLU(), Linear(D, D))

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_i, x_j):
        return self.mlp(torch.cat([x_i, x_j - x_i], dim=1))


class Gine(MessagePassing):
    """Hu et al. 2020: a graph isomorphism network with edge features."""

    def __init__(self):
        super().__init__(aggr="add")
        self.nn = Sequential(Linear(D, D), ReLU(), Linear(D, D))
        self.lin = Linear(3, D)
        self.eps = Parameter(torch.zeros(1))

    def forward(self, x, edge_index, edge_attr):
        out = self.propagate(edge_index, x=x, edge_attr=edge_attr)
        return self.nn(out + (1 + self.eps) * x)

    def message(self, x_j, edge_attr):
        return (x_j + self.lin(edge_attr)).relu()


class Gat(MessagePassing):
    """Velickovic et al. 2018, with the attention inside of `message`."""

    def __init__(self, heads=2):
        super().__init__(aggr="add", node_dim=0)
        self.heads = heads
        self.lin = Linear(D, heads * D, bias=False)
        self.att = Parameter(torch.randn(1, heads, 2 * D))

    def forward(self, x, edge_index):
        x = self.lin(x).view(-1, self.heads, D)
        return self.propagate(edge_index, x=x).mean(dim=1)

    def message(self, x_i, x_j, index, ptr, size_i):
        alpha = (torch.cat([x_i, x_j], dim=-1) * self.att).sum(dim=-1)
        alpha = F.leaky_relu(alpha, 0.2)
        alpha = softmax(alpha, index, ptr, size_i)
        return x_j * alpha.unsqueeze(-1)


class Transformer(MessagePassing):
    """Shi et al. 2021."""

    def __init__(self, heads=2):
        super().__init__(aggr="add", node_dim=0)
        self.heads = heads
        self.query, self.key, self.value = (Linear(D, heads * D) for _ in range(3))

    def forward(self, x, edge_index):
        shape = (-1, self.heads, D)
        out = self.propagate(
            edge_index, query=self.query(x).view(shape), key=self.key(x).view(shape), value=self.value(x).view(shape)
        )
        return out.view(-1, self.heads * D)

    def message(self, query_i, key_j, value_j, index, ptr, size_i):
        alpha = (query_i * key_j).sum(dim=-1) / math.sqrt(D)
        alpha = softmax(alpha, index, ptr, size_i)
        return value_j * alpha.view(-1, self.heads, 1)


class Monet(MessagePassing):
    """Monti et al. 2017: Gaussian weights of coordinates."""

    def __init__(self, kernels=3):
        super().__init__(aggr="mean", node_dim=0)
        self.kernels = kernels
        self.g = Linear(D, kernels * D, bias=False)
        self.mu, self.sigma = Parameter(torch.randn(kernels, 2)), Parameter(torch.rand(kernels, 2) + 0.5)

    def forward(self, x, edge_index, pseudo):
        return self.propagate(edge_index, x=self.g(x).view(-1, self.kernels, D), pseudo=pseudo).sum(dim=1)

    def message(self, x_j, pseudo):
        gaussian = -0.5 * (pseudo.view(-1, 1, 2) - self.mu.view(1, self.kernels, 2)) ** 2
        gaussian = gaussian / (1e-14 + self.sigma.view(1, self.kernels, 2) ** 2)
        return x_j * torch.exp(gaussian.sum(dim=-1, keepdim=True))


CASES = {
    "gcn": (Gcn, ()),
    "edge_conv": (EdgeConv, ()),
    "gine": (Gine, (3,)),
    "gat": (Gat, ()),
    "transformer": (Transformer, ()),
    "monet": (Monet, (2,)),
}


@pytest.mark.parametrize("name", CASES)
def test_classes_are_read_and_give_the_same(name):
    cls, edge_features = CASES[name]
    torch.manual_seed(0)
    plain = cls()
    ours = hector.compile(cls)()
    ours.load_state_dict(plain.state_dict())
    edge_index = torch.randint(0, NODES, (2, EDGES))
    results = []
    for layer in (plain, ours):
        torch.manual_seed(1)
        x = torch.randn(NODES, D, requires_grad=True)
        more = [torch.randn(EDGES, columns) for columns in edge_features]
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # nothing runs as PyG does it
            out = layer(x, edge_index, *more)
        weight = torch.randn(out.shape)
        (out * weight).sum().backward()
        results.append((out.detach(), x.grad, {key: value.grad for key, value in layer.named_parameters()}))
    (a, grad_a, params_a), (b, grad_b, params_b) = results
    torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(grad_b, grad_a, rtol=1e-4, atol=1e-4)
    for key in params_a:
        torch.testing.assert_close(params_b[key], params_a[key], rtol=1e-4, atol=1e-4)


def test_what_cannot_be_read_runs_as_it_is():
    class Sorted(MessagePassing):
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_j):
            return torch.sort(x_j, dim=1).values

    torch.manual_seed(0)
    x, edge_index = torch.randn(NODES, D), torch.randint(0, NODES, (2, EDGES))
    ours = hector.compile(Sorted)()
    with pytest.warns(UserWarning, match=r"test_message_passing.py:\d+: `Sorted` runs as PyG does it: .*`sort`"):
        out = ours(x, edge_index)
    torch.testing.assert_close(out, Sorted()(x, edge_index))


def test_an_aggregation_of_its_own_runs_as_it_is():
    class Own(MessagePassing):
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def aggregate(self, inputs, index, ptr=None, dim_size=None):
            return super().aggregate(inputs, index, ptr, dim_size) * 2

    x, edge_index = torch.randn(NODES, D), torch.randint(0, NODES, (2, EDGES))
    ours = hector.compile(Own)()
    with pytest.warns(UserWarning, match="`aggregate` of its own"):
        torch.testing.assert_close(ours(x, edge_index), Own()(x, edge_index))


def test_other_classes_are_refused():
    with pytest.raises(hector.InvalidError, match="`dict` is no module of PyTorch"):
        hector.compile(dict)


# --- classes that do one thing with their edges


numbers = itertools.count()


def layer_of(message, parent=MessagePassing, aggr="add", **methods):
    """A class whose `message` is a function, for the arguments that the function has."""

    def __init__(self, **attributes):
        parent.__init__(self, aggr=aggr)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, edge_index, **inputs):
        return self.propagate(edge_index, **inputs)

    message.__name__ = "message"  # PyG looks it up by its own name, and finds what it generates by the name of the class
    names = {"__init__": __init__, "forward": forward, "message": message, "__module__": __name__, **methods}
    return type(f"Layer{next(numbers)}", (parent,), names)


def graph_and_nodes():
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, NODES, (2, EDGES), generator=generator), torch.randn(NODES, D, generator=generator)


def assert_compiled(cls, inputs=None, make=lambda cls: cls(), tolerance=1e-5):
    """Both classes give the same, and nothing runs as PyG does it."""
    edge_index, x = graph_and_nodes()
    inputs = {"x": x} if inputs is None else inputs
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = make(hector.compile(cls))(edge_index, **inputs)
    torch.testing.assert_close(found, make(cls)(edge_index, **inputs), rtol=tolerance, atol=tolerance)


def assert_left_to_pyg(cls, reason, inputs=None, make=lambda cls: cls()):
    """Both classes give the same, and a warning says why PyG computes it."""
    edge_index, x = graph_and_nodes()
    inputs = {"x": x} if inputs is None else inputs
    with pytest.warns(UserWarning, match=f"runs as PyG does it: .*{reason}"):
        found = make(hector.compile(cls))(edge_index, **inputs)
    torch.testing.assert_close(found, make(cls)(edge_index, **inputs))


@pytest.mark.parametrize(
    "message",
    [
        lambda self, x_j: torch.where(x_j > 0, x_j, 0.5 * x_j),
        lambda self, x_j: (x_j == x_j) * x_j,
        lambda self, x_i, x_j: x_j * (x_i < x_j).float(),
        lambda self, x_i, x_j: x_j.masked_fill((x_i > 0) & ~(x_j >= 1), 2.0),
        lambda self, x_j: x_j * ((x_j != 0) | (x_j <= -1)),
    ],
)
def test_comparisons_are_read(message):
    assert_compiled(layer_of(message))


def test_masks_of_edges_are_truth_values():
    edge_index, x = graph_and_nodes()
    mask = torch.arange(EDGES) % 3 == 0
    assert_compiled(layer_of(lambda self, x_j, mask: x_j * mask.float().view(-1, 1)), {"x": x, "mask": mask})


def test_truth_values_are_not_added_up():
    assert_left_to_pyg(layer_of(lambda self, x_j: ((x_j > 0) + (x_j > 1)) * x_j), "torch.bool")


def test_truth_is_no_number():
    assert_left_to_pyg(layer_of(lambda self, x_j: x_j * True), "an operand that is a bool")


def test_decisions_that_depend_on_numbers_are_not_read():
    assert_left_to_pyg(layer_of(lambda self, x_j: x_j if (x_j == x_j).all() else -x_j), "`all`")


def test_facts_about_a_tensor_are_those_of_pyg():
    seen = []

    def message(self, x_j, w):
        seen.append((x_j.requires_grad, x_j.is_cuda, x_j.dtype, x_j.device, x_j.shape, x_j.dim(), w.requires_grad, len(w)))
        return x_j

    edge_index, x = graph_and_nodes()
    for cls in (layer_of(message), hector.compile(layer_of(message))):
        cls()(edge_index, x=x.clone().requires_grad_(), w=torch.ones(EDGES, dtype=torch.float64))
    assert seen[0] == seen[1]


def test_properties_that_are_not_known_are_not_read():
    assert_left_to_pyg(layer_of(lambda self, x_j: x_j * 2 if x_j.is_leaf else x_j), "a property")


def test_tensors_of_edges_are_tensors():
    def message(self, x_j, w):
        return x_j * w.view(-1, 1) if isinstance(w, torch.Tensor) and torch.is_tensor(w) else x_j

    edge_index, x = graph_and_nodes()
    assert_compiled(layer_of(message), {"x": x, "w": torch.rand(EDGES)})


def test_dropout_drops_where_the_class_says_so():
    cls = hector.compile(layer_of(lambda self, x_j: F.dropout(x_j, 0.5)))
    edge_index, x = graph_and_nodes()
    layer = cls().eval()
    torch.manual_seed(0)
    first, second = layer(edge_index, x=x), layer(edge_index, x=x)
    assert not torch.equal(first, second)


def test_dropout_of_a_module_does_nothing_in_evaluation():
    def message(self, x_j):
        return F.dropout(x_j, 0.5, training=self.training)

    assert_compiled(layer_of(message), make=lambda cls: cls().eval())


def test_a_propagate_of_its_own_runs_as_it_is():
    class Twice(MessagePassing):
        def forward(self, edge_index, x):
            return self.propagate(edge_index, x=x)

        def propagate(self, edge_index, size=None, **kwargs):
            return 2 * super().propagate(edge_index, size=size, **kwargs)

    assert_left_to_pyg(Twice, "`propagate` of its own")


def test_an_aggregation_that_is_replaced_runs_as_it_is():
    from torch_geometric.nn.aggr import MulAggregation

    def make(cls):
        layer = cls()
        layer.aggr_module = MulAggregation()
        return layer

    assert_left_to_pyg(layer_of(lambda self, x_j: x_j), "the aggregation MulAggregation", make=make)


@pytest.mark.parametrize(
    "message",
    [
        lambda self, x_j: F.softplus(x_j, threshold=0),
        lambda self, x_j: F.softplus(x_j, 2.0),
        lambda self, x_j: F.gelu(x_j, approximate="tanh"),
        lambda self, x_j: torch.add(x_j, x_j, alpha=2),
        lambda self, x_j: torch.sub(x_j, x_j, alpha=0),
        lambda self, x_j: torch.div(x_j, 0.3, rounding_mode="floor"),
        lambda self, x_j: x_j.sum(dim=1, keepdim=True, dtype=torch.float64).float(),
        lambda self, x_j: x_j.clamp(min=1, max=0),
        lambda self, x_j: x_j.clamp(min=torch.zeros(())),
        lambda self, x_j: F.softmax(x_j, dim=0),
        lambda self, x_j: x_j.mean(dim=0, keepdim=True) + x_j,
        lambda self, x_j: torch.round(x_j, decimals=1),
    ],
)
def test_arguments_that_change_the_meaning_are_not_read(message):
    assert_left_to_pyg(layer_of(message), "")


@pytest.mark.parametrize(
    "message",
    [
        lambda self, x_j: F.elu(x_j, alpha=0.5),
        lambda self, x_j: F.leaky_relu(x_j, negative_slope=0.3),
        lambda self, x_j: F.softplus(x_j, beta=1, threshold=20),
        lambda self, x_j: F.relu(x_j, inplace=False),
        lambda self, x_j: x_j.sum(axis=-1, keepdims=True) - x_j.mean(-1, True),
        lambda self, x_j: x_j.view(-1, 2, 3).sum(dim=(1, 2), keepdim=True).view(-1, 1) * x_j,
        lambda self, x_j: x_j.view(x_j.size(0), -1, 3).mean(dim=2).view(x_j.shape[0], 2),
        lambda self, x_j: 1 - x_j / 2 + 3 / (x_j.abs() + 1),
        lambda self, x_j: x_j.clamp(min=0) + x_j.clamp_max(0.5) + torch.clip(x_j, -0.5, 1),
        lambda self, x_j: abs(-x_j) ** 2 + torch.square(x_j) + torch.pow(x_j, 3),
    ],
)
def test_arguments_that_have_a_word_are_read(message):
    assert_compiled(layer_of(message))


def test_gradients_at_the_bounds_of_clamp():
    """They are those of PyTorch: 1 at a bound, 0 beyond."""
    edge_index, x = torch.tensor([[0, 1, 2, 3, 4], [5, 5, 5, 5, 5]]), torch.tensor([[-1.0], [0.0], [0.5], [1.0], [2.0], [0.0]])
    x.requires_grad_()
    layer = hector.compile(layer_of(lambda self, x_j: x_j.clamp(0, 1)))()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        layer(edge_index, x=x).sum().backward()
    assert x.grad.flatten().tolist() == [0, 1, 1, 1, 0, 0]
    nan = torch.full((6, 1), float("nan"))
    assert layer(edge_index, x=nan)[5].isnan()


def test_axes_that_do_not_exist_are_errors_of_pytorch():
    edge_index, x = graph_and_nodes()
    layer = hector.compile(layer_of(lambda self, x_j: x_j.sum(dim=3, keepdim=True)))()
    with pytest.warns(UserWarning, match="the axis 3"), pytest.raises(IndexError):
        layer(edge_index, x=x)


def test_gradients_that_are_switched_off_are_not_read():
    def message(self, x_j):
        with torch.no_grad():
            weight = x_j.sigmoid()
        return weight * x_j

    edge_index, x = graph_and_nodes()
    gradients = []
    for cls in (layer_of(message), hector.compile(layer_of(message))):
        leaf = x.clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls()(edge_index, x=leaf).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(gradients[1], gradients[0])


# --- tracing leaves no traces


def attention(x_j, index):
    return softmax(x_j, index)


def test_reading_a_class_leaves_its_module_alone():
    names = []

    def message(self, x_j, index):
        names.append(sys.modules[__name__].softmax)
        return softmax(x_j, index)

    assert_compiled(layer_of(message))
    assert set(names) == {softmax}


def test_softmax_is_found_in_functions_and_methods():
    class Layer(MessagePassing):
        def forward(self, edge_index, x):
            return self.propagate(edge_index, x=x)

        def attend(self, x_j, index, num_nodes):
            return attention(x_j, index) + softmax(2 * x_j, index, num_nodes=num_nodes)

        def message(self, x_j, index, size_i):
            return self.attend(x_j, index, size_i) * x_j

    assert_compiled(Layer)


def test_a_compiled_layer_inside_of_a_message():
    inner = hector.compile(layer_of(lambda self, x_j: 2 * x_j))()
    edge_index, x = graph_and_nodes()

    def message(self, x_j):
        return x_j * inner(edge_index, x=x).mean()

    done = []
    thread = threading.Thread(target=lambda: done.append(assert_compiled(layer_of(message))), daemon=True)
    thread.start()
    thread.join(60)
    assert done == [None]


def test_batch_norm_counts_each_batch_once():
    def make(cls):
        torch.manual_seed(0)
        return cls(norm=torch.nn.BatchNorm1d(D))

    cls = layer_of(lambda self, x_j: self.norm(x_j))
    edge_index, x = graph_and_nodes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, plain = make(hector.compile(cls)), make(cls)
        for _ in range(3):
            torch.testing.assert_close(ours(edge_index, x=x), plain(edge_index, x=x))
    assert int(ours.norm.num_batches_tracked) == 3
    torch.testing.assert_close(ours.norm.running_mean, plain.norm.running_mean)


def test_lists_of_a_layer_have_no_recorded_tensors():
    def message(self, x_j):
        self.seen.append(x_j)
        self.last = x_j
        return x_j

    layer = hector.compile(layer_of(message))(seen=[])
    edge_index, x = graph_and_nodes()
    with pytest.warns(UserWarning, match="keeps a tensor of edges"):
        layer(edge_index, x=x)
    assert len(layer.seen) == 1
    assert type(layer.seen[0]) is torch.Tensor and torch.equal(layer.last, x[edge_index[0]])


def test_tensors_that_are_kept_elsewhere_are_noticed():
    elsewhere = []

    def message(self, x_j):
        elsewhere.append(x_j)
        return x_j

    assert_left_to_pyg(layer_of(message), "something outside")


def test_attributes_are_set_once_for_each_call():
    def message(self, x_j):
        self.calls += 1
        self.history.append(self.calls)
        self.buffer = torch.full((), float(self.calls))
        return x_j * self.calls

    cls = hector.compile(layer_of(message))
    layer = cls(calls=0, history=[])
    layer.register_buffer("buffer", torch.zeros(()))
    history, (edge_index, x) = layer.history, graph_and_nodes()
    for _ in range(3):
        layer(edge_index, x=x)
    assert layer.calls == 3 and layer.history is history and history == [1, 2, 3] and float(layer.buffer) == 3


def test_attributes_are_set_once_where_pyg_computes():
    def message(self, x_j):
        self.calls += 1
        return x_j.sort(dim=1).values

    layer = hector.compile(layer_of(message))(calls=0)
    edge_index, x = graph_and_nodes()
    with pytest.warns(UserWarning, match="`sort`"):
        layer(edge_index, x=x)
    assert layer.calls == 1


def test_a_class_that_fell_back_is_not_tried_again():
    tries = []

    def message(self, x_j):
        tries.append(type(x_j) is torch.Tensor)
        return x_j.sort(dim=1).values

    layer = hector.compile(layer_of(message))()
    edge_index, x = graph_and_nodes()
    with pytest.warns(UserWarning):
        for _ in range(3):
            layer(edge_index, x=x)
    assert tries == [False, True, True, True]


def test_random_numbers_are_those_of_pyg_after_a_fallback():
    def message(self, x_j):
        return (x_j * torch.rand(())).sort(dim=1).values

    results = []
    for cls in (layer_of(message), hector.compile(layer_of(message))):
        edge_index, x = graph_and_nodes()
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(cls()(edge_index, x=x))
    assert torch.equal(*results)


def test_parameters_are_not_changed_in_place_while_reading():
    def message(self, x_j):
        self.scale.mul_(2)
        return x_j * self.scale

    assert_left_to_pyg(layer_of(message), "`mul_`", make=lambda cls: cls(scale=torch.ones(D)))


# --- classes and calls


@hector.compile
class Sum(MessagePassing):
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)


class ThreefoldSum(Sum):
    """Its source can be read, unlike that of a class in a function, so PyG gives it a `propagate`."""

    messages = []

    def message(self, x_j):
        self.messages.append(type(x_j) is torch.Tensor)
        return 3 * x_j


def test_subclasses_of_a_compiled_class_are_compiled():
    edge_index, x = graph_and_nodes()
    torch.testing.assert_close(ThreefoldSum()(x, edge_index), 3 * Sum()(x, edge_index))
    assert ThreefoldSum.messages == [False]


@hector.compile
class NamesItself(MessagePassing):
    def __init__(self):
        super(NamesItself, self).__init__(aggr="add")

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return 2 * x_j


def test_classes_that_name_themselves_are_compiled():
    edge_index, x = graph_and_nodes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        torch.testing.assert_close(NamesItself()(x, edge_index), 2 * Sum()(x, edge_index))
    assert NamesItself.propagate._is_hectors


def test_subclasses_with_an_aggregation_of_their_own_run_as_they_are():
    base = hector.compile(layer_of(lambda self, x_j: x_j))

    class Sub(base):
        def aggregate(self, inputs, index, ptr=None, dim_size=None):
            return 2 * super().aggregate(inputs, index, ptr, dim_size)

    edge_index, x = graph_and_nodes()
    with pytest.warns(UserWarning, match="`aggregate` of its own"):
        torch.testing.assert_close(Sub()(edge_index, x=x), 2 * base()(edge_index, x=x))


def test_numbers_that_change_use_one_model():
    from hector import _message_passing

    layer = hector.compile(layer_of(lambda self, x_j: x_j * self.temperature + 1.5))(temperature=1.0)
    edge_index, x = graph_and_nodes()
    plain = torch.zeros(NODES, D).index_add(0, edge_index[1], x[edge_index[0]])
    degrees = torch.bincount(edge_index[1], minlength=NODES)[:, None]
    before = len(_message_passing.models)
    for step in range(5):
        layer.temperature = 0.7**step
        torch.testing.assert_close(layer(edge_index, x=x), plain * 0.7**step + 1.5 * degrees, rtol=1e-4, atol=1e-4)
    assert len(_message_passing.models) == before + 1


def test_names_of_arguments_do_not_meet():
    edge_index, x = graph_and_nodes()
    message = layer_of(lambda self, x_i, x_j, x_dst_j, t0, e, g: x_i - x_j + 2 * x_dst_j + t0 + e * g)
    inputs = {"x": (x, 2 * x), "x_dst": 3 * x, "t0": torch.rand(EDGES, D), "e": torch.rand(D), "g": torch.rand(D)}
    assert_compiled(message, inputs)


def test_numbers_of_nodes_are_given():
    assert_compiled(layer_of(lambda self, x_j, size_i, dim_size: x_j * size_i / dim_size if size_i is not None else x_j))


def test_arguments_that_are_not_read_may_hold_anything():
    edge_index, x = graph_and_nodes()
    assert_compiled(layer_of(lambda self, x_j, kind: x_j), {"x": x, "kind": torch.zeros(EDGES, dtype=torch.int64)})


def test_update_is_given_no_defaults_for_what_pyg_knows():
    def update(self, out, index=None):
        return out if index is None else out + index.sum()

    assert_left_to_pyg(layer_of(lambda self, x_j: x_j, update=update), "the argument `index` of `update`")


def test_training_and_evaluation_are_read_anew():
    layer = hector.compile(layer_of(lambda self, x_j: x_j if self.training else 2 * x_j))()
    edge_index, x = graph_and_nodes()
    torch.testing.assert_close(layer.eval()(edge_index, x=x), 2 * layer.train()(edge_index, x=x))


def test_numbers_of_modules_are_read_anew(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 1.0, raising=False)
    layer = hector.compile(layer_of(lambda self, x_j, index: softmax(x_j, index) * SCALE))()  # noqa: F821
    edge_index, x = graph_and_nodes()
    once = layer(edge_index, x=x)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
    torch.testing.assert_close(layer(edge_index, x=x), 2 * once)
