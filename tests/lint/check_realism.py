"""Every row of docs/realism.md has a source, and names a test that exists.

A test is `Suite.Name` of a C++ test, a further `Name` of the suite before it, a `Suite`, or the file of a test. "the
same" stands for the test of the row above. Where the row is about programs, the software device may have nothing to do.
"""

import re

import source_tree

PAGE = "docs/realism.md"
COLUMNS = ("point", "real", "source", "software device", "test")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
SPAN = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w./-]+\.(?:cpp|py)")


def known_tests(root):
    """Names of tests by suite, and the names of files under tests/."""
    tests, files = {}, set()
    for path in source_tree.files(root, ".cpp", ".hpp", ".py", under=("tests",)):
        files.add(path.name)
        for suite, name in TEST.findall(path.read_text(encoding="utf-8")):
            tests.setdefault(suite, set()).add(name)
    return tests, files


def check_tests(cell, tests, files):
    """The faults of a cell that names tests."""
    suite, found = None, cell.startswith("the same")
    for span in SPAN.findall(cell):
        if FILE.fullmatch(span):
            if span.rsplit("/", 1)[-1] not in files:
                yield f"no such file: {span}"
        elif "." in span:
            suite, name = span.split(".", 1)
            if name not in tests.get(suite, ()):
                yield f"no such test: {span}"
        elif span not in tests and span not in tests.get(suite, ()):
            yield f"no such test or suite: {span}"
        found = True
    if not found:
        yield "no test"


def check(root):
    page = root / PAGE
    if not page.is_file():
        return [f"{PAGE}: it is missing"]
    tests, files = known_tests(root)
    findings, is_first = [], True
    for number, line in enumerate(source_tree.lines(page), 1):
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if set(line) <= set("|- "):
            is_first = True
            continue
        if cells[0] == COLUMNS[0]:
            continue
        faults = []
        if len(cells) != len(COLUMNS):
            faults.append(f"{len(cells)} cells")
        else:
            faults += [f"no {COLUMNS[i]}" for i in (0, 1, 2) if not cells[i]]
            faults += check_tests(cells[-1], tests, files)
            if is_first and "the same" in (cells[2], cells[-1]):
                faults.append("no row above")
        findings += [f"{PAGE}:{number}: {fault}" for fault in faults]
        is_first = False
    return findings


HEAD = "| point | real drivers | source | software device | test |\n| --- | --- | --- | --- | --- |\n"
CODE = {"tests/unit/a_test.cpp": "TEST_F(Suite, DoesIt) {}\nTYPED_TEST_P(Other, Too) {}\n", "tests/b_test.py": ""}
BAD = [
    {**CODE, PAGE: HEAD + "| a | b | c | d | `Suite.DoesNot` |\n"},
    {**CODE, PAGE: HEAD + "| a | b | c | d | `Suite.DoesIt`, `OrNot` |\n"},
    {**CODE, PAGE: HEAD + "| a | b |  | d | `Suite.DoesIt` |\n"},
    {**CODE, PAGE: HEAD + "| a | b | c | `Suite.DoesIt` |\n"},
    {**CODE, PAGE: HEAD + "| a | b | c | d | none |\n"},
    {**CODE, PAGE: HEAD + "| a | b | c | d | the same |\n"},
    {**CODE, PAGE: HEAD + "| a | b | c | d | `tests/c_test.py` |\n"},
    {**CODE},
]
GOOD = [{**CODE, PAGE: HEAD + "| a | b | c | d | `Suite.DoesIt` |\n| a | b | c | d | the same, and `b_test.py` |\n"
                       "| a | b | the same | d | `Other.Too`, `Suite.DoesIt` |\n"
                       "| a | b | c | d | `Suite` in `tests/unit/a_test.cpp` |\n"}]

if __name__ == "__main__":
    source_tree.main(__name__)
