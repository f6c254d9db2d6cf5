"""AlexNet on one GPU: five convolutions, two norms across channels."""

from images import conv, image, max_pool, relu, response_norm
from tape import Tape
from vgg import classifier


def forward(tape: Tape, batch: int) -> None:
    x = image(tape, batch, 227)
    x = relu(tape, "relu1", conv(tape, "conv1", x, batch, 96, 11, 4, 0), batch)
    x = max_pool(tape, "pool1", response_norm(tape, "norm1", x, batch), batch, 3, 2)
    x = relu(tape, "relu2", conv(tape, "conv2", x, batch, 256, 5, groups=2), batch)
    x = max_pool(tape, "pool2", response_norm(tape, "norm2", x, batch), batch, 3, 2)
    x = relu(tape, "relu3", conv(tape, "conv3", x, batch, 384, 3), batch)
    x = relu(tape, "relu4", conv(tape, "conv4", x, batch, 384, 3, groups=2), batch)
    x = relu(tape, "relu5", conv(tape, "conv5", x, batch, 256, 3, groups=2), batch)
    x = max_pool(tape, "pool5", x, batch, 3, 2)
    classifier(tape, x.tensor, batch, x.channels * x.side * x.side)


MODELS = {"alexnet": forward}
