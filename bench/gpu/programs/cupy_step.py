"""Matrix work in CuPy over more arrays than a small budget holds; prints digests as JSON."""

import argparse
import hashlib
import json
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    import cupy
    import numpy
    count, side = 12, 4096
    chosen = numpy.random.default_rng(1)
    base = chosen.integers(-3, 4, (side, side)).astype(numpy.float32)
    arrays = [cupy.asarray(base + i) for i in range(count)]
    seconds = []
    for _ in range(options.rounds):
        start = time.perf_counter()
        for i in range(count):
            product = arrays[i] @ arrays[(i + 1) % count]
            arrays[i] = cupy.remainder(product, 7).astype(cupy.float32)
            arrays[i] += cupy.sort(arrays[(i + 2) % count], axis=1)[:, ::-1]
        cupy.cuda.Device().synchronize()
        seconds.append(round(time.perf_counter() - start, 6))
    total = hashlib.sha256()
    for array in arrays:
        total.update(cupy.asnumpy(array).tobytes())
    pool = cupy.get_default_memory_pool()
    print(json.dumps({"digest": total.hexdigest()[:16], "round_seconds": seconds,
                      "pool_bytes": pool.total_bytes(), "cupy": cupy.__version__}))


if __name__ == "__main__":
    main()
