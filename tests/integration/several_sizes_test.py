"""Iterations that do the same work on other sizes are planned: `auto` is faster than the rules that decide without a
plan, where no two iterations in a row are alike. In virtual time.

Usage: several_sizes_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
ITERATIONS, LEARNED = 16, 8


class SeveralSizes(unittest.TestCase):
    def replay(self, trace, policy, *options):
        done = subprocess.run([TESSERA, "replay", trace, "--policy", policy, "--host-memory", "128GiB", *options, "--json"],
                              capture_output=True, text=True, timeout=100, check=True)
        return json.loads(done.stdout)

    def test_auto_plans_for_batches_that_vary(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "t5.jsonl"
            subprocess.run([sys.executable, GENERATE, "t5-small", "--batch", "64", "--least-batch", "8", "--seed", "3",
                            "--iterations", str(ITERATIONS), "-o", trace], check=True)
            half = str(self.replay(trace, "recency")["liveness_peak_bytes"] // 2)
            took = {policy: sum(self.replay(trace, policy, "--device-memory", half)["iteration_ns"][LEARNED:])
                    for policy in ("auto", "recency", "lru")}
        self.assertLess(took["auto"], 0.96 * min(took["recency"], took["lru"]), took)


if __name__ == "__main__":
    unittest.main()
