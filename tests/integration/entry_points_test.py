"""Every entry point of the CUDA headers is taken over or left alone for a reason: none is forgotten.

Compares cudaTypedefs.h with shim/preload/hooks.inc and shim/preload/entry_points.txt, each as a set of
(name, version, per-thread default stream).
"""

import pathlib
import re
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1))
PRELOAD = pathlib.Path(__file__).resolve().parents[2] / "shim" / "preload"


def cuda_headers():
    cache = (BUILD / "CMakeCache.txt").read_text()
    return pathlib.Path(re.search(r"^TESSERA_CUDA_INCLUDE:\w+=(.+)$", cache, re.M)[1])


def in_headers():
    text = (cuda_headers() / "cudaTypedefs.h").read_text()
    found = re.findall(r"\bPFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\b", text)
    return {(name, int(version), bool(variant)) for name, version, variant in found}


def hooked():
    lines = re.findall(r'^HOOK\(\w+, "(\w+)", (\d+), (\w+)\)$', (PRELOAD / "hooks.inc").read_text(), re.M)
    return [(name, int(version), streams == "kPerThread") for name, version, streams in lines]


def left_alone():
    """(verdict, reason, entry point) of each name in entry_points.txt."""
    verdict = reason = None
    for line in (PRELOAD / "entry_points.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if section := re.fullmatch(r"\[(passes|escapes)\] (.+)", line):
            verdict, reason = section.groups()
            continue
        for word in line.split():
            name, version, variant = re.fullmatch(r"(cu\w+)@(\d+)(\+?)", word).groups()
            yield verdict, reason, (name, int(version), bool(variant))


class EntryPoints(unittest.TestCase):
    def test_the_headers_were_read(self):
        self.assertIn(("cuMemAlloc", 3020, False), in_headers())
        self.assertIn(("cuLaunchKernel", 7000, True), in_headers())

    def test_none_of_the_headers_is_forgotten(self):
        known = set(hooked()) | {point for _, _, point in left_alone()}
        self.assertEqual(in_headers() - known, set(), "say of these in entry_points.txt, or hook them")

    def test_none_is_named_that_the_headers_lack(self):
        known = set(hooked()) | {point for _, _, point in left_alone()}
        self.assertEqual(known - in_headers(), set())

    def test_each_is_named_once(self):
        points = hooked() + [point for _, _, point in left_alone()]
        self.assertEqual(sorted({point for point in points if points.count(point) > 1}), [])

    def test_each_has_a_verdict(self):
        for verdict, reason, point in left_alone():
            self.assertTrue(verdict and reason, point)


if __name__ == "__main__":
    unittest.main()
