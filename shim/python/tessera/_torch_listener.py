"""Builds what tells Tessera which part of a segment of PyTorch's own allocator is which tensor (docs/pytorch.md).

It is a file of C++ that includes PyTorch's headers, so it is compiled for each installation of PyTorch, which is found
without importing it. The preload library finds the result by its name; shim/preload/torch_listener.cpp makes the same.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Iterator, List, Optional

from . import _library

SOURCE = pathlib.Path(__file__).resolve().with_name("_torch_listener.cpp")
HEADER = "tessera/torch_listener.h"
HASH_BEGIN, HASH_FACTOR = 0xcbf29ce484222325, 0x100000001b3  # FNV-1a


class CannotBuild(RuntimeError):
    """The listener cannot be built here; the text says why. Segments then move as a whole."""


def torch_folder() -> pathlib.Path:
    """The folder of the PyTorch that this Python would import."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise CannotBuild("this Python has no PyTorch")
    return pathlib.Path(found.submodule_search_locations[0])


def _tessera_include() -> pathlib.Path:
    candidates = [_library.IN_WHEEL / "include", pathlib.Path(__file__).resolve().parents[3] / "include"]
    program = shutil.which("tessera")
    if program:
        candidates.append(pathlib.Path(program).resolve().parent.parent / "include")
    for folder in candidates:
        if (folder / HEADER).is_file():
            return folder
    raise CannotBuild(f"{HEADER} is in none of {', '.join(map(str, candidates))}")


def _interface() -> str:
    text = (_tessera_include() / HEADER).read_text(encoding="utf-8")
    found = re.search(r"define TESSERA_TORCH_LISTENER_INTERFACE (\d+)", text)
    if found is None:
        raise CannotBuild(f"{HEADER} has no interface number")
    return found[1]


def _cuda_library(torch: pathlib.Path) -> pathlib.Path:
    library = torch / "lib" / "libc10_cuda.so"
    if not library.is_file():
        raise CannotBuild(f"{torch} is a PyTorch without CUDA")
    return library


def cache_folder() -> pathlib.Path:
    """Where listeners are: the folder of the option `torch-listeners`, by default one that `tessera run` sets."""
    chosen = os.environ.get("TESSERA_TORCH_LISTENERS")
    if chosen:
        return pathlib.Path(chosen).resolve()
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if not cache.startswith("/") and not home.startswith("/"):
        raise CannotBuild("neither XDG_CACHE_HOME nor HOME is an absolute path")
    return pathlib.Path(cache if cache.startswith("/") else f"{home}/.cache") / "tessera" / "torch-listener"


def listener_file(torch: Optional[pathlib.Path] = None) -> pathlib.Path:
    """The file of the listener for this PyTorch, whether it has been built or not."""
    library = _cuda_library(torch or torch_folder()).resolve()
    facts = library.stat()
    seconds, nanoseconds = divmod(facts.st_mtime_ns, 10 ** 9)
    value = HASH_BEGIN
    for byte in os.fsencode(f"{library}\n{facts.st_size}\n{seconds}.{nanoseconds}"):
        value = (value ^ byte) * HASH_FACTOR % 2 ** 64
    return cache_folder() / f"{value:016x}-{_interface()}.so"


def _cuda_includes(torch: pathlib.Path) -> Iterator[pathlib.Path]:
    """Folders that may have CUDA's headers: what is installed with PyTorch's wheels is of its version."""
    yield from sorted(torch.parent.glob("nvidia/*/include"))
    if "CONDA_PREFIX" in os.environ:
        yield pathlib.Path(os.environ["CONDA_PREFIX"]) / "targets" / "x86_64-linux" / "include"
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home:
            yield pathlib.Path(home) / "include"


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise CannotBuild("there is no C++ compiler: install one, or name it in CXX")


def _string_abi(torch: pathlib.Path) -> List[str]:
    """Wheels before 2.6 were built with the older strings of libstdc++; PyTorch's CMake file says so."""
    try:
        text = (torch / "share/cmake/Torch/TorchConfig.cmake").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.findall(r"-D_GLIBCXX_USE_CXX11_ABI=[01]", text)[:1]


def command(torch: pathlib.Path, output: pathlib.Path) -> List[str]:
    """What compiles it. Raises CannotBuild."""
    includes = [torch / "include"] + [folder for folder in _cuda_includes(torch)
                                      if (folder / "cuda_runtime_api.h").is_file()][:1]
    words = [_compiler(), "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", *_string_abi(torch),
             f"-I{_tessera_include()}"]
    for folder in includes:
        words += ["-isystem", str(folder)]
    return words + [str(SOURCE), f"-L{torch / 'lib'}", "-lc10_cuda", "-Wl,-z,defs", "-o", str(output)]


def build(torch: Optional[pathlib.Path] = None) -> pathlib.Path:
    """Builds it, unless it is there, and returns its file. Raises CannotBuild."""
    torch = torch or torch_folder()
    file = listener_file(torch)
    if file.exists():
        return file
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        made = pathlib.Path(folder) / file.name
        done = subprocess.run(command(torch, made), capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            if "attachAllocatorTraceTracker" in done.stderr:
                raise CannotBuild("this PyTorch is older than 2.2: its allocator has no trace that can be listened to")
            raise CannotBuild(f"the compiler failed:\n{done.stderr}")
        made.chmod(0o755)
        os.replace(made, file)  # others may build it at the same time
    return file


def main(words: List[str]) -> int:
    """`tessera torch-listener`."""
    parser = argparse.ArgumentParser(prog="tessera torch-listener", description=(
        "Builds what tells Tessera which part of a segment of PyTorch's own allocator is which tensor, for the PyTorch "
        "of this Python. `tessera run` finds it from then on."))
    parser.add_argument("--torch", type=pathlib.Path, help="the folder of another PyTorch: .../site-packages/torch")
    parser.add_argument("--check", action="store_true", help="build nothing: print the file, or fail")
    given = parser.parse_args(words)
    try:
        file = listener_file(given.torch) if given.check else build(given.torch)
    except (CannotBuild, OSError) as error:
        print(f"tessera: {error}", file=sys.stderr)
        return 1
    if not file.exists():
        print("tessera: not built", file=sys.stderr)
        return 1
    print(file)
    return 0
