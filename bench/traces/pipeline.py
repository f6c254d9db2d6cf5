"""One stage of a pipeline that alternates one forward and one backward pass (1F1B).

Stage s of p first runs p - s - 1 forward passes, then alternates one forward and one backward pass, then runs the
remaining backward passes. So p - s passes are open at once, and their activations are live.
"""

from attention import Shape
from gpt import POSITIONS, SIZES, decoder_block, embed, head
from program import Program, Tensor
from tape import MIXED, Tape, Weights

STAGES, MICRO_BATCHES = 4, 8


def receive(tape: Tape, elements: int, tag: str = "received") -> Tensor:
    """Receives the output of the stage before; its gradient goes back there."""
    x = tape.tensor(elements, tag)
    tape.program.op("receive", [], [x])
    tape.undo.append(lambda: tape.run("send.gradient", [tape.gradients[x]], []))
    return x


def send(tape: Tape, x: Tensor) -> None:
    """Sends to the next stage; the gradient comes from there."""
    tape.run("send", [x], [])
    tape.undo.append(lambda: tape.run("receive.gradient", *tape.gradient_into(x)))


def forward(weights: Weights, stage: int, stages: int, batch: int, layers: int, width: int, heads: int) -> Tape:
    """One micro-batch through the layers of the stage; the tape is kept for the backward pass."""
    tape, elements = Tape(weights), batch * POSITIONS * width
    x = embed(tape, batch, POSITIONS, width) if stage == 0 else receive(tape, elements)
    shape = Shape(width, heads, heads, width // heads)
    for layer in range(layers * stage // stages, layers * (stage + 1) // stages):
        x = decoder_block(tape, f"layer{layer}", x, batch, POSITIONS, shape)
    if stage == stages - 1:
        head(tape, x, batch * POSITIONS, width)
    else:
        send(tape, x)
    return tape


def train(program: Program, model: str, stage: int, batch: int, iterations: int, stages: int = STAGES,
          micro_batches: int = MICRO_BATCHES) -> int:
    """Returns the number of parameters of the stage."""
    weights = Weights(program, MIXED)
    layers, width, heads = SIZES[model]
    for number in range(1, iterations + 1):
        program.iteration(number)
        waiting: list[Tape] = []
        for _ in range(micro_batches):
            waiting.append(forward(weights, stage, stages, batch, layers, width, heads))
            if len(waiting) == stages - stage:
                waiting.pop(0).play_back()
        for tape in waiting:
            tape.play_back()
        weights.adam()
    return weights.parameters


NAMES = tuple(f"pipeline-{model}-stage{stage}" for model in SIZES for stage in range(STAGES))
