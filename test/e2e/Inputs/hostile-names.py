"""Writes graphs whose node types have names that must not become code: hostile-names.py FOLDER; or models with tables and
inputs of names that generated code and compilers have for themselves: hostile-names.py --models FOLDER."""

import json
import struct
import sys

CODE = '}extern "C" int system(const char *);int made=system("touch made");namespace hector_kernels{'
NAMES = {"newline": "b\n" + CODE + "\n#pragma X", "return": "b\r" + CODE, "backslash": "b\\", "spaces": "b\\  "}


def tensors(name):
    """Three nodes, of which one has features of its own, so that the other type's embedding is called after it."""
    lists = {
        "graph.src": ("I32", "i", [2], [0, 1]),
        "graph.dst": ("I32", "i", [2], [1, 0]),
        "graph.etype": ("I32", "i", [2], [0, 0]),
        "graph.ntype_ptr": ("I64", "q", [3], [0, 1, 3]),
        "feat.a": ("F32", "f", [1, 3], [1, 1, 1]),
        "label": ("I64", "q", [2], [0, 1]),
        "label.node": ("I64", "q", [2], [0, 1]),
        "split.train": ("I64", "q", [2], [0, 1]),
    }
    header = {"__metadata__": {"hector.format": "graph/1", "edge_types": '["r"]', "node_types": json.dumps(["a", name])}}
    data = b""
    for key, (dtype, code, shape, numbers) in lists.items():
        bytes_ = struct.pack(f"<{len(numbers)}{code}", *numbers)
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


MODEL = """def model(g, x: Node[4], {0}: EdgeType[4, 4], {1}: Shared[4]):
    for e in g.edges():
        e["{2}"] = sigmoid(dot_prod(e.src.x * {0}[e.etype], {1}))
    for n in g.nodes():
        n["{3}"] = sum(e["{2}"] * e.src.x for e in n.incoming_edges())
    return n["{3}"]
"""
WORDS = [("totals0", "NULL", "written", "totals1"), ("UINT64_MAX", "errno", "HECTOR_UNROLL", "__LINE__"), ("slabs", "_A", "EOF", "M_E")]

if sys.argv[1] == "--models":
    for number, names in enumerate(WORDS):
        with open(f"{sys.argv[2]}/{number}.hec", "w", encoding="utf-8") as out:
            out.write(MODEL.format(*names))
    sys.exit()
for file, name in NAMES.items():
    with open(f"{sys.argv[1]}/{file}.safetensors", "wb") as out:
        out.write(tensors(name))
