"""Layers of `hector.nn` beside those of PyTorch Geometric: graphs, and how both are compared."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch", reason="hector.nn needs PyTorch")
pyg = pytest.importorskip("torch_geometric.nn", reason="compares with torch_geometric, which is not installed")

import hector.nn as ours  # noqa: E402

D_IN, D_OUT, D_EDGE, RELATIONS = 8, 8, 3, 4  # few sizes, as each is compiled
METADATA = (["a", "b", "c"], [("a", "to", "b"), ("b", "to", "a"), ("c", "of", "b"), ("b", "self", "b")])


# --- graphs


def random_edges(num_src, num_dst, num_edges, generator):
    src = torch.randint(num_src, (num_edges,), generator=generator)
    dst = torch.randint(num_dst, (num_edges,), generator=generator)
    return torch.stack([src, dst]), torch.randint(RELATIONS, (num_edges,), generator=generator)


def make_graph(kind, num_src=30, num_dst=30, seed=0):
    """`edge_index` and `edge_type`."""
    generator = torch.Generator().manual_seed(seed)
    edges, types = random_edges(num_src, num_dst, 120, generator)
    if kind == "isolated":  # only the first nodes have edges
        edges, types = random_edges(num_src // 3, num_dst // 3, 40, generator)
    elif kind == "empty_relations":
        types = torch.where(types < 2, types * 0 + 2, types * 0)
    elif kind == "repeated":
        edges, types = edges[:, :50].repeat(1, 3), types[:50].repeat(3)
    elif kind == "one_edge":
        edges, types = edges[:, :1], types[:1]
    elif kind == "no_edges":
        edges, types = edges[:, :0], types[:0]
    elif kind == "loops":
        nodes = torch.arange(0, min(num_src, num_dst), 2)
        edges = torch.cat([edges, torch.stack([nodes, nodes])], dim=1)
        edges = edges[:, torch.randperm(edges.size(1), generator=generator)]
        types = torch.cat([types, nodes % RELATIONS])
    elif kind == "star":
        edges[1] = 1
    return edges, types


KINDS = ("random", "isolated", "empty_relations", "repeated", "one_edge", "no_edges", "loops", "star")


def cases(options, per_options=3):
    """Each set of options with some of the graphs, so that all graphs take turns."""
    kinds = itertools.cycle(KINDS)
    made = []
    for number, chosen in enumerate(options):
        name = ",".join(f"{key}={value}" for key, value in chosen.items()) or "default"
        for _ in range(per_options):
            kind = next(kinds)
            made.append(pytest.param(chosen, kind, number, id=f"{name}-{kind}"))
        next(kinds)  # so that options and graphs do not stay in step
    return made


# --- comparing


def assert_near(found, wanted, tolerance, what):
    assert found.shape == wanted.shape, what
    assert found.dtype == wanted.dtype, what
    if wanted.numel() == 0:
        return
    found, wanted = found.detach(), wanted.detach()
    scale = max(float(wanted.abs().max()), 0.1)
    difference = float((found - wanted).abs().max())
    assert difference <= tolerance * scale, f"{what}: differs by {difference:.3g} where numbers reach {scale:.3g}"


def as_dict(out):
    if isinstance(out, torch.Tensor):
        return {"out": out}
    if isinstance(out, dict):
        return dict(out)
    out, (edge_index, weights) = out
    return {"out": out, "edge_index": edge_index, "weights": weights}


def leaves(value):
    """Tensors of floats in arguments, with their paths."""
    if isinstance(value, torch.Tensor):
        return [("", value)] if value.is_floating_point() else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (tuple, list)) else ()
    return [(f".{key}{path}", leaf) for key, item in items for path, leaf in leaves(item)]


def with_own_leaves(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: with_own_leaves(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(with_own_leaves(item) for item in value)
    return value


def shake(module, seed=0):
    """Numbers for all parameters, also for those that start from zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)


def compare(name, make_arguments, call_arguments, dtype=torch.float32, call_options={}, seed=0):
    """Both layers from the same numbers: results, and gradients of inputs and parameters."""
    arguments, options = make_arguments
    theirs = getattr(pyg, name)(*arguments, **options).to(dtype)
    mine = getattr(ours, name)(*arguments, **options).to(dtype)
    assert repr(mine) == repr(theirs)
    shake(theirs, seed)
    mine.load_state_dict(theirs.state_dict())
    getattr(pyg, name)(*arguments, **options).to(dtype).load_state_dict(mine.state_dict())
    found_arguments, wanted_arguments = with_own_leaves(call_arguments), with_own_leaves(call_arguments)
    found = as_dict(mine(*found_arguments, **call_options))
    wanted = as_dict(theirs(*wanted_arguments, **call_options))
    assert list(found) == list(wanted)
    found_loss, wanted_loss = 0.0, 0.0
    generator = torch.Generator().manual_seed(seed + 1)
    for key, value in wanted.items():
        if not value.is_floating_point():
            assert torch.equal(found[key], value)
            continue
        assert_near(found[key], value, 1e-5, key)
        weight = torch.randn(value.shape, generator=generator).to(dtype)
        found_loss, wanted_loss = found_loss + (found[key] * weight).sum(), wanted_loss + (value * weight).sum()
    found_loss.backward()
    if wanted_loss.requires_grad:
        wanted_loss.backward()
    pairs = [(path, a, b) for (path, a), (_, b) in zip(leaves(found_arguments), leaves(wanted_arguments))]
    pairs += [(key, a, b) for (key, a), (_, b) in zip(sorted(mine.named_parameters()), sorted(theirs.named_parameters()))]
    for path, a, b in pairs:
        zero = torch.zeros_like(b)
        assert_near(zero if a.grad is None else a.grad, zero if b.grad is None else b.grad, 1e-4, f"gradient of {path}")


def features(rows, width=D_IN, dtype=torch.float32, seed=5):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).to(dtype)


# --- one of each layer


def call_of(name, dtype=torch.float32):
    """Arguments for a layer of `LAYERS` without other options."""
    edge_index, edge_type = make_graph("random")
    x = features(30, dtype=dtype)
    if name == "HGTConv":
        x_dict = {key: features(count, dtype=dtype) for key, count in (("a", 12), ("b", 30), ("c", 7))}
        return x_dict, {METADATA[1][0]: make_graph("random", 12, 30)[0]}
    return (x, edge_index, edge_type) if name.startswith(("RG", "Fast")) else (x, edge_index)


ONE_OF_EACH = [
    ("RGCNConv", (D_IN, D_OUT, RELATIONS)),
    ("FastRGCNConv", (D_IN, D_OUT, RELATIONS)),
    ("RGATConv", (D_IN, D_OUT, RELATIONS)),
    ("HGTConv", (D_IN, D_OUT, METADATA)),
    ("GCNConv", (D_IN, D_OUT)),
    ("GATConv", (D_IN, D_OUT)),
    ("GATv2Conv", (D_IN, D_OUT)),
    ("SAGEConv", (D_IN, D_OUT)),
]
