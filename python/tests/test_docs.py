"""Runs the examples of docs/python.md, one after the other."""

import linecache
import re
import sys
import types
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"


def test_examples_run(monkeypatch):
    pytest.importorskip("torch")
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # where PyG looks for a class
    blocks = re.findall(r"^```python *\w*\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for number, block in enumerate(blocks):
        name = f"<docs/python.md, example {number}>"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)  # where inspect finds it
        exec(compile(block, name, "exec"), module.__dict__)
