"""Llama: root-mean-square norms, gated feed-forward, rotary positions, grouped-query attention."""

from dataclasses import dataclass
from functools import partial

from attention import Shape, attend, add, gated_feed_forward, linear, rms_norm
from program import Tensor
from tape import Tape


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    words: int
    length: int


SIZES = {
    "llama2-7b": Size(32, 4096, 11008, 32, 32, 32000, 4096),
    "llama3-8b": Size(32, 4096, 14336, 32, 8, 128256, 4096),
    "llama3-1b": Size(16, 2048, 8192, 32, 8, 128256, 4096),
}
TIED = {"llama3-1b"}


def rotate(tape: Tape, name: str, x: Tensor, elements: int) -> Tensor:
    return tape.map(name, [x], elements, 6 * elements)


def self_attention(tape: Tape, name: str, x: Tensor, batch: int, length: int, shape: Shape, keys: int) -> Tensor:
    """`length` tokens of each sequence, of which each attends to `keys` tokens: more if devices share a sequence."""
    rows, inner = batch * length, shape.kv_heads * shape.head
    q = linear(tape, f"{name}.q", x, rows, shape.width, shape.width, False)
    k = linear(tape, f"{name}.k", x, rows, shape.width, inner, False)
    v = linear(tape, f"{name}.v", x, rows, shape.width, inner, False)
    q = rotate(tape, f"{name}.q.rotate", q, rows * shape.width)
    k = rotate(tape, f"{name}.k.rotate", k, rows * inner)
    y = attend(tape, name, q, k, v, batch, length, keys, shape)
    return linear(tape, f"{name}.out", y, rows, shape.width, shape.width, False)


def embed(tape: Tape, rows: int, size: Size) -> Tensor:
    tape.data(rows, 8)
    return tape.lookup("embed", tape.weights.get("words", size.words * size.width), rows, size.width)


def decoder_block(tape: Tape, name: str, x: Tensor, batch: int, length: int, size: Size) -> Tensor:
    shape = Shape(size.width, size.heads, size.kv_heads, size.width // size.heads, biased=False)
    rows = batch * length
    y = rms_norm(tape, f"{name}.norm1", x, rows, size.width)
    y = self_attention(tape, f"{name}.attention", y, batch, length, shape, length)
    x = add(tape, f"{name}.add1", x, y, rows * size.width)
    y = rms_norm(tape, f"{name}.norm2", x, rows, size.width)
    y = gated_feed_forward(tape, f"{name}.mlp", y, rows, size.width, size.inner)
    return add(tape, f"{name}.add2", x, y, rows * size.width)


def head(tape: Tape, x: Tensor, rows: int, size: Size, tied: bool = False) -> None:
    """Norm, product with a token table, loss."""
    x = rms_norm(tape, "norm", x, rows, size.width)
    last = tape.weights.get("words" if tied else "head", size.words * size.width)
    tape.loss(tape.product("logits", x, [last], rows * size.words, 2 * rows * size.width * size.words))


def forward(tape: Tape, batch: int, size: Size, tied: bool = False) -> None:
    x = embed(tape, batch * size.length, size)
    for layer in range(size.layers):
        x = decoder_block(tape, f"layer{layer}", x, batch, size.length, size)
    head(tape, x, batch * size.length, size, tied)


MODELS = {name: partial(forward, size=size, tied=name in TIED) for name, size in SIZES.items()}
