"""Plain driver API: the facts on which the design stands, one question each."""

import json
import os
import selectors
import signal
import subprocess
import time

LONGEST = 60  # seconds for one question


class Asked:
    """A process that answers questions in turn, one line of JSON each."""

    def __init__(self, place, names):
        command = [place.probe("first_light"), "--directory", "/var/tmp", *names]
        if place.quick:
            command.insert(1, "--quick")
        self.child = subprocess.Popen(command, env=place.environment(), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      start_new_session=True)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)
        self.pending = b""
        self.message = ""  # the last line that was no answer

    def answer(self, limit):
        """The next answer; None when there is none within the limit or the process has ended."""
        deadline = time.monotonic() + limit
        while True:
            line, found, rest = self.pending.partition(b"\n")
            if found:
                self.pending = rest
                if line.startswith(b"{"):
                    return json.loads(line)
                self.message = line.decode(errors="replace")
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                return None
            data = os.read(self.child.stdout.fileno(), 65536)
            if not data:
                return None
            self.pending += data

    def end(self):
        """How the process ended, if it did by itself."""
        code = self.child.poll()
        if code is None:
            try:
                code = self.child.wait(2)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        self.child.stdout.close()
        self.selector.close()
        return code


def run(place, record):
    listed = place.run([place.probe("first_light"), "--list"], 20)
    names = listed.out.split()
    if not names:
        record.add("first_light", answer="failed", failed=listed.failure())
        return
    while names and not record.over():
        asked = Asked(place, names)
        while names:
            answer = asked.answer(record.left(LONGEST))
            if answer is None:
                break
            names.remove(answer["probe"])
            record.add(answer.pop("probe"), **answer)
        code = asked.end()
        # The one that was being asked: it crashed or hung. After an unusable context (3) none was.
        if names and code != 3 and not record.over():
            record.add(names.pop(0), answer="failed", failed={"exit_code": code, "message": asked.message})
    for name in names:
        record.out_of_time(name)
