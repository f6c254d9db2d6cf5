"""Decoding over weights that are one block, larger than the device, takes hardly longer than the link needs; also where
a draft model in the same block is used more often than the rest.

Usage: one_block_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench/one_block.py"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class OneBlock(unittest.TestCase):
    def rows_of(self, *options):
        done = subprocess.run([sys.executable, BENCH, BUILD, "--policy", "recency", *options], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["times_the_device"] for row in rows], [1.25, 1.5, 2])
        return rows

    def test_within_a_tenth(self):
        for row in self.rows_of():
            with self.subTest(times_the_device=row["times_the_device"]):
                self.assertGreaterEqual(row["bytes_h2d"], row["bytes_needed"])
                self.assertLessEqual(row["ratio"], 1.1)

    def test_what_is_used_most_comes_to_the_device(self):
        for row in self.rows_of("--model", "decode-llama3-8b", "--draft", "decode-llama3-1b"):
            with self.subTest(times_the_device=row["times_the_device"]):
                self.assertGreaterEqual(row["bytes_h2d"], row["bytes_needed"])
                self.assertLessEqual(row["ratio"], 1.25, "a split that stays takes 2.0 to 3.5")


if __name__ == "__main__":
    unittest.main()
