"""Programs that wait under `tessera run` on the software device, for tests that watch and command them.

Imported by tests with the usage: TEST.py BUILD_FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
PROGRAMS = BUILD / "lib/tessera"
MIB = 1 << 20


class Watched(unittest.TestCase):
    """Each test has its own runtime folder, and programs that wait in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.environment["TESSERA_NO_PRESETS"] = "1"  # a line about them is no part of these tests
        self.environment["XDG_RUNTIME_DIR"] = str(self.folder)

    def start(self, *options, program=("watched",)):
        program = subprocess.Popen(
            [TESSERA, "run", "--software", "--device-memory", "64MiB", "--host-memory", "64MiB", *options,
             "--", PROGRAMS / program[0], *(PROGRAMS / word for word in program[1:])],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, program)
        self.assertEqual(program.stdout.readline(), f"{program.pid}\n")
        return program

    def end(self, program):
        if program.poll() is None:
            program.kill()
        program.communicate()

    def finish(self, program):
        output, message = program.communicate("go on\n", timeout=60)
        self.assertEqual((program.returncode, output, message), (0, "ok\n", ""))

    def tessera(self, *words):
        return subprocess.run([TESSERA, *map(str, words)], env=self.environment, capture_output=True, text=True,
                              timeout=120)

    def top(self, pid):
        """The program's row; None if it has none."""
        result = self.tessera("top", "--once", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        mine = [one for one in json.loads(result.stdout)["processes"] if one["pid"] == pid]
        self.assertLessEqual(len(mine), 1)
        return mine[0] if mine else None

    def top_when(self, pid, is_so):
        """The program's row once the condition holds: on a busy machine its thread may not write for a while."""
        deadline = time.monotonic() + 60
        while True:
            row = self.top(pid)
            if row and row["rates"] and is_so(row):
                return row
            self.assertLess(time.monotonic(), deadline, row)

    def socket_of(self, program):
        """The name also contains the pid namespace, and the program's start time (include/tessera/control.h)."""
        found = sorted((self.folder / "tessera").glob(f"{program.pid}.*.sock"))
        self.assertLessEqual(len(found), 1)
        return found[0] if found else self.folder / "tessera" / "none.sock"
