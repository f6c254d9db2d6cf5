"""Forward, backward and Adam: a tape records each forward op and replays them in reverse.

An op saves for its backward pass what the layer libraries save: inputs of matrix products and convolutions, outputs
of activations whose derivative follows from the output, statistics of norms.
"""

from dataclasses import dataclass, field
from typing import Callable, Sequence

from program import Program, Tensor


@dataclass(frozen=True)
class Precision:
    """Bytes per element of weights and activations, and whether Adam keeps an fp32 copy."""
    element: int
    master: bool


FULL = Precision(4, False)
MIXED = Precision(2, True)


@dataclass(eq=False)
class Weight:
    elements: int
    value: Tensor
    states: list[Tensor]           # Adam's moments, and the fp32 copy
    gradient: Tensor | None = None


@dataclass
class Weights:
    """All weights of a model, created once, before the first iteration."""
    program: Program
    precision: Precision
    shares: int = 1          # devices that hold one share each of every weight
    state_shares: int = 1    # devices that divide Adam's states of a weight
    kept_gradients: int = 0  # bytes per element of gradients that live to the end; 0: they are made in each iteration
    all: dict[str, Weight] = field(default_factory=dict)
    constants: dict[str, Tensor] = field(default_factory=dict)

    def get(self, name: str, elements: int) -> Weight:
        if name not in self.all:
            elements //= self.shares
            value = self.program.persistent(name, elements * self.precision.element, "weight")
            states = [self.program.persistent(f"{name}.adam{number}", elements * 4 // self.state_shares, "optimizer")
                      for number in range(3 if self.precision.master else 2)]
            gradient = None
            if self.kept_gradients:
                gradient = self.program.persistent(f"{name}.gradient", elements * self.kept_gradients, "weight-gradient")
            self.all[name] = Weight(elements, value, states, gradient)
        return self.all[name]

    def constant(self, name: str, elements: int) -> Tensor:
        """What the model reads and never trains."""
        if name not in self.constants:
            self.constants[name] = self.program.persistent(name, elements * self.precision.element, "input")
        return self.constants[name]

    @property
    def parameters(self) -> int:
        return sum(weight.elements for weight in self.all.values())

    def adam(self) -> None:
        """One step, after which the gradients are freed, or zero."""
        for name, weight in self.all.items():
            if weight.gradient is None:
                continue
            zeroed = [weight.gradient] if self.kept_gradients else []
            self.program.op(f"adam.{name}", [weight.gradient, weight.value, *weight.states],
                            [weight.value, *weight.states, *zeroed], 12 * weight.elements)
            if not zeroed:
                weight.gradient = None


@dataclass
class Tape:
    """One pass of one batch. Several may be open at a time, as in a pipeline."""
    weights: Weights
    undo: list[Callable[[], None]] = field(default_factory=list)
    gradients: dict[Tensor, Tensor] = field(default_factory=dict)
    without_gradient: set[Tensor] = field(default_factory=set)
    makers: dict[Tensor, Callable[[], Tensor]] = field(default_factory=dict)  # of tensors that are not kept
    again: dict[Tensor, Tensor] = field(default_factory=dict)                 # those that have been recomputed

    @property
    def program(self) -> Program:
        return self.weights.program

    @property
    def element(self) -> int:
        return self.weights.precision.element

    def tensor(self, elements: int, tag: str = "activation", element: int | None = None) -> Tensor:
        return self.program.tensor(elements * (element or self.element), tag)

    def data(self, elements: int, element: int = 4, reads: Sequence[Tensor] = (), moved: int | None = None) -> Tensor:
        """Input data, from the host or from what it reads: no gradient flows back into it."""
        tensor = self.tensor(elements, "input", element)
        self.program.op("load", reads, [tensor], moved=moved)
        self.without_gradient.add(tensor)
        return tensor

    def run(self, name: str, reads: Sequence[Tensor], writes: Sequence[Tensor], flops: float = 0,
            moved: int | None = None) -> None:
        self.program.op(name, reads, writes, flops, self.element, moved)

    def gradient_into(self, tensor: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """(reads, writes) of an op that adds to the gradient of `tensor`; empty if no gradient is needed."""
        if tensor in self.without_gradient:
            return [], []
        if tensor in self.gradients:
            return [self.gradients[tensor]], [self.gradients[tensor]]
        self.gradients[tensor] = self.program.tensor(tensor.bytes, "gradient")
        return [], [self.gradients[tensor]]

    def weight_gradient(self, weight: Weight) -> tuple[list[Tensor], list[Tensor]]:
        if weight.gradient is not None:
            return [weight.gradient], [weight.gradient]
        weight.gradient = self.program.tensor(weight.value.bytes, "weight-gradient")
        return [], [weight.gradient]

    def map(self, name: str, inputs: Sequence[Tensor], elements: int, flops: float, saved: Sequence[str] = (),
            scales: Sequence[Weight] = (), extra: int = 0, tag: str = "activation", remade: bool = False) -> Tensor:
        """An op without a matrix product. `saved` is a subset of "inputs", "output"; `extra` bytes (a mask,
        statistics) are saved too; `scales` are small weights such as those of a norm. The output of a `remade` op is
        not kept for the backward pass, which runs the op again."""
        output = self.tensor(elements, tag)
        kept = [self.tensor(extra, "saved", 1)] if extra else []
        self.run(name, [*inputs, *(w.value for w in scales)], [output, *kept], flops)

        def make_again() -> Tensor:
            copy = self.tensor(elements, tag)
            self.run(f"{name}.again", [*map(self.for_backward, inputs), *(w.value for w in scales)], [copy], flops)
            return copy

        if remade:
            self.makers[output] = make_again

        def back() -> None:
            reads = [self.gradients[output], *kept, *(w.value for w in scales)]
            reads += list(map(self.for_backward, inputs)) if "inputs" in saved else []
            reads += [output] if "output" in saved else []
            self.backward(f"{name}.backward", reads, inputs, scales, 2 * flops)

        self.undo.append(back)
        return output

    def product(self, name: str, x: Tensor, weights: Sequence[Weight], elements: int, flops: float,
                tag: str = "activation") -> Tensor:
        """A matrix product or convolution with weights: its two gradients are separate ops."""
        output = self.tensor(elements, tag)
        self.run(name, [x, *(w.value for w in weights)], [output], flops)

        def back() -> None:
            gradient = self.gradients[output]
            self.backward(f"{name}.wgrad", [gradient, self.for_backward(x)], [], weights, flops)
            if x not in self.without_gradient:
                self.backward(f"{name}.dgrad", [gradient, *(w.value for w in weights)], [x], [], flops)

        self.undo.append(back)
        return output

    def for_backward(self, tensor: Tensor) -> Tensor:
        """What the backward pass reads in its place: itself, or the tensor that an op has made again."""
        if tensor in self.makers and tensor not in self.again:
            self.again[tensor] = self.makers[tensor]()
        return self.again.get(tensor, tensor)

    def backward(self, name: str, reads: Sequence[Tensor], inputs: Sequence[Tensor],
                 weights: Sequence[Weight], flops: float) -> None:
        reads, writes = list(reads), []
        for more_reads, more_writes in (*map(self.gradient_into, inputs), *map(self.weight_gradient, weights)):
            reads += more_reads
            writes += more_writes
        if writes:
            self.run(name, reads, writes, flops)

    def lookup(self, name: str, weight: Weight, positions: int, width: int) -> Tensor:
        """Rows of a table; the gradient of the table is as large as the table."""
        output = self.tensor(positions * width)
        self.run(name, [weight.value], [output], 0, 2 * output.bytes)
        self.undo.append(lambda: self.backward(f"{name}.backward", [self.gradients[output]], [], [weight], 0))
        return output

    def loss(self, logits: Tensor) -> None:
        """Cross entropy: its backward pass starts the gradients."""
        value, probabilities = self.tensor(1, "loss", 4), self.program.tensor(logits.bytes, "activation")
        self.run("loss", [logits], [value, probabilities], 0)

        def back() -> None:
            reads, writes = self.gradient_into(logits)
            self.run("loss.backward", [value, probabilities, *reads], writes)

        self.undo.append(back)

    def play_back(self) -> None:
        for back in reversed(self.undo):
            back()
        self.undo.clear()
        self.gradients.clear()
