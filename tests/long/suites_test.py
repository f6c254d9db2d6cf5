"""All that PyPI brings of the suites of other projects passes with Tessera as without.

Usage: suites_test.py BUILD_FOLDER     Ends with 77 when none of them can be had, as without network.
"""

import pathlib
import subprocess
import sys

SUITES = pathlib.Path(__file__).resolve().parents[1] / "suites"
sys.path.insert(0, str(SUITES))
sys.path.insert(0, str(SUITES.parent / "integration"))

import suite as suites
from virtual_environment import SKIPPED


def main():
    codes = []
    for name in suites.names():
        if suites.read(name).folder:
            continue  # its tests are not on PyPI
        print(name, flush=True)
        codes.append(subprocess.run([sys.executable, SUITES / "run_suite.py", sys.argv[1], name], check=False).returncode)
    failed = any(code not in (0, SKIPPED) for code in codes)
    sys.exit(1 if failed else SKIPPED if all(code == SKIPPED for code in codes) else 0)


if __name__ == "__main__":
    main()
