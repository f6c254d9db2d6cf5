"""Programs that share a device, host memory and a spill file are killed at random moments, while others run on.

Unmodified programs on a software device that they share, under the preload library. Some are killed while they start,
fetch, wait for their turn or are idle; each is replaced. No moment finds more in use than there is. Those that are not
killed compute what they should, and afterwards nothing is lost: neither a row, nor a file, nor a byte of the device.

Usage: killed_programs_test.py BUILD_FOLDER [SEED]
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 36
TESSERA = BUILD / "bin/tessera"
MIB = 1 << 20
DEVICE = 64  # MiB
HOST = 192 * MIB  # of all programs: less than what they need beside the device
FILES = 1024 * MIB
PROGRAMS = 4
KILLS = 100
BETWEEN = 0.4  # seconds between kills at most; each program would run on for hours
SURVIVOR = 160  # MiB: two of them need more than the device and the host memory


class Killed(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.name = f"killed-programs-test-{os.getpid()}"
        self.running = set()
        self.addCleanup(self.clean)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.device = kept | {"LD_LIBRARY_PATH": str(BUILD / "lib/softcuda"), "TESSERA_SOFTWARE_SHARED": self.name,
                              "TESSERA_SOFTWARE_MEMORY": f"{DEVICE}MiB"}
        self.environment = self.device | {
            "LD_PRELOAD": str(BUILD / "lib/libtessera_preload.so"), "TESSERA_PATIENCE": "60000",
            "TESSERA_NODE": self.name, "TESSERA_NODE_HOST_MEMORY": str(HOST), "TESSERA_FILE_DIR": str(self.folder),
            "TESSERA_NODE_FILE_MEMORY": str(FILES), "TESSERA_TIME_SLICE": "100"}

    def clean(self):
        for program in set(self.running):
            self.kill(program)
        for path in self.ledgers() + list(pathlib.Path("/dev/shm").glob(f"tessera-softcuda-*-{self.name}")):
            path.unlink()

    def ledgers(self):
        return list(pathlib.Path(f"/dev/shm/tessera-{os.geteuid()}").glob(self.name + "*"))

    def start(self, mib, rounds, *more, environment=None):
        program = subprocess.Popen(["./sharing", str(mib), str(rounds), "1", *more], cwd=BUILD / "lib/tessera",
                                   env=environment or self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.running.add(program)
        return program

    def kill(self, program):
        program.send_signal(signal.SIGKILL)
        program.communicate()
        self.running.discard(program)

    def finish(self, program):
        _, errors = program.communicate()
        self.running.discard(program)
        self.assertEqual(program.returncode, 0, errors)
        self.assertEqual(errors, "")

    def share(self):
        result = subprocess.run([TESSERA, "share", "--node", self.name, "--json"], env=self.device | {"LD_LIBRARY_PATH": ""},
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_books(self, killed=()):
        """At this moment; the rows are those of programs that run."""
        shown = self.share()
        sums = {name: sum(program[f"{name}_held"] for program in shown["programs"]) for name in ("host", "file")}
        self.assertLessEqual(sums["host"], HOST, shown)
        self.assertLessEqual(sums["file"], FILES, shown)
        pids = [program["pid"] for device in [shown, *shown["devices"]] for program in device["programs"]]
        self.assertFalse({program.pid for program in killed}.intersection(pids), "the row of a killed program is shown")
        return sums

    def test_nothing_is_lost(self):
        dice = random.Random(SEED)
        print(f"seed {SEED}", flush=True)
        sizes = [32, 40, 48, 56, 96, 128]  # MiB: some fit into the device together, some not into it alone
        survivors = [self.start(SURVIVOR, 2, "wait") for _ in range(2)]
        doomed = []
        for _ in range(KILLS):
            while len(doomed) < PROGRAMS:
                waits = ("wait",) if dice.randrange(4) == 0 else ()
                doomed.append(self.start(dice.choice(sizes), 1 if waits else 1000000, *waits))
            time.sleep(dice.uniform(0, BETWEEN))
            killed = [doomed.pop(dice.randrange(len(doomed))) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
            for program in killed:
                self.assertIsNone(program.poll(), "it would have run on")
                self.kill(program)
            self.check_books(killed)
        for program in survivors:
            self.assertEqual(program.stdout.readline(), "idle\n")
        self.assertGreaterEqual(self.check_books()["file"], (2 * SURVIVOR - DEVICE) * MIB - HOST, "the files are used")
        last = self.start(DEVICE - 8, 2)  # what the killed have left is there for a new one
        for program in doomed:
            self.kill(program)
        for program in [*survivors, last]:
            self.finish(program)
        self.assertEqual(self.share()["programs"], [])
        self.assertEqual(self.ledgers(), [], "the ledgers end with their last program")
        self.assertEqual(list(self.folder.iterdir()), [])
        # The device has all of its memory: a program without Tessera takes it.
        self.finish(self.start(DEVICE - 4, 1, environment=self.device))


if __name__ == "__main__":
    unittest.main()
