"""A program as the allocator sees it: tensors, and ops that read and write them; written as a trace.

A tensor is allocated right before the first op that writes it and freed right after the last op that needs it,
unless it is persistent: weights and optimizer states live until the end. Persistent tensors of one tag can be parts of
one block, as in a program that loads all weights into one allocation.
"""

import json
from dataclasses import dataclass, field
from typing import Iterable, Sequence, TextIO

from roofline import Gpu

ALIGNMENT = 256  # bytes, of tensors in an arena

@dataclass(eq=False)
class Tensor:
    bytes: int
    tag: str
    persistent: bool = False
    id: int = 0
    offset: int | None = None  # in its block, if it is a part of one

    @property
    def operand(self) -> int | list[int]:
        return self.id if self.offset is None else [self.id, self.offset, self.bytes]


@dataclass(eq=False)
class Op:
    name: str
    nanoseconds: int
    reads: Sequence[Tensor]
    writes: Sequence[Tensor]


@dataclass(frozen=True)
class Mark:
    kind: str
    number: int


@dataclass
class Program:
    name: str
    gpu: Gpu
    beginning: list[Op] = field(default_factory=list)
    steps: list[Op | Mark] = field(default_factory=list)
    remakable: frozenset[str] = frozenset()  # tags of tensors that can be recomputed by the op that wrote them
    arena: str | None = None                 # persistent tensors with this tag are one block

    def tensor(self, size: int, tag: str) -> Tensor:
        return Tensor(max(1, size), tag)

    def op(self, name: str, reads: Iterable[Tensor], writes: Iterable[Tensor], flops: float = 0,
           element_bytes: int = 4, moved: int | None = None) -> None:
        """`moved` is the memory traffic, if it differs from accessing every operand once."""
        reads, writes = list(dict.fromkeys(reads)), list(dict.fromkeys(writes))
        if moved is None:
            moved = sum(t.bytes for t in reads) + sum(t.bytes for t in writes)
        self.steps.append(Op(name, self.gpu.nanoseconds(flops, moved, element_bytes), reads, writes))

    def persistent(self, name: str, size: int, tag: str) -> Tensor:
        """Lives from before the first iteration to the end; a separate op fills it."""
        tensor = Tensor(max(1, size), tag, persistent=True)
        self.beginning.append(Op(f"init.{name}", self.gpu.nanoseconds(0, tensor.bytes, 4), [], [tensor]))
        return tensor

    def iteration(self, number: int) -> None:
        self.steps.append(Mark("iteration", number))

    def last_uses(self) -> dict[Tensor, int]:
        last: dict[Tensor, int] = {}
        for number, step in enumerate((*self.beginning, *self.steps)):
            if isinstance(step, Op):
                for tensor in (*step.reads, *step.writes):
                    last[tensor] = number
        return last

    def place_in_arena(self) -> int:
        """Gives the arena's tensors their places, as block 1. Returns its bytes."""
        end = 0
        for op in self.beginning:
            for tensor in op.writes:
                if tensor.tag == self.arena:
                    tensor.id, tensor.offset = 1, end
                    end += -(-tensor.bytes // ALIGNMENT) * ALIGNMENT
        return max(1, end)

    def lines(self) -> Iterable[dict]:
        """All lines of the trace, in order."""
        yield {"t": "header", "version": 1, "name": self.name, "source": f"synthetic {self.gpu.name}",
               "device_memory": self.gpu.memory}
        last, ids = self.last_uses(), 0
        if self.arena is not None:
            ids = 1
            yield {"t": "alloc", "id": 1, "bytes": self.place_in_arena(), "stream": 0, "tag": self.arena}
        for number, step in enumerate((*self.beginning, *self.steps)):
            if isinstance(step, Mark):
                yield {"t": "mark", "kind": step.kind, "n": step.number}
                continue
            for tensor in step.writes:
                if tensor.id == 0:
                    ids += 1
                    tensor.id = ids
                    alloc = {"t": "alloc", "id": ids, "bytes": tensor.bytes, "stream": 0, "tag": tensor.tag}
                    yield alloc | ({"recompute_ns": step.nanoseconds} if tensor.tag in self.remakable else {})
            yield {"t": "op", "name": step.name, "ns": step.nanoseconds, "stream": 0,
                   "r": [t.operand for t in step.reads], "w": [t.operand for t in step.writes]}
            for tensor in dict.fromkeys((*step.reads, *step.writes)):
                if last[tensor] == number and not tensor.persistent:
                    yield {"t": "free", "id": tensor.id}

    def write(self, file: TextIO) -> None:
        for line in self.lines():
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
