"""What every lint shares: the files of the tree, the printed verdict, and the proof that it can fail.

A lint is a module with `check(root) -> list of findings` and `BAD`, a list of small trees (path -> text)
each of which must give at least one finding, and `GOOD`, which must give none.
Run a lint with a root to check it, or with --self-test.
"""

import os
import pathlib
import sys
import tempfile

SKIPPED_FOLDERS = {".git", "build", ".cache", "shared", "__pycache__"}


def files(root, *suffixes, under=()):
    """Every file of the tree with one of the suffixes, below the folders `under` (all when empty)."""
    found = []
    for folder, below, names in os.walk(root):
        at_root = pathlib.Path(folder) == root
        # What is not read is not walked either: a build has a hundred times as many files.
        below[:] = [name for name in below if name not in SKIPPED_FOLDERS and not (at_root and under and name not in under)]
        for name in set(names) - SKIPPED_FOLDERS:
            path = pathlib.Path(folder, name)
            if path.suffix in suffixes and path.is_file() and (not under or not at_root):
                found.append(path)
    return sorted(found)


def name(root, path):
    return path.relative_to(root).as_posix()


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def without_comments(path):
    """The lines of a C or C++ file, comments replaced by nothing, line numbers kept."""
    kept, in_block = [], False
    for line in lines(path):
        code, position, quote = "", 0, ""
        while position < len(line):
            pair = line[position:position + 2]
            if in_block:
                in_block = pair != "*/"
                position += 1 if in_block else 2
            elif quote:
                code += line[position]
                if line[position] == "\\":
                    code += line[position + 1:position + 2]
                    position += 1
                elif line[position] == quote:
                    quote = ""
                position += 1
            elif pair == "//":
                break
            elif pair == "/*":
                in_block, position = True, position + 2
            else:
                # A quote between digits separates thousands.
                digits = position > 0 and line[position - 1].isalnum() and line[position] == "'"
                if line[position] in "\"'" and not digits:
                    quote = line[position]
                code += line[position]
                position += 1
        kept.append(code)
    return kept


def plant(folder, tree):
    for path, text in tree.items():
        target = pathlib.Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return pathlib.Path(folder)


def self_test(lint):
    faults = []
    for expected, trees in ((True, lint.BAD), (False, lint.GOOD)):
        for tree in trees:
            with tempfile.TemporaryDirectory() as folder:
                findings = lint.check(plant(folder, tree))
            if bool(findings) != expected:
                faults.append(f"{sorted(tree)}: expected {'a finding' if expected else 'none'}, got {findings}")
    return faults


def main(module_name):
    lint = sys.modules[module_name]
    if sys.argv[1:] == ["--self-test"]:
        findings = self_test(lint)
    else:
        findings = lint.check(pathlib.Path(sys.argv[1]).resolve())
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)
