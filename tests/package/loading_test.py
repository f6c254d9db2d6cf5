"""The libraries enter a process politely: by dlopen into this very Python, and without taking its malloc.

Usage: loading_test.py BUILD_FOLDER
"""

import ctypes
import os
import pathlib
import subprocess
import sys

LIBRARIES = {
    "libtessera.so": "tessera_",
    "libtessera_preload.so": ("cu", "nccl", "dlsym", "dlvsym", "_exit", "_Exit", "tessera_preload_attend"),
    "libtessera_torch.so": "tessera_torch_",
    "softcuda/libcuda.so.1": "cu",
}


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    # Type A marks the names of symbol versions.
    return [line.split()[0].split("@")[0] for line in listing.splitlines() if line.split()[1] != "A"]


def only_documented_symbols_leave(lib):
    for name, prefixes in LIBRARIES.items():
        symbols = exported(lib / name)
        assert symbols, f"{name} exports nothing"
        strangers = [symbol for symbol in symbols if not symbol.startswith(prefixes)]
        assert not strangers, f"{name} exports {strangers}"


def loads_into_a_running_python(lib):
    """Static TLS is spent when a process runs: a library that wants some is refused here."""
    library = ctypes.CDLL(str(lib / "libtessera.so"))
    library.tessera_version.restype = ctypes.c_char_p
    assert library.tessera_version().count(b".") == 2
    driver = ctypes.CDLL(str(lib / "softcuda/libcuda.so.1"))
    assert driver.cuInit(0) == 0
    assert ctypes.CDLL(str(lib / "softcuda/libcuda.so"))._handle == driver._handle, "the linker's name is another library"


def malloc_owner(environment):
    """The file that serves `malloc` in a fresh process."""
    script = ("import ctypes\n"
              "class Info(ctypes.Structure):\n"
              "    _fields_ = [('file', ctypes.c_char_p), ('a', ctypes.c_void_p),\n"
              "                ('b', ctypes.c_char_p), ('c', ctypes.c_void_p)]\n"
              "c = ctypes.CDLL(None)\n"
              "info = Info()\n"
              "address = ctypes.cast(c.malloc, ctypes.c_void_p)\n"
              "assert c.dladdr(address, ctypes.byref(info))\n"
              "print(info.file.decode())\n")
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True,
                          check=True).stdout.strip()


def preloading_keeps_malloc(lib):
    plain = malloc_owner(os.environ.copy())
    preloaded = malloc_owner(os.environ | {"LD_PRELOAD": str(lib / "libtessera_preload.so")})
    assert plain == preloaded, f"malloc came from {plain}, preloaded it comes from {preloaded}"


def main():
    lib = pathlib.Path(sys.argv[1]) / "lib"
    only_documented_symbols_leave(lib)
    loads_into_a_running_python(lib)
    preloading_keeps_malloc(lib)


if __name__ == "__main__":
    main()
