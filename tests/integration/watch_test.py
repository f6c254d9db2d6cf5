"""Observing running programs: tessera top, tessera sleep, tessera wake, on the software device.

Usage: watch_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import resource
import socket
import stat
import subprocess
import unittest

from watched_programs import MIB, PROGRAMS, TESSERA, Watched

NOBODY = 65534


class Top(Watched):
    def test_a_program_is_shown_with_changing_figures(self):
        program = self.start()
        before = self.top_when(program.pid, lambda row: row["stats"]["device"]["device_used"] == 16 * MIB)
        self.assertEqual(before["name"], "watched")
        self.assertEqual(before["stats"]["blocks"]["allocations"], 4)
        self.assertEqual(before["rates"]["bytes_out_per_s"], 0)
        self.assertEqual(self.tessera("sleep", program.pid).returncode, 0)
        after = self.top_when(program.pid, lambda row: row["stats"]["device"]["device_used"] == 0)
        self.assertEqual(after["stats"]["host"]["host_used"], 16 * MIB)
        self.finish(program)
        self.assertIsNone(self.top(program.pid))

    def test_the_table_has_a_line_for_it(self):
        program = self.start()
        self.top_when(program.pid, lambda row: row["stats"]["device"]["device_used"] == 16 * MIB)
        result = self.tessera("top", "--once")
        self.assertRegex(result.stdout, rf"(?m)^ *{program.pid} watched +\S+( \d+\w)? +16\.0 MiB / 64\.0 MiB ")

    def test_a_killed_program_is_not_shown(self):
        program = self.start()
        program.kill()
        program.wait()
        self.assertIsNone(self.top(program.pid))

    def test_a_program_with_no_control_is_not_shown(self):
        program = self.start("--no-control")
        self.assertIsNone(self.top(program.pid))
        self.assertFalse((self.folder / "tessera").exists())
        self.assertEqual(self.tessera("sleep", program.pid).returncode, 1)


class SleepAndWake(Watched):
    def moved(self, verb, program, *tag):
        result = self.tessera(verb, program.pid, *tag, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_all_blocks_are_evicted_and_fetched_with_their_bytes(self):
        program = self.start()
        self.assertEqual(self.moved("sleep", program), {"moved_bytes": 16 * MIB, "stayed_bytes": 0})
        self.assertEqual(self.moved("wake", program), {"moved_bytes": 16 * MIB, "stayed_bytes": 0})
        self.finish(program)

    def test_a_sleeping_block_is_fetched_at_its_use(self):
        program = self.start()
        self.assertEqual(self.moved("sleep", program, "")["moved_bytes"], 16 * MIB)
        self.finish(program)

    def test_the_readable_output(self):
        program = self.start()
        self.assertEqual(self.tessera("sleep", program.pid).stdout, "16.0 MiB evicted from device memory, 0 B stayed there\n")

    def refused(self, pattern, *words, code=1):
        result = self.tessera(*words)
        self.assertEqual(result.returncode, code)
        self.assertRegex(result.stderr, r"^tessera: [^\n]*" + pattern + r"[^\n]*\n$")

    def process_of_another_user(self):
        """A process id, and the user's number."""
        if os.geteuid() != 0:
            return 1, 0
        sleeper = subprocess.Popen(["sleep", "600"], user=NOBODY)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        return sleeper.pid, NOBODY

    def test_errors_are_returned_and_the_program_continues(self):
        program = self.start()
        self.refused("no-such-tag", "sleep", program.pid, "no-such-tag")
        self.refused("was not started by `tessera run`", "sleep", os.getpid())
        self.refused("no such process: 999999999; `tessera top`", "sleep", 999999999)
        others, user = self.process_of_another_user()
        self.refused(rf"process {others} belongs to another user; `sudo -u '#{user}' tessera", "sleep", others)
        self.refused("31 characters", "wake", program.pid, "x" * 32, code=2)
        self.refused("PID", "wake", "nobody", code=2)
        self.finish(program)

    def test_no_room_in_lower_tiers_is_an_error_and_nothing_is_lost(self):
        program = self.start("--host-memory", "0")
        result = self.tessera("sleep", program.pid)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^tessera: sleep: [^\n]+\n$")
        output, _ = program.communicate("go on\n", timeout=60)
        self.assertEqual((program.returncode, output), (0, "ok\n"))

    def test_invalid_requests_are_answered_and_bounded(self):
        program = self.start()
        for request in (b"die\n", b"sleep\n", b"sleep kv\n", b"sleep *x\n", b"\n"):
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(self.socket_of(program)))
                peer.sendall(request)
                self.assertEqual(peer.recv(100), b"error unknown request\n", request)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.socket_of(program)))
            peer.sendall(b"x" * 64)
            self.assertEqual(peer.recv(100), b"")
        self.finish(program)

    def test_a_program_without_free_descriptors_waits_and_does_not_spin(self):
        program = self.start()
        ticks = lambda: sum(map(int, pathlib.Path(f"/proc/{program.pid}/stat").read_text().split()[13:15]))
        limits = resource.prlimit(program.pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.socket_of(program)))
            peer.sendall(b"die\n")
            peer.settimeout(1)

            def waits_idle():
                before = ticks()
                self.assertRaises(socket.timeout, peer.recv, 100)
                return ticks() - before < os.sysconf("SC_CLK_TCK") // 4

            # Another of its threads may still have work in the first seconds; a spinning one never rests.
            self.assertTrue(any(waits_idle() for _ in range(10)))
            resource.prlimit(program.pid, resource.RLIMIT_NOFILE, limits)
            peer.settimeout(60)
            self.assertEqual(peer.recv(100), b"error unknown request\n")
        self.finish(program)


class Namespaces(Watched):
    """Programs in namespaces, as in containers; skipped if this user may create none."""

    def start_in(self, *unshare, before="true", options=()):
        """Starts the program in its own namespaces; returns its process as seen from here."""
        made = subprocess.run(["unshare", *unshare, "sh", "-c", before], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"no such namespaces may be made here: {made.stderr.strip()}")
        inside = f'{before} && exec "$@"'
        program = subprocess.Popen(
            ["unshare", *unshare, "sh", "-c", inside, "sh", TESSERA, "run", "--software", "--device-memory", "64MiB",
             "--host-memory", "64MiB", *options, "--", PROGRAMS / "watched"],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, program)
        inner = int(program.stdout.readline())
        # With `unshare --fork` it is the only child; else `unshare` became it.
        outer = self.child_of(program.pid) if "--fork" in unshare else program.pid
        self.assertEqual(pathlib.Path(f"/proc/{outer}/comm").read_text(), "watched\n")
        return program, inner, outer

    def child_of(self, pid):
        def parent_of(folder):
            try:
                return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                return None

        [child] = [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*") if parent_of(folder) == pid]
        return child

    def slept(self, pid):
        result = self.tessera("sleep", pid, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["moved_bytes"]

    def test_two_programs_with_one_pid_share_a_folder(self):
        first, inner, outer = self.start_in("--pid", "--fork", "--mount-proc")
        second, other_inner, other_outer = self.start_in("--pid", "--fork", "--mount-proc")
        self.assertEqual(inner, other_inner)
        self.assertEqual(self.slept(outer), 16 * MIB)
        self.assertEqual(self.slept(other_outer), 16 * MIB, "the first one answered again")
        for pid in (outer, other_outer):
            self.top_when(pid, lambda row: row["stats"]["device"]["device_used"] == 0)
        for program in (first, second):
            output, message = program.communicate("go on\n", timeout=60)
            self.assertEqual((program.returncode, output, message), (0, "ok\n", ""))

    def test_a_pid_means_the_process_in_this_namespace(self):
        _, inner, outer = self.start_in("--pid", "--fork", "--mount-proc")
        self.assertNotEqual(inner, outer)
        self.assertNotEqual(self.tessera("sleep", inner).returncode, 0)
        enter = ["nsenter", "-t", str(outer), "-p", "-m"]
        entered = subprocess.run([*enter, "true"], capture_output=True, text=True, check=False)
        if entered.returncode != 0:
            self.skipTest(f"namespaces may not be entered here: {entered.stderr.strip()}")
        inside = subprocess.run([*enter, TESSERA, "sleep", str(inner), "--json"],
                                env=self.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(inside.returncode, 0, inside.stderr)
        self.assertEqual(json.loads(inside.stdout)["moved_bytes"], 16 * MIB)

    def test_a_folder_of_another_file_system_is_found_through_the_process(self):
        """As with PrivateTmp of systemd."""
        del self.environment["XDG_RUNTIME_DIR"]
        _, _, outer = self.start_in("--mount", before="mount -t tmpfs none /tmp", options=["--control-dir", "/tmp/its-own"])
        self.assertEqual(self.slept(outer), 16 * MIB)


class TheSocket(Watched):
    def test_sockets_of_killed_programs_are_removed(self):
        killed = self.start()
        left = self.socket_of(killed)
        killed.kill()
        killed.wait()
        self.assertTrue(left.exists())
        living = self.start()
        self.assertFalse(left.exists())
        self.assertTrue(self.socket_of(living).exists())
        self.finish(living)

    def test_sockets_of_programs_killed_at_their_start_are_removed(self):
        folder = self.folder / "tessera"
        folder.mkdir(mode=0o700)
        old, young = folder / "1.f0000001.1.sock.new", folder / "2.f0000001.1.sock.new"
        for path in (old, young):
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        os.utime(old, (1, 1))
        program = self.start()
        self.assertFalse(old.exists())
        self.assertTrue(young.exists(), "its program may be about to listen at it")
        self.finish(program)

    def test_a_program_may_listen_in_its_own_folder(self):
        for folder in (str(self.folder / "own"), os.path.relpath(self.folder / "relative")):
            program = self.start("--control-dir", folder)
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.sock"))), 1)
            self.assertEqual(self.tessera("sleep", program.pid).returncode, 0)
            self.finish(program)

    def test_the_path_of_the_folder_may_be_longer_than_a_socket_address(self):
        folder = self.folder / ("long" * 25) / ("longer" * 20)
        folder.parent.mkdir()
        for _ in range(2):
            killed = self.start("--control-dir", str(folder))
            self.assertEqual(self.tessera("sleep", killed.pid).returncode, 0)
            killed.kill()
            killed.wait()
        self.assertEqual(len(list(folder.glob("*.sock"))), 1, "the second program swept the socket of the first")

    def test_it_is_private_and_removed_with_the_program(self):
        program = self.start()
        path = self.socket_of(program)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
        self.finish(program)
        self.assertFalse(path.exists())

    def test_a_shared_folder_is_refused_and_the_program_runs(self):
        (self.folder / "tessera").mkdir(mode=0o755)
        program = self.start()
        self.assertFalse(self.socket_of(program).exists())
        output, message = program.communicate("go on\n", timeout=60)
        self.assertEqual((program.returncode, output), (0, "ok\n"))
        self.assertRegex(message, r"^tessera: no control socket in [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
