"""Writes alloc/driver/fingerprint.ptx anew from fingerprint.cu.

Usage: compile_fingerprint.py NVCC OUTPUT

The text is what every driver since CUDA 10 takes: nvcc names its own version of the language, which
an older driver would refuse, so the first that knows the target is named instead; ptxas then says
whether the text keeps to it, for the oldest and for a new processor.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "alloc" / "driver" / "fingerprint.cu"
TARGET = 75
LANGUAGE = "6.3"


def tool_beside(nvcc, name):
    return str(pathlib.Path(nvcc).resolve().parent / name)


def compile_ptx(nvcc):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "fingerprint.ptx"
        subprocess.run([nvcc, "-ptx", "-std=c++17", "-O3", f"-arch=compute_{TARGET}", "-o", str(made),
                        SOURCE.name], check=True, cwd=SOURCE.parent)
        text, replaced = re.subn(r"^\.version [0-9.]+$", f".version {LANGUAGE}", made.read_text(),
                                 flags=re.MULTILINE)
        assert replaced == 1, "nvcc names one version of the language"
        made.write_text(text.rstrip() + "\n")
        for processor in (f"sm_{TARGET}", "sm_90"):
            subprocess.run([tool_beside(nvcc, "ptxas"), f"-arch={processor}", "-o", "/dev/null",
                            str(made)], check=True)
        return made.read_text()


def compiler_of(text):
    """Which nvcc wrote it, in its own words."""
    return re.search(r"^// Cuda compilation tools, .*$", text, flags=re.MULTILINE).group(0)


def main():
    nvcc, output = sys.argv[1:]
    pathlib.Path(output).write_text(compile_ptx(nvcc))


if __name__ == "__main__":
    main()
