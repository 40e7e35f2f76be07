"""What a compiled layer does, as a text that notebooks show as a picture."""

from __future__ import annotations

import html
from typing import NamedTuple

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_COLOURS = {"gemm": "#2563eb", "by_dst": "#d97706", "by_src": "#059669", "flat": "#9333ea"}
_OTHER, _TEXT, _SOFT, _GRID = "#b91c1c", "#111827", "#4b5563", "#e5e7eb"
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_TITLES = ["group", "loop", "rows", "operations", "bytes", "time", "live", "line", "ops"]
_LEFT, _BAR, _WIDTH, _STEP = 24, 330, 860, 26


class Loop(NamedTuple):
    """A line of a summary's table."""

    phase: str
    kind: str
    rows: str
    time: str
    ops: str

    @property
    def seconds(self) -> float:
        number, unit = self.time.split()
        return float(number) * _UNITS[unit]


class Summary(str):
    """What `Model.summary` gives: a text. Notebooks show a picture of its loops and their estimated times.

        >>> model.summary(g, d_in=64, d_out=64)                                     # in a notebook: the picture
        >>> Path("plan.svg").write_text(model.summary(g, d_in=64, d_out=64).svg())
    """

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        return Summary, (str(self),)

    def loops(self) -> list[Loop]:
        """The loops of the layer, in their order."""
        lines = iter(self.splitlines())
        head = next((line for line in lines if line.split()[:9] == _TITLES), None)
        if head is None:
            return []
        # Numbers end below the end of their title; names of loops and of ops start below the start of theirs.
        start, end = head.index("loop"), {title: head.index(title) + len(title) for title in ("rows", "bytes", "time")}
        found, phase = [], "forward"
        for line in lines:
            if not line.strip():
                break
            number = line[:start].strip()
            if number.isdigit():
                kind, rows = line[start : end["rows"]].rsplit(None, 1)
                time = line[end["bytes"] : end["time"]].strip()
                found.append(Loop(phase, kind.strip(), rows, time, line[head.rindex("ops") :].strip()))
            elif not line.startswith(" "):
                phase = line.strip()
            elif not line[: head.rindex("ops")].strip() and found:  # a list of ops goes on
                found[-1] = found[-1]._replace(ops=f"{found[-1].ops} {line.strip()}")
        return found

    def svg(self) -> str:
        """A picture of the loops: the longer the bar, the longer a loop is expected to take."""
        loops = self.loops()
        longest = max((loop.seconds for loop in loops), default=0) or 1.0
        name = self.split("\n", 1)[0].removeprefix("model").split(":")[0].strip()
        total = next((line.split("  ")[0].strip() for line in map(str.strip, self.splitlines()) if "as estimated" in line), "")
        title = f"{name}: {len(loops)} loop{'' if len(loops) == 1 else 's'}" + (f", {total} as estimated" if total else "")
        parts, y, phase = [_text(_LEFT, 34, title, 18, _TEXT, bold=True)], 36, None
        for loop in loops:
            if loop.phase != phase:
                phase = loop.phase
                y += 30
                parts.append(_text(_LEFT, y, phase, 12, _SOFT))
                parts.append(f'<line x1="{_LEFT}" y1="{y + 6}" x2="{_WIDTH - _LEFT}" y2="{y + 6}" stroke="{_GRID}"/>')
                y += 2
            y += _STEP
            colour = _COLOURS.get(loop.kind.split()[0], _OTHER)
            width = max(2.0, (_WIDTH - _LEFT - _BAR - 70) * loop.seconds / longest)
            parts.append("<g>")
            parts.append(f"<title>{html.escape(loop.ops)}</title>")
            parts.append(_text(_LEFT, y, loop.kind, 13, _TEXT))
            parts.append(_text(_LEFT + 130, y, _shortened(loop.ops), 11, _SOFT))
            parts.append(f'<rect x="{_BAR}" y="{y - 12}" width="{width:.1f}" height="16" rx="2" fill="{colour}"/>')
            parts.append(_text(_BAR + width + 8, y, f"{loop.time}", 11, _SOFT))
            parts.append("</g>")
        height = y + 24
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
            f'font-family="{_FONT}">',
            f"<title>{html.escape(title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *parts,
            "</svg>",
        ])  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.svg()


def _text(x, y, content, size, colour, bold=False):
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{weight}>{html.escape(content)}</text>'


def _shortened(ops, limit=28):
    return ops if len(ops) <= limit else ops[: limit - 1].rstrip(" ,") + " …"
