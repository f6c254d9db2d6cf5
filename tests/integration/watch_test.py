"""Observing running programs: tessera top, tessera sleep, tessera wake, on the software device.

Usage: watch_test.py BUILD_FOLDER
"""

import http.client
import json
import os
import pathlib
import resource
import socket
import stat
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

    def test_errors_are_returned_and_the_program_continues(self):
        program = self.start()
        self.refused("no-such-tag", "sleep", program.pid, "no-such-tag")
        self.refused("was not started by `tessera run`", "sleep", os.getpid())
        self.refused("no such process: 999999999", "sleep", 999999999)
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


class Idle(Watched):
    """A program with --sleep-when-idle, which launches when it is told to."""

    def start_pausing(self):
        return self.start("--sleep-when-idle", "1s", program=("pauses", "waiting_kernels.so"))

    def tell(self, program, word):
        program.stdin.write(word + "\n")
        program.stdin.flush()
        return program.stdout.readline().strip()

    def asleep(self, row):
        return row["state"] == "asleep"

    def test_it_leaves_the_device_and_comes_back_at_the_next_launch(self):
        program = self.start_pausing()
        for sleeps in (1, 2):
            row = self.top_when(program.pid, self.asleep)
            self.assertEqual(row["stats"]["device"]["device_used"], 0)
            self.assertEqual(row["stats"]["idle"]["idle_sleeps"], sleeps)
            self.assertGreaterEqual(row["stats"]["idle"]["idle_ns"], 10 ** 9)
            self.assertEqual(self.tell(program, "use"), "ok")
        output, message = program.communicate(timeout=60)
        self.assertEqual((program.returncode, output, message), (0, "", ""))

    def test_a_kernel_may_run_for_longer(self):
        program = self.start_pausing()
        self.assertEqual(self.tell(program, "hold"), "held")
        row = self.top_when(program.pid, lambda row: row["stats"]["idle"]["idle_ns"] >= 4 * 10 ** 9)
        self.assertEqual((row["state"], row["stats"]["device"]["device_used"]), ("idle", 16 * MIB))
        self.assertEqual(self.tell(program, "go"), "ok")
        self.top_when(program.pid, self.asleep)
        self.assertEqual(self.tell(program, "use"), "ok")

    def test_a_program_that_ends_asleep_ends_at_once(self):
        program = self.start_pausing()
        self.top_when(program.pid, self.asleep)
        output, message = program.communicate(timeout=60)
        self.assertEqual((program.returncode, output, message), (0, "", ""))

    def test_by_default_nothing_sleeps(self):
        program = self.start()
        row = self.top_when(program.pid, lambda row: row["stats"]["idle"]["idle_ns"] >= 3 * 10 ** 9)
        self.assertEqual((row["state"], row["stats"]["device"]["device_used"]), ("idle", 16 * MIB))
        self.finish(program)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket's file."""

    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


class Http(Watched):
    """`tessera control`, asked as a controller of inference servers would."""

    def serve(self, program, *words):
        server = subprocess.Popen([TESSERA, "control", str(program.pid), "--serve", *map(str, words)],
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        server.place = server.stdout.readline().strip()
        return server

    def ask(self, connection, method, path, **headers):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body

    def test_on_a_port_with_the_token(self):
        program = self.start()
        file = self.folder / "token"
        server = self.serve(program, "127.0.0.1:0", "--token-file", file)
        self.assertRegex(server.place, r"^http://127\.0\.0\.1:\d+$")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        allowed = {"Authorization": "Bearer " + file.read_text().strip()}
        connection = http.client.HTTPConnection(server.place.removeprefix("http://"), timeout=120)
        self.assertEqual(self.ask(connection, "GET", "/is_sleeping", **allowed), (200, {"is_sleeping": False}))
        self.assertEqual(self.ask(connection, "POST", "/sleep?level=1", **allowed),
                         (200, {"moved_bytes": 16 * MIB, "stayed_bytes": 0}))
        self.assertEqual(self.ask(connection, "GET", "/is_sleeping", **allowed), (200, {"is_sleeping": True}))
        self.assertEqual(self.ask(connection, "POST", "/wake_up?tags=no-such-tag", **allowed)[0], 500)
        self.assertEqual(self.ask(connection, "POST", "/wake_up", **allowed),
                         (200, {"moved_bytes": 16 * MIB, "stayed_bytes": 0}))
        self.assertEqual(self.ask(connection, "GET", "/is_sleeping", **allowed), (200, {"is_sleeping": False}))
        for status, headers in ((401, {}), (401, {"Authorization": "Bearer guessed-by-another"}),
                                (403, {**allowed, "Origin": "http://localhost"}), (403, {**allowed, "Host": "evil.example"})):
            self.assertEqual(self.ask(connection, "POST", "/sleep", **headers)[0], status, headers)
        self.assertEqual(self.ask(connection, "GET", "/is_sleeping", **allowed), (200, {"is_sleeping": False}))
        self.finish(program)
        self.assertEqual((server.wait(timeout=60), server.stderr.read()), (0, ""))

    def test_on_a_socket_of_the_same_user(self):
        program = self.start()
        path = self.folder / "control.sock"
        server = self.serve(program, path)
        self.assertEqual(server.place, str(path))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(self.ask(UnixConnection(path), "POST", "/sleep?level=2")[1]["moved_bytes"], 16 * MIB)
        self.assertEqual(self.ask(UnixConnection(path), "GET", "/is_sleeping"), (200, {"is_sleeping": True}))
        self.finish(program)
        server.wait(timeout=60)
        self.assertFalse(path.exists())

    def test_a_use_wakes_it(self):
        program = self.start(program=("pauses", "waiting_kernels.so"))
        path = self.folder / "control.sock"
        self.serve(program, path)
        self.ask(UnixConnection(path), "POST", "/sleep")
        program.stdin.write("use\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "ok\n")
        self.assertEqual(self.ask(UnixConnection(path), "GET", "/is_sleeping"), (200, {"is_sleeping": False}))

    def test_what_cannot_be_served_is_an_error(self):
        program = self.start()
        for words, code in ((("127.0.0.1:0",), 2), (("0.0.0.0:0", "--token-file", self.folder / "t"), 2),
                            ((self.folder / "s", "--token-file", self.folder / "t"), 2),
                            ((self.folder / "none" / "s",), 2)):
            result = self.tessera("control", program.pid, "--serve", *words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertRegex(result.stderr, r"^tessera: control: [^\n]+\n$")
        self.assertEqual(self.tessera("control", os.getpid(), "--serve", self.folder / "s").returncode, 1)
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
