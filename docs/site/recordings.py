"""Records what the examples print on the software device: docs/examples/recordings/*.txt, and the same as SVG; and pictures of
the pages, as PNG.

Usage: recordings.py BUILD_FOLDER     writes all of them anew: `make recordings`. Needs rich from the package index, and
Chromium.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/examples/recordings"
RICH = "rich", "15.0.0"
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "docs/site")]

import page_pictures  # noqa: E402
from virtual_environment import environment_with  # noqa: E402

# Starts ranks as torchrun does: each with its number, until all have ended.
LAUNCHER = """#!/bin/sh
[ "$1" = --nproc-per-node ] || exit 2
ranks=$2; shift 2
for rank in $(seq 0 $((ranks - 1))); do RANK=$rank python "$@" & done
wait
"""
# Each line in one write: both ranks have one terminal.
RANK = """import os, sys
import worker_program
worker_program.use_device(blocks=24)
sys.stdout.write(f"rank {os.environ['RANK']}: 24 blocks\\n")
"""
CC = 'cc docs/examples/heap.c $(pkg-config --cflags --libs tessera) -I"$CUDA_HOME/include" -lcuda -o heap'
TRAIN = """#!/bin/sh
exec train --kernels train_kernels.so --steps 200 --layers 6 --width 512 --batch 64 >"losses.$$"
"""


class Recording(NamedTuple):
    commands: tuple
    # What is printed each time, if with other numbers; other lines depend on when something happened.
    steady: str = "."
    software: bool = True  # the software device in place of a GPU


RECORDINGS = {
    "demo": Recording(("tessera demo",), software=False,
                      steady=r"^(device (memory|peak|to)|outcome|live|pinned|host|file|stall|time|last)|bit-identical"),
    "heap": Recording((CC, "./heap")),
    "notebook": Recording(("tessera run --device-memory 64MiB --host-memory 1GiB -- python notebook.py",),
                          steady=r"^BlockInfo|^ +(live_bytes|device_capacity|evictions) "),
    "torchrun_ranks": Recording(("RANKS=3 HOST_MEMORY=512MiB docs/examples/torchrun_ranks.sh train.py",
                                 "ls stats.*.json | wc -l")),
    "two_programs": Recording(("EACH=32MiB HOST_MEMORY=512MiB docs/examples/two_programs.sh ./train.sh",),
                              steady="both programs ended|^ *PID"),
    "wrong_option": Recording(("tessera run --device-memroy 8GiB -- python train.py",)),
}


def shape(line):
    """A line without its numbers, and without names of temporary files."""
    line = re.sub(r"(/[\w.-]+){2,}", "FILE", line)
    line = re.sub(r"-?\b(0x[0-9a-fp.+-]+|\d[\d.,]*)( ?([KMGT]?i?B|[mun]?s)\b)?", "N", line)
    return re.sub(r"\s+", " ", line).strip()


def steady_lines(name, text):
    """The shapes of the lines that are there at each run, sorted: programs beside each other print in any order."""
    steady = RECORDINGS[name].steady
    return sorted({shape(line) for line in text.splitlines() if line.startswith("$ ") or re.search(steady, line)})


class Stage:
    """A folder with an installation beside it, in which the commands run as they are shown."""

    def __init__(self, build, scratch):
        self.folder = scratch / "stage"
        self.folder.mkdir()
        prefix = scratch / "tessera"
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
        programs = scratch / "bin"
        programs.mkdir()
        (programs / "python").symlink_to(sys.executable)
        (programs / "torchrun").write_text(LAUNCHER, encoding="utf-8")
        (programs / "torchrun").chmod(0o755)
        (programs / "train").symlink_to(prefix / "lib/tessera/train")
        (self.folder / "docs").symlink_to(ROOT / "docs")
        (self.folder / "train_kernels.so").symlink_to(prefix / "lib/tessera/train_kernels.so")
        (self.folder / "train.sh").write_text(TRAIN, encoding="utf-8")
        (self.folder / "train.sh").chmod(0o755)
        (self.folder / "train.py").write_text(RANK, encoding="utf-8")
        cells = json.loads((ROOT / "docs/examples/notebook.ipynb").read_text(encoding="utf-8"))["cells"]
        (self.folder / "notebook.py").write_text(
            "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), encoding="utf-8")
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
        cuda = pathlib.Path(re.search(r"^TESSERA_CUDA_INCLUDE:\w+=(.*)$", cache, re.M)[1])
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")} | {
            "PATH": f"{prefix}/bin:{programs}:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig",
            "CUDA_HOME": str(cuda.parent), "LIBRARY_PATH": f"{prefix}/lib/softcuda",
            "PYTHONPATH": f"{ROOT / 'shim/python'}:{ROOT / 'tests/integration'}"}
        self.device = {"TESSERA_SOFTWARE": "1", "LD_LIBRARY_PATH": f"{prefix}/lib:{prefix}/lib/softcuda"}

    def record(self, name):
        text = ""
        variables = self.variables | (self.device if RECORDINGS[name].software else {})
        for command in RECORDINGS[name].commands:
            done = subprocess.run(command, shell=True, cwd=self.folder, env=variables, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=280, check=False)
            if done.returncode not in (0, 2):
                raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}")
            text += f"$ {command}\n{done.stdout}"
        return text


def draw(build, folder, names):
    python = environment_with(build, *RICH)
    subprocess.run([python, "-B", pathlib.Path(__file__).with_name("terminal_svg.py"), folder,
                    *(FOLDER / f"{name}.txt" for name in names)], check=True)


def main(build):
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        stage = Stage(build, pathlib.Path(scratch))
        for name in RECORDINGS:
            (FOLDER / f"{name}.txt").write_text(stage.record(name), encoding="utf-8")
        for name, take in page_pictures.PICTURES.items():
            take(stage, FOLDER / f"{name}.png")
    draw(build, FOLDER, RECORDINGS)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
