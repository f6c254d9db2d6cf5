"""Kernels that only a GPU can run still compile for one. Skipped where there is no nvcc.

Usage: gpu_kernels_test.py BUILD_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ["bench/gpu/first_light/device_kernels.cu", "bench/gpu/first_light/plain_kernels.cu"]


def nvcc():
    places = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    return shutil.which("nvcc") or next(
        (found for place in places if (found := shutil.which("nvcc", path=f"{place}/bin"))), None)


def main():
    compiler = nvcc()
    if compiler is None:
        print("no nvcc here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            target = pathlib.Path(folder) / "kernels.fatbin"
            done = subprocess.run([compiler, "-fatbin", "-std=c++17", "-O3", "-Werror", "all-warnings",
                                   "-gencode", "arch=compute_90a,code=sm_90a", "-I",
                                   ROOT / "shim/softcuda", "-o", target, ROOT / source],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert target.stat().st_size > 1000, source


if __name__ == "__main__":
    main()
