"""A headless Chromium that is driven over its debugging pipe, for tests of pages that change.

Imported by tests; the browser is the headless build that `make check` installs, or the installed one.
"""

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
WIDTH, HEIGHT = 1100, 2000


def above_standard(descriptor):
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64)
    os.close(descriptor)
    return moved


class Browser:
    """One page, what it has requested, and what went wrong in it."""

    def __init__(self):
        # Its processes may write for a moment after they were killed.
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.commands = os.pipe()
        self.events, events = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4; the shell's ends are not these.
        commands, events = above_standard(commands), above_standard(events)
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{events} {commands}<&- {events}>&-', "bash", BROWSER,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", f"--user-data-dir={self.profile.name}", f"--window-size={WIDTH},{HEIGHT}",
             "--remote-debugging-pipe"], pass_fds=(commands, events), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(events)
        self.text, self.number, self.session = b"", 0, None
        self.requests, self.faults = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setScrollbarsHidden", hidden=True)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)
        self.profile.cleanup()

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer)

    def next_message(self):
        while b"\0" not in self.text:
            piece = os.read(self.events, 1 << 16)
            assert piece, "the browser has ended"
            self.text += piece
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if event.get("method") == "Runtime.exceptionThrown":
            self.faults.append(parameters["exceptionDetails"]["text"])
        if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.faults.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))

    def picture(self, path, height):
        """The top of the page as it is shown, as a PNG file."""
        part = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", clip=part)["data"]))

    def when_shown(self, path, condition, height=HEIGHT, seconds=120):
        """Takes pictures until one fulfils the condition."""
        deadline = time.monotonic() + seconds
        self.picture(path, height)
        while not condition():
            assert time.monotonic() < deadline, f"it is never shown so: {path}"
            time.sleep(0.1)
            self.picture(path, height)

    def open(self, url):
        self.ask("Page.navigate", url=url)

    def value_of(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def when(self, script, seconds=120):
        """The value of the script once it is true."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.value_of(script)
            if value:
                return value
            assert time.monotonic() < deadline, (script, self.value_of("document.body.innerText"), self.faults)
            time.sleep(0.1)
