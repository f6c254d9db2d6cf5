"""The interface for Numba: a memory manager (an EMM plugin) for numba-cuda.

`numba.cuda.set_memory_manager(tessera.numba.TesseraMemoryManager)` before any array is on a GPU, or
NUMBA_CUDA_MEMORY_MANAGER=tessera.numba in the environment. docs/numba.md says when it is worth it.
"""

import functools
from typing import Any, Tuple

from cuda.bindings.driver import CUdeviceptr
from numba import cuda

from . import _api, _blocks


class TesseraMemoryManager(cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc]
    """Device arrays are blocks of Tessera; host memory stays Numba's.

    A block is freed when its array is destroyed, in the order of the default stream, with which the streams created
    by Numba synchronise. defer_cleanup() has no effect on device memory: freeing is cheap.
    """

    def initialize(self) -> None:
        """Numba's interface: nothing to prepare."""

    def memalloc(self, size: int) -> Any:
        """Numba's interface: a device pointer that frees its block."""
        address = _blocks.malloc(size, self.context.device.id)
        return cuda.MemoryPointer(self.context, CUdeviceptr(address), size,
                                  finalizer=functools.partial(_blocks.free, address))

    def get_memory_info(self) -> Tuple[int, int]:
        """Numba's interface: free and total bytes, as from cuMemGetInfo."""
        return cuda.MemoryInfo(*_api.memory_info(self.context.device.id))  # type: ignore[no-any-return]

    def get_ipc_handle(self, memory: Any) -> Any:
        """Numba's interface: blocks that move cannot be shared."""
        raise RuntimeError("Tessera's memory is evictable, so it cannot be shared with other processes")

    @property
    def interface_version(self) -> int:
        return 1


_numba_memory_manager = TesseraMemoryManager  # the name that Numba looks for
