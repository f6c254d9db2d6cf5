"""Recomputation in replays: the activations of a small T5 can be recomputed in the time of their operations, and
every strategy that supports this becomes faster.

Usage: recomputing_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
PLANNERS = ("superneurons", "capuchin", "delta", "lohan", "mpress", "auto")


class Recomputing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name, options in (("copied", []), ("recomputed", ["--remakable", "activation"])):
            subprocess.run([sys.executable, GENERATE, "t5-small", "--batch", "16", *options,
                            "-o", f"{cls.folder.name}/{name}.jsonl"], check=True)

    def replay(self, trace, policy):
        run = subprocess.run([f"{BUILD}/bin/tessera", "replay", f"{self.folder.name}/{trace}.jsonl", "--policy", policy,
                              "--device-memory", "1536MiB", "--h2d", "12e9", "--d2h", "12e9", "--iterations", "4",
                              "--json"], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def test_every_strategy_that_recomputes_is_faster_for_it(self):
        for policy in PLANNERS:
            with self.subTest(policy):
                copied, recomputed = self.replay("copied", policy), self.replay("recomputed", policy)
                self.assertEqual(copied["recomputes"], 0)
                self.assertGreater(recomputed["recomputes"], 0)
                self.assertLess(recomputed["last_pass"]["ns"], copied["last_pass"]["ns"])
                self.assertGreaterEqual(recomputed["makespan_ns"], recomputed["compute_ns"] + recomputed["recompute_ns"])
                self.assertLess(recomputed["bytes_h2d"] + recomputed["bytes_d2h"],
                                copied["bytes_h2d"] + copied["bytes_d2h"])

    def test_planned_recomputes_exceed_those_chosen_by_cost(self):
        self.assertGreater(self.replay("recomputed", "capuchin")["recomputes"], self.replay("recomputed", "lru")["recomputes"])


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
