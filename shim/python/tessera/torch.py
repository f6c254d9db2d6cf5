"""The interface for PyTorch: an allocator, and ways to make its work visible to Tessera.

Importing this does not need PyTorch; using it does. docs/pytorch.md helps to choose.
"""

import contextlib
import ctypes
import os
import threading
import warnings
from typing import Any, Iterator, Optional

from . import _api, _library, _offload, _tensors, _torch_listener

_HOOKS = {
    "set_reset_fn": "tessera_torch_reset",
    "set_memory_fraction_fn": "tessera_torch_memory_fraction",
    "set_base_alloc_fn": "tessera_torch_base_alloc",
    "set_record_stream_fn": "tessera_torch_record_stream",
    "set_begin_allocate_to_pool": "tessera_torch_begin_pool",
    "set_end_allocate_to_pool_fn": "tessera_torch_end_pool",
    "set_release_pool": "tessera_torch_release_pool",
}
_lock = threading.Lock()
_library_handle: Optional[ctypes.CDLL] = None
_tracks = 0


def _hooks_library() -> ctypes.CDLL:
    global _library_handle
    with _lock:
        if _library_handle is None:
            _library_handle = ctypes.CDLL(str(_library.folder() / "libtessera_torch.so"))
            _library_handle.tessera_torch_begin.argtypes = [ctypes.POINTER(ctypes.c_uint64),
                                                            ctypes.c_size_t, ctypes.c_size_t]
            _library_handle.tessera_torch_end.argtypes = [ctypes.c_void_p]
        return _library_handle


def _choose(**options: Any) -> None:
    """Sets options where the library reads them: in the environment, once, at its start."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value)
             for name, value in options.items() if value is not None}
    if not texts:
        return
    if _library.preloaded():
        raise ValueError("Tessera is already running: pass its options to `tessera run`")
    if _api.has_started():
        raise RuntimeError("Tessera has already started in this process: it is too late to set options")
    _api.check_options({name.replace("_", "-"): text for name, text in texts.items()})
    for name, text in texts.items():
        os.environ["TESSERA_" + name.upper()] = text


def enable(device_memory: Optional[str] = None, host_memory: Optional[str] = None,
           file_dir: Optional[str] = None, **options: Any) -> None:
    """Allocates every CUDA tensor from Tessera from now on.

    Call it before PyTorch has allocated on a GPU. Options are those of docs/tuning.md with _ for -, sizes like
    "20GiB". Under `tessera run` they are given there, and not here. Raises ValueError for an unknown option or an
    invalid value, RuntimeError for options if Tessera has already started.
    """
    import torch
    _choose(device_memory=device_memory, host_memory=host_memory, file_dir=file_dir, **options)
    library = _hooks_library()
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        library._name, "tessera_torch_malloc", "tessera_torch_free")
    for setter, name in _HOOKS.items():
        set_hook = getattr(allocator._allocator, setter, None)
        if set_hook is not None:
            set_hook(ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    torch.cuda.memory.change_current_allocator(allocator)


def build_listener() -> str:
    """Makes PyTorch's own allocator tell which part of a segment is which tensor, under `tessera run`.

    Compiles what listens to it for this PyTorch, once, and returns its file. Call it before PyTorch has allocated on a
    GPU. Raises RuntimeError, with the reason, where it cannot be built: segments move as a whole then.
    """
    return str(_torch_listener.build())


def watched() -> bool:
    """Whether all work is seen, so that blocks may be evicted automatically."""
    return _library.preloaded() or _tracks > 0


def _begin(function: Any, args: Any, kwargs: Any) -> None:
    addresses, written = _tensors.operands(function, args, kwargs)
    array = (ctypes.c_uint64 * len(addresses))(*addresses)
    _api.run(_hooks_library().tessera_torch_begin, array, len(addresses), written)


def _end(stream: int) -> None:
    _api.check(_hooks_library().tessera_torch_end(stream))


def _tracking_mode() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Tracking(TorchDispatchMode):  # type: ignore[misc]
        """Brackets every operator."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            _begin(func, args, kwargs)
            try:
                return func(*args, **kwargs)
            finally:
                started = torch.cuda.is_initialized()
                _end(torch.cuda.current_stream().cuda_stream if started else 0)

    return Tracking()


def _stop_automatic() -> None:
    """Outside, uses are not seen: all blocks are fetched as far as they fit."""
    _api.call("tessera_set_automatic", 0)
    stayed = _api.move_tag("tessera_wake", None).stayed_bytes
    if stayed:
        warnings.warn(f"{stayed} bytes of tensors do not fit on the device and stay evicted: use "
                      "them inside track(), or pin() them first", RuntimeWarning, stacklevel=4)


@contextlib.contextmanager
def track() -> Iterator[None]:
    """Lets eager code inside use more than the device holds: every operator's tensors are fetched.

    For programs that do not run under `tessera run`, where this does nothing. Custom kernels that PyTorch does not
    dispatch are not seen, and neither are graphs.
    """
    global _tracks
    if _library.preloaded():
        yield
        return
    with _lock:
        if _tracks == 0:
            _api.call("tessera_set_automatic", 1)
        _tracks += 1
    try:
        with _tracking_mode():
            yield
    finally:
        with _lock:
            _tracks -= 1
            if _tracks == 0:
                _stop_automatic()


@contextlib.contextmanager
def offload_activations(least_bytes: int = 1 << 20, lag: int = 4, ahead: int = 2) -> Iterator[None]:
    """Evicts tensors that autograd saves inside early, in place, and fetches them before backward.

    `lag`: the number of later tensors saved before one is evicted. `ahead`: the number fetched early. Needs `tessera
    run` or track(): a tensor that is used again in forward must be able to return.
    """
    import torch
    if not watched():
        raise RuntimeError("offload_activations() needs `tessera run`, or track() around it")
    offload = _offload.ActivationOffload(
        lambda addresses: _api.call_with_addresses("tessera_evict", addresses),
        lambda addresses: _api.call_with_addresses("tessera_prefetch", addresses),
        least_bytes, lag, ahead)
    try:
        with torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack):
            yield
    finally:
        failure = offload.close()
        if failure is not None:
            warnings.warn(f"activations stayed on the device: {failure}", RuntimeWarning,
                          stacklevel=3)
