"""Keeps files small: headers up to 250 lines, sources up to 400, and a wall at 500 for everything."""

import statistics

import source_tree

LIMITS = {".hpp": 250, ".h": 250, ".cpp": 400, ".c": 400, ".cu": 400, ".S": 400, ".py": 400}
WALL = 500


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
    for note in over_soft:
        print("note:", note)
    if sizes:
        print(f"alloc/: {len(sizes)} files, median {statistics.median(sizes):.0f} lines, largest {max(sizes)}")
    return findings


BAD = [{"alloc/base/a.hpp": "\n" * 251}, {"shim/a/a.cpp": "\n" * 501}]
GOOD = [{"alloc/base/a.hpp": "\n" * 250, "alloc/base/a.cpp": "\n" * 500}]

if __name__ == "__main__":
    source_tree.main(__name__)
