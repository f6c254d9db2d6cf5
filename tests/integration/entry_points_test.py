"""Every entry point of the CUDA headers is either hooked or left alone for a stated reason.

Compares cudaTypedefs.h of each CUDA from 12.4 to the newest with shim/preload/hooks.inc and
shim/preload/entry_points.txt, and compiles the preload library with the oldest and the newest headers that it
supports. Headers other than the toolkit's come from PyPI; checks for unavailable headers are skipped with one line.

Usage: entry_points_test.py BUILD_FOLDER
"""

import pathlib
import subprocess
import sys
import unittest

import cuda_headers
import entry_lists
from virtual_environment import Unavailable

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
OLDEST_BUILT_WITH, NEWEST = 12080, max(cuda_headers.OTHERS)


class WithHeaders(unittest.TestCase):
    missing = None  # cached: without network each attempt takes a long time to fail

    def headers(self, version):
        if WithHeaders.missing is None:
            try:
                return cuda_headers.of_version(BUILD, version)
            except Unavailable as why:
                WithHeaders.missing = str(why)
                print(f"skipped: {why}")
        return self.skipTest(WithHeaders.missing)


class EntryPoints(WithHeaders):
    def expect_all_known(self, folder):
        found = cuda_headers.entry_points(folder)
        self.assertIn(("cuMemAlloc", 3020, False), found, "were the headers read?")
        self.assertIn(("cuLaunchKernel", 7000, True), found)
        self.assertEqual(found - entry_lists.known(), set(), "say of these in entry_points.txt, or hook them")

    def test_all_of_the_toolkit_are_known(self):
        self.expect_all_known(cuda_headers.of_toolkit(BUILD))

    def test_all_of_cuda_12_4_are_known(self):
        self.expect_all_known(self.headers(12040))

    def test_all_of_cuda_12_8_are_known(self):
        self.expect_all_known(self.headers(12080))

    def test_all_of_cuda_13_0_are_known(self):
        self.expect_all_known(self.headers(13000))

    def test_all_of_the_newest_are_known(self):
        self.expect_all_known(self.headers(NEWEST))

    def test_no_unknown_entry_point_of_the_toolkit_is_listed(self):
        toolkit = cuda_headers.of_toolkit(BUILD)
        named = {point for point in entry_lists.known() if point[1] <= cuda_headers.version_of(toolkit)}
        self.assertEqual(named - cuda_headers.entry_points(toolkit), set())

    def test_no_unknown_entry_point_of_the_newest_is_listed(self):
        self.assertEqual(entry_lists.known() - cuda_headers.entry_points(self.headers(NEWEST)), set())

    def test_the_table_ends_at_the_newest_supported_version(self):
        named = max(version for _, version, _ in entry_lists.known())
        header = (SOURCE / "shim/cuda/newer_cuda.h").read_text()
        self.assertIn(f"#define TESSERA_NEWEST_CUDA {NEWEST}\n", header)
        self.assertLessEqual(named, NEWEST)

    def test_each_is_named_once(self):
        points = entry_lists.hooked() + [point for _, _, point in entry_lists.left_alone()]
        self.assertEqual(sorted({point for point in points if points.count(point) > 1}), [])

    def test_each_has_a_verdict(self):
        for verdict, reason, point in entry_lists.left_alone():
            self.assertTrue(verdict and reason, point)


class Compiled(WithHeaders):
    """Declarations newer than a header are supplied by newer_cuda.h, and the others must agree with it."""

    def expect_compiles(self, folder):
        sources = sorted((SOURCE / "shim/preload").glob("*.cpp"))
        whole = "".join(f'#include "{source}"\n' for source in sources)
        compiled = subprocess.run(
            ["c++", "-x", "c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wundef",
             "-Werror", f"-I{SOURCE}/shim/preload", f"-I{SOURCE}/shim/cuda", f"-I{SOURCE}/include",
             "-isystem", folder, "-"], input=whole, capture_output=True, text=True, check=False, timeout=250)
        self.assertEqual(compiled.returncode, 0, compiled.stderr[-4000:])

    def test_with_the_oldest_headers(self):
        self.expect_compiles(self.headers(OLDEST_BUILT_WITH))

    def test_with_the_newest_headers(self):
        self.expect_compiles(self.headers(NEWEST))


if __name__ == "__main__":
    unittest.main()
