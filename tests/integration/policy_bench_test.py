"""`tessera policy-bench` on two tiny traces: every file contains every replay, and two runs give the same bytes.

Usage: policy_bench_test.py BUILD_FOLDER
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
MIB = 1 << 20


def write_trace(path, layers, nanoseconds):
    """Written in forward order, read in reverse order, like the activations of a training step."""
    lines = [{"t": "alloc", "id": i, "bytes": 32 * MIB} for i in range(layers)]
    lines.append({"t": "mark", "kind": "iteration", "n": 1})
    lines += [{"t": "op", "name": "forward", "ns": nanoseconds, "w": [i]} for i in range(layers)]
    lines += [{"t": "op", "name": "back", "ns": nanoseconds, "r": [i]} for i in reversed(range(layers))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


class PolicyBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write_trace(self.folder / "deep.jsonl", 16, 2_000_000)
        write_trace(self.folder / "flat.jsonl", 6, 100_000)

    def bench(self, *words, out="out"):
        return subprocess.run([TESSERA, "policy-bench", *map(str, words), "--out", self.folder / out],
                              cwd=self.folder, capture_output=True, text=True, timeout=250)

    def files(self, out="out"):
        return {name: (self.folder / out / name).read_bytes()
                for name in ("policy_bench.json", "policy_bench.csv", "policy_bench.html")}

    def test_every_policy_on_every_trace_under_every_budget(self):
        result = self.bench("deep.jsonl", "flat.jsonl", "--budgets", "90,50", "--iterations", 4)
        self.assertEqual(result.returncode, 0, result.stderr)
        bench = json.loads(self.files()["policy_bench.json"])
        listed = subprocess.run([TESSERA, "replay", "--list-policies", "--json"], capture_output=True, check=True)
        self.assertEqual(bench["policies"], [policy["name"] for policy in json.loads(listed.stdout)])
        self.assertEqual(len(bench["rows"]), 2 * 2 * len(bench["policies"]))
        for row in bench["rows"]:
            self.assertNotIn("failure", row)
            self.assertGreaterEqual(row["step_ns"], 0.9 * row["lower_bound_ns"], row)
        self.assertTrue(all(cell["best"] for cell in bench["cells"]))
        self.assertIn("auto", result.stdout)

    def test_csv_and_json_are_equal(self):
        self.bench("flat.jsonl", "--policies", "lru,belady", "--budgets", "50")
        files = self.files()
        rows = list(csv.DictReader(files["policy_bench.csv"].decode().splitlines()))
        told = json.loads(files["policy_bench.json"])["rows"]
        self.assertEqual([(row["policy"], int(row["step_ns"])) for row in rows],
                         [(row["policy"], row["step_ns"]) for row in told])

    def test_the_costs_are_a_file_of_their_own(self):
        result = self.bench("deep.jsonl", "--policies", "auto,recency", "--budgets", "70,50")
        rows = list(csv.DictReader((self.folder / "out" / "policy_bench_costs.csv").read_text().splitlines()))
        self.assertEqual([(row["policy"], row["budget"]) for row in rows],
                         [("auto", "70"), ("auto", "50"), ("recency", "70"), ("recency", "50")])
        self.assertTrue(all(float(row["processor_s"]) >= 0 for row in rows))
        self.assertGreater(float(rows[1]["processor_s"]), 0)
        self.assertRegex(result.stdout, r"\nbeside the program `auto` takes -?[0-9.]+ s in the mean, ")

    def test_the_page_has_a_well_formed_curve_for_each_trace(self):
        self.bench("deep.jsonl", "flat.jsonl", "--policies", "lru,belady")
        curves = re.findall(r"<svg.*?</svg>", self.files()["policy_bench.html"].decode(), re.DOTALL)
        self.assertEqual(len(curves), 2)
        for curve in curves:
            lines = xml.etree.ElementTree.fromstring(curve).findall(".//polyline")
            self.assertEqual([len(line.get("points").split()) for line in lines], [4, 4])

    def test_the_same_policy_bench_gives_the_same_bytes_with_any_number_of_jobs(self):
        words = ["deep.jsonl", "flat.jsonl", "--policies", "auto,lru,capuchin", "--budgets", "70,35"]
        self.bench(*words, "--jobs", 1, out="one")
        self.bench(*words, "--jobs", 4, out="four")
        self.assertEqual(self.files("one"), self.files("four"))

    def test_a_failure_is_a_row_with_its_reason(self):
        (self.folder / "broken.jsonl").write_text("nonsense\n")
        result = self.bench("broken.jsonl", "flat.jsonl", "--policies", "lru", "--budgets", "90,1")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(self.files()["policy_bench.json"])["rows"]
        self.assertIn("broken.jsonl:1", rows[0]["failure"])
        self.assertNotIn("failure", rows[2])
        self.assertNotIn("\n", rows[3]["failure"])

    def test_without_a_valid_trace_it_fails(self):
        (self.folder / "broken.jsonl").write_text("nonsense\n")
        result = self.bench("broken.jsonl", "--policies", "lru")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "tessera: no trace could be replayed\n")
        self.assertIn("broken.jsonl:1", json.loads(self.files()["policy_bench.json"])["rows"][0]["failure"])

    def test_a_policy_named_twice_runs_once(self):
        self.bench("flat.jsonl", "--policies", "lru,recency,lru", "--budgets", "50")
        self.assertEqual(json.loads(self.files()["policy_bench.json"])["policies"], ["lru", "recency"])

    def test_a_short_host_wears_the_disk(self):
        words = ["deep.jsonl", "--policies", "lru", "--budgets", "50", "--file-memory", "4GiB"]
        self.bench(*words)
        self.assertEqual(json.loads(self.files()["policy_bench.json"])["rows"][0]["bytes_file_written"], 0)
        self.bench(*words, "--host-budget", "10")
        self.assertGreater(json.loads(self.files()["policy_bench.json"])["rows"][0]["bytes_file_written"], 0)

    def test_a_lender_saves_the_hosts_link(self):
        words = ["deep.jsonl", "--policies", "lru", "--budgets", "50"]
        self.bench(*words)
        alone = json.loads(self.files()["policy_bench.json"])["rows"][0]
        self.bench(*words, "--peer-budget", "60")
        helped = json.loads(self.files()["policy_bench.json"])["rows"][0]
        self.assertEqual(alone["bytes_peer_in"], 0)
        self.assertGreater(helped["bytes_peer_in"], 0)
        self.assertLess(helped["bytes_h2d"], alone["bytes_h2d"])
        self.assertLess(helped["step_ns"], alone["step_ns"])

    def test_invalid_arguments_are_one_line_and_exit_code_two(self):
        for words in ([], ["flat.jsonl", "--policies", "best"], ["flat.jsonl", "--budgets", "0"],
                      ["flat.jsonl", "--h2d", "fast"], ["flat.jsonl", "flat.jsonl"]):
            result = self.bench(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, r"^tessera: [^\n]+\n$", words)


if __name__ == "__main__":
    unittest.main()
