"""Pages that no kernel writes are evicted without a copy under `tessera run`, and the program's output is the same
as alone.

Usage: unchanged_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "unchanged.py"


class Unchanged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([sys.executable, BENCH, BUILD, "--smoke", "--json"], capture_output=True, text=True,
                              timeout=280, check=False)
        assert done.returncode == 0, done.stderr  # it compares the program's outputs
        cls.rows = {(row["weights go to"], row["fingerprints"]): row for row in json.loads(done.stdout)["results"]}

    def figure(self, where, fingerprints, name):
        return self.rows[where, fingerprints][f"{name}, MiB a batch"]

    def test_weights_are_copied_out_every_batch_without_fingerprints_and_rarely_with(self):
        for where in ("host memory", "spill file"):
            self.assertGreater(self.figure(where, "off", "in"), 20, where)
            self.assertGreater(self.figure(where, "off", "out"), 20, where)
            self.assertGreater(self.figure(where, "on", "in"), 20, where)
            self.assertLess(self.figure(where, "on", "out"), 5, where)

    def test_fingerprints_reduce_file_writes(self):
        self.assertGreater(self.figure("spill file", "off", "file written"), 8)
        self.assertLess(self.figure("spill file", "on", "file written"), 3)

    def test_no_page_is_checked_without_fingerprints(self):
        for where in ("host memory", "spill file"):
            self.assertEqual(self.rows[where, "off"]["pages asked"], 0)
            self.assertGreater(self.rows[where, "on"]["pages asked"], 20)


if __name__ == "__main__":
    unittest.main()
