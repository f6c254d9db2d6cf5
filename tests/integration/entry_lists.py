"""The contents of hooks.inc and entry_points.txt: driver entry points as (name, version, per-thread)."""

import pathlib
import re

PRELOAD = pathlib.Path(__file__).resolve().parents[2] / "shim" / "preload"


def hooked():
    lines = re.findall(r'^HOOK\(\w+, "(\w+)", (\d+), (\w+)\)$', (PRELOAD / "hooks.inc").read_text(), re.M)
    return [(name, int(version), streams == "kPerThread") for name, version, streams in lines]


def left_alone():
    """(verdict, reason, entry point) of each name in entry_points.txt."""
    verdict = reason = None
    for line in (PRELOAD / "entry_points.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if section := re.fullmatch(r"\[(passes|escapes)\] (.+)", line):
            verdict, reason = section.groups()
            continue
        for word in line.split():
            name, version, variant = re.fullmatch(r"(cu\w+)@(\d+)(\+?)", word).groups()
            yield verdict, reason, (name, int(version), bool(variant))


def known():
    return set(hooked()) | {point for _, _, point in left_alone()}
