"""The tables of docs/benchmarks.md come from results, and only from results with their environment.

Usage: bench_tables_test.py BUILD_FOLDER
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import tables  # noqa: E402

ENVIRONMENT = {"cpu": "one", "kernel": "Linux", "compiler": "gcc", "commit": "abc", "build": "release, no assertions",
               "date": "now"}
WITH_ASSERTIONS = {"build": "with assertions"}
DOCUMENT = "before\n<!-- bench some_bench results -->\nold\n<!-- end bench -->\nafter\n"


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name)

    def keep(self, **body):
        (self.results / "some_bench.json").write_text(json.dumps(body))

    def test_a_list_becomes_a_table_and_the_text_around_it_stays(self):
        self.keep(environment=ENVIRONMENT, smoke=False,
                  results=[{"name": "a", "ratio": 0.98765, "times": {"ours": 12e9}, "rounds": [1, 2]},
                           {"name": "b", "goal": None}])
        made = tables.filled(DOCUMENT, self.results)
        self.assertTrue(made.startswith("before\n<!-- bench some_bench results -->\nCommit abc, now, one"))
        self.assertTrue(made.endswith("<!-- end bench -->\nafter\n"))
        self.assertIn("| name | ratio | times ours | goal |\n| --- | --- | --- | --- |\n"
                      "| a | 0.988 | 12 G |  |\n| b |  |  |  |\n", made)
        self.assertNotIn("old", made)
        self.assertEqual(tables.filled(made, self.results), made)

    def test_a_mark_without_a_result_keeps_its_table(self):
        self.assertEqual(tables.filled(DOCUMENT, self.results), DOCUMENT)

    def test_a_result_without_its_environment_is_refused(self):
        self.keep(environment=ENVIRONMENT | {"commit": "abc"}, smoke=True, results=[])
        with self.assertRaisesRegex(ValueError, "smoke"):
            tables.filled(DOCUMENT, self.results)
        self.keep(environment={"cpu": "one"}, smoke=False, results=[])
        with self.assertRaisesRegex(ValueError, "no kernel, compiler, commit"):
            tables.filled(DOCUMENT, self.results)

    def test_a_build_with_assertions_is_refused(self):
        self.keep(environment=ENVIRONMENT | WITH_ASSERTIONS, smoke=False, results=[])
        with self.assertRaisesRegex(ValueError, "with assertions"):
            tables.filled(DOCUMENT, self.results)

    def test_every_mark_of_the_document_names_a_benchmark(self):
        document = (ROOT / "docs" / "benchmarks.md").read_text()
        names = {path.stem for path in (ROOT / "bench").glob("*_bench.cpp")} | {"oversubscription", "demo", "unchanged"}
        marked = {name for _, name, _, _ in tables.MARK.findall(document)}
        self.assertTrue(marked)
        self.assertLessEqual(marked, names)
        self.assertEqual(len(re.findall("<!-- bench ", document)), len(tables.MARK.findall(document)))


class BuildWithAssertions(unittest.TestCase):
    def test_no_benchmark_in_python_measures_it(self):
        with tempfile.TemporaryDirectory() as build:
            teller = pathlib.Path(build) / "bench" / "launch_bench"
            teller.parent.mkdir()
            told = json.dumps({"environment": ENVIRONMENT | WITH_ASSERTIONS, "smoke": True})
            teller.write_text(f"#!/bin/sh\necho '{told}'\n")
            teller.chmod(0o755)
            for name in ("run.py", "unchanged.py", "oversubscription/run.py"):
                done = subprocess.run([sys.executable, ROOT / "bench" / name, build], capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertNotEqual(done.returncode, 0, name)
                self.assertIn("not measured", done.stderr, name)
                self.assertIn("with assertions", done.stderr, name)
                self.assertEqual(done.stdout, "", name)


if __name__ == "__main__":
    unittest.main()
