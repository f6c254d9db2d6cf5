"""The plots of bench/results/oversubscription show the results beside them: drawn again, they are the same bytes.

Usage: plots_test.py BUILD_FOLDER. Needs matplotlib from the package index; skipped (77) without.
"""

import pathlib
import subprocess
import sys
import tempfile

from virtual_environment import python_with

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH / "oversubscription"))

from report import MATPLOTLIB  # noqa: E402

RESULTS = BENCH / "results/oversubscription"


def main():
    python = python_with(pathlib.Path(sys.argv[1]).resolve(), "matplotlib", MATPLOTLIB)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, BENCH / "oversubscription/plot.py", RESULTS / "oversubscription.json", folder], check=True)
        drawn = {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("*.svg")}
    published = {path.name: path.read_bytes() for path in RESULTS.glob("*.svg")}
    assert "overview.svg" in drawn and drawn.keys() == published.keys(), f"{sorted(drawn)}, {sorted(published)}"
    old = [name for name in drawn if drawn[name] != published[name]]
    assert not old, f"these do not show the results: {old}"


if __name__ == "__main__":
    main()
