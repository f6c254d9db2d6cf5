"""A training program goes at its pace from the third iteration on.

Usage: third_iteration_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class ThirdIteration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "gpt2.jsonl"
            subprocess.run([sys.executable, BENCH / "traces/generate.py", "gpt2-small", "--batch", "4", "--iterations", "1",
                            "-o", trace], check=True)
            done = subprocess.run([sys.executable, BENCH / "bounds" / "third_iteration.py", BUILD, trace, "--budgets", "110,50"],
                                  capture_output=True, text=True, timeout=1500, check=False)
        assert done.returncode == 0, done.stderr
        cls.told = json.loads(done.stdout)
        cls.rows = {row["budget"]: row for row in cls.told["iterations"]}

    def test_with_ample_memory_all_take_equally_long(self):
        for which in ("second", "third", "fourth"):
            self.assertAlmostEqual(self.rows[110][which], 1, 2)

    def test_half_of_the_memory_costs_two_iterations_without_a_plan(self):
        self.assertGreater(self.rows[50]["second"], 1.05)
        for which in ("third", "fourth"):
            self.assertAlmostEqual(self.rows[50][which], 1, delta=0.02)

    def test_the_summary_covers_all_rows(self):
        seconds = [row["second"] for row in self.rows.values()]
        self.assertEqual(self.told["summary"]["second"]["worst"], max(seconds))
        self.assertAlmostEqual(self.told["summary"]["second"]["mean"], sum(seconds) / len(seconds), 3)


if __name__ == "__main__":
    unittest.main()
