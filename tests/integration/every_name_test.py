"""Every name of the CUDA headers, looked up in every way: with the preload library each look-up returns the same
status as without, and finds the hook of exactly that function if there is one, else the driver's function.

Usage: every_name_test.py BUILD_FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import entry_lists

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DRIVER, OURS = "libcuda.so.1", "libtessera_preload.so"
# Versions that the driver does not know yet, and the first CUDA.
OTHER_VERSIONS = (1000, 13000, 13050, 99000)


def names_by_version():
    """{name: versions in which its ABI changed}, as known to cuGetProcAddress. entry_points_test.py compares the
    lists with the headers."""
    found = {}
    for name, version, _ in entry_lists.known():
        found.setdefault(name, set()).add(version)
    return found


def symbols(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    return {line.split()[0].split("@")[0]: line.split()[2] for line in listing.splitlines()
            if line.startswith("cu")}


def hooked():
    return set(re.findall(r"^HOOK\((\w+),", (SOURCE / "shim/preload/hooks.inc").read_text(), re.M))


def questions():
    for name, versions in sorted(names_by_version().items()):
        asked = versions | {version - 10 for version in versions} | set(OTHER_VERSIONS)
        for version in sorted(asked):
            yield f"address {name} {version}"
    for name in sorted(symbols(BUILD / "lib/softcuda" / DRIVER)):
        yield f"symbol {name}"
        yield f"address {name} 13050"  # an ABI name
    yield "symbol cuNoSuchName"
    yield "address cuNoSuchName 13050"


def look_ups(**more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    environment |= {"LD_LIBRARY_PATH": str(BUILD / "lib/softcuda")} | more
    ran = subprocess.run([BUILD / "lib/tessera/resolve_all"], input="\n".join(questions()) + "\n",
                         env=environment, capture_output=True, text=True, timeout=120, check=True)
    return dict(line.split(": ", 1) if ": " in line else line.split(":", 1)
                for line in ran.stdout.splitlines())


class EveryName(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.without = look_ups()
        cls.under = look_ups(LD_PRELOAD=str(BUILD / "lib/libtessera_preload.so"))

    def test_all_names_are_looked_up_and_most_found(self):
        names = names_by_version()
        self.assertGreater(len(names), 400)
        self.assertEqual(self.without.keys(), self.under.keys())
        for name, versions in names.items():
            for version in versions:
                self.assertIn(f"second {name} {version} 2", self.without)
        found = [place for place in self.without.values() if f" {DRIVER} " in " " + place]
        self.assertGreater(len(found), 10000)

    def test_each_resolves_as_before_or_to_our_hook_of_the_same_function(self):
        hooks, addresses = hooked(), symbols(BUILD / "lib/softcuda" / DRIVER)
        # If two names are one function, the loader may report either.
        same = {}
        for name, address in addresses.items():
            same.setdefault(address, set()).add(name)
        wrong = []
        for what, place in self.without.items():
            words = place.split()
            if DRIVER in words:
                alike = same[addresses[words[-1]]]
                expected = [place] if not alike & hooks else [
                    " ".join(words[:-2] + [OURS, name]) for name in alike & hooks]
            else:
                expected = [place]
            if self.under[what] not in expected:
                wrong.append(f"{what}: {self.under[what]}, not {' or '.join(expected)}")
        self.assertEqual(wrong, [])

    def test_every_hook_is_reached_by_version_and_by_symbol(self):
        for way in ("second ", "first ", "dlsym cu", "dlsym default ", "dlsym next "):
            reached = {place.split()[-1] for what, place in self.under.items()
                       if what.startswith(way) and OURS in place}
            self.assertEqual(hooked() - reached, set(), way)


if __name__ == "__main__":
    unittest.main()
