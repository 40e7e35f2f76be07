"""Layers of `hector.nn` beside PyTorch Geometric's on 200 random graphs with random arguments."""

from __future__ import annotations

import random

import pytest
from nn_layers import compare, ours, torch  # noqa: F401

NUM_CASES = 200
WIDTHS = (1, 3, 8, 17)


def edges_of(rng, num_src, num_dst, num_relations):
    """Random edges; sometimes none, repeated, all to one node, or only between the first nodes."""
    kind = rng.choice(("uniform", "none", "one", "repeated", "star", "few"))
    count = {"none": 0, "one": 1}.get(kind, rng.randrange(1, 150))
    if num_src == 0 or num_dst == 0:
        count = 0
    reach = (lambda size: max(1, size // 3)) if kind == "few" else (lambda size: size)
    src = [rng.randrange(reach(num_src)) for _ in range(count)]
    dst = [0 if kind == "star" else rng.randrange(reach(num_dst)) for _ in range(count)]
    types = [rng.randrange(num_relations) for _ in range(count)]
    if kind == "repeated":
        src, dst, types = src * 2, dst * 2, types * 2
    return torch.tensor([src, dst], dtype=torch.int64).reshape(2, -1), torch.tensor(types, dtype=torch.int64)


def table(rng, rows, width):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(rng.randrange(1 << 30)))


def some(rng, **choices):
    """Each argument with one of its values, or left out."""
    return {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.5}


def sizes(rng):
    """Numbers of sources and destinations, and whether these are the same nodes."""
    count = rng.choice((1, 2, 7, 40))
    return (count, count, False) if rng.random() < 0.6 else (count, rng.choice((1, 5, 30)), True)


def relational(rng, name):
    width, relations = rng.choice(WIDTHS), rng.choice((1, 2, 5))
    num_src, num_dst, is_pair = sizes(rng)
    out = rng.choice((4, 6, 8))
    options = some(rng, bias=(False,), root_weight=(False,), aggr=("add", "sum", "mean"))
    form = rng.choice(("plain", "bases", "blocks"))
    if form == "bases":
        options["num_bases"] = rng.choice((1, 3))
    elif form == "blocks":
        width, options["num_blocks"] = rng.choice((4, 8)), 2
    if name == "RGCNConv" and form != "blocks" and rng.random() < 0.3:
        options["aggr"] = rng.choice(("max", "min"))
    edges, types = edges_of(rng, num_src, num_dst, relations)
    x = table(rng, num_src, width)
    if is_pair:
        return ((width, 3), out, relations), options, ((x, table(rng, num_dst, 3)), edges, types)
    return (width, out, relations), options, (x, edges, types)


def rgat(rng, name):
    width, relations, count = rng.choice(WIDTHS), rng.choice((1, 2, 5)), rng.choice((1, 2, 7, 40))
    heads = rng.choice((1, 2, 4))
    options = {"heads": heads, **some(rng, bias=(False,), concat=(False,), negative_slope=(0.1,))}
    options["mod"] = rng.choice((None, "additive", "scaled", "f-additive", "f-scaled"))
    options["attention_mode"] = rng.choice(("additive-self-attention", "multiplicative-self-attention"))
    options["attention_mechanism"] = rng.choice(("within-relation", "across-relation"))
    if rng.random() < 0.4:
        options["num_bases"] = 2
    edges, types = edges_of(rng, count, count, relations)
    return (width, rng.choice((1, 4, 5)), relations), options, (table(rng, count, width), edges, types)


def hgt(rng, name):
    names = ["a", "b", "c"][: rng.choice((1, 2, 3))]
    relations = [(rng.choice(names), f"r{number}", rng.choice(names)) for number in range(rng.choice((1, 3, 4)))]
    counts = {key: rng.choice((1, 5, 20)) for key in names}
    widths = {key: rng.choice(WIDTHS) for key in names}
    edges = {kind: edges_of(rng, counts[kind[0]], counts[kind[2]], 1)[0] for kind in relations}
    heads = rng.choice((1, 2, 4))
    x = {key: table(rng, counts[key], widths[key]) for key in names}
    return (widths, heads * rng.choice((1, 3)), (names, relations)), {"heads": heads}, (x, edges)


def gcn(rng, name):
    width, count = rng.choice(WIDTHS), rng.choice((1, 2, 7, 40))
    edges, _ = edges_of(rng, count, count, 1)
    edges = edges[:, edges[0] != edges[1]]  # test_nn_plain.py has loops of several weights
    options = some(rng, bias=(False,), improved=(True,), add_self_loops=(False,))
    if options.keys().isdisjoint(("improved", "add_self_loops")) and rng.random() < 0.3:
        options["normalize"] = False
    x = table(rng, count, width)
    if rng.random() < 0.5:
        return (width, rng.choice(WIDTHS)), options, (x, edges, table(rng, edges.size(1), 1)[:, 0].abs() + 0.5)
    return (width, rng.choice(WIDTHS)), options, (x, edges)


def attention(rng, name):
    width, (num_src, num_dst, is_pair) = rng.choice(WIDTHS), sizes(rng)
    options = some(rng, bias=(False,), concat=(False,), negative_slope=(0.1,), residual=(True,), heads=(2, 3, 8))
    if is_pair:
        options["add_self_loops"] = False
    else:
        options |= some(rng, add_self_loops=(False,))
    edges, _ = edges_of(rng, num_src, num_dst, 1)
    x = table(rng, num_src, width)
    call = ((x, table(rng, num_dst, 3)), edges) if is_pair else (x, edges)
    if not is_pair and rng.random() < 0.4:
        options |= {"edge_dim": 2, **some(rng, fill_value=("mean", "add", 0.5))}
        call += (table(rng, edges.size(1), 2),)
    if name == "GATv2Conv":
        options |= some(rng, share_weights=(True,)) if not is_pair else {}
    return ((width, 3) if is_pair else width, rng.choice((1, 4, 5))), options, call


def sage(rng, name):
    width, (num_src, num_dst, is_pair) = rng.choice(WIDTHS), sizes(rng)
    options = some(rng, bias=(False,), normalize=(True,), root_weight=(False,), project=(True,), aggr=("mean", "sum", "add", "max"))
    edges, _ = edges_of(rng, num_src, num_dst, 1)
    x = table(rng, num_src, width)
    call = ((x, table(rng, num_dst, 3)), edges) if is_pair else (x, edges)
    return ((width, 3) if is_pair else width, rng.choice(WIDTHS)), options, call


MAKERS = {
    "RGCNConv": relational, "FastRGCNConv": relational, "RGATConv": rgat, "HGTConv": hgt, "GCNConv": gcn,
    "GATConv": attention, "GATv2Conv": attention, "SAGEConv": sage,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(NUM_CASES))
def test_a_random_layer_on_a_random_graph(seed):
    rng = random.Random(seed)
    name = list(MAKERS)[seed % len(MAKERS)]
    arguments, options, call = MAKERS[name](rng, name)
    compare(name, (arguments, options), call, seed=seed)
