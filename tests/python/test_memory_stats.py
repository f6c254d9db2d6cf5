"""The figures by PyTorch's names."""

import tessera
from support import MIB, DeviceTest


class MemoryStats(DeviceTest):
    def test_blocks_are_counted_as_pytorch_counts_them(self):
        before = tessera.memory_stats()
        tensor = self.tensor(3 * MIB)
        there = tessera.memory_stats()
        self.assertEqual(there["requested_bytes.all.current"] - before["requested_bytes.all.current"], 3 * MIB)
        self.assertEqual(there["allocation.all.current"] - before["allocation.all.current"], 1)
        self.assertGreaterEqual(there["requested_bytes.all.peak"], there["requested_bytes.all.current"])
        self.assertGreaterEqual(there["reserved_bytes.all.current"], 3 * MIB)
        tessera.evict(tensor)
        self.assertEqual(tessera.memory_stats()["requested_bytes.all.current"], there["requested_bytes.all.current"])

    def test_counters_add_up(self):
        self.tensor(MIB)
        counts = tessera.memory_stats()
        self.assertEqual(counts["allocation.all.allocated"] - counts["allocation.all.freed"], counts["allocation.all.current"])
