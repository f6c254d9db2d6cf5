"""Actors of Ray that hold blocks of a device, by the driver API: ACTORS.

Prints "held" with their process ids once each has written its blocks, reads its input to the end, and prints "right" for
each actor whose blocks have kept their numbers.
"""

import ctypes
import os
import sys

import ray

BLOCKS, WORDS = 24, 1 << 20  # of 4 MiB


@ray.remote
class Holder:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuInit(0))
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.context = context
        self.blocks = []

    def check(self, code):
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def hold(self, first):
        self.check(self.cuda.cuCtxSetCurrent(self.context))  # calls may come on any thread
        for number in range(first, first + BLOCKS):
            block = ctypes.c_uint64()
            self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(WORDS * 4)))
            self.check(self.cuda.cuMemsetD32_v2(block, number, ctypes.c_size_t(WORDS)))
            self.blocks.append((block, number))
        return os.getpid()

    def are_right(self):
        self.check(self.cuda.cuCtxSetCurrent(self.context))
        words = (ctypes.c_uint32 * WORDS)()
        for block, number in self.blocks:
            self.check(self.cuda.cuMemcpyDtoH_v2(words, block, ctypes.c_size_t(WORDS * 4)))
            if bytes(words) != number.to_bytes(4, "little") * WORDS:
                return False
        return True


def main():
    actors = int(sys.argv[1])
    ray.init(num_cpus=actors, include_dashboard=False, log_to_driver=False)
    holders = [Holder.remote() for _ in range(actors)]
    print("held", *ray.get([holder.hold.remote(1 + i * BLOCKS) for i, holder in enumerate(holders)]), flush=True)
    sys.stdin.read()
    for right in ray.get([holder.are_right.remote() for holder in holders]):
        print("right" if right else "wrong", flush=True)


if __name__ == "__main__":
    main()
