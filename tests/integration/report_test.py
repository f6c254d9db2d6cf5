"""tessera report: the sums in the page of a real run are consistent, two runs are compared, and a real browser displays
the pages.

The browser is Chromium, in the headless build that `make check` installs, or the installed one.
Usage: report_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from shown_page import Page, colours

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
PROGRAMS = BUILD / "lib/tessera"
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)


def tessera(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return subprocess.run([TESSERA, *map(str, words)], env=environment, capture_output=True, text=True, timeout=250)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.run_result = cls.train("run", "10MiB")
        cls.ample_result = cls.train("ample", "256MiB")
        cls.report = tessera("report", cls.folder / "run.json")
        cls.page = cls.folder / "run.html"
        cls.comparison = tessera("report", cls.folder / "run.json", cls.folder / "ample.json")
        cls.compared_page = cls.folder / "run-ample.html"

    @classmethod
    def train(cls, name, memory):
        """A training on a device of this size, with its history and statistics."""
        return tessera(
            "run", "--software", "--software-memory", memory, "--host-memory", "4MiB", "--file-memory", "256MiB",
            "--file-dir", cls.folder, "--history", cls.folder / f"{name}.json",
            "--stats", cls.folder / f"{name}-stats.json", "--",
            PROGRAMS / "train", "--kernels", PROGRAMS / "train_kernels.so", "--losses", cls.folder / "losses",
            "--steps", "3", "--layers", "6", "--width", "256", "--batch", "64")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_the_page_is_written_beside_the_history(self):
        self.assertEqual(self.run_result.returncode, 0, self.run_result.stderr)
        self.assertEqual((self.report.returncode, self.report.stdout), (0, f"{self.page}\n"), self.report.stderr)

    def test_its_sums_equal_the_statistics_and_bytes_moved(self):
        page = Page(self.page.read_text())
        self.assertGreaterEqual(len(page.sums), 4)
        for name, value in page.sums.items():
            self.assertEqual(value, page.figures[name], name)
        for name in ("moves.bytes_in", "moves.bytes_out", "moves.bytes_file_written", "waits.stall_ns"):
            self.assertGreater(page.figures[name], 0, name)
        waits = [value for name, value in page.sums.items() if name.startswith("stall_time_by_cause.")]
        self.assertEqual(sum(waits), page.figures["waits.stall_ns"])

    def test_it_loads_nothing(self):
        page = Page(self.page.read_text())
        self.assertEqual(page.loads, [])
        self.assertEqual(page.tags["script"] + page.tags["link"], 0)
        self.assertIn("default-src 'none'", self.page.read_text())

    def test_an_invalid_history_is_one_line_and_exit_code_two(self):
        result = tessera("report", self.folder / "run-stats.json")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tessera: [^\n]+--history[^\n]+\n$")
        history = json.loads((self.folder / "run.json").read_text())
        del history["stats"]["tessera"]
        (self.folder / "part.json").write_text(json.dumps(history))
        result = tessera("report", self.folder / "part.json")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tessera: [^\n]+'tessera'[^\n]+\n$")

    def test_two_runs_are_compared_by_their_statistics(self):
        self.assertEqual((self.comparison.returncode, self.comparison.stdout), (0, f"{self.compared_page}\n"),
                         self.comparison.stderr)
        runs = [json.loads((self.folder / f"{name}-stats.json").read_text()) for name in ("run", "ample")]
        page = Page(self.compared_page.read_text())
        self.assertEqual(page.loads, [])
        # How long it was idle goes on between the two files.
        names = set(page.compared) - {"run.seconds", "idle.idle_ns"}
        self.assertGreaterEqual(names, {"moves.bytes_in", "moves.bytes_out", "moves.fetches", "moves.evictions",
                                        "waits.stall_ns", "device.device_peak", "blocks.peak_live_bytes"})
        for name in names:
            group, figure = name.split(".", 1)
            self.assertEqual(page.compared[name], tuple(run[group].get(figure, 0) for run in runs), name)
        differing = {f"{group}.{figure}" for group in runs[0] for figure in set(runs[0][group]) | set(runs[1][group])
                     if group != "idle" and isinstance(runs[0][group].get(figure, 0), int)
                     and runs[0][group].get(figure, 0) != runs[1][group].get(figure, 0)}
        self.assertEqual(differing - names, set(), "figures that differ are missing")
        self.assertEqual(page.compared["moves.bytes_in"][1], 0, "everything fits")

    def test_statistics_alone_are_compared(self):
        page = self.folder / "compared.html"
        result = tessera("report", self.folder / "run-stats.json", self.folder / "ample-stats.json", "--out", page)
        self.assertEqual((result.returncode, result.stdout), (0, f"{page}\n"), result.stderr)
        shown = Page(page.read_text())
        self.assertEqual(shown.tags["svg"], 0)
        self.assertIn("There are no plots", page.read_text())
        self.assertEqual(shown.compared["moves.bytes_in"], Page(self.compared_page.read_text()).compared["moves.bytes_in"])

    def test_what_cannot_be_compared_is_one_line_and_exit_code_two(self):
        run, other = self.folder / "run.json", self.folder / "other.json"
        other.write_text('{"traceEvents": []}')
        for second, why in ((run, "same file"), (self.folder / "missing.json", "cannot read"), (other, "not a history")):
            result = tessera("report", run, second)
            self.assertEqual((result.returncode, result.stdout), (2, ""), second)
            self.assertRegex(result.stderr, rf"^tessera: [^\n]*{why}[^\n]*\n$")
        self.assertEqual(tessera("report", run, run, run).returncode, 2)

    def browse(self, *options, page=None):
        return subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
             f"--user-data-dir={self.folder / 'profile'}", "--window-size=1100,2600", *options,
             (page or self.page).as_uri()],
            capture_output=True, text=True, timeout=120)

    @unittest.skipUnless(BROWSER, "there is no Chromium here: apt-get install chromium-headless-shell")
    def test_a_browser_shows_it_without_errors(self):
        result = self.browse("--dump-dom")
        page = Page(result.stdout)
        text = " ".join(page.words)
        for heading in ("Residency over time", "Copies", "Stalls of calls", "The ten costliest blocks",
                        "All figures"):
            self.assertIn(heading, text)
        self.assertGreaterEqual(page.tags["svg"], 4)
        for line in result.stderr.splitlines():
            self.assertNotIn("CONSOLE", line)

    @unittest.skipUnless(BROWSER, "there is no Chromium here: apt-get install chromium-headless-shell")
    def test_a_browser_shows_the_plots_of_both_runs(self):
        result = self.browse("--dump-dom", page=self.compared_page)
        page = Page(result.stdout)
        text = " ".join(page.words)
        for heading in ("What differs", "Residency over time", "Copies", "Stalls of calls"):
            self.assertIn(heading, text)
        self.assertGreaterEqual(page.tags["svg"], 6)
        self.assertEqual(page.tags["svg"] % 2, 0)
        for line in result.stderr.splitlines():
            self.assertNotIn("CONSOLE", line)

    @unittest.skipUnless(BROWSER, "there is no Chromium here: apt-get install chromium-headless-shell")
    def test_its_plots_have_their_colours_in_light_and_in_dark(self):
        grounds = {}
        for name, options in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
            picture = self.folder / f"{name}.png"
            self.browse(f"--screenshot={picture}", *options)
            seen = colours(picture)
            grounds[name] = seen.most_common(1)[0][0]
            coloured = [colour for colour, count in seen.items() if max(colour) - min(colour) > 60 and count > 200]
            self.assertGreaterEqual(len(coloured), 2, name)
        self.assertGreater(min(grounds["light"]), 200)
        self.assertLess(max(grounds["dark"]), 60)


if __name__ == "__main__":
    unittest.main()
