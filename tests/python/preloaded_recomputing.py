"""Run under `tessera run`: a block that is made again from another by a copy that the program queues itself."""

import ctypes

import tessera

SIZE = 4 << 20
cuda = ctypes.CDLL("libcuda.so.1")


def must(result):
    assert result == 0, result


def block(byte):
    address = ctypes.c_uint64()
    must(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(SIZE)))
    must(cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(byte), ctypes.c_size_t(SIZE)))
    return address.value


def bytes_of(address):
    buffer = ctypes.create_string_buffer(SIZE)
    must(cuda.cuMemcpyDtoH_v2(buffer, ctypes.c_uint64(address), ctypes.c_size_t(SIZE)))
    return set(buffer.raw)


def from_source(address, size, stream):
    must(cuda.cuMemcpyDtoDAsync_v2(ctypes.c_uint64(address), ctypes.c_uint64(source), ctypes.c_size_t(size),
                                   ctypes.c_void_p(stream)))


context = ctypes.c_void_p()
must(cuda.cuInit(0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cuda.cuCtxSetCurrent(context))
source, copy = block(5), block(5)
others = [block(6) for _ in range(4)]  # with these the device is too small, so both have left
for _ in range(3):
    tessera.recompute(copy, from_source, cost_ns=1, reads=[source])
    for other in others:
        assert bytes_of(other) == {6}
    assert bytes_of(copy) == {5}
    assert bytes_of(source) == {5}
assert tessera.stats()["recomputed"]["recomputes"] > 0, tessera.report()
print("recomputed")
