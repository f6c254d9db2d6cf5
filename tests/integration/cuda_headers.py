"""The headers of CUDA: the toolkit's, found by the build, and other versions from PyPI."""

import pathlib
import re

from virtual_environment import Unavailable, environment_with

# Versions that supported drivers may have been built with: the oldest, those that changed calls, and the newest.
OTHERS = {12040: ("nvidia-cuda-runtime-cu12", "12.4.127"), 12080: ("nvidia-cuda-runtime-cu12", "12.8.90"),
          13000: ("nvidia-cuda-runtime", "13.0.96"), 13050: ("nvidia-cuda-runtime", "13.5.37")}


def of_toolkit(build):
    cache = (build / "CMakeCache.txt").read_text()
    return pathlib.Path(re.search(r"^TESSERA_CUDA_INCLUDE:\w+=(.+)$", cache, re.M)[1])


def of_version(build, version):
    """The folder with that CUDA's headers. Raises Unavailable."""
    package, release = OTHERS[version]
    python = environment_with(build, package, release)
    found = list(python.parents[1].glob("lib/python*/site-packages/nvidia/*/include/cuda.h"))
    if not found:
        raise Unavailable(f"{package} {release} has no cuda.h")
    return found[0].parent


def version_of(folder):
    return int(re.search(r"^#define CUDA_VERSION (\d+)", (folder / "cuda.h").read_text(), re.M)[1])


def entry_points(folder):
    """(name, version, per-thread default stream) of each. A small number is an ABI suffix, not a version."""
    found = re.findall(r"\bPFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\b", (folder / "cudaTypedefs.h").read_text())
    return {(name, int(version), bool(variant)) for name, version, variant in found if int(version) >= 1000}
