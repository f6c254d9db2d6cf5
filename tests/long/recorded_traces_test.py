"""The recorded traces of real models replay deterministically, with results near the generated trace of the same
model.

Usage: recorded_traces_test.py BUILD_FOLDER
"""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDED = SOURCE / "bench/traces/recorded"

# Trace -> operations of the trace and of an iteration, largest live bytes, largest step, ns of an iteration.
EXPECTED = {
    "bert-base-b16": (3628, 1308, 4_648_587_196, 375_054_340, 43_548_806),
    "gpt2-small-b8": (2618, 926, 15_348_874_840, 4_940_464_128, 130_669_856),
    "resnet50-b32": (2585, 732, 3_089_838_516, 308_288_512, 21_793_952),
    "unet2d-b16": (5908, 2090, 4_986_699_236, 301_998_592, 53_665_090),
}


# So that the times are those of the operations and of the bytes.
FREE_CALLS = ("--mapping-time", "0", "--copy-turn", "0", "--frame-time", "0")


def replay(trace, *options):
    command = [pathlib.Path(sys.argv[1]) / "bin/tessera", "replay", trace, "--json", *FREE_CALLS, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


@functools.lru_cache(maxsize=None)
def with_room(trace):
    """The replay's result with 80 GB."""
    return json.loads(replay(trace))


class Recorded(unittest.TestCase):
    def test_every_trace_exists(self):
        self.assertEqual({path.name.split(".")[0] for path in RECORDED.glob("*.zst")}, set(EXPECTED))

    def test_operations_bytes_and_times_are_those_of_the_program(self):
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                told = with_room(RECORDED / f"{name}.jsonl.zst")
                twice = json.loads(replay(RECORDED / f"{name}.jsonl.zst", "--iterations", "2"))
                self.assertEqual((told["ops"], twice["ops"] - told["ops"], told["liveness_peak_bytes"],
                                  told["largest_step_bytes"], told["iteration_ns"][0]), expected)
                self.assertEqual(twice["iteration_ns"], 2 * told["iteration_ns"])
                self.assertEqual(told["stall_ns"], 0)

    def test_under_half_of_its_memory_each_moves_the_same_bytes_every_time(self):
        for name, (_, _, peak, _, nanoseconds) in EXPECTED.items():
            with self.subTest(name):
                options = ("--device-memory", str(peak // 2), "--iterations", "2", "--policy", "recency")
                texts = {replay(RECORDED / f"{name}.jsonl.zst", *options) for _ in range(2)}
                self.assertEqual(len(texts), 1)
                told = json.loads(texts.pop())
                self.assertGreater(told["iteration_ns"][-1], nanoseconds)
                self.assertGreater(told["bytes_h2d"], 0)
                self.assertGreaterEqual(told["makespan_ns"], told["lower_bound_ns"])

    def test_learning_is_deterministic_and_faster(self):
        name = "resnet50-b32"
        # `auto` begins as recency does, and takes another rule where that waits less, until it has learned the
        # iteration, in the middle of its second repetition: then it follows a plan, and the initial evictions and
        # fetches for it may cost more than the rest of that repetition gains.
        options = ("--device-memory", str(EXPECTED[name][2] // 2), "--iterations", "3", "--policy")
        learned = {replay(RECORDED / f"{name}.jsonl.zst", *options, "auto") for _ in range(2)}
        self.assertEqual(len(learned), 1)
        told = [json.loads(text)["iteration_ns"]
                for text in (learned.pop(), replay(RECORDED / f"{name}.jsonl.zst", *options, "recency"))]
        self.assertLessEqual(told[0][0], told[1][0])
        self.assertLess(told[0][2], told[1][2])
        self.assertLess(sum(told[0]), sum(told[1]))

    def test_the_log_of_rmm_has_the_blocks_of_its_trace(self):
        log, trace = (with_room(RECORDED / f"gpt2-small-b8.{ending}.zst") for ending in ("rmm.csv", "jsonl"))
        self.assertEqual(log["liveness_peak_bytes"], trace["liveness_peak_bytes"])
        self.assertEqual(log["ops"], trace["events"] - trace["ops"] - 1, "a row for each block and each free; one mark")
        self.assertEqual(log["makespan_ns"], log["compute_ns"])


class Generated(unittest.TestCase):
    """The generator's result for the same shape: docs/traces.md explains the remaining difference."""

    def generated(self, model, batch, precision):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "trace.jsonl"
        subprocess.run([sys.executable, "-B", SOURCE / "bench/traces/generate.py", model, "--batch", str(batch),
                        "--precision", precision, "--iterations", "1", "-o", path], check=True)
        return with_room(path)

    def assert_ratio(self, key, name, generated, least, most):
        told = with_room(RECORDED / f"{name}.jsonl.zst")
        value, other = (each[key][0] if key == "iteration_ns" else each[key] for each in (told, generated))
        self.assertGreater(value / other, least)
        self.assertLess(value / other, most)

    def test_resnet50_matches_the_generated_trace(self):
        generated = self.generated("resnet50", 32, "full")
        self.assert_ratio("liveness_peak_bytes", "resnet50-b32", generated, 1.00, 1.03)
        self.assert_ratio("iteration_ns", "resnet50-b32", generated, 0.93, 1.00)

    def test_gpt2_saves_more_for_its_activation_and_loss(self):
        generated = self.generated("gpt2-small", 8, "full")
        self.assert_ratio("liveness_peak_bytes", "gpt2-small-b8", generated, 1.55, 1.62)
        self.assert_ratio("iteration_ns", "gpt2-small-b8", generated, 1.40, 1.47)

    def test_bert_casts_its_weights_instead_of_keeping_them_twice(self):
        generated = self.generated("bert-base", 16, "mixed")
        self.assert_ratio("liveness_peak_bytes", "bert-base-b16", generated, 0.87, 0.90)
        self.assert_ratio("iteration_ns", "bert-base-b16", generated, 1.10, 1.15)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
