"""Hints, tags, sleep and figures on the software device, without a framework."""

import subprocess
import sys
import textwrap
import unittest

import tessera
from support import MIB, DeviceTest


class Hints(DeviceTest):
    def test_an_evicted_tensor_is_in_host_memory_and_a_pin_fetches_it(self):
        tensor = self.tensor()
        tessera.evict(tensor)
        self.assertEqual(tessera.query(tensor).host_bytes, 4 * MIB)
        tessera.pin(tensor)
        self.assertEqual(tessera.query(tensor).device_bytes, 4 * MIB)
        with self.assertRaises(tessera.Busy):
            tessera.evict(tensor)
        tessera.unpin(tensor)
        with self.assertRaises(tessera.TesseraError):
            tessera.unpin(tensor)

    def test_a_prefetched_tensor_arrives(self):
        tensor = self.tensor()
        tessera.evict(tensor)
        tessera.prefetch(tensor, tensor)
        tessera.pin(tensor)
        tessera.unpin(tensor)
        self.assertEqual(tessera.query(tensor).host_bytes, 0)

    def test_pinning_is_all_or_nothing(self):
        tensor = self.tensor()
        with self.assertRaises(tessera.NotFound):
            tessera.pin(tensor, 4096)
        self.assertEqual(tessera.query(tensor).pins, 0)

    def test_policies_can_be_switched_and_an_unknown_name_changes_nothing(self):
        before = tessera.stats()["tessera"]["policy"]
        self.addCleanup(tessera.set_policy, before)
        tessera.set_policy("capuchin:1.5")
        self.assertEqual(tessera.stats()["tessera"]["policy"], "capuchin:1.5")
        with self.assertRaisesRegex(tessera.TesseraError, "available: auto"):
            tessera.set_policy("wishful")
        self.assertEqual(tessera.stats()["tessera"]["policy"], "capuchin:1.5")

    def test_foreign_memory_is_not_found_with_a_message(self):
        with self.assertRaisesRegex(tessera.NotFound, "not inside a live block"):
            tessera.evict(4096)

    def test_extents_are_set_replaced_and_ended(self):
        tensor = self.tensor()
        tessera.set_extents(tensor, [(0, MIB), (MIB, 3 * MIB)])
        with self.assertRaisesRegex(tessera.TesseraError, "overlaps"):
            tessera.set_extents(tensor, [(0, 2), (1, 2)])
        with self.assertRaisesRegex(tessera.TesseraError, "not inside the block"):
            tessera.set_extents(tensor, [(4 * MIB, 1)])
        with self.assertRaises(tessera.NotFound):
            tessera.set_extents(4096, [(0, 1)])
        tessera.set_extents(tensor, [])

    def test_an_empty_tensor_needs_no_action(self):
        tessera.evict(0)
        tessera.prefetch()


class HostMemory(unittest.TestCase):
    """Each in a process of its own: pages of other tests may hold the whole budget."""

    def expect(self, output, script):
        lines = ["import tessera", "def blocks():", "    return tessera.stats()['host_blocks']['host_blocks']"]
        done = subprocess.run([sys.executable, "-c", "\n".join([*lines, textwrap.dedent(script)])],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), (output, ""))

    def test_a_block_is_counted_until_it_is_freed(self):
        self.expect("0 1 0\ngone\n", """
            address = tessera.host_malloc(4 << 20)
            held = blocks()
            tessera.host_free(address)
            print(address % 4096, held, blocks())
            try:
                tessera.host_free(address)
            except tessera.NotFound:
                print("gone")
            """)

    def test_its_bytes_are_written_and_read_at_its_address(self):
        self.expect("7\n", """
            import ctypes
            address = tessera.host_malloc(1000)
            ctypes.memset(address, 7, 1000)
            print(ctypes.string_at(address + 999, 1)[0])
            tessera.host_free(address)
            """)

    def test_more_than_the_budget_is_out_of_memory(self):
        self.expect("refused\n", """
            try:
                tessera.host_malloc(1 << 50)
            except tessera.OutOfMemory:
                print("refused")
            """)


class Tags(DeviceTest):
    def test_a_tag_sleeps_and_wakes(self):
        with tessera.tag("weights"):
            tensor = self.tensor()
        other = self.tensor()
        self.assertEqual(tessera.query(tensor).tag, "weights")
        self.assertEqual(tessera.query(other).tag, "")
        self.assertEqual(tessera.sleep("weights"), tessera.Moved(4 * MIB, 0))
        self.assertEqual(tessera.query(tensor).device_bytes, 0)
        self.assertEqual(tessera.query(other).device_bytes, 4 * MIB)
        self.assertEqual(tessera.wake("weights"), tessera.Moved(4 * MIB, 0))
        self.assertEqual(tessera.query(tensor).device_bytes, 4 * MIB)

    def test_without_a_tag_all_blocks_move(self):
        with tessera.tag("weights"):
            tensor = self.tensor()
        other = self.tensor()
        self.assertEqual(tessera.sleep().stayed_bytes, 0)
        for each in (tensor, other):
            self.assertEqual(tessera.query(each).device_bytes, 0)
        self.assertGreaterEqual(tessera.wake().moved_bytes, 8 * MIB)

    def test_a_misspelled_tag_is_an_error(self):
        with self.assertRaises(tessera.NotFound):
            tessera.sleep("wieghts")

    def test_a_tag_ends_with_an_exception(self):
        with self.assertRaises(KeyError), tessera.tag("lost"):
            raise KeyError
        self.assertEqual(tessera.query(self.tensor()).tag, "")


class Figures(DeviceTest):
    def test_statistics_are_grouped_numbers(self):
        before = tessera.stats()["blocks"]["live_blocks"]
        self.tensor()
        self.assertEqual(tessera.stats()["blocks"]["live_blocks"], before + 1)

    def test_the_report_is_readable(self):
        with tessera.tag("shown"):
            self.tensor()
        self.assertRegex(tessera.report(), r"(?s)device\n +device_capacity +32\.0 MiB.*shown +4\.0 MiB")

    def test_marks_are_taken(self):
        tessera.mark("iteration", 1)


if __name__ == "__main__":
    unittest.main()
