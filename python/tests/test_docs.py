"""Runs the examples of pages, those of one page one after the other."""

import linecache
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "page, kind, least", [("docs/python.md", "python", 3), ("docs/guides/speed-up-pyg.md", "python", 7), ("README.md", "py", 1)]
)
def test_examples_run(page, kind, least, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # where PyG looks for a class
    blocks = re.findall(rf"^```{kind}\b *\w*\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= least
    for number, block in enumerate(blocks):
        name = f"<{page}, example {number}>"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)  # where inspect finds it
        exec(compile(block, name, "exec"), module.__dict__)
