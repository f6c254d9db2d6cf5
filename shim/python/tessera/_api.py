"""The C API through ctypes: one function per call, errors as exceptions, no state.

Calls release the interpreter's lock, since many of them may wait for copies.
"""

import contextlib
import ctypes
import functools
import json
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple, Type

from . import _library

_c_address = ctypes.c_uint64
# Recomputes a block's bytes: context, address, size, stream.
RECOMPUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _c_address, ctypes.c_size_t, ctypes.c_uint64)


class TesseraError(RuntimeError):
    """A call of Tessera failed; the text has the reason."""


class OutOfMemory(TesseraError, MemoryError):
    """No tier had room for it; the text names the budgets."""


class NotFound(TesseraError, LookupError):
    """The tensor's memory (or the tag) is unknown to Tessera, or was already freed."""


class Busy(TesseraError):
    """Pinned, or currently in use."""


_READ = 1
_NOT_FOUND, _BUSY = 2, 6
_ERRORS: Dict[int, Type[TesseraError]] = {_NOT_FOUND: NotFound, 3: OutOfMemory, _BUSY: Busy}


class Moved(NamedTuple):
    """Bytes of pages that were evicted (or fetched), and of those that could not be."""

    moved_bytes: int
    stayed_bytes: int


class BlockInfo(NamedTuple):
    """A block, and how many of its bytes are in each tier."""

    address: int
    bytes: int
    device_bytes: int
    host_bytes: int
    file_bytes: int
    pins: int
    tag: str


class _Moved(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("moved_bytes", ctypes.c_uint64), ("stayed_bytes", ctypes.c_uint64)]


class _BlockInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("capacity", ctypes.c_uint64), ("generation", ctypes.c_uint64),
                ("device_bytes", ctypes.c_uint64), ("host_bytes", ctypes.c_uint64),
                ("file_bytes", ctypes.c_uint64), ("pins", ctypes.c_uint32),
                ("tag", ctypes.c_char * 32)]


class _Extent(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


_handle = ctypes.c_void_p
_ARGUMENTS: Dict[str, Sequence[Any]] = {
    "tessera_options_create": [ctypes.POINTER(_handle)],
    "tessera_options_set": [_handle, ctypes.c_char_p, ctypes.c_char_p],
    "tessera_options_check": [_handle],
    "tessera_options_destroy": [_handle],
    "tessera_shared": [ctypes.POINTER(_handle)],
    "tessera_shared_exists": [],
    "tessera_malloc": [_handle, ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64,
                       ctypes.POINTER(_c_address)],
    "tessera_free": [_handle, _c_address, ctypes.c_uint64],
    "tessera_host_malloc": [_handle, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)],
    "tessera_host_free": [_handle, ctypes.c_void_p],
    "tessera_memory_info": [_handle, ctypes.c_int, ctypes.POINTER(ctypes.c_uint64),
                            ctypes.POINTER(ctypes.c_uint64)],
    "tessera_prefetch": [_handle, ctypes.POINTER(_c_address), ctypes.c_size_t],
    "tessera_evict": [_handle, ctypes.POINTER(_c_address), ctypes.c_size_t],
    "tessera_pin": [_handle, _c_address],
    "tessera_unpin": [_handle, _c_address],
    "tessera_extents_set": [_handle, _c_address, ctypes.POINTER(_Extent), ctypes.c_size_t],
    "tessera_set_policy": [_handle, ctypes.c_char_p],
    "tessera_tag_push": [_handle, ctypes.c_char_p],
    "tessera_tag_pop": [_handle],
    "tessera_sleep": [_handle, ctypes.c_char_p, ctypes.POINTER(_Moved)],
    "tessera_wake": [_handle, ctypes.c_char_p, ctypes.POINTER(_Moved)],
    "tessera_query": [_handle, _c_address, ctypes.POINTER(_BlockInfo)],
    "tessera_stats_json": [_handle, ctypes.c_char_p, ctypes.c_size_t,
                           ctypes.POINTER(ctypes.c_size_t)],
    "tessera_set_recompute": [_handle, _c_address, RECOMPUTE, ctypes.c_void_p, ctypes.c_uint64],
    "tessera_use_begin_blocking": [_handle, ctypes.POINTER(_c_address), ctypes.c_size_t, ctypes.c_uint64,
                                   ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)],
    "tessera_use_end": [_handle, ctypes.POINTER(ctypes.c_uint64)],
    "tessera_set_automatic": [_handle, ctypes.c_int],
    "tessera_mark": [_handle, ctypes.c_char_p, ctypes.c_uint64],
    "tessera_profile_begin": [_handle],
    "tessera_profile_end": [_handle, ctypes.c_char_p],
}


# Functions that cannot fail return nothing, which is read as 0.
_RESULTS: Dict[str, Any] = {"tessera_use_end": lambda _: 0, "tessera_options_destroy": lambda _: 0}


@functools.lru_cache(maxsize=None)
def _function(name: str) -> Callable[..., int]:
    function = getattr(_library.load(), name)
    function.argtypes = _ARGUMENTS[name]
    function.restype = _RESULTS.get(name, ctypes.c_int)
    return function  # type: ignore[no-any-return]


class _Calling(threading.local):
    depth = 0  # nesting depth of our calls on this thread
    failure: Optional[BaseException] = None  # of a Python callback during the call


_calling = _Calling()


def note_failure(error: BaseException) -> None:
    """Handles an exception in a Python callback: it becomes the cause of our call's exception; outside our calls it
    is reported at once."""
    if _calling.depth:
        _calling.failure = error
    else:
        sys.excepthook(type(error), error, error.__traceback__)


def run(function: Callable[..., int], *arguments: Any) -> None:
    """Calls the function, and raises the exception for its result."""
    _calling.depth += 1
    try:
        result = function(*arguments)
    finally:
        _calling.depth -= 1
    failure, _calling.failure = _calling.failure, None
    check(result, failure)


def _last_error() -> str:
    last_error = _library.load().tessera_last_error
    last_error.restype = ctypes.c_char_p
    return (last_error() or b"").decode(errors="replace")


def check(result: int, cause: Optional[BaseException] = None) -> None:
    """Raises the exception for a result."""
    if result == 0:
        return
    raise _ERRORS.get(result, TesseraError)(_last_error() or f"result {result}") from cause


def call(name: str, *arguments: Any) -> None:
    """Calls the function on the allocator that this process shares."""
    allocator = _handle()
    check(_function("tessera_shared")(ctypes.byref(allocator)))
    run(_function(name), allocator, *arguments)


def check_options(values: Dict[str, str]) -> None:
    """Raises ValueError if the library would not start with these options, given by name."""
    def must(result: int) -> None:
        if result != 0:
            raise ValueError(_last_error())

    options = _handle()
    must(_function("tessera_options_create")(ctypes.byref(options)))
    try:
        for name, value in values.items():
            must(_function("tessera_options_set")(options, name.encode(), value.encode()))
        must(_function("tessera_options_check")(options))
    finally:
        _function("tessera_options_destroy")(options)


def has_started() -> bool:
    """Whether this process already shares an allocator, with its options fixed."""
    return bool(_function("tessera_shared_exists")())


def look_around() -> None:
    """Call after an allocation: the preload library, if present, learns new addresses."""
    allocator = _handle()
    check(_function("tessera_shared")(ctypes.byref(allocator)))


def memory_info(device: int) -> Tuple[int, int]:
    """Free and total bytes of a device."""
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    call("tessera_memory_info", device, ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def call_with_addresses(name: str, addresses: Sequence[int]) -> None:
    """The same for a list of blocks; does nothing for an empty list."""
    if addresses:
        call(name, (_c_address * len(addresses))(*addresses), len(addresses))


def set_extents(address: int, extents: Sequence[Tuple[int, int]]) -> None:
    """Calls tessera_extents_set with (offset, bytes) pairs."""
    array = (_Extent * len(extents))(*(_Extent(offset, size) for offset, size in extents))
    call("tessera_extents_set", address, array, len(extents))


@contextlib.contextmanager
def held(addresses: Sequence[int], stream: int) -> Iterator[None]:
    """Keeps blocks that work on the stream reads resident, until the work queued inside is over.

    The blocks are held, but no gate is open: Python code inside may have to wait for the interpreter's lock, and the
    thread that has the lock may wait for a gate.
    """
    if not addresses:
        yield
        return
    use = (ctypes.c_uint64 * 4)()
    call("tessera_use_begin_blocking", (_c_address * len(addresses))(*addresses), len(addresses), stream, _READ, use)
    try:
        yield
    finally:
        call("tessera_use_end", use)


def move_tag(name: str, tag: Optional[str]) -> Moved:
    """Calls tessera_sleep or tessera_wake."""
    moved = _Moved(size=ctypes.sizeof(_Moved))
    call(name, None if tag is None else tag.encode(), ctypes.byref(moved))
    return Moved(moved.moved_bytes, moved.stayed_bytes)


def _block_info(address: int) -> _BlockInfo:
    info = _BlockInfo(size=ctypes.sizeof(_BlockInfo))
    call("tessera_query", address, ctypes.byref(info))
    return info


def block_of(address: int) -> Tuple[int, int]:
    """The first byte and the generation of the block that contains the address."""
    info = _block_info(address)
    return info.address, info.generation


def query(address: int) -> BlockInfo:
    """The block that contains the address."""
    info = _block_info(address)
    return BlockInfo(info.address, info.bytes, info.device_bytes, info.host_bytes, info.file_bytes,
                     info.pins, info.tag.decode(errors="replace"))


def begin_profile() -> None:
    """Begins a part of the program that is reported by itself; before Tessera has started, it begins with it."""
    run(_function("tessera_profile_begin"), None)


def end_profile(path: Optional[str]) -> None:
    """Ends the part, and writes its history; without a path it is dropped."""
    run(_function("tessera_profile_end"), None, None if path is None else os.fsencode(path))


def stats() -> Dict[str, Dict[str, Any]]:
    """All statistics, by group."""
    capacity = 1 << 16
    needed = ctypes.c_size_t(capacity)
    while True:  # the text may grow between two calls
        buffer = ctypes.create_string_buffer(max(capacity, needed.value))
        capacity = len(buffer)
        call("tessera_stats_json", buffer, capacity, ctypes.byref(needed))
        if needed.value <= capacity:
            return json.loads(buffer.value)  # type: ignore[no-any-return]
