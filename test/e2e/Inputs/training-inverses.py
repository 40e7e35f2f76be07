"""Has the inverse edges of a graph file train, whatever their originals do: training-inverses.py FILE. Needs nothing but Python."""

import array
import json
import sys

with open(sys.argv[1], "r+b") as file:
    length = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(length))
    types = json.loads(header["__metadata__"]["edge_types"])
    begin, end = header["graph.etype"]["data_offsets"]
    file.seek(8 + length + begin)
    etype = array.array("i" if header["graph.etype"]["dtype"] == "I32" else "q", file.read(end - begin))
    for edge, number in enumerate(etype):
        if "inverse_of" in types[number]:
            file.seek(8 + length + header["edge.split"]["data_offsets"][0] + edge)
            file.write(b"\0")
