"""Numba's way in: a memory manager (an EMM plugin), for numba-cuda.

`numba.cuda.set_memory_manager(tessera.numba.TesseraMemoryManager)` before anything is on a GPU, or
NUMBA_CUDA_MEMORY_MANAGER=tessera.numba in the environment. docs/numba.md says when it is worth it.
"""

import functools
from typing import Any, Tuple

from cuda.bindings.driver import CUdeviceptr
from numba import cuda

from . import _api, _blocks


class TesseraMemoryManager(cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc]
    """Device arrays are blocks of Tessera; host memory stays Numba's.

    A block is given back when its array dies, in the order of the default stream, with which the streams
    that Numba makes keep in step. defer_cleanup() changes nothing for device memory: giving back is cheap.
    """

    def initialize(self) -> None:
        """Numba's: nothing to prepare."""

    def memalloc(self, size: int) -> Any:
        """Numba's: a device pointer that gives its block back."""
        address = _blocks.malloc(size, self.context.device.id)
        return cuda.MemoryPointer(self.context, CUdeviceptr(address), size,
                                  finalizer=functools.partial(_blocks.free, address))

    def get_memory_info(self) -> Tuple[int, int]:
        """Numba's: free and total bytes, as cuMemGetInfo would say them."""
        return cuda.MemoryInfo(*_api.memory_info(self.context.device.id))  # type: ignore[no-any-return]

    def get_ipc_handle(self, memory: Any) -> Any:
        """Numba's: blocks that move cannot be shared."""
        raise RuntimeError("memory of Tessera moves, so it cannot be shared with other processes")

    @property
    def interface_version(self) -> int:
        return 1


_numba_memory_manager = TesseraMemoryManager  # the name that Numba looks for
