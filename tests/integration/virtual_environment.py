"""Packages from PyPI, in a virtual environment each, created once in the build's cache.

One pip installs into all of them: to put it into each takes longer than most packages do.
"""

import contextlib
import fcntl
import os
import subprocess
import sys

SKIPPED = 77


class Unavailable(Exception):
    """The package is unavailable, for instance without network."""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def ran(*command, seconds=200, variables=None):
    """Why the command failed, or nothing."""
    try:
        done = subprocess.run(command, env=os.environ | (variables or {}), capture_output=True, text=True,
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"it took more than {seconds} s"
    return (done.stderr or done.stdout).strip().splitlines()[-1] if done.returncode != 0 else ""


@contextlib.contextmanager
def alone(lock):
    """Tests run at the same time: one of them makes what they share."""
    with open(lock, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip_of(build):
    """A command that begins pip's; `--python INTERPRETER` says which environment it works on. Raises Unavailable."""
    folder = build / "cache" / "pip"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_suffix(".lock")):
        done = folder / "complete"
        if not done.exists():
            why = ran(sys.executable, "-m", "venv", "--clear", folder)
            if why:
                raise Unavailable(f"no pip: {why}")
            done.touch()
    return folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check"


def environment_with(build, package, version, *beside, name="", variables=None, compiled=False):
    """The interpreter that finds the package, and others `beside` it by their pip names, in the cache's folder
    `name`. pip gets the `variables` as well. Modules are compiled when they are imported first, or all of them now,
    for programs that may not write. Raises Unavailable."""
    folder = build / "cache" / (name or f"{package}-{version}")
    python, done = folder / "bin" / "python", folder / "complete"
    if done.exists():
        return python
    pip = pip_of(build)
    for command in ((sys.executable, "-m", "venv", "--clear", "--without-pip", folder),
                    (*pip, "--python", python, "install", "--quiet", "--timeout", "10", "--retries", "1",
                     "--compile" if compiled else "--no-compile", f"{package}=={version}", *beside)):
        why = ran(*command, seconds=900 if variables else 200, variables=variables)
        if why:
            raise Unavailable(f"no {package} {version}: {why}")
    done.touch()
    return python


def python_with(build, package, version, *beside, **how):
    """For tests: if the package is unavailable, the test ends as skipped."""
    try:
        return environment_with(build, package, version, *beside, **how)
    except Unavailable as why:
        return skip(str(why))
