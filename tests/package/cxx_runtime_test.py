"""Our libraries bring no C++ runtime into a program, and load where glibc is 2.34 or newer.

Usage: cxx_runtime_test.py BUILD_FOLDER

A program may have a newer libstdc++ than the system, as a conda environment has. The one that is loaded first serves
the whole process, so a preloaded library that needs the system's breaks the program's own imports.
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include" / "tessera"
SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
NEWEST_GLIBC = (2, 34)
# What is loaded into other people's programs.
LIBRARIES = {"libtessera.so": SYSTEM, "libtessera_lab.so": SYSTEM,
             "libtessera_preload.so": SYSTEM | {"libtessera.so.0"},
             "libtessera_torch.so": SYSTEM | {"libtessera.so.0"},
             "softcuda/libcuda.so.1": SYSTEM, "softcuda/libnvrtc.so": SYSTEM}
PROGRAMS = {"bin/tessera": SYSTEM | {"libtessera.so.0", "libtessera_lab.so.0"}}
PRELOADED = {"libtessera_preload.so"}  # is there before the process has any memory for threads
NO_CPP = re.compile(r"^(_Z|__cxa_|__gxx_|_Unwind_|__gcc_|_dl_find_object)")

# In an environment's lib folder: a libstdc++ that is newer than any, and an extension that needs it.
STAND_IN = "int from_a_newer_runtime(void) { return 999; }\n"
VERSIONS = "GLIBCXX_3.4 { local: *; };\nGLIBCXX_9.9.99 { global: from_a_newer_runtime; } GLIBCXX_3.4;\n"
EXTENSION = "int from_a_newer_runtime(void);\nint answer(void) { return from_a_newer_runtime(); }\n"

# Loads the extension as an import would, and prints its answer and the runtimes that are mapped then.
IMPORT = """
import ctypes, sys
if sys.argv[2] == "allocates first":
    driver = ctypes.CDLL("libcuda.so.1")
    context, block, module = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
    for code in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                 driver.cuCtxSetCurrent(context), driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20)),
                 driver.cuModuleLoad(ctypes.byref(module), sys.argv[3].encode())):
        assert code == 0, code
print(ctypes.CDLL(sys.argv[1]).answer())
with open("/proc/self/maps") as maps:
    for path in sorted({line.split()[-1] for line in maps if "/libstdc++.so" in line}):
        print(path)
"""


def told_by(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def version_of(text):
    return tuple(int(part) for part in text.split("."))


def complaints(file, allowed):
    """What stands against loading `file` into any program."""
    dynamic = told_by("readelf", "--dynamic", "--wide", file)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if needed - allowed:
        yield f"needs {sorted(needed - allowed)}"
    if "STATIC_TLS" in dynamic and file.name not in PRELOADED:
        yield "wants static TLS, of which a running process has little"
    symbols = [line.split() for line in told_by("nm", "--dynamic", file).splitlines()]
    for name in (words[-1] for words in symbols):
        symbol, _, version = name.replace("@@", "@").partition("@")
        if re.match(r"(GLIBCXX|CXXABI|GCC)_", version):
            yield f"takes {name}"
        if version.startswith("GLIBC_") and version_of(version[len("GLIBC_"):]) > NEWEST_GLIBC:
            yield f"takes {name}, newer than glibc {'.'.join(map(str, NEWEST_GLIBC))}"
    defined = told_by("readelf", "--dyn-syms", "--wide", file)
    for words in (line.split() for line in defined.splitlines()):
        if len(words) < 8 or words[6] == "UND" or not words[1].isalnum():
            continue
        if words[4] == "UNIQUE" or NO_CPP.match(words[7]):
            yield f"shows {words[7]}"


def every_library_needs_the_c_library_alone(build):
    files = {build / "lib" / name: allowed for name, allowed in LIBRARIES.items()}
    files |= {build / name: allowed for name, allowed in PROGRAMS.items()}
    wrong = [f"{file.name} {complaint}" for file, allowed in files.items() if file.exists()
             for complaint in itertools.islice(complaints(file, allowed), 8)]
    assert not wrong, "\n".join(wrong)


def every_public_header_is_c():
    """No object of C++ can cross: two libraries of ours have two copies of its runtime."""
    for header in sorted(HEADERS.glob("*.h")):
        text = f'#include "tessera/{header.name}"\nextern int not_empty;\n'
        done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", "c",
                               "-I", HEADERS.parent, "-"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def environment_with_a_newer_runtime(folder):
    """A folder as `$CONDA_PREFIX/lib`; the extension finds the runtime beside itself."""
    for name, text in (("runtime.c", STAND_IN), ("versions.map", VERSIONS), ("extension.c", EXTENSION)):
        (folder / name).write_text(text)
    runtime, extension = folder / "libstdc++.so.6", folder / "extension.so"
    shared = ["cc", "-shared", "-fPIC"]
    subprocess.run([*shared, folder / "runtime.c", "-o", runtime, "-Wl,-soname,libstdc++.so.6",
                    f"-Wl,--version-script={folder / 'versions.map'}"], check=True)
    subprocess.run([*shared, folder / "extension.c", "-o", extension, runtime, "-Wl,-rpath,$ORIGIN",
                    "-Wl,--no-as-needed"], check=True)
    return runtime, extension


def import_extension(build, extension, preload, when):
    environment = os.environ | {"LD_PRELOAD": str(preload), "LD_LIBRARY_PATH": str(build / "lib" / "softcuda"),
                                "TESSERA_DEVICE_MEMORY": "32MiB", "TESSERA_HOST_MEMORY": "32MiB"}
    return subprocess.run([sys.executable, "-c", IMPORT, extension, when,
                           build / "lib" / "tessera" / "vector_add_kernels.so"], env=environment,
                          capture_output=True, text=True, timeout=60, check=False)


def a_program_gets_its_own_newer_runtime(build, folder):
    runtime, extension = environment_with_a_newer_runtime(folder)
    preload = build / "lib" / "libtessera_preload.so"
    for when in ("imports first", "allocates first"):
        done = import_extension(build, extension, preload, when)
        assert done.returncode == 0, f"{when}: {done.stderr}"
        assert done.stdout.split() == ["999", str(runtime)], f"{when}: {done.stdout}"


def the_systems_own_runtime_would_be_noticed(build, folder):
    """The same import with the system's libstdc++ in the way must fail, or the test above shows nothing."""
    found = told_by("c++", "-print-file-name=libstdc++.so.6").strip()
    if not os.path.isabs(found):
        return
    done = import_extension(build, folder / "extension.so", found, "imports first")
    assert done.returncode != 0 and "GLIBCXX_9.9.99" in done.stderr, done.stdout + done.stderr


def a_process_without_a_runtime_gets_no_exception(build):
    """PyTorch always brings one; whoever has none gets null and a line."""
    library = build / "lib" / "libtessera_torch.so"
    script = (f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n"
              "library.tessera_torch_malloc.restype = ctypes.c_void_p\n"
              "print(library.tessera_torch_malloc(ctypes.c_ssize_t(1 << 40), 0, None))\n")
    environment = os.environ | {"LD_LIBRARY_PATH": str(build / "lib" / "softcuda"), "TESSERA_LOG_LEVEL": "quiet",
                                "TESSERA_DEVICE_MEMORY": "32MiB", "TESSERA_HOST_MEMORY": "32MiB"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.stdout == "None\n" and "CUDA out of memory" in done.stderr, done.stdout + done.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    every_library_needs_the_c_library_alone(build)
    a_process_without_a_runtime_gets_no_exception(build)
    if shutil.which("cc") is None:
        print("no C compiler here: what a program loads was not tried")
        return
    every_public_header_is_c()
    with tempfile.TemporaryDirectory() as folder:
        a_program_gets_its_own_newer_runtime(build, pathlib.Path(folder))
        the_systems_own_runtime_would_be_noticed(build, pathlib.Path(folder))


if __name__ == "__main__":
    main()
