"""Layers that another framework computed in float64, with their gradients, through NumPy and through PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hector

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "golden"
LAYERS = sorted(path.stem for path in (ROOT / "test" / "golden").glob("*.hec"))
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}


def read_case(name):
    """The tensors of a safetensors file."""
    path = CASES / f"{name}.safetensors"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32}
    tensors = {}
    for key, entry in json.loads(data[8 : 8 + size]).items():
        if key != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[key] = np.frombuffer(data[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def prepare(name, dtype):
    """The graph, the inputs, the model and all else that is in the file."""
    tensors = read_case(name)
    graph = hector.Graph(*(tensors.pop("graph." + part) for part in ("src", "dst", "etype", "ntype_ptr")))
    model = hector.load(ROOT / "test" / "golden" / f"{name}.hec")
    inputs = {
        key.removeprefix("param."): value.astype(dtype)
        for key, value in tensors.items()
        if key != "out" and not key.startswith("grad.")
    }
    return graph, inputs, model, tensors


def check(found, wanted, tolerance, what):
    assert found.shape == wanted.shape, what
    assert np.abs(found - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1e-300), what


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", LAYERS)
def test_numpy(name, dtype):
    graph, inputs, model, expected = prepare(name, dtype)
    start = expected["grad.out"].astype(dtype)
    out, gradients = model.value_and_grad(graph, **inputs, output_gradients=start)
    check(out, expected["out"], TOLERANCES[dtype], "out")
    compared = [key for key in expected if key.startswith("grad.") and key != "grad.out"]
    for key in compared:
        check(gradients[key.removeprefix("grad.")], expected[key], TOLERANCES[dtype], key)
    assert len(compared) > 1


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", LAYERS)
def test_torch(name, dtype):
    torch = pytest.importorskip("torch")
    graph, arrays, model, expected = prepare(name, dtype)
    wanted = {key.removeprefix("grad.") for key in expected if key.startswith("grad.")}
    inputs = {key: torch.tensor(value, requires_grad=key in wanted) for key, value in arrays.items()}
    out = model(graph, **inputs)
    out.backward(torch.tensor(expected["grad.out"].astype(dtype)))
    check(out.detach().numpy(), expected["out"], TOLERANCES[dtype], "out")
    for key in wanted - {"out"}:
        check(inputs[key].grad.numpy(), expected["grad." + key], TOLERANCES[dtype], key)
