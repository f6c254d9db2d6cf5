"""The Debian package needs the C library alone, and what it unpacks runs a program.

Usage: deb_test.py BUILD_FOLDER
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        run("cpack", "-G", "DEB", "-B", scratch, cwd=build)
        [package] = scratch.glob("*.deb")
        version = run(build / "bin/tessera", "--version").split()[-1]
        assert run("dpkg-deb", "--field", package, "Version") == version
        assert run("dpkg-deb", "--field", package, "Depends") == "libc6 (>= 2.34)"
        root = scratch / "root"
        run("dpkg-deb", "--extract", package, root)
        program = root / "usr/lib/tessera/vector_add"
        run(root / "usr/bin/tessera", "run", "--software", "--software-memory", "64MiB", "--device-memory", "16MiB", "--",
            program, program.with_name("vector_add_kernels.so"))
        strange = {path.name for path in (root / "usr").iterdir()} - {"bin", "include", "lib", "share"}
        assert not strange, strange
        for name in ("man/man1/tessera-run.1", "zsh/vendor-completions/_tessera"):
            assert (root / "usr/share" / name).exists(), name
        if not shutil.which("man"):
            return
        shown = run("man", "-l", root / "usr/share/man/man1/tessera-run.1", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        assert "--device-memory" in shown, shown


if __name__ == "__main__":
    main()
