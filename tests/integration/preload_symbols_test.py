"""The preload library's exports equal its export map, which equals its tables of hooks.

Usage: preload_symbols_test.py BUILD_FOLDER
"""

import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "shim" / "preload"
LOADER = ["dlsym@GLIBC_2.2.5", "dlsym@@GLIBC_2.34", "dlvsym@GLIBC_2.2.5", "dlvsym@@GLIBC_2.34"]

# Looked up by tessera_shared().
FACES = ["tessera_preload_attend"]
# C library functions: exits that run no handlers (endings.cpp).
ENDS = ["_exit@@GLIBC_2.2.5", "_Exit@@GLIBC_2.2.5"]


def hooks():
    of_driver = re.findall(r"^HOOK\((\w+),", (SOURCE / "hooks.inc").read_text(), re.MULTILINE)
    of_nccl = re.findall(r"^NCCL_HOOK\((\w+)\)", (SOURCE / "nccl_hooks.inc").read_text(), re.MULTILINE)
    return of_driver + of_nccl


def mapped():
    text = (SOURCE / "exports.map").read_text()
    return re.findall(r"^ {4}((?:cu|nccl)\w+);$", text, re.MULTILINE)


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listing.splitlines() if line.split()[1] in "TWtw"]
    return sorted(name.replace("@@TESSERA_PRELOAD", "") for name in names)


def main():
    library = pathlib.Path(sys.argv[1]) / "lib" / "libtessera_preload.so"
    assert hooks() == mapped(), sorted(set(hooks()) ^ set(mapped())) or "the orders differ"
    assert len(hooks()) == len(set(hooks())), "a hook stands twice in the table"
    expected = sorted(hooks() + LOADER + FACES + ENDS)
    shown = exported(library)
    assert shown == expected, f"shown and expected differ by {sorted(set(shown) ^ set(expected))}"
    print(f"{len(hooks())} hooks")


if __name__ == "__main__":
    main()
