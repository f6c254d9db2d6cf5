"""Runs the probes of the plain driver in bench/gpu/first_light/."""

import json
import os
import selectors
import subprocess
import time

from sections import bounded


class Asked:
    """A process that runs probes one after the other, one line of JSON each."""

    def __init__(self, place, names):
        command = [place.probe("first_light"), "--directory", "/var/tmp", *names]
        if place.quick:
            command.insert(1, "--quick")
        self.program = bounded.Program(command, place.environment(), place.scratch, subprocess.PIPE)
        self.out = self.program.child.stdout
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.out, selectors.EVENT_READ)
        self.pending = b""

    def answer(self, limit):
        """The next answer; None if there is none within the limit or the process has ended."""
        deadline = time.monotonic() + limit
        while True:
            line, found, rest = self.pending.partition(b"\n")
            if found:
                self.pending = rest
                if line.startswith(b"{"):
                    return json.loads(line)
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                return None
            data = os.read(self.out.fileno(), 65536)
            if not data:
                return None
            self.pending += data

    def end(self):
        """Ends the process. Returns how it had ended: None if it had not ended by itself."""
        code = self.program.wait(2)
        stuck = self.program.end()
        self.selector.close()
        self.out.close()
        return {"exit_code": code, "message": self.program.err.text()[-2000:], **({"stuck": stuck} if stuck else {})}


def ask(place, record, names, longest):
    """Runs the probes one after the other. A probe that crashes or hangs is recorded as failed, and the others run
    in a new process."""
    names = list(names)
    while names and not record.over():
        program = Asked(place, names)
        while names:
            answer = program.answer(record.left(longest))
            if answer is None:
                break
            names.remove(answer["probe"])
            record.add(answer.pop("probe"), **answer)
        ended = program.end()
        # The probe that was running. After an unusable context (3) there was none.
        if names and ended["exit_code"] != 3 and not record.over():
            record.add(names.pop(0), answer="failed", failed=ended)
    for name in names:
        record.out_of_time(name)
