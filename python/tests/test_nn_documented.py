"""Layers of `hector.nn` beside what PyG's documentation says of them: formulas written out as loops, and shapes.

PyG itself is not needed. Numbers are float64.
"""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from hector import nn  # noqa: E402

NODES, EDGES, D_IN, D_OUT, D_EDGE, RELATIONS = 6, 14, 4, 4, 3, 3


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(5)


def graph(num_src=NODES, num_dst=NODES, loops=False):
    """Edges without loops, unless they are asked for; the last node has none."""
    src, dst = torch.randint(num_src - 1, (EDGES,)), torch.randint(num_dst - 1, (EDGES,))
    if not loops:
        dst = torch.where(src == dst, (dst + 1) % (num_dst - 1), dst)
    return torch.stack([src, dst]), torch.randint(RELATIONS, (EDGES,))


def table(*shape):
    return torch.randn(shape, dtype=torch.float64)


def made(name, *arguments, **options):
    """A layer whose parameters are all random, also those that start from 0."""
    conv = getattr(nn, name)(*arguments, **options).double()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.copy_(0.5 * torch.randn_like(parameter))
    return conv


def incoming(edge_index, node):
    return (edge_index[1] == node).nonzero().view(-1).tolist()


def rows(values, width):
    return torch.stack(values) if values else torch.zeros(0, width, dtype=torch.float64)


def check(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)


# --- GCN: x'_i = Θᵀ Σ_{j ∈ N(i) ∪ {i}} e_ji / √(d_j d_i) x_j


def gcn(conv, x, edge_index, weight, loop):
    degree = [loop + sum(weight[e] for e in incoming(edge_index, i)) for i in range(len(x))]
    out = []
    for i in range(len(x)):
        total = loop / degree[i] * x[i] if loop else torch.zeros(D_IN, dtype=x.dtype)
        for e in incoming(edge_index, i):
            j = int(edge_index[0, e])
            total = total + weight[e] / math.sqrt(degree[j] * degree[i]) * x[j]
        out.append(conv.lin.weight @ total + (0 if conv.bias is None else conv.bias))
    return torch.stack(out)


@pytest.mark.parametrize("options", [{}, {"bias": False}], ids=str)
def test_gcn(options):
    conv, x, (edge_index, _) = made("GCNConv", D_IN, D_OUT, **options), table(NODES, D_IN), graph()
    check(conv(x, edge_index), gcn(conv, x, edge_index, [1.0] * EDGES, 1.0))
    weight = torch.rand(EDGES, dtype=torch.float64) + 0.5
    check(conv(x, edge_index, weight), gcn(conv, x, edge_index, weight.tolist(), 1.0))


def test_improved_gcn_has_loops_of_weight_2():
    conv, x, (edge_index, _) = made("GCNConv", D_IN, D_OUT, improved=True), table(NODES, D_IN), graph()
    weight = torch.rand(EDGES, dtype=torch.float64) + 0.5
    check(conv(x, edge_index, weight), gcn(conv, x, edge_index, weight.tolist(), 2.0))


def test_gcn_without_normalisation_adds_no_loops():
    conv, x, (edge_index, _) = made("GCNConv", D_IN, D_OUT, normalize=False), table(NODES, D_IN), graph()
    weight = torch.rand(EDGES, dtype=torch.float64)
    total = torch.zeros(NODES, D_IN, dtype=x.dtype).index_add(0, edge_index[1], weight[:, None] * x[edge_index[0]])
    check(conv(x, edge_index, weight), total @ conv.lin.weight.T + conv.bias)


def test_cached_gcn_uses_its_first_graph():
    conv, x = made("GCNConv", D_IN, D_OUT, cached=True), table(NODES, D_IN)
    (first, _), (second, _) = graph(), graph()
    wanted = conv(x, first)
    assert torch.equal(conv(x, second), wanted)


# --- GAT: α = softmax(LeakyReLU(a_sᵀ Θ x_i + a_tᵀ Θ x_j + a_eᵀ Θ_e e_ij)), x'_i = Σ α Θ x_j


def attend(scores, values):
    """Values of [edges, heads, columns], weighted by the softmax of scores of [edges, heads]."""
    return (torch.softmax(scores, 0)[:, :, None] * values).sum(0)


def gat(conv, source, target, edge_index, edge_attr, loops):
    heads = conv.heads
    both = conv.lin if conv.lin is not None else None
    src = F.linear(source, (both or conv.lin_src).weight).view(-1, heads, D_OUT)
    dst = F.linear(target, (both or conv.lin_dst).weight).view(-1, heads, D_OUT)
    out = []
    for i in range(len(target)):
        edges = incoming(edge_index, i)
        ends = [int(edge_index[0, e]) for e in edges]
        features = None if edge_attr is None else rows([edge_attr[e] for e in edges], D_EDGE)
        if loops:
            ends.append(i)
            if features is not None:  # the mean of those that lead to the node
                mean = features.mean(0, keepdim=True) if len(features) else torch.zeros(1, D_EDGE, dtype=torch.float64)
                features = torch.cat([features, mean])
        if not ends:
            out.append(torch.zeros(heads, D_OUT, dtype=torch.float64))
            continue
        score = (src[ends] * conv.att_src).sum(-1) + (dst[i] * conv.att_dst[0]).sum(-1)
        if features is not None:
            score = score + (F.linear(features, conv.lin_edge.weight).view(-1, heads, D_OUT) * conv.att_edge).sum(-1)
        out.append(attend(F.leaky_relu(score, conv.negative_slope), src[ends]))
    out = torch.stack(out)
    out = out.flatten(1) if conv.concat else out.mean(1)
    return out if conv.bias is None else out + conv.bias


GAT_OPTIONS = [
    {}, {"heads": 3}, {"heads": 2, "concat": False}, {"heads": 2, "negative_slope": 0.5, "bias": False},
    {"heads": 2, "add_self_loops": False}, {"heads": 2, "edge_dim": D_EDGE}, {"edge_dim": D_EDGE, "add_self_loops": False},
]  # fmt: skip


@pytest.mark.parametrize("options", GAT_OPTIONS, ids=str)
def test_gat(options):
    conv, x, (edge_index, _) = made("GATConv", D_IN, D_OUT, **options), table(NODES, D_IN), graph()
    edge_attr = table(EDGES, D_EDGE) if "edge_dim" in options else None
    found = conv(x, edge_index, edge_attr)
    check(found, gat(conv, x, x, edge_index, edge_attr, options.get("add_self_loops", True)))
    assert found.shape == (NODES, D_OUT * (conv.heads if conv.concat else 1))


def test_gat_of_a_bipartite_graph():
    conv = made("GATConv", (D_IN, 3), D_OUT, heads=2, add_self_loops=False)
    source, target, (edge_index, _) = table(NODES, D_IN), table(4, 3), graph(NODES, 4, loops=True)
    check(conv((source, target), edge_index), gat(conv, source, target, edge_index, None, False))
    check(conv((source, target), edge_index, size=(NODES, 4)), gat(conv, source, target, edge_index, None, False))


@pytest.mark.parametrize("fill", [0.5, torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64), "add", "mean", "min", "max", "mul"], ids=str)
def test_features_of_loops(fill):
    """With loops that are given, a layer without `add_self_loops` computes the same."""
    edge_index, _ = graph()
    edge_index[1, 0] = (edge_index[0, 0] + 1) % NODES
    edge_attr, x = table(EDGES, D_EDGE), table(NODES, D_IN)
    with_loops, without = (made("GATConv", D_IN, D_OUT, edge_dim=D_EDGE, fill_value=fill, add_self_loops=add) for add in (True, False))
    without.load_state_dict(with_loops.state_dict())
    reduce = {"add": torch.sum, "mean": torch.mean, "min": torch.amin, "max": torch.amax, "mul": torch.prod}
    extra = []
    for i in range(NODES):
        mine = rows([edge_attr[e] for e in incoming(edge_index, i)], D_EDGE)
        if not isinstance(fill, str):
            extra.append(torch.zeros(D_EDGE, dtype=torch.float64) + fill)
        elif len(mine):
            extra.append(reduce[fill](mine, 0))
        else:
            extra.append(torch.full((D_EDGE,), 1.0 if fill == "mul" else 0.0, dtype=torch.float64))
    nodes = torch.arange(NODES).expand(2, -1)
    wanted = without(x, torch.cat([edge_index, nodes], 1), torch.cat([edge_attr, torch.stack(extra)]))
    check(with_loops(x, edge_index, edge_attr), wanted)


@pytest.mark.parametrize("name, value", [("GATConv", True), ("GATv2Conv", True), ("RGATConv", True), ("RGATConv", False)])
def test_attention_weights_are_returned(name, value):
    """RGAT returns them for any value that is given, as PyG's does."""
    edge_index, edge_type = graph()
    options = {} if name == "RGATConv" else {"add_self_loops": False}
    conv = made(name, D_IN, D_OUT, *([RELATIONS] if name == "RGATConv" else []), heads=2, **options)
    call = (table(NODES, D_IN), edge_index, *([edge_type] if name == "RGATConv" else []))
    out, (edges, weights) = conv(*call, return_attention_weights=value)
    assert out.shape == (NODES, 2 * D_OUT) and torch.equal(edges, edge_index) and weights.shape == (EDGES, 2)
    for i in range(NODES):
        if incoming(edge_index, i):
            check(weights[incoming(edge_index, i)].sum(0), torch.ones(2, dtype=torch.float64))
    check(conv(*call), out)


# --- GATv2: α = softmax(aᵀ LeakyReLU(Θ_s x_i + Θ_t x_j + Θ_e e_ij))


@pytest.mark.parametrize("options", [*GAT_OPTIONS, {"heads": 2, "share_weights": True}], ids=str)
def test_gatv2(options):
    conv, x, (edge_index, _) = made("GATv2Conv", D_IN, D_OUT, **options), table(NODES, D_IN), graph()
    edge_attr = table(EDGES, D_EDGE) if "edge_dim" in options else None
    left, right = (linear(x).view(-1, conv.heads, D_OUT) for linear in (conv.lin_l, conv.lin_r))
    out = []
    for i in range(NODES):
        edges = incoming(edge_index, i)
        ends = [int(edge_index[0, e]) for e in edges] + ([i] if conv.add_self_loops else [])
        if not ends:
            out.append(torch.zeros(conv.heads, D_OUT, dtype=torch.float64))
            continue
        sums = left[ends] + right[i]
        if edge_attr is not None:
            features = rows([edge_attr[e] for e in edges], D_EDGE)
            if conv.add_self_loops:
                mean = features.mean(0, keepdim=True) if edges else torch.zeros(1, D_EDGE, dtype=torch.float64)
                features = torch.cat([features, mean])
            sums = sums + F.linear(features, conv.lin_edge.weight).view(-1, conv.heads, D_OUT)
        out.append(attend((F.leaky_relu(sums, conv.negative_slope) * conv.att).sum(-1), left[ends]))
    out = torch.stack(out).flatten(1) if conv.concat else torch.stack(out).mean(1)
    check(conv(x, edge_index, edge_attr), out if conv.bias is None else out + conv.bias)


def test_gatv2_of_a_bipartite_graph_has_rows_of_targets():
    conv = made("GATv2Conv", (D_IN, 3), D_OUT, heads=2, add_self_loops=False)
    out, (edges, weights) = conv((table(NODES, D_IN), table(4, 3)), graph(NODES, 4)[0], return_attention_weights=True)
    assert out.shape == (4, 2 * D_OUT) and edges.shape == (2, EDGES) and weights.shape == (EDGES, 2)


# --- GraphSAGE: x'_i = W₁ x_i + W₂ · mean_j x_j


def sage(conv, source, target, edge_index):
    source = torch.relu(conv.lin(source)) if conv.project else source
    out = []
    for i in range(len(target)):
        near = rows([source[edge_index[0, e]] for e in incoming(edge_index, i)], source.size(1))
        empty = torch.zeros(source.size(1), dtype=torch.float64)
        reduced = {"mean": near.mean(0), "sum": near.sum(0), "add": near.sum(0)} if len(near) else dict.fromkeys(("mean", "sum", "add"), empty)
        reduced |= {"max": near.amax(0), "min": near.amin(0)} if len(near) else {"max": empty, "min": empty}
        row = F.linear(reduced[conv.aggr], conv.lin_l.weight, conv.lin_l.bias)
        row = row + conv.lin_r.weight @ target[i] if conv.root_weight else row
        out.append(row / row.norm() if conv.normalize else row)
    return torch.stack(out)


SAGE_OPTIONS = [
    {}, {"aggr": "max"}, {"aggr": "min"}, {"aggr": "add"}, {"aggr": "sum", "bias": False}, {"normalize": True},
    {"root_weight": False}, {"project": True}, {"project": True, "aggr": "max", "normalize": True},
]  # fmt: skip


@pytest.mark.parametrize("options", SAGE_OPTIONS, ids=str)
def test_sage(options):
    conv, x, (edge_index, _) = made("SAGEConv", D_IN, D_OUT, **options), table(NODES, D_IN), graph()
    check(conv(x, edge_index), sage(conv, x, x, edge_index))


def test_sage_of_a_bipartite_graph():
    conv = made("SAGEConv", (D_IN, 3), D_OUT)
    source, target, (edge_index, _) = table(NODES, D_IN), table(4, 3), graph(NODES, 4, loops=True)
    check(conv((source, target), edge_index), sage(conv, source, target, edge_index))


# --- R-GCN: x'_i = Θ_root x_i + Σ_r Σ_{j ∈ N_r(i)} 1/|N_r(i)| Θ_r x_j


def matrices(conv):
    """Θ_r for each relation."""
    if conv.num_bases is not None:
        comp, basis = (conv.att, conv.basis) if isinstance(conv, nn.RGATConv) else (conv.comp, conv.weight)
        return torch.einsum("rb,bio->rio", comp, basis)
    if conv.num_blocks is not None:
        return torch.stack([torch.block_diag(*blocks) for blocks in conv.weight])
    return conv.weight


def rgcn(conv, source, target, edge_index, edge_type):
    weight, out = matrices(conv), []
    for i in range(len(target)):
        row = torch.zeros(D_OUT, dtype=torch.float64)
        for r in range(RELATIONS):
            edges = [e for e in incoming(edge_index, i) if int(edge_type[e]) == r]
            if edges:
                messages = torch.stack([source[edge_index[0, e]] @ weight[r] for e in edges])
                row = row + (messages.mean(0) if conv.aggr == "mean" else messages.sum(0))
        row = row if conv.root is None else row + target[i] @ conv.root
        out.append(row if conv.bias is None else row + conv.bias)
    return torch.stack(out)


RGCN_OPTIONS = [
    {}, {"aggr": "add"}, {"num_bases": 2}, {"num_blocks": 2}, {"root_weight": False}, {"bias": False},
    {"num_bases": 2, "aggr": "add", "root_weight": False, "bias": False},
]  # fmt: skip


@pytest.mark.parametrize("options", RGCN_OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["RGCNConv", "FastRGCNConv"])
def test_rgcn(name, options):
    conv, x, ends = made(name, D_IN, D_OUT, RELATIONS, **options), table(NODES, D_IN), graph()
    check(conv(x, *ends), rgcn(conv, x, x, *ends))


def test_rgcn_of_sorted_edges():
    edge_index, edge_type = graph()
    order = edge_type.argsort()
    x, conv = table(NODES, D_IN), made("RGCNConv", D_IN, D_OUT, RELATIONS, is_sorted=True)
    check(conv(x, edge_index[:, order], edge_type[order]), rgcn(conv, x, x, edge_index, edge_type))


def test_rgcn_of_a_tuple():
    conv = made("RGCNConv", (D_IN, 3), D_OUT, RELATIONS)
    source, target, ends = table(NODES, D_IN), table(4, 3), graph(NODES, 4, loops=True)
    check(conv((source, target), *ends), rgcn(conv, source, target, *ends))


@pytest.mark.parametrize("options", [{}, {"num_bases": 2}], ids=str)
@pytest.mark.parametrize("name", ["RGCNConv", "FastRGCNConv"])
def test_rgcn_without_features_has_an_embedding_for_each_node(name, options):
    """`in_channels` is the number of nodes, and a node stands for its row of the identity."""
    conv, ends, x = made(name, NODES, D_OUT, RELATIONS, **options), graph(), torch.eye(NODES, dtype=torch.float64)
    wanted = rgcn(conv, x, x, *ends)
    check(conv(None, *ends), wanted)
    check(conv(torch.arange(NODES), *ends), wanted)
    ids = torch.tensor([3, 1, 1, 0, 5, 2])
    check(conv(ids, *ends), rgcn(conv, x[ids], x[ids], *ends))


# --- RGAT


def rgat(conv, x, edge_index, edge_type, edge_attr=None):
    """Without `mod`, and with those that need no parameters."""
    weight, heads, dim = matrices(conv), conv.heads, conv.dim
    is_product, is_within = conv.attention_mode.startswith("mult"), conv.attention_mechanism.startswith("within")
    scores, values = [], []
    for e in range(EDGES):
        j, i = edge_index[:, e].tolist()
        target, source = x[i] @ weight[edge_type[e]], x[j] @ weight[edge_type[e]]
        query, key = target @ conv.q, source @ conv.k
        edge = None if edge_attr is None else conv.lin_edge.weight @ edge_attr[e] @ conv.e
        if is_product:
            score = query * key if edge is None else query * key * edge
        else:
            score = F.leaky_relu(query + key if edge is None else query + key + edge, conv.negative_slope)
        scores.append(score.view(heads, dim))
        values.append(source.view(heads, D_OUT))
    scores, values, out = torch.stack(scores), torch.stack(values), []
    for i in range(len(x)):
        total = torch.zeros(heads, D_OUT, dim, dtype=torch.float64)
        edges = incoming(edge_index, i)
        groups = [[e for e in edges if int(edge_type[e]) == r] for r in range(RELATIONS)] if is_within else [edges]
        for group in filter(None, groups):
            weights = torch.softmax(scores[group], 0)
            if conv.mod == "f-additive":
                weights = torch.where(weights > 0, weights + 1, weights)
            elif conv.mod == "f-scaled":
                weights = weights * len(edges)
            total = total + torch.einsum("ehd,ehc->hcd", weights, values[group])
        out.append(total)
    out = torch.stack(out)
    if is_product:  # columns go with the number of dimensions
        out = out.permute(0, 1, 3, 2)
        out = out.reshape(len(x), -1) if conv.concat else out.mean(1).reshape(len(x), -1)
    else:
        out = out.flatten(1) if conv.concat else out.mean(1).flatten(1)
    return out if conv.bias is None else out + conv.bias


PRODUCTS = "multiplicative-self-attention"
RGAT_OPTIONS = [
    {}, {"heads": 2}, {"heads": 2, "concat": False}, {"heads": 2, "bias": False, "negative_slope": 0.5}, {"num_bases": 2},
    {"num_blocks": 2}, {"attention_mechanism": "within-relation", "heads": 2}, {"attention_mode": PRODUCTS, "heads": 2},
    {"edge_dim": D_EDGE, "heads": 2}, {"edge_dim": D_EDGE, "heads": 2, "attention_mode": PRODUCTS},
    {"mod": "f-additive", "heads": 2}, {"mod": "f-scaled", "heads": 2},
]  # fmt: skip


@pytest.mark.parametrize("options", RGAT_OPTIONS, ids=str)
def test_rgat(options):
    conv, x, ends = made("RGATConv", D_IN, D_OUT, RELATIONS, **options), table(NODES, D_IN), graph()
    edge_attr = table(EDGES, D_EDGE) if "edge_dim" in options else None
    check(conv(x, *ends, edge_attr), rgat(conv, x, *ends, edge_attr))
    check(conv(x, *ends, edge_attr, size=(NODES, NODES)), rgat(conv, x, *ends, edge_attr))


@pytest.mark.parametrize(
    "mode, dim, concat, width",
    [
        ("additive-self-attention", 1, True, 2 * D_OUT),
        ("additive-self-attention", 1, False, D_OUT),
        (PRODUCTS, 3, True, 2 * 3 * D_OUT),
        (PRODUCTS, 3, False, 3 * D_OUT),
    ],
)
def test_columns_of_rgat(mode, dim, concat, width):
    conv = made("RGATConv", D_IN, D_OUT, RELATIONS, heads=2, attention_mode=mode, dim=dim, concat=concat)
    assert conv(table(NODES, D_IN), *graph()).shape == (NODES, width)


# --- HGT


def hgt(conv, x_dict, edges):
    heads, d = conv.heads, D_OUT // conv.heads
    parts = {}
    for kind, x in x_dict.items():
        lin = conv.kqv_lin.lins[kind]
        parts[kind] = [part.view(-1, heads, d) for part in lin(x).chunk(3, dim=1)]
    count, out = len(conv.edge_types), {}
    k_rel, v_rel = (rel.weight.view(heads, count, d, d) for rel in (conv.k_rel, conv.v_rel))
    for kind in x_dict:
        if kind not in {relation[2] for relation in conv.edge_types}:
            continue
        results = []
        for i in range(len(x_dict[kind])):
            scores, values = [], []
            for number, relation in enumerate(conv.edge_types):
                if relation[2] != kind or relation not in edges:
                    continue
                key, _, value = parts[relation[0]]
                prior = conv.p_rel["__".join(relation)][0]
                for e in incoming(edges[relation], i):
                    j = int(edges[relation][0, e])
                    moved = torch.einsum("hc,hcd->hd", key[j], k_rel[:, number])
                    scores.append((moved * parts[kind][1][i]).sum(-1) * prior / math.sqrt(d))
                    values.append(torch.einsum("hc,hcd->hd", value[j], v_rel[:, number]))
            empty = torch.zeros(heads, d, dtype=torch.float64)
            total = attend(torch.stack(scores), torch.stack(values)) if scores else empty
            results.append(F.gelu(total.flatten()))
        results = conv.out_lin.lins[kind](torch.stack(results))
        if results.shape == x_dict[kind].shape:
            share = torch.sigmoid(conv.skip[kind])
            results = share * results + (1 - share) * x_dict[kind]
        out[kind] = results
    return out


@pytest.mark.parametrize("in_channels", [D_IN, {"paper": D_IN, "author": 3}], ids=str)
@pytest.mark.parametrize("heads", [1, 2])
def test_hgt(heads, in_channels):
    metadata = (["paper", "author"], [("author", "writes", "paper"), ("paper", "cites", "paper")])
    conv = made("HGTConv", in_channels, D_OUT, metadata, heads=heads)
    widths = in_channels if isinstance(in_channels, dict) else dict.fromkeys(metadata[0], in_channels)
    x_dict = {"paper": table(NODES, widths["paper"]), "author": table(5, widths["author"])}
    edges = {metadata[1][0]: graph(5, NODES)[0], metadata[1][1]: graph(NODES, NODES)[0]}
    found, wanted = conv(x_dict, edges), hgt(conv, x_dict, edges)
    assert found.keys() == {"paper"} and found.get("author") is None  # no message leads to an author
    check(found["paper"], wanted["paper"])
    check(conv(x_dict, {metadata[1][0]: edges[metadata[1][0]]})["paper"], hgt(conv, x_dict, {metadata[1][0]: edges[metadata[1][0]]})["paper"])


def test_hgt_derives_sizes_from_the_first_input():
    metadata = (["a"], [("a", "to", "a")])
    conv = nn.HGTConv(-1, D_OUT, metadata).double()
    assert conv({"a": table(NODES, 7)}, {("a", "to", "a"): graph()[0]})["a"].shape == (NODES, D_OUT)


# --- what all have in common


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv", "SAGEConv"])
def test_sizes_of_inputs_may_be_left_to_the_first_call(name):
    conv = getattr(nn, name)(-1, D_OUT)
    assert conv(torch.randn(NODES, 7), graph()[0]).shape == (NODES, D_OUT)
