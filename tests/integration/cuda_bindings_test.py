"""NVIDIA's own Python binding of the driver API, unmodified from PyPI, on a third of the memory that it uses.

The program runs alone with ample memory, and under `tessera run`; all bytes that it reads back must be the same. Its
own mappings stay the driver's, so the software device has room for them beside Tessera's heap.

Usage: cuda_bindings_test.py BUILD_FOLDER     Exits with 77 if the binding is unavailable, for instance without
network.
"""

import pathlib
import sys

from two_runs import on_less_memory
from virtual_environment import python_with

PARTS = {"13.0.3": 2, "13.5.0": 3}  # by version of the binding, which queries the driver for calls of that version
BLOCKS, BLOCK = 12, 4 << 20
PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "python" / "cuda_bindings_calls.py"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for version, parts in PARTS.items():
        program = [python_with(build, "cuda-bindings", version), PROGRAM, BLOCKS,
                   build / "lib/tessera/vector_add_kernels.so"]
        told, figures = on_less_memory(build, program, BLOCKS * BLOCK // 3, outside=2 * BLOCK)
        assert told.count("\n") == parts, told
        assert figures["blocks"]["peak_live_bytes"] == BLOCKS * BLOCK, figures["blocks"]
        assert min(figures["moves"]["bytes_in"], figures["moves"]["bytes_out"]) > BLOCKS * BLOCK, figures["moves"]


if __name__ == "__main__":
    main()
