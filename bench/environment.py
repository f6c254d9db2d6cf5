"""Where something was measured, as every benchmark prints it, and which results may be published."""

import json
import pathlib
import subprocess

NEEDED = ("cpu", "kernel", "compiler", "commit", "build", "date")
MEASURING = "release, no assertions"  # what bench/support/environment.cpp reports for a build that may measure


def objection(body):
    """The reason why a result may not be published, or None."""
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
    """The environment of a build, reported by a benchmark that measures nothing. Ends the program if the build may
    not be used for measurements, except in a smoke run."""
    told = subprocess.run([pathlib.Path(build) / "bench" / "launch_bench", "--smoke", "--json"], stdout=subprocess.PIPE,
                          text=True, timeout=600, check=True)
    facts = json.loads(told.stdout)["environment"]
    why = objection({"environment": facts})
    if why and not smoke:
        raise SystemExit(f"{build}: not measured: {why}")
    return facts
