"""The Python package is fully typed, and its types reach its users.

Usage: python_types_test.py BUILD_FOLDER. Needs the package index; skipped (77) without.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/integration"))

from virtual_environment import python_with  # noqa: E402


def mypy(python, *words, **options):
    return subprocess.run([str(word) for word in (python, "-m", "mypy", *words)], capture_output=True, text=True,
                          check=False, **options)


def main():
    python = python_with(pathlib.Path(sys.argv[1]).resolve(), "mypy", "1.15.0")
    checked = mypy(python, "--config-file", SOURCE / "pyproject.toml", SOURCE / "shim/python/tessera",
                   "--cache-dir", os.devnull, cwd=SOURCE)
    if checked.returncode != 0:
        sys.exit(checked.stdout + checked.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        user = pathlib.Path(scratch) / "user.py"
        user.write_text("import tessera\nreveal_type(tessera.sleep('kv').moved_bytes)\n")
        told = mypy(python, user, cwd=scratch, env=os.environ | {"MYPYPATH": str(SOURCE / "shim/python")}).stdout
        assert re.search(r'"(builtins\.)?int"', told), f"no types arrive: {told}"


if __name__ == "__main__":
    main()
