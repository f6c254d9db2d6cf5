"""GraphSAGE on sampled neighbourhoods, as on ogbn-products: each iteration samples a graph of its own sizes.

A node draws as many neighbours as the fan-out of its hop; some of them are known already, so the number of nodes differs
from one sample to the next (Hamilton et al., NeurIPS 2017).
"""

import random

from attention import add, linear
from tape import Tape

NODES, FEATURES, HIDDEN, CLASSES = 2_449_029, 100, 256, 47
FAN_OUT = (15, 10, 5)
NEW_NODES = (0.55, 0.9)  # of the sampled neighbours, at least and at most


def sample(seeds: int, draw: random.Random) -> list[tuple[int, int, int]]:
    """By hop from the seeds outwards: its nodes, their sampled edges, and the nodes with these neighbours."""
    hops, nodes = [], seeds
    for fan_out in FAN_OUT:
        edges = nodes * fan_out
        outer = nodes + int(edges * draw.uniform(*NEW_NODES))
        hops.append((nodes, edges, outer))
        nodes = outer
    return hops


def forward(tape: Tape, batch: int, draw: random.Random | None = None) -> None:
    hops = sample(batch, draw or random.Random(1))
    table, nodes = tape.weights.constant("features", NODES * FEATURES), hops[-1][2]
    x, width = tape.data(nodes * FEATURES, reads=[table], moved=2 * nodes * FEATURES * tape.element), FEATURES
    for layer, (nodes, edges, _) in enumerate(reversed(hops)):
        name, last = f"layer{layer}", layer == len(hops) - 1
        outputs = CLASSES if last else HIDDEN
        messages = tape.map(f"{name}.gather", [x], edges * width, 0)
        mean = tape.map(f"{name}.mean", [messages], nodes * width, edges * width)
        y = add(tape, f"{name}.add", linear(tape, f"{name}.neighbours", mean, nodes, width, outputs, True),
                linear(tape, f"{name}.self", x, nodes, width, outputs, False), nodes * outputs)
        if not last:
            y = tape.map(f"{name}.relu", [y], nodes * outputs, nodes * outputs, ["output"])
            y = tape.map(f"{name}.dropout", [y], nodes * outputs, nodes * outputs, extra=nodes * outputs * tape.element)
        x, width = y, outputs
    tape.loss(x)


MODELS = {"graphsage": forward}
