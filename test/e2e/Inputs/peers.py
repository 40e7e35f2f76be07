"""Prints the tables for measurements that are made up, and writes the page in docs/ twice."""

import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import results


def peer(library, layer, ms, mebibytes=1, **more):
    found = {"library": library, "layer": layer, "failure": None, "other_function": None, "versions": {"torch": "2"}}
    return found | {"median_ms": ms, "memory_bytes": mebibytes << 20, "memory_failure": None} | more


def cell(phase, ms, peers):
    own = {"median_ms": ms, "memory_bytes": 1 << 20}
    return {"cell": "rgcn-g-" + phase, "model": "rgcn", "graph": "g", "phase": phase, "hector": own, "peers": peers}


class Options:
    threads, turns, runs, limit = 2, 3, 5, 20


inference = [
    peer("pyg", "Slow", 30),
    peer("pyg", "Fast", 20, 10),
    peer("dgl", "Layer", 8, 2, versions=None),
    peer("dgl", "Other", 1, other_function="without biases", versions=None),
    peer("torch", "sparse", 6, memory_failure="more than 300 s"),
]
training = [
    peer("pyg", "Fast", None, failure="out of memory", versions=None),
    peer("dgl", "Layer", 48, versions=None),
    peer("torch", "sparse", 50),
]
results.processor = lambda: "A Processor"
cells = [cell("inference", 2, inference), cell("training", 4, training)]
found = results.gather(cells, Options, {"hector": "1"}, [])
print(results.markdown(found))
for _ in range(2):
    results.write_docs(found, pathlib.Path("docs"))
