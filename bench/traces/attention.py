"""Layers shared by transformers: linear, norm, attention, feed-forward."""

from dataclasses import dataclass
from typing import Callable

from program import Tensor
from tape import Tape


@dataclass(frozen=True)
class Shape:
    """Attention heads: query heads and key-value heads, each `head` wide; fused or as four ops."""
    width: int
    heads: int
    kv_heads: int
    head: int
    fused: bool = True
    biased: bool = True


def linear(tape: Tape, name: str, x: Tensor, rows: int, inputs: int, outputs: int, biased: bool) -> Tensor:
    weights = [tape.weights.get(f"{name}.weight", inputs * outputs)]
    if biased:
        weights.append(tape.weights.get(f"{name}.bias", outputs))
    return tape.product(name, x, weights, rows * outputs, 2 * rows * inputs * outputs)


def layer_norm(tape: Tape, name: str, x: Tensor, rows: int, width: int) -> Tensor:
    scales = [tape.weights.get(f"{name}.weight", width), tape.weights.get(f"{name}.bias", width)]
    return tape.map(name, [x], rows * width, 8 * rows * width, ["inputs"], scales, extra=8 * rows)


def rms_norm(tape: Tape, name: str, x: Tensor, rows: int, width: int, remade: bool = False) -> Tensor:
    scales = [tape.weights.get(f"{name}.weight", width)]
    return tape.map(name, [x], rows * width, 5 * rows * width, ["inputs"], scales, extra=4 * rows, remade=remade)


def add(tape: Tape, name: str, a: Tensor, b: Tensor, elements: int) -> Tensor:
    return tape.map(name, [a, b], elements, elements)


def attend(tape: Tape, name: str, q: Tensor, k: Tensor, v: Tensor, batch: int, queries: int, keys: int,
           shape: Shape) -> Tensor:
    """Softmax(QK)V. If fused, one number per row is saved; otherwise the scores and their softmax exist."""
    elements = batch * queries * shape.heads * shape.head
    product = 2 * batch * shape.heads * queries * keys * shape.head
    if shape.fused:
        return tape.map(f"{name}.fused", [q, k, v], elements, 2 * product, ["inputs", "output"],
                        extra=4 * batch * shape.heads * queries)
    scores = batch * shape.heads * queries * keys
    s = tape.map(f"{name}.scores", [q, k], scores, product, ["inputs"])
    p = tape.map(f"{name}.softmax", [s], scores, 5 * scores, ["output"])
    return tape.map(f"{name}.values", [p, v], elements, product, ["inputs"])


def attention(tape: Tape, name: str, x: Tensor, batch: int, length: int, shape: Shape,
              memory: tuple[Tensor, int] | None = None) -> Tensor:
    """Self-attention, or cross-attention over `memory` (a tensor and its length)."""
    source, keys = memory if memory else (x, length)
    kv = shape.kv_heads * shape.head
    q = linear(tape, f"{name}.q", x, batch * length, shape.width, shape.heads * shape.head, shape.biased)
    k = linear(tape, f"{name}.k", source, batch * keys, shape.width, kv, shape.biased)
    v = linear(tape, f"{name}.v", source, batch * keys, shape.width, kv, shape.biased)
    y = attend(tape, name, q, k, v, batch, length, keys, shape)
    return linear(tape, f"{name}.out", y, batch * length, shape.heads * shape.head, shape.width, shape.biased)


def feed_forward(tape: Tape, name: str, x: Tensor, rows: int, width: int, inner: int, biased: bool = True) -> Tensor:
    h = linear(tape, f"{name}.up", x, rows, width, inner, biased)
    a = tape.map(f"{name}.gelu", [h], rows * inner, 8 * rows * inner, ["inputs"])
    return linear(tape, f"{name}.down", a, rows, inner, width, biased)


def gated_feed_forward(tape: Tape, name: str, x: Tensor, rows: int, width: int, inner: int) -> Tensor:
    gate = linear(tape, f"{name}.gate", x, rows, width, inner, False)
    up = linear(tape, f"{name}.up", x, rows, width, inner, False)
    a = tape.map(f"{name}.silu", [gate, up], rows * inner, 6 * rows * inner, ["inputs"])
    return linear(tape, f"{name}.down", a, rows, inner, width, False)


def block(tape: Tape, name: str, x: Tensor, rows: int, shape: Shape, norm: Callable[..., Tensor],
          mix: Callable[[Tensor], Tensor], feed: Callable[[Tensor], Tensor]) -> Tensor:
    """The usual pre-norm block: x + attention, then x + feed-forward."""
    elements = rows * shape.width
    y = mix(norm(tape, f"{name}.norm1", x, rows, shape.width))
    x = add(tape, f"{name}.add1", x, y, elements)
    y = feed(norm(tape, f"{name}.norm2", x, rows, shape.width))
    return add(tape, f"{name}.add2", x, y, elements)
