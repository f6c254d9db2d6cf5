"""PyTorch's own allocator tells which part of a segment is which tensor: a stand-in for it makes its calls and its trace
(tests/programs/torch), the listener is built as for PyTorch, and launches fetch what they name.

Usage: torch_listener_test.py BUILD_FOLDER. Skipped (77) without a C++ compiler.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAMS = BUILD / "lib/tessera"
STAND_IN = ROOT / "tests/programs/torch"
MEBIBYTE = 1 << 20
sys.path.insert(0, str(ROOT / "shim/python"))

from tessera import _torch_listener  # noqa: E402


class TorchListener(unittest.TestCase):
    """One cache for the class, where the listener is built once."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.torch = cls.scratch / "site/torch"
        (cls.torch / "lib").mkdir(parents=True)
        (cls.torch / "lib/libc10_cuda.so").symlink_to(PROGRAMS / "torch/libc10_cuda.so")
        (cls.torch / "include").symlink_to(STAND_IN)
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(cls.scratch / "cache")}):
            cls.listener = _torch_listener.build(cls.torch)

    def run_program(self, how, bytes_, device, *options, host_frames=False, **variables):
        """Tessera's figures. Fails unless every byte is right; `printed` is what is on standard error. With host
        frames, what does not fit of a segment is used in host memory, so fetches do not show what launches were given."""
        stats = self.scratch / "stats.json"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        command = [BUILD / "bin/tessera", "run", "--software", "--software-memory", device * MEBIBYTE,
                   "--device-memory", device * MEBIBYTE, "--host-memory", "640MiB", "--stats", stats,
                   *(options or ("--no-presets",)), "--", PROGRAMS / "torch_tensors", PROGRAMS / "preload_kernels.so", how,
                   bytes_ * MEBIBYTE]
        frames = {} if host_frames else {"TESSERA_SOFTWARE_HOST_FRAMES": "0"}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=200, check=False,
                              env=kept | {"LD_LIBRARY_PATH": str(PROGRAMS / "torch")} | frames | variables)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)
        self.printed = done.stderr
        return json.loads(stats.read_text())

    def both(self, how, bytes_, device, host_frames=False):
        """Figures with the listener, and without. With it, no launch gets less than it may use, nor host memory."""
        known = self.run_program(how, bytes_, device, "--no-presets", "--torch-listeners", self.listener.parent,
                                 host_frames=host_frames)
        self.assertEqual(self.printed, "")
        return known, self.run_program(how, bytes_, device, host_frames=host_frames)

    def test_the_presets_name_the_folder_of_the_users_cache(self):
        cache = {"XDG_CACHE_HOME": str(self.scratch / "cache")}
        found = self.run_program("often", 120, 80, "--log-level", "error", **cache)
        self.assertLess(found["moves"]["bytes_in"], 300 * MEBIBYTE)
        left_out = self.run_program("often", 120, 80, **cache)
        self.assertGreater(left_out["moves"]["bytes_in"], 900 * MEBIBYTE)

    def test_a_file_that_others_can_change_is_not_loaded(self):
        folder = self.scratch / "open"
        folder.mkdir(exist_ok=True)
        file = pathlib.Path(shutil.copy(self.listener, folder))
        file.chmod(0o777)
        left_out = self.run_program("often", 120, 80, "--no-presets", "--torch-listeners", folder)
        self.assertGreater(left_out["moves"]["bytes_in"], 900 * MEBIBYTE)
        file.chmod(0o755)
        file.write_bytes(b"no library")
        self.run_program("often", 120, 80, "--no-presets", "--torch-listeners", folder)
        self.assertIn("PyTorch's segments move as a whole: ", self.printed)

    def test_of_an_expandable_segment_a_launch_fetches_its_tensors(self):
        known, unknown = self.both("often", 120, 80)
        # Of 20 rounds over 40 MiB the first has to fetch them. Without the listener each launch names all of a segment.
        self.assertLess(known["moves"]["bytes_in"], 300 * MEBIBYTE)
        self.assertGreater(unknown["moves"]["bytes_in"], 900 * MEBIBYTE)
        self.assertLess(known["uses"]["uses"], unknown["uses"]["uses"] / 2)

    def test_tensors_that_fit_are_not_used_in_host_memory_because_their_segment_does_not_fit(self):
        known, _ = self.both("often", 120, 80, host_frames=True)
        self.assertLess(known["moves"]["bytes_in"], 300 * MEBIBYTE)
        self.assertIn("of it are used in host memory", self.printed)

    def test_tensors_that_are_freed_and_made_in_a_segment_that_shrinks_and_grows(self):
        known, unknown = self.both("expandable", 120, 80)
        self.assertLess(known["moves"]["bytes_in"], 0.7 * unknown["moves"]["bytes_in"])

    def test_a_segment_of_the_native_kind_need_not_fit_once_it_is_cut(self):
        known, unknown = self.both("native", 288, 192, host_frames=True)
        self.assertEqual(known["held"]["zero_copy_bytes"], 0)
        self.assertGreater(known["moves"]["bytes_in"], 0)
        self.assertEqual(unknown["moves"]["bytes_in"], 0)  # part of it is used in host memory

    def test_what_a_graph_uses_after_it_was_freed_is_there(self):
        self.both("graph", 120, 100)

    def test_threads(self):
        self.both("threads", 160, 120)

    def test_an_allocator_that_says_what_is_not_so_loses_nothing(self):
        self.run_program("false", 120, 100, "--no-presets", "--torch-listeners", self.listener.parent)


class Building(unittest.TestCase):
    """What users read where it cannot be built."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)
        self.torch = self.scratch / "site/torch"
        (self.torch / "lib").mkdir(parents=True)

    def tessera(self, *words, **variables):
        return subprocess.run([sys.executable, "-m", "tessera", "torch-listener", *map(str, words)], text=True,
                              capture_output=True, check=False, timeout=100,
                              env=os.environ | {"PYTHONPATH": str(ROOT / "shim/python"),
                                                "XDG_CACHE_HOME": str(self.scratch / "cache")} | variables)

    def with_header(self, text):
        folder = self.torch / "include/c10/cuda"
        folder.mkdir(parents=True)
        (folder / "CUDACachingAllocator.h").write_text(text, encoding="utf-8")
        shutil.copy(PROGRAMS / "torch/libc10_cuda.so", self.torch / "lib")

    def test_it_is_built_once_for_each_pytorch_and_found_by_its_library(self):
        self.with_header((STAND_IN / "c10/cuda/CUDACachingAllocator.h").read_text(encoding="utf-8"))
        asked = self.tessera("--torch", self.torch, "--check")
        self.assertEqual((asked.returncode, asked.stderr), (1, "tessera: not built\n"))
        built = self.tessera("--torch", self.torch)
        self.assertEqual(built.returncode, 0, built.stderr)
        file = pathlib.Path(built.stdout.strip())
        self.assertEqual(file.stat().st_mode & 0o022, 0)
        self.assertEqual(self.tessera("--torch", self.torch, "--check", CXX="/none").stdout, built.stdout)
        self.assertEqual(self.tessera("--torch", self.torch, PATH="/none", CXX="/none").stdout, built.stdout)
        os.utime(self.torch / "lib/libc10_cuda.so", ns=(0, 1))  # as another PyTorch in its place
        self.assertEqual(self.tessera("--torch", self.torch, "--check").returncode, 1)
        self.assertEqual(sorted(file.parent.iterdir()), [file])

    def test_the_reason_is_one_line(self):
        refused = self.tessera("--torch", self.torch)
        self.assertIn("is a PyTorch without CUDA", refused.stderr)
        self.with_header("namespace c10::cuda::CUDACachingAllocator { struct TraceEntry {}; struct SnapshotInfo {}; }")
        self.assertIn("no C++ compiler", self.tessera("--torch", self.torch, PATH="/none", CXX="/none").stderr)
        old = self.tessera("--torch", self.torch)
        self.assertEqual(old.stderr, "tessera: this PyTorch is older than 2.2: its allocator has no trace that can be "
                                     "listened to\n")
        self.assertEqual(old.returncode, 1)


if __name__ == "__main__":
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        print("no C++ compiler")
        sys.exit(77)
    unittest.main()
