"""Whether what was learned of an iteration holds where no two iterations take the same time.

Usage: noise.py BUILD [--models NAME,...] [-o FILE]

The time of each operation in each iteration is the roofline's time multiplied by a random number from a normal
distribution around 1. The time of each iteration as a whole varies likewise, with half of that deviation. Half of
the liveness peak is on the device, and links carry 25 GB/s. `step_ms` is the mean of the later iterations under
`auto`; `over_best` is that mean over the mean of the fastest of five other policies with the same noise.
"""

import pathlib
import random
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from breaks import play, tell, train  # noqa: E402  (importing it also sets the path of the generator)
from generate import IN_32_BITS  # noqa: E402
from program import Mark, Op, Program  # noqa: E402
from roofline import GPUS  # noqa: E402
from tape import FULL, MIXED, Weights  # noqa: E402

MODELS = (("vgg16", 256), ("t5-small", 64), ("bert-base", 64), ("resnet50", 256), ("unet", 16))
DEVIATIONS = (0.0, 0.03, 0.1)
RIVALS = ("recency", "capuchin", "delta", "flashneuron", "tba")
ITERATIONS, COUNTED_FROM = 14, 8
LEAST = 0.3  # fraction of an operation's time


def noisy(model, batch, deviation):
    dice = random.Random(1)
    program = Program(f"{model}-noise-{deviation}", GPUS["A100-80G"])
    weights = Weights(program, FULL if model in IN_32_BITS else MIXED)
    for number in range(ITERATIONS):
        program.steps.append(Mark("iteration", number + 1))
        begin = len(program.steps)
        train(program, weights, model, batch)
        whole = dice.gauss(1, deviation / 2)
        for step in program.steps[begin:]:
            if isinstance(step, Op):
                step.nanoseconds = round(step.nanoseconds * whole * max(LEAST, dice.gauss(1, deviation)))
    return program


def rows_of(build, model, batch):
    rows = []
    for deviation in DEVIATIONS:
        times = play(build, noisy(model, batch, deviation), ("auto", *RIVALS))
        auto, *others = (statistics.mean(each[COUNTED_FROM:]) for each in times)
        rows.append({"model": model, "deviation": deviation, "step_ms": round(auto / 1e6, 1),
                     "over_best": round(auto / min(others), 3), "best": RIVALS[others.index(min(others))]})
    return rows


if __name__ == "__main__":
    tell(__doc__.splitlines()[0], MODELS, rows_of)
