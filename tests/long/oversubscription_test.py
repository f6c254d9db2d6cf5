"""The oversubscription benchmark: its models on hand-made traces, and a small complete run.

Usage: oversubscription_test.py BUILD_FOLDER
"""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench/oversubscription"
sys.path.insert(0, str(BENCH))

import report  # noqa: E402
from contenders import FAULT_NS, PAGE, Paging, offload_ns, paging  # noqa: E402
from timed_trace import LINK, Trace, copy_ns, op_ns, timed  # noqa: E402

MIB = 1 << 20
PAGE_NS = PAGE * 1e9 / LINK


def op(*blocks, ns=0, stream=0, name="kernel"):
    return {"t": "op", "name": name, "ns": ns, "stream": stream, "r": list(blocks), "w": list(blocks)}


def alloc(block, size=PAGE):
    return {"t": "alloc", "id": block, "bytes": size, "stream": 0}


class Times(unittest.TestCase):
    def test_a_product_is_charged_its_arithmetic_and_a_copy_its_link(self):
        square = 1024 * 1024 * 4
        arithmetic = 2 * 1024 ** 3 / (15.7e12 * 0.6) * 1e9
        self.assertAlmostEqual(op_ns("linear", [square, square, square, 4096]), 3000 + arithmetic, delta=2)
        self.assertEqual(op_ns("", [12 * MIB]), copy_ns(12 * MIB))
        self.assertLess(op_ns("tanh_residual", [square] * 3), op_ns("linear", [square] * 3))

    def test_steps_begin_after_equal_numbers_of_kernels_and_addresses_become_blocks(self):
        lines = [{"t": "header", "version": 1}, alloc(64), op(64, name=""), op(64), op(64),
                 {"t": "free", "id": 64}, alloc(64), op(64), op(64), op(64, name=""), {"t": "free", "id": 64}]
        trace = timed(lines, steps=2)
        self.assertEqual([line["t"] for line in trace.steps],
                         ["mark", "op", "op", "free", "alloc", "mark", "op", "op"])
        self.assertEqual([line["r"] for line in trace.steps if line["t"] == "op"], [[1], [1], [2], [2]])
        self.assertEqual(trace.behind, [{"t": "free", "id": 2}])
        with self.assertRaises(ValueError):
            timed(lines, steps=3)


class PagingOnDemand(unittest.TestCase):
    def test_a_fitting_trace_costs_nothing(self):
        trace = Trace({}, [alloc(1), alloc(2)], [op(1, 2, ns=100)])
        self.assertEqual(paging(trace, 2 * PAGE, passes=3), {"ns": 100, "faults": 0, "in": 0, "out": 0})

    def test_a_cycle_over_more_than_fits_misses_at_every_touch(self):
        trace = Trace({}, [alloc(1), alloc(2), op(1), op(2)], [op(1, ns=100), op(2, ns=100)])
        last = paging(trace, PAGE, passes=2)
        self.assertEqual((last["faults"], last["in"], last["out"]), (2, 2 * PAGE, 2 * PAGE))
        self.assertAlmostEqual(last["ns"], 2 * (100 + FAULT_NS + 2 * PAGE_NS), delta=2)

    def test_the_least_recently_used_page_is_evicted(self):
        device = Paging(2 * PAGE)
        device.play([alloc(1), alloc(2), alloc(3), op(1), op(2), op(1), op(3)])
        self.assertEqual(sorted(block for block, _ in device.resident), [1, 3])

    def test_freed_blocks_are_evicted_without_a_copy(self):
        device = Paging(PAGE)
        device.play([alloc(1), op(1), {"t": "free", "id": 1}, alloc(2), op(2)])
        self.assertEqual((device.bytes_out, device.used), (0, PAGE))

    def test_streams_run_beside_each_other_but_faults_do_not(self):
        beside = Trace({}, [alloc(1), alloc(2)], [op(1, ns=100), op(2, ns=100, stream=1)])
        self.assertEqual(paging(beside, 2 * PAGE, passes=1)["ns"], 100)
        faulting = Trace({}, [alloc(1), op(1), alloc(2), op(2)], [op(1), op(2, stream=1)])
        self.assertAlmostEqual(paging(faulting, PAGE, passes=1)["ns"], 2 * (FAULT_NS + 2 * PAGE_NS), delta=2)


class ExplicitOffload(unittest.TestCase):
    def test_copies_and_device_work_wait_for_each_other(self):
        steps = [op(1, ns=1000), op(1, name="copy"), {"t": "free", "id": 1}, alloc(2), op(2, name="copy"), op(2, ns=500)]
        ns, bytes_in, bytes_out = offload_ns(Trace({}, [alloc(1)], steps))
        self.assertEqual((ns, bytes_in, bytes_out), (1500 + 2 * copy_ns(PAGE), PAGE, PAGE))

    def test_ordinary_input_copies_overlap_the_work(self):
        upload = op(1, name="", stream=1, ns=800)
        self.assertEqual(offload_ns(Trace({}, [alloc(1)], [upload, op(1, ns=1000)])), (1000, 0, 0))


class Report(unittest.TestCase):
    def test_stalls_are_reported_by_cause_per_step(self):
        def row(ratio, ns, **causes):
            way = {"ns": ns, "stall_ns": sum(causes.values()), "stall_ns_by_cause": causes, "bytes_in": 0, "bytes_out": 0}
            return {"ratio": ratio, "lower_bound_ns": 20_000_000, "auto": way, "recency": way, "real_seconds": 1}
        told = report.table({"command": "program", "title": "a program", "live_peak": MIB, "step": "step", "steps": 2,
                      "memory_ns": 20_000_000, "real_alone_seconds": 1,
                      "rows": [row(1.0, 20_000_000), row(2.0, 26_019_000, copy_in=1_000_000, copy_out=5_000_000, work=9000)]})
        self.assertIn("| 0.00 ms |", told)
        self.assertIn("| 3.00 ms: copy out 2.50, copy in 0.50 |", told)


    def test_plots_that_cannot_be_redrawn_are_reported_as_old(self):
        said = io.StringIO()
        with mock.patch.object(report, "environment_with", side_effect=report.Unavailable("no network")), \
                contextlib.redirect_stderr(said):
            report.plot(BUILD, "results.json", "some/folder")
        self.assertEqual(said.getvalue(),
                         "The plots in some/folder are out of date, because matplotlib is not available: no network\n")


class SmallRun(unittest.TestCase):
    def test_every_program_computes_the_same_in_every_way_and_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, BENCH / "run.py", BUILD, "--smoke", "--out", folder],
                                  capture_output=True, text=True, timeout=280, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            body = json.loads((pathlib.Path(folder) / "oversubscription.json").read_text())
            page = (pathlib.Path(folder) / "oversubscription.md").read_text()
        self.assertTrue(body["smoke"])
        self.assertEqual([program["name"] for program in body["programs"]],
                         ["train", "infer", "graph_walk", "pipeline"])
        stalled_for = set()
        for program in body["programs"]:
            half = program["rows"][-1]
            self.assertGreater(half["auto"]["bytes_in"], 0, program["name"])
            for way in ("auto", "recency"):
                causes = half[way]["stall_ns_by_cause"]
                self.assertEqual(sum(causes.values()), half[way]["stall_ns"], (program["name"], way))
                stalled_for |= set(causes)
            for way in ("auto", "recency", "paging", "offload"):
                self.assertGreaterEqual(half[way]["ns"], 0.99 * program["memory_ns"], (program["name"], way))
            self.assertGreaterEqual(half["auto"]["ns"], 0.9 * half["lower_bound_ns"], program["name"])
            self.assertIn(program["title"], page)
        self.assertLessEqual({"copy_in", "copy_out"}, stalled_for)
        self.assertLessEqual(stalled_for, {"copy_in", "copy_out", "work"}, "host memory is ample, and nothing is recomputed")


if __name__ == "__main__":
    unittest.main()
