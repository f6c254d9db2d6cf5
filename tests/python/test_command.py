"""`python -m tessera` puts the interpreter before scripts, and nothing before anything else."""

import os
import pathlib
import re
import subprocess
import sys
import unittest
from unittest import mock

from tessera import _library
from tessera.__main__ import FLAGS, with_python


class Words(unittest.TestCase):
    def test_a_script_gets_this_python(self):
        self.assertEqual(with_python(["--device-memory", "4GiB", "train.py", "--lr", "1"]),
                         ["--device-memory", "4GiB", "--", sys.executable, "train.py", "--lr", "1"])

    def test_a_module_gets_this_python(self):
        self.assertEqual(with_python(["-m", "train"]), ["--", sys.executable, "-m", "train"])

    def test_after_two_dashes_only_scripts_get_python(self):
        self.assertEqual(with_python(["--", "train.py"]), ["--", sys.executable, "train.py"])
        self.assertEqual(with_python(["--", "./program", "a.py"]), ["--", "./program", "a.py"])

    def test_the_first_non_option_is_the_program_whatever_its_arguments(self):
        for program in (["python", "train.py"], ["torchrun", "--nproc", "2", "t.py"], ["./server", "-m", "x"]):
            self.assertEqual(with_python(["--explain", "--stats", "s.json", *program]),
                             ["--explain", "--stats", "s.json", "--", *program])
        self.assertEqual(with_python(["train.py", "other.py"]), ["--", sys.executable, "train.py", "other.py"])

    def test_the_value_of_an_option_is_not_the_program(self):
        self.assertEqual(with_python(["--trace", "of.py", "--stats=-", "train.py"]),
                         ["--trace", "of.py", "--stats=-", "--", sys.executable, "train.py"])
        self.assertEqual(with_python(["--trace", "of.py"]), ["--trace", "of.py"])


class Command(unittest.TestCase):
    def run_module(self, *words, **environment):
        return subprocess.run([sys.executable, "-m", "tessera", *words], capture_output=True, text=True,
                              check=False, env={**os.environ, **environment})

    def test_it_becomes_the_tessera_program(self):
        self.assertRegex(self.run_module("--version").stdout, r"^tessera \d+\.\d+\.\d+$")

    def test_the_options_without_a_value_are_those_of_the_program(self):
        told = re.findall(r"^  (-[-\w,]+)( [A-Za-z]\S*)?", self.run_module("run", "--help").stdout, re.MULTILINE)
        self.assertIn(("--stats", " FILE"), told)
        self.assertEqual({name for names, value in told if not value for name in names.split(",")}, FLAGS)

    def test_a_script_runs_under_the_preload_library_and_shares_its_heap(self):
        script = pathlib.Path(__file__).with_name("preloaded_script.py")
        outcome = self.run_module("run", "--software", str(script), "word")
        self.assertEqual(outcome.stdout, "['word'] preloaded\n", outcome.stderr)

    def test_a_missing_library_is_one_line(self):
        outcome = self.run_module("--version", TESSERA_LIBRARY_DIR="/nowhere")
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(outcome.stderr.count("\n"), 1, outcome.stderr)
        self.assertIn("/nowhere", outcome.stderr)


class Finding(unittest.TestCase):
    def test_the_loaded_library_is_used(self):
        _library.load()
        with mock.patch.dict("os.environ", TESSERA_LIBRARY_DIR="/nowhere"):
            _library.load.cache_clear()
            self.assertEqual(_library.load()._name, str(_library._loaded()))
        self.assertTrue((_library.folder() / "libtessera_torch.so").exists())


if __name__ == "__main__":
    unittest.main()
