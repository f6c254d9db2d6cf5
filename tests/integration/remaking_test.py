"""Recomputation in replays: the activations of a small T5 can be recomputed in the time of their operations, and
every strategy that supports this becomes faster.

Usage: remaking_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
PLANNERS = ("superneurons", "capuchin", "delta", "lohan", "mpress", "auto")


class Remaking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name, options in (("copied", []), ("remade", ["--remakable", "activation"])):
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
                copied, remade = self.replay("copied", policy), self.replay("remade", policy)
                self.assertEqual(copied["remakes"], 0)
                self.assertGreater(remade["remakes"], 0)
                self.assertLess(remade["last_pass"]["ns"], copied["last_pass"]["ns"])
                self.assertGreaterEqual(remade["makespan_ns"], remade["compute_ns"] + remade["remake_ns"])
                self.assertLess(remade["bytes_h2d"] + remade["bytes_d2h"],
                                copied["bytes_h2d"] + copied["bytes_d2h"])

    def test_what_is_planned_is_remade_more_often_than_what_only_is_cheaper(self):
        self.assertGreater(self.replay("remade", "capuchin")["remakes"], self.replay("remade", "lru")["remakes"])


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
