"""Tessera: a CUDA heap larger than the GPU.

Hints for tensors of any framework whose memory Tessera manages, and figures. `tessera.torch` is the
way in for PyTorch; `python -m tessera run train.py` needs no change in the program at all.

A tensor is anything with `data_ptr()`, or an address. Every call may be made from any thread.
"""

import contextlib
from typing import Any, Dict, Iterator, Optional

from ._api import BlockInfo, Busy, Moved, NotFound, OutOfMemory, TesseraError
from ._api import call as _call
from ._api import call_with_addresses as _call_with_addresses
from ._api import move_tag as _move_tag
from ._api import query as _query
from ._api import stats
from ._blocks import free, malloc
from ._library import LibraryNotFound
from ._remaking import regenerate
from ._tensors import address_of as _address_of
from ._tensors import addresses_of as _addresses_of

__all__ = ["BlockInfo", "Busy", "LibraryNotFound", "Moved", "NotFound", "OutOfMemory",
           "TesseraError", "evict", "free", "malloc", "mark", "pin", "prefetch", "query", "regenerate",
           "report", "set_policy", "sleep", "stats", "tag", "unpin", "wake"]


def prefetch(*tensors: Any) -> None:
    """Starts bringing tensors to the device, as far as nobody in use has to leave for them."""
    _call_with_addresses("tessera_prefetch", _addresses_of(tensors))


def evict(*tensors: Any) -> None:
    """Moves tensors out now, and waits for it. Raises Busy for one that is pinned or in use."""
    _call_with_addresses("tessera_evict", _addresses_of(tensors))


def pin(*tensors: Any) -> None:
    """Brings tensors in, waits for them, and keeps them until as many unpins.

    If one fails, none is pinned.
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
    """Lets pinned tensors leave again."""
    for address in _addresses_of(tensors):
        _call("tessera_unpin", address)


def set_policy(name: str) -> None:
    """Who leaves, from now on, on every device: for programs with phases.

    The name is what the option `policy` takes, e.g. "recency". What was learned of the program stays.
    """
    _call("tessera_set_policy", name.encode())


@contextlib.contextmanager
def tag(name: str) -> Iterator[None]:
    """What this thread allocates inside carries the tag: for statistics, sleep and wake."""
    _call("tessera_tag_push", name.encode())
    try:
        yield
    finally:
        _call("tessera_tag_pop")


def sleep(tag: Optional[str] = None) -> Moved:
    """Moves all blocks of a tag out of device memory, which is free for others then.

    Without a tag all blocks, "" means those that have none. Raises NotFound for a tag that nothing
    ever had, OutOfMemory when there is no room for them elsewhere.
    """
    return _move_tag("tessera_sleep", tag)


def wake(tag: Optional[str] = None) -> Moved:
    """Brings them back; what finds no room (`stayed_bytes`) stays away until it is used."""
    return _move_tag("tessera_wake", tag)


def mark(kind: str, number: int) -> None:
    """A word about where the program is, e.g. ("iteration", 7), for traces."""
    _call("tessera_mark", kind.encode(), number)


def query(tensor: Any) -> BlockInfo:
    """The block behind a tensor, and where its bytes are."""
    return _query(_address_of(tensor))


def _text_of(name: str, value: Any) -> str:
    if isinstance(value, int) and ("bytes" in name or name.endswith(("_capacity", "_used", "_spare",
                                                                      "_peak"))):
        return f"{value / (1 << 20):,.1f} MiB"
    if isinstance(value, int) and name.endswith("_ns"):
        return f"{value / 1e6:,.1f} ms"
    return f"{value:,}" if isinstance(value, int) else str(value)


def report() -> str:
    """The statistics as a table to read; docs/stats.md explains each line."""
    lines = []
    groups: Dict[str, Dict[str, Any]] = stats()
    for group, values in groups.items():
        if not values:
            continue
        lines.append(group)
        in_bytes = "bytes " if group.endswith(("_by_tag", "_by_reason")) else ""
        lines += [f"  {name:<22}{_text_of(in_bytes + name, value):>18}"
                  for name, value in values.items()]
    return "\n".join(lines)
