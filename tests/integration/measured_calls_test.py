"""What a replay charges for calls about memory is what the committed results of GPUs have; and the policy benchmark says
what it was.

Usage: measured_calls_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench/results/gpu"
H200, H100 = RESULTS / "2026-11-26-nvidia-h200", RESULTS / "2026-11-26-nvidia-h100-80gb-hbm3"
SIZES = ("2 MiB", "4 MiB", "8 MiB", "16 MiB", "32 MiB")


def measured(path, name):
    return next(each["results"] for each in json.loads(path.read_text())["results"] if each["name"] == name)


def nanoseconds(*medians):
    return 1000 * sum(each["median"] for each in medians)


class MeasuredCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.trace = pathlib.Path(folder.name) / "one.jsonl"
        cls.trace.write_text('{"t":"alloc","id":1,"bytes":2097152}\n{"t":"op","name":"a","ns":1000,"w":[1]}\n')

    def told(self, *options):
        done = subprocess.run([TESSERA, "replay", self.trace, "--json", *options], capture_output=True, text=True,
                              timeout=100, check=True)
        return json.loads(done.stdout)

    def assert_within(self, value, measurements, beside=0.0):
        self.assertGreaterEqual(value, min(measurements) * (1 - beside))
        self.assertLessEqual(value, max(measurements) * (1 + beside))

    def test_a_mapping(self):
        alone = measured(H200 / "earlier/first_light_1.json", "remap_beside_copies")["beside nothing"]
        self.assert_within(self.told()["mapping_time"],
                           [nanoseconds(alone[size]["set_access_us"], alone[size]["unmap_us"]) for size in SIZES])

    def test_a_frame(self):
        frames = measured(H100 / "first_light.json", "cost_of_device_frames")
        self.assert_within(self.told()["frame_time"],
                           [nanoseconds(frames[size]["create"], frames[size]["release"]) for size in ("2 MiB", "32 MiB")])

    def test_the_turn_of_copies(self):
        beside = measured(H200 / "first_light.json", "remap_beside_copies_out")["two of 2 MiB"]
        alone = measured(H200 / "earlier/first_light_1.json", "remap_beside_copies")["beside nothing"]
        turns = [nanoseconds(beside[size]["set_access_us"]) - nanoseconds(alone[size]["set_access_us"])
                 for size in ("2 MiB", "32 MiB")]
        self.assert_within(self.told()["copy_turn"], turns, beside=0.02)

    def test_none_of_them_where_that_is_asked_for(self):
        self.assertGreater(self.told()["makespan_ns"], 1000)
        self.assertEqual(self.told("--mapping-time", "0", "--copy-turn", "0", "--frame-time", "0")["makespan_ns"], 1000)

    def test_the_policy_benchmark_says_what_it_charged(self):
        out = self.trace.parent / "out"
        done = subprocess.run([TESSERA, "policy-bench", self.trace, "--budgets", "100", "--policies", "lru", "--copy-turn", "7",
                               "--out", out], capture_output=True, text=True, timeout=100, check=True)
        settings = json.loads((out / "policy_bench.json").read_text())["settings"]
        told = self.told()
        self.assertEqual(settings["copy-turn"], "7")
        self.assertEqual(settings["mapping-time"], str(told["mapping_time"]))
        self.assertEqual(settings["frame-time"], str(told["frame_time"]))
        self.assertIn(f"mapping-time {told['mapping_time']}", done.stdout)


if __name__ == "__main__":
    unittest.main()
