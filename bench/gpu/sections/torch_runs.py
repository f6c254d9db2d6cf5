"""Runs of train_step.py, and comparisons of two of them."""

import statistics

from sections import evidence
from sections.place import json_of

# The facts of a run that a comparison records, if the run has them.
TOLD = ("evidence", "peak_allocated", "peak_reserved", "free_and_total", "backend", "failed", "stderr")
OUT_OF_TIME = "no time left"
WARM_UP = 2  # steps in which libraries load and pinned memory is allocated


def absent(place):
    """The reason why PyTorch cannot run here, or ""."""
    if place.software:
        return "PyTorch needs the CUDA runtime, which needs a GPU"
    return "" if place.has("torch") else "PyTorch is not installed"


def environment(place, more=None):
    """Where the Python package and its library are, in a bundle or in a checkout."""
    folders = [place.root / "python", place.scripts.parent.parent / "shim" / "python"]
    return {"PYTHONPATH": ":".join(str(folder) for folder in folders if folder.is_dir()),
            "TESSERA_LIBRARY_DIR": str(place.root / "lib"), "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
            **(more or {})}


def mebibytes(count):
    return f"{max(int(count) >> 20, 1)}MiB"


def budget(peak, fraction):
    """Options of `tessera run` for a fraction of a program's peak; None for all memory there is."""
    if fraction is None:
        return []
    # Evicted data fits into host memory: the disk is not part of these comparisons.
    return ["--device-memory", mebibytes(peak * fraction),
            "--host-memory", mebibytes(peak * max(1.25 - fraction, 0.25) + (1 << 30))]


def run(place, record, script, options=None, policy="recency", limit=60, part=None, more=None):
    """One program: alone if `options` is None, else under `tessera run` with them. `part`: fraction of its peak,
    None for ample."""
    command = place.script(script[0]) + list(script[1:])
    variables = environment(place, more)
    if options is None:
        found = place.run_json(command, record.left(limit), variables)
    else:
        outcome, seen = evidence.run(place, command, record.left(limit), ["--policy", policy, *options], variables,
                                     evicts=part is not None and part < 1)
        found = {**json_of(outcome), "evidence": seen, **outcome.told()}
    return marked(found, record)


def marked(found, record):
    """A program that was killed because its section was over is marked as such: it did not fail."""
    cut_off = found.get("failed", {}).get("timed_out", False) and record.over()
    return {**found, **({"answer": OUT_OF_TIME} if cut_off else {})}


PROCESSES = 4  # at most, for all parts together: starting one takes long


def in_pieces(place, record, script, key, options=None, **rest):
    """Runs a program that prints after each of its parts (under `key`) which parts are left; the rest runs again if
    a part has corrupted the context.

    Each part is returned with the evidence of the process that it ran in.
    """
    pieces, last, left = {}, {}, None
    for _ in range(PROCESSES):
        last = run(place, record, (script, *(["--only", ",".join(left)] if left else [])), options, **rest)
        pieces.update({name: {**facts, **({"evidence": last["evidence"]} if "evidence" in last else {})}
                       for name, facts in last.get(key, {}).items()})
        left = last.get("left")
        if not left or record.over():
            break
    return {**last, key: pieces}


def step_seconds(found):
    """The median step after the warm-up; None if there is none."""
    steps = found.get("step_seconds") or []
    return statistics.median(steps[WARM_UP:] or steps) if steps else None


def first_difference(one, other):
    """The first step with losses that are not bit-identical; None if all are."""
    for step, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return step
    return None if len(one) == len(other) else min(len(one), len(other))


def largest_difference(one, other):
    """The largest difference of two lists of losses, relative to the first."""
    values = [(float.fromhex(a), float.fromhex(b)) for a, b in zip(one, other)]
    return max((abs(a - b) / max(abs(a), 1e-30) for a, b in values), default=0.0)


def compare(reference, found):
    """`found` compared with the run that it must agree with. Of a run that was cut off, the steps that it has made."""
    if found.get("answer") == OUT_OF_TIME:
        time, base = step_seconds(found), step_seconds(reference)
        relative = {"times_reference": round(time / base, 4)} if time and base else {}
        return {**found, "step_seconds": time, "all_steps": found.get("step_seconds", []), **relative}
    if "losses" not in found or "losses" not in reference:
        return {"answer": "failed", **found}
    difference = first_difference(reference["losses"], found["losses"])
    time, base = step_seconds(found), step_seconds(reference)
    facts = {"answer": evidence.answer(difference is None, found.get("evidence", {})), "step_seconds": time,
             "times_reference": round(time / base, 4) if base else None,
             "all_steps": found["step_seconds"], "losses": found["losses"]}
    if difference is not None:
        facts["first_different_step"] = difference
        facts["largest_relative_difference"] = largest_difference(reference["losses"], found["losses"])
    return {**facts, **{key: found[key] for key in TOLD if key in found}}
