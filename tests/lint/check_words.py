"""One place per fact: who may read the environment, name CUDA or jemalloc, and what no file may hold."""

import re

import source_tree

CODE = (".hpp", ".cpp", ".h", ".c", ".cu", ".S")
ALL_TEXT = CODE + (".py", ".md", ".cmake", ".txt", ".sh", ".json", ".map")

# (pattern, the files it may stand in, what it is). Comments are not searched.
RESERVED = [
    (re.compile(r"\b(secure_)?getenv\s*\("),
     ("alloc/api/options.cpp", "shim/softcuda/environment.cpp", "shim/cli/", "tests/", "bench/"),
     "the environment is read in one file"),
    (re.compile(r"\bcu[A-Z]\w*|[<\"]cuda\.h[>\"]"),
     ("alloc/driver/cuda_", "shim/", "tests/", "bench/", "docs/examples/"),
     "CUDA is named in driver/cuda_* and the shims alone"),
    (re.compile(r"jemalloc|\bje_\w+"),
     ("alloc/tier/host_arena.cpp", "tests/", "bench/", "shim/cli/"),
     "jemalloc is named in tier/host_arena.cpp alone"),
]
# Put together from halves, so that this file does not hold what it forbids.
MARKS = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(work|wt|farm|home|root|Users)/")
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef)\b")


def conditionals_in_bodies(path):
    """Line numbers of #if inside a function body: at a brace depth that namespaces do not explain."""
    depth, stack, found, pending = 0, [], [], ""
    for number, line in enumerate(source_tree.without_comments(path), 1):
        if line.lstrip().startswith("#"):
            if CONDITIONAL.match(line) and any(kind == "body" for kind in stack):
                found.append(number)
            continue
        line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "", line)
        for character in line:
            if character == "{":
                kind = "scope" if re.search(r"\b(namespace|class|struct|union|enum|extern)\b", pending) else "body"
                # A lambda or an initialiser inside a body is part of the body.
                stack.append("body" if "body" in stack else kind)
                pending = ""
            elif character == "}":
                if stack:
                    stack.pop()
                pending = ""
            elif character == ";":
                pending = ""
            else:
                pending += character
        pending += " "
    return found


def check_code(root, path, where):
    findings = []
    for number, line in enumerate(source_tree.without_comments(path), 1):
        for pattern, allowed, reason in RESERVED:
            if pattern.search(line) and not where.startswith(allowed):
                findings.append(f"{where}:{number}: {pattern.search(line).group(0)}: {reason}")
    if where.startswith("alloc/"):
        for number in conditionals_in_bodies(path):
            findings.append(f"{where}:{number}: #if inside a function body: wrap the interface instead")
    return findings


def check(root):
    findings = []
    for path in source_tree.files(root, *ALL_TEXT):
        where = source_tree.name(root, path)
        if path.suffix in CODE and not where.startswith("include/tessera/memory_resource"):
            findings += check_code(root, path, where)
        for number, line in enumerate(source_tree.lines(path), 1):
            if MARKS.search(line):
                findings.append(f"{where}:{number}: a mark of unfinished work")
            if MACHINE_PATHS.search(line) and not where.startswith("tests/lint/"):
                findings.append(f"{where}:{number}: a path of one machine")
    return findings


BAD = [
    {"alloc/base/a.cpp": 'auto x = getenv("A");\n'},
    {"alloc/page/a.cpp": "void f() { cuMemAlloc(0, 0); }\n"},
    {"alloc/tier/a.cpp": "#include <jemalloc/jemalloc.h>\n"},
    {"alloc/base/a.cpp": "namespace n {\nvoid f() {\n#if X\n#endif\n}\n}\n"},
    {"docs/a.md": "see /ho" "me/someone/x\n"},
    {"alloc/base/a.hpp": "// TO" "DO: later\n"},
]
GOOD = [
    {"alloc/base/a.hpp": "// cuMemAlloc and getenv() are only named here\n#if X\nnamespace n {\n#if Y\n#endif\n}\n#endif\n"},
    {"alloc/api/options.cpp": 'auto x = getenv("A");\n', "alloc/driver/cuda_driver.cpp": "#include <cuda.h>\n"},
    {"alloc/base/b.cpp": "struct S {\n#if X\n  int a;\n#endif\n};\n"},
]

if __name__ == "__main__":
    source_tree.main(__name__)
