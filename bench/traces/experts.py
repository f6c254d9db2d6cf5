"""Serving a mixture of experts: a router sends tokens to experts, and few experts get most tokens.

The experts of each layer are ranked by a random permutation, and a token's experts are drawn by Zipf's law over the
ranks. Only experts that were drawn are read: the others may be evicted.
"""

import random
from dataclasses import dataclass

from program import Program, Tensor


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    inner: int
    experts: int
    chosen: int           # experts for each token
    exponent: float       # of Zipf's law


SIZES = {
    "moe-8x7b": Size(32, 4096, 14336, 8, 2, 1.0),
    "moe-64": Size(24, 2048, 5504, 64, 2, 1.1),
}
HALF = 2


def draw(rng: random.Random, size: Size, words: int, order: list[int]) -> dict[int, int]:
    """Expert -> how many tokens it gets."""
    weights = [1 / (rank + 1) ** size.exponent for rank in range(size.experts)]
    counts: dict[int, int] = {}
    for _ in range(words):
        chosen: set[int] = set()
        while len(chosen) < size.chosen:
            chosen.add(order[rng.choices(range(size.experts), weights)[0]])
        for expert in chosen:
            counts[expert] = counts.get(expert, 0) + 1
    return counts


def weight(program: Program, name: str, elements: int, tag: str) -> Tensor:
    return program.persistent(name, elements * HALF, tag)


def serve(program: Program, name: str, words: int, iterations: int, seed: int) -> int:
    """Returns the number of parameters."""
    size, rng = SIZES[name], random.Random(seed)
    expert = 3 * size.width * size.inner
    dense = 4 * size.width * size.width
    shared = [weight(program, f"layer{n}.attention", dense, "weight") for n in range(size.layers)]
    experts = [[weight(program, f"layer{n}.expert{e}", expert, "expert") for e in range(size.experts)]
               for n in range(size.layers)]
    orders = [rng.sample(range(size.experts), size.experts) for _ in range(size.layers)]
    for step in range(1, iterations + 1):
        program.iteration(step)
        x = program.tensor(words * size.width * HALF, "activation")
        program.op("embed", [], [x], element_bytes=HALF)
        for n in range(size.layers):
            y = program.tensor(x.bytes, "activation")
            program.op(f"layer{n}.attention", [x, shared[n]], [y], 2 * words * dense, HALF)
            x = program.tensor(x.bytes, "activation")
            program.op(f"layer{n}.zero", [y], [x], element_bytes=HALF)
            for e, count in sorted(draw(rng, size, words, orders[n]).items()):
                program.op(f"layer{n}.expert", [y, experts[n][e], x], [x], 2 * count * expert, HALF)
    return size.layers * (dense + size.experts * expert)
