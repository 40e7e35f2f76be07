"""Checks that a page's excerpts of generated code are in it, line by line and in order; `…` stands for what is left out."""

import re
import sys

page, code = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
generated = [line.strip().replace("[[maybe_unused]] ", "") for line in code.splitlines()]
excerpts = re.findall(r"^```cuda\n(.*?)^```", page, re.M | re.S)
place = 0
for excerpt in excerpts:
    for line in filter(None, map(str.strip, excerpt.splitlines())):
        if line != "…":
            if line not in generated[place:]:
                sys.exit(f"not generated, or not in this order: {line}")
            place = generated.index(line, place) + 1
print(len(excerpts), "excerpts")
