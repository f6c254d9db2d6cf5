"""The PyTorch face with a stand-in for PyTorch: what it is asked, and what follows on the device."""

import ctypes
import os
import pathlib
import threading
import types
import unittest
from unittest import mock

import tessera
import tessera.torch
from support import MIB, DeviceTest, modules
from tessera import _offload, _tensors, _torch_listener


class FakeHooks:
    def __init__(self):
        self.addresses = {}

    def set_reset_fn(self, address):
        self.addresses["reset"] = address

    def set_record_stream_fn(self, address):
        self.addresses["record_stream"] = address

    def set_begin_allocate_to_pool(self, address):
        self.addresses["begin_pool"] = address

    def set_end_allocate_to_pool_fn(self, address):
        self.addresses["end_pool"] = address

    def set_release_pool(self, address):
        self.addresses["release_pool"] = address


class FakeAllocator:
    def __init__(self, path, malloc, free):
        self.path, self.names, self._allocator = path, (malloc, free), FakeHooks()


def fake_torch():
    """A module `torch` with the calls that enable() makes."""
    torch = types.ModuleType("torch")
    memory = types.SimpleNamespace(CUDAPluggableAllocator=FakeAllocator, chosen=None)
    memory.change_current_allocator = lambda allocator: setattr(memory, "chosen", allocator)
    torch.cuda = types.SimpleNamespace(memory=memory, is_initialized=lambda: False)
    return torch


class Enable(unittest.TestCase):
    def test_pytorch_gets_the_functions_of_the_library(self):
        torch = fake_torch()
        with modules(torch=torch), mock.patch.dict("os.environ"):
            tessera.torch.enable()
        chosen = torch.cuda.memory.chosen
        library = ctypes.CDLL(chosen.path)
        for name in chosen.names:
            self.assertTrue(hasattr(library, name))
        self.assertEqual(sorted(chosen._allocator.addresses), ["begin_pool", "end_pool", "record_stream", "release_pool", "reset"])
        self.assertTrue(all(chosen._allocator.addresses.values()))

    def test_a_listener_is_built_for_the_pytorch_that_is_here(self):
        with mock.patch.object(_torch_listener, "build", return_value=pathlib.Path("/cache/listener.so")):
            self.assertEqual(tessera.torch.build_listener(), "/cache/listener.so")
        with mock.patch.object(_torch_listener.importlib.util, "find_spec", return_value=None):
            self.assertRaisesRegex(RuntimeError, "no PyTorch", tessera.torch.build_listener)

    @mock.patch("tessera._api.has_started", lambda: False)
    def test_options_are_passed_through_the_environment(self):
        with modules(torch=fake_torch()), mock.patch.dict("os.environ"):
            tessera.torch.enable(device_memory="1GiB", log_level="quiet", explain=True)
            self.assertEqual(os.environ["TESSERA_DEVICE_MEMORY"], "1GiB")
            self.assertEqual(os.environ["TESSERA_LOG_LEVEL"], "quiet")
            self.assertEqual(os.environ["TESSERA_EXPLAIN"], "true")

    @mock.patch("tessera._api.has_started", lambda: False)
    def test_invalid_options_are_named_and_change_nothing(self):
        for options, name in (({"device_memry": "1GiB"}, "device-memry"), ({"device_memory": "lots"}, "'lots'"),
                              ({"policy": "lru", "low_watermark": 40}, "low-watermark")):
            with modules(torch=fake_torch()), mock.patch.dict("os.environ"):
                before = dict(os.environ)
                with self.assertRaisesRegex(ValueError, name):
                    tessera.torch.enable(**options)
                self.assertEqual(dict(os.environ), before)

    def test_under_the_preload_library_options_are_refused(self):
        with modules(torch=fake_torch()), mock.patch("tessera._library.preloaded", lambda: True):
            with self.assertRaisesRegex(ValueError, "tessera run"):
                tessera.torch.enable(device_memory="1GiB")


class EnableTooLate(DeviceTest):
    def test_options_after_the_first_allocation_are_refused(self):
        self.tensor()
        with modules(torch=fake_torch()), mock.patch.dict("os.environ"):
            tessera.torch.enable()
            with self.assertRaisesRegex(RuntimeError, "too late"):
                tessera.torch.enable(device_memory="1GiB")


class Operator:
    """With a schema, as PyTorch's operators have: add_(self, other)."""

    def __init__(self, *written):
        self._schema = types.SimpleNamespace(arguments=[
            types.SimpleNamespace(name=f"a{i}", alias_info=types.SimpleNamespace(is_write=write))
            for i, write in enumerate(written)])


class Operands(DeviceTest):
    def test_written_operands_come_first_and_each_once(self):
        a, b = self.tensor(), self.tensor()
        self.assertEqual(_tensors.operands(Operator(False, True), (a, b), {}),
                         ([b.address, a.address], 1))
        self.assertEqual(_tensors.operands(Operator(True, False), (a, a), {}), ([a.address], 1))

    def test_lists_and_keywords_are_searched(self):
        a, b = self.tensor(), self.tensor()
        self.assertEqual(_tensors.operands(Operator(False, True), ([a, (3, b)],), {"a1": None})[0],
                         [a.address, b.address])
        self.assertEqual(_tensors.operands(Operator(False, True), (a,), {"a1": b})[1], 1)

    def test_without_a_schema_all_count_as_written(self):
        a = self.tensor()
        self.assertEqual(_tensors.operands(len, (a, 3), {"k": [a]}), ([a.address], 1))

    def test_host_tensors_are_not_ours(self):
        a = self.tensor()
        a.is_cuda = False
        self.assertEqual(_tensors.operands(len, (a,), {}), ([], 0))

    def test_an_operator_fetches_and_releases_its_tensors(self):
        a, b = self.tensor(), self.tensor()
        tessera.evict(a)
        tessera.torch._begin(Operator(True, False), (a, b), {})
        self.assertEqual(tessera.query(a).device_bytes, 4 * MIB)
        self.assertEqual(tessera.query(a).pins, 1)
        tessera.torch._end(0)
        self.assertEqual(tessera.query(a).pins, 0)


class Track(unittest.TestCase):
    def test_a_failed_start_is_not_tracked(self):
        refused = mock.Mock(side_effect=tessera.TesseraError("no device"))
        with mock.patch("tessera.torch._api.call", refused), self.assertRaises(tessera.TesseraError):
            with tessera.torch.track():
                self.fail("it began")
        refused.assert_called_once()
        self.assertFalse(tessera.torch.watched())


class Recorder:
    """Evict or prefetch, as the offload calls them; wait() gives what came in."""

    def __init__(self, failure=None):
        self.calls, self.failure, self.arrived = [], failure, threading.Condition()

    def __call__(self, addresses):
        with self.arrived:
            self.calls += addresses
            self.arrived.notify_all()
        if self.failure is not None:
            raise self.failure

    def wait(self, count):
        with self.arrived:
            self.arrived.wait_for(lambda: len(self.calls) >= count, timeout=30)
            return list(self.calls)


class OffloadActivations(DeviceTest):
    def offload(self, **options):
        self.evict, self.prefetch = Recorder(options.pop("failure", None)), Recorder()
        return _offload.ActivationOffload(self.evict, self.prefetch,
                                          **{"least_bytes": MIB, "lag": 1, "ahead": 1, **options})

    def test_the_tensor_itself_is_saved_and_evicted_after_newer_ones(self):
        offload = self.offload()
        saved = [self.tensor(MIB) for _ in range(3)]
        for tensor in saved:
            self.assertIs(offload.pack(tensor), tensor)
        self.assertEqual(self.evict.wait(2), [saved[0].address, saved[1].address])
        self.assertIsNone(offload.close())

    def test_backward_prefetches_the_next_one(self):
        offload = self.offload(lag=8)
        saved = [self.tensor(MIB) for _ in range(3)]
        for tensor in saved:
            offload.pack(tensor)
        self.assertIs(offload.unpack(saved[2]), saved[2])
        self.assertEqual(self.prefetch.calls, [saved[2].address, saved[1].address])
        offload.close()
        self.assertEqual(self.evict.calls, [])

    def test_parameters_and_small_tensors_are_not_offloaded(self):
        offload = self.offload(lag=0)
        parameter, small = self.tensor(MIB), self.tensor(4096)
        parameter.is_leaf = parameter.requires_grad = True
        for tensor in (parameter, small):
            offload.pack(tensor)
        offload.close()
        self.assertEqual(self.evict.calls, [])

    def test_a_freed_tensor_is_no_failure_but_a_full_tier_is(self):
        for failure, kept in ((tessera.NotFound("gone"), None), (tessera.OutOfMemory("full"), "full")):
            offload = self.offload(lag=0, failure=failure)
            offload.pack(self.tensor(MIB))
            self.evict.wait(1)
            ended = offload.close()
            self.assertEqual(kept, ended if ended is None else str(ended))

    def test_it_needs_a_tracker(self):
        with modules(torch=fake_torch()):
            with self.assertRaisesRegex(RuntimeError, "track"):
                with tessera.torch.offload_activations():
                    pass


if __name__ == "__main__":
    unittest.main()
