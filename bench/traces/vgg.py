"""VGG-16: pairs and triples of 3 x 3 convolutions, then three wide layers."""

from attention import linear
from images import conv, image, max_pool, relu_in_place
from program import Tensor
from tape import Tape

GROUPS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def classifier(tape: Tape, x: Tensor, batch: int, inputs: int) -> None:
    """Two wide layers with drop-out, and the class layer; also used by AlexNet."""
    for number, width in enumerate((4096, 4096)):
        x = linear(tape, f"wide{number}", x, batch, inputs, width, True)
        x = tape.map(f"wide{number}.relu", [x], batch * width, batch * width, ["output"])
        x = tape.map(f"wide{number}.dropout", [x], batch * width, batch * width, extra=batch * width)
        inputs = width
    tape.loss(linear(tape, "classes", x, batch, inputs, 1000, True))


def forward(tape: Tape, batch: int) -> None:
    x = image(tape, batch, 224)
    for group, (channels, convs) in enumerate(GROUPS):
        for number in range(convs):
            x = relu_in_place(tape, f"relu{group}.{number}",
                              conv(tape, f"conv{group}.{number}", x, batch, channels, 3), batch)
        x = max_pool(tape, f"pool{group}", x, batch)
    classifier(tape, x.tensor, batch, x.channels * x.side * x.side)


MODELS = {"vgg16": forward}
