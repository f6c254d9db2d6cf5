"""An installed Tessera is found by CMake and by pkg-config, and still works when the folder is moved.

Usage: install_test.py BUILD_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
# Files that a user may count on, below the prefix.
INSTALLED = ["bin/tessera", "lib/libtessera.so", "lib/libtessera_preload.so", "lib/libtessera_torch.so",
             "lib/softcuda/libcuda.so.1", "lib/softcuda/libcuda.so",
             "lib/tessera/train", "lib/tessera/train_kernels.so", "include/tessera/tessera.h",
             "include/tessera/tessera.hpp", "include/tessera/cuda_mr.hpp", "lib/cmake/tessera/tesseraConfig.cmake", "lib/pkgconfig/tessera.pc",
             "share/man/man1/tessera-run.1", "share/bash-completion/completions/tessera", "share/zsh/site-functions/_tessera",
             "share/fish/vendor_completions.d/tessera.fish"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                            **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout.strip()


def built_with_cmake(prefix, scratch):
    minor = run(prefix / "bin/tessera", "--version").split()[-1].rpartition(".")[0]
    run("cmake", "-S", CONSUMER, "-B", scratch, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED_VERSION={minor}")
    run("cmake", "--build", scratch)
    return run(scratch / "consumer")


def built_with_pkg_config(prefix, scratch):
    scratch.mkdir()
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "tessera", env=environment).split()
    run("cc", CONSUMER / "consumer.c", "-o", scratch / "consumer", *flags)
    return run(scratch / "consumer", env=os.environ | {"LD_LIBRARY_PATH": str(prefix / "lib")})


def runs_from(prefix):
    """What the linker is told cannot have blanks or colons, so a link stands for the folder."""
    program = prefix / "lib/tessera/vector_add"
    run(prefix / "bin/tessera", "run", "--software", "--software-memory", "64MiB", "--device-memory", "16MiB", "--",
        program, program.with_name("vector_add_kernels.so"))


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        run("cmake", "--install", build, "--prefix", scratch / "first")
        prefix = shutil.move(scratch / "first", scratch / "moved")
        absent = [name for name in INSTALLED if not (prefix / name).exists()]
        assert not absent, f"not installed: {absent}"
        # Programs and stand-ins of the tests stay in the build folder.
        programs = {path.name for path in (prefix / "lib/tessera").iterdir()}
        assert programs == {"train", "train_kernels.so", "vector_add", "vector_add_kernels.so"}, programs
        versions = {built_with_cmake(prefix, scratch / "cmake"),
                    built_with_pkg_config(prefix, scratch / "pkg_config"),
                    run("pkg-config", "--modversion", prefix / "lib/pkgconfig/tessera.pc"),
                    run(prefix / "bin/tessera", "--version").split()[-1]}
        runs_from(prefix)
        runs_from(pathlib.Path(shutil.move(prefix, scratch / "an odd: plätze;")))
        assert len(versions) == 1, f"the parts disagree about the version: {versions}"


if __name__ == "__main__":
    main()
