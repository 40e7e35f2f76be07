"""Trains on batches of sampled neighbours, each a graph of its own, with PyG's layers or with Hector's: one import changes.

    build/hector data import ../shared/data/hgb-dblp --out build/dblp.safetensors
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/batches.py --graph build/dblp.safetensors --library pyg
    PYTHONPATH=python build/peers/pyg/bin/python bench/python/batches.py --graph build/dblp.safetensors --library hector

Both see the same batches in the same order. Sampling is not timed.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))
from typed import COLUMNS, LAYERS, Net, load  # noqa: E402  (a neighbour's file)


class Sampler:
    """Draws so many nodes of a type and, in each of two hops, up to `most` sources of each node and relation."""

    def __init__(self, data, target, most):
        self.target, self.most = target, most
        self.count = {kind: data[kind].x.shape[0] for kind in data.node_types}
        self.sources = {}  # by relation: sources in the order of their destinations, and where each destination's start
        for relation in data.edge_types:
            src, dst = data[relation].edge_index.numpy()
            order = np.argsort(dst, kind="stable")
            starts = np.searchsorted(dst[order], np.arange(self.count[relation[2]] + 1))
            self.sources[relation] = src[order], starts

    def draw(self, seeds, random):
        """The nodes of each type, those of `seeds` first, and edges between them by relation."""
        nodes = {kind: np.array([], dtype=np.int64) for kind in self.count}
        nodes[self.target] = seeds
        edges = {relation: [np.empty((2, 0), dtype=np.int64)] for relation in self.sources}
        frontier = {self.target: seeds}
        for _ in range(LAYERS):
            found = {kind: [] for kind in self.count}
            for relation, (sources, starts) in self.sources.items():
                into = frontier.get(relation[2], np.array([], dtype=np.int64))
                degree = starts[into + 1] - starts[into]
                taken = np.minimum(degree, self.most)
                dst = np.repeat(into, taken)
                first, span = np.repeat(starts[into], taken), np.repeat(degree, taken)
                src = sources[first + (random.random(len(dst)) * span).astype(np.int64)]
                edges[relation].append(np.stack([src, dst]))
                found[relation[0]].append(src)
            frontier = {}
            for kind, parts in found.items():
                new = np.setdiff1d(np.concatenate([np.array([], dtype=np.int64), *parts]), nodes[kind])
                nodes[kind], frontier[kind] = np.concatenate([nodes[kind], new]), new
        place = {kind: np.full(count, -1) for kind, count in self.count.items()}
        for kind, ids in nodes.items():
            place[kind][ids] = np.arange(len(ids))
        local = {}
        for relation, parts in edges.items():
            src, dst = np.unique(np.concatenate(parts, axis=1), axis=1)
            local[relation] = torch.from_numpy(np.stack([place[relation[0]][src], place[relation[2]][dst]]))
        return {kind: torch.from_numpy(ids) for kind, ids in nodes.items()}, local


class RgcnNet(torch.nn.Module):
    """The same with RGCN, on nodes of all types in one table."""

    def __init__(self, conv, data, target, num_classes):
        super().__init__()
        self.target, self.types = target, data.edge_types
        self.project = torch.nn.ModuleDict({kind: torch.nn.Linear(data[kind].x.shape[1], COLUMNS) for kind in data.node_types})
        self.convs = torch.nn.ModuleList(conv(COLUMNS, COLUMNS, len(self.types)) for _ in range(LAYERS))
        self.out = torch.nn.Linear(COLUMNS, num_classes)

    def forward(self, x, edges):
        first, total = {}, 0
        for kind, rows in x.items():
            first[kind], total = total, total + len(rows)
        h = torch.cat([self.project[kind](rows).relu_() for kind, rows in x.items()])
        edge_index = torch.cat([ends + torch.tensor([[first[k[0]]], [first[k[2]]]]) for k, ends in edges.items()], dim=1)
        edge_type = torch.cat([torch.full((ends.shape[1],), number) for number, ends in enumerate(edges.values())])
        for conv in self.convs:
            h = conv(h, edge_index, edge_type).relu_()
        return self.out(h[first[self.target] : first[self.target] + len(x[self.target])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--library", required=True, choices=("pyg", "hector"))
    parser.add_argument("--layer", default="HGTConv", choices=("HGTConv", "RGCNConv"))
    parser.add_argument("--nodes", type=int, default=128, help="nodes with a label in a batch")
    parser.add_argument("--most", type=int, default=10, help="sources of a node and relation")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(2)
    if options.library == "pyg":
        from torch_geometric import nn
    else:
        from hector import nn
    data, target, label, train, test = load(options.graph)
    sampler, random = Sampler(data, target, options.most), np.random.default_rng(0)
    torch.manual_seed(0)
    net = Net if options.layer == "HGTConv" else RgcnNet
    model = net(getattr(nn, options.layer), data, target, int(label.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=0.001)
    times, sizes = [], []
    for _ in range(options.steps):
        seeds = random.choice(train.numpy(), min(options.nodes, len(train)), replace=False)
        nodes, edges = sampler.draw(seeds, random)
        x = {kind: data[kind].x[ids] for kind, ids in nodes.items()}
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)[: len(seeds)], label[seeds]).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
        sizes.append((sum(map(len, nodes.values())), sum(ends.shape[1] for ends in edges.values())))
    with torch.no_grad():
        found = model(data.x_dict, data.edge_index_dict)
    accuracy = (found.argmax(1)[test] == label[test]).float().mean().item()
    print(
        f"{options.library} {options.layer}: {statistics.median(times):.1f} ms per step, {sum(times) / 1e3:.1f} s in all, the "
        f"longest {max(times):.0f} ms; {len(times)} batches of {statistics.fmean(n for n, _ in sizes):,.0f} nodes and "
        f"{statistics.fmean(e for _, e in sizes):,.0f} edges; accuracy {accuracy:.3f}"
    )


if __name__ == "__main__":
    main()
