"""A notebook's kernel under `tessera run`, on the software device: installed, started by Jupyter's client, and asked; what it
shows is looked at in Chromium.

Usage: jupyter_test.py BUILD_FOLDER. Needs ipykernel from the package index; skipped (77) without.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from html import unescape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from browser import BROWSER, Browser  # noqa: E402
from shown_page import Page, colours  # noqa: E402
from virtual_environment import python_with  # noqa: E402

IPYKERNEL = "7.4.0"
# Runs in the environment that has Jupyter's client. Each cell prints what is looked for.
CELLS = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="tessera", startup_timeout=120)
try:
    for cell in sys.argv[1:]:
        told, html = [], []
        def note(message):
            content = message["content"]
            shown = content.get("data", {})
            told.append(content.get("text") or content.get("evalue") or shown.get("text/plain", ""))
            html.append(shown.get("text/html", ""))
        reply = client.execute_interactive(cell, timeout=120, output_hook=note)
        print(repr((reply["content"]["status"], "".join(told), "".join(html))))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""
ALLOCATE = """
import worker_program
worker_program.use_device(blocks=24)
"""
MOST_CHARACTERS = 300_000


def check_report(html, folder):
    """The frame holds the page of `tessera report`, of this cell alone, and a browser shows its plots."""
    assert len(html) < MOST_CHARACTERS, len(html)
    frames = re.findall(r'<iframe [^>]*srcdoc="([^"]*)"[^>]*\bsandbox\b[^>]*></iframe>', html)
    assert len(frames) == 1, html[:200]
    page = Page(unescape(frames[0]))
    assert page.loads == [] and page.tags["script"] + page.tags["link"] == 0, page.loads
    assert "A part of the run" in " ".join(page.words)
    assert page.sums and all(value == page.figures[name] for name, value in page.sums.items()), page.sums
    if not BROWSER:
        return page
    cell, picture = pathlib.Path(folder, "cell.html"), pathlib.Path(folder, "cell.png")
    cell.write_text(f"<!DOCTYPE html><meta charset='utf-8'><title>cell</title>{html}", encoding="utf-8")
    browser = Browser()
    try:
        browser.open(cell.as_uri())
        browser.when("document.readyState === 'complete' && document.querySelector('iframe').clientHeight > 500")
        browser.when_shown(picture, lambda: sum(
            max(colour) - min(colour) > 60 and count > 200 for colour, count in colours(picture).items()) >= 2)
        assert [url for url in browser.requests if not url.startswith(("file:", "about:"))] == [], browser.requests
        assert browser.faults == [], browser.faults
    finally:
        browser.close()
    return page


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    python = python_with(build, "ipykernel", IPYKERNEL)
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | {
            "JUPYTER_DATA_DIR": f"{folder}/data", "JUPYTER_RUNTIME_DIR": f"{folder}/runtime", "IPYTHONDIR": f"{folder}/ipython",
            "PYTHONPATH": f"{ROOT / 'shim/python'}:{ROOT / 'tests/integration'}", "PYTHONDONTWRITEBYTECODE": "1",
            "TESSERA_LIBRARY_DIR": str(build / "lib"), "TESSERA_SOFTWARE": "1"}

        def run(*words):
            done = subprocess.run([python, *words], env=variables, cwd=folder, capture_output=True, text=True, timeout=280,
                                  check=False)
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
            return done.stdout

        shown = run("-m", "tessera", "jupyter", "install", "--", "--device-memory", "32MiB", "--host-memory", "64MiB")
        assert "Python 3 (Tessera)" in shown, shown
        spec = json.loads(pathlib.Path(folder, "data/kernels/tessera/kernel.json").read_text(encoding="utf-8"))
        assert spec["argv"][:6] == [str(python), "-m", "tessera", "run", "--device-memory", "32MiB"], spec
        cells = ["%load_ext tessera", "%tessera", "%%tessera_profile\n1 + 1", "%%tessera_profile\n" + ALLOCATE, "%tessera",
                 "%tessera sleep", "%%tessera_profile\nimport tessera; tessera.wake()", "%tessera nap", "%%tessera_profile\n1 / 0"]
        told = [eval(line) for line in run("-c", CELLS, *cells).splitlines()]
        assert [status for status, _, _ in told] == ["ok"] * 8 + ["error"], told
        _, early, none, grown, state, slept, woken, wrong, _ = (text for _, text, _ in told)
        assert "when a CUDA context is current" in early and "when a CUDA context is current" in none, (early, none)
        assert "evictions" in grown and "live_blocks" in grown, grown
        assert "fetches" in woken and "live_blocks" not in woken, woken
        first, second = (check_report(told[i][2], folder) for i in (3, 6))
        assert first.figures["blocks.allocations"] == 24 and first.figures["moves.bytes_out"] > 0, first.figures
        assert second.figures["blocks.allocations"] == 0 and second.figures["moves.bytes_out"] == 0, second.figures
        assert second.figures["moves.bytes_in"] > 0 and second.figures["blocks.live_blocks"] == 24, second.figures
        assert not any(html for _, _, html in told[:3] + told[4:6] + told[7:])
        assert "device_capacity" in state and "32.0 MiB" in state, state
        assert slept.startswith("Moved(moved_bytes="), slept
        assert wrong.startswith("usage: %tessera"), wrong


if __name__ == "__main__":
    main()
