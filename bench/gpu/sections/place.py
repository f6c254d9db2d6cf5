"""Finds the programs, and runs one with a time limit, after which it and all its descendants are killed."""

import dataclasses
import json
import os
import pathlib
import sys
import tempfile

from sections import bounded

MOST_TOLD = 4000  # bytes kept from the end of a program's output


@dataclasses.dataclass
class Outcome:
    code: int | None  # None: killed because its time was over
    out: str
    err: str
    seconds: float
    pid: int | None = None
    stuck: str = ""  # the state of processes that could not be killed

    @property
    def well(self):
        return self.code == 0

    def failure(self):
        """The facts that are recorded for a program that did not end well."""
        return {"exit_code": self.code, "timed_out": self.code is None, "message": self.err[-MOST_TOLD:],
                **({} if self.err else {"output": self.out[-MOST_TOLD:]}),
                **({"stuck": self.stuck} if self.stuck else {})}

    def told(self):
        """Its standard error, recorded also for a run that ended well."""
        return {"stderr": self.err[-MOST_TOLD:]} if self.err else {}


class Place:
    """One build or unpacked bundle: bin/, lib/, tests/ and bench/gpu/ are below its root."""

    def __init__(self, root, software=False, quick=False, scratch=None):
        self.root = pathlib.Path(root).resolve()
        self.software = software
        self.quick = quick
        self.scripts = pathlib.Path(__file__).resolve().parent.parent
        self.python = sys.executable
        self.own = None if scratch else tempfile.TemporaryDirectory(prefix="tessera-gpu-")  # removed with the last reference
        self.scratch = pathlib.Path(scratch or self.own.name)

    # ---- programs ----
    def tessera(self):
        return str(self.root / "bin" / "tessera")

    def probe(self, name):
        return str(self.root / "bench" / "gpu" / name)

    def program(self, name):
        return str(self.root / "lib" / "tessera" / name)

    def kernels(self, name):
        return self.program(name + (".so" if self.software else ".fatbin"))

    def test(self, name):
        return str(self.root / "tests" / name)

    def script(self, name):
        return [self.python, "-u", "-B", str(self.scripts / "programs" / name)]

    def under_tessera(self, command, *options):
        """The same program under the preload library."""
        return [self.tessera(), "run", *options, "--", *command]

    # ---- running ----
    def environment(self, more=None):
        environment = dict(os.environ)
        if self.software:
            path = [str(self.root / "lib" / "softcuda"), environment.get("LD_LIBRARY_PATH", "")]
            environment["LD_LIBRARY_PATH"] = ":".join(part for part in path if part)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment.update(more or {})
        return environment

    def run(self, command, limit, more=None):
        """Runs `command` for at most `limit` seconds; then it and its descendants are killed."""
        try:
            program = bounded.Program(command, self.environment(more), self.scratch)
        except OSError as error:
            return Outcome(127, "", str(error), 0.0)
        code = program.wait(limit)
        seconds = program.seconds()
        stuck = program.end()
        return Outcome(code, program.out.text(), program.err.text(), seconds, program.pid, stuck)

    def run_json(self, command, limit, more=None):
        """The last line of the output as JSON; under "failed" what went wrong."""
        return json_of(self.run(command, limit, more))

    def has(self, module):
        """Whether Python here can import `module`. Checked in a child process, as importing may be slow."""
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        return self.run([self.python, "-c", code], 30).well


def json_of(outcome):
    found = last_json(outcome.out)
    if found is None or not outcome.well:
        return {**(found or {}), "failed": outcome.failure()}
    return found


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None
