"""GPT-2: learned positions, pre-norm, one table for input and output tokens."""

from functools import partial

from attention import Shape, attention, block, feed_forward, layer_norm
from program import Tensor
from tape import Tape

WORDS, POSITIONS = 50257, 1024
SIZES = {"gpt2-small": (12, 768, 12), "gpt2-medium": (24, 1024, 16), "gpt2-large": (36, 1280, 20),
         "gpt2-xl": (48, 1600, 25)}


def decoder_block(tape: Tape, name: str, x: Tensor, batch: int, length: int, shape: Shape) -> Tensor:
    rows = batch * length
    return block(tape, name, x, rows, shape, layer_norm,
                 lambda y: attention(tape, f"{name}.attention", y, batch, length, shape),
                 lambda y: feed_forward(tape, f"{name}.mlp", y, rows, shape.width, 4 * shape.width))


def head(tape: Tape, x: Tensor, rows: int, width: int) -> None:
    """Norm, product with the token table, loss."""
    x = layer_norm(tape, "norm", x, rows, width)
    words = tape.weights.get("words", WORDS * width)
    tape.loss(tape.product("logits", x, [words], rows * WORDS, 2 * rows * width * WORDS))


def embed(tape: Tape, batch: int, length: int, width: int) -> Tensor:
    tape.data(batch * length, 8)
    words = tape.lookup("embed.words", tape.weights.get("words", WORDS * width), batch * length, width)
    places = tape.lookup("embed.places", tape.weights.get("places", POSITIONS * width), length, width)
    return tape.map("embed.add", [words, places], batch * length * width, batch * length * width)


def forward(tape: Tape, batch: int, layers: int, width: int, heads: int, length: int = POSITIONS) -> None:
    shape = Shape(width, heads, heads, width // heads)
    x = embed(tape, batch, length, width)
    for layer in range(layers):
        x = decoder_block(tape, f"layer{layer}", x, batch, length, shape)
    head(tape, x, batch * length, width)


MODELS = {name: partial(forward, layers=layers, width=width, heads=heads)
          for name, (layers, width, heads) in SIZES.items()}
