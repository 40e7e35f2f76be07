"""What `run` has measured, as tables and as a picture."""

import math
import platform

BEGIN, END = "<!-- results: written by bench/peers/run -->", "<!-- end of results -->"
LIBRARIES = {"pyg": "PyG", "dgl": "DGL", "torch": "PyTorch"}
COLOURS = {"pyg": "#d97706", "dgl": "#059669", "torch": "#2563eb"}
MEBI = 1 << 20


def processor():
    """The name of the processor, or of its kind."""
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def gather(cells, options, report, skipped):
    """All figures, for files."""
    versions = {"hector": report["hector"]}
    for cell in cells:
        for peer in cell["peers"]:
            if peer["library"] != "torch":
                versions |= {f"{peer['library']}: {name}": value for name, value in (peer["versions"] or {}).items()}
    return {
        "processor": processor(),
        "threads": options.threads,
        "turns": options.turns,
        "runs": options.runs,
        "limit_gib": options.limit,
        "versions": versions,
        "skipped": skipped,
        "cells": cells,
    }


def best(cell, library):
    """The fastest layer of a library that computes the same function; if none can, one that says why."""
    peers = [peer for peer in cell["peers"] if peer["library"] == library and not peer["other_function"]]
    timed = [peer for peer in peers if peer["failure"] is None]
    return min(timed, key=lambda peer: peer["median_ms"]) if timed else peers[0]


def ratios(cell):
    """How many times as long each library takes, where it can."""
    found = {library: best(cell, library) for library in LIBRARIES}
    own = cell["hector"]["median_ms"]
    return {library: peer["median_ms"] / own for library, peer in found.items() if peer["failure"] is None}


def number(value):
    """Three digits or so."""
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def counted(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "| --- | --- | --- |" + " ---: |" * (len(titles) - 3)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def markdown(found):
    cells = found["cells"]
    versions = ", ".join(f"{name} {value}" for name, value in sorted(found["versions"].items()))
    lines = [
        f"{found['processor']}, {counted(found['threads'], 'thread')}, float32. Medians of "
        f"{counted(found['turns'], 'turn')} of {counted(found['runs'], 'run')}. "
        f"A process may take {found['limit_gib']} GiB. Versions: {versions}.",
        "",
        "Milliseconds, and how many times as long others take:",
        "",
    ]
    rows = []
    for cell in cells:
        compared = ratios(cell)
        row = [cell["graph"], cell["model"], cell["phase"], number(cell["hector"]["median_ms"])]
        for library in LIBRARIES:
            peer = best(cell, library)
            row.append(peer["failure"] or number(peer["median_ms"]))
        row.append(number(min(compared.values())) if compared else "")
        row.append(number(compared["pyg"]) if "pyg" in compared else "")
        rows.append(row)
    titles = ["graph", "model", "phase", "Hector", *LIBRARIES.values()]
    lines += table([*titles, "best of three / Hector", "PyG / Hector"], rows)
    lines += ["", *summary(cells), "", "Memory, in MiB, beside the graph and the inputs:", ""]
    rows = []
    for cell in cells:
        row = [cell["graph"], cell["model"], cell["phase"], number(cell["hector"]["memory_bytes"] / MEBI)]
        for library in LIBRARIES:
            peer = best(cell, library)
            row.append(peer["failure"] or peer["memory_failure"] or number(peer["memory_bytes"] / MEBI))
        rows.append(row)
    lines += table(titles, rows)
    others = [
        (cell, peer) for cell in cells for peer in cell["peers"] if peer["other_function"] and peer["failure"] is None
    ]
    if others:
        lines += ["", "Layers that compute another function, for their time alone:", ""]
        rows = [
            [cell["graph"], cell["model"], cell["phase"], f"{LIBRARIES[peer['library']]} `{peer['layer']}`, "
             + peer["other_function"], number(peer["median_ms"])]
            for cell, peer in others
        ]
        lines += table(["graph", "model", "phase", "layer", "ms"], rows)
    if found["skipped"]:
        lines += ["", "Not measured, since they were not there: " + ", ".join(found["skipped"]) + "."]
    return "\n".join(lines)


def summary(cells):
    """Geometric means, and the smallest ratio."""
    lines = []
    for phase in ("inference", "training"):
        chosen = [(cell, ratios(cell)) for cell in cells if cell["phase"] == phase]
        to_best = [(min(compared.values()), cell["cell"]) for cell, compared in chosen if compared]
        to_pyg = [compared["pyg"] for _, compared in chosen if "pyg" in compared]
        if not to_best:
            continue
        mean = geometric_mean([ratio for ratio, _ in to_best])
        text = f"- {phase}: the best of three takes {number(mean)} times as long (geometric mean)"
        if to_pyg:
            mean, count = geometric_mean(to_pyg), f"{len(to_pyg)} of {len(chosen)}"
            text += f", PyG {number(mean)} times in the {count} cells that it can run"
        smallest, name = min(to_best)
        lines.append(text + f"; the smallest ratio to the best is {number(smallest)} ({name})")
    return lines


# --- the picture ------------------------------------------------------------------------------------------------------


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def draw(found):
    """One line per cell: how many times as long each library takes, on a logarithmic scale."""
    cells, width, left, right, row, top = found["cells"], 860, 250, 40, 22, 92
    all_ratios = [ratio for cell in cells for ratio in ratios(cell).values()] or [1]
    low = math.log10(min(0.5, *all_ratios) * 0.9)
    high = math.log10(max(10, *all_ratios) * 1.1)
    place = lambda ratio: left + (math.log10(ratio) - low) / (high - low) * (width - left - right)
    bottom = top + row * len(cells)
    body = []

    def text(x, y, content, size=12, fill="#4b5563", anchor="start", weight=400):
        body.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
                    f'font-weight="{weight}">{escaped(content)}</text>')

    text(24, 34, "Time of a layer, as a multiple of Hector's", 18, "#111827", weight=600)
    for i, (library, name) in enumerate(LIBRARIES.items()):
        body.append(f'<circle cx="{30 + 90 * i}" cy="56" r="5" fill="{COLOURS[library]}"/>')
        text(40 + 90 * i, 60, name)
    for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if low <= math.log10(tick) <= high:
            colour = "#6b7280" if tick == 1 else "#e5e7eb"
            x = f"{place(tick):.1f}"
            body.append(f'<line x1="{x}" y1="{top - 8}" x2="{x}" y2="{bottom}" stroke="{colour}"/>')
            text(place(tick), top - 12, f"{tick:g}×", 11, anchor="middle")
    for i, cell in enumerate(cells):
        y = top + row * (i + 0.5)
        text(left - 14, y + 4, f"{cell['graph']}, {cell['model']}, {cell['phase']}", 12, "#111827", "end")
        for library, ratio in ratios(cell).items():
            body.append(f'<circle cx="{place(ratio):.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[library]}"/>')
    height = bottom + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n<title>Hector and others</title>\n"
            '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")


def write_docs(found, docs):
    """Puts the tables between their markers, and the picture beside the page."""
    page = docs / "results.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    picture = "![Time of a layer, as a multiple of Hector's](results.svg)"
    page.write_text(f"{before}{BEGIN}\n\n{picture}\n\n{markdown(found)}\n\n{END}{after}")
    (docs / "results.svg").write_text(draw(found))
