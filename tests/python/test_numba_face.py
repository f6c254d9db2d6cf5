"""Numba's memory manager with a stand-in for numba-cuda: what Numba asks, and what follows on the device."""

import collections
import importlib
import sys
import types
import unittest
import weakref

import tessera
from support import MIB, modules


class FakeManager:
    """As numba.cuda.HostOnlyCUDAMemoryManager is made: one for each context."""

    def __init__(self, context):
        self.context = context


class FakePointer:
    """As much of numba.cuda.MemoryPointer as decides when a block is given back."""

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.context, self.device_pointer, self.size = context, pointer, size
        weakref.finalize(self, finalizer)


def stand_ins():
    numba, cuda, bindings, driver = (types.ModuleType(name) for name in
                                     ("numba", "numba.cuda", "cuda.bindings", "cuda.bindings.driver"))
    numba.cuda = cuda
    cuda.HostOnlyCUDAMemoryManager = FakeManager
    cuda.MemoryPointer = FakePointer
    cuda.MemoryInfo = collections.namedtuple("MemoryInfo", "free,total")
    driver.CUdeviceptr = int
    return {"numba": numba, "numba.cuda": cuda, "cuda": types.ModuleType("cuda"), "cuda.bindings": bindings,
            "cuda.bindings.driver": driver}


class Manager(unittest.TestCase):
    def setUp(self):
        with modules(**stand_ins()):
            sys.modules.pop("tessera.numba", None)
            face = importlib.import_module("tessera.numba")
        self.addCleanup(sys.modules.pop, "tessera.numba")
        self.assertIs(face._numba_memory_manager, face.TesseraMemoryManager)
        device = types.SimpleNamespace(id=0)
        self.manager = face.TesseraMemoryManager(types.SimpleNamespace(device=device))
        self.manager.initialize()

    def test_an_array_is_a_block_and_its_end_frees_it(self):
        blocks = tessera.stats()["blocks"]["live_blocks"]
        memory = self.manager.memalloc(4 * MIB)
        self.assertEqual(tessera.query(memory.device_pointer).bytes, 4 * MIB)
        self.assertEqual(tessera.stats()["blocks"]["live_blocks"], blocks + 1)
        address = memory.device_pointer
        del memory
        self.assertEqual(tessera.stats()["blocks"]["live_blocks"], blocks)
        with self.assertRaises(tessera.NotFound):
            tessera.query(address)

    def test_it_is_evicted_and_fetched_at_its_address(self):
        memory = self.manager.memalloc(2 * MIB)
        tessera.evict(memory.device_pointer)
        self.assertEqual(tessera.query(memory.device_pointer).host_bytes, 2 * MIB)
        tessera.pin(memory.device_pointer)
        self.assertEqual(tessera.query(memory.device_pointer).device_bytes, 2 * MIB)
        tessera.unpin(memory.device_pointer)

    def test_memory_info_is_free_and_total(self):
        before = self.manager.get_memory_info()
        memory = self.manager.memalloc(8 * MIB)
        after = self.manager.get_memory_info()
        self.assertEqual(after.total, before.total)
        self.assertLessEqual(after.free, before.free - memory.size)

    def test_unsupported_calls_are_errors(self):
        self.assertEqual(self.manager.interface_version, 1)
        with self.assertRaisesRegex(RuntimeError, "shared"):
            self.manager.get_ipc_handle(self.manager.memalloc(1))
        with self.assertRaises(MemoryError):
            self.manager.memalloc(1 << 40)


class Blocks(unittest.TestCase):
    def test_a_block_has_an_address_until_it_is_freed(self):
        address = tessera.malloc(3 * MIB)
        self.assertEqual(tessera.query(address + MIB).bytes, 3 * MIB)
        tessera.free(address)
        with self.assertRaises(tessera.NotFound):
            tessera.free(address)

    def test_a_zero_byte_block_has_an_address(self):
        address = tessera.malloc(0)
        self.assertNotEqual(address, 0)
        tessera.free(address)


if __name__ == "__main__":
    unittest.main()
