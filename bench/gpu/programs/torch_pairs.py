"""Nanoseconds of an allocation and its free through PyTorch, with the native allocator or Tessera's.

Usage: torch_pairs.py native|tessera. Both use the same Python call, whose own cost is in both figures.
"""

import json
import statistics
import sys
import time


def pair_ns(torch, nbytes, rounds):
    stream = torch.cuda.current_stream()
    costs = []
    for _ in range(9):
        start = time.perf_counter_ns()
        for _ in range(rounds):
            block = torch.empty(nbytes, dtype=torch.uint8, device="cuda")
            del block
        costs.append((time.perf_counter_ns() - start) / rounds)
    stream.synchronize()
    return {"median": statistics.median(costs), "least": min(costs)}


def main(allocator):
    import torch
    if allocator == "tessera":
        import tessera.torch
        tessera.torch.enable()
    found = {str(nbytes): pair_ns(torch, nbytes, 2000) for nbytes in (512, 1 << 20, 64 << 20)}
    print(json.dumps({"pair_ns": found, "torch": torch.__version__}))


if __name__ == "__main__":
    main(sys.argv[1])
