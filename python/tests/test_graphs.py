"""Graphs of PyTorch Geometric and DGL."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
data = pytest.importorskip("torch_geometric.data", reason="needs torch_geometric, which is not installed")

import hector  # noqa: E402

A_TO_B, B_TO_A = ("a", "to", "b"), ("b", "to", "a")
DEGREES = """\
def degrees(g, x: Node[1], w: EdgeType[1]):
    for n in g.nodes():
        n["out"] = sum(e.src.x * w[e.etype] for e in n.incoming_edges())
    return n["out"]
"""


def hetero(a_to_b=((0, 1), (0, 2)), num_a=2, num_b=3):
    made = data.HeteroData()
    made["a"].num_nodes, made["b"].num_nodes = num_a, num_b
    made[A_TO_B].edge_index = torch.tensor(a_to_b)
    made[B_TO_A].edge_index = torch.tensor([[2], [1]])
    return made


def sums(g):
    return hector.parse(DEGREES)(g, torch.arange(1.0, 6.0)[:, None], torch.tensor([[1.0], [10.0]])).view(-1).tolist()


def test_nodes_are_numbered_by_type():
    g = hector.Graph.from_pyg(hetero())
    assert repr(g) == "Graph(5 nodes of 2 types, 3 edges of 2 types)"
    assert g.node_type_names == ["a", "b"] and g.edge_type_names == [A_TO_B, B_TO_A]
    assert sums(g) == [0, 50, 1, 0, 2]


@pytest.mark.parametrize(
    "edges, message",
    [
        (((0, -1), (0, 2)), r"`edge_index\[0, 1\]` of \('a', 'to', 'b'\) is node -1, but there are 2 nodes of type 'a'"),
        (((0, 2), (0, 2)), r"`edge_index\[0, 1\]` of \('a', 'to', 'b'\) is node 2, but there are 2 nodes of type 'a'"),
        (((0, 1), (3, 2)), r"`edge_index\[1, 0\]` of \('a', 'to', 'b'\) is node 3, but there are 3 nodes of type 'b'"),
        (((0, 1), (0, -1)), r"`edge_index\[1, 1\]` of \('a', 'to', 'b'\) is node -1, but there are 3 nodes of type 'b'"),
        ((0, 1), r"the edge_index of \('a', 'to', 'b'\) is of shape \[2\]"),
        (((0.0,), (1.0,)), r"the edge_index of \('a', 'to', 'b'\) holds torch.float32"),
    ],
)
def test_ids_of_another_type_are_refused(edges, message):
    with pytest.raises(hector.InvalidError, match=message):
        hector.Graph.from_pyg(hetero(edges))


def test_types_that_lack_something_are_refused():
    without_count = data.HeteroData()
    without_count["a"].name = "no tensor"
    with pytest.raises(hector.InvalidError, match="the node type 'a' has no count of nodes"):
        hector.Graph.from_pyg(without_count)
    without_edges = hetero()
    without_edges["a", "no", "b"].edge_attr = torch.ones(2, 1)
    with pytest.raises(hector.InvalidError, match=r"the edge type \('a', 'no', 'b'\) has no `edge_index`"):
        hector.Graph.from_pyg(without_edges)
    without_nodes = hetero()
    without_nodes["a", "to", "c"].edge_index = torch.tensor([[0], [0]])
    with pytest.raises(hector.InvalidError, match=r"\('a', 'to', 'c'\) needs nodes of type 'c'"):
        hector.Graph.from_pyg(without_nodes)
    for other in (3, None, data.Data()):
        with pytest.raises(hector.InvalidError, match="has no `edge_index`"):
            hector.Graph.from_pyg(other)


def test_node_types_of_one_table_are_kept():
    g = hector.Graph.from_pyg(hetero().to_homogeneous())
    assert repr(g) == "Graph(5 nodes of 2 types, 3 edges of 2 types)"
    assert sums(g) == [0, 50, 1, 0, 2]


@pytest.mark.parametrize(
    "node_type, message",
    [
        ([0, 1, 0, 1, 1], "`node_type` is 1 at node 1 and 0 at node 2, but nodes of one type need contiguous ids"),
        ([-1, 0, 0, 1, 1], "`node_type` is -1 at node 0"),
        ([0.0, 0.0, 0.0, 1.0, 1.0], "`node_type` is torch.float32"),
        ([0, 0, 1], r"of shape \[3\]; expected one integer for each of 5 nodes"),
    ],
)
def test_node_types_that_are_not_sorted_are_refused(node_type, message):
    edge_index = torch.tensor([[0, 1], [2, 4]])
    with pytest.raises(hector.InvalidError, match=message):
        hector.Graph.from_pyg(data.Data(edge_index=edge_index, node_type=torch.tensor(node_type), num_nodes=5))


class GraphOfDGL(SimpleNamespace):
    """As much of a `dgl.DGLGraph` as is read."""

    ntypes, canonical_etypes = ["a", "b"], [A_TO_B, B_TO_A]

    def num_nodes(self, node_type):
        return {"a": 2, "b": 3}[node_type]

    def edges(self, etype, order):
        return hetero()[etype].edge_index


def test_graphs_of_dgl():
    assert sums(hector.Graph.from_dgl(GraphOfDGL())) == [0, 50, 1, 0, 2]
    with pytest.raises(hector.InvalidError, match="the graph is a int; expected a dgl.DGLGraph"):
        hector.Graph.from_dgl(3)


def test_graphs_come_back_from_the_workers_of_a_loader():
    made = [hector.Graph.from_pyg(hetero()) for _ in range(2)]
    loader = torch.utils.data.DataLoader(made, batch_size=None, num_workers=1, timeout=60)
    for g in loader:
        assert g.node_type_names == ["a", "b"] and sums(g) == [0, 50, 1, 0, 2]
