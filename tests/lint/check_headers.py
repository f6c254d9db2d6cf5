"""Every header opens with a comment that says what it is, and how it may be used by threads. None is included that compiles
the same again in each file."""

import source_tree

WALLS = ("alloc", "include", "shim")
COSTLY = {"#include <fmt/format.h>": "<fmt/core.h>, or for lists <fmt_whole.hpp> (cmake/fmt/), costs seconds less"}


def opening(path):
    """The comment block at the very top, or an empty text."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("/*"):
        return text[:text.find("*/")]
    comment = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        comment.append(line)
    return "\n".join(comment)


def check(root):
    findings = []
    for path in source_tree.files(root, ".hpp", ".h", under=WALLS):
        comment = opening(path)
        where = source_tree.name(root, path)
        if not comment:
            findings.append(f"{where}: does not open with a comment")
        elif "Thread safety:" not in comment:
            findings.append(f"{where}: its opening comment has no line `Thread safety: ...`")
    for path in source_tree.files(root, ".hpp", ".cpp", under=(*WALLS, "tests", "bench")):
        lines = path.read_text(encoding="utf-8").splitlines()
        findings += [f"{source_tree.name(root, path)}: {why}" for include, why in COSTLY.items() if include in lines]
    return findings


BAD = [
    {"alloc/base/a.hpp": "#pragma once\n// Thread safety: none.\n"},
    {"include/tessera/a.h": "/* What it is. */\n/* Thread safety: none. */\n"},
    {"alloc/base/a.cpp": "#include <fmt/format.h>\n"},
]
GOOD = [{"alloc/base/a.hpp": "// What it is.\n// Thread safety: none.\n#pragma once\n"}]

if __name__ == "__main__":
    source_tree.main(__name__)
