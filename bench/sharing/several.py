"""Eight ranks on one machine, with and without a ledger; a program that starts late; and one that is killed.

Usage: several.py BUILD [--smoke] [--json FILE]

Real programs on the software device, under the preload library. Ranks have a device each, which is smaller than their
blocks, and are one job. Without a ledger each takes a quarter of the RAM that is available, if it needs that. The late
program is of no job and needs more than its device as well. The program that is killed shares a device with another;
both need most of it, again and again. Every rank checks its numbers at the end.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
RANKS = 8
DEVICE = 64  # MiB
RANK = 192  # MiB of a rank
LATE = 192  # MiB of the late program
HOST = 1024  # MiB of all programs; each keeps 64 MiB of it for staging
FILES = 2048  # MiB of all programs
HALF = DEVICE * 7 // 8  # MiB of each of two programs on one device
PATIENCE = 120  # seconds


class Machine:
    def __init__(self, build, folder):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.name = f"several-bench-{os.getpid()}"
        self.started = []

    def start(self, mib, rounds, settings):
        stats = self.folder / f"stats-{len(self.started)}.json"
        variables = {"LD_LIBRARY_PATH": self.build / "lib/softcuda", "LD_PRELOAD": self.build / "lib/libtessera_preload.so",
                     "TESSERA_SOFTWARE_MEMORY": f"{DEVICE}MiB", "TESSERA_NODE": self.name, "TESSERA_LOG_LEVEL": "error",
                     "TESSERA_NODE_HOST_MEMORY": f"{HOST}MiB", "TESSERA_NODE_FILE_MEMORY": f"{FILES}MiB",
                     "TESSERA_FILE_DIR": self.folder, "TESSERA_STATS": stats, "TESSERA_PATIENCE": "60000", **settings}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        program = subprocess.Popen(["./sharing", str(mib), str(rounds), "1", "wait"], cwd=self.build / "lib/tessera",
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=kept | {name: str(value) for name, value in variables.items()})
        program.stats = stats
        self.started.append(program)
        return program

    def share(self):
        shown = subprocess.run([self.build / "bin/tessera", "share", "--node", self.name, "--json"], check=True,
                               capture_output=True, text=True)
        return json.loads(shown.stdout)

    def seconds_until(self, holds):
        """`holds` sees what `tessera share` shows."""
        begin = time.monotonic()
        while not holds(self.share()):
            if time.monotonic() > begin + PATIENCE:
                raise RuntimeError(f"not within {PATIENCE} s")
        return time.monotonic() - begin

    def finish(self, program):
        """Its statistics."""
        program.communicate()
        if program.returncode != 0:
            raise RuntimeError("a program failed")
        return json.loads(program.stats.read_text())

    def clean(self):
        for program in self.started:
            if program.poll() is None:
                program.kill()
            program.communicate() if not program.stdin.closed else program.wait()
        for pattern in (f"tessera*/{self.name}*", f"tessera-softcuda-*-{self.name}"):
            for file in pathlib.Path("/dev/shm").glob(pattern):
                file.unlink()


def peak(statistics, key):
    """A figure of the statistics, wherever it is."""
    for name, value in statistics.items():
        if name == key:
            return value
        found = peak(value, key) if isinstance(value, dict) else None
        if found is not None:
            return found
    return None


def ranks(machine, way, settings, rounds, late):
    begin = time.monotonic()
    job = {"TORCHELASTIC_RUN_ID": machine.name, **settings}
    started = [machine.start(RANK, rounds, job) for _ in range(RANKS)]
    lines = threading.Thread(target=lambda: [program.stdout.readline() for program in started])
    lines.start()
    most = {"host": 0, "file": 0}  # together, by the ledger
    while late and lines.is_alive():
        shown = machine.share()
        for name in most:
            most[name] = max(most[name], sum(program[f"{name}_held"] for program in shown["programs"]))
    lines.join()
    row = {"way": way, "seconds": time.monotonic() - begin}
    if late:
        newcomer = machine.start(LATE, 1_000_000, {})
        wanted = (LATE - DEVICE) * MIB * 9 // 10
        row["late_seconds"] = machine.seconds_until(
            lambda shown: any(program["pid"] == newcomer.pid and program["host_held"] >= wanted
                              for program in shown["programs"]))
        newcomer.kill()
        newcomer.communicate()
    statistics = [machine.finish(program) for program in started]
    if not late:  # nothing is given back, so the most of each is the most of all
        most = {name: sum(peak(one, f"{name}_peak") for one in statistics) for name in most}
    return row | most


def killed(machine):
    on_one = {"TESSERA_SOFTWARE_SHARED": machine.name}
    one, other = (machine.start(HALF, 1_000_000, on_one) for _ in range(2))
    had_turns = lambda shown: shown["devices"] and len(shown["devices"][0]["programs"]) == 2 and all(
        program["turns"] > 0 for program in shown["devices"][0]["programs"])
    before = {}
    machine.seconds_until(had_turns)

    def has_the_device(shown):
        before.update(shown)
        return any(program["pid"] == one.pid and program["turn"] == "has" and
                   program["device_held"] >= HALF * MIB * 3 // 4 for program in shown["devices"][0]["programs"])

    machine.seconds_until(has_the_device)
    one.kill()
    one.communicate()
    row = {"device_held": sum(program["device_held"] for program in before["devices"][0]["programs"]
                              if program["pid"] == one.pid),
           "host_held": sum(program["host_held"] for program in before["programs"] if program["pid"] == one.pid)}
    programs = lambda shown: shown["devices"][0]["programs"]
    row["row_seconds"] = machine.seconds_until(
        lambda shown: all(program["pid"] != one.pid for program in [*shown["programs"], *programs(shown)]))
    row["device_seconds"] = row["row_seconds"] + machine.seconds_until(
        lambda shown: programs(shown)[0]["device_held"] >= HALF * MIB)
    other.kill()
    other.communicate()
    return row


def text(figures):
    mib = lambda number: f"{number / MIB:.0f} MiB"
    lines = [f"{RANKS} ranks of {RANK} MiB on {DEVICE} MiB each; all may pin {HOST} MiB together"]
    for row in figures["ranks"]:
        lines.append(f"  {row['way']:>16}: at most {mib(row['host'])} pinned and {mib(row['file'])} in files "
                     f"together, {row['seconds']:.1f} s")
    lines.append(f"  a late program of {LATE} MiB has its host memory after {figures['ranks'][0]['late_seconds']:.1f} s")
    row = figures["killed"]
    lines.append(f"a program that is killed holds {mib(row['device_held'])} of the device and {mib(row['host_held'])} of "
                 f"host memory;\n  its row is gone after {row['row_seconds']:.1f} s, and the other one has the device after "
                 f"{row['device_seconds']:.1f} s")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--smoke", action="store_true", help="one round: the times say nothing")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    rounds = 1 if options.smoke else 8
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options.build, folder)
        try:
            figures = {"device_mib": DEVICE, "rank_mib": RANK, "late_mib": LATE, "host_budget_mib": HOST,
                       "ranks": [ranks(machine, "one ledger", {}, rounds, True),
                                 ranks(machine, "node off", {"TESSERA_NODE": "off"}, rounds, False)],
                       "killed": killed(machine)}
        finally:
            machine.clean()
    print(text(figures))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
