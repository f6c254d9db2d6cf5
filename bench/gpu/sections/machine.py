"""The facts recorded with every number: GPU, driver, commit."""

import platform


def _first_line(place, command):
    done = place.run(command, 20)
    return done.out.strip().splitlines()[0] if done.well and done.out.strip() else ""


def commit(place):
    """A bundle has it in a file; in a checkout git is asked."""
    written = place.root / "COMMIT"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    return _first_line(place, ["git", "-C", str(place.scripts), "describe", "--always", "--dirty"]) or "unknown"


def describe(place):
    about = place.run_json([place.probe("first_light"), "about"], 60)
    results = about.get("results", {})
    driver = "" if place.software else _first_line(
        place, ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    facts = {"gpu": results.get("name", "none"), "driver": driver or "unknown",
             "cuda": results.get("cuda", 0), "device_bytes": results.get("total", 0),
             "software": place.software, "commit": commit(place), "kernel": platform.release()}
    if not results:
        facts["problem"] = about.get("failed") or about
    return facts
