"""The listener for PyTorch's own allocator is compiled with the headers of every PyTorch that is here: that of this
Python, and those that other tests have installed. Where PyTorch can be imported it is loaded beside it, and finds the
allocator, which needs no GPU as long as PyTorch has not initialised it. Of one before 2.2 the command says what is missing.

Usage: torch_listener_test.py BUILD_FOLDER. Skipped (77) without a PyTorch for CUDA, or CUDA's headers.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "shim/python"))

from tessera import _torch_listener  # noqa: E402
from tessera._torch_listener import CannotBuild  # noqa: E402


# Beside PyTorch: 3 is another interface, 1 an allocator that is not initialised (tessera/torch_listener.h).
LOADED = """
import ctypes, sys, torch
listen = ctypes.CDLL(sys.argv[1]).tessera_torch_listen
print(listen(None), listen((ctypes.c_uint64 * 5)(int(sys.argv[2]), 0, 0, 0, 0)))
"""


def loaded_beside(torch, file):
    """What the listener answers in a process with PyTorch; none where that cannot be imported."""
    python = torch.parents[3] / "bin/python"
    if not python.exists() or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        return None
    done = subprocess.run([python, "-c", LOADED, file, _torch_listener._interface()], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def folders(build):
    """Of PyTorches for CUDA."""
    found = set()
    try:
        found.add(_torch_listener.torch_folder())
    except CannotBuild:
        pass
    found.update((build / "cache").glob("*/lib/python3*/site-packages/torch"))
    return sorted(folder for folder in found if (folder / "lib/libc10_cuda.so").is_file())


def has_cuda(torch):
    return any((folder / "cuda_runtime_api.h").is_file() for folder in _torch_listener._cuda_includes(torch))


def version_of(torch):
    text = (torch / "version.py").read_text(encoding="utf-8")
    return re.search(r"__version__ = '([^']+)'", text)[1]


def symbols(file, *options):
    return subprocess.run(["nm", "-D", *options, str(file)], capture_output=True, text=True, check=True).stdout


def main():
    torches = [folder for folder in folders(pathlib.Path(sys.argv[1]).resolve()) if has_cuda(folder)]
    if not torches:
        print("no PyTorch for CUDA is installed here, with CUDA's headers")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TESSERA_TORCH_LISTENERS"] = cache
        for torch in torches:
            version = version_of(torch)
            is_old = tuple(map(int, version.split(".")[:2])) < (2, 2)
            try:
                file = _torch_listener.build(torch)
                assert not is_old, version
                assert "tessera_torch_listen" in symbols(file, "--defined-only"), version
                needed = [line for line in symbols(file, "--undefined-only").splitlines() if "c10" in line]
                assert len(needed) == 1, needed  # the allocator alone, so nothing else can be missing
                answers = loaded_beside(torch, file)
                assert answers in (None, ["3", "1"]), f"{version}: {answers}"
                print(f"{version}: built{'' if answers is None else ', and loaded beside it'}")
            except CannotBuild as error:
                assert is_old and "older than 2.2" in str(error), f"{version}: {error}"
                print(f"{version}: {error}")


if __name__ == "__main__":
    main()
