"""rows-of-one-number.py CASE COLUMNS NUMBER…: a case with a row of `x` for each number, which it repeats.
rows-of-one-number.py --print FILE NAME COLUMNS: the rows of a result."""

import json
import struct
import sys


def write(path, tensors):
    head, data = {}, b""
    for name, dtype, shape, content in tensors:
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if sys.argv[1] == "--print":
    path, name, columns = sys.argv[2], sys.argv[3], int(sys.argv[4])
    content = open(path, "rb").read()
    size = struct.unpack("<Q", content[:8])[0]
    first, last = json.loads(content[8 : 8 + size])[name]["data_offsets"]
    numbers = struct.unpack(f"<{(last - first) // 4}f", content[8 + size + first : 8 + size + last])
    for i in range(0, len(numbers), columns):
        print(*numbers[i : i + columns])
else:
    columns, numbers = int(sys.argv[2]), [float(text) for text in sys.argv[3:]]
    rows = [number for number in numbers for _ in range(columns)]
    ids = struct.pack("<q", 0)
    write(sys.argv[1], [
        ("graph.src", "I64", [1], ids),
        ("graph.dst", "I64", [1], ids),
        ("graph.ntype_ptr", "I64", [2], struct.pack("<2q", 0, len(numbers))),
        ("x", "F32", [len(numbers), columns], struct.pack(f"<{len(rows)}f", *rows)),
    ])  # fmt: skip
