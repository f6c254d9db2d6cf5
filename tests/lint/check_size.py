"""Keeps files and classes small.

A class has up to 250 lines in a header, where it is declarations, and 320 in a source, where it has its functions in it.
Its functions are in one source: a class that needs several is several classes. A header has up to 300 lines, a source
400, and nothing more than 500.
"""

import re
import statistics

import source_tree

LIMITS = {".hpp": 300, ".h": 300, ".cpp": 400, ".c": 400, ".cu": 400, ".S": 400, ".py": 400}
WALL = 500
LARGEST_CLASS = {".hpp": 250, ".cpp": 320}
CLASS = re.compile(r"^\s*(?:template <[^;{]*>\s*)?(?:class|struct)\s+(?:\w+\s+)*?(\w+)[^;(){}]*\{")
# A member function that is defined outside of its class, with the names of the outer classes.
MEMBER = re.compile(r"^(?=\S)(?:[\w:<>,*&\s\[\]]*?[\s*&])??((?:[A-Z]\w*::)+)(?:~?\w+|operator\S+)\(")
# Classes over several sources -> why.
CUT = {
    "CudaDriver": "one contract, for which each source has the calls of one kind: memory, copies, fingerprints",
    "SimDriver": "the same contract on the simulated device",
    "FuzzPlayer": "one player; each source has the operations on one feature",
}


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


def cut_classes(root):
    """A finding for each class with member functions in several sources, unless CUT gives a reason."""
    sources = {}
    for path in source_tree.files(root, ".cpp", under=("alloc", "shim")):
        parts = path.relative_to(root).parts
        library = parts[0] if parts[0] == "alloc" else parts[:2]  # each folder of shim/ is a program of its own
        for line in source_tree.without_comments(path):
            if match := MEMBER.match(line):
                name = match.group(1).split("::")[0]
                sources.setdefault((library, name), set()).add(source_tree.name(root, path))
    return [f"{', '.join(sorted(files))}: {name} has functions in {len(files)} sources"
            for (_, name), files in sorted(sources.items(), key=str) if len(files) > 1 and name not in CUT]


def check(root):
    findings, sizes, over_soft = cut_classes(root), [], []
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
    {"alloc/base/a.cpp": "Status A::b() {\n}\n", "alloc/base/b.cpp": "A::A(int c) : c_(c) {}\n"},
    {"alloc/base/a.hpp": "namespace a {\nclass A final : public B {\n" + "  int a;\n" * 250 + "};\n}\n"},
]
GOOD = [{"alloc/base/a.hpp": "\n" * 300, "alloc/base/a.cpp": "\n" * 500},
        {"alloc/base/a.cpp": "Status A::b() {\n  B::c();\n}\n", "shim/a/b.cpp": "B::A A::b(int) {}\n",
         "alloc/base/c.cpp": "Result<A::C> B::c() {}\n// A::d()\n"},
        {"alloc/base/b.cpp": "namespace b {\nclass A {\n" + "  int a;\n" * 200 + "};\n"
                             "class B;\nstruct C {\n" + "  int a;\n" * 200 + "};\n}\n"}]

if __name__ == "__main__":
    source_tree.main(__name__)
