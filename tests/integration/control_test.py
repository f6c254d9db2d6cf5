"""Programs that sleep: when idle, by HTTP; and what they share: tessera control, tessera share, on the software device.

Usage: control_test.py BUILD_FOLDER
"""

import http.client
import json
import os
import pathlib
import socket
import stat
import subprocess
import time
import unittest

from watched_programs import MIB, TESSERA, Watched


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


class Share(Watched):
    """What programs of a ledger of this test hold, and their weights."""

    def setUp(self):
        super().setUp()
        self.node = f"watch-test-{os.getpid()}"
        self.environment["TESSERA_NODE"] = self.node
        self.addCleanup(lambda: [path.unlink() for path in pathlib.Path(f"/dev/shm/tessera-{os.geteuid()}").glob(self.node + "*")])
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")

    def start_sharing(self, *options):
        """With the budget of the node for host memory, of which it holds some when it sleeps."""
        program = self.start("--host-memory", "auto", "--node-host-memory", "512MiB", *options)
        self.assertEqual(self.tessera("sleep", program.pid).returncode, 0)
        return program

    def share(self, *words):
        result = self.tessera("share", "--node", self.node, "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_programs_are_shown_with_what_they_hold(self):
        one, other = self.start_sharing("--node-weight", "300"), self.start_sharing()
        shown = self.share()
        self.assertEqual(shown["host_budget"], 512 * MIB)
        programs = {program["pid"]: program for program in shown["programs"]}
        self.assertEqual(set(programs), {one.pid, other.pid})
        self.assertEqual((programs[one.pid]["weight"], programs[other.pid]["weight"]), (300, 100))
        for program in programs.values():
            self.assertEqual((program["name"], program["state"]), ("watched", "asleep"))
            self.assertGreaterEqual(program["host_held"], 16 * MIB)
            self.assertGreaterEqual(program["host_share"], program["host_held"])
        row = self.top_when(one.pid, lambda row: row["host_share"] is not None)
        self.assertGreaterEqual(row["host_share"], 16 * MIB)
        table = self.tessera("share", "--node", self.node).stdout
        self.assertRegex(table, rf"(?m)^ *{one.pid} watched +asleep \S+ +300 ")
        one.kill()
        one.wait()
        self.assertEqual([program["pid"] for program in self.share()["programs"]], [other.pid])
        self.finish(other)

    def test_the_weight_of_a_running_program_is_changed_and_kept(self):
        program = self.start_sharing()
        result = self.tessera("share", "--node", self.node, program.pid, "--weight", "250")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.share()["programs"][0]["weight"], 250)
        self.assertEqual(self.tessera("wake", program.pid).returncode, 0)
        self.assertEqual(self.tessera("sleep", program.pid).returncode, 0)
        time.sleep(1)  # its thread looks, and writes its row
        self.assertEqual(self.share()["programs"][0]["weight"], 250)
        self.finish(program)

    def one_device(self):
        devices = self.share()["devices"]
        self.assertEqual(len(devices), 1)
        return devices[0]

    def test_a_device_is_shown_and_its_limit_changed(self):
        """Of two programs that share a software device: what each holds of it, and a limit that is set and removed."""
        self.environment["TESSERA_SOFTWARE_SHARED"] = self.node
        self.environment["TESSERA_SOFTWARE_MEMORY"] = "128MiB"
        self.addCleanup(lambda: pathlib.Path(f"/dev/shm/tessera-softcuda-{os.geteuid()}-{self.node}").unlink())
        one, other = self.start(), self.start()
        for program in (one, other):  # both have looked
            self.top_when(program.pid, lambda row: row["device_shares"] and row["device_shares"][0]["device_limit"] != 0)
        device = self.one_device()
        self.assertEqual(device["total"], 128 * MIB)
        programs = {program["pid"]: program for program in device["programs"]}
        self.assertEqual(set(programs), {one.pid, other.pid})
        for program in programs.values():
            self.assertEqual((program["name"], program["device_limit"]), ("watched", 64 * MIB))
        shares = lambda row: {share["device_held"] for share in row["device_shares"]}
        self.top_when(one.pid, lambda row: shares(row) == {16 * MIB})
        self.assertRegex(self.tessera("share", "--node", self.node).stdout,
                         rf"(?m)^device {device['device']}, 128 MiB.*\n.*\n(.*\n)? *{one.pid} watched ")
        for limit, now in (("32MiB", 32 * MIB), ("96MiB", 96 * MIB), ("off", 64 * MIB)):
            result = self.tessera("share", "--node", self.node, one.pid, "--device-limit", limit)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            row = self.top_when(one.pid, lambda row: row["device_shares"][0]["device_share"] == now)
            self.assertEqual(row["device_shares"][0]["device_limit"], now)
            self.assertEqual({program["pid"]: program["device_limit"] for program in self.one_device()["programs"]},
                             {one.pid: now, other.pid: 64 * MIB})
        result = self.tessera("share", "--node", self.node, one.pid, "--device-limit", "129MiB")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "tessera: share: the device has 128 MiB\n"))
        self.finish(one)
        self.assertEqual([program["pid"] for program in self.one_device()["programs"]], [other.pid])
        self.finish(other)

    def test_what_cannot_be_done_is_an_error(self):
        program = self.start_sharing()
        for words, code in (((program.pid, "--weight", "0"), 2), ((program.pid, "--weight", "10001"), 2),
                            ((program.pid,), 2), (("--weight", "5"), 2), ((os.getpid(), "--weight", "5"), 1),
                            ((999999999, "--weight", "5"), 1), (("--device-limit", "32MiB"), 2),
                            ((program.pid, "--device-limit", "much"), 2), ((program.pid, "--device-limit", "0"), 2),
                            ((program.pid, "--device", "0"), 2), ((program.pid, "--device-limit", "1MiB"), 1),
                            ((os.getpid(), "--device-limit", "32MiB"), 1),
                            ((program.pid, "--device-limit", "32MiB", "--device", "no-such-device"), 1)):
            result = self.tessera("share", "--node", self.node, *words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertRegex(result.stderr, r"^tessera: [^\n]+\n$")
        self.assertEqual(self.tessera("share", "--node", "a/b").returncode, 1)
        self.assertEqual(self.tessera("share", "--node", self.node + "-none").stdout, "no program shares the machine's memory\n")
        self.finish(program)


if __name__ == "__main__":
    unittest.main()
