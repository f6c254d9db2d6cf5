"""`auto` is no slower than the best published strategy: on small models of three kinds, with and without a device that lends.

The policy benchmark (docs/policy-benchmark.md) asks the same of twelve; this is what a change can be held against in a minute.

Usage: auto_first_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench" / "traces" / "generate.py"
AS_FAST = 1.001  # what counts as first in the policy benchmark


class AutoIsFirst(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for model, batch, passes in (("t5-small", 32, 1), ("unet", 4, 1), ("alexnet", 512, 1)):
            subprocess.run([sys.executable, GENERATE, model, "--batch", str(batch), "--iterations", str(passes),
                            "--gpu", "A100-80G", "-o", cls.folder / f"{model}.jsonl"], check=True)

    def check(self, *words):
        traces = sorted(self.folder.glob("*.jsonl"))
        result = subprocess.run([TESSERA, "policy-bench", *traces, "--policies", "all", "--budgets", "70", "--iterations", "10",
                                 "--host-memory", "128GiB", "--out", self.folder / "out", *words],
                                capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr)
        steps = {}
        for row in json.loads((self.folder / "out" / "policy_bench.json").read_text())["rows"]:
            self.assertNotIn("failure", row)
            steps.setdefault(row["trace"], {})[row["policy"]] = row["step_ns"]
        self.assertEqual(len(steps), len(traces))
        for trace, by_policy in steps.items():
            ours = by_policy.pop("auto")
            best = min(by_policy, key=by_policy.get)
            self.assertLessEqual(ours, by_policy[best] * AS_FAST, f"{trace}: {best} takes {by_policy[best]} ns")

    def test_with_the_hosts_link_alone(self):
        self.check()

    def test_with_a_lender(self):
        self.check("--peer-budget", "15")


if __name__ == "__main__":
    unittest.main()
