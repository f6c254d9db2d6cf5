"""Packages from PyPI, in a virtual environment each, created once in the build's cache."""

import os
import subprocess
import sys

SKIPPED = 77


class Unavailable(Exception):
    """The package is unavailable, for instance without network."""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def environment_with(build, package, version, *beside, name="", variables=None):
    """The interpreter that finds the package, and others `beside` it by their pip names, in the cache's folder
    `name`. pip gets the `variables` as well. Raises Unavailable."""
    folder = build / "cache" / (name or f"{package}-{version}")
    python, done = folder / "bin" / "python", folder / "complete"
    if done.exists():
        return python
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout", "10",
                     "--retries", "1", f"{package}=={version}", *beside]):
        try:
            made = subprocess.run(command, env=os.environ | (variables or {}), capture_output=True, text=True,
                                  timeout=900 if variables else 200, check=False)
        except subprocess.TimeoutExpired as late:
            raise Unavailable(f"{package} {version} did not arrive in time") from late
        if made.returncode != 0:
            raise Unavailable(f"no {package} {version}: {(made.stderr or made.stdout).strip().splitlines()[-1]}")
    done.touch()
    return python


def python_with(build, package, version, *beside, name="", variables=None):
    """For tests: if the package is unavailable, the test ends as skipped."""
    try:
        return environment_with(build, package, version, *beside, name=name, variables=variables)
    except Unavailable as why:
        return skip(str(why))
