"""A launcher of others starts the ranks of a job under `tessera run`: torchrun, from PyPI and unchanged.

Eight ranks of a program for the driver API, which needs more than its device has, share the host memory and the spill
files of one ledger. They wait until all of them have used their blocks; what they hold is read meanwhile, again and again.
Then they go on, and check every number.

torchrun is a part of PyTorch: 2.7 GB are downloaded, which take 5 GB of the build folder. Nothing computes with it.

Usage: launchers_test.py BUILD_FOLDER
Ends with 77 when PyTorch cannot be had, as without network.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "integration")]

from virtual_environment import python_with, skip

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
MIB = 1 << 20
RANKS = 8
BLOCKS = 192  # MiB of a rank
DEVICE = 64  # MiB
HOST = 640 * MIB  # of all ranks: less than what they need beside their devices
FILES = 1024 * MIB
TORCH = "2.1.2"  # the oldest, and so the smallest, that supports Python 3.11


class Ranks(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            skip("no /dev/shm")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.node = f"launchers-test-{os.getpid()}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.environment |= {"TESSERA_NO_PRESETS": "1", "OMP_NUM_THREADS": "1"}
        self.addCleanup(lambda: [path.unlink() for path in
                                 pathlib.Path(f"/dev/shm/tessera-{os.geteuid()}").glob(self.node + "*")])

    def share(self):
        result = subprocess.run([TESSERA, "share", "--node", self.node, "--json"], env=self.environment,
                                capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_budgets(self):
        """What all hold together, in a moment; returns it."""
        shown = self.share()
        held = {name: sum(program[f"{name}_held"] for program in shown["programs"]) for name in ("host", "file")}
        self.assertLessEqual(held["host"], HOST, shown)
        self.assertLessEqual(held["file"], FILES, shown)
        return shown, held

    def rank_of(self, pid):
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return int(next(one for one in variables if one.startswith(b"RANK=")).removeprefix(b"RANK="))

    def start(self, *launcher):
        words = [TESSERA, "run", "--software", "--software-memory", f"{DEVICE}MiB", "--node", self.node,
                 "--node-host-memory", str(HOST), "--file-dir", self.folder, "--node-file-memory", str(FILES), "--",
                 *launcher, "./sharing", BLOCKS, 1, 1, "wait"]
        job = subprocess.Popen([str(word) for word in words], cwd=BUILD / "lib/tessera", env=self.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(job.stderr))
        self.reader.start()
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)  # with its ranks
        job.wait()
        self.reader.join()
        for pipe in (job.stdin, job.stdout, job.stderr):
            pipe.close()

    def run_job(self, *launcher):
        job = self.start(*launcher)
        idle = []
        lines = threading.Thread(target=lambda: idle.extend(line for _, line in zip(range(RANKS), job.stdout)))
        lines.start()
        samples = 0
        while lines.is_alive():
            self.check_budgets()
            samples += 1
        self.assertEqual(idle, ["idle\n"] * RANKS, "".join(self.errors))
        self.assertGreater(samples, 1)
        shown, held = self.check_budgets()
        self.assertEqual(sorted(self.rank_of(program["pid"]) for program in shown["programs"]), list(range(RANKS)))
        jobs = {program["job"] for program in shown["programs"]}
        self.assertEqual(len(jobs), 1, "the ranks are one job")
        self.assertTrue(jobs.pop().startswith("torchrun "), shown)
        self.assertEqual((shown["host_budget"], shown["file_budget"]), (HOST, FILES))
        self.assertGreater(held["host"], HOST // 2, "they were short of it")
        self.assertGreater(held["file"], 0)
        for program in shown["programs"]:
            self.assertGreater(program["host_held"] + program["file_held"], (BLOCKS - DEVICE) * MIB // 2, program)
        job.stdin.close()  # all of them go on
        self.assertEqual(len(job.stdout.readlines()), RANKS)
        self.assertEqual(job.wait(), 0)
        self.reader.join()
        self.assertFalse([line for line in self.errors if line.startswith("tessera: ")], self.errors)

    def test_torchrun(self):
        python = python_with(BUILD, "torch", TORCH, variables={"PIP_NO_CACHE_DIR": "1"})
        self.run_job(python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", RANKS, "--no_python")


if __name__ == "__main__":
    unittest.main()
