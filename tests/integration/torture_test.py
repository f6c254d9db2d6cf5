"""Five hundred seeds of `tessera torture`, from outside: all pass, and they did meet disasters."""

import json
import pathlib
import subprocess
import sys

SEEDS = 500


def main():
    program = pathlib.Path(sys.argv[1]) / "bin" / "tessera"
    try:
        run = subprocess.run([program, "torture", "--seeds", f"1..{SEEDS}", "--json"],
                             capture_output=True, text=True, timeout=480)
    except subprocess.TimeoutExpired as late:
        # Which seeds failed is on standard error by now, though what they are made small to is not known.
        sys.exit(f"{late}\n{(late.stderr or b'').decode(errors='replace')}")
    told = json.loads(run.stdout)
    for failure in told["failures"]:
        print(failure["failure"], failure["replay"], *failure.get("list", []), sep="\n  ")
    assert run.returncode == 0 and told["failed"] == 0, run.stderr
    assert told["seeds"] == SEEDS
    assert told["disasters"] > SEEDS and told["evictions"] > SEEDS and told["file_pages"] > SEEDS, told
    assert told["remakes"] > SEEDS // 10, told
    assert told["policies"] > SEEDS, told


main()
