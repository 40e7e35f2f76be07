"""Makes the first number of a tensor NaN: training-nan.py FILE NAME. Needs nothing but Python."""

import json
import struct
import sys

with open(sys.argv[1], "r+b") as file:
    length = int.from_bytes(file.read(8), "little")
    begin, end = json.loads(file.read(length))[sys.argv[2]]["data_offsets"]
    file.seek(8 + length + begin)
    file.write(struct.pack("<f", float("nan")))
