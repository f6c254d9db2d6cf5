"""The adaptor for CCCL's memory resources compiles and works with the newest CCCL, too; the build tests the toolkit's.

Usage: cccl_test.py BUILD_FOLDER     Exits with 77 if the package is unavailable, for instance without network.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/integration"))

from virtual_environment import python_with  # noqa: E402

# The version of the package, and of CCCL in it.
PACKAGE, VERSION, CCCL = "nvidia-cuda-cccl", "13.3.5.0.6", 3005000


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    python = python_with(build, PACKAGE, VERSION, "nvidia-cuda-runtime==13.2.86")
    [include] = python.parents[1].glob("lib/python*/site-packages/nvidia/cu13/include")
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "program"
        subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'include'}",
                        "-isystem", include / "cccl", "-isystem", include,
                        f"-DEXPECTED_CCCL={CCCL}", SOURCE / "tests/cxx_api/cuda_mr_test.cpp", "-o", program,
                        f"-L{build / 'lib'}", "-ltessera", f"-Wl,-rpath,{build / 'lib'}"], check=True)
        subprocess.run([program], env=os.environ | {"LD_LIBRARY_PATH": str(build / "lib/softcuda")}, timeout=60,
                       check=True)


if __name__ == "__main__":
    main()
