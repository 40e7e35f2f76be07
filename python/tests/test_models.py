"""All of `models/` through PyTorch in float64: gradients beside finite differences."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import hector  # noqa: E402

MODELS = Path(__file__).resolve().parents[2] / "models"
SIZES = {
    "d": 2, "d_in": 3, "d_out": 4, "d_m": 3, "d_att": 3, "d_rel": 3, "d_mid": 3, "d_edge": 3, "heads": 2, "kernels": 2,
    "r": 3, "bases": 2, "blocks": 2, "i": 2, "o": 3, "dims": 3,
}  # fmt: skip
OTHER_SETTINGS = [
    ("compgcn", {"phi": "mult"}),
    ("gat", {"join": "mean"}),
    ("genconv", {"aggregate": "power"}),
    ("graphsage", {"aggregate": "max"}),
    ("graphsage", {"aggregate": "sum", "unit": True}),
    ("rgat_heads", {"softmax": "within"}),
    ("simple_hgn", {"activation": False, "unit": True}),
    ("transformer_conv", {"gated": False}),
]
GIVEN = {"transformer_conv": {"heads": 2}}  # sizes that no input has
CASES = [*((path.stem, {}) for path in sorted(MODELS.glob("*.hec"))), *OTHER_SETTINGS]


@pytest.fixture(scope="module")
def g():
    """Two types of nodes and three of edges, one of them empty; a repeated edge, a loop and a node without edges."""
    return hector.Graph(
        src=[0, 0, 1, 2, 3, 3, 4, 4, 1, 1], dst=[1, 2, 2, 3, 3, 0, 1, 1, 4, 0], etype=[0, 2, 0, 0, 2, 2, 0, 0, 2, 0],
        ntype_ptr=[0, 3, 6], num_edge_types=3,
    )  # fmt: skip


def inputs_of(model, g, settings):
    """Random numbers for each input."""
    generator = torch.Generator().manual_seed(3)
    sizes = SIZES | ({"d_out": SIZES["d"]} if settings.get("join") == "mean" else {})
    rows = {"Node": (6,), "Edge": (10,), "EdgeType": (3,), "NodeType": (2,), "Shared": ()}
    made = {}
    for name, home, shape in zip(model.inputs, model._homes, model._shapes):
        extents = rows[home] + tuple(eval(extent, {}, sizes) for extent in shape)
        made[name] = torch.randn(extents, generator=generator, dtype=torch.float64).requires_grad_()
    if "self_loop" in made:
        made["self_loop"] = torch.zeros(10, dtype=torch.float64)  # 1 where an edge is a loop that is to be left alone
    return made


@pytest.mark.parametrize("name, settings", CASES, ids=str)
def test_gradients_are_those_of_finite_differences(name, settings, g):
    model = hector.load(MODELS / f"{name}.hec")
    inputs = inputs_of(model, g, settings)
    settings = settings | GIVEN.get(name, {})
    assert torch.autograd.gradcheck(lambda *values: model(g, *values, **settings), tuple(inputs.values()))


def test_every_model_is_checked():
    assert len(CASES) - len(OTHER_SETTINGS) >= 27
