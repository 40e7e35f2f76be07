"""Classes of authors in hgb-dblp as PyG's HGT example for typed graphs finds them, with PyG's layers or with Hector's:
one import changes.

    build/hector data import ../shared/data/hgb-dblp --out build/dblp.safetensors
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/typed.py --graph build/dblp.safetensors --library pyg
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/typed.py --graph build/dblp.safetensors --library hector
"""

import argparse
import json
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch_geometric.data import HeteroData

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from case import read_safetensors  # noqa: E402  (a neighbour's file)

COLUMNS, HEADS, LAYERS = 64, 2, 2


class Net(torch.nn.Module):
    def __init__(self, conv, data, target, num_classes):
        super().__init__()
        self.target = target
        self.project = torch.nn.ModuleDict({kind: torch.nn.Linear(data[kind].x.shape[1], COLUMNS) for kind in data.node_types})
        self.convs = torch.nn.ModuleList(conv(COLUMNS, COLUMNS, data.metadata(), HEADS) for _ in range(LAYERS))
        self.out = torch.nn.Linear(COLUMNS, num_classes)

    def forward(self, x, edges):
        x = {kind: self.project[kind](rows).relu_() for kind, rows in x.items()}
        for conv in self.convs:
            x = conv(x, edges)
        return self.out(x[self.target])


def load(path):
    """The graph as `HeteroData`; types without features get a single one."""
    tensors, metadata = read_safetensors(path)
    kinds, relations = json.loads(metadata["node_types"]), json.loads(metadata["edge_types"])
    start = tensors["graph.ntype_ptr"]
    data = HeteroData()
    for k, kind in enumerate(kinds):
        rows = int(start[k + 1] - start[k])
        data[kind].x = torch.from_numpy(tensors[f"feat.{kind}"]) if f"feat.{kind}" in tensors else torch.ones(rows, 1)
    for r, relation in enumerate(relations):
        mine = tensors["graph.etype"] == r
        ends = [
            torch.from_numpy(tensors["graph." + end][mine]).long() - int(start[kinds.index(relation[end])])
            for end in ("src", "dst")
        ]
        data[relation["src"], relation["name"], relation["dst"]].edge_index = torch.stack(ends)
    labelled = torch.from_numpy(tensors["label.node"])
    k = int((start <= int(labelled[0])).sum()) - 1  # all of one type
    label = torch.full((len(data[kinds[k]].x),), -1)
    label[labelled - int(start[k])] = torch.from_numpy(tensors["label"])
    train, test = (torch.from_numpy(tensors["split." + name]) - int(start[k]) for name in ("train", "test"))
    return data, kinds[k], label, train, test


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--library", required=True, choices=("pyg", "hector"))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    is_on_gpu = options.device == "cuda"
    torch.set_num_threads(2)
    if options.library == "pyg":
        from torch_geometric.nn import HGTConv
    else:
        from hector.nn import HGTConv
    data, target, label, train, test = load(options.graph)
    data, label, train, test = (value.to(options.device) for value in (data, label, train, test))
    x, edges = data.x_dict, data.edge_index_dict
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accuracies, times = [], []
    for seed in range(options.seeds):
        torch.manual_seed(seed)
        model = Net(HGTConv, data, target, int(label.max()) + 1).to(options.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=0.001)
        for _ in range(options.epochs):
            begin = time.perf_counter()
            optimizer.zero_grad()
            F.cross_entropy(model(x, edges)[train], label[train]).backward()
            optimizer.step()
            if is_on_gpu:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        with torch.no_grad():
            found = model(x, edges).argmax(1)
        accuracies.append((found[test] == label[test]).float().mean().item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if is_on_gpu:
        before, peak = 0, torch.cuda.max_memory_allocated() / 1024
    print(
        f"{options.library} HGTConv: {1e3 * statistics.median(times):.1f} ms per epoch, accuracy "
        f"{statistics.fmean(accuracies):.3f} (sd {statistics.stdev(accuracies):.3f}), peak {peak / 1024:.0f} MiB, "
        f"{(peak - before) / 1024:.0f} MiB above the data"
    )


if __name__ == "__main__":
    main()
