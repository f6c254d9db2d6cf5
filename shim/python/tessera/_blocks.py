"""Blocks for other libraries' allocators: an address for a size."""

import ctypes

from . import _api, _remaking


def malloc(size: int, device: int = 0, stream: int = 0) -> int:
    """The address of a new block, for use on `stream` (a handle; 0 is the default stream) at once.

    Without `tessera run` nobody sees the work that uses it, so it leaves only on command.
    """
    address = ctypes.c_uint64()
    _api.call("tessera_malloc", device, max(size, 1), stream, ctypes.byref(address))
    _api.look_around()
    return address.value


def free(address: int, stream: int = 0) -> None:
    """Gives the block back: it is reused when the work queued on `stream` so far is over."""
    _api.call("tessera_free", address, stream)
    _remaking.forget(address)
