"""Writes models in which each line reads the one before it twice, so that there are 2^40 ways from the first line to the last;
and one with 70 factors in a row."""

import sys
from pathlib import Path

MODELS = {
    "counts": """def counts(g, x: Node[d]):
    for n in g.nodes():
        for p in n.incoming_types():
            p["a0"] = sum(1.0 for e in p.edges())
{pairs}
            p["m"] = sum(e.src.x for e in p.edges()) * (1.0 / p["a40"])
        n["out"] = sum(p["m"] for p in n.incoming_types())
    return n["out"]
""",
    "rows": """def rows(g, x: Node[d], w: Edge[], b: EdgeType[d], W: EdgeType[d, d]):
    for n in g.nodes():
        for p in n.incoming_types():
            p["m"] = p.node.x * W[p.etype]
            p["a0"] = sum(e.w for e in p.edges()) * b[p.etype]
{sums}
        n["out"] = sum(p["m"] for p in n.incoming_types()) + sum(p["a40"] for p in n.incoming_types())
    return n["out"]
""",
    "factors": """def factors(g, x: Node[d], f: EdgeType[]):
    for n in g.nodes():
        for p in n.incoming_types():
            p["m"] = mean(e.src.x for e in p.edges()){factors}
        n["out"] = sum(p["m"] for p in n.incoming_types())
    return n["out"]
""",
    "products": """def products(g, x: Node[d], W: NodeType[d, d]):
    for n in g.nodes():
        n["a0"] = n.x * 0.5
{nodes}
        n["out"] = n["a40"] * W[n.ntype] + n["a40"]
    return n["out"]
""",
}


def chain(indent, name, operation="*"):
    return "\n".join(f'{indent}{name}["a{i + 1}"] = {name}["a{i}"] {operation} {name}["a{i}"]' for i in range(40))


for name, text in MODELS.items():
    Path(sys.argv[1], f"{name}.hec").write_text(text.format(pairs=chain(" " * 12, "p"), sums=chain(" " * 12, "p", "+"), nodes=chain(" " * 8, "n"), factors=" * f[p.etype]" * 70))
