"""The three ways in which a suite is run: without Tessera, with ample memory, and short of memory with all blocks asleep."""

import dataclasses
import os
import subprocess
import threading

SOFTWARE_MEMORY = "1GiB"


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    options: tuple = ()  # of `tessera run`; none: without it
    asleep: bool = False

    def command(self, build, program):
        if not self.options:
            return list(map(str, program))
        return [str(build / "bin/tessera"), "run", "--software", *self.options, "--", *map(str, program)]

    def environment(self, build, suite):
        """Nothing of Tessera's own that whoever started this had set."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        kept |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TESSERA_LOG_LEVEL": "error"}
        kept |= suite.environment
        if not self.options:
            kept |= {"LD_LIBRARY_PATH": str(build / "lib/softcuda"), "TESSERA_SOFTWARE_MEMORY": SOFTWARE_MEMORY}
        return kept


def ways(suite):
    software = ("--software-memory", "3GiB", "--host-memory", "1GiB")
    return (Way("without"),
            Way("ample", (*software, "--device-memory", SOFTWARE_MEMORY)),
            Way("short", (*software, "--device-memory", suite.device_memory), asleep=True))


class Sleeper:
    """Puts all blocks of a running program to sleep and wakes them, again and again, until it ends."""

    def __init__(self, build, process):
        self.rounds = 0
        self._build, self._process = build, process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            told = [subprocess.run([str(self._build / "bin/tessera"), verb, "--timeout", "20", str(self._process.pid)],
                                   capture_output=True, text=True, check=False) for verb in ("sleep", "wake")]
            self.rounds += all(done.returncode == 0 for done in told)
            self._ended.wait(0.005)  # a program that has not allocated yet is asked again

    def end(self):
        """How often all of it slept and woke."""
        self._ended.set()
        self._thread.join()
        return self.rounds
