"""Finds libtessera.so and the files installed with it: those of the wheel, or of the `tessera` on the PATH.

A library already loaded in the process comes first: under `tessera run` there must be no second heap.
"""

import ctypes
import functools
import os
import pathlib
import shutil
from typing import Iterator, Optional

NAME = "libtessera.so.0"
IN_WHEEL = pathlib.Path(__file__).resolve().parent / "_installation"


class LibraryNotFound(ImportError):
    """No libtessera.so was found; the message lists the searched locations."""


def _loaded() -> Optional[pathlib.Path]:
    """The path of the library loaded in this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if os.path.basename(path).startswith("libtessera.so"):
                    return pathlib.Path("/" + path)
    except OSError:
        pass
    return None


def _candidates() -> Iterator[pathlib.Path]:
    chosen = os.environ.get("TESSERA_LIBRARY_DIR")
    if chosen:
        yield pathlib.Path(chosen) / NAME
        return
    if IN_WHEEL.exists():
        yield IN_WHEEL / "lib" / NAME
    program = shutil.which("tessera")
    if program:
        yield pathlib.Path(program).resolve().parent.parent / "lib" / NAME


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library; the same one at every call. Raises LibraryNotFound."""
    there = _loaded()
    if there is not None:
        return ctypes.CDLL(str(there))
    tried = []
    for path in _candidates():
        tried.append(str(path))
        if path.exists():
            return ctypes.CDLL(str(path))
    try:
        return ctypes.CDLL(NAME)
    except OSError as error:
        tried.append("the system's library path")
        raise LibraryNotFound(
            f"{NAME} was not found in {' or '.join(tried)}: put `tessera` on the PATH, or set "
            "TESSERA_LIBRARY_DIR to the lib directory of an installation or a build") from error


def folder() -> pathlib.Path:
    """The folder of the library in use; the other libraries of its build are there too."""
    load()
    there = _loaded()
    if there is None:
        raise LibraryNotFound("/proc/self/maps does not list libtessera.so")
    return there.parent


def program() -> pathlib.Path:
    """The `tessera` command of the same build."""
    path = folder().parent / "bin" / "tessera"
    if not path.exists():
        raise LibraryNotFound(f"{path} is missing")
    return path


def preloaded() -> bool:
    """Whether the preload library is in this process, and so sees all work."""
    return hasattr(ctypes.CDLL(None), "tessera_preload_attend")
