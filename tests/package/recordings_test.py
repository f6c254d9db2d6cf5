"""What docs/examples shows of its programs is what they print: the same lines, with other numbers where those depend on time.

Usage: recordings_test.py BUILD_FOLDER
"""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "docs/site")]

import recordings  # noqa: E402
from browser import BROWSER  # noqa: E402
from page_pictures import LARGEST, PICTURES, PLOT_COLOURS, plot_colours  # noqa: E402
from virtual_environment import Unavailable  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
# It takes half a minute: readme_commands_test.py runs it anyway, and compares its lines.
ELSEWHERE = {"demo"}
SIZE_END = 24  # bytes of a PNG up to the end of its width and height


class Recordings(unittest.TestCase):
    def test_programs_print_what_is_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = recordings.Stage(BUILD, pathlib.Path(folder))
            for name in set(recordings.RECORDINGS) - ELSEWHERE:
                with self.subTest(name):
                    recorded = (recordings.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
                    self.assertEqual(recordings.steady_lines(name, stage.record(name)),
                                     recordings.steady_lines(name, recorded), "`make recordings` writes them anew")

    def test_drawings_are_of_the_recorded_text(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                recordings.draw(BUILD, folder, recordings.RECORDINGS)
            except Unavailable as why:
                self.skipTest(str(why))
            for name in recordings.RECORDINGS:
                drawn = (pathlib.Path(folder) / f"{name}.svg").read_text(encoding="utf-8")
                self.assertEqual((recordings.FOLDER / f"{name}.svg").read_text(encoding="utf-8"), drawn, name)
                self.assertNotIn("@font-face", drawn)

    @unittest.skipUnless(BROWSER, "there is no Chromium here: apt-get install chromium-headless-shell")
    def test_pages_look_as_in_the_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = recordings.Stage(BUILD, pathlib.Path(folder))
            for name, take in PICTURES.items():
                with self.subTest(name):
                    taken, kept = pathlib.Path(folder, f"{name}.png"), recordings.FOLDER / f"{name}.png"
                    take(stage, taken)
                    self.assertEqual(taken.read_bytes()[:SIZE_END], kept.read_bytes()[:SIZE_END], "`make recordings` takes them anew")
                    self.assertLessEqual(kept.stat().st_size, LARGEST)
                    self.assertGreaterEqual(plot_colours(kept), PLOT_COLOURS)

    def test_each_is_shown(self):
        names = ("docs/examples/README.md", "docs/quickstart.md", "docs/report.md", "docs/stats.md")
        pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in names)
        files = {path.name for path in recordings.FOLDER.iterdir()}
        for name in files:
            if not name.endswith(".txt"):
                self.assertIn(f"recordings/{name})", pages)
        self.assertEqual(files, {f"{name}.{kind}" for name in recordings.RECORDINGS for kind in ("txt", "svg")} |
                         {f"{name}.png" for name in PICTURES})

    def test_a_shape_has_no_numbers(self):
        self.assertEqual(recordings.shape("time per step   1.35 s    -  1.52 s"), recordings.shape("time per step 2 s - 999 ms"))
        self.assertEqual(recordings.shape("at 0x1.3e51fcp-1 in /tmp/a-1/b.html"), "at N in FILE")
        self.assertNotEqual(recordings.shape("9 pages evicted"), recordings.shape("9 pages fetched"))


if __name__ == "__main__":
    unittest.main()
