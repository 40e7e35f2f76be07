"""A cell of a benchmark as `hector bench --keep` leaves it: a graph, inputs, and the results that Hector computed."""

import json
import struct

import numpy as np
import torch

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "U8": np.uint8}


def read_safetensors(path):
    """The tensors of a file by name, and its metadata."""
    data = np.memmap(path, np.uint8, "r")
    length = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8 : 8 + length].tobytes())
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = data[begin:end].view(np.uint8).copy().view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


class Case:
    """A graph with its edges sorted by type, and the inputs of a model as leaves of the autograd graph."""

    def __init__(self, path, training, device="cpu"):
        tensors, metadata = read_safetensors(path)
        order = np.argsort(tensors["graph.etype"], kind="stable")
        self.src, self.dst, self.etype = (
            torch.from_numpy(tensors["graph." + name].astype(np.int64)[order]).to(device) for name in ("src", "dst", "etype")
        )
        self.ntype_ptr = tensors["graph.ntype_ptr"].tolist()
        self.inputs = {
            name: torch.from_numpy(tensor).to(device).requires_grad_(training)
            for name, tensor in tensors.items()
            if tensor.dtype == np.float32 and not name.startswith(("graph.", "grad.", "feat."))
        }
        self.grad_out = torch.from_numpy(tensors["grad.out"]).to(device) if training else None
        self.training = training
        self.num_nodes = self.ntype_ptr[-1]
        self.num_ntypes = len(self.ntype_ptr) - 1
        self.num_etypes = len(json.loads(metadata["edge_types"]))
        # The node types that each relation joins, as numbers.
        types = torch.arange(self.num_ntypes, device=device)
        self.ntype = torch.repeat_interleave(types, torch.tensor(self.ntype_ptr, device=device).diff())
        self.ends = [None] * self.num_etypes
        bounds = np.searchsorted(self.etype.cpu().numpy(), np.arange(self.num_etypes + 1))
        self.etype_ptr = bounds.tolist()
        count = self.num_ntypes
        keys = torch.unique((self.etype * count + self.ntype[self.src]) * count + self.ntype[self.dst])
        pairs = {}
        for key in keys.tolist():
            pairs.setdefault(key // (count * count), set()).add((key // count % count, key % count))
        for r, joined in pairs.items():
            # Where there are several, some libraries have no word for that.
            self.ends[r] = joined.pop() if len(joined) == 1 else joined

    def pair_counts(self):
        """1 / the number of edges of the same destination and type, for every edge."""
        key = self.etype * self.num_nodes + self.dst
        _, inverse, counts = torch.unique(key, return_inverse=True, return_counts=True)
        return (1.0 / counts[inverse]).float()


class Pairs:
    """The unique (type, node) pairs at one end of the edges, sorted by type."""

    def __init__(self, case, node):
        key, self.of_edge = torch.unique(case.etype * case.num_nodes + node, return_inverse=True)
        self.node = key % case.num_nodes
        self.type = key // case.num_nodes
        self.count = len(key)
        self.counts = torch.bincount(self.type, minlength=case.num_etypes).tolist()
