"""The driver API as NVIDIA's own Python binding calls it. It knows nothing of Tessera.

Usage: cuda_bindings_calls.py BLOCKS KERNELS     KERNELS: the object with the kernel vector_add

Fills BLOCKS blocks of 4 MiB, adds neighbours on two streams, copies and compares them, and does the same with memory
that it maps itself; then it copies with attributes, if the binding is of a CUDA that has such copies. Prints one line
for each part; the last words of each are a digest of all bytes.
"""

import ctypes
import hashlib
import sys

from cuda.bindings import driver

BYTES = 4 << 20
FLOATS = BYTES // 4


def did(answer):
    """What a call gave, without its result code, which must be success."""
    code, *values = answer
    if code != driver.CUresult.CUDA_SUCCESS:
        sys.exit(f"{code!r}")
    return values[0] if len(values) == 1 else tuple(values)


def pattern(number):
    return (ctypes.c_float * FLOATS)(*([float(number), 1.5 * number, -2.0, 0.25] * (FLOATS // 4)))


def digest(addresses):
    seen, buffer = hashlib.sha256(), ctypes.create_string_buffer(BYTES)
    for address in addresses:
        did(driver.cuMemcpyDtoH(buffer, address, BYTES))
        seen.update(buffer.raw)
    return seen.hexdigest()[:16]


class Adder:
    def __init__(self, kernels):
        self.module = did(driver.cuModuleLoad(kernels.encode()))
        self.kernel = did(driver.cuModuleGetFunction(self.module, b"vector_add"))

    def add(self, total, a, b, stream):
        values = (int(total), int(a), int(b), FLOATS)
        types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        did(driver.cuLaunchKernel(self.kernel, FLOATS // 256, 1, 1, 256, 1, 1, 0, stream, (values, types), 0))


def chain(adder, blocks):
    """Each block becomes its sum with the one before, in turn on two streams that wait for each other."""
    streams = [did(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)) for _ in range(2)]
    event = did(driver.cuEventCreate(0))
    for i in range(1, len(blocks)):
        stream, other = streams[i % 2], streams[(i + 1) % 2]
        adder.add(blocks[i], blocks[i], blocks[i - 1], stream)
        did(driver.cuEventRecord(event, stream))
        did(driver.cuStreamWaitEvent(other, event, 0))
    did(driver.cuEventSynchronize(event))
    did(driver.cuEventDestroy(event))
    for stream in streams:
        did(driver.cuStreamSynchronize(stream))
        did(driver.cuStreamDestroy(stream))


def blocks_of_the_driver(adder, count):
    blocks = [did(driver.cuMemAlloc(BYTES)) for _ in range(count)]
    for number, block in enumerate(blocks):
        did(driver.cuMemcpyHtoD(block, pattern(number), BYTES))
    chain(adder, blocks)
    did(driver.cuMemsetD32(blocks[0], 7, FLOATS))
    did(driver.cuMemcpyDtoD(blocks[1], blocks[0], BYTES // 2))
    base, size = did(driver.cuMemGetAddressRange(int(blocks[2]) + 4096))
    if int(base) != int(blocks[2]) or size != BYTES:
        sys.exit("cuMemGetAddressRange names another block")
    print("blocks", digest(blocks))
    for block in blocks:
        did(driver.cuMemFree(block))


def memory_of_its_own(adder, device):
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.location.id = int(device)
    smallest = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    if BYTES % did(driver.cuMemGetAllocationGranularity(wanted, smallest)) != 0:
        sys.exit("the granularity is not what this program expects")
    access = driver.CUmemAccessDesc()
    access.location = wanted.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    base = did(driver.cuMemAddressReserve(2 * BYTES, 0, 0, 0))
    halves = [driver.CUdeviceptr(int(base) + place * BYTES) for place in range(2)]
    handles = [did(driver.cuMemCreate(BYTES, wanted, 0)) for _ in halves]
    for place, handle in zip(halves, handles):
        did(driver.cuMemMap(place, BYTES, 0, handle, 0))
    did(driver.cuMemSetAccess(base, 2 * BYTES, [access], 1))
    for number, place in enumerate(halves):
        did(driver.cuMemcpyHtoD(place, pattern(number + 3), BYTES))
    adder.add(halves[0], halves[0], halves[1], 0)
    did(driver.cuCtxSynchronize())
    print("mapped", digest(halves))
    did(driver.cuMemUnmap(base, 2 * BYTES))
    for handle in handles:
        did(driver.cuMemRelease(handle))
    did(driver.cuMemAddressFree(base, 2 * BYTES))


def copies_with_attributes(adder, count):
    """By calls of CUDA 13.2: from the host, and each block from the one before, which others had to leave for."""
    attributes = driver.CUmemcpyAttributes()
    attributes.srcAccessOrder = driver.CUmemcpySrcAccessOrder.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
    stream = did(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    blocks = [did(driver.cuMemAlloc(BYTES)) for _ in range(count)]
    source = pattern(11)
    did(driver.cuMemcpyWithAttributesAsync(blocks[0], ctypes.addressof(source), BYTES, attributes, stream))
    for block in blocks[1:]:
        did(driver.cuMemsetD32Async(block, 7, FLOATS, stream))
    for before, block in zip(blocks, blocks[1:]):
        did(driver.cuMemcpyWithAttributesAsync(block, before, BYTES, attributes, stream))
        adder.add(block, block, before, stream)
    did(driver.cuStreamSynchronize(stream))
    print("attributes", digest(blocks))
    for block in blocks:
        did(driver.cuMemFree(block))
    did(driver.cuStreamDestroy(stream))


def main(count, kernels):
    did(driver.cuInit(0))
    device = did(driver.cuDeviceGet(0))
    did(driver.cuCtxSetCurrent(did(driver.cuDevicePrimaryCtxRetain(device))))
    adder = Adder(kernels)
    blocks_of_the_driver(adder, count)
    memory_of_its_own(adder, device)
    if hasattr(driver, "cuMemcpyWithAttributesAsync"):
        copies_with_attributes(adder, count)
    did(driver.cuDevicePrimaryCtxRelease(device))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
