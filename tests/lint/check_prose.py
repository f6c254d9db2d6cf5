"""A thing is "it": words that are never right for a block, a run or a page, in comments, messages and documents.

Decisions and the change log are records and stay as they were written. Test names are not searched.
"""

import re

import source_tree

CODE = (".hpp", ".cpp", ".h", ".c", ".cu", ".S")
SCRIPTS = (".py", ".sh", ".cmake")
ROOMS = ("alloc", "shim", "include", "bench", "docs", "cmake", "README.md", "CONTRIBUTING.md")
RECORDS = ("bench/results/",)
NEVER = re.compile(r"\b(who|whoever|whom|he|him|his|somebody|nobody|anybody|everybody)\b", re.IGNORECASE)
RIDDLES = re.compile(r"\bcannot be meant\b|^\W*likewise\b\W*$", re.IGNORECASE)
# People are "who".
PEOPLE = ("for the user who", "for those who")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')


def prose_of_code(path):
    """(number, text) of what is a comment or a string in a file of C or C++."""
    bare = source_tree.without_comments(path)
    for number, (line, code) in enumerate(zip(source_tree.lines(path), bare), 1):
        rest = line[len(code.rstrip()):] if line.startswith(code.rstrip()) else line
        yield number, " ".join([*STRING.findall(code), rest])


def prose(path):
    if path.suffix in CODE:
        yield from prose_of_code(path)
    elif path.suffix == ".md":
        yield from enumerate((re.sub(r"`[^`]*`|\([^()]*\.md[^()]*\)", "", line) for line in source_tree.lines(path)), 1)
    else:
        yield from enumerate(source_tree.lines(path), 1)


def check(root):
    findings = []
    for path in source_tree.files(root, *CODE, *SCRIPTS, ".md", under=ROOMS):
        where = source_tree.name(root, path)
        if where.startswith(RECORDS):
            continue
        for number, text in prose(path):
            match = NEVER.search(text) or RIDDLES.search(text)
            if match and not any(allowed in text for allowed in PEOPLE):
                findings.append(f"{where}:{number}: \"{match.group(0).strip()}\": {text.strip()[:100]}")
    return findings


BAD = [
    {"alloc/base/a.hpp": "// Whoever leaves first.\n"},
    {"alloc/base/a.cpp": 'auto text = "nobody reads it";\n'},
    {"docs/a.md": "The run who comes back.\n"},
    {"shim/cli/a.py": '"""What cannot be meant."""\n'},
    {"alloc/base/b.hpp": "int a;\n// Likewise.\nint b;\n"},
]
GOOD = [
    {"alloc/base/a.cpp": "int nobody = 0;  // the slot is free\n"},
    {"docs/a.md": "See `nobody()` and [why](decisions/0014-nobody-leaves.md).\n"},
    {"bench/results/a.md": "Whoever leaves.\n"},
    {"docs/b.md": "A switch for those who have a small disk.\n"},
]

if __name__ == "__main__":
    source_tree.main(__name__)
