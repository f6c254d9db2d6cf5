"""Doctor names each limit that a shell or a control group sets, with its cause.

Usage: limits_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
GROUPS = pathlib.Path("/sys/fs/cgroup")
MIB = 1 << 20
# Each sanitizer reserves more addresses than any limit here.
SANITIZED = any(name in (BUILD / "lib/libtessera.so").read_bytes() for name in (b"__asan_init", b"__tsan_init"))


def doctor(before):
    """The findings by name, of a doctor in a shell that did `before`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    asked = subprocess.run(["sh", "-c", before + ' && exec "$@"', "sh", TESSERA, "doctor", "--software", "--json"], env=environment,
                           capture_output=True, text=True, timeout=120)
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


if __name__ == "__main__":
    unittest.main()
