"""Runs of train_step.py, and what is told of two of them side by side."""

import json
import statistics

WARM_UP = 2  # steps in which libraries load and pinned memory is made


def absent(place):
    """Why PyTorch cannot be asked here, or ""."""
    if place.software:
        return "PyTorch needs the CUDA runtime, which needs a GPU"
    return "" if place.has("torch") else "no PyTorch here"


def environment(place, more=None):
    """Where the Python package and its library lie, in a bundle or in a checkout."""
    folders = [place.root / "python", place.scripts.parent.parent / "shim" / "python"]
    return {"PYTHONPATH": ":".join(str(folder) for folder in folders if folder.is_dir()),
            "TESSERA_LIBRARY_DIR": str(place.root / "lib"), "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
            **(more or {})}


def mebibytes(count):
    return f"{max(int(count) >> 20, 1)}MiB"


def budget(peak, fraction):
    """Options of `tessera run` for a part of what a program took; None is as much as there is."""
    if fraction is None:
        return []
    # What has to leave fits into host memory: the disk is no part of these comparisons.
    return ["--device-memory", mebibytes(peak * fraction),
            "--host-memory", mebibytes(peak * max(1.25 - fraction, 0.25) + (1 << 30))]


def run(place, record, script, options=None, policy="recency", limit=60):
    """One program: alone when `options` is None, else under `tessera run` with them."""
    statistics_file = place.scratch / "stats.json"
    statistics_file.unlink(missing_ok=True)
    command = place.script(script[0]) + list(script[1:])
    more = environment(place)
    if options is not None:
        command = place.under_tessera(command, "--no-control", "--policy", policy, *options)
        more["TESSERA_STATS"] = str(statistics_file)
    found = place.run_json(command, record.left(limit), more)
    if statistics_file.is_file():
        found["tessera"] = moved(json.loads(statistics_file.read_text()))
    return found


def moved(report):
    """The figures of a run that matter beside its time."""
    return {"device_peak": report["device"]["device_peak"], "host_peak": report["host"]["host_peak"],
            **{name: report["moves"][name] for name in ("bytes_in", "bytes_out", "fetches", "evictions")},
            **{name: report["waits"][name] for name in ("stalls", "stall_ns", "late_fetches")},
            "exposed_bytes_by_reason": report["exposed_bytes_by_reason"]}


def step_seconds(found):
    """The median step once everything is warm; None when there is none."""
    steps = found.get("step_seconds", [])
    return statistics.median(steps[WARM_UP:] or steps) if steps else None


def first_difference(one, other):
    """The first step whose losses are not the same bits; None when all are."""
    for step, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return step
    return None if len(one) == len(other) else min(len(one), len(other))


def largest_difference(one, other):
    """Of two lists of losses, relative to the first."""
    values = [(float.fromhex(a), float.fromhex(b)) for a, b in zip(one, other)]
    return max((abs(a - b) / max(abs(a), 1e-30) for a, b in values), default=0.0)


def compare(reference, found):
    """`found` beside the run that it must agree with."""
    if "losses" not in found or "losses" not in reference:
        return {"answer": "failed", **found}
    difference = first_difference(reference["losses"], found["losses"])
    time, base = step_seconds(found), step_seconds(reference)
    facts = {"answer": "yes" if difference is None else "no", "step_seconds": time,
             "times_reference": round(time / base, 4) if base else None,
             "all_steps": found["step_seconds"], "losses": found["losses"]}
    if difference is not None:
        facts["first_different_step"] = difference
        facts["largest_relative_difference"] = largest_difference(reference["losses"], found["losses"])
    return {**facts, **{key: found[key] for key in ("tessera", "peak_allocated", "peak_reserved",
                                                    "free_and_total", "failed") if key in found}}
