"""Layers on a GPU: results, gradients, streams, CUDA graphs and memory.

    HECTOR_LIBRARY=build/libhector.so PYTHONPATH=python python3 python/tests/test_cuda.py

Without a GPU, tests that need no stream run on an emulated one, whose memory is the host's, and the others are skipped.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
import traceback
import unittest
import warnings
from pathlib import Path
from unittest import mock

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

import hector
from hector import _arrays, _gpu

ROOT = Path(__file__).resolve().parents[2]
HAS_GPU = torch.cuda.is_available()
COMPILES = hasattr(torch.library, "register_autograd")  # operators need PyTorch 2.4
NO_GPU = "there is no GPU that PyTorch can use"

DROP = """
def drop(g, x: Node[d]):
    for n in g.nodes():
        n["out"] = sum(dropout(e.src.x, 0.5) for e in n.incoming_edges())
    return n["out"]
"""
ATTEND = """
def attend(g, x: Node[d], w: Edge[], mask: Edge[]):
    for e in g.edges():
        e["a"] = where(e.mask > 0.0, dot_prod(e.src.x, e.dst.x) * e.w, -1.0)
    edge_softmax(g, "a")
    for n in g.nodes():
        n["out"] = sum(e["a"] * e.src.x for e in n.incoming_edges())
    return n["out"], e["a"]
"""


def random_graph(num_nodes=40, num_edges=300, relations=4, types=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    src, dst = (torch.randint(num_nodes, (num_edges,), generator=generator) for _ in range(2))
    etype = torch.randint(relations, (num_edges,), generator=generator)
    starts = [num_nodes * k // types for k in range(types + 1)]
    return src, dst, etype, starts


def inputs_of(model, sizes, rows, dtype, seed=1):
    """Random inputs of a model."""
    generator = torch.Generator().manual_seed(seed)
    made = {}
    for name, home, shape in zip(model.inputs, model._homes, model._shapes):
        extents = [sizes[extent] for extent in shape]
        full = extents if home == "Shared" else [rows[home], *extents]
        made[name] = (torch.randn(full, generator=generator, dtype=torch.float64) / 2).to(dtype)
    return made


def differentiated(model, graph, inputs):
    """Results and gradients, from gradients of the results that are the same on all devices."""
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
    results = model(graph, **leaves)
    results = results if isinstance(results, tuple) else (results,)
    starts = [torch.linspace(-1, 1, r.numel(), dtype=torch.float64).reshape(r.shape).to(r) for r in results]
    gradients = torch.autograd.grad(results, list(leaves.values()), starts)
    return [tensor.detach() for tensor in (*results, *gradients)]


class Case(unittest.TestCase):
    def assert_close(self, found, wanted, tolerance, what=""):
        found, wanted = found.detach().double().cpu(), wanted.detach().double().cpu()
        self.assertEqual(found.shape, wanted.shape, what)
        if wanted.numel():
            error = (found - wanted).abs().max().item() / max(wanted.abs().max().item(), 1e-30)
            self.assertLessEqual(error, tolerance, what)

    def assert_all_close(self, found, wanted, tolerance):
        self.assertEqual(len(found), len(wanted))
        for place, (a, b) in enumerate(zip(found, wanted)):
            self.assert_close(a, b, tolerance, f"result {place}")


class Layers:
    """What holds on a GPU and on an emulated one."""

    def to(self, tensors):
        if isinstance(tensors, dict):
            return {name: self.to(tensor) for name, tensor in tensors.items()}
        return tensors.to(self.device)

    def compare(self, model, graph, inputs, tolerance):
        with self.on_cpu():
            wanted = differentiated(model, graph, inputs)
        found = differentiated(model, graph, self.to(inputs))
        for tensor in found:
            self.assertEqual(tensor.device.type, torch.device(self.device).type)
        self.assert_all_close(found, wanted, tolerance)
        again = differentiated(model, graph, self.to(inputs))
        for a, b in zip(found, again):
            self.assertTrue(torch.equal(a, b), "results repeat bit for bit")

    def layer(self, name, dtype=torch.float32, **graph):
        src, dst, etype, starts = random_graph(**graph)
        g = hector.Graph(src, dst, etype, starts)
        model = hector.load(ROOT / "models" / f"{name}.hec")
        rows = {"Node": g.num_nodes, "Edge": g.num_edges, "EdgeType": g.num_edge_types, "NodeType": g.num_node_types}
        return model, g, inputs_of(model, {"d_in": 16, "d_out": 8, "d": 16}, rows, dtype)

    def test_layers_match_the_cpu(self):
        for name in ("rgcn", "rgat", "hgt"):
            for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
                with self.subTest(name=name, dtype=dtype):
                    self.compare(*self.layer(name, dtype), tolerance)

    def test_short_numbers_match_the_cpu(self):
        for dtype, tolerance in ((torch.bfloat16, 0.06), (torch.float16, 0.01)):
            with self.subTest(dtype=dtype):
                self.compare(*self.layer("rgcn", dtype), tolerance)

    def test_rows_in_the_order_of_edges(self):
        # Inputs and results of edges have another order outside, and one of the results is read by the backward pass.
        model = hector.parse(ATTEND)
        src, dst, etype, _ = random_graph()
        inputs = inputs_of(model, {"d": 8}, {"Node": 40, "Edge": 300}, torch.float32)
        self.compare(model, hector.Graph(src, dst, num_nodes=40), inputs, 1e-4)

    def test_parts_of_tensors(self):
        model, g, inputs = self.layer("rgcn")
        whole = {name: torch.cat([tensor.reshape(-1)[:1], tensor.reshape(-1)]) for name, tensor in inputs.items()}
        parts = {name: self.to(whole[name])[1:].view(inputs[name].shape) for name in inputs}
        self.assert_close(model(g, **parts), model(g, **self.to(inputs)), 0)
        turned = {name: tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor for name, tensor in self.to(inputs).items()}
        self.assert_close(model(g, **turned), model(g, **self.to(inputs)), 0)

    def test_two_forward_passes_before_their_backward_passes(self):
        model, g, inputs = self.layer("rgat")
        first, second = self.to(inputs), self.to(inputs)
        second["x"] = second["x"] * 2
        wanted = [differentiated(model, g, inputs)[1] for inputs in (first, second)]
        leaves = [dict(inputs, x=inputs["x"].clone().requires_grad_()) for inputs in (first, second)]
        outs = [model(g, **inputs) for inputs in leaves]
        start = torch.linspace(-1, 1, outs[0].numel()).reshape(outs[0].shape).to(self.device)
        for out, inputs, gradient in reversed(list(zip(outs, leaves, wanted))):
            out.backward(start)
            self.assert_close(inputs["x"].grad, gradient, 1e-6)

    def test_a_backward_pass_can_be_repeated(self):
        model, g, inputs = self.layer("rgcn")
        leaves = {name: tensor.requires_grad_() for name, tensor in self.to(inputs).items()}
        out = model(g, **leaves).sum()
        first = torch.autograd.grad(out, list(leaves.values()), retain_graph=True)
        self.assert_all_close(torch.autograd.grad(out, list(leaves.values())), first, 0)

    def test_results_without_gradient(self):
        model = hector.parse(ATTEND)
        src, dst, _, _ = random_graph()
        inputs = self.to(inputs_of(model, {"d": 8}, {"Node": 40, "Edge": 300}, torch.float32))
        inputs["x"].requires_grad_()
        out, weights = model(hector.Graph(src, dst, num_nodes=40), **inputs)
        out.sum().backward()
        self.assertGreater(inputs["x"].grad.abs().max().item(), 0)

    def test_value_and_grad(self):
        model, g, inputs = self.layer("rgcn")
        out, gradients = model.value_and_grad(g, **self.to(inputs), wrt=["x"])
        leaves = {name: tensor.requires_grad_(name == "x") for name, tensor in self.to(inputs).items()}
        wanted = model(g, **leaves)
        wanted.sum().backward()
        self.assert_close(out, wanted, 0)
        self.assert_close(gradients["x"], leaves["x"].grad, 0)

    def test_dropout_drops_the_same_forward_and_backward(self):
        model = hector.parse(DROP)
        g = hector.Graph(torch.arange(64), torch.arange(64))
        x = torch.ones(64, 32, device=self.device, requires_grad=True)
        torch.manual_seed(1)
        out = model(g, x, training=True)
        out.sum().backward()
        self.assertTrue(torch.equal(out.detach(), x.grad))
        self.assertEqual(sorted(set(out.flatten().tolist())), [0.0, 2.0])
        torch.manual_seed(1)
        self.assertTrue(torch.equal(out, model(g, x, training=True)))
        self.assertFalse(torch.equal(out, model(g, x, training=True)))
        self.assertTrue(torch.equal(model(g, x), x))

    def test_graphs_without_edges(self):
        model = hector.load(ROOT / "models" / "rgcn.hec")
        none = torch.zeros(0, dtype=torch.int64)
        g = hector.Graph(none, none, none, num_nodes=5, num_edge_types=2)
        inputs = inputs_of(model, {"d_in": 4, "d_out": 4}, {"Node": 5, "EdgeType": 2}, torch.float32)
        self.compare(model, g, inputs, 1e-5)

    def test_many_threads(self):
        model, g, inputs = self.layer("rgcn")
        inputs = self.to(inputs)
        wanted, failures = differentiated(model, g, inputs), []

        def work():
            try:
                for _ in range(10):
                    for found, one in zip(differentiated(model, g, inputs), wanted):
                        assert torch.equal(found, one)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_precision_is_chosen(self):
        self.assertEqual(hector.get_precision(), "highest")
        model, g, inputs = self.layer("rgcn")
        exact = model(g, **self.to(inputs))
        try:
            for name in ("high", "medium"):
                hector.set_precision(name)
                self.assert_close(model(g, **self.to(inputs)), exact, 1e-2)
        finally:
            hector.set_precision("highest")
        with self.assertRaisesRegex(hector.InvalidError, "'highest', 'high' or 'medium'"):
            hector.set_precision("low")

    def check_compiled(self, backend):
        if not COMPILES:
            self.skipTest("operators need PyTorch 2.4")
        model, g, inputs = self.layer("rgcn")
        inputs = self.to(inputs)
        wanted = differentiated(model, g, inputs)

        @torch.compile(fullgraph=True, backend=backend)
        def compiled(**inputs):
            return model(g, **inputs).relu()

        leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
        out = compiled(**leaves)
        self.assertTrue(torch.equal(out.detach(), wanted[0].relu()))
        start = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape).to(out)
        plain = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
        model(g, **plain).relu().backward(start)
        out.backward(start)
        for name in leaves:
            self.assert_close(leaves[name].grad, plain[name].grad, 1e-6, name)

    def test_torch_compile(self):
        self.check_compiled("aot_eager")

    def test_memory_is_limited(self):
        model, g, inputs = self.layer("rgcn")
        hector.set_memory_limit(100)
        try:
            with self.assertRaisesRegex(hector.MachineError, "the limit is 100"):
                model(g, **self.to(inputs))
        finally:
            hector.set_memory_limit(0)


class Emulated:
    """Tensors of the CPU stand for those of a GPU."""

    device = "cpu"

    def setUp(self):
        if HAS_GPU:
            self.skipTest("there is a GPU, so nothing is emulated")
        for patch in (
            mock.patch.dict(os.environ, HECTOR_EMULATE_CUDA="1"),
            mock.patch.object(_arrays.TorchArrays, "kinds", {"cpu": 2}),
            mock.patch.object(_gpu, "device_of", lambda place: torch.device("cpu")),
            mock.patch.object(_gpu, "stream_of", lambda number: 0),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        super().setUp()


class EmulatedTest(Emulated, Layers, Case):
    @contextlib.contextmanager
    def on_cpu(self):
        with mock.patch.object(_arrays.TorchArrays, "kinds", {"cpu": 1}):
            yield

    def test_memory_is_pytorchs_and_given_back(self):
        model, g, inputs = self.layer("rgcn")
        leaves = {name: tensor.requires_grad_() for name, tensor in inputs.items()}
        model(g, **leaves).sum().backward()
        layer = next(iter(next(iter(g._layers.values())).values()))
        self.assertGreater(layer.work_bytes, 0)
        self.assertEqual(len(layer._free), 1)


class WithoutGpuTest(Case):
    @unittest.skipIf(HAS_GPU, "there is a GPU")
    def test_no_gpu_says_what_doctor_says(self):
        # In another process, as this one may emulate a GPU.
        import subprocess
        import sys

        code = (
            "import torch, hector\n"
            "from hector import _arrays\n"
            "_arrays.TorchArrays.kinds = {'cpu': 2}\n"
            f"model = hector.parse({DROP!r})\n"
            "try:\n    model(hector.Graph([0], [0]), torch.ones(1, 1))\n"
            "except hector.HectorError as error:\n    print(error)\n"
        )
        environment = {key: value for key, value in os.environ.items() if key != "HECTOR_EMULATE_CUDA"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertRegex(done.stdout, "CUDA driver", done.stderr)

    def test_other_devices_are_refused(self):
        model = hector.parse(DROP)
        with self.assertRaisesRegex(hector.InvalidError, "`x` is on meta, where Hector does not run"):
            model(hector.Graph([0], [0]), torch.empty(1, 4, device="meta"))


@unittest.skipUnless(HAS_GPU, NO_GPU)
class GpuTest(Layers, Case):
    device = "cuda"

    @contextlib.contextmanager
    def on_cpu(self):
        yield

    def test_mixed_devices_are_refused(self):
        model, g, inputs = self.layer("rgcn")
        mixed = dict(self.to(inputs), W=inputs["W"])
        with self.assertRaisesRegex(hector.InvalidError, "`x` is on cuda:0 and `W` on cpu"):
            model(g, **mixed)

    def test_ids_on_the_gpu(self):
        src, dst, etype, starts = random_graph()
        a, b = hector.Graph(src, dst, etype, starts), hector.Graph(src.cuda(), dst.cuda(), etype.cuda(), starts)
        self.assertEqual(repr(a), repr(b))
        edges = torch.stack([src, dst]).cuda()
        first = hector.Graph.cached(edges[0], edges[1])
        self.assertIs(hector.Graph.cached(edges[0], edges[1]), first)
        copy = edges.clone()
        self.assertIs(hector.Graph.cached(copy[0], copy[1]), first)
        edges[0, 0] = (edges[0, 0] + 1) % 40
        self.assertIsNot(hector.Graph.cached(edges[0], edges[1]), first)

    def test_streams_are_followed(self):
        model, g, inputs = self.layer("rgat", num_nodes=2000, num_edges=20000)
        inputs = self.to(inputs)
        wanted = differentiated(model, g, inputs)
        big = torch.randn(3000, 3000, device="cuda")
        stream = torch.cuda.Stream()
        for _ in range(5):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                x = torch.zeros_like(inputs["x"])
                for _ in range(10):  # keeps the stream busy, so that what does not wait reads zeros
                    big = (big @ big).clamp(-1, 1)
                x.copy_(inputs["x"] + 0 * big[0, 0])
                found = differentiated(model, g, dict(inputs, x=x))
                sums = [tensor.double().sum() for tensor in found]
            torch.cuda.current_stream().wait_stream(stream)
            for tensor, total, one in zip(found, sums, wanted):
                self.assertTrue(torch.equal(tensor, one))
                self.assertEqual(total.item(), one.double().sum().item())

    def test_calls_do_not_wait(self):
        model, g, inputs = self.layer("rgcn")
        leaves = {name: tensor.requires_grad_() for name, tensor in self.to(inputs).items()}
        for _ in range(2):  # gradients that are added to others are the first to use another kernel, which is loaded then
            model(g, **leaves).sum().backward()
        torch.cuda.synchronize()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode("error")
        try:
            torch.cuda._sleep(400_000_000)  # some tenths of a second
            model(g, **leaves).sum().backward()
            self.assertFalse(torch.cuda.current_stream().query(), "the call has waited for the stream")
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_cuda_graphs(self):
        for name in ("rgcn", "rgat", "hgt"):
            with self.subTest(name=name):
                model, g, inputs = self.layer(name)
                leaves = {key: tensor.requires_grad_() for key, tensor in self.to(inputs).items()}

                def step():
                    for leaf in leaves.values():
                        leaf.grad = None
                    out = model(g, **leaves)
                    (out * out).sum().backward()
                    return out

                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    for _ in range(3):
                        step()
                torch.cuda.current_stream().wait_stream(side)
                captured = torch.cuda.CUDAGraph()
                for leaf in leaves.values():
                    leaf.grad = None
                with torch.cuda.graph(captured):
                    out = step()
                gradients = {key: leaf.grad for key, leaf in leaves.items()}
                for seed in range(3):
                    new = inputs_of(model, {"d_in": 16, "d_out": 8, "d": 16}, {k: leaves_rows(g, k) for k in ROWS},
                                    torch.float32, seed + 10)  # fmt: skip
                    with torch.no_grad():
                        for key, leaf in leaves.items():
                            leaf.copy_(new[key])
                    captured.replay()
                    other = {key: tensor.cuda().requires_grad_() for key, tensor in new.items()}
                    wanted = model(g, **other)
                    captured_again = [gradients[key].clone() for key in leaves]
                    (wanted * wanted).sum().backward()
                    self.assertTrue(torch.equal(out, wanted))
                    self.assert_all_close(captured_again, [other[key].grad for key in leaves], 0)

    def test_replays_leave_waiting_passes_alone(self):
        model, g, inputs = self.layer("rgat")
        inputs = self.to(inputs)
        x = inputs["x"].clone().requires_grad_()
        rest = {name: tensor for name, tensor in inputs.items() if name != "x"}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(g, x=x, **rest).sum().backward()
        torch.cuda.current_stream().wait_stream(side)
        wanted = x.grad.clone()
        captured, x.grad = torch.cuda.CUDAGraph(), None
        with torch.cuda.graph(captured):
            model(g, x=x, **rest).sum().backward()
        y = inputs["x"].clone().requires_grad_()
        out = model(g, x=y, **rest)
        captured.replay()
        out.sum().backward()
        self.assertTrue(torch.equal(y.grad, wanted))

    def test_dropout_draws_anew_in_each_replay(self):
        model = hector.parse(DROP)
        g = hector.Graph(torch.arange(64), torch.arange(64))
        x = torch.ones(64, 32, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            model(g, x, training=True)
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = model(g, x, training=True)
        captured.replay()
        first = out.clone()
        captured.replay()
        self.assertFalse(torch.equal(out, first))
        self.assertEqual(sorted(set(out.flatten().tolist())), [0.0, 2.0])

    def test_a_thousand_calls_take_no_more_memory(self):
        model, g, inputs = self.layer("rgat")
        leaves = {name: tensor.requires_grad_() for name, tensor in self.to(inputs).items()}

        def step():
            for leaf in leaves.values():
                leaf.grad = None
            model(g, **leaves).sum().backward()

        for _ in range(10):
            step()
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]
        for _ in range(1000):
            step()
        torch.cuda.synchronize()
        gc.collect()
        after = torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[0]
        self.assertEqual(before, after)

    def test_autocast(self):
        model, g, inputs = self.layer("rgcn")
        inputs = self.to(inputs)
        wanted = model(g, **dict(inputs, x=inputs["x"].bfloat16().float()))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = model(g, **dict(inputs, x=inputs["x"].bfloat16()))
        self.assertEqual(found.dtype, torch.float32)
        self.assertTrue(torch.equal(found, wanted))


ROWS = ("Node", "Edge", "EdgeType", "NodeType")


def leaves_rows(g, home):
    return g._rows[home]


class PygLayers:
    """Layers of `hector.nn` beside PyG's, and a class of PyG's that is compiled."""

    def setUp(self):
        super().setUp()
        try:
            import torch_geometric.nn as theirs
        except ImportError:
            self.skipTest("PyTorch Geometric is not installed")
        import hector.nn as ours

        self.theirs, self.ours = theirs, ours
        src, dst, etype, _ = random_graph()
        self.edge_index, self.edge_type = torch.stack([src, dst]).to(self.device), etype.to(self.device)
        self.x = torch.randn(40, 16, generator=torch.Generator().manual_seed(3)).to(self.device)

    def same(self, make, call, tolerance=1e-4):
        """Compares results and gradients of both, compiled and captured too."""
        torch.manual_seed(0)
        theirs = make(self.theirs).to(self.device)
        ours = make(self.ours).to(self.device)
        ours.load_state_dict(theirs.state_dict())
        x, y = self.x.clone().requires_grad_(), self.x.clone().requires_grad_()
        wanted, found = call(theirs, x), call(ours, y)
        self.assert_close(found, wanted, tolerance, "out")
        start = torch.linspace(-1, 1, wanted.numel()).reshape(wanted.shape).to(self.device)
        wanted.backward(start)
        found.backward(start)
        self.assert_close(y.grad, x.grad, tolerance, "x")
        theirs_grads = dict(theirs.named_parameters())
        for name, parameter in ours.named_parameters():
            other = theirs_grads[name]
            if other.grad is None:
                self.assertTrue(parameter.grad is None or parameter.grad.abs().max() == 0, name)
            else:
                scale = max(other.grad.abs().max().item(), 1e-3)
                self.assertLessEqual((parameter.grad - other.grad).abs().max().item() / scale, tolerance * 10, name)
        with torch.no_grad():
            z = self.x.clone()
            eager = call(ours, z)
            if COMPILES:
                whole = torch.compile(call, fullgraph=True, backend="aot_eager")
                self.assertTrue(torch.equal(whole(ours, z), eager), "torch.compile")
            self.capture(ours, call, z, eager)

    def test_rgcn(self):
        for options in ({}, {"num_bases": 2}, {"num_blocks": 4}, {"aggr": "add"}):
            with self.subTest(**options):
                self.same(lambda nn: nn.RGCNConv(16, 8, 4, **options), lambda conv, x: conv(x, self.edge_index, self.edge_type))

    def test_rgat(self):
        for options in ({}, {"heads": 2, "num_bases": 2}):
            with self.subTest(**options):
                self.same(lambda nn: nn.RGATConv(16, 8, 4, **options), lambda conv, x: conv(x, self.edge_index, self.edge_type))

    def test_gcn_gat_sage(self):
        self.same(lambda nn: nn.GCNConv(16, 8), lambda conv, x: conv(x, self.edge_index))
        self.same(lambda nn: nn.GATConv(16, 8, heads=2), lambda conv, x: conv(x, self.edge_index))
        self.same(lambda nn: nn.GATv2Conv(16, 8), lambda conv, x: conv(x, self.edge_index))
        self.same(lambda nn: nn.SAGEConv(16, 8), lambda conv, x: conv(x, self.edge_index))

    def test_gcn_with_weights(self):
        weights = torch.rand(300, generator=torch.Generator().manual_seed(4)).to(self.device)
        torch.manual_seed(0)
        theirs = self.theirs.GCNConv(16, 8).to(self.device)
        ours = self.ours.GCNConv(16, 8).to(self.device)
        ours.load_state_dict(theirs.state_dict())
        self.assert_close(ours(self.x, self.edge_index, weights), theirs(self.x, self.edge_index, weights), 1e-4)

    def test_hgt(self):
        metadata = (["a", "b"], [("a", "to", "b"), ("b", "to", "a")])
        edges = {
            ("a", "to", "b"): self.edge_index.clone().clamp(max=19),
            ("b", "to", "a"): self.edge_index.flip(0).clamp(max=19).contiguous(),
        }

        def call(conv, x):
            out = conv({"a": x[:20], "b": x[20:]}, edges)
            return torch.cat([out["a"], out["b"]])

        self.same(lambda nn: nn.HGTConv(16, 16, metadata, heads=2), call, 1e-3)

    def test_message_passing(self):
        from torch_geometric.nn import MessagePassing

        class Difference(MessagePassing):
            def __init__(self):
                super().__init__(aggr="mean")
                self.lin = torch.nn.Linear(16, 8)
                self.temperature = 0.7

            def forward(self, x, edge_index):
                return self.propagate(edge_index, x=self.lin(x))

            def message(self, x_i, x_j):
                return torch.relu(x_j - x_i) * self.temperature

        torch.manual_seed(0)
        plain = Difference().to(self.device)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            compiled = hector.compile(Difference)().to(self.device)
            compiled.load_state_dict(plain.state_dict())
            x, y = self.x.clone().requires_grad_(), self.x.clone().requires_grad_()
            wanted, found = plain(x, self.edge_index), compiled(y, self.edge_index)
        self.assert_close(found, wanted, 1e-5)
        wanted.square().sum().backward()
        found.square().sum().backward()
        self.assert_close(y.grad, x.grad, 1e-4)
        self.assert_close(compiled.lin.weight.grad, plain.lin.weight.grad, 1e-4)
        if COMPILES:
            whole = torch.compile(compiled, fullgraph=True, backend="aot_eager")
            self.assert_close(whole(self.x, self.edge_index), wanted, 1e-5)


class EmulatedPygTest(Emulated, PygLayers, Case):
    def capture(self, conv, call, x, wanted):
        pass


@unittest.skipUnless(HAS_GPU, NO_GPU)
class PygTest(PygLayers, Case):
    device = "cuda"

    def capture(self, conv, call, x, wanted):
        captured, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call(conv, x)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(captured):
            out = call(conv, x)
        captured.replay()
        self.assertTrue(torch.equal(out, wanted), "captured")


@unittest.skipUnless(HAS_GPU, NO_GPU)
class WithInductorTest(Case):
    """What takes longest, last: code that PyTorch generates around layers."""

    device = "cuda"
    to, layer, check_compiled = Layers.to, Layers.layer, Layers.check_compiled

    @classmethod
    def setUpClass(cls):
        x = torch.linspace(-1, 1, 100, device="cuda")
        try:
            torch.compile(lambda x: x.relu() + 1, fullgraph=True)(x)
        except Exception as error:
            traceback.print_exc()
            raise unittest.SkipTest(f"torch.compile does not work here without Hector: {error}") from None

    def test_torch_compile(self):
        self.check_compiled("inductor")

    def test_a_layer_of_pyg(self):
        from hector.nn import GCNConv

        src, dst, _, _ = random_graph()
        conv, edge_index = GCNConv(16, 8).cuda(), torch.stack([src, dst]).cuda()
        x = torch.randn(40, 16, device="cuda")
        whole = torch.compile(conv, fullgraph=True)
        self.assert_close(whole(x, edge_index), conv(x, edge_index), 1e-5)
        with torch.no_grad():
            self.assert_close(whole(x, edge_index), conv(x, edge_index), 1e-5)


class Result(unittest.TextTestResult):
    """Says at once what has failed, and how long each test took."""

    def startTest(self, test):
        self.begin = time.perf_counter()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {time.perf_counter() - self.begin:.1f} s")
        super().stopTest(test)

    def tell(self, text):
        self.stream.writeln(text)
        self.stream.flush()

    def addError(self, test, error):
        super().addError(test, error)
        self.tell("".join(traceback.format_exception(*error)))

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell("".join(traceback.format_exception(*error)))

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.tell(f"{subtest}\n" + "".join(traceback.format_exception(*error)))


if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(verbosity=2, resultclass=Result, warnings="ignore"))
