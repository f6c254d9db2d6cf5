"""The minimum memory in which AlexNet trains on 200 images is the size of its largest operation, as in SuperNeurons
(PPoPP 2018): 886.23 MiB, here rounded to pages.

Usage: least_memory_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
MIB, PAGE = 1 << 20, 2 << 20


class LeastMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.trace = pathlib.Path(folder.name) / "alexnet.jsonl"
        subprocess.run([sys.executable, GENERATE, "alexnet", "--batch", "200", "--iterations", "1", "-o", cls.trace], check=True)

    def replay(self, memory, policy):
        return subprocess.run([TESSERA, "replay", self.trace, "--device-memory", str(memory), "--host-memory", "16GiB",
                               "--policy", policy, "--host-frames", "off", "--iterations", "3", "--json"], capture_output=True, text=True, timeout=100,
                              check=False)

    def test_it_runs_in_four_maps_of_pages_and_not_in_a_page_less(self):
        one = 200 * 96 * 55 * 55 * 4
        least = 4 * -(-one // PAGE) * PAGE
        self.assertAlmostEqual(4 * one / MIB, 886.23, 2)
        for policy in ("superneurons", "belady", "auto"):
            with self.subTest(policy=policy):
                done = self.replay(least, policy)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual(told["largest_step_bytes"], 4 * one)
                self.assertEqual(told["peak_device_bytes"], least)
                refused = self.replay(least - PAGE, policy)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("one step of work uses 888 MiB at once", refused.stderr)


if __name__ == "__main__":
    unittest.main()
