"""A real framework without a GPU: tinygrad, unmodified from PyPI, on a third of the memory that it uses.

Each model is trained twice on the software device: alone with ample memory, and under `tessera run` on a device of a
third of the peak of the first run. Every loss must be the same to the last bit. Single precision is enough for that,
because both runs execute the same kernels in the same order.

Usage: tinygrad_test.py BUILD_FOLDER [MODEL...] [--print]     Without a model it trains all of them.
Exits with 77 if tinygrad is unavailable, for instance without network. --print shows what was compared.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

from virtual_environment import python_with, skip

TINYGRAD = "0.14.0"
PAGE = 2 << 20
MODELS = ("transformer", "conv", "mlp")
MEMBERS = 4  # of each ensemble: with fewer, a single kernel uses more than a third of the peak
PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "python" / "tinygrad_training.py"


class Run:
    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.python = python_with(build, "tinygrad", TINYGRAD)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        # Kernels are host code here, so they must not enter the user's own kernel cache.
        self.environment = kept | {"DEV": "CUDA", "TRAINING": "1", "PARALLEL": "0", "PYTHONHASHSEED": "0",
                                   "CACHEDB": str(scratch / "kernels.db"), "TESSERA_SOFTWARE_VERBOSE": "1"}

    def start(self, model, *before, **variables):
        done = subprocess.run([*map(str, before), self.python, PROGRAM, model, str(MEMBERS)], text=True,
                              env=self.environment | variables, capture_output=True, timeout=280, check=False)
        assert done.returncode == 0, f"{model} {before}: {done.stderr[-2000:]}"
        assert "not supported" not in done.stderr, done.stderr
        return done

    def alone(self, model):
        """(losses, peak of allocated bytes)"""
        libraries = f"{self.build}/lib/softcuda:{os.environ.get('LD_LIBRARY_PATH', '')}"
        done = self.start(model, LD_LIBRARY_PATH=libraries)
        return done.stdout, int(re.search(r"at most (\d+) bytes", done.stderr)[1])

    def under_tessera(self, model, memory):
        stats = self.scratch / f"{model}.json"
        done = self.start(model, self.build / "bin/tessera", "run", "--software", "--software-memory", memory,
                          "--device-memory", memory, "--stats", stats, "--")
        return done.stdout, json.loads(stats.read_text())


def compare(run, model):
    """Lines about what was compared. Fails if the two runs differ, or if nothing had to move."""
    losses, peak = run.alone(model)
    memory = peak // 3 // PAGE * PAGE
    tight, figures = run.under_tessera(model, memory)
    assert tight == losses, f"{model}: alone\n{losses}under Tessera\n{tight}"
    moves, device = figures["moves"], figures["device"]
    assert device["device_peak"] <= memory, device
    assert moves["bytes_in"] > peak and moves["bytes_out"] > peak, moves
    steps = [line.split() for line in losses.splitlines()]
    assert float.fromhex(steps[-1][1]) < float.fromhex(steps[0][1]), "it does not learn"
    lines = [f"{model}: peak {peak} bytes, device under Tessera {memory}, bytes moved in {moves['bytes_in']}, "
             f"out {moves['bytes_out']}"]
    for (phase, *alone), (_, *below) in zip(steps, (line.split() for line in tight.splitlines())):
        lines.append(f"  {phase:6}  alone {float.fromhex(alone[0]):.9f}  under Tessera {float.fromhex(below[0]):.9f}"
                     f"  {'equal' if alone == below else 'DIFFERENT'} in all {len(alone)} members")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda folder: pathlib.Path(folder).resolve())
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--print", action="store_true", help="show what was compared")
    options = parser.parse_args()
    build = options.build
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    if not (build / "lib/softcuda/libnvrtc.so").exists():
        skip("there is no stand-in for NVRTC: the CUDA toolkit's nvrtc.h was not found")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        run = Run(build, pathlib.Path(scratch))
        for lines in pool.map(lambda model: compare(run, model), options.models or MODELS):
            if options.print:
                print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
