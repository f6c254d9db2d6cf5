"""A quick selection of other projects' test suites passes with Tessera as without; and the harness detects when it
does not.

Usage: suites_test.py BUILD_FOLDER     Exits with 77 if pytest is unavailable, for instance without network.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SUITES = pathlib.Path(__file__).resolve().parents[1] / "suites"
sys.path.insert(0, str(SUITES))

import compare
import play
import suite as suites
import ways
from virtual_environment import SKIPPED, python_with

TESTS = {
    "test_a.py": """
import os, threading
def test_fine(): pass
def test_wrong(): assert False, "wrong"
def test_ends_the_process(): os.abort()
def test_never_ends(): threading.Event().wait()
def test_comes_after(): pass
def test_left_out(): assert False
""",
    "test_b.py": "import no_such_module\n",
    "test_c.py": """
import os
def test_passes_without(): assert "LD_PRELOAD" not in os.environ
""",
}


class Harness(unittest.TestCase):
    """The harness on a suite written here."""

    def play(self, way, *files):
        python = python_with(BUILD, "pytest", "9.1.0")
        # Ten seconds are for the test that never ends; the others take none.
        suite = suites.Suite("own", [], seconds=10, leave_out={"*left_out": "to see it"})
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in TESTS.items():
                (root / name).write_text(text)
            return play.play(BUILD, suite, ways.ways(suite)[way], python, root, files, root / "scratch")

    def test_a_test_that_exits_its_process_does_not_affect_others(self):
        played = self.play(0, "test_a.py", "test_b.py")
        found = {test: done.outcome for test, done in played.outcomes.items()}
        self.assertEqual(found, {
            "test_a.py::test_fine": "passed", "test_a.py::test_wrong": "failed",
            "test_a.py::test_ends_the_process": "crashed", "test_a.py::test_never_ends": "crashed",
            "test_a.py::test_comes_after": "passed", "test_b.py": "error"})
        self.assertIn("wrong", played.outcomes["test_a.py::test_wrong"].why)
        self.assertEqual(played.problem, "")

    def test_regressions_with_tessera_are_reported(self):
        without, ample = self.play(0, "test_c.py").outcomes, self.play(1, "test_c.py").outcomes
        self.assertEqual(compare.worse(without, ample), {"test_c.py::test_passes_without": "failed"})
        self.assertEqual(compare.worse(without, {}), {"test_c.py::test_passes_without": "missing"})
        self.assertEqual(compare.worse(without, {}, ["test_c.py::*"]), {})
        self.assertEqual(compare.worse(ample, without), {})


class OtherProjects(unittest.TestCase):
    def test_the_quick_choice_passes_as_without(self):
        for name in suites.names():
            if not suites.read(name).quick:
                continue
            with self.subTest(name):
                done = subprocess.run([sys.executable, SUITES / "run_suite.py", BUILD, name, "--quick"],
                                      capture_output=True, text=True, timeout=280, check=False)
                print(f"{name}\n{done.stdout}", flush=True)
                if done.returncode == SKIPPED:
                    self.skipTest(done.stdout)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    unittest.main()
