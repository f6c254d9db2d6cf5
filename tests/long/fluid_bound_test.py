"""The linear-program bound is correct where the answer is known, and no policy is faster.

Usage: fluid_bound_test.py BUILD_FOLDER     Exits with 77 if the solver is unavailable, for instance without network.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/integration"))

from virtual_environment import python_with  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
RATE = 25_000_000_000


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bound(trace, budget):
    """The bound in seconds."""
    script = SOURCE / "bench/bounds/fluid_bound.py"
    answer = json.loads(run(PYTHON, script, trace, "--budgets", budget, "--rate", RATE))
    nanoseconds = answer["bounds"][0]["bound_ns"]
    return None if nanoseconds is None else nanoseconds / 1e9


def stack(folder, milliseconds):
    """Two blocks that take a second each on the link, written one after the other and read in reverse order."""
    def operation(reads, writes):
        return {"t": "op", "ns": milliseconds * 1_000_000, "r": reads, "w": writes}
    events = [{"t": "header", "version": 1}, {"t": "mark", "kind": "iteration", "n": 1},
              {"t": "alloc", "id": 1, "bytes": RATE}, operation([], [1]),
              {"t": "alloc", "id": 2, "bytes": RATE}, operation([], [2]),
              operation([2], []), {"t": "free", "id": 2}, operation([1], []), {"t": "free", "id": 1}]
    path = folder / f"stack{milliseconds}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def held(folder, milliseconds, freed_early):
    """Two such blocks, of which the first is never read."""
    def operation(reads, writes):
        return {"t": "op", "ns": milliseconds * 1_000_000, "r": reads, "w": writes}
    free = [{"t": "free", "id": 1}]
    events = [{"t": "header", "version": 1}, {"t": "mark", "kind": "iteration", "n": 1},
              {"t": "alloc", "id": 1, "bytes": RATE}, operation([], [1]), *(free if freed_early else []),
              {"t": "alloc", "id": 2, "bytes": RATE}, operation([], [2]), operation([2], []),
              *([] if freed_early else free), {"t": "free", "id": 2}]
    path = folder / f"held{freed_early}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def weights(folder, freed):
    """Two blocks from before the iteration, read in turn; the program frees them at its end, or not at all."""
    frees = [{"t": "free", "id": block} for block in (1, 2)]
    events = [{"t": "header", "version": 1}, *({"t": "alloc", "id": block, "bytes": RATE} for block in (1, 2)),
              {"t": "mark", "kind": "iteration", "n": 1},
              *({"t": "op", "ns": 100_000_000, "r": [block], "w": []} for block in (1, 2)), *(frees if freed else [])]
    path = folder / f"weights{freed}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


class FluidBound(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_all_that_fits_takes_its_operations_time(self):
        self.assertAlmostEqual(bound(stack(self.folder, 250), 100), 1.0, places=5)

    def test_a_block_is_copied_out_during_one_step_and_in_during_another(self):
        for milliseconds in (100, 1000, 1500):
            step = milliseconds / 1000
            with self.subTest(milliseconds):
                self.assertAlmostEqual(bound(stack(self.folder, milliseconds), 50), 2 * step + 2 * max(1, step), places=5)

    def test_only_the_excess_part_is_moved(self):
        self.assertAlmostEqual(bound(stack(self.folder, 100), 75), 2 * 0.1 + 2 * 0.5, places=5)

    def test_a_block_that_is_held_unread_is_copied_out_and_stays_there(self):
        self.assertAlmostEqual(bound(held(self.folder, 100, False), 50), 1.0 + 2 * 0.1, places=5)
        self.assertAlmostEqual(bound(held(self.folder, 100, True), 100), 3 * 0.1, places=5)

    def test_weights_that_are_freed_at_the_end_of_the_program_are_fetched_in_each_iteration(self):
        for freed in (False, True):
            with self.subTest(freed=freed):
                self.assertAlmostEqual(bound(weights(self.folder, freed), 50), 2 * 1.0, places=5)

    def test_an_impossible_trace_has_no_bound(self):
        self.assertIsNone(bound(stack(self.folder, 100), 40))

    def test_no_policy_is_faster(self):
        trace = self.folder / "gpt2.jsonl"
        run(sys.executable, SOURCE / "bench/traces/generate.py", "gpt2-small", "--batch", 8, "--iterations", 1, "-o", trace)
        peak = json.loads(run(BUILD / "bin/tessera", "replay", trace, "--json"))["liveness_peak_bytes"]
        least = bound(trace, 50)
        for policy in ("auto", "belady", "capuchin"):
            with self.subTest(policy):
                played = json.loads(run(BUILD / "bin/tessera", "replay", trace, "--json", "--policy", policy,
                                        "--iterations", 6, "--device-memory", peak // 2))
                self.assertGreater(played["last_pass"]["ns"] / 1e9, least)
        self.assertGreater(least, played["last_pass"]["lower_bound_ns"] / 1e9 * 0.999)


if __name__ == "__main__":
    PYTHON = python_with(BUILD, "highspy", "1.16.0")
    unittest.main(argv=sys.argv[:1])
