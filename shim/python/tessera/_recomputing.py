"""Blocks that a Python function recomputes instead of copying.

Tessera calls back on the thread with the work that needs the block, holding no lock of its own, and the callback
takes the interpreter's lock. So that lock must be free: code that calls the driver or Tessera releases it first, as
ctypes, PyTorch's operators, cuda-bindings and CuPy do (docs/decisions/0015-recomputing.md).

One C function serves all blocks and is never freed; the Python function is looked up by the block's address. Nothing
here waits for a callback while holding `_lock`, and a callback does not take it.
"""

import ctypes
import threading
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from . import _api
from ._tensors import address_of, addresses_of

Work = Callable[[int, int, int], Any]


class _Entry(NamedTuple):
    generation: int  # of the block: its address may have been reused
    work: Work
    reads: Sequence[int]


_UNKNOWN_ERROR = 999  # CUDA_ERROR_UNKNOWN; the exception has details
_lock = threading.Lock()
_works: Dict[int, _Entry] = {}  # by the block's address
_many = 64  # threshold for removing the entries of freed blocks


def _call_back(_context: Optional[int], address: int, size: int, stream: int) -> int:
    try:
        entry = _works[address]
        with _api.held(entry.reads, stream):
            entry.work(address, size, stream)
    except BaseException as error:  # pylint: disable=broad-except
        _api.note_failure(error)
        return _UNKNOWN_ERROR
    return 0


_called_back = _api.RECOMPUTE(_call_back)


def _set(address: int, callback: Any, cost_ns: int) -> None:
    _api.call("tessera_set_recompute", address, callback, None, cost_ns)


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


def recompute(tensor: Any, work: Optional[Work], cost_ns: int = 0, reads: Sequence[Any] = ()) -> None:
    """Lets a tensor's block be dropped without a copy: `work` recomputes its current bytes.

    `work(address, size, stream)` queues on `stream` (a handle) work that writes all `size` bytes of the block at
    `address`, and waits for nothing that another thread may hold; if it raises an exception, the next call that
    needs the block tries again. It is called on the thread with the work that needs the block, allocates and frees
    nothing, and uses no blocks except this one and those of `reads`, which are fetched before and are not modified,
    also under `tessera run`. `cost_ns`: its device time; the block is recomputed if that is cheaper than copies. The
    next write to the block ends this, so set it again then; where writes are not seen, outside of `tessera run` and
    `tessera.torch.track()`, the block is copied. None removes it; raises Busy while only `work` can restore the
    bytes.

    `work`, and everything it refers to, is kept until the block has another, or is gone and some more are set.
    """
    address, generation = _api.block_of(address_of(tensor))
    with _lock:
        if work is None:
            _set(address, _api.RECOMPUTE(), 0)
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
    """The block at this address was freed."""
    with _lock:
        _works.pop(address, None)
