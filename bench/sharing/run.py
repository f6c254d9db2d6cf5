"""Two programs on one device: alone, one after the other, and at the same time with and without sharing.

Usage: run.py BUILD [--smoke] [--json FILE]

Each program uses 7/8 of a software device that real processes share (TESSERA_SOFTWARE_SHARED), again and again. Without
Tessera they could not run at the same time at all. The link is made slow compared with the kernels, as measured alone:
the blocks of a program need about three times as long over the link as its kernels do in a round. Throughput is
relative to one after the other: the sum of the times alone, divided by the time until both have ended. Every program
checks its numbers at the end.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

MIB = 1 << 20
DEVICE = 128  # MiB
BLOCKS = DEVICE * 7 // 8  # MiB of a program
LINK_PER_KERNELS = 3
WAYS = {"share off": {"TESSERA_SHARE": "off"},
        "time-slice 0": {"TESSERA_TIME_SLICE": "0"},
        "time slices": {}}


class Machine:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.name = f"sharing-bench-{os.getpid()}"

    def start(self, rounds, bandwidth, settings):
        variables = {"LD_LIBRARY_PATH": self.build / "lib/softcuda", "LD_PRELOAD": self.build / "lib/libtessera_preload.so",
                     "TESSERA_SOFTWARE_SHARED": self.name, "TESSERA_SOFTWARE_MEMORY": f"{DEVICE}MiB",
                     "TESSERA_SOFTWARE_BANDWIDTH": bandwidth, "TESSERA_NODE": self.name,
                     "TESSERA_NODE_HOST_MEMORY": "1GiB", "TESSERA_PATIENCE": "60000", **settings}
        command = ["./sharing", str(BLOCKS), str(rounds), "1"]
        return subprocess.Popen(command, cwd=self.build / "lib/tessera", stdout=subprocess.PIPE,
                                env={**os.environ, **{name: str(value) for name, value in variables.items()}})

    def seconds(self, programs, rounds, bandwidth, settings):
        """Until all have ended; each is started with the others."""
        begin = time.monotonic()
        started = [self.start(rounds, bandwidth, settings) for _ in range(programs)]
        for program in started:
            program.communicate()
        seconds = time.monotonic() - begin
        if any(program.returncode != 0 for program in started):
            raise RuntimeError(f"a program failed with {settings}")
        return seconds

    def clean(self):
        for file in pathlib.Path("/dev/shm").glob(f"tessera*/{self.name}*"):
            file.unlink()
        for file in pathlib.Path("/dev/shm").glob(f"tessera-softcuda-*-{self.name}"):
            file.unlink()


def measure(machine, rounds):
    few = max(2, rounds // 8)
    per_round = (machine.seconds(1, few * 2, 0, {}) - machine.seconds(1, few, 0, {})) / few
    bandwidth = int(BLOCKS * MIB / (LINK_PER_KERNELS * max(per_round, 1e-3)))
    alone = [machine.seconds(1, rounds, bandwidth, {}) for _ in range(2)]
    rows = [{"way": "one after the other", "seconds": sum(alone), "throughput": 1.0}]
    for way, settings in WAYS.items():
        seconds = machine.seconds(2, rounds, bandwidth, settings)
        rows.append({"way": way, "seconds": seconds, "throughput": sum(alone) / seconds})
    return {"device_mib": DEVICE, "program_mib": BLOCKS, "rounds": rounds, "seconds_per_round": per_round,
            "link_bytes_per_second": bandwidth, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--smoke", action="store_true", help="few rounds: the figures say nothing")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    machine = Machine(options.build)
    try:
        figures = measure(machine, 4 if options.smoke else 96)
    finally:
        machine.clean()
    for row in figures["rows"]:
        print(f"{row['way']:>20}  {row['seconds']:7.1f} s  {row['throughput']:5.2f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
