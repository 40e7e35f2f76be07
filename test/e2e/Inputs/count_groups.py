"""Counts what `hector compile --emit groups` prints, phase by phase: groups, traversals and their sweeps, tables of edges
that are stored, and tables whose rows of 64 numbers edges gather."""

import re
import sys

LEVELS = {"by_dst": ("dst", "dst_pair"), "by_src": ("src", "src_pair"), "flat": (), "gemm": ()}
TYPE = re.compile(r"<(\w+), ([0-9x]*)\w+, device>")


def plural(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


class Phase:
    def __init__(self, name):
        self.name = name
        self.loops = []
        self.sweeps = []  # of each traversal
        self.edge_tables = 0
        self.gathers = set()

    def start_group(self, line):
        loop = re.search(r"flow\.group (\w+)", line).group(1)
        self.loops.append(loop)
        if loop in ("by_dst", "by_src"):
            self.sweeps.append(0)
        results = line.rsplit(" -> ", 1)[1]
        self.edge_tables += results.count("rows<edge,")

    def add_reads(self, line):
        """Notes operands with a map in brackets, and what is spread, where an edge reads them."""
        match = re.search(r"= flow\.(\w+) (.*?) : (.*)", line)
        if not self.loops or not match or "<edge," not in match.group(3).rsplit(" -> ")[-1]:
            return
        types = TYPE.findall(match.group(3))
        operands = [operand.split(" ")[0] for operand in match.group(2).split(", ")]
        if match.group(1) == "spread":
            operands = [re.sub(r"(%\S+) via (\w+)", r"\1[\2]", match.group(2))]
        for operand, (_, shape) in zip(operands, types):
            read = re.fullmatch(r"(%\S+)\[(\w+)\]", operand)
            if not read or shape != "64x" or read.group(2) not in ("src", "dst", "src_pair", "dst_pair"):
                continue
            if read.group(2) not in LEVELS[self.loops[-1]]:
                self.gathers.add((len(self.loops), operand))

    def __str__(self):
        return ", ".join(
            [
                f"{self.name}: {plural(len(self.loops), 'group')}",
                plural(len(self.sweeps), "traversal"),
                plural(sum(self.sweeps), "sweep") + f" (at most {max(self.sweeps, default=0)} each)",
                plural(self.edge_tables, "edge table"),
                plural(len(self.gathers), "gather"),
            ]
        )


phases = []
for line in sys.stdin:
    if start := re.search(r"func\.func private @\w+\.(\w+)", line):
        phases.append(Phase(start.group(1)))
    elif "flow.group" in line:
        phases[-1].start_group(line)
    elif "flow.sweep" in line:
        phases[-1].sweeps[-1] += 1
    elif phases:
        phases[-1].add_reads(line)
for phase in phases:
    print(phase)
