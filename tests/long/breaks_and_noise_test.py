"""What the policy benchmark's two scripts of programs whose iterations differ write, and that `auto` holds in them.

Usage: breaks_and_noise_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def told_by(script, model):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        done = subprocess.run([sys.executable, BENCH / script, BUILD, "--models", model, "-o", out], capture_output=True, text=True,
                              timeout=1500, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(out.read_text(encoding="utf-8"))["results"]


class BreaksAndNoise(unittest.TestCase):
    def test_a_different_iteration_costs_the_others_little(self):
        rows = told_by("breaks.py", "unet")
        self.assertEqual({(row["break"], row["when"]) for row in rows},
                         {(kind, when) for kind in ("if", "validation", "smaller") for when in ("irregular", "every tenth")})
        for row in rows:
            self.assertEqual(row["model"], "unet")
            self.assertLess(row["loss"], 0.05, row)
            self.assertGreaterEqual(row["slowest"], row["loss"], row)

    def test_varying_iterations_are_planned(self):
        rows = told_by("noise.py", "vgg16")
        self.assertEqual([row["deviation"] for row in rows], [0, 0.03, 0.1])
        for row in rows:
            self.assertGreater(row["step_ms"], 0)
            self.assertLess(row["over_best"], 1.03, row)

    def test_an_unknown_model_is_named(self):
        done = subprocess.run([sys.executable, BENCH / "breaks.py", BUILD, "--models", "lenet"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unknown model: lenet", done.stderr)


if __name__ == "__main__":
    unittest.main()
