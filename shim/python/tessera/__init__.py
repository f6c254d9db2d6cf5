"""Tessera: a CUDA heap larger than the GPU.

Hints for tensors of any framework with memory managed by Tessera, and statistics. `tessera.torch` is the interface
for PyTorch; `python -m tessera run train.py` needs no change in the program at all.

A tensor is anything with `data_ptr()`, or an address. Every call may be made from any thread.
"""

import contextlib
import os
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple, Union

from ._api import BlockInfo, Busy, Moved, NotFound, OutOfMemory, TesseraError
from ._api import begin_profile as _begin_profile
from ._api import call as _call
from ._api import call_with_addresses as _call_with_addresses
from ._api import end_profile as _end_profile
from ._api import move_tag as _move_tag
from ._api import query as _query
from ._api import set_extents as _set_extents
from ._api import stats
from ._blocks import free, host_free, host_malloc, malloc
from ._library import LibraryNotFound
from ._memory_stats import memory_stats as _memory_stats
from ._recomputing import recompute
from ._tensors import address_of as _address_of
from ._tensors import addresses_of as _addresses_of

__all__ = ["BlockInfo", "Busy", "LibraryNotFound", "Moved", "NotFound", "OutOfMemory",
           "TesseraError", "evict", "free", "host_free", "host_malloc", "malloc", "mark", "memory_stats", "pin",
           "prefetch", "profile", "query", "recompute", "report", "set_extents", "set_policy", "sleep", "stats",
           "tag", "unpin", "wake"]


def prefetch(*tensors: Any) -> None:
    """Starts fetching tensors to the device, as far as possible without evicting blocks in use."""
    _call_with_addresses("tessera_prefetch", _addresses_of(tensors))


def evict(*tensors: Any) -> None:
    """Evicts tensors now, and waits for it. Raises Busy for a tensor that is pinned or in use."""
    _call_with_addresses("tessera_evict", _addresses_of(tensors))


def pin(*tensors: Any) -> None:
    """Fetches tensors, waits for them, and keeps them on the device until the matching number of unpins.

    If one fails, none is pinned. It fails where pinned blocks would leave launches too little device memory.
    """
    done = []
    try:
        for address in _addresses_of(tensors):
            _call("tessera_pin", address)
            done.append(address)
    except TesseraError:
        for address in done:
            _call("tessera_unpin", address)
        raise


def unpin(*tensors: Any) -> None:
    """Makes pinned tensors evictable again."""
    for address in _addresses_of(tensors):
        _call("tessera_unpin", address)


def set_extents(tensor: Any, extents: Sequence[Tuple[int, int]]) -> None:
    """Declares which parts of a block are separate objects: (offset, bytes) pairs, from the block's first byte.

    For arenas: work on an address then fetches the extent that contains it, not the whole block, so the block may be
    larger than the device. Replaces earlier extents; an empty list makes the block one object again. Blocks below 256
    MiB are always fetched as a whole. Raises TesseraError for extents that overlap or are outside the block.
    """
    _set_extents(_address_of(tensor), extents)


def set_policy(name: str) -> None:
    """Switches the eviction policy on all devices: for programs with phases.

    `name` is any value of the option `policy`, e.g. "recency". The learned iteration is kept.
    """
    _call("tessera_set_policy", name.encode())


@contextlib.contextmanager
def tag(name: str) -> Iterator[None]:
    """Tags everything that this thread allocates inside: for statistics, sleep and wake."""
    _call("tessera_tag_push", name.encode())
    try:
        yield
    finally:
        _call("tessera_tag_pop")


def sleep(tag: Optional[str] = None) -> Moved:
    """Evicts all blocks of a tag, so that their device memory is free for other uses.

    Without a tag all blocks; "" means the blocks without a tag. Raises NotFound for a tag that was never used,
    OutOfMemory if there is no room for them elsewhere.
    """
    return _move_tag("tessera_sleep", tag)


def wake(tag: Optional[str] = None) -> Moved:
    """Fetches them back; blocks without room (`stayed_bytes`) stay away until they are used."""
    return _move_tag("tessera_wake", tag)


def mark(kind: str, number: int) -> None:
    """Records the program's progress, e.g. ("iteration", 7), for traces."""
    _call("tessera_mark", kind.encode(), number)


@contextlib.contextmanager
def profile(path: Union[str, "os.PathLike[str]"]) -> Iterator[None]:
    """Writes the history of what happens inside to a file, which `tessera report` draws.

    There is one profile at a time: another one that begins inside ends this one, which then has no file. Raises
    TesseraError if Tessera has not started in the end. Nothing is written if an exception leaves it.
    """
    _begin_profile()
    try:
        yield
    except BaseException:
        with contextlib.suppress(TesseraError):
            _end_profile(None)
        raise
    _end_profile(os.fspath(path))


def query(tensor: Any) -> BlockInfo:
    """The block that contains a tensor, and the location of its bytes."""
    return _query(_address_of(tensor))


def _text_of(name: str, value: Any) -> str:
    if isinstance(value, int) and ("bytes" in name or name.endswith(("_capacity", "_used", "_spare",
                                                                      "_peak", "_pinned"))):
        return f"{value / (1 << 20):,.1f} MiB"
    if isinstance(value, int) and name.endswith("_ns"):
        return f"{value / 1e6:,.1f} ms"
    return f"{value:,}" if isinstance(value, int) else str(value)


def memory_stats() -> Dict[str, int]:
    """Figures by the names of torch.cuda.memory_stats(), where the meaning is the same; of all devices together."""
    return _memory_stats(stats())


def report() -> str:
    """The statistics as a readable table; docs/stats.md explains each line."""
    return _table(stats())


def _table(groups: Dict[str, Dict[str, Any]]) -> str:
    lines = []
    for group, values in groups.items():
        if not values:
            continue
        lines.append(group)
        in_bytes = "bytes " if group.endswith(("_by_tag", "_by_reason")) else ""
        lines += [f"  {name:<22}{_text_of(in_bytes + name, value):>18}"
                  for name, value in values.items()]
    return "\n".join(lines)


def load_ipython_extension(shell: Any) -> None:
    """For `%load_ext tessera` in a notebook: `%tessera` and `%%tessera_profile`."""
    from ._jupyter import load
    load(shell)


def __getattr__(name: str) -> Any:
    if name == "regenerate":
        raise AttributeError("tessera.regenerate is now tessera.recompute")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
