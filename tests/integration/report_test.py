"""tessera report: the sums in the page of a real run are consistent, and a real browser displays it.

The browser is Chromium, in the headless build that `make check` installs, or the installed one.
Usage: report_test.py BUILD_FOLDER
"""

import collections
import html.parser
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESSERA = BUILD / "bin/tessera"
PROGRAMS = BUILD / "lib/tessera"
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)


def tessera(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return subprocess.run([TESSERA, *map(str, words)], env=environment, capture_output=True, text=True, timeout=250)


class Page(html.parser.HTMLParser):
    """Figures by name, sums by name, the text, and all references that would load something."""

    OUTSIDE = ("src", "href", "srcset", "action", "data", "poster")

    def __init__(self, text):
        super().__init__()
        self.figures, self.sums, self.loads, self.words, self.tags = {}, {}, [], [], collections.Counter()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags[tag] += 1
        self.loads += [f"{tag} {name}" for name in self.OUTSIDE if name in known]
        for kind, where in (("data-figure", self.figures), ("data-sum", self.sums)):
            if kind in known:
                where[known[kind]] = int(known["data-value"])

    def handle_data(self, data):
        self.words.append(data)


def colours(png):
    """Counts of each colour in a PNG of 8-bit RGB or RGBA, as written by browsers."""
    data, at, pixels = png.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6), (depth, colour)
        if kind == b"IDAT":
            pixels += body
        at += size + 12
    channels = 3 if colour == 2 else 4
    pixels, stride = zlib.decompress(pixels), width * channels
    counts, before = collections.Counter(), bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        line = unfiltered(pixels[start], bytearray(pixels[start + 1:start + 1 + stride]), before, channels)
        counts.update(bytes(line[i:i + 3]) for i in range(0, stride, channels))
        before = line
    return counts


def unfiltered(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + up) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            line[i] = (line[i] + nearest[2]) & 255
    return line


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        history = cls.folder / "run.json"
        cls.run_result = tessera(
            "run", "--software", "--software-memory", "10MiB", "--host-memory", "4MiB", "--file-memory", "256MiB",
            "--file-dir", cls.folder, "--history", history, "--stats", cls.folder / "stats.json", "--",
            PROGRAMS / "train", "--kernels", PROGRAMS / "train_kernels.so", "--losses", cls.folder / "losses",
            "--steps", "3", "--layers", "6", "--width", "256", "--batch", "64")
        cls.report = tessera("report", history)
        cls.page = cls.folder / "run.html"

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
        result = tessera("report", self.folder / "stats.json")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tessera: [^\n]+--history[^\n]+\n$")
        history = json.loads((self.folder / "run.json").read_text())
        del history["stats"]["tessera"]
        (self.folder / "part.json").write_text(json.dumps(history))
        result = tessera("report", self.folder / "part.json")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tessera: [^\n]+'tessera'[^\n]+\n$")

    def browse(self, *options):
        return subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
             f"--user-data-dir={self.folder / 'profile'}", "--window-size=1100,2600", *options, self.page.as_uri()],
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
