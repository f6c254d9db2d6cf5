"""A real solver without a GPU: PyFR, from PyPI and unchanged, on half of the memory that it uses.

PyFR solves equations of fluids on the driver API, NVRTC and graphs. Each case is solved three times on the software
device: without Tessera; under `tessera run` with ample memory; and on half of the peak of the first time, while all blocks
are put to sleep and woken again and again. Every number of the solution must be the same to the last bit.

PyFR multiplies matrices by cuBLASLt, which is one of ours here (`tests/programs/cublaslt/`), and takes of several kernels
the fastest one, which is switched off: two of them may round otherwise.

Usage: pyfr_test.py BUILD_FOLDER [--print]
Ends with 77 when PyFR cannot be had, as without network. --print shows what was compared.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "suites"), str(TESTS / "integration")]

from virtual_environment import python_with, skip
from ways import SOFTWARE_MEMORY, Sleeper, Way

PAGE = 2 << 20
WORKSPACE = 32 << 20  # PyFR's for cuBLASLt: no smaller device will do

CONFIG = """
[backend]
precision = {precision}
autotune-ifac = 0
[constants]
gamma = 1.4
mu = 0.01
Pr = 0.72
[solver]
system = {system}
order = 3
[solver-time-integrator]
formulation = std
scheme = rk45
controller = {controller}
tstart = 0
tend = {end}
dt = 0.002
atol = 0.00001
rtol = 0.00001
[solver-interfaces]
riemann-solver = rusanov
ldg-beta = 0.5
ldg-tau = 0.1
[solver-interfaces-line]
flux-pts = gauss-legendre
[solver-elements-quad]
soln-pts = gauss-legendre
[solver-elements-tri]
soln-pts = williams-shunn
[soln-plugin-writer]
dt-out = {end}
basedir = .
basename = solution-{{n}}
[soln-bcs-edge]
type = char-riem-inv
rho = 1
u = 0.2
v = 0
p = 1
[soln-ics]
rho = 1 + 0.1*exp(-(x*x + y*y))
u = 0.2
v = 0.05*exp(-(x*x + y*y))
p = 1
"""
CASES = {  # the controller `pi` asks for an error estimate, a reduction, in each step
    "navier-stokes": {"cells": 80, "precision": "double", "controller": "pi", "end": "0.03"},
    "euler": {"cells": 120, "precision": "single", "controller": "none", "end": "0.02"},
}
DIGESTS = """
import hashlib, json, sys, h5py
found = {}
def note(name, data):
    if isinstance(data, h5py.Dataset) and data.dtype.kind in "fiu":
        found[name] = [data.size, hashlib.sha256(data[()].tobytes()).hexdigest()]
with h5py.File(sys.argv[1]) as file:
    file.visititems(note)
print(json.dumps(found))
"""


def mesh(cells):
    """A square in gmsh's words, of quadrilaterals in its left half and of triangles in the right one."""
    def point(i, j):
        return j * (cells + 1) + i + 1

    rim = [side for k in range(cells) for side in (
        (point(k, 0), point(k + 1, 0)), (point(k, cells), point(k + 1, cells)),
        (point(0, k), point(0, k + 1)), (point(cells, k), point(cells, k + 1)))]
    elements = [(1, 2, side) for side in rim]
    for j in range(cells):
        for i in range(cells):
            a, b, c, d = point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)
            elements += [(3, 1, (a, b, c, d))] if i < cells // 2 else [(2, 1, (a, b, c)), (2, 1, (a, c, d))]
    points = [(10 * i / cells - 5, 10 * j / cells - 5) for j in range(cells + 1) for i in range(cells + 1)]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "2", '2 1 "fluid"', '1 2 "edge"',
             "$EndPhysicalNames", "$Nodes", len(points)]
    lines += [f"{number} {x} {y} 0" for number, (x, y) in enumerate(points, 1)]
    lines += ["$EndNodes", "$Elements", len(elements)]
    lines += [f"{number} {kind} 2 {part} {part} {' '.join(map(str, corners))}"
              for number, (kind, part, corners) in enumerate(elements, 1)]
    return "\n".join(map(str, lines)) + "\n$EndElements\n"


class Case:
    def __init__(self, build, scratch, name):
        self.build, self.scratch, self.name = build, scratch / name, name
        self.python = python_with(build, "pyfr", "3.1", "numpy==2.4.6", "mpich==5.0.2")
        self.environment = {"PYFR_LIBRARY_PATH": f"{build}/lib/tessera/cublaslt:{build}/lib/softcuda",
                            "PYFR_CUDA_CACHE_DIR": str(scratch / "kernels"), "OMP_NUM_THREADS": "1",
                            "TESSERA_SOFTWARE_VERBOSE": "1"}
        self.scratch.mkdir()
        (self.scratch / "mesh.msh").write_text(mesh(CASES[name]["cells"]))
        (self.scratch / "case.ini").write_text(CONFIG.format(system=name, **CASES[name]))
        self.call([self.python, "-m", "pyfr", "import", "mesh.msh", "mesh.pyfrm"], {})

    def call(self, command, variables, sleeps=False):
        """(printed, errors, rounds of sleep)"""
        with open(self.scratch / "printed", "w+") as printed, open(self.scratch / "errors", "w+") as errors:
            process = subprocess.Popen(list(map(str, command)), cwd=self.scratch, stdin=subprocess.DEVNULL,
                                       stdout=printed, stderr=errors, env=os.environ | variables)
            sleeper = Sleeper(self.build, process) if sleeps else None
            try:
                code = process.wait(timeout=1200)
            finally:
                process.kill()
                rounds = sleeper.end() if sleeper else 0
            printed.seek(0)
            errors.seek(0)
            told = errors.read()
            assert code == 0, f"{self.name}: {command}: {told[-2000:]}"
            return printed.read(), told, rounds

    def solve(self, way):
        """(digests of the solution, the most bytes allocated at once, rounds of sleep)"""
        for old in self.scratch.glob("solution-*"):
            old.unlink()
        command = way.command(self.build, [self.python, "-m", "pyfr", "run", "-b", "cuda", "mesh.pyfrm", "case.ini"])
        _, errors, rounds = self.call(command, way.environment(self.build, self), way.asleep)
        assert "not supported" not in errors, errors
        last = sorted(self.scratch.glob("solution-*"))[-1]
        digests = json.loads(self.call([self.python, "-c", DIGESTS, last], {})[0])
        return digests, int(re.search(r"at most (\d+) bytes", errors)[1]), rounds


def compare(case):
    """Lines that tell what was compared. Fails where a number differs, or where nothing had to move."""
    alone, peak, _ = case.solve(Way("without"))
    memory = max(peak // 2 // PAGE * PAGE, WORKSPACE + PAGE)
    stats = case.scratch / "stats.json"
    software = ("--software-memory", "3GiB", "--host-memory", "1GiB", "--stats", stats, "--device-memory")
    ample, _, _ = case.solve(Way("ample", (*software, SOFTWARE_MEMORY)))
    assert ample == alone, f"{case.name}: with ample memory {ample}, alone {alone}"
    short, _, rounds = case.solve(Way("short", (*software, str(memory)), asleep=True))
    assert short == alone, f"{case.name}: on {memory} bytes {short}, alone {alone}"
    moves, device = (json.loads(stats.read_text())[part] for part in ("moves", "device"))
    assert device["device_peak"] <= memory, device
    assert moves["bytes_in"] > peak and moves["bytes_out"] > peak and rounds > 0, (moves, rounds)
    numbers = sum(size for size, _ in alone.values())
    assert numbers > 100000, alone
    return (f"{case.name}: peak {peak} bytes, device under Tessera {memory}, bytes moved in {moves['bytes_in']}, out "
            f"{moves['bytes_out']}, slept {rounds} times\n  {numbers} numbers of the solution are equal in all three ways")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "lib/softcuda/libnvrtc.so").exists() or not (build / "lib/tessera/cublaslt").exists():
        skip("the CUDA toolkit's nvrtc.h or cublasLt.h was not found")
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            told = compare(Case(build, pathlib.Path(scratch), name))
            if "--print" in sys.argv:
                print(told, flush=True)


if __name__ == "__main__":
    main()
