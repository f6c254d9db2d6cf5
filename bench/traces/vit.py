"""Vision transformer: an image as tokens of 16 x 16 pixels."""

from functools import partial

from attention import Shape, layer_norm, linear
from gpt import decoder_block
from tape import Tape

SIDE, PATCH, CLASSES = 224, 16, 1000
SIZES = {"vit-b16": (12, 768, 12), "vit-l16": (24, 1024, 16)}


def forward(tape: Tape, batch: int, layers: int, width: int, heads: int) -> None:
    patches = (SIDE // PATCH) ** 2
    length = patches + 1
    pixels = tape.data(batch * 3 * SIDE * SIDE, tape.element)
    x = linear(tape, "patches", pixels, batch * patches, 3 * PATCH * PATCH, width, True)
    scales = [tape.weights.get("class-word", width), tape.weights.get("places", length * width)]
    x = tape.map("embed", [x], batch * length * width, batch * length * width, scales=scales)
    for layer in range(layers):
        x = decoder_block(tape, f"layer{layer}", x, batch, length, Shape(width, heads, heads, width // heads))
    x = layer_norm(tape, "norm", x, batch * length, width)
    first = tape.map("first", [x], batch * width, 0)
    tape.loss(linear(tape, "classes", first, batch, width, CLASSES, True))


MODELS = {name: partial(forward, layers=layers, width=width, heads=heads)
          for name, (layers, width, heads) in SIZES.items()}
