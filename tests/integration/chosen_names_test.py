"""Benchmarks reject unknown names, and keep the existing results.

Usage: chosen_names_test.py BUILD_FOLDER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class ChosenNames(unittest.TestCase):
    def refuses(self, script, option, names, *words):
        done = subprocess.run([sys.executable, BENCH / script, BUILD, option, names, *words],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"unknown \w+: (mispelt)?; available: \w+")

    def test_models_of_the_tables_beside_the_policy_bench(self):
        for script in ("breaks.py", "noise.py"):
            for names in ("mispelt", "resnet50,mispelt", ""):
                with self.subTest(script=script, names=names), tempfile.TemporaryDirectory() as folder:
                    results = pathlib.Path(folder) / "results.json"
                    results.write_text("kept")
                    self.refuses(script, "--models", names, "-o", results)
                    self.assertEqual(results.read_text(), "kept")

    def test_programs_beyond_the_device(self):
        for names in ("mispelt", "train,mispelt"):
            with self.subTest(names=names), tempfile.TemporaryDirectory() as folder:
                self.refuses("oversubscription/run.py", "--only", names, "--smoke", "--out", folder)
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
