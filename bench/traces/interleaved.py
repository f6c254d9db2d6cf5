"""One rank of a pipeline with several chunks of the model on each device, which it runs alternately (interleaved
1F1B).

Of p ranks with v chunks each, rank r has the layers of virtual stages r, p + r, 2p + r and so on. Micro-batches go
in groups of p through one chunk after the other. Rank r first runs 2(p - r - 1) + (v - 1)p forward passes, then
alternates one forward and one backward pass, then runs the remaining backward passes (Narayanan et al., SC 2021, and
Megatron-LM): one more than that number of passes are open at once. The schedule is for more micro-batches than
ranks; if there are as many, Megatron-LM runs all forward passes first.

The model is that of the table in Kuaishou's artifact (USENIX ATC 2024, `examples/atc24` in kwai/Megatron-Kwai): Llama
65B with 8,192 tokens on 256 devices, of which two share each layer and two others each sequence, so a device has half
of each weight, including norms, and a quarter of each activation. Gradients of weights are of four bytes and stay;
sixteen devices divide Adam's states; the gate and its product with the other half are two operations, so both outputs
are saved. `balanced` is their checkpointing: the backward pass makes what norms and gates have made again.
"""

from typing import Iterator

from attention import Shape, add, linear, rms_norm
from llama import Size, embed, head, self_attention
from pipeline import receive, send
from program import Program, Tensor
from tape import MIXED, Tape, Weights

SIZE = Size(80, 8192, 22016, 64, 64, 32256, 8192)  # 32,005 words, filled up to a multiple of 256
RANKS, CHUNKS, MICRO_BATCHES = 8, 5, 16
TENSOR_SHARES, TEXT_SHARES, STATE_SHARES = 2, 2, 16
GRADIENT_BYTES = 4


def schedule(ranks: int, rank: int, chunks: int, micro_batches: int) -> Iterator[tuple[bool, int, int]]:
    """(whether it is a forward pass, chunk, micro-batch) of each pass, in order."""
    def which(number: int) -> tuple[int, int]:
        group, place = divmod(number, ranks * chunks)
        return place // ranks, group * ranks + place % ranks

    passes = chunks * micro_batches
    ahead = min(2 * (ranks - rank - 1) + (chunks - 1) * ranks, passes)
    for number in range(passes + ahead):
        if number < passes:
            yield True, *which(number)
        if number >= ahead:
            chunk, micro_batch = which(number - ahead)
            yield False, chunks - 1 - chunk, micro_batch


def decoder_block(tape: Tape, name: str, x: Tensor, batch: int, length: int, balanced: bool) -> Tensor:
    """As in Llama, but the gate and its product with the other half are two operations."""
    rows, width, inner = batch * length, SIZE.width, SIZE.inner
    shape = Shape(width, SIZE.heads, SIZE.kv_heads, width // SIZE.heads, biased=False)
    y = rms_norm(tape, f"{name}.norm1", x, rows, width, balanced)
    y = self_attention(tape, f"{name}.attention", y, batch, length, shape, SIZE.length)
    x = add(tape, f"{name}.add1", x, y, rows * width)
    y = rms_norm(tape, f"{name}.norm2", x, rows, width, balanced)
    gate = linear(tape, f"{name}.mlp.gate", y, rows, width, inner, False)
    up = linear(tape, f"{name}.mlp.up", y, rows, width, inner, False)
    gate = tape.map(f"{name}.mlp.silu", [gate], rows * inner, 5 * rows * inner, ["inputs"], remade=balanced)
    y = tape.map(f"{name}.mlp.product", [gate, up], rows * inner, rows * inner, ["inputs"], remade=balanced)
    y = linear(tape, f"{name}.mlp.down", y, rows, inner, width, False)
    return add(tape, f"{name}.add2", x, y, rows * width)


def forward(weights: Weights, stage: int, stages: int, batch: int, balanced: bool) -> Tape:
    """One micro-batch through one chunk; the tape is kept for the backward pass."""
    tape, length = Tape(weights), SIZE.length // TEXT_SHARES // TENSOR_SHARES
    rows = batch * length
    x = embed(tape, rows, SIZE) if stage == 0 else receive(tape, rows * SIZE.width, "activation")
    for layer in range(SIZE.layers * stage // stages, SIZE.layers * (stage + 1) // stages):
        x = decoder_block(tape, f"layer{layer}", x, batch, length, balanced)
    if stage == stages - 1:
        head(tape, x, rows, SIZE)
    else:
        send(tape, x)
    return tape


def train(program: Program, name: str, batch: int, iterations: int) -> int:
    """Returns the number of parameters of the rank."""
    balanced, rank = divmod(NAMES.index(name), RANKS)
    weights = Weights(program, MIXED, TENSOR_SHARES, STATE_SHARES, GRADIENT_BYTES)
    for number in range(1, iterations + 1):
        program.iteration(number)
        waiting: dict[tuple[int, int], Tape] = {}
        for is_forward, chunk, micro_batch in schedule(RANKS, rank, CHUNKS, MICRO_BATCHES):
            if is_forward:
                waiting[chunk, micro_batch] = forward(weights, chunk * RANKS + rank, RANKS * CHUNKS, batch, bool(balanced))
            else:
                waiting.pop((chunk, micro_batch)).play_back()
        weights.adam()
    return weights.parameters


NAMES = tuple(f"interleaved-llama-65b{kind}-rank{rank}" for kind in ("", "-balanced") for rank in range(RANKS))
