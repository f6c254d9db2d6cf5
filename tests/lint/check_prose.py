"""A thing is "it": words that are never right for a block, a run or a page, in comments, messages and documents.

Results are records and stay as they were written. Of tests only the names are searched: they say what a test proves.
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
# Of names the possessive counts too, which has no apostrophe there; "Whole" and "Heap" are other words.
NEVER_IN_NAMES = {"who", "whoever", "whom", "he", "him", "his", "told", "meant",
                  *(f"{which}{end}" for which in ("somebody", "nobody", "anybody", "everybody", "someone", "anyone",
                                                 "everyone") for end in ("", "s"))}
TEST_MACRO = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
TEST_METHOD = re.compile(r"^[ \t]*def (test_\w+)", re.MULTILINE)
NAME_PART = re.compile(r"[A-Z][a-z0-9]*|[a-z0-9]+")
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


def test_names(path):
    """(number, name) of each test in a file, by its macro or its method, and of each suite of a macro."""
    text = path.read_text(encoding="utf-8")
    for match in (TEST_METHOD if path.suffix == ".py" else TEST_MACRO).finditer(text):
        for name in match.groups():
            yield text.count("\n", 0, match.start()) + 1, name


def check_names(root):
    findings = []
    for path in source_tree.files(root, ".hpp", ".cpp", ".py", under=("tests", "bench")):
        for number, name in test_names(path):
            for part in NAME_PART.findall(name):
                if part.lower() in NEVER_IN_NAMES:
                    findings.append(f"{source_tree.name(root, path)}:{number}: \"{part}\" in the name {name}")
    return findings


def check(root):
    findings = check_names(root)
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
    {"tests/unit/base/a_test.cpp": "TEST_F(ATest, WhoIsNeededLaterIsEvicted) {}\n"},
    {"tests/unit/base/a_test.cpp": "TEST(A,\n     TakesNobodysPlace) {}\n"},
    {"tests/contract/a_contract.hpp": "TYPED_TEST_P(NobodyContract, HasAName) {}\n"},
    {"bench/a_test.cpp": "TEST_P(A, IsFasterThanTold) {}\n"},
    {"tests/integration/a_test.py": "class A:\n    def test_values_that_cannot_be_meant(self):\n        pass\n"},
]
GOOD = [
    {"alloc/base/a.cpp": "int nobody = 0;  // the slot is free\n"},
    {"docs/a.md": "See `nobody()` and [why](decisions/0014-nobody-leaves.md).\n"},
    {"bench/results/a.md": "Whoever leaves.\n"},
    {"docs/b.md": "A switch for those who have a small disk.\n"},
    {"tests/unit/base/a_test.cpp": "TEST(Heap, CopiesTheWholeRunWhoseHistoryIsHeld) {}\n"},
    {"tests/unit/base/b_test.cpp": "// Nobody.\nint who = LATEST(a, Who);\n"},
    {"tests/integration/a_test.py": "class A:\n    def test_the_whole_heap(self):\n        who = self.told()\n"},
]

if __name__ == "__main__":
    source_tree.main(__name__)
