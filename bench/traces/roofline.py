"""The table of GPUs is the Python package's, so that generated and recorded traces have the same times."""

import pathlib
import sys

_HERE = pathlib.Path(__file__).resolve()
# As the tree has the package, and as the bundle for a GPU machine has it.
sys.path[:0] = [str(_HERE.parents[2] / folder) for folder in ("shim/python", "python")]

from tessera.roofline import GPUS, Gpu  # noqa: E402

__all__ = ["GPUS", "Gpu"]
