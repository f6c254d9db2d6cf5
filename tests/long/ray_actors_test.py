"""Actors of Ray, from PyPI and unchanged, share the device and the host memory of one ledger under `tessera run`.

Each actor takes blocks by the driver API, together more than their device has. While all of them hold their blocks the
ledger is read: the workers of a Ray node are one job, and hold no more than the budgets. Then each checks every number.

Usage: ray_actors_test.py BUILD_FOLDER
Ends with 77 when Ray cannot be had, as without network.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "integration")]

from virtual_environment import python_with, skip

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
RAY = "2.60.0"
MIB = 1 << 20
ACTORS = 4
DEVICE = 64  # MiB, of all actors together
HOST = 192 * MIB  # of all actors: less than what they need beside the device
FILES = 1024 * MIB


class Actors(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            skip("no /dev/shm")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.name = f"ray-actors-test-{os.getpid()}"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("TESSERA_", "RAY_"))}
        self.environment |= {"RAY_USAGE_STATS_ENABLED": "0", "TESSERA_NO_PRESETS": "1",
                             "TESSERA_SOFTWARE_SHARED": self.name, "TESSERA_PATIENCE": "60000"}
        self.addCleanup(lambda: [path.unlink() for place in (f"tessera-{os.geteuid()}/{self.name}*",
                                                             f"tessera-softcuda-*-{self.name}")
                                 for path in pathlib.Path("/dev/shm").glob(place)])

    def share(self):
        result = subprocess.run([TESSERA, "share", "--node", self.name, "--json"], env=self.environment,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_actors_share(self):
        python = python_with(BUILD, "ray", RAY, variables={"PIP_NO_CACHE_DIR": "1"})
        words = [TESSERA, "run", "--software", "--software-memory", f"{DEVICE}MiB", "--node", self.name,
                 "--node-host-memory", HOST, "--file-dir", self.folder, "--node-file-memory", FILES, "--",
                 python, TESTS / "programs/ray_actors.py", ACTORS]
        with subprocess.Popen([str(word) for word in words], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as driver:
            held = driver.stdout.readline()
            self.assertTrue(held.startswith("held "), held)
            pids = sorted(int(pid) for pid in held.split()[1:])
            shown = self.share()
            driver.stdin.close()  # they go on
            self.assertEqual(driver.stdout.read(), "right\n" * ACTORS)
        self.assertEqual(driver.returncode, 0)
        self.assertEqual([program["pid"] for program in shown["programs"]], pids)
        jobs = {program["job"] for program in shown["programs"]}
        self.assertEqual(len(jobs), 1, jobs)
        self.assertRegex(jobs.pop(), r"^ray \d+$")
        self.assertLessEqual(sum(program["host_held"] for program in shown["programs"]), HOST)
        self.assertLessEqual(sum(program["file_held"] for program in shown["programs"]), FILES)
        self.assertGreater(sum(program["file_held"] for program in shown["programs"]), 0)
        self.assertEqual([program["pid"] for program in shown["devices"][0]["programs"]], pids)


if __name__ == "__main__":
    unittest.main()
