"""What stands beside every number: GPU, driver, commit."""

import platform
import subprocess


def _first_line(command, cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def commit(place):
    """The bundle carries it in a file; a checkout is asked."""
    written = place.root / "COMMIT"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    return _first_line(["git", "describe", "--always", "--dirty"], cwd=place.scripts) or "unknown"


def describe(place):
    about = place.run_json([place.probe("first_light"), "about"], 60)
    results = about.get("results", {})
    driver = "" if place.software else _first_line(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    facts = {"gpu": results.get("name", "none"), "driver": driver or "unknown",
             "cuda": results.get("cuda", 0), "device_bytes": results.get("total", 0),
             "software": place.software, "commit": commit(place), "kernel": platform.release()}
    if not results:
        facts["problem"] = about.get("failed") or about
    return facts
