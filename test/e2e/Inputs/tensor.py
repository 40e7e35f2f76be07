"""Prints the numbers of a float tensor: tensor.py FILE NAME. Needs nothing but Python."""

import array
import json
import sys

with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    begin, end = header[sys.argv[2]]["data_offsets"]
    file.seek(begin, 1)
    values = array.array({"F32": "f", "F64": "d"}[header[sys.argv[2]]["dtype"]])
    values.frombytes(file.read(end - begin))
print(values.tolist())
