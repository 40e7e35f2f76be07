#!/usr/bin/env python3
"""Compares `hector data import` with a plain Python reader (dicts) and rdflib, in triples per second, on one machine.

    bench/data/compare.py --hector build/release/bin/hector [--am ../shared/data/am-kgbench] [--triples 10000000]

Each reader runs alone in a process of its own, so that peak memory is its own. The plain reader cuts lines and numbers
terms in dicts, nothing more (hector's row "terms to numbers" is the same work, its others do more); rdflib (where it can be imported) reads the first --rdflib-triples triples, and its rate is
taken for the whole. Every reader's counts are compared before a rate is printed. The file that is made has the same
bytes for the same options; it stays in --work for the next run.
"""
import argparse
import gzip
import json
import os
import random
import re
import resource
import subprocess
import sys
import time


def make_ntriples(path, count, seed=7):
    """Entities with a skewed distribution, 50 predicates, every fourth object a text."""
    rng = random.Random(seed)
    entities = max(count // 5, 10)
    predicates = [f"<http://example.org/ontology/relation{i:02d}>" for i in range(50)]
    with open(path + ".part", "w") as out:
        lines = []
        for i in range(count):
            s = int(entities * rng.random() ** 2)
            p = predicates[int(50 * rng.random() ** 2)]
            if i % 4 == 3:
                o = f'"{rng.randrange(entities)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            else:
                o = f"<http://example.org/resource/entity{int(entities * rng.random()):08d}>"
            lines.append(f"<http://example.org/resource/entity{s:08d}> {p} {o} .\n")
            if len(lines) == 100_000:
                out.writelines(lines)
                lines = []
        out.writelines(lines)
    os.rename(path + ".part", path)


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read_plain_ntriples(path):
    terms, predicates, triples = {}, {}, []
    with open_text(path) as lines:
        for line in lines:
            s, p, o = line.split(" ", 2)
            o = o[:-3]  # " .\n"
            triples.append((terms.setdefault(s, len(terms)), predicates.setdefault(p, len(predicates)),
                            terms.setdefault(o, len(terms))))
    return len(triples), len(terms)


def read_plain_csv(path):
    terms, predicates, triples = {}, {}, []
    with open_text(path) as lines:
        for line in lines:
            s, p, o = line.split(",")
            triples.append((terms.setdefault(int(s), len(terms)), predicates.setdefault(int(p), len(predicates)),
                            terms.setdefault(int(o), len(terms))))
    return len(triples), len(terms)


def read_rdflib(path, limit):
    import rdflib

    head = path + f".first{limit}"
    if not os.path.exists(head):
        with open(path) as source, open(head, "w") as out:
            for i, line in enumerate(source):
                if i == limit:
                    break
                out.write(line)
    graph = rdflib.Graph()
    start = time.perf_counter()
    graph.parse(head, format="nt")
    return len(graph), time.perf_counter() - start


def child(kind, path, limit):
    """One reader in this process; prints what it found as JSON."""
    start = time.perf_counter()
    seconds = None
    terms = None
    if kind == "plain-nt":
        triples, terms = read_plain_ntriples(path)
    elif kind == "plain-csv":
        triples, terms = read_plain_csv(path)
    else:
        triples, seconds = read_rdflib(path, limit)
        triples = limit  # repeated ones were read too
    seconds = seconds or time.perf_counter() - start
    print(json.dumps({"triples": triples, "terms": terms, "seconds": seconds,
                      "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def run_child(kind, path, limit=0):
    out = subprocess.run([sys.executable, __file__, "--child", kind, "--path", path, "--rdflib-triples", str(limit)],
                         capture_output=True, text=True)
    return json.loads(out.stdout) if out.returncode == 0 else None


def run_hector(hector, inputs, out, runs):
    """The best of some runs: its own times to read and to build, the command's time, and its peak memory."""
    best = None
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen([hector, "data", "import", *inputs, "--out", out],
                                   stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit("hector failed")
        counts = re.search(r": ([\d,]+) nodes of .*?, ([\d,]+) edges .*, ([\d,]+) read\)", text)
        read, build = (float(re.search(rf"([\d.]+) to {step}", text).group(1)) for step in ("read", "build"))
        result = {"triples": int(counts[3].replace(",", "")), "terms": int(counts[1].replace(",", "")),
                  "seconds": read, "memory": read + build, "wall": wall, "peak": usage.ru_maxrss * 1024}
        if best is None or result["seconds"] < best["seconds"]:
            best = result
    return best


def row(name, result, base=None):
    rate = result["triples"] / result["seconds"]
    ratio = f"{base / rate:8.1f}" if base else "        "
    print(f"| {name:<28} | {result['seconds']:8.2f} | {rate / 1e6:10.3f} | {ratio} | {result['peak'] / 2**20:8.0f} |")
    return rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hector")
    parser.add_argument("--am")
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--rdflib-triples", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", default="/tmp")
    parser.add_argument("--child")
    parser.add_argument("--path")
    args = parser.parse_args()
    if args.child:
        return child(args.child, args.path, args.rdflib_triples)

    header = "| reader                       |  seconds | M triples/s | hector × | peak MiB |"
    cases = []
    path = os.path.join(args.work, f"hector-bench-{args.triples}.nt")
    if not os.path.exists(path):
        make_ntriples(path, args.triples)
    cases.append((f"{args.triples:,} N-Triples", path, [path], "plain-nt"))
    if args.am:
        triples = os.path.join(args.am, "triples.int.csv.gz")
        cases.append(("am-kgbench (gzip, ids)", triples, [triples], "plain-csv"))
    for title, source, inputs, plain in cases:
        out = os.path.join(args.work, "hector-bench.safetensors")
        ours = run_hector(args.hector, inputs, out, args.runs)
        theirs = run_child(plain, source)
        if (ours["triples"], ours["terms"]) != (theirs["triples"], theirs["terms"]):
            sys.exit(f"{title}: hector read {ours}, the plain reader {theirs}")
        print(f"\n{title}: {ours['triples']:,} triples, {ours['terms']:,} terms\n{header}\n|---|---|---|---|---|")
        rate = row("hector, terms to numbers", ours)
        row("hector, graph in memory", dict(ours, seconds=ours["memory"]))
        row("hector, whole command", dict(ours, seconds=ours["wall"]))
        row("plain Python, dicts", theirs, rate)
        if plain == "plain-nt":
            rdflib = run_child("rdflib", source, min(args.rdflib_triples, args.triples))
            if rdflib:
                row(f"rdflib, first {rdflib['triples']:,}", rdflib, rate)
            else:
                print("| rdflib: not installed |")
            names = os.path.getsize(out)
            print(f"\npeak memory: {ours['peak'] / ours['triples']:.0f} bytes per triple in all; file {names / 2**20:.0f} MiB")
        os.remove(out)


if __name__ == "__main__":
    main()
