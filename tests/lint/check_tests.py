"""Tests mirror the source: alloc/<layer>/<file>.cpp has tests/unit/<layer>/<file>_test.cpp."""

import source_tree

# Source -> why it has no unit test of its own, or where its test stands instead.
EXCEPTIONS = {
    "alloc/driver/cuda_driver.cpp": "held by tests/contract, over softcuda or a GPU",
    "alloc/driver/cuda_memory.cpp": "held by tests/contract, over softcuda or a GPU",
    "alloc/api/c_api.cpp": "held by tests/c_api, in plain C",
}
# Every other place in which the build looks for tests; a test file elsewhere would never run.
TEST_FOLDERS = ("unit", "contract", "fault", "integration", "fuzz", "regress")


def check(root):
    findings = []
    for path in source_tree.files(root, ".cpp", under=("alloc",)):
        where = source_tree.name(root, path)
        layer, stem = path.parent.name, path.stem
        expected = root / "tests" / "unit" / layer / f"{stem}_test.cpp"
        if where not in EXCEPTIONS and not expected.is_file():
            findings.append(f"{where}: no {source_tree.name(root, expected)}")
    for path in source_tree.files(root, ".cpp", under=("tests",)):
        parts = path.relative_to(root).parts
        depth = 4 if parts[1] == "unit" else 3
        if path.stem.endswith("_test") and (parts[1] not in TEST_FOLDERS or len(parts) != depth):
            findings.append(f"{source_tree.name(root, path)}: the build does not look for tests here")
    return findings


BAD = [
    {"alloc/base/a.cpp": ""},
    {"tests/other/a_test.cpp": ""},
    {"tests/unit/a_test.cpp": ""},
]
GOOD = [{"alloc/base/a.cpp": "", "tests/unit/base/a_test.cpp": "", "tests/fuzz/b_test.cpp": ""}]

if __name__ == "__main__":
    source_tree.main(__name__)
