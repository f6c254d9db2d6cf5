"""Keeps files and classes small.

A class has up to 250 lines in a header, where it is declarations, and 320 in a source, where it has its functions in it.
A header has up to 300 lines, a source 400, and nothing more than 500.
"""

import re
import statistics

import source_tree

LIMITS = {".hpp": 300, ".h": 300, ".cpp": 400, ".c": 400, ".cu": 400, ".S": 400, ".py": 400}
WALL = 500
LARGEST_CLASS = {".hpp": 250, ".cpp": 320}
CLASS = re.compile(r"^\s*(?:template <[^;{]*>\s*)?(?:class|struct)\s+(?:\w+\s+)*?(\w+)[^;(){}]*\{")


def classes(path):
    """Name and number of lines of each class that is defined in the file, nested ones included."""
    found, opened, depth = [], [], 0
    for number, line in enumerate(source_tree.without_comments(path), 1):
        match = CLASS.match(line)
        if match:
            opened.append((match.group(1), number, depth))
        depth += line.count("{") - line.count("}")
        while opened and depth <= opened[-1][2]:
            name, begin, _ = opened.pop()
            found.append((name, number - begin + 1))
    return found


def check(root):
    findings, sizes, over_soft = [], [], []
    for path in source_tree.files(root, *LIMITS, ".cmake", ".sh"):
        count = len(source_tree.lines(path))
        where = source_tree.name(root, path)
        # A contract suite is tests that live in a header, so tests count as sources.
        limit = LIMITS[".cpp"] if where.startswith("tests/") else LIMITS.get(path.suffix, WALL)
        if where.startswith("alloc/"):
            sizes.append(count)
        if count > WALL or (path.suffix in (".hpp", ".h") and count > limit):
            findings.append(f"{where}: {count} lines, the limit is {min(limit, WALL)}")
        elif count > limit:
            over_soft.append(f"{where}: {count} lines, above the {limit} we aim for")
        largest = LARGEST_CLASS.get(path.suffix, WALL)
        findings += [f"{where}: {name} has {lines} lines, the limit for a class here is {largest}"
                     for name, lines in classes(path) if lines > largest]
    for note in over_soft:
        print("note:", note)
    if sizes:
        print(f"alloc/: {len(sizes)} files, median {statistics.median(sizes):.0f} lines, largest {max(sizes)}")
    return findings


BAD = [
    {"alloc/base/a.hpp": "\n" * 301},
    {"shim/a/a.cpp": "\n" * 501},
    {"alloc/base/a.hpp": "namespace a {\nclass A final : public B {\n" + "  int a;\n" * 250 + "};\n}\n"},
]
GOOD = [{"alloc/base/a.hpp": "\n" * 300, "alloc/base/a.cpp": "\n" * 500},
        {"alloc/base/b.cpp": "namespace b {\nclass A {\n" + "  int a;\n" * 200 + "};\n"
                             "class B;\nstruct C {\n" + "  int a;\n" * 200 + "};\n}\n"}]

if __name__ == "__main__":
    source_tree.main(__name__)
