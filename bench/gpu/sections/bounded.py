"""Runs a program with a time limit: all its descendants end with it, and no wait is unbounded.

A process that waits inside a driver can be killed and still not end. After the kill it is therefore waited for only
a few seconds and then left alone. No pipe is read to its end, which only the process's exit would close. In /proc
only `stat` is opened: `cmdline`, `environ` and `maps` may block for such a process too.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time

AFTER_KILL = 5.0  # seconds that a killed process may take to end
TO_REPORT = 1.0  # seconds in which it may end by itself, with what it has to write
MOST_OUT, MOST_ERR = 4 << 20, 64 << 10  # bytes kept, from the end
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes this process the parent of its descendants' orphans, so that they can be found and ended."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # without it, orphans that left their session are not found


def facts_of(pid):
    """(parent, session, state) of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name is in parentheses and may contain any byte.
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(words[1]), int(words[3]), words[0].decode()) if len(words) > 3 else None


def processes():
    found = {int(name): facts_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: facts for pid, facts in found.items() if facts is not None}


def below(root, all_processes):
    """All descendants of `root`."""
    children = {}
    for pid, (parent, _, _) in all_processes.items():
        children.setdefault(parent, []).append(pid)
    found, left = [], [root]
    while left:
        for pid in children.get(left.pop(), []):
            found.append(pid)
            left.append(pid)
    return found


class Tail:
    """The last bytes of a pipe, read by a background thread that need not be joined."""

    def __init__(self, file, most):
        self.most = most
        self._data = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, args=(file,), daemon=True)
        self._thread.start()

    def _read(self, file):
        with file:
            while data := file.read1(65536):
                with self._lock:
                    self._data += data
                    del self._data[:-self.most]

    def text(self, wait=2.0):
        self._thread.join(wait)
        with self._lock:
            return self._data.decode(errors="replace")


class Program:
    """One running program in a session of its own. `out`: None to keep the output, else where it goes."""

    def __init__(self, command, environment, folder=None, out=None):
        # Existing children of this process do not belong to the program.
        self._ours = set(below(os.getpid(), processes()))
        self._start = time.monotonic()
        self.child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE if out is None else out, stderr=subprocess.PIPE,
                                      start_new_session=True, cwd=folder)
        self.out = Tail(self.child.stdout, MOST_OUT) if out is None else None
        self.err = Tail(self.child.stderr, MOST_ERR)

    @property
    def pid(self):
        return self.child.pid

    def wait(self, limit):
        """The exit code, or None on timeout."""
        try:
            return self.child.wait(max(limit, 0.1))
        except subprocess.TimeoutExpired:
            return None

    def _left(self):
        """Its descendants that still run, also if the process between is gone."""
        everything = processes()
        found = set(below(self.pid, everything)) | (set(below(os.getpid(), everything)) - self._ours)
        found |= {pid for pid, (_, session, _) in everything.items() if session == self.pid}
        return alive(found - {os.getpid()}, everything)

    def end(self):
        """Ends it and all its descendants. Returns "", or the states of processes that did not end ("D": inside the
        kernel)."""
        if self.child.poll() is None:
            # Tessera writes its statistics when a signal ends the program.
            self.child.terminate()
            self.wait(TO_REPORT)
        return kill(self._left, self.child)

    def seconds(self):
        return time.monotonic() - self._start


def alive(pids, everything):
    return [pid for pid in pids if everything[pid][2] != "Z"]


def kill(find, child=None):
    """Kills the processes that `find` returns, repeatedly, as they may start more. Returns the states of those that
    still exist at the deadline."""
    deadline = time.monotonic() + AFTER_KILL
    while True:
        left = find()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if child is not None:
            child.poll()
        take_ends(child)
        if not left or time.monotonic() > deadline:
            return ", ".join(sorted({facts[2] for facts in map(facts_of, left) if facts is not None}))
        time.sleep(0.02)


def take_ends(child):
    """Reaps orphans that became children of this process, without waiting; no other process reaps them."""
    for pid, (parent, _, state) in processes().items():
        if parent == os.getpid() and state == "Z" and (child is None or pid != child.pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass  # already reaped elsewhere


def end_all():
    """Kills all descendants of this process, including adopted orphans."""
    def left():
        everything = processes()
        return alive(below(os.getpid(), everything), everything)
    return kill(left)
