"""The committed PTX of the fingerprint kernel is what its source compiles to.

Usage: fingerprint_ptx_test.py BUILD_FOLDER

Asked of the compiler that wrote it: another one's text may differ and be as good.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))

import compile_fingerprint  # noqa: E402


def find_nvcc():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") or shutil.which("nvcc", path=f"{home}/bin")


def main():
    committed = (ROOT / "alloc" / "driver" / "fingerprint.ptx").read_text()
    assert ".entry tessera_fingerprint(" in committed and f".target sm_{compile_fingerprint.TARGET}" in committed
    nvcc = find_nvcc()
    if nvcc is None:
        print("no nvcc here")
        sys.exit(77)
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    written_by = compile_fingerprint.compiler_of(committed)
    if written_by.removeprefix("// ") not in version.replace("\n", " "):
        print(f"this nvcc is not the one that wrote it: {written_by}")
        sys.exit(77)
    made = compile_fingerprint.compile_ptx(nvcc)
    assert made == committed, "run cmake/compile_fingerprint.py NVCC alloc/driver/fingerprint.ptx"


if __name__ == "__main__":
    main()
