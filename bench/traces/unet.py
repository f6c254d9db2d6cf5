"""U-Net: four levels down, four levels up, each level joined with its counterpart."""

from images import Map, conv, image, join, max_pool, relu_in_place, up_conv
from tape import Tape

LEVELS = (64, 128, 256, 512)
BOTTOM, CLASSES, SIDE = 1024, 2, 512


def two_convs(tape: Tape, name: str, x: Map, batch: int, channels: int) -> Map:
    for number in range(2):
        x = relu_in_place(tape, f"{name}.relu{number}",
                          conv(tape, f"{name}.conv{number}", x, batch, channels, 3), batch)
    return x


def forward(tape: Tape, batch: int) -> None:
    x, across = image(tape, batch, SIDE, 1), []
    for level, channels in enumerate(LEVELS):
        across.append(two_convs(tape, f"down{level}", x, batch, channels))
        x = max_pool(tape, f"pool{level}", across[-1], batch)
    x = two_convs(tape, "bottom", x, batch, BOTTOM)
    for level, channels in reversed(tuple(enumerate(LEVELS))):
        x = up_conv(tape, f"up{level}", x, batch, channels)
        x = two_convs(tape, f"join{level}", join(tape, f"join{level}", (across[level], x), batch), batch, channels)
    tape.loss(conv(tape, "classes", x, batch, CLASSES, 1).tensor)


MODELS = {"unet": forward}
