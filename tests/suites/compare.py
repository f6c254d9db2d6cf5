"""What two ways of running a suite make of the same tests: a table, what passes without and does not with, JUnit's files."""

import collections
import fnmatch
import xml.etree.ElementTree

OUTCOMES = ("passed", "failed", "error", "crashed", "skipped")


def table(results):
    """`results`: by way, the outcomes by test."""
    rows = ["| way | " + " | ".join(OUTCOMES) + " |", "| --- |" + " --- |" * len(OUTCOMES)]
    for way, outcomes in results.items():
        counts = collections.Counter(done.outcome for done in outcomes.values())
        rows.append(f"| {way} | " + " | ".join(str(counts[outcome]) for outcome in OUTCOMES) + " |")
    return "\n".join(rows)


def worse(without, with_it, left_out=()):
    """Tests that pass without and do not with, and what became of them there; but those whose names match a pattern."""
    return {test: with_it[test].outcome if test in with_it else "missing"
            for test, done in without.items()
            if done.outcome == "passed" and (test not in with_it or with_it[test].outcome != "passed")
            and not any(fnmatch.fnmatch(test, pattern) for pattern in left_out)}


def write_junit(path, name, outcomes):
    counts = collections.Counter(done.outcome for done in outcomes.values())
    suite = xml.etree.ElementTree.Element(
        "testsuite", name=name, tests=str(len(outcomes)), failures=str(counts["failed"]),
        errors=str(counts["error"] + counts["crashed"]), skipped=str(counts["skipped"]))
    for test, done in sorted(outcomes.items()):
        file, _, rest = test.partition("::")
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=file, name=rest, time=f"{done.seconds:.3f}")
        tag = {"failed": "failure", "error": "error", "crashed": "error", "skipped": "skipped"}.get(done.outcome)
        if tag:
            printable = "".join(c for c in done.why if c.isprintable() or c in "\n\t")
            xml.etree.ElementTree.SubElement(case, tag, message=done.outcome).text = printable
    xml.etree.ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
