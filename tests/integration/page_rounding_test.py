"""The reported page rounding loss of a hand-made trace.

Usage: page_rounding_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/bounds/page_rounding.py"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MIB = 1 << 20


class PageRounding(unittest.TestCase):
    def row_of(self, events):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "by_hand.jsonl"
            trace.write_text("".join(json.dumps(event) + "\n" for event in events))
            done = subprocess.run([sys.executable, SCRIPT, BUILD, trace], capture_output=True, text=True, timeout=60,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["results"][0]

    def test_each_block_alone_has_whole_pages(self):
        row = self.row_of([
            {"t": "header", "version": 1},
            {"t": "alloc", "id": 1, "bytes": 3 * MIB},       # half a page is empty
            {"t": "alloc", "id": 2, "bytes": MIB // 2},      # in a slab
            {"t": "mark", "kind": "iteration", "n": 1},
            {"t": "alloc", "id": 3, "bytes": 5 * MIB},
            {"t": "op", "ns": 1000, "r": [1, 2], "w": [3]},
            {"t": "free", "id": 3},
            {"t": "alloc", "id": 4, "bytes": 4 * MIB},       # fills its pages exactly, and is smaller than the previous
                                                             # one
            {"t": "op", "ns": 1000, "r": [1, 2], "w": [4]},
            {"t": "free", "id": 4},
        ])
        self.assertEqual(row["trace"], "by_hand")
        self.assertEqual(row["live_peak_bytes"], 8.5 * MIB)
        self.assertAlmostEqual(row["in_pages"], 10.5 / 8.5, 4)
        self.assertAlmostEqual(row["fits_in"], 12 / 8.5, 2)  # the slab takes a page as well

    def test_a_block_of_whole_pages_loses_nothing(self):
        row = self.row_of([
            {"t": "header", "version": 1},
            {"t": "alloc", "id": 1, "bytes": 64 * MIB},
            {"t": "mark", "kind": "iteration", "n": 1},
            {"t": "op", "ns": 1000, "r": [], "w": [1]},
        ])
        self.assertEqual((row["in_pages"], row["fits_in"]), (1, 1))
        self.assertEqual(row["time_at_103"], 1)

    def test_bundled_blocks_need_fewer_pages_than_single_ones(self):
        weights = [{"t": "alloc", "id": i, "bytes": 9 * MIB // 4} for i in range(1, 201)]
        row = self.row_of([{"t": "header", "version": 1}, *weights, {"t": "mark", "kind": "iteration", "n": 1},
                           {"t": "op", "ns": 1000, "r": [1], "w": [2]}, {"t": "op", "ns": 1000, "r": [3], "w": [200]}])
        self.assertGreater(row["in_pages"], 1.7)
        self.assertLess(row["fits_in"], 1.2)


if __name__ == "__main__":
    unittest.main()
