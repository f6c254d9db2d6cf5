"""ResNet with bottlenecks: 1 x 1, 3 x 3, 1 x 1, and a skip connection around them."""

from functools import partial

from attention import linear
from images import FEATURE_MAP, Map, batch_norm, conv, image, max_pool, mean_pool, relu_in_place
from tape import Tape

SIDE = 224  # of an image, in pixels
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
DEPTHS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3), "resnet152": (3, 8, 36, 3)}


def conv_norm(tape: Tape, name: str, x: Map, batch: int, channels: int, kernel: int, stride: int = 1) -> Map:
    x = conv(tape, f"{name}.conv", x, batch, channels, kernel, stride, biased=False)
    return batch_norm(tape, f"{name}.norm", x, batch)


def bottleneck(tape: Tape, name: str, x: Map, batch: int, channels: int, stride: int) -> Map:
    y = relu_in_place(tape, f"{name}.a.relu", conv_norm(tape, f"{name}.a", x, batch, channels, 1), batch)
    y = relu_in_place(tape, f"{name}.b.relu", conv_norm(tape, f"{name}.b", y, batch, channels, 3, stride), batch)
    y = conv_norm(tape, f"{name}.c", y, batch, 4 * channels, 1)
    if x.channels != 4 * channels or stride != 1:
        x = conv_norm(tape, f"{name}.short", x, batch, 4 * channels, 1, stride)
    total = tape.map(f"{name}.add", [x.tensor, y.tensor], y.elements(batch), y.elements(batch), tag=FEATURE_MAP)
    return relu_in_place(tape, f"{name}.relu", Map(total, y.channels, y.side), batch)


def forward(tape: Tape, batch: int, depth: tuple[int, ...], side: int = SIDE) -> None:
    x = relu_in_place(tape, "stem.relu", conv_norm(tape, "stem", image(tape, batch, side), batch, 64, 7, 2), batch)
    x = max_pool(tape, "stem.pool", x, batch, 3, 2, 1)
    for stage, ((channels, stride), blocks) in enumerate(zip(STAGES, depth)):
        for number in range(blocks):
            x = bottleneck(tape, f"stage{stage}.{number}", x, batch, channels, stride if number == 0 else 1)
    x = mean_pool(tape, "pool", x, batch)
    tape.loss(linear(tape, "classes", x.tensor, batch, x.channels, 1000, True))


MODELS = {name: partial(forward, depth=depth) for name, depth in DEPTHS.items()}
