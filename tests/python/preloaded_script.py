"""Run under `tessera run`: one heap for the driver API and for the Python package."""

import ctypes
import sys

import tessera
from tessera import _library

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
with tessera.tag("model"):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 << 20)) == 0
assert tessera.query(address.value).tag == "model"
assert tessera.sleep("model").moved_bytes == 4 << 20
print(sys.argv[1:], "preloaded" if _library.preloaded() else "alone")
