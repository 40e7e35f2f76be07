"""Entity classification on aifb as PyG's example does it, with PyG's layers or with Hector's: one import changes.

    build/hector data import ../shared/data/aifb --preset dgl-aifb --out build/aifb.safetensors
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/entity.py --graph build/aifb.safetensors --library pyg
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/entity.py --graph build/aifb.safetensors --library hector
"""

import argparse
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from case import read_safetensors  # noqa: E402  (a neighbour's file)


class Net(torch.nn.Module):
    def __init__(self, conv, num_nodes, num_relations, num_classes):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(num_nodes, 16)))
        self.conv1 = conv(16, 16, num_relations)
        self.conv2 = conv(16, num_classes, num_relations)

    def forward(self, edge_index, edge_type):
        x = F.relu(self.conv1(self.embedding, edge_index, edge_type))
        return self.conv2(x, edge_index, edge_type)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--library", required=True, choices=("pyg", "hector"))
    parser.add_argument("--layer", default="RGCNConv", choices=("RGCNConv", "FastRGCNConv"))
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    is_on_gpu = options.device == "cuda"
    torch.set_num_threads(2)
    if options.library == "pyg":
        from torch_geometric import nn
    else:
        from hector import nn
    tensors, _ = read_safetensors(options.graph)
    ids = {name: torch.from_numpy(tensor).long() for name, tensor in tensors.items() if tensor.dtype.kind == "i"}
    edge_index, edge_type = torch.stack([ids["graph.src"], ids["graph.dst"]]), ids["graph.etype"]
    label = torch.full((int(ids["graph.ntype_ptr"][-1]),), -1)
    label[ids["label.node"]] = ids["label"]
    train, test = ids["split.train"], ids["split.test"]
    edge_index, edge_type, label, train, test = (t.to(options.device) for t in (edge_index, edge_type, label, train, test))
    accuracies, times = [], []
    for seed in range(options.seeds):
        torch.manual_seed(seed)
        model = Net(getattr(nn, options.layer), len(label), int(edge_type.max()) + 1, int(label.max()) + 1).to(options.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.0005)
        for _ in range(options.epochs):
            begin = time.perf_counter()
            optimizer.zero_grad()
            F.cross_entropy(model(edge_index, edge_type)[train], label[train]).backward()
            optimizer.step()
            if is_on_gpu:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        with torch.no_grad():
            found = model(edge_index, edge_type).argmax(1)
        accuracies.append((found[test] == label[test]).float().mean().item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if is_on_gpu:
        peak = torch.cuda.max_memory_allocated() / 2**20
    print(
        f"{options.library} {options.layer}: {1e3 * statistics.median(times):.1f} ms per epoch, accuracy "
        f"{statistics.fmean(accuracies):.3f} (sd {statistics.stdev(accuracies):.3f}), peak {peak:.0f} MiB"
        + (" of PyTorch's allocator" if is_on_gpu else "")
    )


if __name__ == "__main__":
    main()
