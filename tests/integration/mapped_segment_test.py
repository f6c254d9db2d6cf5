"""Training in one reservation that the program maps itself, larger than the device: part of it is used in host memory,
which takes far less time than what is nearest to the addresses of each launch.

Usage: mapped_segment_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench/mapped_segment.py"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class MappedSegment(unittest.TestCase):
    def rows_of(self, model, *options):
        done = subprocess.run([sys.executable, BENCH, BUILD, "--policy", "recency", "--model", model, *options],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["times_the_device"] for row in rows], [1.25, 1.5, 2])
        return rows

    def test_host_memory_takes_far_less_time_than_what_is_nearest(self):
        for model, batch in (("gpt2-small", "2"), ("resnet50", "8")):
            for row in self.rows_of(model, "--batch", batch):
                with self.subTest(model=model, times_the_device=row["times_the_device"]):
                    self.assertGreater(row["in_host_memory_bytes_h2d"], 0)
                    self.assertLess(5 * row["in_host_memory_ns"], row["nearest_ns"])


if __name__ == "__main__":
    unittest.main()
