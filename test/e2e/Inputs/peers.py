"""Prints the tables for measurements that are made up, and writes the page in docs/ twice."""

import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import results


def peer(library, layer, ms, mebibytes=1, **more):
    found = {"library": library, "layer": layer, "failure": None, "other_function": None, "versions": {"torch": "2"}}
    runs = {"runs_ms": [ms] * 15, "median_ms": ms}
    return found | runs | {"memory_bytes": mebibytes << 20, "memory_failure": None} | more


def cell(phase, ms, mebibytes, peers):
    own = {"median_ms": ms, "memory_bytes": mebibytes << 20}
    return {"cell": "rgcn-g-" + phase, "model": "rgcn", "graph": "g", "phase": phase, "hector": own, "peers": peers}


class Options:
    threads, turns, runs, limit = 2, 3, 5, 20


inference = [
    peer("pyg", "Slow", 30, 1),
    peer("pyg", "Fast", 20, 10),
    peer("dgl", "Layer", 8, 2, versions=None),
    peer("dgl", "Other", 1, other_function="without biases", versions=None),
    peer("torch", "index_add", 6, memory_failure="more than 300 s", memory_bytes=None),
    peer("torch", "sparse", 3, 2),
]
training = [
    {"library": "pyg", "layer": "Fast", "failure": "out of memory", "other_function": None, "versions": None},
    peer("dgl", "Slow", 49, 2, versions=None, runs_ms=[49, 49]),
    peer("dgl", "Layer", 48, 4, versions=None),
    peer("torch", "index_add", 50, 5),
    peer("torch", "sparse", 24, 6),
]
results.processor = lambda: "A Processor"
cells = [cell("inference", 2, 1, inference), cell("training", 4, 3, training)]
found = results.gather(cells, Options, {"hector": "1"}, [])
print(results.markdown(found))
print("With --layers:")
chosen = [measured | {"peers": [p for p in measured["peers"] if p["layer"] == "sparse"]} for measured in cells]
print(results.markdown(results.gather(chosen, Options, {"hector": "1"}, [])))
for _ in range(2):
    results.write_docs(found, pathlib.Path("docs"))
