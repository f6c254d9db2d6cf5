"""Blocks for the allocators of other libraries: an address for a size."""

import ctypes

from . import _api, _recomputing


def malloc(size: int, device: int = 0, stream: int = 0) -> int:
    """Allocates a block and returns its address, for immediate use on `stream` (a handle; 0 is the default stream).

    Without `tessera run` its uses are not seen, so it is evicted only on command.
    """
    address = ctypes.c_uint64()
    _api.call("tessera_malloc", device, max(size, 1), stream, ctypes.byref(address))
    _api.look_around()
    return address.value


def free(address: int, stream: int = 0) -> None:
    """Frees the block: it is reused when the work queued on `stream` so far is over."""
    _api.call("tessera_free", address, stream)
    _recomputing.forget(address)


def host_malloc(size: int) -> int:
    """Allocates a block of pinned host memory and returns its address, which the device can access too.

    It is part of the host budget. Raises OutOfMemory if that, the machine or the driver has no room for it. Call it in
    the context in which the device's blocks are used.
    """
    address = ctypes.c_void_p()
    _api.call("tessera_host_malloc", max(size, 1), ctypes.byref(address))
    return address.value or 0


def host_free(address: int) -> None:
    """Frees the block. No queued work may use it any more."""
    _api.call("tessera_host_free", address)
