"""`tessera metrics` of a running program, read by Prometheus' own parser; and the page and the dashboard name what it
publishes.

Usage: metrics_test.py BUILD_FOLDER     Exits with 77 if the parser is unavailable, for instance without network.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from virtual_environment import python_with

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA, PROGRAMS = BUILD / "bin/tessera", BUILD / "lib/tessera"
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# Reads OpenMetrics, and writes family, type and sample values as JSON.
PARSE = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
print(json.dumps({f.name: [f.type, [[s.name, s.labels, s.value] for s in f.samples]] for f in families(sys.stdin.read())}))
"""
PYTHON = python_with(BUILD, "prometheus-client", "0.26.0")


def parsed(text):
    done = subprocess.run([PYTHON, "-c", PARSE], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return json.loads(done.stdout)


class Metrics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.environment["TESSERA_NO_PRESETS"] = "1"
        self.environment["XDG_RUNTIME_DIR"] = folder.name
        self.program = subprocess.Popen(
            [TESSERA, "run", "--software", "--device-memory", "64MiB", "--host-memory", "64MiB", "--",
             PROGRAMS / "watched"], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, self.program)
        self.assertEqual(self.program.stdout.readline(), f"{self.program.pid}\n")

    def end(self, process):
        process.kill()
        process.communicate()

    def of_the_program(self, text):
        """{family: (type, samples of the program)}"""
        pid = str(self.program.pid)
        families = {name: (kind, [sample for sample in samples if sample[1]["pid"] == pid])
                    for name, (kind, samples) in parsed(text).items()}
        self.assertTrue(any(samples for _, samples in families.values()), text)
        return families

    def once(self):
        return subprocess.run([TESSERA, "metrics"], env=self.environment, capture_output=True, text=True,
                              timeout=60, check=True).stdout

    def test_every_figure_has_a_name_and_a_type(self):
        families = self.of_the_program(self.once())
        self.assertEqual([name for name, (kind, _) in families.items() if kind == "unknown"], [])
        [[_, labels, used]] = [sample for sample in families["tessera_memory_used_bytes"][1]
                               if sample[1]["tier"] == "device"]
        self.assertGreater(used, 1 << 20)
        self.assertEqual(labels["program"], "watched")
        [[name, _, launches]] = families["tessera_launches"][1]
        self.assertEqual(name, "tessera_launches_total")
        self.assertGreater(launches, 0)

    def test_a_collector_is_served(self):
        server = subprocess.Popen([TESSERA, "metrics", "--serve", "127.0.0.1:0"], env=self.environment,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        place = server.stdout.readline().strip()
        for _ in range(3):
            with urllib.request.urlopen(place, timeout=60) as answer:
                self.assertIn("application/openmetrics-text", answer.headers["Content-Type"])
                self.assertIn("tessera_launches", self.of_the_program(answer.read().decode()))
        os.kill(self.program.pid, 19)  # a stopped program is shown as it last was
        with urllib.request.urlopen(place, timeout=60) as answer:
            [[_, _, age]] = self.of_the_program(answer.read().decode())["tessera_sample_age_seconds"][1]
        self.assertGreater(age, 1)

    def test_page_and_dashboard_name_what_there_is(self):
        published = set()
        for name, (kind, _) in parsed(self.once()).items():
            published.add(f"{name}_total" if kind == "counter" else f"{name}_info" if kind == "info" else name)
        named = set(re.findall(r"`(tessera_\w+)`", (DOCS / "metrics.md").read_text()))
        self.assertEqual(published - named, set())
        # These have samples once there was such a cause, reason, or kind.
        self.assertEqual({name for name in named - published if "_by_" not in name}, set())
        asked = set(re.findall(r"\btessera_\w+", (DOCS / "examples/grafana.json").read_text()))
        self.assertGreater(len(asked), 5)
        self.assertEqual(asked - named, set())


if __name__ == "__main__":
    unittest.main()
