"""A few hundred seeds of `tessera fuzz`: all pass, and they did encounter faults.

Usage: fuzz_command_test.py BUILD_FOLDER FIRST..LAST
"""

import json
import pathlib
import subprocess
import sys


def main():
    program = pathlib.Path(sys.argv[1]) / "bin" / "tessera"
    first, last = map(int, sys.argv[2].split(".."))
    seeds = last - first + 1
    try:
        run = subprocess.run([program, "fuzz", "--seeds", sys.argv[2], "--json"],
                             capture_output=True, text=True, timeout=480)
    except subprocess.TimeoutExpired as late:
        # The failed seeds have been printed to standard error, though their minimised forms are unknown.
        sys.exit(f"{late}\n{(late.stderr or b'').decode(errors='replace')}")
    told = json.loads(run.stdout)
    for failure in told["failures"]:
        print(failure["failure"], failure["replay"], *failure.get("list", []), sep="\n  ")
    assert run.returncode == 0 and told["failed"] == 0, run.stderr
    assert told["seeds"] == seeds
    assert told["faults"] > seeds and told["evictions"] > seeds and told["file_pages"] > seeds, told
    assert told["recomputes"] > seeds // 10, told
    assert told["policies"] > seeds, told


main()
