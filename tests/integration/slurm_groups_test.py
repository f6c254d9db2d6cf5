"""Two tasks of a Slurm job, each in the control groups of version 2 that slurmstepd makes, share what the job's limit leaves.

There is no Slurm here: the files of the groups are mounted over this machine's, as each task would see them, and the
variables are those that srun sets. The programs are real, on the software device.

Usage: slurm_groups_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
MIB = 1 << 20
JOB = "system.slice/slurmstepd.scope/job_77"
LIMIT, USED = 640, 240  # MiB of the job
BLOCKS = 160  # MiB of a task
DEVICE = 64  # MiB
WRAPPER = ("unshare", "--mount")


class SlurmGroups(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        if subprocess.run([*WRAPPER, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
            self.skipTest("nothing may be mounted here")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.node = f"slurm-groups-test-{os.getpid()}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.addCleanup(lambda: [path.unlink() for path in
                                 pathlib.Path(f"/dev/shm/tessera-{os.geteuid()}").glob(self.node + "*")])

    def make_groups(self):
        """The limit is the job's; steps and tasks have none of their own."""
        for group in (JOB, f"{JOB}/step_0", f"{JOB}/step_0/user", *(f"{JOB}/step_0/user/task_{i}" for i in range(2))):
            path = self.folder / "groups" / group
            path.mkdir(parents=True)
            limit = LIMIT * MIB if group == JOB else "max"
            for name, text in {"max": limit, "high": "max", "current": USED * MIB, "stat": "inactive_file 0"}.items():
                (path / f"memory.{name}").write_text(f"{text}\n")
        for task in range(2):
            (self.folder / f"line{task}").write_text(f"0::/{JOB}/step_0/user/task_{task}\n")

    def start(self, task):
        mounts = (f"mount --bind {self.folder}/groups /sys/fs/cgroup && mount --bind {self.folder}/line{task} /proc/$$/cgroup"
                  ' && exec "$@"')
        words = [*WRAPPER, "sh", "-c", mounts, "sh", TESSERA, "run", "--software", "--software-memory", f"{DEVICE}MiB",
                 "--node", self.node, "--file-dir", self.folder, "--", "./sharing", BLOCKS, 1, 1, "wait"]
        variables = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(task), "SLURM_NTASKS": "2"}
        program = subprocess.Popen([str(word) for word in words], cwd=BUILD / "lib/tessera", env=self.environment | variables,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, program)
        return program

    def end(self, program):
        if program.poll() is None:
            program.kill()
        program.wait()
        for pipe in (program.stdin, program.stdout, program.stderr):
            pipe.close()

    def share(self):
        shown = subprocess.run([TESSERA, "share", "--node", self.node, "--json"], env=self.environment, capture_output=True,
                               text=True, timeout=120, check=True)
        return json.loads(shown.stdout)

    def test_two_tasks(self):
        self.make_groups()
        tasks = [self.start(task) for task in range(2)]
        for task in tasks:
            self.assertEqual(task.stdout.readline(), "idle\n", task.stderr.read() if task.poll() else "")
        shown = self.share()
        self.assertEqual(shown["host_budget"], (LIMIT - USED) // 2 * MIB, "half of what the job's limit leaves")
        self.assertEqual([program["job"] for program in shown["programs"]], ["slurm 77"] * 2)
        held = sum(program["host_held"] for program in shown["programs"])
        self.assertLessEqual(held, shown["host_budget"])
        for program in shown["programs"]:
            self.assertGreaterEqual(program["host_held"] + program["file_held"], (BLOCKS - DEVICE) * MIB, program)
        for task in tasks:
            task.stdin.close()
        for task in tasks:
            self.assertEqual(task.wait(timeout=600), 0, "each number is checked")


if __name__ == "__main__":
    unittest.main()
