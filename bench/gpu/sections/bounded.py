"""A program with an end: its time is bounded, all that it started ends with it, and nobody waits for ever.

A process that waits inside a driver can be killed and still not end. So after the kill it is waited for a few seconds and
then left alone, nothing is read that only its end would close, and of /proc only `stat` is opened: `cmdline`, `environ` and `maps`
may wait for such a process too.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time

AFTER_KILL = 5.0  # seconds that a killed process may take
MOST_OUT, MOST_ERR = 4 << 20, 64 << 10  # bytes that are kept, the last ones
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What our children leave behind becomes ours, so that it can be found and ended."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # without it, what left its session as well is not found


def facts_of(pid):
    """(parent, session, state) of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in brackets, and may hold any byte.
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(words[1]), int(words[3]), words[0].decode()) if len(words) > 3 else None


def processes():
    found = {int(name): facts_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: facts for pid, facts in found.items() if facts is not None}


def below(root, all_processes):
    """Every process that `root` has started, itself or by others."""
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
    """The last bytes of a pipe, read by a thread of its own that nobody has to wait for."""

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
    """One running program in a session of its own. `out`: None to keep it, else where it goes."""

    def __init__(self, command, environment, folder=None, out=None):
        # Whoever is ours already is none of its doing.
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
        """Its exit code, or None when the time is over."""
        try:
            return self.child.wait(max(limit, 0.1))
        except subprocess.TimeoutExpired:
            return None

    def _left(self):
        """What it has started and has not ended, also where the one in between is gone."""
        everything = processes()
        found = set(below(self.pid, everything)) | (set(below(os.getpid(), everything)) - self._ours)
        found |= {pid for pid, (_, session, _) in everything.items() if session == self.pid}
        return alive(found - {os.getpid()}, everything)

    def end(self):
        """Ends it with all it started: "" then, or the state of what could not be ended ("D": inside the kernel)."""
        return kill(self._left, self.child)

    def seconds(self):
        return time.monotonic() - self._start


def alive(pids, everything):
    return [pid for pid in pids if everything[pid][2] != "Z"]


def kill(find, child=None):
    """Kills what `find` finds, and what that has started meanwhile: the states of what is still there after a while."""
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
    """Of orphans that became ours, without waiting: nobody else takes them from the list of processes."""
    for pid, (parent, _, state) in processes().items():
        if parent == os.getpid() and state == "Z" and (child is None or pid != child.pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass  # somebody else took it


def end_all():
    """Ends whatever is below this process, however it came there."""
    def left():
        everything = processes()
        return alive(below(os.getpid(), everything), everything)
    return kill(left)
