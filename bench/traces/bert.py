"""BERT: post-norm, plain attention, a pooled first token; trained for classification into two classes."""

from functools import partial

from attention import Shape, add, attention, feed_forward, layer_norm, linear
from tape import Tape

WORDS, POSITIONS, KINDS = 30522, 512, 2
SIZES = {"bert-base": (12, 768, 12), "bert-large": (24, 1024, 16)}


def forward(tape: Tape, batch: int, layers: int, width: int, heads: int, length: int = POSITIONS) -> None:
    rows, elements = batch * length, batch * length * width
    shape = Shape(width, heads, heads, width // heads, fused=False)
    tape.data(rows, 8)
    tables = [("words", WORDS, rows), ("places", POSITIONS, length), ("kinds", KINDS, rows)]
    parts = [tape.lookup(f"embed.{name}", tape.weights.get(name, entries * width), count, width)
             for name, entries, count in tables]
    x = layer_norm(tape, "embed.norm", tape.map("embed.add", parts, elements, 2 * elements), rows, width)
    for layer in range(layers):
        name = f"layer{layer}"
        y = attention(tape, f"{name}.attention", x, batch, length, shape)
        x = layer_norm(tape, f"{name}.norm1", add(tape, f"{name}.add1", x, y, elements), rows, width)
        y = feed_forward(tape, f"{name}.mlp", x, rows, width, 4 * width)
        x = layer_norm(tape, f"{name}.norm2", add(tape, f"{name}.add2", x, y, elements), rows, width)
    first = tape.map("first", [x], batch * width, 0)
    pooled = tape.map("pool.tanh", [linear(tape, "pool", first, batch, width, width, True)], batch * width,
                      4 * batch * width, ["output"])
    tape.loss(linear(tape, "classes", pooled, batch, width, 2, True))


MODELS = {name: partial(forward, layers=layers, width=width, heads=heads)
          for name, (layers, width, heads) in SIZES.items()}
