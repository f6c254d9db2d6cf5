"""Blocks that a Python function makes again, on the software device, whose memory is the host's."""

import contextlib
import ctypes
import io
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import tessera
from support import MIB, DeviceTest
from tessera import _api, _library, _recomputing

SIZE = 4 * MIB
LIMIT_S = 30


def fill(address, size, byte):
    ctypes.memset(address, byte, size)


def write(tensor):
    """Tells that work writes it: no copy from before is valid."""
    shared = ctypes.c_void_p()
    _api.check(_api._function("tessera_shared")(ctypes.byref(shared)))
    touch = _library.load().tessera_touch
    touch.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int]
    _api.check(touch(shared, tensor.address, None, 2))


class Recomputing(DeviceTest):
    def remakable(self, byte, **options):
        """A block with this byte everywhere, which may leave without a copy; and the calls of its function."""
        tensor, calls = self.tensor(**options), []

        def work(address, size, stream):
            calls.append((address, size, stream))
            fill(address, size, byte)

        tessera.pin(tensor)
        write(tensor)
        fill(tensor.address, tensor.size, byte)
        tessera.unpin(tensor)
        tessera.recompute(tensor, work, cost_ns=1)
        return tensor, calls

    def bytes_of(self, tensor):
        tessera.pin(tensor)
        try:
            return set(ctypes.string_at(tensor.address, tensor.size))
        finally:
            tessera.unpin(tensor)

    def evict(self, tensor):
        """Out without a copy: what copies take is known by then."""
        tessera.evict(tensor)
        self.assertEqual(sum(tessera.query(tensor)[2:5]), 0)

    def setUp(self):
        _api.call("tessera_set_automatic", 1)  # as under `tessera run`: what nobody announces is not done
        self.addCleanup(_api.call, "tessera_set_automatic", 0)
        tensor = self.tensor()
        for _ in range(4):  # until rates of both links are known, all is copied
            write(tensor)
            tessera.evict(tensor)
            tessera.pin(tensor)
            tessera.unpin(tensor)

    def test_an_evicted_tensor_is_dropped_and_recomputed(self):
        tensor, calls = self.remakable(7)
        self.evict(tensor)
        self.assertEqual(self.bytes_of(tensor), {7})
        self.assertEqual([call[:2] for call in calls], [(tensor.address, SIZE)])
        self.assertIsInstance(calls[0][2], int)

    def evicted_whose_work_fails_once(self, value):
        tensor, _ = self.remakable(value)
        problems = [KeyError("no such weight")]

        def work(address, size, _stream):
            if problems:
                raise problems.pop()
            fill(address, size, value)

        tessera.recompute(tensor, work, cost_ns=1)
        self.evict(tensor)
        return tensor

    def test_an_exception_is_the_cause_of_the_error_and_the_next_call_retries(self):
        tensor = self.evicted_whose_work_fails_once(8)
        with self.assertRaises(tessera.TesseraError) as raised:
            tessera.pin(tensor)
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        self.assertEqual(self.bytes_of(tensor), {8})

    def test_an_exception_in_other_work_is_logged(self):
        tensor = self.evicted_whose_work_fails_once(8)
        shared = ctypes.c_void_p()
        _api.check(_api._function("tessera_shared")(ctypes.byref(shared)))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertNotEqual(_api._function("tessera_pin")(shared, tensor.address), 0)
        self.assertIn("no such weight", said.getvalue())
        self.assertEqual(self.bytes_of(tensor), {8})

    def test_its_inputs_are_fetched_and_may_be_recomputed(self):
        source, made = self.remakable(3)
        tensor, _ = self.remakable(0)
        tessera.recompute(tensor, lambda address, size, _: ctypes.memmove(address, source.address, size), cost_ns=1,
                           reads=[source])
        self.evict(tensor)
        self.evict(source)
        self.assertEqual(self.bytes_of(tensor), {3})
        self.assertEqual(len(made), 1)
        self.assertEqual(tessera.query(source).device_bytes, SIZE)

    def test_without_its_function_a_tensor_is_copied(self):
        tensor, calls = self.remakable(9)
        self.evict(tensor)
        with self.assertRaises(tessera.Busy):
            tessera.recompute(tensor, None)
        self.assertEqual(self.bytes_of(tensor), {9})
        tessera.recompute(tensor, None)
        self.assertNotIn(tensor.address, _recomputing._works)
        tessera.evict(tensor)
        self.assertEqual(tessera.query(tensor).host_bytes, SIZE)
        self.assertEqual(self.bytes_of(tensor), {9})
        self.assertEqual(len(calls), 1)

    def test_foreign_memory_is_not_found_and_nothing_is_kept(self):
        kept = len(_recomputing._works)
        with self.assertRaises(tessera.NotFound):
            tessera.recompute(4096, fill)
        self.assertEqual(len(_recomputing._works), kept)

    def test_functions_of_freed_blocks_do_not_accumulate(self):
        gone = [tessera.malloc(2 * MIB) for _ in range(8)]
        for address in gone:
            tessera.recompute(address, fill, cost_ns=1)
        kept = dict(_recomputing._works)
        for address in gone:
            _api.call("tessera_free", address, 0)  # as another library does
        with mock.patch.object(_recomputing, "_many", len(kept)):
            tensor, _ = self.remakable(1)
        left = set(_recomputing._works)
        self.assertTrue(left.isdisjoint(set(gone) - {tensor.address}))
        self.assertIn(tensor.address, left)
        address = tessera.malloc(2 * MIB)
        tessera.recompute(address, fill, cost_ns=1)
        tessera.free(address)
        self.assertNotIn(address, _recomputing._works)

    def test_threads_needing_the_interpreter_do_not_deadlock(self):
        over, wrong = threading.Event(), []

        def recompute(byte):
            tensor, calls = self.remakable(byte)
            while not over.is_set() and len(calls) < 20:
                try:
                    tessera.evict(tensor)
                except tessera.Busy:
                    continue
                if self.bytes_of(tensor) != {byte}:
                    wrong.append(byte)

        def compute():
            while not over.is_set():
                sum(range(1000))

        threads = [threading.Thread(target=recompute, args=(byte,), daemon=True) for byte in (1, 2, 3)]
        other = threading.Thread(target=compute, daemon=True)
        for thread in (*threads, other):
            thread.start()
        late = time.monotonic() + LIMIT_S
        for thread in threads:
            thread.join(max(0.0, late - time.monotonic()))
        alive = [thread.name for thread in threads if thread.is_alive()]
        over.set()
        self.assertEqual((alive, wrong), ([], []))
        other.join()


class UnderThePreloadLibrary(unittest.TestCase):
    def test_a_function_queues_work_that_uses_another_block(self):
        script = pathlib.Path(__file__).with_name("preloaded_recomputing.py")
        outcome = subprocess.run([sys.executable, "-m", "tessera", "run", "--software", "--device-memory", "16MiB",
                                  str(script)], capture_output=True, text=True, timeout=120, env=dict(os.environ))
        self.assertEqual(outcome.stdout, "recomputed\n", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
