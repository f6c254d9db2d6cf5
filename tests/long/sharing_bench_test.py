"""The benchmarks of several programs run, and what they count is so on any machine: times are not looked at.

Usage: sharing_bench_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MIB = 1 << 20


class SharingBench(unittest.TestCase):
    def figures(self, script):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "figures.json"
            result = subprocess.run([sys.executable, SOURCE / "bench/sharing" / script, BUILD, "--smoke", "--json", file],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(file.read_text())

    def test_several(self):
        figures = self.figures("several.py")
        ledger, alone = figures["ranks"]
        budget = figures["host_budget_mib"] * MIB
        self.assertLessEqual(ledger["host"], budget)
        self.assertGreater(ledger["file"], 0)
        self.assertGreater(alone["host"], budget)
        self.assertGreater(figures["killed"]["device_held"], figures["device_mib"] * MIB // 2)

    def test_two_programs(self):
        ways = [row["way"] for row in self.figures("run.py")["rows"]]
        self.assertEqual(ways, ["one after the other", "share off", "time-slice 0", "time slices"])


if __name__ == "__main__":
    unittest.main()
