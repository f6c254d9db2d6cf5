"""`python -m tessera` puts the interpreter before scripts, and nothing before anything else."""

import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

from tessera import _library
from tessera.__main__ import with_python


class Words(unittest.TestCase):
    def test_a_script_gets_this_python(self):
        self.assertEqual(with_python(["--device-memory", "4GiB", "train.py", "--lr", "1"]),
                         ["--device-memory", "4GiB", "--", sys.executable, "train.py", "--lr", "1"])

    def test_a_module_too(self):
        self.assertEqual(with_python(["-m", "train"]), ["--", sys.executable, "-m", "train"])

    def test_behind_two_dashes_only_scripts_do(self):
        self.assertEqual(with_python(["--", "train.py"]), ["--", sys.executable, "train.py"])
        self.assertEqual(with_python(["--", "./program", "a.py"]), ["--", "./program", "a.py"])


class Command(unittest.TestCase):
    def run_module(self, *words, **environment):
        return subprocess.run([sys.executable, "-m", "tessera", *words], capture_output=True, text=True,
                              check=False, env={**os.environ, **environment})

    def test_it_becomes_the_tessera_program(self):
        self.assertRegex(self.run_module("--version").stdout, r"^tessera \d+\.\d+\.\d+$")

    def test_a_script_runs_under_the_preload_library_and_shares_its_heap(self):
        script = pathlib.Path(__file__).with_name("preloaded_script.py")
        outcome = self.run_module("run", "--software", str(script), "word")
        self.assertEqual(outcome.stdout, "['word'] preloaded\n", outcome.stderr)

    def test_a_library_that_is_nowhere_is_one_line(self):
        outcome = self.run_module("--version", TESSERA_LIBRARY_DIR="/nowhere")
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(outcome.stderr.count("\n"), 1, outcome.stderr)
        self.assertIn("/nowhere", outcome.stderr)


class Finding(unittest.TestCase):
    def test_the_library_in_the_process_is_the_one_that_is_used(self):
        _library.load()
        with mock.patch.dict("os.environ", TESSERA_LIBRARY_DIR="/nowhere"):
            _library.load.cache_clear()
            self.assertEqual(_library.load()._name, str(_library._loaded()))
        self.assertTrue((_library.folder() / "libtessera_torch.so").exists())


if __name__ == "__main__":
    unittest.main()
