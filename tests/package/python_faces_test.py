"""The Python package on the software device, straight from its folder: see tests/python.

Usage: python_faces_test.py BUILD_FOLDER
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "shim" / "python"), str(ROOT / "tests" / "python")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TESSERA_LIBRARY_DIR": str(build / "lib"),
        "LD_LIBRARY_PATH": str(build / "lib" / "softcuda"),
        "TESSERA_DEVICE_MEMORY": "32MiB",
        "TESSERA_HOST_MEMORY": "64MiB",
        "TESSERA_LOG_LEVEL": "error",
    }
    done = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", ROOT / "tests" / "python"],
                          env=environment, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
