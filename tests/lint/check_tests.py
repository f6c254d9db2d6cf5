"""Tests mirror the source: alloc/<layer>/<file>.cpp has tests/unit/<layer>/<file>_test.cpp.

The rooms of residency/ share one test program; each room of lab/ has its own.
"""

import source_tree

# Source -> why it has no unit test of its own, or where its test stands instead.
EXCEPTIONS = {
    "alloc/driver/cuda_driver.cpp": "held by tests/contract, over softcuda or a GPU",
    "alloc/driver/cuda_memory.cpp": "held by tests/contract, over softcuda or a GPU",
    "alloc/api/c_api.cpp": "held by tests/c_api, in plain C",
    "alloc/policy/policies.cpp": "held by tests/c_api: unit tests have the table of the laboratory",
}
# Every other place in which the build looks for tests; a test file elsewhere would never run.
TEST_FOLDERS = ("unit", "contract", "fault", "integration", "fuzz", "regress", "cxx_api")


def check(root):
    findings = []
    for path in source_tree.files(root, ".cpp", under=("alloc",)):
        where = source_tree.name(root, path)
        folders, stem = path.relative_to(root).parts[1:-1], path.stem
        layer = folders[1] if folders[0] == "lab" and len(folders) > 1 else folders[0]
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
    {"alloc/residency/pages/a.cpp": "", "tests/unit/pages/a_test.cpp": ""},
    {"alloc/lab/fuzz/a.cpp": "", "tests/unit/lab/a_test.cpp": ""},
    {"tests/other/a_test.cpp": ""},
    {"tests/unit/a_test.cpp": ""},
]
GOOD = [{"alloc/base/a.cpp": "", "tests/unit/base/a_test.cpp": "", "tests/fuzz/b_test.cpp": ""},
        {"alloc/residency/pages/a.cpp": "", "tests/unit/residency/a_test.cpp": "",
         "alloc/lab/fuzz/b.cpp": "", "tests/unit/fuzz/b_test.cpp": ""}]

if __name__ == "__main__":
    source_tree.main(__name__)
