"""Histories of parts of a program, drawn by `tessera report`, and what a notebook shows of them."""

import json
import pathlib
import subprocess
import tempfile
import unittest.mock

import tessera
from support import MIB, DeviceTest
from tessera import _jupyter, _library


class Profile(DeviceTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.history = pathlib.Path(folder.name, "part.json")

    def test_it_has_what_happened_inside(self):
        tensor = self.tensor(4 * MIB)
        tessera.evict(tensor)
        with tessera.profile(self.history):
            tessera.pin(tensor)
            tessera.unpin(tensor)
        figures = json.loads(self.history.read_text(encoding="utf-8"))["stats"]
        self.assertEqual((figures["moves"]["bytes_in"], figures["moves"]["bytes_out"]), (4 * MIB, 0))
        self.assertEqual(figures["blocks"]["allocations"], 0)
        drawn = subprocess.run([_library.program(), "report", self.history], capture_output=True, text=True, check=False)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertIn("A part of the run", self.history.with_suffix(".html").read_text(encoding="utf-8"))

    def test_an_exception_leaves_no_file_and_no_profile(self):
        self.tensor()
        with self.assertRaises(ZeroDivisionError), tessera.profile(self.history):
            1 / 0
        self.assertFalse(self.history.exists())
        with self.assertRaisesRegex(tessera.TesseraError, "tessera_profile_begin"):
            tessera._end_profile(None)

    def test_one_that_begins_inside_ends_the_other(self):
        self.tensor()
        inner = self.history.with_name("inner.json")
        with self.assertRaisesRegex(tessera.TesseraError, "tessera_profile_begin"), tessera.profile(self.history):
            with tessera.profile(str(inner)):
                pass
        self.assertEqual((inner.exists(), self.history.exists()), (True, False))

    def test_a_file_that_cannot_be_written_is_an_error(self):
        self.tensor()
        with self.assertRaisesRegex(tessera.TesseraError, "nowhere"), tessera.profile("/nowhere/part.json"):
            pass


class Output(DeviceTest):
    """Where there is no report to show, the table stays, with the reason."""

    def shown(self, text="", largest=_jupyter.LARGEST_PAGE):
        self.tensor()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(_jupyter, "LARGEST_PAGE", largest):
            history = pathlib.Path(folder, "cell.json")
            with tessera.profile(history):
                pass
            if text:
                history.write_text(text, encoding="utf-8")
            return _jupyter._output(history, "table")

    def test_both_kinds(self):
        shown = self.shown()
        self.assertEqual(shown["text/plain"], "table")
        self.assertIn("&lt;h1&gt;", shown["text/html"])
        self.assertEqual(shown["text/html"].count('"'), 6, "nothing in the page ends the attribute that holds it")

    def test_a_page_that_is_too_large(self):
        shown = self.shown(largest=100)
        self.assertEqual(list(shown), ["text/plain"])
        self.assertRegex(shown["text/plain"], r"^table\n\nno report: it has [\d,]+ characters")

    def test_a_history_that_cannot_be_drawn(self):
        shown = self.shown("{}")
        self.assertEqual(list(shown), ["text/plain"])
        self.assertRegex(shown["text/plain"], r"^table\n\nno report: tessera: .*not a history")


if __name__ == "__main__":
    unittest.main()
