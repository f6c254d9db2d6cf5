"""One section's results as JSON, with the context that each number needs; written to disk after each result."""

import collections
import datetime
import json
import os
import time


class Record:
    """Results are appended; the file is complete JSON at any moment, also if the run is cut off."""

    def __init__(self, path, section, machine, command, limit):
        self.path = path
        self._deadline = time.monotonic() + limit
        self._start = time.monotonic()
        self.body = {"section": section, **machine, "command": command,
                     "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                     "limit_seconds": limit, "complete": False, "seconds": 0.0, "results": []}
        self._write()

    def left(self, at_most=None):
        """Seconds until the section's time is over."""
        left = max(self._deadline - time.monotonic(), 0.0)
        return left if at_most is None else min(left, at_most)

    def over(self):
        return self.left() <= 0

    def add(self, name, **facts):
        self.body["results"].append({"name": name, **facts})
        self._write()
        short = json.dumps(facts)
        print(f"  {name}: {short if len(short) < 200 else short[:197] + '...'}", flush=True)

    def not_here(self, name, why):
        """Recorded as an answer, never silently skipped."""
        self.add(name, answer="not supported here", why=why)

    def out_of_time(self, name):
        self.add(name, answer="no time left")

    def finish(self, failure=None):
        if failure is not None:
            self.body["failure"] = failure
        self.body["complete"] = failure is None and not self._late()
        self._write()

    def _late(self):
        return any(result.get("answer") == "no time left" for result in self.body["results"])

    def _write(self):
        self.body["seconds"] = round(time.monotonic() - self._start, 3)
        write(self.path, self.body)


def write(path, body):
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)


def closed(path, ended):
    """The file of a section that has ended, with the facts of its process in `ended` added to it."""
    body = json.loads(path.read_text(encoding="utf-8"))
    if "failure" in ended or "stuck" in ended:
        body["complete"] = False
    # The section's own traceback is more useful than an exit code.
    body = {**ended, **body} if "failure" in body else {**body, **ended}
    write(path, body)
    return body


def summary(name, body):
    """A few lines: how many answers of each kind, and which results were bad."""
    kinds = collections.Counter(result.get("answer", "measured") for result in body["results"])
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    lines = [f"{name}: {counts or 'nothing'}, {body['seconds']:.0f} s"
             + ("" if body["complete"] else ", NOT COMPLETE")]
    lines += [f"  {what}: {body[what].strip().splitlines()[-1]}" for what in ("failure", "stuck") if body.get(what)]
    for kind in ("failed", "no", "no time left"):
        those = [result["name"] for result in body["results"] if result.get("answer") == kind]
        if those:
            lines.append(f"  {kind}: {'; '.join(those)}")
    return lines
