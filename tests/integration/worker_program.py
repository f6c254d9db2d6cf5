"""A parent and two workers that use the device, with a start method of multiprocessing; each prints its number.

Usage: worker_program.py spawn|fork|forkserver
"""

import ctypes
import multiprocessing
import os
import sys

BYTES = 2 << 20


def use_device(blocks=12):
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    addresses = [ctypes.c_uint64() for _ in range(blocks)]
    calls = [lambda: cuda.cuInit(0), lambda: cuda.cuDeviceGet(ctypes.byref(device), 0),
             lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
             lambda: cuda.cuCtxSetCurrent(context)]
    calls += [lambda at=at: cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(BYTES)) for at in addresses]
    calls += [lambda at=at: cuda.cuMemsetD32_v2(at, 7, ctypes.c_size_t(BYTES // 4)) for at in addresses]
    for call in calls:
        if code := call():
            sys.exit(f"{os.getpid()}: CUDA error {code}")


def work(queue):
    use_device()
    queue.put(os.getpid())


def main():
    ways = multiprocessing.get_context(sys.argv[1])
    queue = ways.Queue()
    workers = [ways.Process(target=work, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    numbers = [queue.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        sys.exit(f"exit codes {[worker.exitcode for worker in workers]}")
    use_device()
    print(*numbers, os.getpid())


if __name__ == "__main__":
    main()
