"""Runs all tables of bench/paper/run on tiny.safetensors, with an `ncu` that makes its counters up."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
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


def rows(*command):
    """The rows of tiny in a table that is measured in part."""
    return [line for line in run(*command, check=True, capture_output=True).stdout.splitlines() if line.startswith("| tiny")]


def times(table):
    cells = json.loads(pathlib.Path(f"work/{table}.json").read_text())["parts"].values()
    return {cell["cell"]: cell["median_ms"] for part in cells for cell in part["cells"]}


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
assert "`default` | rgcn" in run("speedups", check=True, capture_output=True).stdout

# Cells add up, and those that are known are not measured again.
before = times("passes")
print("more:", *rows("passes", "--resume", "--only", "rgcn-tiny-inference-passes=R"))
assert len(before) == 2 and times("passes").items() > before.items()
print("all:", *rows("passes", "--resume", "--only", "inference"))
assert len(times("passes")) == 5 and times("passes").items() > before.items()
print("anew:", *rows("passes", "--only", "rgcn-tiny-inference-passes=R"))
assert len(times("passes")) == 1
print("storage:", *rows("storage", "--resume", "--only", "nothing"))
print("memory:", *rows("memory", "--only", "inference-passes=C"))
print("memory:", *rows("memory", "--resume", "--only", "nothing"))

# Another graph, size or program is measured again. A graph that another run made under the same name is not taken for this one.
source = pathlib.Path(script).parents[2]
shutil.copytree(source / "bench/paper", "copy/bench/paper")
shutil.copytree(source / "models", "copy/models")
shutil.copy(hector, "copy/hector")
data = pathlib.Path("copy/bench/paper/citation.toml")
text = data.read_text()
start, end = text.index("graph   = ["), text.index("size    = ")
made = 'graph = [{ kind = "skewed", nodes = 12, edges = 20, name = "made" }]\n'
data.write_text(text[:start] + made + text[end:])
pathlib.Path("copy/work/graphs").mkdir(parents=True)
shutil.copy("tiny.safetensors", "copy/work/graphs/made.safetensors")
command = [sys.executable, "copy/bench/paper/run", "citation", "--hector", "copy/hector", "--work", "copy/work"]
command += ["--limit", "1", "--runs", "1", "--only", "inference", "--resume"]


def measured(what):
    done = subprocess.run(command, text=True, check=True, capture_output=True)
    assert "| made | gcn | inference |" in done.stdout
    part = json.loads(pathlib.Path("copy/work/citation.json").read_text())["parts"]["citation-gcn-made"]
    print(f"{what}: {len(done.stderr.split())} measured, {part['graph_info']['edges']} edges, {part['cells'][0]['sizes'][-1]}")


measured("made")
measured("the same")
data.write_text(data.read_text().replace("edges = 20", "edges = 40"))
measured("more edges")
data.write_text(data.read_text().replace("d_out = 64", "d_out = 32"))
measured("another size")
with open("copy/hector", "ab") as program:
    program.write(b"another build")
measured("another program")

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
