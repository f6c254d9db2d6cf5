"""On a GPU machine nothing waits for ever: programs and sections end in their time with all they have started.

Usage: gpu_bounds_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))

import run  # noqa: E402
from sections import bounded, place, record  # noqa: E402

# Starts a process in a session of its own, as a launcher does, tells its number, and hangs.
LAUNCHER = """
import os, subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(other.pid, flush=True)
print("what went wrong", file=sys.stderr, flush=True)
if "ends" in sys.argv:
    os._exit(3)
time.sleep(600)
"""


def gone(pid):
    """Whether the process has ended; one that was not waited for has."""
    facts = bounded.facts_of(pid)
    return facts is None or facts[2] == "Z"


class Programs(unittest.TestCase):
    def setUp(self):
        bounded.adopt_orphans()
        self.place = place.Place("/nowhere")

    def test_a_hanging_program_is_killed_with_processes_outside_its_session(self):
        done = self.place.run([sys.executable, "-c", LAUNCHER], 5)
        self.assertIsNone(done.code)
        self.assertEqual(done.stuck, "")
        self.assertTrue(gone(int(done.out)))
        self.assertEqual(done.failure(), {"exit_code": None, "timed_out": True, "message": "what went wrong\n"})

    def test_a_program_may_write_its_report_before_it_is_killed(self):
        script = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('report'))); " \
                 "print('ready', flush=True); time.sleep(600)"
        with mock.patch.object(bounded, "TO_REPORT", 60):
            done = self.place.run([sys.executable, "-c", script], 5)
        self.assertIsNone(done.code)
        self.assertEqual(done.out, "ready\nreport\n")

    def test_a_finished_program_leaves_nothing_behind(self):
        done = self.place.run([sys.executable, "-c", LAUNCHER, "ends"], 60)
        self.assertEqual(done.code, 3)
        self.assertTrue(gone(int(done.out)))

    def test_an_unkillable_program_is_reported_and_left_alone(self):
        # A kill that does nothing is what a process inside the driver makes of it.
        with mock.patch.object(bounded.os, "kill"), mock.patch.object(bounded, "AFTER_KILL", 0.3):
            start = time.monotonic()
            done = self.place.run([sys.executable, "-c", "import time; time.sleep(600)"], 1)
            self.assertLess(time.monotonic() - start, 60)
        self.assertIsNone(done.code)
        self.assertEqual(done.stuck, "S")
        self.assertEqual(done.failure()["stuck"], "S")
        self.assertEqual(bounded.end_all(), "")

    def test_the_end_of_the_output_is_kept(self):
        script = "import sys; sys.stderr.write('x' * 3000000 + 'the end'); sys.stdout.write('{}')"
        done = self.place.run([sys.executable, "-c", script], 60)
        self.assertTrue(done.well)
        self.assertLessEqual(len(done.err), bounded.MOST_ERR)
        self.assertTrue(done.told()["stderr"].endswith("the end"))


SECTION = """
import json, subprocess, sys, time
order = json.loads(sys.argv[1])
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
with open(order["scratch"] + "/pid", "w") as file:
    file.write(str(other.pid))
print("the last words", file=sys.stderr, flush=True)
if order["name"] == "speed":
    sys.exit(4)
time.sleep(600)
"""


class Sections(unittest.TestCase):
    def test_a_hanging_or_failing_section_ends_with_its_processes_and_keeps_its_last_output(self):
        bounded.adopt_orphans()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "section.py").write_text(SECTION)
            options = types.SimpleNamespace(only=["facts", "speed"], minutes=0.1, software=True)
            all_of_them = run.Run(options, place.Place("/nowhere", scratch=folder), folder, {"gpu": "none"}, "run.sh")
            with mock.patch.object(run, "GRACE", 0), mock.patch.object(run, "LEAST", 0):
                hung = all_of_them.section("facts", folder / "section.py")
                self.assertTrue(gone(int((folder / "pid").read_text())))
                failed = all_of_them.section("speed", folder / "section.py")
                self.assertTrue(gone(int((folder / "pid").read_text())))
            self.assertEqual((hung["failure"], failed["failure"]), ("timed out", "exit code 4"))
            for body in (hung, failed):
                self.assertFalse(body["complete"])
                self.assertEqual(body["stderr"], "the last words\n")
            self.assertEqual(json.loads((folder / "facts.json").read_text()), hung)
            self.assertIn("  failure: timed out", record.summary("facts", hung))

    def test_sections_after_the_time_limit_are_reported_as_not_reached(self):
        with tempfile.TemporaryDirectory() as name:
            options = types.SimpleNamespace(only=["facts"], minutes=0, software=False)
            all_of_them = run.Run(options, place.Place("/nowhere"), pathlib.Path(name), {"gpu": "none"}, "run.sh")
            all_of_them.deadline = time.monotonic()
            body = all_of_them.section("facts", "/nowhere")
        self.assertEqual([result["answer"] for result in body["results"]], ["no time left"])
        self.assertFalse(body["complete"])


class Folders(unittest.TestCase):
    def test_only_folders_of_killed_runs_are_removed(self):
        make = "import sys, time; from sections.scratch import Scratch; print(Scratch().path, flush=True); time.sleep(600)"
        with tempfile.TemporaryDirectory() as name:
            environment = dict(os.environ, TMPDIR=name, PYTHONPATH=str(pathlib.Path(run.__file__).parent))
            start = lambda: subprocess.Popen([sys.executable, "-c", make], stdout=subprocess.PIPE, text=True, env=environment)
            killed, living = start(), start()
            folders = [pathlib.Path(one.stdout.readline().strip()) for one in (killed, living)]
            killed.kill()
            killed.communicate()
            for folder in folders:
                self.assertTrue(folder.is_dir())
                os.utime(folder, (1, 1))
            third = start()
            folders.append(pathlib.Path(third.stdout.readline().strip()))
            self.assertEqual([folder.is_dir() for folder in folders], [False, True, True])
            for one in (living, third):
                one.kill()
                one.communicate()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
