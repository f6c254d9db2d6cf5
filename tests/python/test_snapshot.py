"""PyTorch's memory snapshots as traces; the snapshots are made by hand, as PyTorch needs a GPU for them."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import pickle
import tempfile
import unittest

from tessera import snapshot


def entry(action, addr, size, time_us=0, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": [], **more}


def lines_of(*device_traces, segments=()):
    return list(snapshot.trace_lines({"device_traces": list(device_traces), "segments": list(segments)}))[1:]


class Snapshot(unittest.TestCase):
    def test_an_allocation_writes_its_block_and_a_free_reads_it(self):
        lines = lines_of([entry("alloc", 4096, 512, 10), entry("segment_alloc", 4096, 1 << 21, 11),
                          entry("free_requested", 4096, 512, 14), entry("free_completed", 4096, 512, 15)])
        self.assertEqual(lines, [
            {"t": "alloc", "id": 1, "bytes": 512, "stream": 0, "device": 0},
            {"t": "op", "name": "alloc", "ns": 0, "stream": 0, "device": 0, "w": [1]},
            {"t": "op", "name": "free_requested", "ns": 4000, "stream": 0, "device": 0, "r": [1]},
            {"t": "free", "id": 1}])

    def test_an_address_may_serve_many_blocks(self):
        lines = lines_of([entry("alloc", 4096, 512), entry("free_requested", 4096, 512), entry("alloc", 4096, 256)])
        self.assertEqual([line["id"] for line in lines if line["t"] == "alloc"], [1, 2])

    def test_earlier_blocks_come_first(self):
        segment = {"device": 0, "address": 8192, "blocks": [{"state": "inactive", "size": 512},
                                                            {"state": "active_allocated", "size": 1024}]}
        lines = lines_of([entry("alloc", 100, 1), entry("free_requested", 4096, 512)], segments=[segment])
        before = [(line["bytes"], line.get("tag")) for line in lines if line["t"] == "alloc"][:2]
        self.assertEqual(before, [(512, "before"), (1024, "before")])
        self.assertEqual(lines[-1], {"t": "free", "id": 1})

    def test_devices_are_merged_by_time(self):
        lines = lines_of([entry("alloc", 4096, 1, 20)], [entry("alloc", 4096, 2, 10)])
        self.assertEqual([line["device"] for line in lines if line["t"] == "alloc"], [1, 0])

    def write(self, content):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        given, made = pathlib.Path(folder.name, "s.pickle"), pathlib.Path(folder.name, "t.jsonl")
        given.write_bytes(pickle.dumps(content))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = snapshot.main([str(given), str(made)])
        return code, said.getvalue(), made

    def test_the_command_writes_a_line_of_json_each(self):
        code, _, made = self.write({"device_traces": [[entry("alloc", 1, 2)]], "segments": []})
        self.assertEqual(code, 0)
        self.assertEqual([json.loads(line)["t"] for line in made.read_text().splitlines()], ["header", "alloc", "op"])

    def test_a_pickle_with_code_is_refused(self):
        class Evil:
            def __reduce__(self):
                return os.mkdir, ("made by a pickle",)
        code, said, _ = self.write({"device_traces": [Evil()]})
        self.assertEqual(code, 1)
        self.assertRegex(said, r"^tessera: [^\n]*it refers to [^\n]*mkdir\n$")
        self.assertFalse(pathlib.Path("made by a pickle").exists())

    def test_other_pickles_are_refused(self):
        self.assertEqual(self.write([1, 2])[0], 1)
        self.assertEqual(self.write({"device_traces": [[{"action": "alloc"}]]})[0], 1)

    def told_of(self, data):
        """(exit code, lines on standard error) of the command for a file with these bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "snapshot.pickle"
            path.write_bytes(data)
            with contextlib.redirect_stderr(io.StringIO()) as told:
                code = snapshot.main([str(path), str(path.with_suffix(".jsonl"))])
        return code, told.getvalue().splitlines()

    def test_a_snapshot_without_history_explains_how_to_record_one(self):
        for empty in ({"segments": []}, {"segments": [], "device_traces": [[], []]}):
            code, lines = self.told_of(pickle.dumps(empty))
            self.assertEqual(code, 1)
            self.assertEqual(len(lines), 1)
            self.assertIn("_record_memory_history", lines[0])

    def test_a_snapshot_without_times_is_reported(self):
        timeless = {"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "size": 512}]]}
        code, lines = self.told_of(pickle.dumps(timeless))
        self.assertEqual(code, 0)
        self.assertEqual(len(lines), 1)
        self.assertIn("no times", lines[0])

    def test_compressed_snapshots_are_read(self):
        good = pickle.dumps({"segments": [], "device_traces": [[entry("alloc", 4096, 512, 10)]]})
        self.assertEqual(self.told_of(gzip.compress(good)), (0, []))
        code, lines = self.told_of(gzip.compress(good)[:-5])
        self.assertEqual((code, len(lines)), (1, 1))

    def test_any_truncated_snapshot_is_one_line(self):
        good = pickle.dumps({"segments": [], "device_traces": [[entry("alloc", 4096, 512, 10)]]})
        for size in range(len(good)):
            code, lines = self.told_of(good[:size])
            self.assertEqual((code, len(lines)), (1, 1), good[:size])


if __name__ == "__main__":
    unittest.main()
