"""Packages from PyPI for tests: a virtual environment for each, in the build's cache, made once."""

import subprocess
import sys

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def python_with(build, package, version):
    """The interpreter that finds the package. Ends the test as skipped where it cannot be had, as without network."""
    folder = build / "cache" / f"{package}-{version}"
    python, done = folder / "bin" / "python", folder / "complete"
    if done.exists():
        return python
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout", "10",
                     "--retries", "1", f"{package}=={version}"]):
        try:
            made = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        except subprocess.TimeoutExpired:
            skip(f"{package} {version} did not arrive in time")
        if made.returncode != 0:
            skip(f"no {package} {version}: {(made.stderr or made.stdout).strip().splitlines()[-1]}")
    done.touch()
    return python
