"""`@hector.compile`: models written as functions in Python files."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import symtable
import sys
import textwrap
import types

from ._errors import InvalidError, ModelError
from ._model import Model


class _Home:
    """`Node[d]` and the like, so that Python can evaluate a model's declarations."""

    def __class_getitem__(cls, _):
        return cls


class Node(_Home):
    """One row per node: `x: Node[d]`."""


class Edge(_Home):
    """One row per edge."""


class EdgeType(_Home):
    """One row per edge type: `W: EdgeType[d_in, d_out]`."""


class NodeType(_Home):
    """One row per node type."""


class Shared(_Home):
    """One for all."""


class Size:
    """A name in brackets, so that Python can evaluate `Shared[heads * d]`."""

    def __init__(self, name):
        self.name = name

    def _with(self, _):
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = _with

    def __repr__(self):
        return self.name


def sizes(names: str):
    """Sizes for declarations: `d_in, d_out = hector.sizes("d_in d_out")`.

    They are needed only where Python evaluates annotations: not after `from __future__ import annotations`.
    """
    if not isinstance(names, str) or not names.replace(",", " ").split():
        raise InvalidError(f"`names` is {names!r}; expected names of sizes in a text, such as \"d_in d_out\"")
    made = tuple(Size(name) for name in names.replace(",", " ").split())
    return made[0] if len(made) == 1 else made


def _source(function):
    """The lines of a function without its decorators, not indented; where they start; by how much they were indented."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise InvalidError(
            f"the source of `{function.__name__}` cannot be found; write it in a file, or use hector.parse(text)"
        ) from None
    start = next((i for i, line in enumerate(lines) if re.match(r"\s*def\b", line)), None)
    if start is None:
        raise InvalidError(f"`{function.__name__}` is not written with `def`, as models are; use `def`, or hector.parse(text)")
    text = "".join(lines[start:])
    indent = len(lines[start]) - len(lines[start].lstrip())
    return textwrap.dedent(text).splitlines(), first + start, indent


def names_of(code):
    """The names that a function's code uses, those of attributes and of its generator expressions too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


def _tables(table):
    """A symbol table and those inside it."""
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _needed(function, start):
    """The functions of the same file that a function calls, wherever they stand: their lines, and the first one's number.

    `start` is the line of the function's own `def`.
    """
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    text = "".join(lines)
    try:
        known = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        parts = [part for part in _tables(symtable.symtable(text, "", "exec")) if isinstance(part, symtable.Function)]
    except SyntaxError:
        return []
    tables = {(table.get_name(), table.get_lineno()): table for table in parts}

    def names_in(name, line):
        """The names of the file that a function uses. Attributes and names of its own, such as arguments, are none."""
        inside = _tables(tables[name, line]) if (name, line) in tables else ()
        return [symbol.get_name() for table in inside for symbol in table.get_symbols() if symbol.is_global()]

    found, names = {}, names_in(function.__name__, start)
    while names:
        name = names.pop()
        if name in known and name not in found and name != function.__name__:
            found[name] = known[name]
            names += names_in(name, known[name].lineno)
    return [([line.rstrip("\n") for line in lines[node.lineno - 1 : node.end_lineno]], node.lineno) for node in found.values()]


def _compile_class(cls):
    bases = [f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__]
    if any(base.startswith("torch_geometric.nn.conv.message_passing.") for base in bases):
        from ._message_passing import compile_class
    elif "torch.nn.modules.module.Module" in bases:
        from ._dgl import compile_class
    else:
        raise InvalidError(f"`{cls.__name__}` is no module of PyTorch; hector.compile takes these, and functions")
    return compile_class(cls, in_place=_names_itself(cls))


def _names_itself(cls):
    """Whether methods find the class by its name, as in `super(Layer, self)`: it must stay the class of that name."""
    if cls.__module__.startswith(("dgl.", "torch_geometric.")):
        return False  # nobody gives its name to another class
    codes = [value.__code__ for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    return any(cls.__name__ in (*code.co_names, *code.co_freevars) for code in codes)


_DECLARED = re.compile(r"\b(Node|Edge|EdgeType|NodeType|Shared)\b")
_OF_DGL = frozenset(("update_all", "apply_edges", "local_scope", "local_var", "ndata", "edata", "srcdata", "dstdata"))


def _is_for_dgl(function):
    """Whether a function is code for DGL's graphs, which is run, and no text in Hector's language, which is read."""
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        kind = parameter.annotation
        is_home = isinstance(kind, type) and issubclass(kind, _Home)
        if is_home or (isinstance(kind, str) and _DECLARED.search(kind)):
            return False
    if not _OF_DGL.isdisjoint(names_of(function.__code__)):
        return True
    return any(parameter.annotation is parameter.default is parameter.empty for parameter in parameters[1:])


def compile(function):
    """Makes a model of a function that is written in Hector's language.

        from __future__ import annotations
        import hector

        @hector.compile
        def gather(g, x: Node[d], W: EdgeType[d, d]):
            for n in g.nodes():
                n["out"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())
            return n["out"]

    The function is read, not run. It may call functions of the same file. Errors show places in that file.

    A class that is a `MessagePassing` of PyG keeps its interface, and `propagate` is computed by Hector. So does any other
    module of PyTorch and any function without declarations: they run, and what they do with DGL's graphs is computed by
    Hector.
    """
    if isinstance(function, type):
        return _compile_class(function)
    if not isinstance(function, types.FunctionType):
        raise InvalidError(f"hector.compile needs a function, not {type(function).__name__}; for a text use hector.parse")
    if "torch" in sys.modules and _is_for_dgl(function):
        from ._dgl import compile_function

        return compile_function(function)
    indents, lines = {}, []
    source, first, indent = _source(function)
    for part, start, by in [*((*needed, 0) for needed in _needed(function, first)), (source, first, indent)]:
        lines += [""] * (start - 1 + len(part) - len(lines))
        for i, line in enumerate(part):
            lines[start - 1 + i] = line
            indents[start + i] = by
    name = function.__code__.co_filename
    try:
        model = Model("\n".join(lines) + "\n", name, function.__name__)
    except ModelError as error:
        raise ModelError(_with_indents(str(error), name, indents)) from None
    model.__doc__ = function.__doc__ or Model.__doc__
    return model


def _with_indents(message, name, indents):
    """Columns of the file, where functions are indented in it."""

    def shift(match):
        line, column = int(match[1]), int(match[2])
        return f"{name}:{line}:{column + indents.get(line, 0)}:"

    return re.sub(rf"^{re.escape(name)}:(\d+):(\d+):", shift, message, flags=re.MULTILINE)
