"""Decoding with all weights in one block that is larger than the device, as a program with one allocation does it.

Usage: one_block.py BUILD [--model NAME] [--draft NAME] [--answer TOKENS] [--link GB/S] [--policy NAME]
                    [--extents on|off] [-o FILE]

The allocator knows no parts of the block, so each launch needs all of it; with `--extents on` it knows which part is
which tensor. `ratio` is the time of the last of three batches of a sequence over what it takes to bring those bytes over
the link that the device cannot hold: of each step, or with a draft model, whose weights are in the same block, those used
least. The draft model proposes four tokens for each step of the other (speculative decoding). In virtual time, on an H100
by its roofline.
"""

import argparse
import collections
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
PROPOSED = 4  # tokens


def trace_of(model, draft, answer):
    program = Program(f"{model}-one-block", GPUS["H100"], arena="weight")
    if draft is None:
        decode.serve(program, model, 1, 1, answer)
    else:
        speculate(program, model, draft, answer)
    return program


def speculate(program, model, draft, answer):
    """Every proposed token is accepted, as far as memory is concerned."""
    models = [decode.Decoder(program, decode.SIZES[name], name in decode.TIED, 1)
              for name in (each.removeprefix("decode-") for each in (model, draft))]
    program.iteration(1)
    for each in models:
        each.cache = [[] for _ in each.layers]
        each.step(0, decode.PROMPT)
    for first in range(decode.PROMPT, decode.PROMPT + answer, PROPOSED):
        for position in range(first, first + PROPOSED):
            models[1].step(position, position + 1)
        models[0].step(first, first + PROPOSED)


def bytes_of_steps(program):
    """What each token's operations use."""
    steps, used = [], set()
    for op in (step for step in program.steps if isinstance(step, Op)):
        used.update((*op.reads, *op.writes))
        if op.name == "logits":
            steps.append(sum(tensor.bytes for tensor in used))
            used = set()
    return steps


def bytes_beyond(program, device):
    """What the operations use in all of a block of which the bytes used most are on the device, as many as it has."""
    uses = collections.Counter(tensor for op in program.steps if isinstance(op, Op) for tensor in op.reads
                               if tensor.tag == program.arena)
    beyond = 0
    for tensor, times in uses.most_common():
        there = min(tensor.bytes, device)
        device -= there
        beyond += times * (tensor.bytes - there)
    return beyond


def row(build, trace, weights, needed_with, times, words):
    device, link = int(weights / times) // PAGE * PAGE, words.link * 1e9
    command = [words.build / "bin/tessera", "replay", trace, "--json", "--extents", words.extents, "--policy",
               words.policy, "--device-memory", str(device), "--h2d", str(link), "--d2h", str(link), "--iterations", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    last = json.loads(done.stdout)["last_pass"]
    needed = needed_with(device)
    least = needed / link * 1e9
    return {"times_the_device": times, "device_bytes": device, "ns": last["ns"], "bytes_h2d": last["bytes_h2d"],
            "bytes_needed": needed, "ratio": round(last["ns"] / least, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", choices=decode.NAMES, default="decode-llama2-7b")
    parser.add_argument("--draft", choices=decode.NAMES)
    parser.add_argument("--answer", type=int, default=64, help="tokens of an answer")
    parser.add_argument("--link", type=float, default=50, help="GB/s of each direction")
    parser.add_argument("--policy", default="auto")
    parser.add_argument("--extents", choices=("on", "off"), default="off", help="whether the tensors in it are known")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default="-")
    words = parser.parse_args()
    program = trace_of(words.model, words.draft, words.answer)
    weights, steps = program.place_in_arena(), bytes_of_steps(program)

    def needed_with(device):
        return bytes_beyond(program, device) if words.draft else sum(max(0, used - device) for used in steps)

    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.jsonl"
        with trace.open("w") as file:
            program.write(file)
        rows = [row(words.build, trace, weights, needed_with, times, words) for times in TIMES_THE_DEVICE]
    json.dump({"model": words.model, "draft": words.draft, "answer": words.answer, "link_gb_s": words.link,
               "policy": words.policy, "extents": words.extents, "weights_bytes": weights, "rows": rows},
              words.output, indent=1)
    words.output.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
