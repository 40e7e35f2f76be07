"""The package with the standard library alone: no NumPy, no PyTorch."""

from __future__ import annotations

import copy
import ctypes
import multiprocessing
import os
import pickle
import sys
import threading
import unittest
from array import array
from xml.etree import ElementTree

import hector
from hector import Edge, EdgeType, Node, NodeType, Shared  # noqa: F401  (names of declarations)

RGCN = """\
def rgcn(g, x: Node[d_in], W: EdgeType[d_in, d_out]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
    return n["out"]
"""

SCALED = """\
def scaled(g, x: Node[d], s: float = 1.0):
    for n in g.nodes():
        n["out"] = n.x * s
    return n["out"]
"""
TWO = """\
def two(g, x: Node[d]):
    for n in g.nodes():
        n["a"] = n.x * 2.0
        n["b"] = n.x * 3.0
    return n["a"], n["b"]
"""


def floats(shape, numbers, code="f"):
    return memoryview(array(code, numbers)).cast("B").cast(code, shape)


def listed(view):
    return view.tolist()


@hector.compile
def decorated(g, x: Node[d], w: Edge[1]):
    for n in g.nodes():
        n["out"] = sum(scaled(e) for e in n.incoming_edges())
    return n["out"]


def scaled(e):
    return e.src.x * e.w


def by_type(g, x: Node[d], bias: Shared[d]):
    for n in g.nodes():
        for p in n.incoming_types():
            p["sum"] = sum(biased(e, bias) for e in p.edges())
    for n in g.nodes():
        n["out"] = sum(p["sum"] for p in n.incoming_types())
    return n["out"]


def biased(e, bias):
    return e.src.x + bias


def edges(path):
    """No part of `by_type`, which has an attribute of this name."""
    with open(path) as file:
        return file.read()


def bias(path):
    """No part of `by_type`, which has an argument of this name."""
    with open(path) as file:
        return file.read()


def send(queue, g):
    queue.put((os.getpid(), g))


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.g = hector.Graph([0, 1], [2, 2], [0, 1])
        self.x = floats((3, 2), [1, 2, 3, 4, 5, 6])
        self.weights = floats((2, 2, 1), [1, 10, 100, 1000])
        self.model = hector.parse(RGCN, "rgcn.hec")

    def refusal(self, call, kind=hector.InvalidError):
        with self.assertRaises(kind) as caught:
            call()
        return str(caught.exception)

    def test_a_layer_computes_what_its_text_says(self):
        out = self.model(self.g, self.x, self.weights)
        self.assertEqual(listed(out), [[0], [0], [4321]])
        self.assertEqual(out.format, "f")

    def test_inputs_are_given_by_name(self):
        self.assertEqual(listed(self.model(self.g, W=self.weights, x=self.x)), [[0], [0], [4321]])

    def test_doubles_stay_doubles(self):
        x, weights = floats((3, 2), [1, 2, 3, 4, 5, 6], "d"), floats((2, 2, 1), [0.1, 10, 100, 1000], "d")
        out = self.model(self.g, x, weights)
        self.assertEqual(out.format, "d")
        self.assertEqual(listed(out)[2][0], 4320.1)

    def test_gradients(self):
        out, gradients = self.model.value_and_grad(self.g, self.x, self.weights)
        self.assertEqual(listed(out)[2], [4321])
        self.assertEqual(listed(gradients["x"]), [[1, 10], [100, 1000], [0, 0]])
        self.assertEqual(listed(gradients["W"]), [[[1], [2]], [[3], [4]]])

    def test_gradients_of_some_inputs(self):
        start = floats((3, 1), [5, 5, 2])
        _, gradients = self.model.value_and_grad(self.g, self.x, self.weights, wrt=["W"], output_gradients=start)
        self.assertEqual({name: listed(value) for name, value in gradients.items()}, {"W": [[[2], [4]], [[6], [8]]]})

    def test_functions_of_a_file_are_models(self):
        out = decorated(hector.Graph([0, 1], [1, 1]), floats((2, 1), [3, 4]), floats((2, 1), [10, 100]))
        self.assertEqual(listed(out), [[0], [430]])

    def test_functions_of_a_file_with_names_of_attributes_and_arguments_are_left_alone(self):
        self.assertEqual(listed(hector.compile(by_type)(self.g, self.x, array("f", [10, 20]))), [[0, 0], [0, 0], [24, 46]])

    def test_errors_of_decorated_functions_show_their_place(self):
        def broken(g, x: Node[d]):
            for n in g.nodes():
                n["out"] = n.y
            return n["out"]

        message = self.refusal(lambda: hector.compile(broken)(self.g, self.x), hector.ModelError)
        line = broken.__code__.co_firstlineno + 2
        self.assertIn(f"test_package.py:{line}:", message)
        self.assertIn("`y`", message)

    def test_wrong_texts_are_shown_with_their_place(self):
        message = self.refusal(lambda: hector.parse("def f(g, x: Node[d]):\n    retrun x\n", "f.hec"), hector.ModelError)
        self.assertTrue(message.startswith("f.hec:2:"), message)

    def test_a_graph_has_as_many_types_as_weights(self):
        weights = floats((5, 2, 1), [1, 10, 100, 1000, 0, 0, 0, 0, 0, 0])
        self.assertEqual(listed(self.model(self.g, self.x, weights)), [[0], [0], [4321]])

    def test_a_graph_has_as_many_nodes_as_rows(self):
        x = floats((4, 2), [1, 2, 3, 4, 5, 6, 7, 8])
        self.assertEqual(listed(self.model(self.g, x, self.weights)), [[0], [0], [4321], [0]])

    def test_rows_that_do_not_fit_a_graph_are_refused(self):
        g = hector.Graph([0, 1], [2, 2], [0, 1], num_edge_types=2, num_nodes=3)
        message = self.refusal(lambda: self.model(g, floats((2, 2), [1, 2, 3, 4]), self.weights))
        self.assertIn("`x` has shape [2, 2], but the graph has 3 nodes", message)

    def test_shapes_that_do_not_fit_each_other_are_refused(self):
        message = self.refusal(lambda: self.model(self.g, self.x, floats((2, 1, 2), [1, 10, 100, 1000])))
        self.assertIn("its transpose fits", message)
        self.assertNotIn("--bind", message)

    def test_arrays_of_ctypes_are_taken(self):
        ids, x = ctypes.c_int64 * 2, (ctypes.c_float * 2 * 3)((1, 2), (3, 4), (5, 6))
        g = hector.Graph(ids(0, 1), ids(2, 2), (ctypes.c_int32 * 2)(0, 1))
        self.assertEqual(memoryview(x).format, "<f" if sys.byteorder == "little" else ">f")
        for given in (x, memoryview(x), memoryview(x).toreadonly(), memoryview(x).cast("B").cast("@f", (3, 2))):
            self.assertEqual(listed(self.model(g, given, self.weights)), [[0], [0], [4321]])

    def test_numbers_of_another_byte_order_are_refused(self):
        other, prefix = ("__ctype_be__", ">") if sys.byteorder == "little" else ("__ctype_le__", "<")
        x = (getattr(ctypes.c_float, other) * 2 * 3)()
        message = self.refusal(lambda: self.model(self.g, x, self.weights))
        self.assertEqual(message, f"`x` holds items of format '{prefix}f'; expected numbers, such as 'f' or 'q'")

    def test_types_that_differ_are_refused(self):
        message = self.refusal(lambda: self.model(self.g, self.x, floats((2, 2, 1), [1, 2, 3, 4], "d")))
        self.assertEqual(message, "`x` holds f32 and `W` f64; convert one of them")

    def test_integers_are_no_inputs(self):
        message = self.refusal(lambda: self.model(self.g, floats((3, 2), [1, 2, 3, 4, 5, 6], "q"), self.weights))
        self.assertEqual(message, "`x` holds i64, but inputs are floats; convert it to float32")

    def test_missing_inputs_are_named(self):
        self.assertEqual(self.refusal(lambda: self.model(self.g, self.x)), "`rgcn` needs `W` as well")

    def test_misspelt_inputs_are_named(self):
        message = self.refusal(lambda: self.model(self.g, self.x, self.weights, xx=self.x))
        self.assertEqual(message, "`rgcn` has no input or attribute `xx`; did you mean `x`?")

    def test_something_else_than_a_graph_is_refused(self):
        message = self.refusal(lambda: self.model([0, 1], self.x, self.weights))
        self.assertEqual(message, "the first argument is a list; expected a hector.Graph")

    def test_something_else_than_an_array_is_refused(self):
        message = self.refusal(lambda: self.model(self.g, object(), self.weights))
        self.assertIn("`x` is a object; expected an array", message)

    def test_ids_that_are_negative_or_too_large_are_refused(self):
        self.assertIn("-1", self.refusal(lambda: hector.Graph([0, -1], [1, 1])))
        self.assertIn("9", self.refusal(lambda: hector.Graph([0, 9], [1, 1], num_nodes=3)))

    def test_ids_that_are_floats_are_refused(self):
        message = self.refusal(lambda: hector.Graph(array("f", [0, 1]), [1, 1]))
        self.assertEqual(message, "`src` holds f32, but ids are integers of 32 or 64 bits")

    def test_ids_beyond_64_bits_are_refused(self):
        message = self.refusal(lambda: hector.Graph([0, 2**70], [0, 1]))
        self.assertEqual(message, f"`src[1]` is {2**70}; ids are integers of 32 or 64 bits")

    def test_texts_that_are_no_texts_are_refused(self):
        self.assertEqual(self.refusal(lambda: hector.parse(None)), "the text of a model is a NoneType; expected a str")
        self.assertEqual(self.refusal(lambda: hector.parse(b"def")), "the text of a model is a bytes; expected a str")
        self.assertEqual(self.refusal(lambda: hector.parse(RGCN, entry=3)), "`entry` is a int; expected a str")
        self.assertIn("'\\ud800' in line 2, column 1", self.refusal(lambda: hector.parse("\n\ud800")))
        self.assertIn("'\\x00' in line 6, column 2", self.refusal(lambda: hector.parse(RGCN + "\n#\0 more")))
        self.assertIn("an attribute has", self.refusal(lambda: hector.parse(SCALED)(self.g, self.x, s="1\0")))

    def test_paths_that_are_no_paths_are_refused(self):
        for path in (None, 3, "a\0b"):
            self.assertIn("cannot read model", self.refusal(lambda: hector.load(path)))
            self.assertIn("the path of a graph is", self.refusal(lambda: hector.Graph.load(path)))

    def test_lambdas_are_refused(self):
        self.assertIn("is not written with `def`", self.refusal(lambda: hector.compile(lambda g: 1)))

    def test_graphs_are_pickled(self):
        graphs = [
            self.g,
            hector.Graph([], [], num_nodes=3),
            hector.Graph(array("i", [0, 1]), array("i", [2, 2]), [0, 1], [0, 1, 3], num_edge_types=5),
        ]
        graphs[2].node_type_names = ["a", "b"]
        for g in graphs:
            other = pickle.loads(pickle.dumps(g))
            self.assertIsNot(other, g)
            self.assertEqual((repr(other), other.node_type_names), (repr(g), g.node_type_names))
            weights = floats((g.num_edge_types, 2, 1), [1, 10, 100, 1000, *[0] * 6][: 2 * g.num_edge_types])
            self.assertEqual(listed(self.model(other, self.x, weights)), listed(self.model(g, self.x, weights)))
            self.assertIs(copy.copy(g), g)
            self.assertIs(copy.deepcopy(g), g)

    def test_pickled_graphs_still_grow_with_their_inputs(self):
        x = floats((4, 2), [1, 2, 3, 4, 5, 6, 7, 8])
        other = pickle.loads(pickle.dumps(self.g))
        self.assertEqual(listed(self.model(other, x, self.weights)), [[0], [0], [4321], [0]])

    def test_graphs_come_back_from_workers(self):
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            worker = context.Process(target=send, args=(queue, self.g))
            worker.start()
            process, g = queue.get(timeout=60)
            worker.join()
            self.assertNotEqual(process, os.getpid())
            self.assertEqual(listed(self.model(g, self.x, self.weights))[2], [4321])

    def test_lists_of_different_lengths_are_refused(self):
        self.assertIn("2", self.refusal(lambda: hector.Graph([0, 1], [1, 1, 1])))

    def test_a_graph_without_edges(self):
        g = hector.Graph([], [], num_nodes=3)
        self.assertEqual(repr(g), "Graph(3 nodes of 1 type, 0 edges of 1 type)")
        out = self.model(g, self.x, floats((1, 2, 1), [1, 10]))
        self.assertEqual(listed(out), [[0], [0], [0]])

    def test_layers_are_shown(self):
        summary = self.model.summary(self.g, d_in=2, d_out=1)
        self.assertIn("d_in=2", summary)
        self.assertIn("__global__", self.model.source("cuda", self.g, d_in=2, d_out=1))
        self.assertIn("void", self.model.source("cpp", self.g, d_in=2, d_out=1))
        self.assertIn("flow.", self.model.flow(self.g, d_in=2, d_out=1))

    def test_summaries_are_texts_with_a_picture(self):
        for options in ({}, {"gradients": True}, {"passes": "none"}):
            summary = self.model.summary(self.g, d_in=2, d_out=1, **options)
            self.assertEqual((repr(summary), pickle.loads(pickle.dumps(summary))), (str(summary), summary))
            loops, picture = summary.loops(), ElementTree.fromstring(summary._repr_svg_())
            table = summary[summary.index("group") :].split("\n\n")[0].splitlines()
            self.assertEqual(len(loops), sum(line.split()[0].isdigit() for line in table))
            self.assertEqual("backward" in {loop.phase for loop in loops}, "gradients" in options)
            bars = [part for part in picture.iter() if part.tag.endswith("rect") and "rx" in part.attrib]
            self.assertEqual(len(bars), len(loops))
            self.assertTrue(all(loop.seconds > 0 and loop.ops for loop in loops), loops)
            longest = max(zip(loops, bars), key=lambda pair: pair[0].seconds)[1]
            self.assertEqual(longest.get("width"), max((bar.get("width") for bar in bars), key=float))

    def test_a_text_that_is_no_summary_has_an_empty_picture(self):
        for text in ("", "something else", "group  loop  rows"):
            self.assertEqual(hector.Summary(text).loops(), [])
            self.assertTrue(ElementTree.fromstring(hector.Summary(text).svg()).tag.endswith("svg"))

    def test_messages_name_arguments_of_python(self):
        message = self.refusal(lambda: self.model.summary(self.g), hector.ModelError)
        self.assertIn("help: give `d_in=64`", message)
        self.assertNotIn("--", message)
        message = self.refusal(lambda: self.model(self.g, self.x, self.weights, d_in=5))
        self.assertTrue(message.endswith("asks for 5 at axis 0 (d_in = 5 is given)"), message)
        needed = hector.parse(SCALED.replace(" = 1.0", ""))
        self.assertIn("is not set; give `s=VALUE`", self.refusal(lambda: needed(self.g, self.x)))
        message = self.refusal(lambda: self.model.summary(self.g, d_in=2, d_out=1, passes="something"))
        self.assertTrue(message.startswith("there is no pass `something`; `passes` takes none, default, "), message)

    def test_layers_of_something_else_than_graphs_are_not_shown(self):
        self.assertIn("expected a hector.Graph", self.refusal(lambda: self.model.summary(3, d_in=2, d_out=1)))
        message = self.refusal(lambda: self.model.text("cpp", self.g, d_in=2, d_out=1, dtype=int))
        self.assertIn("`dtype` is <class 'int'>; expected f64", message)

    def test_gradients_of_some_results(self):
        model = hector.parse(TWO)
        x, start = floats((3, 1), [1, 2, 3]), floats((3, 1), [1, 2, 3])
        _, gradients = model.value_and_grad(self.g, x, output_gradients=[start, None])
        self.assertEqual(listed(gradients["x"]), [[2], [4], [6]])
        _, gradients = model.value_and_grad(self.g, x, output_gradients=[None, None])
        self.assertEqual(listed(gradients["x"]), [[0], [0], [0]])
        message = self.refusal(lambda: model.value_and_grad(self.g, x, output_gradients=[None]))
        self.assertEqual(message, "`output_gradients` are None; expected f32 [3, 1], f32 [3, 1], as the results have")

    def test_gradients_while_training(self):
        model = hector.parse(SCALED.replace("n.x * s", "dropout(n.x * s, 0.5)"))
        x = floats((3, 100), [1.0] * 300)
        out, gradients = model.value_and_grad(self.g, x, training=True)
        kept = sum(number != 0 for row in listed(out) for number in row)
        self.assertTrue(0 < kept < 300, kept)
        self.assertEqual(listed(gradients["x"]), listed(out))
        self.assertEqual(listed(model.value_and_grad(self.g, x)[0]), listed(x))

    def test_threads_call_one_model(self):
        failures = []

        def work(factor):
            x = floats((3, 2), [factor * number for number in (1, 2, 3, 4, 5, 6)])
            for _ in range(50):
                if listed(self.model(self.g, x, self.weights))[2] != [4321 * factor]:
                    failures.append(factor)

        threads = [threading.Thread(target=work, args=(factor,)) for factor in (1, 2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_the_number_of_threads_does_not_change_results(self):
        wanted = listed(self.model(self.g, self.x, self.weights))
        hector.set_num_threads(1)
        try:
            self.assertEqual(listed(self.model(self.g, self.x, self.weights)), wanted)
        finally:
            hector.set_num_threads(0)
        self.assertIn("-1", self.refusal(lambda: hector.set_num_threads(-1)))

    def test_the_precision_of_gpus_does_not_change_results_of_cpus(self):
        wanted = listed(self.model(self.g, self.x, self.weights))
        self.assertEqual(hector.get_precision(), "highest")
        hector.set_precision("medium")
        try:
            self.assertEqual(listed(self.model(self.g, self.x, self.weights)), wanted)
        finally:
            hector.set_precision("highest")
        self.assertIn("'low'", self.refusal(lambda: hector.set_precision("low")))

    def test_layers_beyond_the_memory_limit_are_refused(self):
        hector.set_memory_limit(1)
        try:
            message = self.refusal(lambda: self.model(self.g, self.x, self.weights), hector.InvalidError)
            trained = self.refusal(lambda: self.model.value_and_grad(self.g, self.x, self.weights), hector.InvalidError)
        finally:
            hector.set_memory_limit(0)
        limit = "but the limit is 1 byte; allow more with `hector.set_memory_limit`, "
        self.assertTrue(message.endswith(limit + "or give 16-bit inputs"), message)
        advice = "give 16-bit inputs, or compute without gradients, as under `torch.no_grad()`"
        self.assertTrue(trained.endswith(limit + advice), trained)
        self.assertEqual(listed(self.model(self.g, self.x, self.weights))[2], [4321])

    def test_graphs_that_share_code_have_results_of_their_own(self):
        for edges in range(24, 45):  # on both sides of 32
            g = hector.Graph([i % 2 for i in range(edges)], [2] * edges, [0] * edges, num_edge_types=2, num_nodes=3)
            found = listed(self.model(g, self.x, self.weights))[2]
            x = [[1, 2], [3, 4]]
            self.assertEqual(found, [sum(x[i % 2][0] * 1 + x[i % 2][1] * 10 for i in range(edges))])

    def test_clear_cache_keeps_graphs_and_models_in_use(self):
        self.model(self.g, self.x, self.weights)
        hector.clear_cache()
        self.assertEqual(listed(self.model(self.g, self.x, self.weights))[2], [4321])

    def test_clear_cache_may_be_called_while_graphs_are_made(self):
        failures, is_done = [], threading.Event()

        def clear():
            while not is_done.is_set():
                try:
                    hector.clear_cache()
                except Exception as error:
                    failures.append(error)

        thread, interval = threading.Thread(target=clear), sys.getswitchinterval()
        sys.setswitchinterval(1e-6)  # threads take turns everywhere
        try:
            thread.start()
            for _ in range(10_000):
                hector.Graph([0, 1, 2], [0, 1, 2])
        finally:
            is_done.set()
            thread.join()
            sys.setswitchinterval(interval)
        self.assertEqual(failures, [])

    def test_a_child_of_fork_computes_too(self):
        self.model(self.g, self.x, self.weights)
        child = os.fork()
        if child == 0:
            os._exit(0 if listed(self.model(self.g, self.x, self.weights))[2] == [4321] else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_memory_does_not_grow(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1])

        for _ in range(200):
            self.model(self.g, self.x, self.weights)
        before = resident()
        for _ in range(10_000):
            self.model(self.g, self.x, self.weights)
        self.assertLess(resident() - before, 500)  # pages


if __name__ == "__main__":
    unittest.main()
