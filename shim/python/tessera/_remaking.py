"""Blocks whose bytes a Python function makes again instead of being copied.

Tessera calls back on the thread whose work needs the block, with no lock of its own, and the interpreter's lock
is taken for that. So it must be free: whoever calls the driver or Tessera lets go of it first, as ctypes,
PyTorch's operators, cuda-bindings and CuPy do (docs/decisions/0015-remaking.md).

One C function serves all blocks and lives for ever; what it calls is looked up by the block's address.
Nothing here waits for a callback while it holds `_lock`, and a callback does not take it.
"""

import ctypes
import threading
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from . import _api
from ._tensors import address_of, addresses_of

Work = Callable[[int, int, int], Any]


class _Entry(NamedTuple):
    generation: int  # of the block: its address may be another's by now
    work: Work
    reads: Sequence[int]


_UNKNOWN_ERROR = 999  # CUDA_ERROR_UNKNOWN; the exception says more
_lock = threading.Lock()
_works: Dict[int, _Entry] = {}  # by the block's address
_many = 64  # when there are so many, those of blocks that are gone go


def _call_back(_context: Optional[int], address: int, size: int, stream: int) -> int:
    try:
        entry = _works[address]
        with _api.held(entry.reads, stream):
            entry.work(address, size, stream)
    except BaseException as error:  # pylint: disable=broad-except
        _api.note_failure(error)
        return _UNKNOWN_ERROR
    return 0


_called_back = _api.REGENERATE(_call_back)


def _set(address: int, callback: Any, cost_ns: int) -> None:
    _api.call("tessera_set_regenerate", address, callback, None, cost_ns)


def _lives(address: int, entry: _Entry) -> bool:
    try:
        return _api.block_of(address) == (address, entry.generation)
    except _api.NotFound:
        return False


def _sweep() -> None:
    global _many
    if len(_works) < _many:
        return
    for address in [a for a, entry in _works.items() if not _lives(a, entry)]:
        del _works[address]
    _many = max(64, 2 * len(_works))


def regenerate(tensor: Any, work: Optional[Work], cost_ns: int = 0, reads: Sequence[Any] = ()) -> None:
    """Lets a tensor's block leave without a copy: `work` makes the bytes that it has now.

    `work(address, size, stream)` queues on `stream` (a handle) what writes all `size` bytes of the block at
    `address`, and waits for nothing that another thread may hold; what an exception leaves undone is tried
    again by the next call that needs the block. It is called on the thread whose work needs the block, allocates
    and frees nothing, and uses no blocks but this one and those of `reads`, which are brought in before and stay
    as they are, also under `tessera run`. `cost_ns`: the device's time for it; what is cheaper than copies is
    remade. The next write to the block ends it, so set it again then; and where nobody sees what writes, outside of
    `tessera run` and `tessera.torch.track()`, the block is copied. None: not any more; raises Busy while only
    `work` can bring the bytes back.

    `work`, and all that it refers to, is kept until the block has another, or is gone and some more are set.
    """
    address, generation = _api.block_of(address_of(tensor))
    with _lock:
        if work is None:
            _set(address, _api.REGENERATE(), 0)
            _works.pop(address, None)
            return
        before = _works.get(address)
        _works[address] = _Entry(generation, work, addresses_of(reads))
        try:
            _set(address, _called_back, cost_ns)
        except _api.TesseraError:
            if before is None:
                del _works[address]
            else:
                _works[address] = before
            raise
        _sweep()


def forget(address: int) -> None:
    """The block that began there was freed."""
    with _lock:
        _works.pop(address, None)
