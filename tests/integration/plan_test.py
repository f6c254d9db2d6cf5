"""`tessera plan` on published graphs and on a generated trace.

Usage: plan_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data"


def tessera(*words):
    return subprocess.run([BUILD / "bin/tessera", *map(str, words)], capture_output=True, text=True, timeout=250)


def plan(*words):
    result = tessera("plan", *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class Arena(unittest.TestCase):
    def test_figures_of_a_published_network(self):
        figures = plan("arena", DATA / "arena/mobilenet_v1.csv")
        self.assertEqual(figures["offset_greedy_by_size"], figures["offset_lower_bound"])
        self.assertEqual(round(figures["shared_greedy_by_size"] / (1 << 20), 3), 5.359)

    def test_an_invalid_input_is_one_line(self):
        for words in (["arena", "/no/such"], ["arena", SOURCE / "README.md"], ["split", "/no/such"],
                      ["split", DATA / "arena/mobilenet_v1.csv"]):
            result = tessera("plan", *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertRegex(result.stderr, r"^tessera: [^\n]+\n$")
        self.assertEqual(tessera("plan").returncode, 2)


class Split(unittest.TestCase):
    def test_published_loads(self):
        for name, load in (("bert24_inference", 17.790), ("bert24_training", 41.746), ("gnmt_inference", 32.911)):
            with self.subTest(name):
                split = plan("split", DATA / f"placement/{name}.json")
                self.assertEqual(round(split["max_load"], 3), load)
                self.assertEqual(max(part["load"] for part in split["parts"]), split["max_load"])

    def test_one_accelerator_without_a_cpu_takes_everything(self):
        graph = json.loads((DATA / "placement/bert24_inference.json").read_text()) | {"maxCPUs": 0}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "graph.json"
            path.write_text(json.dumps(graph))
            self.assertEqual(round(plan("split", path, "--parts", 1)["max_load"], 3), 92.406)

    def test_a_trace_is_cut_between_its_operations(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.jsonl"
            subprocess.run([sys.executable, "-B", SOURCE / "bench/traces/generate.py", "vgg16", "--batch", "8",
                            "--iterations", "2", "-o", trace], check=True)
            whole = plan("split", trace, "--parts", 1)
            # Over a free link; over a real one splitting VGG may cost more than it gains.
            split = plan("split", trace, "--parts", 4, "--bandwidth", "1e15")
            self.assertEqual(len(whole["parts"]), 1)
            self.assertLess(split["max_load"], whole["max_load"] / 2)
            ends = [part["operations"] for part in split["parts"]]
            self.assertEqual(ends[0][0], 0)
            for before, after in zip(ends, ends[1:]):
                self.assertEqual(before[-1] + 1, after[0])
            enough = str(whole["parts"][0]["bytes"])
            self.assertEqual(tessera("plan", "split", trace, "--parts", 1, "--part-memory", enough).returncode, 0)
            too_little = tessera("plan", "split", trace, "--parts", 1, "--part-memory", "1MiB")
            self.assertIn("no split fits", too_little.stderr)
            for unit, code in (("GiB", 0), ("GB", 1)):
                size = f"{int(enough) / (1 << 30) + 1e-6:.6f}{unit}"
                split = tessera("plan", "split", trace, "--parts", 1, "--part-memory", size)
                self.assertEqual(split.returncode, code, split.stderr)
            wrong = tessera("plan", "split", trace, "--parts", 1, "--part-memory", "lots")
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("--part-memory: 'lots' is not a size", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
