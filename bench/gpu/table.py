"""Prints the results in a folder as tables for docs/hardware.md; refuses files that do not say whence they are.

Usage: table.py DIR [SECTION...]
"""

import json
import pathlib
import sys

NEEDED = ("section", "gpu", "driver", "commit", "date", "command")
MOST_FIGURES = 12
# Of no interest next to an answer, or reported elsewhere.
LEFT_OUT = {"name", "answer", "question", "code", "error", "losses", "losses_alone"}


def figures(facts, prefix=""):
    """All figures of a result with their paths: the median of repeated values, the last element of a list."""
    for name, value in facts.items():
        path = f"{prefix}{name}"
        if name in LEFT_OUT or value is None:
            continue
        if name == "evidence":
            # The answer already implies that Tessera was in use.
            yield from ((what, value[what]) for what in ("evictions", "bytes_out") if value.get(what))
            continue
        if isinstance(value, list) and value and not isinstance(value[0], str):
            value = value[-1]
        if isinstance(value, dict) and "median" in value:
            value = value["median"]
        if isinstance(value, dict):
            yield from figures(value, path + " ")
        elif isinstance(value, (bool, int, float)):
            yield path, value


def text(value):
    """Three significant digits, and a unit of 1000 if the number is large."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size or (unit == "G" and abs(value) >= size):
            return f"{value / size:.4g} {unit}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def row(result):
    facts = dict(result)
    if "question" in facts:
        facts = facts.get("results", {})
    shown = list(figures(facts))
    told = ", ".join(f"{name} {text(value)}" for name, value in shown[:MOST_FIGURES])
    if len(shown) > MOST_FIGURES:
        told += ", ..."
    why = result.get("error") or result.get("why") or ""
    return f"| {result['name']} | {result.get('answer', 'measured')} | {why or told} |"


def table(body):
    absent = [key for key in NEEDED if not body.get(key)]
    if absent:
        raise ValueError(f"no {', '.join(absent)}: not a publishable result")
    state = "" if body.get("complete") else ", not complete"
    yield f"`{body['command']}`, {body['gpu']}, driver {body['driver']}, commit {body['commit']}, {body['date']}{state}:"
    yield ""
    yield f"| {body['section']} | answer | figures |"
    yield "| --- | --- | --- |"
    yield from (row(result) for result in body["results"])
    yield ""


def main(folder, *sections):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        if sections and path.stem not in sections:
            continue
        try:
            print("\n".join(table(json.loads(path.read_text(encoding="utf-8")))))
        except (ValueError, KeyError) as error:
            sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
