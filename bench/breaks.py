"""What a training program loses when one iteration in ten is not like the others.

Usage: breaks.py BUILD [--models NAME,...] [-o FILE]

Three kinds of breaks: an `if` that runs one more operation, a validation step (a forward pass) after an iteration,
and a last batch of half the size; each at irregular distances, and every tenth iteration. They are replayed under
`auto` with half of the liveness peak on the device and links of 25 GB/s. `loss` is the time of the iterations
without a break, from the first break on, over the time of the same iterations in a program without breaks, minus
one. `slowest` is the same ratio for the slowest of them.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "traces"))

from generate import IN_32_BITS, TRAINING  # noqa: E402
from program import Mark, Op, Program  # noqa: E402
from roofline import GPUS  # noqa: E402
from tape import FULL, MIXED, Tape, Weights  # noqa: E402

MODELS = (("gpt2-medium", 16), ("bert-base", 64), ("t5-small", 64), ("resnet50", 256), ("unet", 16))
BREAKS = ("if", "validation", "smaller")
ITERATIONS = 42
IRREGULAR = (6, 18, 27, 40)  # iteration numbers, from 0
WHEN = {"never": (), "irregular": IRREGULAR, "every tenth": (9, 19, 29, 39)}


def train(program, weights, model, batch):
    tape = Tape(weights)
    TRAINING[model](tape, batch)
    tape.play_back()
    weights.adam()


def with_breaks(model, batch, kind, when):
    """The program, and the numbers of the marks that begin ordinary iterations."""
    breaks = WHEN[when]
    program = Program(f"{model}-{kind}-{when.replace(' ', '-')}", GPUS["A100-80G"])
    weights = Weights(program, FULL if model in IN_32_BITS else MIXED)
    alike, marks = [], 0

    def mark():
        nonlocal marks
        program.steps.append(Mark("iteration", marks + 1))
        marks += 1

    for number in range(ITERATIONS):
        if number not in breaks:
            alike.append(marks)
        mark()
        begin = len(program.steps)
        train(program, weights, model, batch // 2 if kind == "smaller" and number in breaks else batch)
        if kind == "if" and number in breaks:
            middle = (begin + len(program.steps)) // 2
            before = program.steps[middle]
            program.steps.insert(middle + 1, Op("look", before.nanoseconds, before.reads, before.writes))
        if kind == "validation" and number in breaks:
            alike.append(marks - 1)  # the break comes after it
            mark()
            TRAINING[model](Tape(weights), batch)  # saves nothing: there is no backward pass
    return program, alike


def play(build, program, policies=("auto",)):
    """The time of each iteration, by policy."""
    path = build / "breaks" / f"{program.name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        program.write(file)
    words = [build / "bin" / "tessera", "replay", path, "--host-memory", "128GiB", "--json"]

    def told(device, policy):
        done = subprocess.run([*words, "--device-memory", device, "--policy", policy], capture_output=True, text=True,
                              check=True)
        return json.loads(done.stdout)

    peak = told("1TiB", "recency")["liveness_peak_bytes"]
    times = [told(str(peak // 2), policy)["iteration_ns"] for policy in policies]
    path.unlink()
    return times


def row_of(build, model, batch, kind, when, steady):
    program, alike = with_breaks(model, batch, kind, when)
    [times] = play(build, program)
    after = [times[i] / steady for i in alike if i > WHEN[when][0]]
    return {"model": model, "break": kind, "when": when, "loss": round(statistics.mean(after) - 1, 4),
            "slowest": round(max(after), 3)}


def rows_of(build, model, batch):
    [times] = play(build, with_breaks(model, batch, "none", "never")[0])
    steady = statistics.mean(times[IRREGULAR[0]:])
    return [row_of(build, model, batch, kind, when, steady) for kind in BREAKS for when in WHEN if when != "never"]


def tell(what, all_models, rows_of):
    """Prints a line for each row of each requested model, and writes the rows to a file."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("build", type=pathlib.Path, help="folder of a release build")
    parser.add_argument("--models", default=",".join(name for name, _ in all_models), help="names, with commas")
    parser.add_argument("-o", type=pathlib.Path, metavar="FILE")
    chosen = parser.parse_args()
    names, wanted = [name for name, _ in all_models], chosen.models.split(",")
    for name in wanted:
        if name not in names:
            parser.error(f"unknown model: {name}; available: {', '.join(names)}")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        models = [each for each in all_models if each[0] in wanted]
        for of_model in pool.map(lambda each: rows_of(chosen.build, *each), models):
            for row in of_model:
                print(" ".join(f"{str(cell):>12}" for cell in row.values()), flush=True)
            rows += of_model
    if chosen.o:
        chosen.o.write_text(json.dumps({"results": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tell(__doc__.splitlines()[0], MODELS, rows_of)
