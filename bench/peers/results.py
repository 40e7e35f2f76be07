"""What `run` has measured, as tables and as a picture."""

import math
import platform

BEGIN, END = "<!-- results: written by bench/peers/run -->", "<!-- end of results -->"
GPU_BEGIN, GPU_END = "<!-- gpu: written by bench/peers/run --device cuda -->", "<!-- end of gpu -->"
LIBRARIES = {"pyg": "PyG", "dgl": "DGL", "torch": "PyTorch"}
# The columns of the tables, and their colours in the picture.
COLUMNS = {"pyg": "PyG", "dgl": "DGL", "torch.index_add": "PyTorch `index_add`", "torch.sparse": "PyTorch `sparse`"}
COLUMNS |= {"torch.grouped": "PyTorch `grouped` (bf16)", "torch.compiled": "PyTorch `compiled` (bf16)"}
COLOURS = {"pyg": "#d97706", "dgl": "#059669", "torch.index_add": "#2563eb", "torch.sparse": "#9333ea"}
# What Hector is compared with: the fastest of these columns.
RATIOS = {
    "best of three": ("pyg", "dgl", "torch.index_add"),
    "PyG": ("pyg",),
    "PyTorch `sparse`": ("torch.sparse",),
    "PyTorch `grouped`": ("torch.grouped",),
    "PyTorch `compiled`": ("torch.compiled",),
}
MEBI = 1 << 20
# Medians of fewer runs are listed.
FEW_RUNS = 7


def processor():
    """The name of the processor, or of its kind."""
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def gpu(cells):
    """The name of the GPU, as the libraries give it."""
    names = [peer["device"] for cell in cells for peer in cell["peers"] if peer.get("device")]
    return names[0] if names else "Emulated GPU, whose times mean nothing"


def gather(cells, options, report, skipped):
    """All figures, for files."""
    versions = {"hector": report["hector"]}
    for cell in cells:
        for peer in cell["peers"]:
            environment = "pyg" if peer["library"] == "torch" else peer["library"]
            versions |= {f"{environment}: {name}": value for name, value in (peer["versions"] or {}).items()}
    return {
        "device": getattr(options, "device", "cpu"),
        "processor": processor() if getattr(options, "device", "cpu") == "cpu" else gpu(cells),
        "threads": options.threads,
        "turns": options.turns,
        "runs": options.runs,
        "limit_gib": options.limit,
        "versions": versions,
        "skipped": skipped,
        "cells": cells,
    }


def column_of(peer):
    return f"torch.{peer['layer']}" if peer["library"] == "torch" else peer["library"]


def same_function(cell):
    """The layers that compute what Hector does."""
    return [peer for peer in cell["peers"] if not peer["other_function"]]


def columns_of(cells):
    """The columns that have something to show, with their titles. Not all layers need to have been measured."""
    measured = {column_of(peer) for cell in cells for peer in same_function(cell)}
    return {column: title for column, title in COLUMNS.items() if column in measured}


def best(cell, column):
    """The fastest layer of a column; if none can run, one that says why; None if none was measured."""
    peers = [peer for peer in same_function(cell) if column_of(peer) == column]
    timed = [peer for peer in peers if peer["failure"] is None]
    return min(timed, key=lambda peer: peer["median_ms"]) if timed else next(iter(peers), None)


def ratios(cell):
    """How many times as long each column takes, where it can."""
    found = {column: best(cell, column) for column in COLUMNS}
    own = cell["hector"]["median_ms"]
    return {column: peer["median_ms"] / own for column, peer in found.items() if peer and peer["failure"] is None}


def ratio_to(cell, columns):
    """How many times as long the fastest of some columns takes; None if none of them can run."""
    return min((ratio for column, ratio in ratios(cell).items() if column in columns), default=None)


def least_memory(cell):
    """The layer that takes less memory than Hector and all others; None if Hector takes the least."""
    peers = [peer for peer in same_function(cell) if peer.get("memory_bytes") is not None]
    least = min(peers, key=lambda peer: peer["memory_bytes"], default=None)
    return least if least and least["memory_bytes"] < cell["hector"]["memory_bytes"] else None


def layer_name(peer):
    return f"{LIBRARIES[peer['library']]} `{peer['layer']}`"


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


def figures(cell, columns, own, figure):
    """The row of a cell: Hector's figure and the figure of each column, or why there is none."""
    row = [cell["graph"], cell["model"], cell["phase"], own]
    for column in columns:
        peer = best(cell, column)
        row.append("" if peer is None else peer["failure"] or figure(peer))
    return row


def markdown(found):
    cells, columns = found["cells"], columns_of(found["cells"])
    compared = {name: others for name, others in RATIOS.items() if set(others) <= set(columns)}
    titles = ["graph", "model", "phase", "Hector", *columns.values()]
    versions = ", ".join(f"{name} {value}" for name, value in sorted(found["versions"].items()))
    on_gpu = found.get("device") == "cuda"
    where = "" if on_gpu else f", {counted(found['threads'], 'thread')}"
    limit = "" if on_gpu else f"A process may take {found['limit_gib']} GiB. "
    lines = [
        f"{found['processor']}{where}, float32. Medians of "
        f"{counted(found['turns'], 'turn')} of {counted(found['runs'], 'run')}. {limit}Versions: {versions}.",
        "",
        "Milliseconds" + (" by the clock" if on_gpu else "") + ", and how many times as long others take:",
        "",
    ]
    rows = []
    for cell in cells:
        row = figures(cell, columns, number(cell["hector"]["median_ms"]), lambda peer: number(peer["median_ms"]))
        for others in compared.values():
            ratio = ratio_to(cell, others)
            row.append("" if ratio is None else number(ratio))
        rows.append(row)
    lines += table([*titles, *(f"{name} / Hector" for name in compared)], rows)
    slow = [
        f"{cell['cell']}, {layer_name(peer)} ({counted(len(peer['runs_ms']), 'run')})"
        for cell in cells
        for peer in cell["peers"]
        if peer["failure"] is None and len(peer["runs_ms"]) < FEW_RUNS
    ]
    if slow:
        lines += ["", f"Fewer than {FEW_RUNS} runs, because each takes long: {'; '.join(slow)}."]
    lines += ["", *summary(cells, compared)]
    if on_gpu:
        device = lambda measured: number(measured["device_ms"]) if measured.get("device_ms") is not None else ""
        lines += ["", "Milliseconds of the GPU itself, from its first kernel to the end of its last:", ""]
        lines += table(titles, [figures(cell, columns, device(cell["hector"]), device) for cell in cells])
    inputs = "with" if on_gpu else "beside"
    lines += ["", f"Memory, in MiB, {inputs} the graph and the inputs:", ""]
    mebibytes = lambda measured: "" if measured["memory_bytes"] is None else number(measured["memory_bytes"] / MEBI)
    rows = []
    for cell in cells:
        least = least_memory(cell)
        row = figures(cell, columns, mebibytes(cell["hector"]), lambda peer: peer["memory_failure"] or mebibytes(peer))
        rows.append([*row, f"{layer_name(least)}, {mebibytes(least)}" if least else "Hector"])
    lines += table([*titles, "the least"], rows)
    lines += ["", memory_summary(cells)]
    others = [
        (cell, peer) for cell in cells for peer in cell["peers"] if peer["other_function"] and peer["failure"] is None
    ]
    if others:
        lines += ["", "Layers that compute another function, for their time alone:", ""]
        rows = [
            [cell["graph"], cell["model"], cell["phase"], f"{layer_name(peer)}, {peer['other_function']}",
             number(peer["median_ms"])]
            for cell, peer in others
        ]
        lines += table(["graph", "model", "phase", "layer", "ms"], rows)
    if found["skipped"]:
        lines += ["", "Not measured, since they were not there: " + ", ".join(found["skipped"]) + "."]
    return "\n".join(lines)


def summary(cells, compared):
    """Geometric means and smallest ratios, for all cells and for each phase."""
    lines = []
    for title, phases in (
        ("all cells", ("inference", "training")),
        ("inference", ("inference",)),
        ("training", ("training",)),
    ):
        chosen = [cell for cell in cells if cell["phase"] in phases]
        parts = []
        for name, others in compared.items():
            found = [(ratio_to(cell, others), cell["cell"]) for cell in chosen]
            found = [(ratio, cell) for ratio, cell in found if ratio is not None]
            if found:
                smallest, cell = min(found)
                mean = geometric_mean([ratio for ratio, _ in found])
                text = f"{name} takes {number(mean)} times as long"
                if len(found) < len(chosen):
                    text += f" in the {len(found)} of {len(chosen)} cells that it can run"
                parts.append(f"{text}, at least {number(smallest)} ({cell})")
        if parts:
            lines.append(f"- {title}: " + "; ".join(parts))
    return ["Geometric means, and the smallest ratio with its cell:", "", *lines] if lines else []


def memory_summary(cells):
    """How often Hector takes the least memory, and where it does not."""
    less = [(cell["cell"], least_memory(cell)) for cell in cells]
    less = [f"{cell} ({layer_name(peer)})" for cell, peer in less if peer]
    text = f"Hector takes the least memory of all layers in {len(cells) - len(less)} of {counted(len(cells), 'cell')}."
    return text + (f" Others take less in {', '.join(less)}." if less else "")


# --- the picture ------------------------------------------------------------------------------------------------------


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def draw(found):
    """One line per cell: how many times as long the others take, on a logarithmic scale."""
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
    at = 30
    for column, title in columns_of(cells).items():
        title = title.replace("`", "")
        body.append(f'<circle cx="{at}" cy="56" r="5" fill="{COLOURS[column]}"/>')
        text(at + 10, 60, title)
        at += 40 + 7 * len(title)
    for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if low <= math.log10(tick) <= high:
            colour = "#6b7280" if tick == 1 else "#e5e7eb"
            x = f"{place(tick):.1f}"
            body.append(f'<line x1="{x}" y1="{top - 8}" x2="{x}" y2="{bottom}" stroke="{colour}"/>')
            text(place(tick), top - 12, f"{tick:g}×", 11, anchor="middle")
    for i, cell in enumerate(cells):
        y = top + row * (i + 0.5)
        text(left - 14, y + 4, f"{cell['graph']}, {cell['model']}, {cell['phase']}", 12, "#111827", "end")
        for column, ratio in ratios(cell).items():
            body.append(f'<circle cx="{place(ratio):.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[column]}"/>')
    height = bottom + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n<title>Hector and others</title>\n"
            '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")


def write_docs(found, docs):
    """Puts the tables between their markers, and the picture beside the page."""
    page = docs / "results.md"
    if found.get("device") == "cuda":
        before, rest = page.read_text().split(GPU_BEGIN)
        page.write_text(f"{before}{GPU_BEGIN}\n\n{markdown(found)}\n\n{GPU_END}{rest.split(GPU_END)[1]}")
        return
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    picture = "![Time of a layer, as a multiple of Hector's](results.svg)"
    page.write_text(f"{before}{BEGIN}\n\n{picture}\n\n{markdown(found)}\n\n{END}{after}")
    (docs / "results.svg").write_text(draw(found))
