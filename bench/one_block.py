"""Decoding with all weights in one block that is larger than the device, as a program with one allocation does it.

Usage: one_block.py BUILD [--model NAME] [--answer TOKENS] [--link GB/S] [--policy NAME] [-o FILE]

The allocator knows no parts of the block, so each launch names all of it. `ratio` is the time of the last of three
batches of a sequence over what it takes to bring those bytes of each step over the link that the device cannot hold.
In virtual time, on an H100 by its roofline.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "traces"))

import decode  # noqa: E402
from program import Op, Program  # noqa: E402
from roofline import GPUS  # noqa: E402

TIMES_THE_DEVICE = (1.25, 1.5, 2)
PAGE = 32 << 20


def trace_of(model, answer):
    program = Program(f"{model}-one-block", GPUS["H100"], arena="weight")
    decode.serve(program, model, 1, 1, answer)
    return program


def bytes_of_steps(program):
    """What each token's operations use."""
    steps, used = [], set()
    for op in (step for step in program.steps if isinstance(step, Op)):
        used.update((*op.reads, *op.writes))
        if op.name == "logits":
            steps.append(sum(tensor.bytes for tensor in used))
            used = set()
    return steps


def row(build, trace, weights, steps, times, link, policy):
    device = int(weights / times) // PAGE * PAGE
    command = [build / "bin/tessera", "replay", trace, "--json", "--extents", "off", "--policy", policy,
               "--device-memory", str(device), "--h2d", str(link), "--d2h", str(link), "--iterations", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    last = json.loads(done.stdout)["last_pass"]
    needed = sum(max(0, used - device) for used in steps)
    least = needed / link * 1e9
    return {"times_the_device": times, "device_bytes": device, "ns": last["ns"], "bytes_h2d": last["bytes_h2d"],
            "bytes_needed": needed, "ratio": round(last["ns"] / least, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", choices=decode.NAMES, default="decode-llama2-7b")
    parser.add_argument("--answer", type=int, default=64, help="tokens of an answer")
    parser.add_argument("--link", type=float, default=50, help="GB/s of each direction")
    parser.add_argument("--policy", default="auto")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default="-")
    words = parser.parse_args()
    program = trace_of(words.model, words.answer)
    weights, steps = program.place_in_arena(), bytes_of_steps(program)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.jsonl"
        with trace.open("w") as file:
            program.write(file)
        rows = [row(words.build, trace, weights, steps, times, words.link * 1e9, words.policy)
                for times in TIMES_THE_DEVICE]
    json.dump({"model": words.model, "answer": words.answer, "link_gb_s": words.link, "policy": words.policy,
               "weights_bytes": weights, "rows": rows}, words.output, indent=1)
    words.output.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
