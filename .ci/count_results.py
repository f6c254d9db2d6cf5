"""Sums the test results of several build folders and prints them as the last line.

Usage: count_results.py STATUS FOLDER...   STATUS is the exit status of `make check`. A folder without
results counts as one failure, and so does a failed step that no test result shows. Where a test of ctest is a program
with several tests, these are counted (FOLDER/results/).
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


LINES_OF_A_FAILURE = 20


def was_skipped(case):
    """True when the test itself said so; a missing program is "notrun" too, and a failure."""
    reason = case.find("skipped")
    return reason is not None and reason.get("message", "").startswith("SKIP_")


def last_words(case):
    """The end of what it printed: it says why, where the log of a whole run is too long to be kept."""
    lines = (case.findtext("system-out") or "").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LINES_OF_A_FAILURE:])


def gtest_count(results):
    """Passed, failed and skipped tests of one gtest program that wrote its results; nothing if it did not get that far."""
    if not results.is_file():
        return 0, 0, 0
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    ran = [case for case in cases if case.get("status") == "run"]
    failed = sum(1 for case in ran if case.find("failure") is not None)
    skipped = sum(1 for case in ran if case.find("skipped") is not None)
    return len(ran) - failed - skipped, failed, skipped


def count(folders):
    passed = failed = skipped = 0
    for folder in folders:
        results = pathlib.Path(folder) / "results.xml"
        if not results.is_file():
            print(f"no test results in {folder}")
            failed += 1
            continue
        for case in ElementTree.parse(results).getroot().iter("testcase"):
            state = case.get("status")
            inside = gtest_count(pathlib.Path(folder) / "results" / f"{case.get('name')}.xml")
            if state == "run":
                passed += inside[0] or 1
                skipped += inside[2]
            elif state == "notrun" and was_skipped(case):
                skipped += 1
            else:
                passed += inside[0]
                failed += inside[1] or 1
                print(f"failed in {folder}: {case.get('name')}")
                print(last_words(case))
    return passed, failed, skipped


def main():
    status = int(sys.argv[1])
    passed, failed, skipped = count(sys.argv[2:])
    if status != 0 and failed == 0:
        print(f"make check ended with status {status} though no test failed")
        failed = 1
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
