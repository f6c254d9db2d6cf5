"""Runs programs and replays from a build, on the software device."""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from environment import environment_of  # noqa: E402
from timed_trace import LINK, read  # noqa: E402

SOFTWARE_MEMORY = 4 << 30
HOST_MEMORY = 4 << 30


class Machine:
    """Construction fails for a build that may not be used for measurements, except in a smoke run."""

    def __init__(self, build, scratch, smoke):
        self.build, self.scratch, self.smoke = pathlib.Path(build).resolve(), pathlib.Path(scratch), smoke
        self.tessera = self.build / "bin" / "tessera"
        self.programs = self.build / "lib" / "tessera"
        self.environment = environment_of(self.build, smoke)

    def output(self, command, **variables):
        done = subprocess.run([str(word) for word in command], env=os.environ | variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def alone(self, workload):
        """With ample memory and without Tessera."""
        return Outcome(self.output(workload.command(self.programs, self.smoke),
                                   LD_LIBRARY_PATH=str(self.build / "lib" / "softcuda"),
                                   TESSERA_SOFTWARE_MEMORY=str(SOFTWARE_MEMORY)))

    def under_tessera(self, workload, device, *options, offload=0):
        words = workload.command(self.programs, self.smoke)
        if offload:
            words += ["--offload", str(offload)]
        return Outcome(self.output([self.tessera, "run", "--software", "--software-memory", SOFTWARE_MEMORY,
                                    "--device-memory", device, "--host-memory", HOST_MEMORY, *options,
                                    "--", *words]))

    def record(self, workload, offload=0):
        """(outcome, timed trace) of a run with ample memory."""
        path = self.scratch / f"{workload.name}-{offload}.recorded"
        outcome = self.under_tessera(workload, SOFTWARE_MEMORY // 2, "--trace", path, offload=offload)
        trace = read(path, workload.recorded_steps(self.smoke))
        path.unlink()
        return outcome, trace

    def replay(self, path, device, policy, passes):
        told = self.output([self.tessera, "replay", path, "--json", "--policy", policy, "--iterations", passes,
                            "--device-memory", device, "--host-memory", "64GiB", "--h2d", LINK, "--d2h", LINK])
        return json.loads(told)


class Outcome:
    """The output of a program."""

    def __init__(self, text):
        self.results = [line for line in text.splitlines() if line.startswith(("step", "digest"))]
        self.live_peak = int(re.search(r"live peak (\d+) bytes", text).group(1))
        self.seconds = float(re.search(r"([\d.]+) seconds per step", text).group(1))
