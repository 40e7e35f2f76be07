"""Sets bytes of a tensor: training-byte.py FILE NAME FIRST VALUE... Needs nothing but Python."""

import json
import sys

with open(sys.argv[1], "r+b") as file:
    length = int.from_bytes(file.read(8), "little")
    begin = json.loads(file.read(length))[sys.argv[2]]["data_offsets"][0]
    file.seek(8 + length + begin + int(sys.argv[3]))
    file.write(bytes(map(int, sys.argv[4:])))
