"""Times an epoch of two layers with a loss and Adam: `hector train`, Hector's layers in PyTorch, and PyG's.

    build/hector data make --nodes 27163 --node-types 5 --edges 148100 --edge-types 50 --classes 4 --out build/planted.safetensors
    export HECTOR_LIBRARY=build/release/lib/libhector.so PYTHONPATH=python
    build/python/bin/python bench/python/two_layers.py --graph build/planted.safetensors --device cuda

Rows of nodes are learned, 64 numbers each; a layer to 64 numbers, ReLU, and a layer to the classes (HGT: to 64, then a linear
layer). Each runs in a process of its own. An epoch is one step on the whole graph.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COLUMNS = 64
RATE = 0.01
LIBRARIES = ("train", "hector", "pyg")
LAYERS = {"rgcn": ("RGCNConv", "FastRGCNConv"), "rgat": ("RGATConv",), "hgt": ("HGTConv",)}


def train(options, model, folder):
    """An epoch of `hector train`: milliseconds and the accuracy of the test."""
    metrics = folder / "metrics.jsonl"
    layers = [f"{model}:{COLUMNS},relu", f"{model}:{COLUMNS}" if model == "hgt" else model]
    command = [options.hector, "train", "--graph", options.graph, "--input", "embedding", "--input-size", str(COLUMNS)]
    command += [text for layer in layers for text in ("--layer", layer)]
    command += ["--epochs", str(options.epochs), "--evaluate", str(options.epochs), "--rate", str(RATE)]
    command += ["--backend", options.device, "--threads", str(options.threads)]
    command += ["--metrics", metrics, "--out", folder / "run.safetensors"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    seconds = [json.loads(line)["seconds"] for line in metrics.read_text().splitlines()]
    accuracy = done.stdout.split("test.accuracy ")[1].split(",")[0]
    return 1e3 * statistics.median(seconds), float(accuracy)


def load(path):
    """The graph, its labels and its split."""
    import torch

    sys.path.insert(0, str(ROOT / "bench/peers"))
    from case import read_safetensors

    tensors, _ = read_safetensors(path)
    ids = {name: torch.from_numpy(tensor).long() for name, tensor in tensors.items() if tensor.dtype.kind == "i"}
    label = torch.full((int(ids["graph.ntype_ptr"][-1]),), -1)
    label[ids["label.node"]] = ids["label"]
    return ids, label


def by_type(ids):
    """The edges as PyG's `HGTConv` takes them: ids from 0 on in each node type, by relation and types of its ends."""
    import torch

    starts = ids["graph.ntype_ptr"]
    src, dst, etype = ids["graph.src"], ids["graph.dst"], ids["graph.etype"]
    ends = [torch.searchsorted(starts, node, right=True) - 1 for node in (src, dst)]
    key = (etype * len(starts) + ends[0]) * len(starts) + ends[1]
    edges = {}
    for one in key.unique().tolist():
        chosen = key == one
        from_type, to_type = one // len(starts) % len(starts), one % len(starts)
        relation = f"n{from_type}", f"r{one // len(starts) ** 2}", f"n{to_type}"
        edges[relation] = torch.stack([src[chosen] - starts[from_type], dst[chosen] - starts[to_type]])
    return edges


def torch_epochs(options, library, model, layer):
    """The same of a library's layers in PyTorch."""
    import importlib

    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    nn = importlib.import_module("torch_geometric.nn" if library == "pyg" else "hector.nn")
    ids, label = load(options.graph)
    counts = ids["graph.ntype_ptr"].diff().tolist()
    classes, relations = int(label.max()) + 1, int(ids["graph.etype"].max()) + 1
    make = getattr(nn, layer)
    if model == "hgt":
        edges = {relation: ends.to(options.device) for relation, ends in by_type(ids).items()}
        metadata = [f"n{k}" for k in range(len(counts))], list(edges)
        convs = torch.nn.ModuleList(make(COLUMNS, COLUMNS, metadata) for _ in range(2))
    else:
        edge_index = torch.stack([ids["graph.src"], ids["graph.dst"]]).to(options.device)
        edge_type = ids["graph.etype"].to(options.device)
        convs = torch.nn.ModuleList([make(COLUMNS, COLUMNS, relations), make(COLUMNS, classes, relations)])
    rows = torch.nn.init.xavier_uniform_(torch.empty(len(label), COLUMNS))
    net = torch.nn.ModuleDict({"convs": convs, "head": torch.nn.Linear(COLUMNS, classes)}).to(options.device)
    rows = torch.nn.Parameter(rows.to(options.device))

    def compute():
        if model != "hgt":
            return convs[1](convs[0](rows, edge_index, edge_type).relu(), edge_index, edge_type)
        x = dict(zip(metadata[0], rows.split(counts)))
        x = {kind: h.relu() for kind, h in convs[0](x, edges).items() if h is not None}
        x = convs[1]({kind: x.get(kind, rows.new_zeros(count, COLUMNS)) for kind, count in zip(metadata[0], counts)}, edges)
        out = [x.get(kind) for kind in metadata[0]]
        return net["head"](torch.cat([rows.new_zeros(count, COLUMNS) if h is None else h for h, count in zip(out, counts)]))

    parameters = [rows, *convs.parameters(), *(net["head"].parameters() if model == "hgt" else [])]
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    chosen, target = ids["split.train"].to(options.device), label[ids["split.train"]].to(options.device)
    times = []
    for _ in range(options.epochs):
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(compute()[chosen], target).backward()
        optimizer.step()
        if options.device == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    with torch.no_grad():
        found = compute().argmax(1).cpu()
    return statistics.median(times), (found[ids["split.test"]] == label[ids["split.test"]]).float().mean().item()


def cell(options, library, model, layer):
    """One process: milliseconds and accuracy, or why there are none."""
    command = [sys.executable, __file__, "--graph", options.graph, "--device", options.device, "--epochs", str(options.epochs)]
    command += ["--hector", options.hector, "--threads", str(options.threads), "--one", library, model, layer]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return None, f"more than {options.timeout} s"
    if done.returncode != 0:
        last = (done.stderr.strip() or "it failed").splitlines()[-1]
        return None, "out of memory" if "out of memory" in last else last[:60]
    return tuple(map(float, done.stdout.split()[-2:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--models", default="rgcn,rgat,hgt")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a process")
    parser.add_argument("--hector", type=Path, default=ROOT / "build/release/bin/hector")
    parser.add_argument("--one", nargs=3, metavar=("LIBRARY", "MODEL", "LAYER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        library, model, layer = options.one
        if library == "train":
            with tempfile.TemporaryDirectory() as folder:
                found = train(options, model, Path(folder))
        else:
            found = torch_epochs(options, library, model, layer)
        print(*found)
        return
    print("| model | layer | ms per epoch | to `hector train` | test accuracy |\n| --- | --- | ---: | ---: | ---: |")
    for model in options.models.split(","):
        ours = None
        for library in LIBRARIES:
            for layer in LAYERS[model][: 1 if library == "train" else None]:
                title = "`hector train`" if library == "train" else f"`{'hector.nn' if library == 'hector' else 'PyG'}.{layer}`"
                ms, accuracy = cell(options, library, model, layer)
                if ms is None:
                    print(f"| {model} | {title} | {accuracy} | | |", flush=True)
                    continue
                ours = ms if library == "train" else ours
                ratio = f"{ms / ours:.2f}" if ours else ""
                print(f"| {model} | {title} | {ms:,.2f} | {ratio} | {accuracy:.3f} |", flush=True)


if __name__ == "__main__":
    main()
