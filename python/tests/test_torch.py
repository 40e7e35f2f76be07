"""The package with PyTorch and NumPy."""

from __future__ import annotations

import gc
import os
import signal
import threading
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import hector  # noqa: E402
from hector import _threads  # noqa: E402

MODELS = Path(__file__).resolve().parents[2] / "models"
D = 4


@pytest.fixture(scope="module")
def g():
    random = np.random.default_rng(0)
    return hector.Graph(random.integers(0, 20, 90), random.integers(0, 20, 90), random.integers(0, 3, 90), num_nodes=20,
                        num_edge_types=3)  # fmt: skip


def rgat_inputs(dtype=torch.float64, requires_grad=True, seed=1):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"x": (20, D), "W": (3, D, D), "w_s": (3, D), "w_t": (3, D)}
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(requires_grad)
        for name, shape in shapes.items()
    }


@pytest.fixture(scope="module")
def rgat():
    return hector.load(MODELS / "rgat.hec")


def expected_rgat(g_arrays, x, W, w_s, w_t):
    """RGAT with PyTorch's own operations."""
    src, dst, etype = g_arrays
    s = torch.einsum("ei,eio->eo", x[src], W[etype])
    t = torch.einsum("ei,eio->eo", x[dst], W[etype])
    score = torch.nn.functional.leaky_relu((s * w_s[etype]).sum(1) + (t * w_t[etype]).sum(1), 0.2)
    weight = torch.exp(score - score.max())
    total = torch.zeros(len(x), dtype=x.dtype).index_add(0, dst, weight)
    return torch.zeros(len(x), s.shape[1], dtype=x.dtype).index_add(0, dst, (weight / total[dst])[:, None] * s)


def arrays_of(seed=0):
    random = np.random.default_rng(seed)
    return [torch.from_numpy(random.integers(0, n, 90)) for n in (20, 20, 3)]


def test_results_and_gradients_are_those_of_pytorch(g, rgat):
    ours, theirs = rgat_inputs(), rgat_inputs()
    out, wanted = rgat(g, **ours), expected_rgat(arrays_of(), **theirs)
    torch.testing.assert_close(out, wanted, rtol=1e-10, atol=1e-12)
    weight = torch.randn(out.shape, dtype=out.dtype)
    (out * weight).sum().backward()
    (wanted * weight).sum().backward()
    for name in ours:
        torch.testing.assert_close(ours[name].grad, theirs[name].grad, rtol=1e-9, atol=1e-11)


def test_gradcheck(g, rgat):
    inputs = rgat_inputs()
    assert torch.autograd.gradcheck(lambda *values: rgat(g, *values), tuple(inputs.values()))


def test_numpy_gives_numpy(g, rgat):
    inputs = {name: value.detach().numpy() for name, value in rgat_inputs().items()}
    out = rgat(g, **inputs)
    assert isinstance(out, np.ndarray) and out.dtype == np.float64
    np.testing.assert_array_equal(out, rgat(g, **rgat_inputs(requires_grad=False)).numpy())


def test_gradients_of_numpy(g, rgat):
    inputs = rgat_inputs()
    rgat(g, **inputs).sum().backward()
    _, gradients = rgat.value_and_grad(g, **{name: value.detach().numpy() for name, value in inputs.items()})
    for name, value in inputs.items():
        np.testing.assert_array_equal(gradients[name], value.grad.numpy())


def test_only_wanted_gradients_are_computed(g, rgat):
    inputs = rgat_inputs(requires_grad=False)
    inputs["W"].requires_grad_()
    rgat(g, **inputs).sum().backward()
    assert inputs["W"].grad is not None and inputs["x"].grad is None


def test_two_forward_passes_before_two_backward_passes(g, rgat):
    first, second = rgat_inputs(seed=1), rgat_inputs(seed=2)
    a, b = rgat(g, **first), rgat(g, **second)
    a.sum().backward()
    b.sum().backward()
    alone = rgat_inputs(seed=1)
    rgat(g, **alone).sum().backward()
    assert torch.equal(first["W"].grad, alone["W"].grad)


def test_a_second_backward_pass_gives_the_same(g, rgat):
    inputs = rgat_inputs()
    out = rgat(g, **inputs).sum()
    out.backward(retain_graph=True)
    once = inputs["W"].grad.clone()
    out.backward()
    assert torch.equal(inputs["W"].grad, 2 * once)


def test_double_backward_is_refused(g, rgat):
    inputs = rgat_inputs()
    out = rgat(g, **inputs).sum()
    with pytest.raises(hector.InvalidError, match="no second derivatives"):
        torch.autograd.grad(out, inputs["x"], create_graph=True)


def test_inputs_that_change_before_the_backward_pass_are_refused(g, rgat):
    inputs = rgat_inputs()
    out = rgat(g, **inputs).sum()
    with torch.no_grad():
        inputs["x"].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_results_may_be_changed_in_place(g):
    model = hector.load(MODELS / "rgcn.hec")
    shapes = {"x": (20, D), "W": (3, D, D), "root": (D, D), "bias": (D,)}
    inputs = {name: torch.randn(shape, requires_grad=True) for name, shape in shapes.items()}
    model(g, **inputs).relu_().sum().backward()
    relu = {name: value.grad.clone() for name, value in inputs.items()}
    for value in inputs.values():
        value.grad = None
    torch.relu(model(g, **inputs)).sum().backward()
    for name, value in inputs.items():
        assert torch.equal(relu[name], value.grad)


def test_saved_tensors_may_be_moved(g, rgat):
    inputs, plain = rgat_inputs(), rgat_inputs()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        out = rgat(g, **inputs).sum()
    out.backward()
    rgat(g, **plain).sum().backward()
    assert torch.equal(inputs["W"].grad, plain["W"].grad)


def test_tensors_that_are_not_contiguous(g, rgat):
    plain, turned = rgat_inputs(), rgat_inputs()
    x = turned["x"].detach().t().contiguous().t().requires_grad_()
    assert not x.is_contiguous()
    turned["x"] = x
    a, b = rgat(g, **plain), rgat(g, **turned)
    assert torch.equal(a, b)
    a.sum().backward()
    b.sum().backward()
    assert torch.equal(plain["x"].grad, x.grad)


def test_no_gradients_without_grad_mode(g, rgat):
    with torch.no_grad():
        assert not rgat(g, **rgat_inputs()).requires_grad


@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 4e-2)])
def test_other_types_of_number(g, rgat, dtype, tolerance):
    inputs, exact = rgat_inputs(dtype), rgat_inputs()
    out = rgat(g, **inputs)
    assert out.dtype == dtype
    wanted = rgat(g, **exact)
    assert (out.double() - wanted).abs().max() <= tolerance * wanted.abs().max()
    out.sum().backward()
    wanted.sum().backward()
    assert inputs["W"].grad.dtype == dtype
    assert (inputs["W"].grad.double() - exact["W"].grad).abs().max() <= 3 * tolerance * exact["W"].grad.abs().max()


def test_numpy_of_16_bits_stays_so(g, rgat):
    inputs = rgat_inputs(torch.float16)
    out = rgat(g, **inputs)
    out.sum().backward()
    arrays = {name: value.detach().numpy() for name, value in inputs.items()}
    found, gradients = rgat.value_and_grad(g, **arrays)
    assert rgat(g, **arrays).dtype == found.dtype == gradients["W"].dtype == np.float16
    np.testing.assert_array_equal(found, out.detach().numpy())
    np.testing.assert_array_equal(gradients["W"], inputs["W"].grad.numpy())
    _, doubled = rgat.value_and_grad(g, **arrays, output_gradients=np.full_like(found, 2.0))
    np.testing.assert_allclose(doubled["W"], 2 * gradients["W"], rtol=2e-3)


@pytest.mark.parametrize("dtype", [torch.float64, np.float64, np.dtype("float64"), "f64"], ids=str)
def test_layers_are_shown_for_types_of_number(g, rgat, dtype):
    assert "double" in rgat.text("cpp", g, d_in=2, d_out=2, dtype=dtype)


def test_autocast_leaves_mixed_types(g, rgat):
    inputs = rgat_inputs(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = rgat(g, **{**inputs, "x": inputs["x"].bfloat16()})
    assert out.dtype == torch.float32
    out.sum().backward()
    assert inputs["x"].grad is not None


def test_results_repeat_bit_for_bit(g, rgat):
    inputs = rgat_inputs(torch.float32, requires_grad=False)
    first = rgat(g, **inputs)
    for _ in range(20):
        assert torch.equal(first, rgat(g, **inputs))


def test_mixed_kinds_are_refused(g, rgat):
    inputs = rgat_inputs()
    with pytest.raises(hector.InvalidError, match="`W` is a ndarray and others are torch tensors"):
        rgat(g, **{**inputs, "W": inputs["W"].detach().numpy()})


def test_other_devices_are_refused(g, rgat):
    inputs = rgat_inputs(requires_grad=False)
    with pytest.raises(hector.InvalidError, match="`x` is on meta"):
        rgat(g, **{**inputs, "x": inputs["x"].to("meta")})


def test_sparse_tensors_are_refused(g, rgat):
    inputs = rgat_inputs(requires_grad=False)
    with pytest.raises(hector.InvalidError, match="`x` is a sparse tensor"):
        rgat(g, **{**inputs, "x": inputs["x"].to_sparse()})


def test_ids_that_require_gradients_are_no_ids():
    with pytest.raises(hector.InvalidError, match="`src` holds f32, but ids are integers"):
        hector.Graph(torch.zeros(2, requires_grad=True), torch.zeros(2, dtype=torch.int64))


def test_graphs_of_unchanged_tensors_are_found_again():
    src, dst, etype = arrays_of()
    first = hector.Graph.cached(src, dst, etype)
    assert hector.Graph.cached(src, dst, etype) is first
    src[0] = 5
    assert hector.Graph.cached(src, dst, etype) is not first


@pytest.mark.parametrize("change", ["numpy", "data"])
def test_graphs_of_tensors_that_changed_silently_are_made_anew(rgat, change):
    src, dst, etype = arrays_of()
    inputs = rgat_inputs(requires_grad=False)
    rgat(hector.Graph.cached(src, dst, etype, num_nodes=20, num_edge_types=3), **inputs)
    if change == "numpy":
        src.numpy()[:] = 7  # tells PyTorch nothing
    else:
        src.data[:] = 7
    out = rgat(hector.Graph.cached(src, dst, etype, num_nodes=20, num_edge_types=3), **inputs)
    torch.testing.assert_close(out, expected_rgat((src, dst, etype), **inputs))


def test_graphs_of_equal_tensors_are_found_again():
    src, dst, etype = arrays_of(seed=8)
    first = hector.Graph.cached(src, dst, etype)
    assert hector.Graph.cached(src.clone(), dst.clone(), etype.clone()) is first
    other = torch.cat([src[1:2], src[0:1], src[2:]])  # of the same sum
    assert hector.Graph.cached(other, dst, etype) is not first


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("changed", range(4))
def test_a_change_to_any_array_of_a_graph_is_noticed(changed, dtype):
    arrays = [*arrays_of(), torch.tensor([0, 4, 20])]
    arrays = [array.to(dtype) for array in arrays]
    first = hector.Graph.cached(*arrays)
    assert hector.Graph.cached(*arrays) is first
    numbers = arrays[changed].numpy()
    before = int(numbers[1])
    numbers[1] = (before + 1) % 20
    second = hector.Graph.cached(*arrays)
    assert second is not first and hector.Graph.cached(*arrays) is second
    numbers[1] = before
    assert hector.Graph.cached(*arrays) is first


def test_a_cached_graph_has_its_ids_once():
    ids = torch.zeros(3, 100_000, dtype=torch.int64)
    tracemalloc.start()
    try:
        g = hector.Graph.cached(*ids)
        used, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert g.num_edges == 100_000
    assert ids.nbytes <= used <= most < 1.1 * ids.nbytes


def test_graphs_that_hold_other_ids_than_they_are_given_are_cached_too():
    class Turned(hector.Graph):
        def __init__(self, src, dst, *rest):
            super().__init__(dst, src, *rest)

    src, dst, _ = arrays_of()
    first = Turned.cached(src, dst, num_nodes=20)
    assert Turned.cached(src, dst, num_nodes=20) is first
    src[:], dst[:] = dst.clone(), src.clone()  # as `first` holds them
    assert Turned.cached(src, dst, num_nodes=20) is not first


def test_graphs_of_tensors_and_lists():
    src, dst, _ = arrays_of()
    g = hector.Graph.cached(src, dst, None, [0, 4, 20])
    assert g.num_node_types == 2
    assert hector.Graph.cached(src, dst, None, [0, 4, 20]) is g
    assert hector.Graph.cached(src.tolist(), dst, None, [0, 4, 20]).num_node_types == 2


def test_a_tensor_that_changes_each_step_leaves_little_behind():
    from hector import _known

    src, dst, _ = arrays_of()
    hector.clear_cache()
    references = weakref.getweakrefcount(src)
    for step in range(40):
        src[0] = step % 20
        src[1] = step // 20
        hector.Graph.cached(src, dst, num_nodes=20)
    assert weakref.getweakrefcount(src) <= references + 1
    assert len(_known._recent) <= 16
    gc.collect()
    assert len(_known._by_content) <= 16


def test_graphs_live_as_long_as_their_tensors():
    hector.clear_cache()
    src, dst, _ = arrays_of(seed=100)
    first = weakref.ref(hector.Graph.cached(src, dst, num_nodes=20))
    for seed in range(20):
        hector.Graph.cached(*arrays_of(seed=seed)[:2], num_nodes=20)
    gc.collect()
    assert first() is not None
    del src
    gc.collect()
    assert first() is None


def test_clear_cache_drops_graphs_and_layers(g, rgat):
    src, dst, etype = arrays_of(seed=3)
    graph = weakref.ref(hector.Graph.cached(src, dst, etype))
    inputs = rgat_inputs(requires_grad=False)
    before = rgat(g, **inputs)
    layer = weakref.ref(layers_of(g, rgat)[0])
    hector.clear_cache()
    gc.collect()
    assert graph() is None and layer() is None
    assert torch.equal(rgat(g, **inputs), before)


def test_layers_go_with_their_model(g):
    model = hector.load(MODELS / "rgat.hec")
    model(g, **rgat_inputs(requires_grad=False))
    layer = weakref.ref(layers_of(g, model)[0])
    del model
    gc.collect()
    assert layer() is None


def test_a_graph_keeps_the_layers_that_were_used_last(rgat):
    g = hector.Graph([0, 1], [1, 2], [0, 1], num_nodes=3)
    x, w = torch.ones(3, 1), torch.ones(2, 1)
    rgat(g, x, torch.ones(2, 1, 1), w, w)
    layers = g._layers[rgat]
    (first,) = layers
    for number in range(layers.limit + 5):
        layers.keep(number, object())  # stands for a layer of other shapes
        rgat(g, x, torch.ones(2, 1, 1), w, w)
    assert len(layers) == layers.limit and first in layers and 0 not in layers


def layers_of(g, model):
    return list(g._layers[model].values())


def test_what_advice_about_memory_says_does_help(rgat):
    g = hector.Graph(*arrays_of(), num_nodes=20, num_edge_types=3)
    inputs = rgat_inputs()
    hector.set_num_threads(1)
    try:
        with torch.no_grad():
            rgat(g, **inputs)
        hector.set_memory_limit(layers_of(g, rgat)[0].peak_bytes)
        with pytest.raises(hector.InvalidError, match=r"or compute without gradients, as under `torch\.no_grad\(\)`$"):
            rgat(g, **inputs)
        with torch.no_grad():
            rgat(g, **inputs)
    finally:
        hector.set_memory_limit(0)
        hector.set_num_threads(0)
    rgat(g, **inputs)


def test_threads_are_those_of_pytorch(g, rgat, monkeypatch):
    monkeypatch.delenv("HECTOR_THREADS", raising=False)
    inputs, before = rgat_inputs(), torch.get_num_threads()
    wanted = rgat(g, **inputs)
    try:
        for count in (1, 3, 2):
            torch.set_num_threads(count)
            assert _threads.number_of_threads() == count
            assert torch.equal(rgat(g, **inputs), wanted)
            rgat(g, **inputs).sum().backward()
        hector.set_num_threads(5)
        assert _threads.number_of_threads() == 5
        assert torch.equal(rgat(g, **inputs), wanted)
        hector.set_num_threads(0)
        monkeypatch.setenv("HECTOR_THREADS", "4")
        assert _threads.number_of_threads() == 0  # the library reads the variable
    finally:
        hector.set_num_threads(0)
        torch.set_num_threads(before)


def test_threads_of_pytorch_are_not_used_after_a_fork(g, rgat):
    torch.set_num_threads(2)
    wanted = rgat(g, **rgat_inputs())
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # instead of waiting for threads that are not there
        with torch.no_grad():
            os._exit(0 if torch.equal(rgat(g, **rgat_inputs()), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_runs_are_given_back(g, rgat):
    made = []
    hector.clear_cache()
    inputs = rgat_inputs()
    for _ in range(10):
        rgat(g, **inputs)  # results that nobody differentiates
        made += [id(run) for layer in layers_of(g, rgat) for run in layer._free]
    gc.collect()
    assert len(set(made)) == 1  # one run serves all calls
    rgat(g, **inputs).sum().backward()
    (layer,) = layers_of(g, rgat)
    assert len(layer._free) == 1


def test_a_failure_in_between_leaves_nothing_behind(g, rgat):
    inputs, wanted = rgat_inputs(), rgat_inputs()
    rgat(g, **wanted).sum().backward()

    class Stop(Exception):
        pass

    def stop(gradient):
        raise Stop

    out = rgat(g, **inputs)
    out.register_hook(stop)
    with pytest.raises(Stop):
        out.sum().backward()
    again = rgat_inputs()
    rgat(g, **again).sum().backward()
    for name, value in again.items():
        assert torch.equal(value.grad, wanted[name].grad)


def test_two_threads_differentiate_one_retained_graph(g, rgat):
    inputs = rgat_inputs()
    out = rgat(g, **inputs).sum()
    (wanted,) = torch.autograd.grad(out, inputs["W"], retain_graph=True)
    failures = []

    def work():
        for _ in range(25):
            if not torch.equal(torch.autograd.grad(out, inputs["W"], retain_graph=True)[0], wanted):
                failures.append(1)

    for _ in range(5):
        out = rgat(g, **inputs).sum()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_waiting_run_is_taken_by_one_backward_pass(g, rgat):
    """Two backward passes that start at once must not share a run."""
    from hector import _torch

    inputs = rgat_inputs()
    out = rgat(g, **inputs)
    call = out.grad_fn.call
    assert isinstance(call, _torch._Call) and isinstance(call.waiting, list)  # `pop` of a list is one step
    torch.autograd.grad(out.sum(), inputs["W"], retain_graph=True)
    assert call.waiting == []


def test_inputs_that_are_not_contiguous_are_copied_once(g, rgat, monkeypatch):
    from hector import _passes

    inputs = rgat_inputs()
    x = inputs["x"].detach().t().contiguous().t().requires_grad_()
    copies, view = [], type(_passes.arrays).view

    def counted(self, value, name):
        made = view(self, value, name)
        copies.extend([name] if made.pointer != value.data_ptr() else [])
        return made

    monkeypatch.setattr(type(_passes.arrays), "view", counted)
    rgat(g, **{**inputs, "x": x}).sum().backward()
    assert copies == ["x"]


def test_transforms_of_torch_func_are_refused(g, rgat):
    inputs = rgat_inputs(requires_grad=False)
    x = inputs.pop("x")
    with pytest.raises(hector.InvalidError, match="`x` is a tensor without numbers of its own.*torch.func"):
        torch.func.grad(lambda x: rgat(g, x, **inputs).sum())(x)


SCALED = """\
def scaled(g, x: Node[d], s: float = 1.0):
    for n in g.nodes():
        n["out"] = n.x * s
    return n["out"]
"""


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), torch.tensor(0.5)])
def test_attributes_may_be_numbers_of_numpy(value):
    model = hector.parse(SCALED)
    g = hector.Graph([0], [1], num_nodes=2)
    out = model(g, torch.ones(2, 1), s=value)
    assert out.tolist() == [[0.5], [0.5]]


def test_attributes_of_other_kinds_are_refused():
    model = hector.parse(SCALED)
    with pytest.raises(hector.InvalidError, match="`s` is a list; expected a number"):
        model(hector.Graph([0], [1], num_nodes=2), torch.ones(2, 1), s=[1.0])


def test_threads(g, rgat):
    wanted = [rgat(g, **rgat_inputs(seed=seed)).detach() for seed in range(4)]
    failures = []

    def work(seed):
        for _ in range(25):
            inputs = rgat_inputs(seed=seed)
            out = rgat(g, **inputs)
            out.sum().backward()
            if not torch.equal(out.detach(), wanted[seed]):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _worker_result(index):
    inputs = rgat_inputs(requires_grad=False)
    arrays = arrays_of()
    graph = hector.Graph(*arrays, num_nodes=20, num_edge_types=3)
    return hector.load(MODELS / "rgat.hec")(graph, **inputs) + index


class _Results(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return _worker_result(index)


def test_workers_of_a_data_loader(g, rgat):
    wanted = rgat(g, **rgat_inputs(requires_grad=False))
    loader = torch.utils.data.DataLoader(_Results(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    for index, out in enumerate(loader):
        assert torch.equal(out, wanted + index)


@pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="operators need PyTorch 2.4")
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_torch_compile_takes_a_model_whole(g, rgat, backend):
    def step(x, W, w_s, w_t):
        return torch.relu(rgat(g, x, W, w_s, w_t)) * 2

    compiled = torch.compile(step, fullgraph=True, backend=backend)
    ours, theirs = rgat_inputs(torch.float32), rgat_inputs(torch.float32)
    for _ in range(3):
        a, b = compiled(**ours), step(**theirs)
        assert torch.equal(a, b)
        a.sum().backward()
        b.sum().backward()
    for name in ours:
        torch.testing.assert_close(ours[name].grad, theirs[name].grad)


@pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="operators need PyTorch 2.4")
def test_operators_pass_pytorchs_own_checks(g, rgat):
    inputs = rgat_inputs()
    arguments = (rgat._number, "", [g._number], [], "", "", "\n".join(rgat.inputs), None, list(inputs.values()))
    torch.library.opcheck(torch.ops.hector.forward.default, arguments)


def test_forward_passes_of_operators_repeat(g, rgat):
    """The operator is declared to be pure, so nothing that it returns may differ."""
    inputs = [value.detach() for value in rgat_inputs().values()]
    arguments = (rgat._number, "", [g._number], [], "", "", "\n".join(rgat.inputs), None, inputs)
    first, second = torch.ops.hector.forward(*arguments), torch.ops.hector.forward(*arguments)
    assert all(torch.equal(a, b) for a, b in zip(first, second))
