"""The Python package installs from a tree that is read-only, from an sdist and from a wheel, and is fully typed: in an environment
made for it.

Usage: python_package_test.py BUILD_FOLDER. Needs the package index; skipped (77) without.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "shim" / "python"
SKIPPED = 77


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          **options)


def must(done):
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    return done.stdout


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def environment_with_tools(scratch):
    """A Python with pip, mypy and what builds a wheel and an sdist; the newest of each."""
    if run(sys.executable, "-m", "venv", scratch / "venv").returncode != 0:
        skip("this Python cannot make an environment (on Debian: python3-venv)")
    python = scratch / "venv" / "bin" / "python"
    if run(python, "-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "20",
           "flit_core>=3.11,<4", "build", "setuptools", "mypy").returncode != 0:
        skip("the package index cannot be reached")
    return python


def files_of(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def close_to_writing(folder):
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)


def open_to_writing(folder):
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def install_and_use(python, what, scratch, command_folder):
    """As a user has it: the tessera program on the PATH, and nothing set."""
    must(run(python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--force-reinstall", what))
    path = os.pathsep.join([str(command_folder), os.environ["PATH"]])
    command = must(run(python, "-m", "tessera", "--version", cwd=scratch, env={"PATH": path}))
    assert command.startswith("tessera "), command
    must(run(python, "-c", "import tessera, tessera.snapshot; import importlib.metadata as m;"
             "assert m.metadata('tessera-cuda')['License-Expression'] == 'Apache-2.0'", cwd=scratch))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        source = shutil.copytree(PACKAGE, scratch / "source", ignore=shutil.ignore_patterns("__pycache__"))
        python = environment_with_tools(scratch)
        before = files_of(source)
        close_to_writing(source)
        try:
            install_and_use(python, source, scratch, build / "bin")
            must(run(python, "-m", "build", "--no-isolation", "--outdir", scratch / "dist", source))
        finally:
            open_to_writing(source)
        assert files_of(source) == before, "the build wrote into its source"
        for pattern in ("*.tar.gz", "*.whl"):
            [made] = (scratch / "dist").glob(pattern)
            install_and_use(python, made, scratch, build / "bin")
        must(run(python, "-m", "mypy", "--config-file", source / "pyproject.toml", cwd=source))
        user = scratch / "user.py"
        user.write_text("import tessera\nreveal_type(tessera.sleep('kv').moved_bytes)\n")
        told = run(python, "-m", "mypy", user, cwd=scratch).stdout
        assert re.search(r'"(builtins\.)?int"', told), f"no types arrive: {told}"


if __name__ == "__main__":
    main()
