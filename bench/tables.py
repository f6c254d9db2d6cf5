"""Writes the benchmark results into docs/benchmarks.md: tables between marks; nothing else is changed.

Usage: tables.py [RESULTS_FOLDER [DOCUMENT]]

  <!-- bench NAME LIST -->    the list LIST of NAME.json as a table, below a line with its environment
  <!-- bench oversubscription PROGRAM -->   a program's table, as bench/oversubscription makes it
  <!-- end bench -->

Results without their environment, of a smoke run, or of a build with assertions are refused. A mark without a result
keeps its table.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "gpu")]

from environment import objection  # noqa: E402
from table import text  # noqa: E402

MARK = re.compile(r"(<!-- bench (\S+) (\S+) -->\n).*?(<!-- end bench -->)", re.DOTALL)


def flat(row, prefix=""):
    """The figures of a row. Lists are left out: they are the rounds behind a median."""
    cells = {}
    for key, value in row.items():
        if isinstance(value, dict):
            cells |= flat(value, f"{prefix}{key} ")
        elif not isinstance(value, list):
            cells[prefix + key] = "" if value is None else value if isinstance(value, str) else text(value)
    return cells


def markdown(rows):
    rows = [flat(row) for row in rows]
    heads = list(dict.fromkeys(key for row in rows for key in row))
    yield "| " + " | ".join(head.replace("_", " ") for head in heads) + " |"
    yield "| --- " * len(heads) + "|"
    for row in rows:
        yield "| " + " | ".join(row.get(head, "") for head in heads) + " |"


def whence(name, body):
    why = objection(body)
    if why:
        raise ValueError(f"{name}: {why}: not a publishable result")
    environment = body["environment"]
    where = ", ".join(environment[key] for key in ("cpu", "disk", "kernel", "compiler", "build") if key in environment)
    return f"Commit {environment['commit']}, {environment['date']}, {where}:"


def table(name, wanted, body):
    return "\n".join((whence(name, body), "", *markdown(body[wanted]), ""))


def oversubscription(wanted, body):
    sys.path.insert(0, str(HERE / "oversubscription"))
    import report
    found = [program for program in body["programs"] if program["name"] == wanted]
    if not found:
        raise ValueError(f"oversubscription: unknown program {wanted}")
    return whence("oversubscription", body) + "\n\n" + report.table(found[0])


def filled(document, results):
    """The document with every table for which there is a result."""
    def fill(match):
        begin, name, wanted, end = match.groups()
        path = results / name / f"{name}.json" if name == "oversubscription" else results / f"{name}.json"
        if not path.is_file():
            return match.group(0)
        body = json.loads(path.read_text(encoding="utf-8"))
        made = oversubscription(wanted, body) if name == "oversubscription" else table(name, wanted, body)
        return f"{begin}{made}{end}"
    return MARK.sub(fill, document)


def main(results=HERE / "results", document=HERE.parent / "docs" / "benchmarks.md"):
    path = pathlib.Path(document)
    try:
        path.write_text(filled(path.read_text(encoding="utf-8"), pathlib.Path(results)), encoding="utf-8")
    except (ValueError, KeyError) as error:
        sys.exit(f"tables.py: {error}")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
