"""A second framework without a GPU: NVIDIA's cuda.core, unmodified from PyPI, on a third of the memory that it uses.

Its kernels are CUDA C compiled at run time. All numbers must be the same with and without Tessera, for every way of
launching them: streams, stream-ordered memory, graphs, a conditional graph.

Usage: cuda_core_test.py BUILD_FOLDER [--print]
Exits with 77 if cuda.core is unavailable, for instance without network. --print shows the program's output, and the
moves.
"""

import pathlib
import sys

from two_runs import on_less_memory
from virtual_environment import python_with, skip

VERSION = "1.2.2"
BESIDE = ("cuda-bindings==13.0.3", "numpy==2.4.6")
PAGE, PLATE, PLATES = 2 << 20, 2 << 20, 12
PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "python" / "cuda_core_plates.py"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "lib/softcuda/libnvrtc.so").exists():
        skip("there is no stand-in for NVRTC: the CUDA toolkit's nvrtc.h was not found")
    program = [python_with(build, "cuda-core", VERSION, *BESIDE), PROGRAM, PLATES]
    states = 2 * PLATES * PLATE
    heap = states // 3 // PAGE * PAGE
    told, figures = on_less_memory(build, program, heap)
    ways = [line.split() for line in told.splitlines()]
    assert [way[0] for way in ways] == ["launches", "states", "graph", "until"], told
    assert len({way[2] for way in ways}) == len(ways), f"a way changed nothing: {told}"
    blocks, moves = figures["blocks"], figures["moves"]
    assert blocks["peak_live_bytes"] >= states, blocks
    assert blocks["live_blocks"] == 0, blocks
    assert min(moves["bytes_in"], moves["bytes_out"]) > states, moves
    if "--print" in sys.argv:
        print(told, end="")
        print(f"{blocks['peak_live_bytes']} bytes on {heap}, moved in {moves['bytes_in']}, out {moves['bytes_out']}")


if __name__ == "__main__":
    main()
