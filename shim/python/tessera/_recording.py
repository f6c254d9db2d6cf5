"""Blocks and operations as the lines of a trace, kept until the program is over.

A block is a storage: any object with `nbytes()` that supports weak references. It is allocated when it is first seen
and freed when its last reference is gone; until then all tensors on it are one block. Lines are kept, about 300
bytes each, because the purpose of a block is mostly known only after its allocation.

Only one thread records at a time; a block may end on any thread.
"""

import functools
import itertools
import json
import weakref
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional

from .roofline import Gpu

Line = Dict[str, Any]


@dataclass
class _Block:
    reference: "weakref.ref[Any]"
    alloc: Line


class Recording:
    def __init__(self, name: str, source: str, gpu: Gpu) -> None:
        self._gpu = gpu
        self._numbers = itertools.count(1)
        self._blocks: Dict[int, _Block] = {}   # by the identity of the storage, during its lifetime
        self._open = True
        self._lines: List[Line] = [{"t": "header", "version": 1, "name": name, "source": source,
                                    "device_memory": gpu.memory}]

    def knows(self, storage: Any) -> bool:
        """Whether it has a block. A storage whose size has changed is another block."""
        key = id(storage)
        block = self._blocks.get(key)
        if block is not None and block.alloc["bytes"] != storage.nbytes():
            self._ended(key, block.reference)
            return False
        return block is not None

    def allocate(self, storage: Any, tag: Optional[str]) -> None:
        """REQUIRES: not knows(storage). Does nothing for a storage without bytes."""
        if storage.nbytes() == 0:
            return
        alloc: Line = {"t": "alloc", "id": next(self._numbers), "bytes": storage.nbytes(), "stream": 0}
        if tag is not None:
            alloc["tag"] = tag
        key = id(storage)
        self._blocks[key] = _Block(weakref.ref(storage, functools.partial(self._ended, key)), alloc)
        self._lines.append(alloc)

    def from_outside(self, storage: Any, tag: str) -> None:
        """Adds a block with an unseen origin: an operation fills it. Does nothing if it is known."""
        if not self.knows(storage):
            self.allocate(storage, tag)
            self.op("load", self._gpu.nanoseconds(0, storage.nbytes(), 4), [], [storage])

    def tag(self, storage: Any, tag: str) -> None:
        """Sets the purpose of a block, from its allocation on."""
        block = self._blocks.get(id(storage))
        if block is not None:
            block.alloc["tag"] = tag

    def op(self, name: str, nanoseconds: int, reads: Iterable[Any], writes: Iterable[Any]) -> None:
        """Unknown storages, such as those without bytes, are left out; if none remain, no operation is added."""
        used = [self._ids(reads), self._ids(writes)]
        if any(used):
            self._lines.append({"t": "op", "name": name, "ns": nanoseconds, "stream": 0, "r": used[0], "w": used[1]})

    def mark(self, kind: str, number: int) -> None:
        self._lines.append({"t": "mark", "kind": kind, "n": number})

    def close(self) -> bytes:
        """The text of the trace. Blocks that end later are not in it."""
        self._open = False
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self._lines).encode()

    def _ids(self, storages: Iterable[Any]) -> List[int]:
        found = (self._blocks.get(id(storage)) for storage in storages)
        return list(dict.fromkeys(block.alloc["id"] for block in found if block is not None))

    def _ended(self, key: int, _: Any) -> None:
        block = self._blocks.pop(key, None)
        if block is not None and self._open:
            self._lines.append({"t": "free", "id": block.alloc["id"]})
