"""Decoding with a growing cache: every step reads all keys and values so far, and adds some.

The cache consists of blocks of a fixed number of positions, per layer, as in paged attention. At the end of a batch
of sequences its blocks are freed, and the next batch begins with its prompt.
"""

from llama import SIZES, TIED, Size
from program import Program, Tensor

HALF = 2
BLOCK = 256           # positions in a block of the cache
PROMPT, ANSWER = 512, 512


class Decoder:
    def __init__(self, program: Program, size: Size, tied: bool, batch: int) -> None:
        self.program, self.size, self.batch = program, size, batch
        kv = size.kv_heads * (size.width // size.heads)
        self.layer_elements = 2 * size.width * (size.width + kv) + 3 * size.width * size.inner
        self.block_bytes = 2 * batch * BLOCK * kv * HALF
        self.layers = [self.weight(f"layer{n}", self.layer_elements) for n in range(size.layers)]
        self.words = self.weight("words", size.words * size.width)
        self.head = self.words if tied else self.weight("head", size.words * size.width)
        self.cache: list[list[Tensor]] = []

    def weight(self, name: str, elements: int) -> Tensor:
        return self.program.persistent(name, elements * HALF, "weight")

    @property
    def parameters(self) -> int:
        return (sum(t.bytes for t in {*self.layers, self.words, self.head})) // HALF

    def step(self, begin: int, end: int) -> None:
        """Positions [begin, end) of every sequence of the batch."""
        rows, program = self.batch * (end - begin), self.program
        x = program.tensor(rows * self.size.width * HALF, "activation")
        program.op("embed", [self.words], [x], element_bytes=HALF, moved=2 * x.bytes)
        for n, layer in enumerate(self.layers):
            blocks = self.cache[n]
            known = len(blocks)
            while len(blocks) * BLOCK < end:
                blocks.append(program.tensor(self.block_bytes, "kv"))
            written = list(dict.fromkeys([*blocks[known:], blocks[begin // BLOCK]]))
            y = program.tensor(x.bytes, "activation")
            flops = 2 * rows * self.layer_elements + 4 * rows * end * self.size.width
            program.op(f"layer{n}", [x, layer, *blocks[:known]], [y, *written], flops, HALF)
            x = y
        logits = program.tensor(self.batch * self.size.words * HALF, "activation")
        program.op("logits", [x, self.head], [logits], 2 * self.batch * self.size.words * self.size.width, HALF)

    def batch_of_sequences(self, answer: int) -> None:
        self.cache = [[] for _ in self.layers]
        self.step(0, PROMPT)
        for position in range(PROMPT, PROMPT + answer):
            self.step(position, position + 1)


def serve(program: Program, name: str, batch: int, iterations: int, answer: int = ANSWER) -> int:
    """One iteration is one batch of sequences. Returns the number of parameters."""
    model = name.removeprefix("decode-")
    decoder = Decoder(program, SIZES[model], model in TIED, batch)
    for number in range(1, iterations + 1):
        program.iteration(number)
        decoder.batch_of_sequences(answer)
    return decoder.parameters


NAMES = tuple(f"decode-{name}" for name in SIZES)
