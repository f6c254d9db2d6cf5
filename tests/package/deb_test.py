"""The Debian package needs the C library alone, what it unpacks runs a program, and its debug symbols are apart.

Usage: deb_test.py BUILD_FOLDER
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def check_debug_symbols(symbols, root, scratch):
    """gdb finds them below /usr/lib/debug, by the build ids of what the package has."""
    run("dpkg-deb", "--extract", symbols, scratch / "symbols")
    for name in ("bin/tessera", "lib/libtessera.so", "lib/libtessera_preload.so"):
        stripped = (root / "usr" / name).resolve()
        build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", stripped))[1]
        apart = scratch / "symbols/usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        assert ".debug_line" in run("readelf", "-S", "--wide", apart), apart
        assert ".debug_line" not in run("readelf", "-S", "--wide", stripped), stripped


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
        [symbols] = scratch.glob("*.ddeb")
        check_debug_symbols(symbols, root, scratch)
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
