"""T5: an encoder and a decoder that attends to it; one token table for both and for the output."""

from functools import partial

from attention import Shape, add, attention, linear, rms_norm
from program import Tensor
from tape import Tape

WORDS, BUCKETS = 32128, 32
SIZES = {"t5-small": (6, 512, 2048, 8), "t5-base": (12, 768, 3072, 12), "t5-large": (24, 1024, 4096, 16)}


def feed(tape: Tape, name: str, x: Tensor, rows: int, width: int, inner: int) -> Tensor:
    h = linear(tape, f"{name}.up", x, rows, width, inner, False)
    a = tape.map(f"{name}.relu", [h], rows * inner, rows * inner, ["output"])
    return linear(tape, f"{name}.down", a, rows, inner, width, False)


def stack(tape: Tape, name: str, x: Tensor, batch: int, length: int, layers: int, inner: int, shape: Shape,
          memory: tuple[Tensor, int] | None) -> Tensor:
    rows, width = batch * length, shape.width
    # Positions are a few numbers per head, added to the scores.
    bias = tape.weights.get(f"{name}.positions", BUCKETS * shape.heads)
    places = tape.lookup(f"{name}.places", bias, length * length, shape.heads)
    x = tape.map(f"{name}.start", [x, places], rows * width, 0)
    for layer in range(layers):
        here = f"{name}{layer}"
        y = rms_norm(tape, f"{here}.norm1", x, rows, width)
        x = add(tape, f"{here}.add1", x, attention(tape, f"{here}.self", y, batch, length, shape), rows * width)
        if memory:
            y = rms_norm(tape, f"{here}.norm2", x, rows, width)
            y = attention(tape, f"{here}.cross", y, batch, length, shape, memory)
            x = add(tape, f"{here}.add2", x, y, rows * width)
        y = rms_norm(tape, f"{here}.norm3", x, rows, width)
        x = add(tape, f"{here}.add3", x, feed(tape, f"{here}.mlp", y, rows, width, inner), rows * width)
    return rms_norm(tape, f"{name}.norm", x, rows, width)


def forward(tape: Tape, batch: int, layers: int, width: int, inner: int, heads: int, length: int = 512,
            answer: int = 128) -> None:
    shape = Shape(width, heads, heads, 64, fused=False, biased=False)
    words = tape.weights.get("words", WORDS * width)
    tape.data(batch * length, 8)
    x = tape.lookup("encoder.embed", words, batch * length, width)
    x = stack(tape, "encoder", x, batch, length, layers, inner, shape, None)
    y = tape.lookup("decoder.embed", words, batch * answer, width)
    y = stack(tape, "decoder", y, batch, answer, layers, inner, shape, (x, length))
    rows = batch * answer
    tape.loss(tape.product("logits", y, [words], rows * WORDS, 2 * rows * width * WORDS))


MODELS = {name: partial(forward, layers=layers, width=width, inner=inner, heads=heads)
          for name, (layers, width, inner, heads) in SIZES.items()}
