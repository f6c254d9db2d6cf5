"""The requested reports are written however a program ends, by each process under its own name.

Usage: endings_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).resolve().parent
TESSERA = BUILD / "bin/tessera"
ENDINGS = BUILD / "lib/tessera/endings"
SMALL = ["--software", "--device-memory", "8MiB", "--host-memory", "64MiB", "--file-memory", "0"]
SANITIZED = any(name in (BUILD / "lib/libtessera.so").read_bytes() for name in (b"__asan_init", b"__tsan_init"))
foreign = unittest.skipIf(SANITIZED, "a foreign program cannot load a sanitized library")
# Where this runs in the background, they may be ignored, and the programs it starts would inherit that.
for ignored in (signal.SIGINT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_DFL)
OUTPUTS = {"stats": "s.json", "history": "h.json", "timeline": "l.json", "trace": "t.jsonl"}


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.environment["TESSERA_NO_PRESETS"] = "1"  # a line about them is no part of these tests

    def options(self, prefix="", **more):
        outputs = OUTPUTS | more
        return [*SMALL, *(word for name, file in outputs.items() for word in (f"--{name}", self.folder / (prefix + file)))]

    def start(self, *words, options=None):
        program = subprocess.Popen([TESSERA, "run", *map(str, options or self.options()), "--", *map(str, words)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(self.end, program)
        return program

    def end(self, program):
        """Of a test that failed."""
        if program.poll() is None:
            program.kill()
        program.communicate()

    def finished(self, program, timeout=200):
        out, err = program.communicate(timeout=timeout)
        return program.returncode, out, err

    def ended(self, way, number=None):
        program = self.start(ENDINGS, way)
        self.assertEqual(program.stdout.readline(), "ready\n")
        if number is not None:
            program.send_signal(number)
        return self.finished(program)

    def expect_all_written(self, prefix=""):
        stats = json.loads((self.folder / (prefix + "s.json")).read_text())
        self.assertEqual(stats["blocks"]["allocations"], 12)
        self.assertGreater(stats["moves"]["evictions"], 0)
        history = json.loads((self.folder / (prefix + "h.json")).read_text())
        self.assertEqual(sum(history["links"]["out"]), history["stats"]["moves"]["bytes_out"])
        self.assertTrue(json.loads((self.folder / (prefix + "l.json")).read_text())["traceEvents"])
        lines = [json.loads(line) for line in (self.folder / (prefix + "t.jsonl")).read_text().splitlines()]
        self.assertEqual(sum(line["t"] == "alloc" for line in lines), 12)

    def test_by_an_unhandled_signal(self):
        for way in ("wait", "busy"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(way=way, signal=number):
                    self.assertEqual(self.ended(way, number)[0], -number)
                    self.expect_all_written()

    def test_by_a_handler_of_the_program(self):
        self.assertEqual(self.ended("handler", signal.SIGTERM)[0], 7)
        self.expect_all_written()

    def test_by_exits_that_run_no_handlers(self):
        for way in ("_exit", "quick"):
            with self.subTest(way=way):
                self.assertEqual(self.ended(way)[0], 3)
                self.expect_all_written()

    def test_a_child_of_vfork_writes_nothing_and_its_parent_continues(self):
        code, _, errors = self.ended("vfork")
        self.assertEqual(code, 0, errors)
        self.expect_all_written()

    def tessera(self, *words):
        return subprocess.run([TESSERA, *words], capture_output=True, text=True, env=self.environment, timeout=60)

    def last_known(self):
        return self.tessera("stats", self.folder / "s.json", "--json")

    def test_after_a_kill_the_last_known_statistics_remain(self):
        for way, number in (("busy", signal.SIGKILL), ("chained", signal.SIGTERM)):
            with self.subTest(way=way):
                program = self.start(ENDINGS, way)
                self.assertEqual(program.stdout.readline(), "ready\n")
                while not (known := self.last_known()).stdout or json.loads(known.stdout)["blocks"]["allocations"] < 12:
                    time.sleep(0.05)
                self.assertRegex(known.stderr, f"process {program.pid}, which runs")
                program.send_signal(number)
                self.assertEqual(self.finished(program)[0], -number)
                known = self.last_known()
                self.assertEqual(known.returncode, 0, known.stderr)
                self.assertRegex(known.stderr, f"process {program.pid}, which was killed")
                self.assertEqual(json.loads(known.stdout)["blocks"]["allocations"], 12)

    def kill_after_updates(self):
        """A program that is killed once the last known state of each report has evictions."""
        program = self.start(ENDINGS, "busy")
        self.assertEqual(program.stdout.readline(), "ready\n")
        copy = self.folder / "copy.json"
        for name, has_moves in (("s.json", lambda report: report["blocks"]["allocations"] == 12 and
                                 report["moves"]["evictions"] > 0),
                                ("h.json", lambda report: sum(report["links"]["out"]) > 0),
                                ("l.json", lambda report: any(event["name"].startswith("evict")
                                                              for event in report["traceEvents"]))):
            while self.tessera("recover", self.folder / name, "--out", copy).returncode or \
                    not has_moves(json.loads(copy.read_text())):
                time.sleep(0.05)
        copy.unlink()
        in_use = self.tessera("recover", self.folder / "h.json")
        self.assertEqual(in_use.returncode, 2)
        self.assertIn(f"process {program.pid} has not ended", in_use.stderr)
        program.kill()
        self.assertEqual(self.finished(program)[0], -signal.SIGKILL)
        return program.pid

    def test_after_a_kill_history_and_timeline_are_recovered(self):
        number = self.kill_after_updates()
        files = [self.folder / OUTPUTS[name] for name in ("stats", "history", "timeline")]
        report = self.tessera("report", files[1], "--out", self.folder / "h.html")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn(f"as of the last update of process {number}, which was killed", report.stderr)
        for way in (f"process {number}, which was killed", "complete, nothing to recover"):
            recovered = self.tessera("recover", *files)
            self.assertEqual((recovered.returncode, recovered.stderr), (0, ""))
            self.assertEqual(recovered.stdout.count(way), 3, recovered.stdout)
            self.expect_all_written()
        # What is left is what was there before, and the page.
        self.assertEqual({path.name for path in self.folder.iterdir()}, {*OUTPUTS.values(), "h.html"})
        report = self.tessera("report", files[1], "--out", self.folder / "h.html")
        self.assertEqual((report.returncode, report.stderr), (0, ""))

    def test_statistics_of_a_finished_run_are_read(self):
        self.ended("_exit")
        known = self.last_known()
        self.assertEqual((known.returncode, known.stderr), (0, ""))
        self.assertEqual(json.loads(known.stdout), json.loads((self.folder / "s.json").read_text()))
        table = subprocess.run([TESSERA, "stats", self.folder / "s.json"], capture_output=True, text=True, timeout=60)
        self.assertIn("  allocations 12\n", table.stdout)

    @foreign
    def test_workers_of_every_start_method_write_theirs(self):
        for way in ("spawn", "fork", "forkserver"):
            with self.subTest(way=way):
                outputs = {name: f"{way}-%p-{file}" for name, file in OUTPUTS.items()}
                code, out, errors = self.finished(self.start(sys.executable, HERE / "worker_program.py", way,
                                                             options=self.options(**outputs)))
                self.assertEqual(code, 0, errors)
                numbers = out.split()
                self.assertEqual(len(numbers), 3)
                for number in numbers:
                    self.expect_all_written(f"{way}-{number}-")

    def own(self, name, number):
        path = self.folder / name
        return path.with_name(f"{path.stem}-{number}{path.suffix}")

    def expect_two_of_each(self, errors):
        for name in OUTPUTS.values():
            files = [path for path in self.folder.iterdir() if path.stem.split("-")[0] == pathlib.Path(name).stem]
            self.assertEqual(len(files), 2, name)
            self.assertIn(f"{self.folder / name} is in use by another process", errors)
            for path in files:
                text = path.read_text()
                self.assertFalse("\0" in text, path)
                for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
                    json.loads(line)

    def test_concurrent_ranks_have_their_own_names(self):
        two = f"'{ENDINGS}' wait > a.out & a=$!; '{ENDINGS}' wait > b.out & b=$!; " \
              "until grep -q ready a.out && grep -q ready b.out; do sleep 0.05; done; kill $a $b; wait $a $b; exit 0"
        code, _, errors = self.finished(self.start("bash", "-c", f"cd '{self.folder}'; {two}"))
        self.assertEqual(code, 0, errors)
        self.expect_two_of_each(errors)

    def test_sequential_programs_have_their_own_names(self):
        code, _, errors = self.finished(self.start("bash", "-c", f"'{ENDINGS}' _exit; '{ENDINGS}' _exit; exit 0"))
        self.assertEqual(code, 0, errors)
        self.expect_two_of_each(errors)

    def test_another_run_replaces_old_files(self):
        for _ in range(2):
            code, _, errors = self.ended("_exit")
            self.assertEqual((code, errors), (3, ""))
        self.assertEqual({path.name for path in self.folder.iterdir()}, set(OUTPUTS.values()))

    def test_truncating_a_trace_kills_no_program(self):
        program = self.start(ENDINGS, "busy")
        self.assertEqual(program.stdout.readline(), "ready\n")
        trace = self.folder / "t.jsonl"
        for _ in range(5):
            os.truncate(trace, 0)
            while trace.stat().st_size < 1 << 14:
                time.sleep(0.01)
        self.assertIsNone(program.poll())
        program.terminate()
        self.assertEqual(self.finished(program)[0], -signal.SIGTERM)
        self.assertFalse(b"\0" in trace.read_bytes())

    def test_a_missing_folder_is_an_error_before_the_program_runs(self):
        for name in OUTPUTS:
            with self.subTest(option=name):
                ran = self.folder / "ran"
                code, _, errors = self.finished(self.start("touch", ran, options=[*SMALL, f"--{name}", "/no/such/f.json"]))
                self.assertEqual(code, 2)
                self.assertRegex(errors, rf"^tessera: --{name} [^\n]*/no/such is not a directory; [^\n]+\n$")
                self.assertFalse(ran.exists())

    def test_standard_output_takes_a_trace_and_replay_reads_a_pipe(self):
        options = [*SMALL, "--trace", "/dev/stdout"]
        program = subprocess.run([TESSERA, "run", *options, "--", ENDINGS, "_exit"], capture_output=True, text=True,
                                 env=self.environment, timeout=200)
        lines = [line for line in program.stdout.splitlines() if line != "ready"]
        self.assertEqual(json.loads(lines[0])["t"], "header")
        self.assertEqual(sum(json.loads(line)["t"] == "alloc" for line in lines), 12)
        replay = subprocess.run([TESSERA, "replay", "/dev/stdin", "--json", "--device-memory", "64MiB"],
                                input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=200)
        self.assertEqual(replay.returncode, 0, replay.stderr)
        self.assertGreater(json.loads(replay.stdout)["ops"], 0)

    def test_standard_output_to_a_file_is_not_overwritten(self):
        out = self.folder / "out"
        with out.open("w") as file:
            print("before", file=file, flush=True)
            subprocess.run([TESSERA, "run", *SMALL, "--stats", "/dev/stdout", "--", ENDINGS, "_exit"], stdout=file,
                           env=self.environment, timeout=200)
        text = out.read_text()
        self.assertTrue(text.startswith("before\n"), text)
        self.assertIn("ready\n", text)
        self.assertIn("allocations", text)

    def test_a_fifo_takes_a_trace(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        found = []
        reader = threading.Thread(target=lambda: found.extend(fifo.read_text().splitlines()))
        reader.start()
        code, _, errors = self.finished(self.start(ENDINGS, "_exit", options=[*SMALL, "--trace", fifo]))
        reader.join(60)
        self.assertEqual(code, 3, errors)
        self.assertEqual(sum(json.loads(line)["t"] == "alloc" for line in found), 12)

    def test_a_vanished_reader_is_an_error_without_a_hang_or_an_exit(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        program = self.start(ENDINGS, "busy", options=[*SMALL, "--trace", fifo])
        self.assertEqual(program.stdout.readline(), "ready\n")
        os.close(reader)
        self.assertRegex(program.stderr.readline(), "trace ended: .*Broken pipe")
        self.assertIsNone(program.poll())
        program.kill()
        self.finished(program)


if __name__ == "__main__":
    unittest.main()
