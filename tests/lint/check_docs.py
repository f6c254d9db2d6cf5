"""Documents cannot rot: every path, link, heading linked to, option, TESSERA_ name and C++ name in a *.md file exists.

A C++ name is a code span such as `Residency::fetch` or `PageMover()`; decisions name what there was. Paths are looked for in code spans and code blocks, from the root, from the document's folder, from
alloc/ and from include/. Options are those of the option table, the command line and the benchmarks.
"""

import collections
import functools
import re

import source_tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")
# A path has a folder; <name>, * and {a,b} stand for many files and are matched as such.
PATH = re.compile(r"(?<![\w./$~:=-])[\w.-]+(?:/[\w.*<>{},-]+)+/?")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
VARIABLE = re.compile(r"\bTESSERA_[A-Z0-9_]*[A-Z0-9]")
# Class::member, or a class of two words and more.
SYMBOL = re.compile(r"(?:[A-Za-z_]\w*::)+~?[A-Za-z_]\w*(?:\(\))?|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?")
RECORDS = ("docs/decisions/", "CHANGELOG.md")
# These name classes of other projects as well.
PAGES_ON_OTHERS = ("docs/cuda-core.md", "docs/realism.md", "docs/rmm.md")
# Folders that exist only after a build, or on other machines.
NOT_IN_TREE = ("build/", "bin/", "lib/", "usr/", "etc/", "proc/", "dev/", "sys/", "tmp/")
OPTION_SOURCES = ("alloc/api/options", "shim/", "bench/", "docs/examples/", "tests/programs/", "tests/lint/")
# Programs of others: their options are not ours to resolve.
OTHERS = re.compile(r"\b(cmake|ctest|git|apt-get|pip|configure|clang|g\+\+|gcc|nvcc|pkg-config|jemalloc|ld|docker|podman|srun|systemctl|curl|vllm|sglang|main\.py)\b")


def spans(text):
    """(line number, code) of every code span and every line of a code block; links apart."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif in_block:
            yield number, line
        else:
            for match in SPAN.finditer(line):
                yield number, match.group(1)


def anchors(text):
    """What headings are linked by, as GitHub makes it of them: "Where it *is*, and why" is where-it-is-and-why."""
    found, in_block = collections.Counter(), False
    for line in text.splitlines():
        in_block ^= line.lstrip().startswith("```")
        if in_block or not re.match(r"#+ ", line):
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        yield f"{slug}-{found[slug]}" if found[slug] else slug
        found[slug] += 1


def check_link(target, path, text):
    """The fault of a link in the document at `path`, which reads `text`; None where it has none."""
    name, _, anchor = target.partition("#")
    if "://" in target:
        return None
    linked = path.parent / name if name else path
    if not linked.exists():
        return f"no such link: {name}"
    if anchor and linked.suffix == ".md":
        headings = anchors(linked.read_text(encoding="utf-8") if name else text)
        if anchor not in headings:
            return f"no such heading: {target}"
    return None


def exists(path, bases):
    path = path.rstrip("/.,")
    # "tier/tier.hpp/.cpp" names two files.
    path = re.sub(r"(\.\w+)/\.\w+$", r"\1", path)
    if re.search(r"[<>{}*]", path):
        pattern = re.sub(r"<[^>]*>|\{[^}]*\}", "*", path)
        return any(any(base.glob(pattern)) for base in bases)
    return any((base / path).exists() for base in bases)


def looks_like_ours(path, bases):
    """Only what starts in a folder of the tree is a claim about the tree."""
    first = path.split("/")[0]
    return not path.startswith(NOT_IN_TREE) and first not in (".", "..") and any(
        (base / first).is_dir() for base in bases)


def known_words(root):
    """Text in which an option or a variable counts as defined."""
    options, everything = [], []
    for path in source_tree.files(root, ".cpp", ".hpp", ".h", ".c", ".py", ".cu", ".cmake", ".txt", ".sh"):
        text = path.read_text(encoding="utf-8")
        everything.append(text)
        if source_tree.name(root, path).startswith(OPTION_SOURCES):
            options.append(text)
    return "\n".join(options), "\n".join(everything)


@functools.lru_cache(maxsize=None)
def is_option(option, options):
    return re.search(rf'(--|["\']){re.escape(option)}\b', options) is not None


def check_code(code, bases, options, names):
    for path in PATH.findall(code):
        if looks_like_ours(path, bases) and not exists(path, bases):
            yield f"no such path: {path}"
    if not OTHERS.search(code):
        for option in OPTION.findall(code):
            if not is_option(option, options):
                yield f"no such option: --{option}"
    for variable in VARIABLE.findall(code):
        option = variable[len("TESSERA_"):].lower().replace("_", "-")
        if variable not in names and f'"{option}"' not in options:
            yield f"no such name: {variable}"


def check_symbol(code, where, names):
    if not SYMBOL.fullmatch(code) or where.startswith(RECORDS):
        return
    missing = [word for word in re.findall(r"\w+", code) if word not in names]
    if missing and ("::" in code or where not in PAGES_ON_OTHERS):
        yield f"no such symbol: {code}"


def check(root):
    findings = []
    options, everything = known_words(root)
    names = set(re.findall(r"\w+", everything))
    for path in source_tree.files(root, ".md"):
        where = source_tree.name(root, path)
        text = path.read_text(encoding="utf-8")
        bases = [root, path.parent, root / "alloc", root / "include"]
        for number, line in enumerate(text.splitlines(), 1):
            for target in LINK.findall(SPAN.sub("", line)):
                fault = check_link(target, path, text)
                if fault:
                    findings.append(f"{where}:{number}: {fault}")
        for number, code in spans(text):
            findings += [f"{where}:{number}: {fault}"
                         for fault in (*check_code(code, bases, options, names), *check_symbol(code, where, names))]
    return findings


TREE = {"alloc/api/options.cpp": '{"device-memory", ...}', "alloc/tier/tier.hpp": "",
        "docs/b.md": "# One\n## `Two`, and three\n# One\n```\n# code\n```\n"}
BAD = [
    {**TREE, "docs/a.md": "see [b](c.md)"},
    {**TREE, "docs/a.md": "see [b](b.md#two)"},
    {**TREE, "docs/a.md": "see [b](b.md#code)"},
    {**TREE, "docs/a.md": "see [here](#there)"},
    {**TREE, "docs/a.md": "see `alloc/tier/other.hpp`"},
    {**TREE, "docs/a.md": "see `tier/other.hpp`"},
    {**TREE, "docs/a.md": "use `--devise-memory`"},
    {**TREE, "docs/a.md": "set `TESSERA_DEVISE_MEMORY`"},
    {**TREE, "docs/a.md": "it is `Residency::expect_other_runs`", "alloc/a.hpp": "class Residency;"},
    {**TREE, "docs/a.md": "it is `PageMover()`"},
]
GOOD = [{**TREE, "docs/a.md": "# Here\nsee [b](b.md#two-and-three), [b](b.md#one-1), [a](#here)\n"
                              "see [b](b.md), `tier/tier.hpp`, `alloc/*/tier.hpp`, `--device-memory 1GiB`, "
                              "`TESSERA_DEVICE_MEMORY`, `cmake --preset dev`, `a/b`, `FileTier::open`",
         "alloc/b.hpp": "class FileTier { void open(); };", "docs/decisions/0001-a.md": "`OldName`"}]

if __name__ == "__main__":
    source_tree.main(__name__)
