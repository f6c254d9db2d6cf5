"""Doctor names each limit that a shell or a control group sets, with its cause.

Usage: limits_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
GROUPS = pathlib.Path("/sys/fs/cgroup")
MIB = 1 << 20
# Each sanitizer reserves more addresses than any limit here.
SANITIZED = any(name in (BUILD / "lib/libtessera.so").read_bytes() for name in (b"__asan_init", b"__tsan_init"))


def doctor(before, wrapper=()):
    """The findings by name, of a doctor in a shell that did `before`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    asked = subprocess.run([*wrapper, "sh", "-c", before + ' && exec "$@"', "sh", TESSERA, "doctor", "--software", "--json"],
                           env=environment, capture_output=True, text=True, timeout=120)
    return {finding["name"]: finding for finding in json.loads(asked.stdout)["findings"]}


class ShellLimits(unittest.TestCase):
    def expect(self, limit, name, value, fix):
        found = doctor(f"ulimit {limit}")
        self.assertIn(name, found)
        self.assertEqual(found[name]["state"], "limited")
        self.assertIn(value, found[name]["value"])
        self.assertIn(fix, found[name]["fix"])

    def test_without_limits_none_is_reported(self):
        if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
            self.skipTest("files have a limit here")
        found = doctor("ulimit -n 1024")
        self.assertFalse({"file size limit", "open files limit"} & set(found))

    def test_the_size_of_files(self):
        self.expect("-f 209715200", "file size limit", "100 GiB", "ulimit -f unlimited")

    def test_open_files(self):
        self.expect("-n 64", "open files limit", "64", "ulimit -n 1024")

    @unittest.skipIf(SANITIZED, "a sanitizer reserves more addresses")
    def test_addresses(self):
        self.expect("-v 209715200", "address limit", "200 GiB", "ulimit -v unlimited")

    def test_locked_memory(self):
        self.assertEqual(doctor("ulimit -l 64")["locked memory limit"]["value"], "64.0 KiB")


class GroupLimits(unittest.TestCase):
    def group(self, controller, numbers):
        """A group of our own that has these numbers in its files, by version; the command that puts a shell into it."""
        for version, parent in ((1, GROUPS / controller), (2, GROUPS)):
            folder = parent / f"tessera-test-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError:
                continue
            self.addCleanup(folder.rmdir)
            try:
                for name, number in numbers[version].items():
                    (folder / name).write_text(number)
                return f"echo $$ > {folder}/cgroup.procs"
            except OSError:
                continue
        self.skipTest("no control group of our own on this machine")

    def test_memory(self):
        limit = str(400 * MIB)
        for high in (False, True):
            with self.subTest(high=high):
                found = doctor(self.group("memory", {1: {"memory.limit_in_bytes": limit},
                                                     2: {"memory.high" if high else "memory.max": limit}}))["host memory"]
                self.doCleanups()
                self.assertEqual(found["state"], "limited")
                self.assertRegex(found["value"], r"^[\d.]+ MiB available, .*a limit of its control group leaves no more")
                self.assertIn("memory.max or memory.high", found["fix"])

    def test_processors(self):
        quota = {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}, 2: {"cpu.max": "50000 100000"}}
        found = doctor(self.group("cpu", quota))["processors"]
        self.assertEqual(found["state"], "limited")
        self.assertRegex(found["value"], r"^0\.5 may be used of \d+: a CPU quota")
        self.assertIn("--policy recency", found["fix"])

    def test_tasks(self):
        found = doctor(self.group("pids", {version: {"pids.max": "20"} for version in (1, 2)}))["tasks limit"]
        self.assertRegex(found["value"], r"^\d+ more threads$")
        self.assertIn("--pids-limit", found["fix"])


class SecondVersion(unittest.TestCase):
    """Version 2 alone, as current systems have it: the files of a group are mounted over this machine's for one doctor.

    The kernel's own files of both versions are in GroupLimits; a machine has each controller in one version only."""

    WRAPPER = ("unshare", "--mount")

    def setUp(self):
        if subprocess.run([*self.WRAPPER, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
            self.skipTest("nothing may be mounted here")

    def doctor(self, line="/slice/job", **files):
        with tempfile.TemporaryDirectory() as folder:
            group = pathlib.Path(folder, "groups/slice/job")
            group.mkdir(parents=True)
            pathlib.Path(folder, "line").write_text(f"0::{line}\n")
            for name, text in files.items():
                parent = group.parent if name.startswith("slice_") else group
                (parent / name.removeprefix("slice_").replace("_", ".", 1)).write_text(f"{text}\n")
            seen = "slice/job" if line == "/" else ""  # a container sees its own group as the root
            return doctor(f"mount --bind {folder}/groups/{seen} /sys/fs/cgroup && mount --bind {folder}/line /proc/$$/cgroup",
                          self.WRAPPER)

    def test_memory(self):
        for limit in ("memory_max", "memory_high", "slice_memory_max"):
            with self.subTest(limit=limit):
                files = {"memory_current": 100 * MIB, "memory_max": "max", "memory_high": "max", "memory_stat": "inactive_file 0"}
                if limit.startswith("slice_"):
                    files |= {"slice_memory_current": 100 * MIB, "slice_memory_stat": f"inactive_file {50 * MIB}"}
                found = self.doctor(**(files | {limit: 400 * MIB}))["host memory"]
                self.assertEqual(found["state"], "limited")
                left = "350" if limit.startswith("slice_") else "300"
                self.assertRegex(found["value"], rf"^{left}(\.0)? MiB available, .*a limit of its control group leaves no more")
        self.assertNotIn("control group", self.doctor(**files)["host memory"]["value"])

    def test_processors(self):
        for line in ("/slice/job", "/"):
            with self.subTest(line=line):
                found = self.doctor(line, cpu_max="50000 100000")["processors"]
                self.assertRegex(found["value"], r"^0\.5 may be used of \d+: a CPU quota")
        self.assertNotIn("quota", self.doctor(cpu_max="max 100000").get("processors", {"value": ""})["value"])

    def test_tasks(self):
        found = self.doctor(pids_max=20, pids_current=3)["tasks limit"]
        self.assertEqual(found["value"], "17 more threads")


if __name__ == "__main__":
    unittest.main()
