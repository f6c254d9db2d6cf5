"""Blocks and operations as lines, with anything that has a size for a storage; and the times of a GPU."""

import json
import unittest

from tessera import roofline
from tessera._recording import Recording

GPU = roofline.GPUS["A100-80G"]


class Storage:
    def __init__(self, size):
        self.size = size

    def nbytes(self):
        return self.size


class Lines(unittest.TestCase):
    def setUp(self):
        self.recording = Recording("model", "hand", GPU)

    def lines(self):
        return [json.loads(line) for line in self.recording.close().splitlines()]

    def test_a_block_ends_with_its_last_reference(self):
        kept, gone = Storage(8), Storage(4)
        for storage in (kept, gone):
            self.recording.allocate(storage, "activation")
        self.recording.op("add", 5, [kept], [gone])
        del storage, gone
        self.recording.mark("iteration", 1)
        self.assertEqual(self.lines(), [
            {"t": "header", "version": 1, "name": "model", "source": "hand", "device_memory": 80 << 30},
            {"t": "alloc", "id": 1, "bytes": 8, "stream": 0, "tag": "activation"},
            {"t": "alloc", "id": 2, "bytes": 4, "stream": 0, "tag": "activation"},
            {"t": "op", "name": "add", "ns": 5, "stream": 0, "r": [1], "w": [2]},
            {"t": "free", "id": 2},
            {"t": "mark", "kind": "iteration", "n": 1}])

    def test_frees_after_the_recording_are_not_in_it(self):
        storage = Storage(4)
        self.recording.allocate(storage, None)
        before = self.recording.close()
        del storage
        self.assertEqual(self.recording.close(), before)

    def test_a_tag_may_be_set_later(self):
        storage = Storage(4)
        self.recording.allocate(storage, "input")
        self.recording.tag(storage, "weight")
        self.assertEqual(self.lines()[1]["tag"], "weight")

    def test_a_block_from_outside_is_filled_once(self):
        storage = Storage(4)
        for _ in range(2):
            self.recording.from_outside(storage, "weight")
        self.assertEqual([(line["t"], line.get("w")) for line in self.lines()[1:]], [("alloc", None), ("op", [1])])

    def test_a_block_of_another_size_is_another_block(self):
        storage = Storage(4)
        self.recording.allocate(storage, None)
        storage.size = 6
        self.assertFalse(self.recording.knows(storage))
        self.recording.allocate(storage, None)
        self.assertEqual([(line["t"], line["id"]) for line in self.lines()[1:]],
                         [("alloc", 1), ("free", 1), ("alloc", 2)])
        del storage

    def test_an_empty_tensor_is_no_block(self):
        empty, full = Storage(0), Storage(1)
        for storage in (empty, full):
            self.recording.allocate(storage, None)
        self.recording.op("nothing", 1, [empty], [empty])
        self.recording.op("something", 1, [empty, full, full], [])
        self.assertEqual([line.get("r") for line in self.lines()[1:]], [None, [1]])


class Times(unittest.TestCase):
    def test_the_slower_of_arithmetic_and_traffic_counts(self):
        start = GPU.nanoseconds(0, 0, 4)
        self.assertEqual(GPU.nanoseconds(0.6 * 312e12, 0, 2) - start, 1_000_000_000)
        self.assertEqual(GPU.nanoseconds(0.6 * 312e12, 0, 4) - start, 2_000_000_000)
        self.assertEqual(GPU.nanoseconds(0.6 * 312e12, int(0.8 * 3 * 2039e9), 2) - start, 3_000_000_000)


if __name__ == "__main__":
    unittest.main()
