"""bench/breaks.py and bench/noise.py refuse a model that they do not have, and keep the results that there are.

Usage: chosen_models_test.py BUILD_FOLDER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class ChosenModels(unittest.TestCase):
    def test_a_name_that_there_is_not_is_told_and_nothing_is_written(self):
        for script in ("breaks.py", "noise.py"):
            for models, unknown in (("vgg61", "vgg61"), ("resnet50,vgg61", "vgg61"), ("", "")):
                with self.subTest(script=script, models=models), tempfile.TemporaryDirectory() as folder:
                    results = pathlib.Path(folder) / "results.json"
                    results.write_text("kept")
                    done = subprocess.run([sys.executable, BENCH / script, BUILD, "--models", models, "-o", results],
                                          capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"no such model: {unknown}; there are ", done.stderr)
                    self.assertIn("resnet50", done.stderr)
                    self.assertEqual(results.read_text(), "kept")


if __name__ == "__main__":
    unittest.main()
