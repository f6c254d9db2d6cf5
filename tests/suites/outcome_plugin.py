"""A plugin of pytest: what became of each test, as one line of JSON when it begins and one when it ends.

So a test that ends its process, or takes too long, is known by its name, and the others can go on behind it.

    SUITE_OUTCOMES   the file to append to
    SUITE_SKIP       a file of JSON: [names of tests that were run already, patterns of such that are left out]
    SUITE_SECONDS    for one test; then the process ends, and says where each thread was
"""

import faulthandler
import fnmatch
import json
import os
import pathlib

SECONDS = float(os.environ["SUITE_SECONDS"])
_parts = {}


def _write(**line):
    with open(os.environ["SUITE_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config, items):
    names, patterns = json.loads(pathlib.Path(os.environ["SUITE_SKIP"]).read_text(encoding="utf-8"))
    gone = [item for item in items
            if item.nodeid in names or any(fnmatch.fnmatch(item.nodeid, pattern) for pattern in patterns)]
    if gone:
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=gone)
    _write(collected=len(items))


def pytest_collectreport(report):
    """A file that cannot be read counts as one test."""
    if report.failed:
        _write(end=report.nodeid, outcome="error", seconds=0, why=report.longreprtext[-4000:])


def pytest_runtest_logstart(nodeid):
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    _parts[nodeid] = []
    _write(begin=nodeid)


def pytest_runtest_logreport(report):
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "skipped" if report.skipped else "passed"
    elif report.failed and report.when != "call":
        outcome = "error"
    _parts.setdefault(report.nodeid, []).append((outcome, report.duration, report.longreprtext))


def pytest_runtest_logfinish(nodeid):
    faulthandler.cancel_dump_traceback_later()
    parts = _parts.pop(nodeid, [])
    found = [outcome for outcome, _, _ in parts]
    outcome = next((worst for worst in ("error", "failed", "skipped") if worst in found), "passed")
    why = "\n".join(text for told, _, text in parts if told == outcome and text)
    _write(end=nodeid, outcome=outcome, seconds=sum(part[1] for part in parts), why=why[-4000:])
