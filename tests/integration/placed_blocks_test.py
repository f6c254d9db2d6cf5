"""Bundles save pages where they are said to, and a trace with them is one of the same program.

Usage: placed_blocks_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BOUNDS = pathlib.Path(__file__).resolve().parents[2] / "bench/bounds"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(BOUNDS))

import bundled_trace  # noqa: E402
import bundles  # noqa: E402

MIB = 1 << 20


def operation(reads, writes):
    return {"t": "op", "ns": 100_000, "r": reads, "w": writes}


def layers(iterations=1, count=16, size=9 * MIB // 4):
    """Each keeps a block for its way back, and makes another that only the next one reads."""
    events = [{"t": "header", "version": 1}, {"t": "alloc", "id": 1, "bytes": 32 * MIB, "tag": "weight"}, operation([], [1])]
    for number in range(iterations):
        first = 100 * (number + 1)
        events.append({"t": "mark", "kind": "iteration", "n": number + 1})
        for layer in range(first, first + 2 * count, 2):
            events += [{"t": "alloc", "id": layer, "bytes": size, "tag": "activation"},
                       {"t": "alloc", "id": layer + 1, "bytes": 3 * MIB, "tag": "activation"},
                       operation([1], [layer, layer + 1]), operation([layer + 1], []), {"t": "free", "id": layer + 1}]
        for layer in reversed(range(first, first + 2 * count, 2)):
            events += [operation([1, layer], []), {"t": "free", "id": layer}]
    return events


class Bundles(unittest.TestCase):
    def test_what_is_saved_for_the_way_back_shares_pages(self):
        plan = bundles.placed(layers(), 64 * MIB)
        self.assertEqual(plan.held_alone, (32 + 16 * 4 + 4) * MIB)
        self.assertLessEqual(plan.held, (32 + 16 * 2.25 + 4 + 4) * MIB)
        self.assertTrue(all(len(bundle) > 1 for bundle in plan.bundles))

    def test_none_is_larger_than_asked(self):
        for bundle in bundles.placed(layers(), 8 * MIB).bundles:
            self.assertLessEqual(bundles.size_of(bundle), 8 * MIB)

    def test_what_is_whole_pages_already_is_in_none(self):
        self.assertEqual(bundles.placed(layers(size=4 * MIB), 64 * MIB).bundles, [])

    def test_each_iteration_has_its_own(self):
        found = bundles.placed(layers(iterations=2), 64 * MIB).bundles
        self.assertEqual({block.id // 100 for bundle in found for block in bundle}, {1, 2})
        for bundle in found:
            self.assertEqual(len({block.iteration for block in bundle}), 1)

    def test_the_trace_with_them_is_legal_and_holds_what_the_plan_says(self):
        for most in (8, 64):
            with self.subTest(most):
                plain = layers(iterations=2)
                plan = bundles.placed(plain, most * MIB)
                changed = bundled_trace.bundled(plain, plan.bundles)
                self.assertEqual(list(bundled_trace.objections(changed)), [])
                self.assertEqual(list(bundled_trace.differences(plain, changed)), [])
                self.assertEqual(max(bundles.held_by(changed)), plan.held)

    def test_who_writes_a_block_needs_what_the_others_hold(self):
        def ended(block):
            return {"t": "free", "id": block}
        plain = [{"t": "mark", "kind": "iteration"}, {"t": "alloc", "id": 1, "bytes": 3 * MIB}, operation([], [1]),
                 {"t": "alloc", "id": 2, "bytes": 3 * MIB}, operation([], [2]), operation([], [1, 2]), ended(1), operation([], [2]),
                 ended(2)]
        changed = bundled_trace.bundled(plain, [bundles.blocks_of(plain)])
        self.assertEqual([(event["r"], event["w"]) for event in changed if event["t"] == "op"],
                         [([], [1]), ([1], [1]), ([], [1]), ([], [1])])
        self.assertEqual([event["bytes"] for event in changed if event["t"] == "alloc"], [6 * MIB])

    def test_what_stays_shares_pages_with_what_was_made_beside_it(self):
        sizes = [9 * MIB // 4, 5 * MIB // 2, 9 * MIB // 4, 5 * MIB // 2]
        made = [{"t": "alloc", "id": i, "bytes": size, "tag": "weight"} for i, size in enumerate(sizes, 10)]
        found = bundles.staying([*made, *layers()])
        self.assertEqual([[block.id for block in bundle] for bundle in found], [[10, 11, 12, 13]])

    def test_without_foresight_a_run_has_room_for_some_of_its_first_size_and_takes_others(self):
        sizes = [9 * MIB // 4] * 12 + [5 * MIB // 4] * 3
        made = [{"t": "alloc", "id": i, "bytes": size, "tag": "weight"} for i, size in enumerate(sizes, 10)]
        plain = [*made, *layers()]
        runs, rooms = bundles.first_come(plain)
        self.assertEqual(sorted(block.id for run in runs for block in run), list(range(10, 25)))
        for run in runs:
            self.assertLessEqual(bundles.size_of(run), rooms[run[0].id])
            self.assertLessEqual(rooms[run[0].id], 18 * MIB)
        self.assertLess(sum(rooms.values()), 0.9 * sum(bundles.pages(size) * 2 * MIB for size in sizes))
        changed = bundled_trace.bundled(plain, runs, rooms)
        self.assertEqual(list(bundled_trace.objections(changed)), [])
        spare = sum(rooms.values()) - sum(map(bundles.size_of, runs))
        self.assertEqual(list(bundled_trace.differences(plain, changed, spare)), [])

    def test_a_wrong_trace_is_told(self):
        plain = layers()
        late = [event for event in plain if event["t"] != "alloc" or event["id"] != 100]
        self.assertIn("used, and not there", next(bundled_trace.objections(late)))
        self.assertNotEqual(list(bundled_trace.differences(plain, late)), [])


class PlacedBlocks(unittest.TestCase):
    def test_a_program_that_asks_for_bundles_needs_less(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "layers.jsonl"
            trace.write_text("".join(json.dumps(event) + "\n" for event in layers()), encoding="utf-8")
            done = subprocess.run([sys.executable, BOUNDS / "placed_blocks.py", BUILD, trace, "--most", "32", "--budgets", "100"],
                                  capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        plain, shared = told["results"]
        self.assertEqual((plain["variant"], plain["blocks"], shared["variant"]), ("plain", 0, "32"))
        self.assertLess(shared["held"], plain["held"] - 0.2)
        self.assertLess(shared["fits_in"], plain["fits_in"] - 0.2)
        self.assertLess(shared["times"]["100"], plain["times"]["100"])
        self.assertEqual(told["summary"]["plain"], {"100": 1})


if __name__ == "__main__":
    unittest.main()
