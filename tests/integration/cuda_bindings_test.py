"""NVIDIA's own Python binding of the driver API, from PyPI and unchanged, on a third of the memory that it uses.

The program runs alone with ample memory, and under `tessera run`; all bytes that it reads back must be the same. What it
maps itself stays the driver's, so the software device has room for that beside Tessera's heap.

Usage: cuda_bindings_test.py BUILD_FOLDER     Ends with 77 when the binding cannot be had, as without network.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from virtual_environment import python_with

VERSION = "13.0.3"
BLOCKS, BLOCK = 12, 4 << 20
PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "python" / "cuda_bindings_calls.py"


def run(*words, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    done = subprocess.run(list(map(str, words)), env=kept | {"TESSERA_SOFTWARE_VERBOSE": "1"} | variables,
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    assert "not supported" not in done.stderr, done.stderr
    return done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    program = [python_with(build, "cuda-bindings", VERSION), PROGRAM, BLOCKS,
               build / "lib/tessera/vector_add_kernels.so"]
    alone = run(*program, LD_LIBRARY_PATH=str(build / "lib/softcuda"))
    with tempfile.TemporaryDirectory() as scratch:
        stats = pathlib.Path(scratch) / "stats.json"
        heap = BLOCKS * BLOCK // 3
        tight = run(build / "bin/tessera", "run", "--software", "--software-memory", heap + 2 * BLOCK,
                    "--device-memory", heap, "--stats", stats, "--", *program)
        figures = json.loads(stats.read_text())
    assert alone == tight and alone.count("\n") == 2, f"alone\n{alone}under Tessera\n{tight}"
    assert figures["blocks"]["peak_live_bytes"] == BLOCKS * BLOCK, figures["blocks"]
    assert figures["device"]["device_peak"] <= heap, figures["device"]
    assert min(figures["moves"]["bytes_in"], figures["moves"]["bytes_out"]) > BLOCKS * BLOCK, figures["moves"]


if __name__ == "__main__":
    main()
