"""Folders for temporary files of runs. Each run locks its folder, so that folders of killed runs are recognised and removed."""

import fcntl
import itertools
import os
import pathlib
import shutil
import tempfile
import time

PREFIX = "tessera-gpu-"
LOCKED_SINCE = 60  # seconds: a younger folder may not be locked yet
MOST_LOOKED = 256


class Scratch:
    """One such folder, `path`. remove() deletes it, or a later run if this one was killed. Programs that the run starts do
    not hold the lock."""

    def __init__(self):
        sweep()
        # A short name: the path of a control socket has a limit of its own.
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
        self.lock = lock_of(self.path)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


def lock_of(folder):
    """A descriptor that holds the lock; None if another process holds it, or if the folder is another user's."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return held
    except OSError:
        os.close(held)
        return None


def sweep():
    for left in itertools.islice(pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"), MOST_LOOKED):
        try:
            facts = left.lstat()
        except OSError:
            continue
        if facts.st_uid != os.geteuid() or time.time() - facts.st_mtime < LOCKED_SINCE:
            continue
        held = lock_of(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)
