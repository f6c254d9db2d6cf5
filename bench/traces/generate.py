"""Writes the trace of a model without running it: sizes from its architecture, times from a roofline.

Usage: generate.py MODEL [--batch N] [--gpu NAME] [--precision mixed|full] [--iterations N]
                   [--least-batch N] [--least-length N] [--least-side N] [--buckets N] [--evaluate-every N]
                   [--seed N] [--remakable TAG]... [--arena TAG] [-o FILE]
       generate.py --list
"""

import argparse
import inspect
import random
import sys
from dataclasses import dataclass, fields

import alexnet
import bert
import decode
import experts
import gpt
import interleaved
import llama
import pipeline
import resnet
import sage
import t5
import unet
import vgg
import vit
from program import Program
from roofline import GPUS
from tape import FULL, MIXED, Tape, Weights

TRAINING = {name: forward for family in (gpt, llama, bert, t5, vit, resnet, vgg, alexnet, unet, sage)
            for name, forward in family.MODELS.items()}
IN_32_BITS = {name for family in (resnet, vgg, alexnet, unet, sage) for name in family.MODELS}
NAMES = (*TRAINING, *experts.SIZES, *decode.NAMES, *pipeline.NAMES, *interleaved.NAMES)
PRECISIONS = {"mixed": MIXED, "full": FULL}
SIDE_STEP = 32  # pixels


@dataclass(frozen=True)
class Variation:
    """How the iterations of a training differ from each other. What is not given is as in all other iterations."""
    least_batch: int | None = None
    least_length: int | None = None    # of a sequence, in tokens
    least_side: int | None = None      # of an image, in pixels: a multiple of SIDE_STEP
    buckets: int | None = None         # what is drawn is rounded up to one of so many sizes
    evaluate_every: int | None = None  # after so many iterations one pass forward that keeps nothing

    def sizes_of(self, draw: random.Random, name: str, batch: int) -> dict[str, object]:
        """What the forward pass of an iteration is called with."""
        sizes: dict[str, object] = {"batch": self.drawn(draw, self.least_batch, batch)}
        for what, least, step in (("length", self.least_length, 1), ("side", self.least_side, SIDE_STEP)):
            if least is not None:
                sizes[what] = self.drawn(draw, least, largest(name, what), step)
        return sizes | ({"draw": draw} if takes(name, "draw") else {})

    def drawn(self, draw: random.Random, least: int | None, most: int, step: int = 1) -> int:
        size = most if least is None else draw.randrange(least, most + 1, step)
        if self.buckets is None:
            return size
        width = -(-most // self.buckets)
        return min(most, -(-size // width) * width)


def takes(name: str, what: str) -> bool:
    """Whether the forward pass of the training has this parameter."""
    return name in TRAINING and what in inspect.signature(TRAINING[name]).parameters


def largest(name: str, what: str) -> int:
    return inspect.signature(TRAINING[name]).parameters[what].default


def fault_of(variation: Variation, name: str, batch: int) -> str | None:
    """Why the model has no such variation."""
    if variation != Variation() and name not in TRAINING:
        return f"{name} is not a training: its iterations cannot vary"
    for what in ("batch", "length", "side"):
        least = getattr(variation, f"least_{what}")
        if least is None:
            continue
        if what != "batch" and not takes(name, what):
            return f"{name} has no {what} that could vary"
        most = batch if what == "batch" else largest(name, what)
        if not 1 <= least <= most:
            return f"--least-{what} {least} is not between 1 and {most}"
    if any(count is not None and count < 1 for count in (variation.buckets, variation.evaluate_every)):
        return "--buckets and --evaluate-every take a number from 1 on"
    return None


def train(program: Program, name: str, batch: int, precision: str | None, iterations: int, seed: int,
          variation: Variation) -> int:
    """Forward, backward, Adam. Returns the number of parameters."""
    precision = precision or ("full" if name in IN_32_BITS else "mixed")
    weights, draw = Weights(program, PRECISIONS[precision]), random.Random(seed)
    marks = 0
    for number in range(1, iterations + 1):
        sizes = variation.sizes_of(draw, name, batch)
        program.iteration(marks := marks + 1)
        tape = Tape(weights)
        TRAINING[name](tape, **sizes)
        tape.play_back()
        weights.adam()
        if variation.evaluate_every and number % variation.evaluate_every == 0:
            program.iteration(marks := marks + 1)
            TRAINING[name](Tape(weights), **sizes)
    return weights.parameters


def generate(name: str, batch: int = 8, gpu: str = "A100-80G", precision: str | None = None,
             iterations: int = 3, seed: int = 1, **variation: int | None) -> tuple[Program, int]:
    """The program and the number of its parameters. `variation`: fields of Variation, for a training."""
    program = Program(f"{name}-b{batch}", GPUS[gpu])
    if name in TRAINING:
        return program, train(program, name, batch, precision, iterations, seed, Variation(**variation))
    if name in experts.SIZES:
        return program, experts.serve(program, name, batch, iterations, seed)
    if name in decode.NAMES:
        return program, decode.serve(program, name, batch, iterations)
    if name in interleaved.NAMES:
        return program, interleaved.train(program, name, batch, iterations)
    model, stage = name.removeprefix("pipeline-").rsplit("-stage", 1)
    return program, pipeline.train(program, model, int(stage), batch, iterations)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", choices=NAMES, metavar="MODEL")
    parser.add_argument("--batch", type=int, default=8, help="images, sequences, or tokens to route")
    parser.add_argument("--gpu", choices=GPUS, default="A100-80G")
    parser.add_argument("--precision", choices=PRECISIONS, help="default: full for convolutions, else mixed")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--least-batch", type=int, metavar="N",
                        help="of a training: each iteration draws its batch, from N to the given one")
    parser.add_argument("--least-length", type=int, metavar="N",
                        help="of a training on sequences: each iteration draws their length, from N tokens to the model's")
    parser.add_argument("--least-side", type=int, metavar="N",
                        help=f"of a training on images: each iteration draws their side, from N pixels to the model's, in steps "
                             f"of {SIDE_STEP}")
    parser.add_argument("--buckets", type=int, metavar="N", help="what is drawn is rounded up to one of N equal steps")
    parser.add_argument("--evaluate-every", type=int, metavar="N",
                        help="of a training: after N iterations a pass forward alone, as an iteration of its own")
    parser.add_argument("--seed", type=int, default=1, help="seed of the routing to experts, and of sizes that are drawn")
    parser.add_argument("--remakable", action="append", default=[], metavar="TAG",
                        help="blocks with this tag (activation) can be recomputed in the time of their op")
    parser.add_argument("--arena", metavar="TAG",
                        help="blocks with this tag (weight) that live from the beginning are one block, used in parts")
    parser.add_argument("-o", "--output", default="-", help="output file, default standard output")
    parser.add_argument("--list", action="store_true", help="print the names of the models")
    words = parser.parse_args()
    if words.list or words.model is None:
        print("\n".join(NAMES))
        return 0 if words.list else 2
    variation = {field.name: getattr(words, field.name) for field in fields(Variation)}
    if fault := fault_of(Variation(**variation), words.model, words.batch):
        parser.error(fault)
    program, _ = generate(words.model, words.batch, words.gpu, words.precision, words.iterations, words.seed, **variation)
    program.remakable = frozenset(words.remakable)
    program.arena = words.arena
    if words.output == "-":
        program.write(sys.stdout)
    else:
        with open(words.output, "w", encoding="utf-8") as file:
            program.write(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
