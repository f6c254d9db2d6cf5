"""Re-exports the Python package's table of GPUs, so that generated and recorded traces have the same times."""

import pathlib
import sys

_HERE = pathlib.Path(__file__).resolve()
# The package's folder in the source tree, and in the bundle for a GPU machine.
sys.path[:0] = [str(_HERE.parents[2] / folder) for folder in ("shim/python", "python")]

from tessera.roofline import GPUS, Gpu  # noqa: E402

__all__ = ["GPUS", "Gpu"]
