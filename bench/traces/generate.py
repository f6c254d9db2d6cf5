"""Writes the trace of a model without running it: sizes from its architecture, times from a roofline.

Usage: generate.py MODEL [--batch N] [--gpu NAME] [--precision mixed|full] [--iterations N] [--least-batch N]
                   [--seed N] [--remakable TAG]... [--arena TAG] [-o FILE]
       generate.py --list
"""

import argparse
import random
import sys

import alexnet
import bert
import decode
import experts
import gpt
import interleaved
import llama
import pipeline
import resnet
import t5
import unet
import vgg
import vit
from program import Program
from roofline import GPUS
from tape import FULL, MIXED, Tape, Weights

TRAINING = {name: forward for family in (gpt, llama, bert, t5, vit, resnet, vgg, alexnet, unet)
            for name, forward in family.MODELS.items()}
CONVOLUTIONAL = {name for family in (resnet, vgg, alexnet, unet) for name in family.MODELS}
NAMES = (*TRAINING, *experts.SIZES, *decode.NAMES, *pipeline.NAMES, *interleaved.NAMES)
PRECISIONS = {"mixed": MIXED, "full": FULL}


def train(program: Program, name: str, batches: list[int], precision: str | None) -> int:
    """Forward, backward, Adam, with a batch for each iteration. Returns the number of parameters."""
    precision = precision or ("full" if name in CONVOLUTIONAL else "mixed")
    weights = Weights(program, PRECISIONS[precision])
    for number, batch in enumerate(batches, 1):
        program.iteration(number)
        tape = Tape(weights)
        TRAINING[name](tape, batch)
        tape.play_back()
        weights.adam()
    return weights.parameters


def generate(name: str, batch: int = 8, gpu: str = "A100-80G", precision: str | None = None,
             iterations: int = 3, seed: int = 1, least_batch: int | None = None) -> tuple[Program, int]:
    """The program and the number of its parameters. With a least batch, each iteration of a training draws its own."""
    program = Program(f"{name}-b{batch}", GPUS[gpu])
    if name in TRAINING:
        draw = random.Random(seed)
        batches = [draw.randint(least_batch or batch, batch) for _ in range(iterations)]
        return program, train(program, name, batches, precision)
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
    parser.add_argument("--seed", type=int, default=1, help="seed of the routing to experts, and of batches that are drawn")
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
    if words.least_batch is not None and not 1 <= words.least_batch <= words.batch:
        parser.error(f"--least-batch {words.least_batch} is not between 1 and the batch, {words.batch}")
    if words.least_batch is not None and words.model not in TRAINING:
        parser.error(f"--least-batch is for trainings, and {words.model} is none")
    program, _ = generate(words.model, words.batch, words.gpu, words.precision, words.iterations, words.seed,
                          words.least_batch)
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
