"""Where the programs are, and how one is run: bounded in time, and ended with all it started."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass
class Outcome:
    code: int | None  # None: it was ended because its time was over
    out: str
    err: str
    seconds: float

    @property
    def well(self):
        return self.code == 0

    def failure(self):
        """What a record tells of a program that did not end well."""
        return {"exit_code": self.code, "timed_out": self.code is None, "message": self.err[-2000:]}


def _text(data):
    return data.decode(errors="replace") if isinstance(data, bytes) else data or ""


class Place:
    """One build or unpacked bundle: bin/, lib/, tests/ and bench/gpu/ lie below its root."""

    def __init__(self, root, software=False, quick=False):
        self.root = pathlib.Path(root).resolve()
        self.software = software
        self.quick = quick
        self.scripts = pathlib.Path(__file__).resolve().parent.parent
        self.python = sys.executable
        # Short names: the path of a control socket has a limit of its own.
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="tessera-gpu-"))

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
        """`command` for at most `limit` seconds; then it and its children are ended."""
        start = time.monotonic()
        try:
            child = subprocess.Popen(command, env=self.environment(more), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     start_new_session=True, cwd=self.scratch)
        except OSError as error:
            return Outcome(127, "", str(error), 0.0)
        try:
            out, err = child.communicate(timeout=max(limit, 0.1))
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            code = None
        return Outcome(code, _text(out), _text(err), time.monotonic() - start)

    def run_json(self, command, limit, more=None):
        """The last line of the output as JSON, or what went wrong, under "failed"."""
        outcome = self.run(command, limit, more)
        found = last_json(outcome.out)
        if found is None or not outcome.well:
            return {**(found or {}), "failed": outcome.failure()}
        return found

    def has(self, module):
        """Whether Python here can import `module`: asked in a child, as importing may be slow."""
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        return self.run([self.python, "-c", code], 30).well


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None
