"""An sdist and a wheel are built from a tree that is read-only, and the wheel serves a Python without compiler or toolkit.

Usage: wheel_test.py BUILD_FOLDER. Leaves the wheel in its folder dist, for clean_root_test.py. Needs the package index;
skipped (77) without.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
LARGEST = 15_000_000  # bytes


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          **options)


def must(*command, **options):
    done = run(*command, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def read_only_copy(target):
    """Of the files that a checkout has."""
    target.mkdir()
    for name in must("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=SOURCE).split("\0"):
        if name and (SOURCE / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, target / name)
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    return target


def make_writable(target):
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def check_debug_symbols(folder, installed):
    """They are apart, by the build ids of what the wheel has."""
    [apart] = folder.glob("*-debug.tar.gz")
    with tarfile.open(apart) as file:
        names = file.getnames()
    for library in ("lib/libtessera.so.0", "lib/libtessera_preload.so", "bin/tessera"):
        build_id = re.search(r"Build ID: (\w+)", must("readelf", "-n", installed / library))[1]
        assert f".build-id/{build_id[:2]}/{build_id[2:]}.debug" in names, (library, names)
        assert ".debug_line" not in must("readelf", "-S", "--wide", installed / library), library


def main():
    left = pathlib.Path(sys.argv[1]).resolve() / "dist"
    shutil.rmtree(left, ignore_errors=True)
    if run("git", "rev-parse", cwd=SOURCE).returncode != 0:
        skip("this is no checkout")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        if run(sys.executable, "-m", "venv", scratch / "empty").returncode != 0:
            skip("this Python cannot make an environment (on Debian: python3-venv)")
        python = scratch / "empty/bin/python"
        if run(python, "-m", "pip", "download", "--quiet", "--retries", "0", "--no-deps", "--dest", scratch / "there",
               "scikit-build-core").returncode != 0:
            skip("the package index cannot be reached")
        source = read_only_copy(scratch / "source")
        before = sorted(source.rglob("*"))
        try:
            must("sh", source / "cmake/wheel.sh", source, scratch / "dist")
            assert sorted(source.rglob("*")) == before, "the build wrote into its source"
        finally:
            make_writable(source)
        [wheel] = (scratch / "dist").glob("*.whl")
        assert wheel.name.endswith("-py3-none-manylinux_2_34_x86_64.whl"), wheel.name
        assert wheel.stat().st_size < LARGEST, wheel.stat().st_size
        [_] = (path for path in (scratch / "dist").glob("*.tar.gz") if not path.name.endswith("-debug.tar.gz"))

        must(python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
        bare = {"PATH": str(scratch / "empty/bin"), "HOME": str(scratch)}
        for name in ("man/man1/tessera-run.1", "bash-completion/completions/tessera"):
            assert (scratch / "empty/share" / name).exists(), f"the environment has no share/{name}"
        assert must(scratch / "empty/bin/tessera", "--version", cwd=scratch, env=bare).startswith("tessera ")
        must(python, "-c", "import tessera, tessera.snapshot; import importlib.metadata as m;"
             "assert m.metadata('tessera-cuda')['License-Expression'] == 'Apache-2.0';"
             "assert '_installation' in str(tessera._library.folder())", cwd=scratch, env=bare)
        [installed] = (scratch / "empty/lib").glob("python*/site-packages/tessera/_installation")
        check_debug_symbols(scratch / "dist", installed)
        shown = must(scratch / "empty/bin/tessera", "demo", cwd=scratch, env=bare | {"TMPDIR": str(scratch)})
        assert "bit-identical" in shown, shown
        left.mkdir()
        shutil.copy(wheel, left)


if __name__ == "__main__":
    main()
