"""Iterations that do the same work on other sizes are planned: `auto` is faster than the rules that decide without a
plan, where no two iterations in a row are alike; and what each size takes alone. In virtual time.

Usage: several_sizes_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
ALONE = GENERATE.parents[1] / "bounds" / "sizes_alone.py"
TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
ITERATIONS, LEARNED, MIB = 16, 8, 1 << 20


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

    def test_what_sizes_take_alone(self):
        """Sums of the times of each size, repeated alone."""
        weights = range(1, 5)
        lines = [{"t": "header", "version": 1}, *({"t": "alloc", "id": i, "bytes": 64 * MIB} for i in weights)]
        for number, size in enumerate((32, 96, 32, 96, 96)):
            lines += [{"t": "mark", "kind": "iteration", "n": number + 1}, {"t": "alloc", "id": 10 + number, "bytes": size * MIB}]
            lines += [{"t": "op", "ns": size * 100_000, "r": [i], "w": [10 + number]} for i in weights]
            lines += [{"t": "free", "id": 10 + number}]
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "by_hand.jsonl"
            trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
            done = subprocess.run([sys.executable, ALONE, TESSERA.parents[1], trace, "--budgets", "200,60", "--from", "2"],
                                  capture_output=True, text=True, timeout=300, check=True)
        ample, short = json.loads(done.stdout)["traces"]
        self.assertEqual((ample["trace"], ample["sizes"], ample["iterations"]), ("by_hand", 2, 3))
        self.assertEqual((ample["alone_ms"], ample["over"]), (12.8 + 2 * 38.4, 1))
        self.assertGreater(short["alone_ms"], ample["alone_ms"])


if __name__ == "__main__":
    unittest.main()
