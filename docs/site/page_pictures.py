"""Pictures of the report and of the live page, as Chromium shows them: docs/examples/recordings/*.png.

recordings.py takes them. No two are equal, as a page shows when something happened: each is checked as it is taken.
"""

import subprocess
import tempfile
import time

from browser import Browser
from shown_page import colours

TRAIN = ("train", "--kernels", "train_kernels.so", "--losses", "losses", "--layers", "6", "--width", "512", "--batch", "64")
BUDGETS = ("--device-memory", "24MiB", "--host-memory", "48MiB")
LARGEST = 150_000  # bytes of a picture
PLOT_COLOURS = 3
SHOWN_SECONDS = 25  # of the live page's plots


def plot_colours(picture):
    """How many colours the plots have: each fills an area, other than text and lines do."""
    return sum(max(colour) - min(colour) > 60 and count > 200 for colour, count in colours(picture).items())


def take(browser, picture, height):
    browser.when_shown(picture, lambda: plot_colours(picture) >= PLOT_COLOURS, height=height)
    if picture.stat().st_size > LARGEST:
        raise AssertionError(f"{picture} has {picture.stat().st_size} bytes, more than {LARGEST}")


def report(stage, picture):
    history = stage.folder / "train.json"
    for command in (("tessera", "run", *BUDGETS, "--history", history, "--", *TRAIN, "--steps", "16"),
                    ("tessera", "report", history)):
        subprocess.run(command, cwd=stage.folder, env=stage.variables | stage.device, check=True, capture_output=True, timeout=280)
    browser = Browser()
    try:
        browser.open(history.with_suffix(".html").as_uri())
        browser.when("document.readyState === 'complete'")
        take(browser, picture, 1470)
    finally:
        browser.close()


def live_page(stage, picture):
    with tempfile.TemporaryDirectory() as runtime:
        variables = stage.variables | stage.device | {"XDG_RUNTIME_DIR": runtime}

        def start(*command):
            return subprocess.Popen(command, cwd=stage.folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)

        program = start("tessera", "run", *BUDGETS, "--", *TRAIN, "--steps", "1000000")
        server = start("tessera", "top", "--web", "--interval", "0.5")
        browser = Browser()
        try:
            browser.open(server.stdout.readline().strip())
            plots = f"document.querySelectorAll('section[data-pid=\"{program.pid}\"] svg').length"
            browser.when(f"{plots} > 2")
            time.sleep(SHOWN_SECONDS)
            take(browser, picture, 1240)
        finally:
            browser.close()
            for process in (server, program):
                process.kill()
                process.communicate()


PICTURES = {"live_page": live_page, "report": report}
