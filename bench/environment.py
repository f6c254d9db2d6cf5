"""Where something was measured, as every benchmark prints it, and what may be told to anyone."""

import json
import pathlib
import subprocess

NEEDED = ("cpu", "kernel", "compiler", "commit", "build", "date")
MEASURING = "release, no assertions"  # what bench/support/environment.cpp says of a build that may measure


def objection(body):
    """Why a result is not one to be told, or None."""
    facts = body.get("environment") or {}
    absent = [key for key in NEEDED if key not in facts]
    if absent:
        return f"no {', '.join(absent)}"
    if body.get("smoke"):
        return "a smoke run"
    if facts["build"] != MEASURING:
        return f"of a build that is \"{facts['build']}\", not \"{MEASURING}\""
    return None


def environment_of(build, smoke):
    """Of a build, told by a benchmark that measures nothing. Ends the program where the build may not measure
    either, unless this is a smoke run."""
    told = subprocess.run([pathlib.Path(build) / "bench" / "launch_bench", "--smoke", "--json"], stdout=subprocess.PIPE,
                          text=True, timeout=600, check=True)
    facts = json.loads(told.stdout)["environment"]
    why = objection({"environment": facts})
    if why and not smoke:
        raise SystemExit(f"{build}: nothing is measured: {why}")
    return facts
