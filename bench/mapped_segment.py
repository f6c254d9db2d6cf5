"""Training with all tensors in one reservation that the program maps itself, as PyTorch's expandable segments do.

Usage: mapped_segment.py BUILD [--model NAME] [--batch N] [--gpu NAME] [--handle SIZE] [--link GB/S] [--policy NAME] [-o FILE]

Tensors are placed by best fit, and launches name where they begin. Each row has the time of the last of three passes
with host memory mapped at addresses (part of the reservation is used there), without it (a launch gets what is nearest
to its addresses), and with each tensor as a block of its own. In virtual time.
"""

import argparse
import bisect
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "traces"))

import generate  # noqa: E402
from program import ALIGNMENT  # noqa: E402
from roofline import GPUS  # noqa: E402

TIMES_THE_DEVICE = (1.25, 1.5, 2)
PAGE = 32 << 20
WAYS = {"in_host_memory": (), "nearest": ("--host-frames", "off")}


class Segment:
    """Places of tensors that come and go, by best fit. It grows at its end."""

    def __init__(self):
        self.bytes = 0
        self.free = []  # (offset, bytes), in order

    def take(self, size):
        fitting = [(bytes_, at) for at, (_, bytes_) in enumerate(self.free) if bytes_ >= size]
        if fitting:
            offset, bytes_ = self.free.pop(min(fitting)[1])
            if bytes_ > size:
                bisect.insort(self.free, (offset + size, bytes_ - size))
            return offset
        is_open = self.free and sum(self.free[-1]) == self.bytes
        offset = self.free.pop()[0] if is_open else self.bytes
        self.bytes = offset + size
        return offset

    def give(self, offset, size):
        at = bisect.bisect(self.free, (offset, size))
        if at < len(self.free) and self.free[at][0] == offset + size:
            size += self.free.pop(at)[1]
        if at > 0 and sum(self.free[at - 1]) == offset:
            before = self.free.pop(at - 1)
            offset, size = before[0], before[1] + size
            at -= 1
        self.free.insert(at, (offset, size))


def in_one_block(lines):
    """The same trace with all blocks as parts of block 1."""
    segment, places, events = Segment(), {}, []
    for line in lines:
        if line["t"] == "alloc":
            size = -(-line["bytes"] // ALIGNMENT) * ALIGNMENT
            places[line["id"]] = segment.take(size), size, line["bytes"]
        elif line["t"] == "free":
            segment.give(*places.pop(line["id"])[:2])
        elif line["t"] == "op":
            parts = {key: [[1, places[block][0], places[block][2]] for block in line[key]] for key in ("r", "w")}
            events.append(line | parts)
        else:
            events.append(line)
    header, *others = events
    return [header, {"t": "alloc", "id": 1, "bytes": segment.bytes, "stream": 0, "tag": "segment"}, *others]


def write(lines, path):
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")


def replayed(build, trace, device, words, more):
    link = str(words.link * 1e9)
    command = [build / "bin/tessera", "replay", trace, "--json", "--policy", words.policy, "--device-memory",
               str(device), "--h2d", link, "--d2h", link, "--iterations", "3", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)["last_pass"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", choices=generate.TRAINING, default="gpt2-medium")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--gpu", choices=GPUS, default="H100")
    parser.add_argument("--handle", default="20MiB")
    parser.add_argument("--link", type=float, default=50, help="GB/s of each direction")
    parser.add_argument("--policy", default="auto")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default="-")
    words = parser.parse_args()
    program, _ = generate.generate(words.model, words.batch, words.gpu)
    lines = list(program.lines())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        segment, blocks = pathlib.Path(folder) / "segment.jsonl", pathlib.Path(folder) / "blocks.jsonl"
        mapped = in_one_block(lines)
        write(mapped, segment)
        write(lines, blocks)
        for times in TIMES_THE_DEVICE:
            device = int(mapped[1]["bytes"] / times) // PAGE * PAGE
            row = {"times_the_device": times, "device_bytes": device}
            for way, more in WAYS.items():
                last = replayed(words.build, segment, device, words,
                                ["--extents", "off", "--handles", words.handle, *more])
                row |= {f"{way}_ns": last["ns"], f"{way}_bytes_h2d": last["bytes_h2d"]}
            last = replayed(words.build, blocks, device, words, [])
            rows.append(row | {"blocks_ns": last["ns"], "blocks_bytes_h2d": last["bytes_h2d"],
                               "compute_ns": last["compute_ns"]})
    json.dump({"model": words.model, "batch": words.batch, "gpu": words.gpu, "handle": words.handle,
               "link_gb_s": words.link, "policy": words.policy, "segment_bytes": mapped[1]["bytes"], "rows": rows},
              words.output, indent=1)
    words.output.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
