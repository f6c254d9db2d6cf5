"""Adds times to a recorded trace: `tessera run --trace` records what was used, a roofline model gives the durations.

Kernels of the software device run on CPUs, so their measured times are not those of a GPU. The times added here are
those of a particular GPU (bench/traces/roofline.py), and of its link for copies from and to the host. A program that
does not use Tessera cannot mark its iterations, so marks are inserted where its steps begin: after a fixed number of
kernels each.
"""

import json
import math
import pathlib
import sys
from collections import Counter
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "traces"))

from roofline import GPUS  # noqa: E402

GPU = GPUS["V100-16G"]
LINK = 12_000_000_000  # bytes per second and direction: measured rate of PCIe 3.0 x16
COPY_START_NS = 10_000

PRODUCTS = ("linear", "weight_gradient", "input_gradient")
# Names of the non-kernel operations in a recorded trace: copies that the program waits for, and queued copies.
WAITED_COPY, QUEUED_COPY = "copy", ""


def copy_ns(size):
    return COPY_START_NS + round(size * 1e9 / LINK)


def is_kernel(name):
    return name not in (WAITED_COPY, QUEUED_COPY)


def op_ns(name, sizes):
    """`sizes`: bytes of the distinct blocks, in the order of the parameters."""
    if not is_kernel(name):
        return copy_ns(max(sizes))
    flops = 0.0
    if name in PRODUCTS:
        # Three matrices with a x b, b x c and a x c elements: the product of their sizes is (abc) squared.
        flops = 2 * math.sqrt(math.prod(size / 4 for size in sizes[:3]))
    return GPU.nanoseconds(flops, 2 * sum(sizes), 4)  # each block read and written once


@dataclass
class Trace:
    """The lines before the first step, of the steps, and after them. Each id names one block."""
    header: dict
    before: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    behind: list = field(default_factory=list)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for line in (self.header, *self.before, *self.steps, *self.behind):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")


def unique_ids(lines):
    """An address that is allocated again becomes another block."""
    now, count = {}, 0
    for line in lines:
        line = dict(line)
        if line["t"] == "alloc":
            count += 1
            now[line["id"]] = count
            line["id"] = count
        elif line["t"] == "free":
            line["id"] = now.pop(line["id"])
        elif line["t"] == "op":
            for key in ("r", "w"):
                line[key] = [now[block] for block in dict.fromkeys(line[key])]
        yield line


def timed(lines, steps):
    """The trace of `steps` equal steps, without the operations after them that only output the results."""
    header, *rest = lines
    rest = list(unique_ids(rest))
    sizes = {line["id"]: line["bytes"] for line in rest if line["t"] == "alloc"}
    kernels = [at for at, line in enumerate(rest) if line["t"] == "op" and is_kernel(line["name"])]
    if not kernels or len(kernels) % steps:
        raise ValueError(f"{len(kernels)} kernels cannot be divided into {steps} equal steps")
    begins = set(kernels[::len(kernels) // steps])
    trace = Trace(header | {"source": f"recorded, times of {GPU.name}"})
    busy = Counter()
    for line in rest:
        if line["t"] == "op":
            line["ns"] = op_ns(line["name"], [sizes[block] for block in line["r"]])
            busy[line["stream"]] += line["ns"]
    # A replay detects iterations on the first stream in the trace, which should therefore be the busiest.
    first_stream = busy.most_common(1)[0][0]
    number = 0
    for at, line in enumerate(rest):
        if at in begins:
            number += 1
            trace.steps.append({"t": "mark", "kind": "iteration", "n": number})
        if line["t"] == "mark" or (line["t"] == "op" and at > kernels[-1]):
            continue
        if line["t"] == "alloc":
            line["stream"] = first_stream
        part = trace.before if at < kernels[0] else trace.steps if at <= kernels[-1] else trace.behind
        part.append(line)
    return trace


def read(path, steps):
    with open(path, encoding="utf-8") as file:
        return timed([json.loads(line) for line in file], steps)
