"""Runs all tables of bench/paper/run on tiny.safetensors, with an `ncu` that makes its counters up."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

script, hector = sys.argv[1:]
metrics = {
    "gpu__time_duration.sum": ("1,000", "2,000"),
    "sm__inst_executed.avg.per_cycle_active": ("1", "3"),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("50", "50"),
    "lts__t_sector_hit_rate.pct": ("40", "40"),
}
lines = ['==PROF== connected', '"ID","Kernel Name","Metric Name","Metric Value"']
lines += [f'"{i}","trav_out","{name}","{values[i]}"' for name, values in metrics.items() for i in range(2)]
ncu = pathlib.Path("bin/ncu")
ncu.write_text("#!/bin/sh\ncat <<'TEXT'\n" + "\n".join(lines) + "\nTEXT\n")
ncu.chmod(0o755)
os.environ["PATH"] = os.path.abspath("bin") + os.pathsep + os.environ["PATH"]
common = ["--hector", hector, "--work", "work", "--graph", "tiny.safetensors", "--limit", "1", "--runs", "1"]


def run(table, *more, **options):
    return subprocess.run([sys.executable, script, table, *common, *more], text=True, **options)


tables = "layers handwritten passes speedups storage columns kernels memory widths counters ablations citation".split()
for table in tables:
    only = [] if table == "counters" else ["--only", "inference"]
    run(table, *only, check=True, stderr=subprocess.DEVNULL)
    sys.stdout.flush()

again = run("citation", "--only", "inference", "--resume", check=True, capture_output=True)
print(f"resumed: {len(again.stderr.split())} measured")

few = run("passes", "--only", "rgcn-tiny-inference-passes=C", check=True, capture_output=True)
print("few:", next(line for line in few.stdout.splitlines() if line.startswith("| tiny")))
print(run("passes", "--only", "rgat-tiny", capture_output=True).stderr.strip())

loader = importlib.machinery.SourceFileLoader("paper", script)
paper = importlib.util.module_from_spec(importlib.util.spec_from_loader("paper", loader))
loader.exec_module(paper)
page = pathlib.Path("page.md")
page.write_text("text before\n<!-- citation: written by bench/paper/run -->\nold\n<!-- end of citation -->\ntext after\n")
citation = next(table for table in paper.TABLES if table.name == "citation")
options = type("Options", (), {"page": page})
for _ in range(2):
    paper.write_docs(options, citation, citation.lines(json.loads(pathlib.Path("work/citation.json").read_text()), None))
text = page.read_text()
assert "old" not in text and text.count("| tiny | gcn | inference |") == 1
print("page:", text.splitlines()[0] + ", | tiny | gcn | inference |, " + text.splitlines()[-1])
print(run("citation", "--docs", capture_output=True).stderr.strip())
