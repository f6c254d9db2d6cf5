"""Layers shared by convolutional networks. A map is a tensor with channels and a side length."""

from dataclasses import dataclass
from typing import Sequence

from program import Tensor
from tape import Tape

FEATURE_MAP = "feature-map"


@dataclass(frozen=True)
class Map:
    tensor: Tensor
    channels: int
    side: int

    def elements(self, batch: int) -> int:
        return batch * self.channels * self.side * self.side


def image(tape: Tape, batch: int, side: int, channels: int = 3) -> Map:
    return Map(tape.data(batch * channels * side * side, tape.element), channels, side)


def side_after(side: int, kernel: int, stride: int, padding: int) -> int:
    return (side + 2 * padding - kernel) // stride + 1


def conv(tape: Tape, name: str, x: Map, batch: int, channels: int, kernel: int, stride: int = 1,
         padding: int | None = None, biased: bool = True, groups: int = 1) -> Map:
    side = side_after(x.side, kernel, stride, kernel // 2 if padding is None else padding)
    weights = [tape.weights.get(f"{name}.weight", channels * x.channels // groups * kernel * kernel)]
    if biased:
        weights.append(tape.weights.get(f"{name}.bias", channels))
    elements = batch * channels * side * side
    flops = 2 * elements * x.channels // groups * kernel * kernel
    return Map(tape.product(name, x.tensor, weights, elements, flops, FEATURE_MAP), channels, side)


def up_conv(tape: Tape, name: str, x: Map, batch: int, channels: int) -> Map:
    """2 x 2 with stride 2, transposed: doubles the side length."""
    weights = [tape.weights.get(f"{name}.weight", channels * x.channels * 4),
               tape.weights.get(f"{name}.bias", channels)]
    side = 2 * x.side
    elements = batch * channels * side * side
    return Map(tape.product(name, x.tensor, weights, elements, 2 * elements * x.channels, FEATURE_MAP), channels, side)


def relu_in_place(tape: Tape, name: str, x: Map, batch: int) -> Map:
    """Overwrites its input; its backward pass overwrites the gradient."""
    tape.run(name, [x.tensor], [x.tensor], x.elements(batch))

    def back() -> None:
        gradient = tape.gradients[x.tensor]
        tape.run(f"{name}.backward", [gradient, x.tensor], [gradient], x.elements(batch))

    tape.undo.append(back)
    return x


def relu(tape: Tape, name: str, x: Map, batch: int) -> Map:
    """Writes a new map."""
    output = tape.map(name, [x.tensor], x.elements(batch), x.elements(batch), ["output"], tag=FEATURE_MAP)
    return Map(output, x.channels, x.side)


def batch_norm(tape: Tape, name: str, x: Map, batch: int) -> Map:
    scales = [tape.weights.get(f"{name}.weight", x.channels), tape.weights.get(f"{name}.bias", x.channels)]
    output = tape.map(name, [x.tensor], x.elements(batch), 8 * x.elements(batch), ["inputs"], scales,
                      extra=8 * x.channels, tag=FEATURE_MAP)
    return Map(output, x.channels, x.side)


def response_norm(tape: Tape, name: str, x: Map, batch: int) -> Map:
    """Norm across channels; its backward pass needs input and output."""
    output = tape.map(name, [x.tensor], x.elements(batch), 20 * x.elements(batch), ["inputs", "output"],
                      tag=FEATURE_MAP)
    return Map(output, x.channels, x.side)


def max_pool(tape: Tape, name: str, x: Map, batch: int, kernel: int = 2, stride: int = 2, padding: int = 0) -> Map:
    side = side_after(x.side, kernel, stride, padding)
    elements = batch * x.channels * side * side
    output = tape.map(name, [x.tensor], elements, elements * kernel * kernel, ["inputs", "output"], tag=FEATURE_MAP)
    return Map(output, x.channels, side)


def mean_pool(tape: Tape, name: str, x: Map, batch: int) -> Map:
    """Reduces the whole map to one number per channel."""
    return Map(tape.map(name, [x.tensor], batch * x.channels, x.elements(batch)), x.channels, 1)


def join(tape: Tape, name: str, maps: Sequence[Map], batch: int) -> Map:
    """Concatenates channels; all maps have the same side length."""
    channels = sum(m.channels for m in maps)
    elements = batch * channels * maps[0].side ** 2
    return Map(tape.map(name, [m.tensor for m in maps], elements, 0, tag=FEATURE_MAP), channels, maps[0].side)
