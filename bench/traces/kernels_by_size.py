"""Names the kernels of a trace as libraries choose them: by the sizes that they are given.

Usage: kernels_by_size.py [TRACE] [-o FILE]     (standard input and output if they are not given)
       zstd -dc TRACE.zst | kernels_by_size.py -o FILE

A library of matrix products has a kernel for each tile, and takes the one that suits the shape. Where a long sum makes
a small result, it splits the sum: one kernel writes parts to a workspace, and a second one adds them. So the same step
of a model launches other kernels at other sizes, and not always as many. Here the name gets the size of the operands,
by half octaves, and an operation that reads kLong times what it writes is split.
"""

import argparse
import json
import math
import sys

LONG = 8
WORKSPACE = 32 << 20


def by_size(lines):
    """The lines of the trace, each parsed, with such kernels."""
    bytes_of, workspace = {}, None
    for line in lines:
        if line["t"] == "alloc":
            bytes_of[line["id"]] = line["bytes"]
        if line["t"] != "op" or not line["r"]:
            yield line
            continue
        if workspace is None:
            workspace = 1 << 40
            yield {"t": "alloc", "id": workspace, "bytes": WORKSPACE, "stream": 0, "tag": "workspace"}
        read = sum(size_of(use, bytes_of) for use in line["r"])
        written = sum(size_of(use, bytes_of) for use in line["w"])
        name = f"{line['name']}.{round(2 * math.log2(read + written + 1))}"
        is_long = len(line["r"]) > 1 and not set(map(str, line["r"])) & set(map(str, line["w"])) and read >= LONG * written > 0
        yield line | {"name": name, "w": [workspace] if is_long else line["w"]}
        if is_long:
            yield line | {"name": "add_parts", "ns": max(3000, line["ns"] // 16), "r": [workspace]}


def size_of(use, bytes_of):
    return use[2] if isinstance(use, list) else bytes_of[use]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace", nargs="?", type=argparse.FileType(), default=sys.stdin)
    parser.add_argument("-o", "--out", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    for line in by_size(map(json.loads, options.trace)):
        options.out.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
