"""Every C and C++ file is as `make format` leaves it, and no line is longer than the limit of .editorconfig."""

import pathlib
import shutil
import subprocess
import sys

import source_tree

FOLDERS = ("alloc", "shim", "include", "tests", "bench")
SUFFIXES = (".cpp", ".hpp", ".c", ".h", ".cu")
LONGEST = 120
FORMATTER = "clang-format-14"
STYLE = ".clang-format"


def check(root):
    paths = source_tree.files(root, *SUFFIXES, under=FOLDERS)
    if not paths:
        return []
    own_style = root / STYLE
    style = "file" if own_style.is_file() else f"file:{pathlib.Path(__file__).resolve().parents[2] / STYLE}"
    formatted = subprocess.run([FORMATTER, f"--style={style}", "--dry-run", "--ferror-limit=1", *paths], capture_output=True,
                               text=True, check=False).stderr
    findings = [line for line in formatted.splitlines() if "[-Wclang-format-violations]" in line]
    for path in paths:
        for number, line in enumerate(source_tree.lines(path), 1):
            if len(line) > LONGEST:
                findings.append(f"{source_tree.name(root, path)}:{number}: {len(line)} characters, at most {LONGEST}")
    return findings


BAD = [
    {"alloc/base/a.cpp": "int  a;\n"},
    {"include/tessera/a.h": "/* " + "long " * 30 + "*/\n"},
    {"alloc/base/a.cpp": "const char* a =\n    \"" + "l" * 120 + "\";\n"},
]
GOOD = [{"alloc/base/a.cpp": "int a;\n", "docs/a.cpp": "int  a;\n"}]

if __name__ == "__main__":
    if shutil.which(FORMATTER) is None:
        print(f"{FORMATTER} is not installed")
        sys.exit(77)
    source_tree.main(__name__)
