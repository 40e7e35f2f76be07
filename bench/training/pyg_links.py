"""Times steps of bench/training/mag.toml in PyG, to be set beside those of `hector train`.

    build/peers/pyg/bin/python bench/training/pyg_links.py --graph build/training/mag.graph.safetensors

The model is the same: embeddings, one R-GCN layer, DistMult with cross-entropy over sampled candidates, Adam. Messages go
along training edges. A step draws a batch of triples, and candidates for their heads and for their tails. The sampling
is that of a careful user, not Hector's, so that losses are alike and not equal.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch
from torch_geometric.nn import FastRGCNConv, RGCNConv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from case import read_safetensors  # noqa: E402  (a neighbour's file)

BATCH, NEGATIVES, COLUMNS, RATE = 10_000, 32, 64, 0.01  # of mag.toml


class Links(torch.nn.Module):
    def __init__(self, layer, nodes, relations):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(nodes, COLUMNS)))
        self.relation = torch.nn.Parameter(torch.randn(relations, COLUMNS))
        self.layer = layer(COLUMNS, COLUMNS, relations)

    def forward(self, edges, etype):
        return self.layer(self.embedding, edges, etype)

    def loss(self, h, known, wanted, etype):
        """Cross-entropy of the right node among itself and as many drawn ones."""
        drawn = torch.randint(len(h), (len(known), NEGATIVES))
        candidates = h[torch.cat([wanted[:, None], drawn], 1)]
        scores = torch.bmm(candidates, (h[known] * self.relation[etype])[:, :, None])[:, :, 0]
        return torch.nn.functional.cross_entropy(scores, torch.zeros(len(known), dtype=torch.long))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    tensors, _ = read_safetensors(options.graph)
    is_train = torch.from_numpy(tensors["edge.split"]) == 0
    src, dst, etype = (torch.from_numpy(tensors["graph." + name]).long()[is_train] for name in ("src", "dst", "etype"))
    nodes, relations = int(tensors["graph.ntype_ptr"][-1]), int(etype.max()) + 1
    edges = torch.stack([src, dst])
    for layer in (RGCNConv, FastRGCNConv):
        model = Links(layer, nodes, relations)
        optimiser = torch.optim.Adam(model.parameters(), RATE)
        times, losses = [], []
        for _ in range(options.steps + 2):
            begin = time.perf_counter()
            optimiser.zero_grad()
            h = model(edges, etype)
            batch = torch.randint(len(src), (BATCH,))
            s, d, t = src[batch], dst[batch], etype[batch]
            loss = (model.loss(h, s, d, t) + model.loss(h, d, s, t)) / 2
            loss.backward()
            optimiser.step()
            times.append(time.perf_counter() - begin)
            losses.append(loss.item())
        print(f"{layer.__name__}: {1e3 * statistics.median(times[2:]):.0f} ms per step, loss {losses[0]:.3f} to {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
