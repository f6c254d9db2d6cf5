"""Runs the requested sections, the most valuable first, and writes one JSON file for each.

Each section is a separate process, which is killed with all its descendants when its time is over; nothing waits for
a process that cannot be killed.
"""

import argparse
import datetime
import json
import pathlib
import re
import shlex
import signal
import sys
import time

from sections import bounded, machine, record
from sections.place import Place
from sections.scratch import Scratch

SCRIPTS = pathlib.Path(__file__).resolve().parent
# Section and its time in seconds: under nine minutes together.
SECTIONS = {"facts": 30, "smoke": 120, "probes": 50, "backends": 60, "contract": 50, "speed": 45, "first_light": 50,
            "pytorch": 50, "segments": 20, "choices": 25, "frameworks": 20, "sanitizer": 15}
GRACE = 20  # seconds that a section may take beyond its time, to end its processes
LEAST = 5  # seconds: a section does not begin with less


def names(text):
    chosen = text.split(",")
    for name in chosen:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"unknown section: {name}; available: {', '.join(SECTIONS)}")
    return chosen


def parse(arguments):
    parser = argparse.ArgumentParser(prog="run.sh", description="Runs the measurements that need a GPU.")
    parser.add_argument("--only", type=names, default=list(SECTIONS), metavar="SECTION,...",
                        help="only these sections: " + ", ".join(SECTIONS))
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="folder for the JSON files (default: one for this GPU and day)")
    parser.add_argument("--root", type=pathlib.Path, metavar="DIR",
                        help="the build folder or bundle (default: the one that contains this script)")
    parser.add_argument("--minutes", type=float, metavar="M",
                        help="stretch or shrink the time of these sections to M minutes in all")
    parser.add_argument("--software", action="store_true",
                        help="on the software device, a few rounds: a smoke test")
    return parser.parse_args(arguments)


def find_root(scripts):
    """A bundle holds these scripts in bench/gpu; a checkout has its builds in build/."""
    tree = scripts.parent.parent
    for root in (tree, tree / "build" / "gpu", tree / "build" / "release"):
        if (root / "bin" / "tessera").is_file():
            return root
    sys.exit("run.sh: no build found: use `make gpu-bundle`, or --root")


def default_folder(facts):
    gpu = re.sub(r"[^a-z0-9]+", "-", facts["gpu"].lower()).strip("-")
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return SCRIPTS.parent / "results" / "gpu" / f"{day}-{gpu}"


class Run:
    """All sections of one call, and the time that is left for them."""

    def __init__(self, options, place, folder, facts, command):
        self.options, self.place, self.folder, self.facts, self.command = options, place, folder, facts, command
        usual = sum(SECTIONS[name] for name in options.only)
        # The software device slows down with the load of the machine, and its runs need not be short.
        self.scale = options.minutes * 60 / usual if options.minutes else 4 if options.software else 1
        self.deadline = time.monotonic() + usual * self.scale

    def section(self, name, module=SCRIPTS / "section.py"):
        """Runs the section, and returns the final contents of its file."""
        file = self.folder / f"{name}.json"
        file.unlink(missing_ok=True)
        seconds = min(SECTIONS[name] * self.scale, self.deadline - time.monotonic())
        if seconds < LEAST:
            record.Record(file, name, self.facts, self.command, 0).out_of_time(name)
            return record.closed(file, {})
        order = {"name": name, "file": str(file), "seconds": seconds, "root": str(self.place.root),
                 "software": self.place.software, "scratch": str(self.place.scratch), "machine": self.facts,
                 "command": self.command}
        program = bounded.Program([sys.executable, "-u", "-B", str(module), json.dumps(order)],
                                  self.place.environment(), SCRIPTS, sys.stdout)
        code = program.wait(seconds + GRACE)
        stuck = program.end()
        if not file.exists():
            record.Record(file, name, self.facts, self.command, seconds)
        ended = {"stderr": program.err.text()[-4000:], "stuck": stuck,
                 "failure": "" if code == 0 else "timed out" if code is None else f"exit code {code}"}
        return record.closed(file, {key: value for key, value in ended.items() if value})


def main(arguments):
    options = parse(arguments)
    root = options.root or find_root(SCRIPTS)
    # A signal that ends this process also ends the processes that it has started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda which, _: sys.exit(128 + which))
    bounded.adopt_orphans()
    scratch = Scratch()
    try:
        place = Place(root, options.software, options.software, scratch.path)
        facts = machine.describe(place)
        folder = (options.out or default_folder(facts)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        command = "run.sh " + " ".join(shlex.quote(word) for word in arguments)
        print(f"{facts['gpu']}, driver {facts['driver']}, commit {facts['commit']}", flush=True)
        start, summary = time.monotonic(), []
        run = Run(options, place, folder, facts, command.strip())
        for name in options.only:
            print(f"== {name}", flush=True)
            summary += record.summary(name, run.section(name))
    finally:
        bounded.end_all()
        scratch.remove()
    print("\n".join(["", *summary, f"{time.monotonic() - start:.0f} s in all, results in {folder}"]))
    return 0 if "problem" not in facts else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
