"""Runs the sections that are asked for, each in its own time, and writes one JSON file for each."""

import argparse
import datetime
import pathlib
import re
import shlex
import shutil
import sys
import time
import traceback

from sections import (choices, contract, first_light, frameworks, machine, pytorch, sanitizer,
                      speed)
from sections.place import Place
from sections.record import Record

# Section, and its time in seconds: under nine minutes together.
SECTIONS = {"first_light": (first_light, 110), "contract": (contract, 60), "speed": (speed, 60),
            "pytorch": (pytorch, 130), "choices": (choices, 60), "frameworks": (frameworks, 40),
            "sanitizer": (sanitizer, 60)}


def names(text):
    chosen = text.split(",")
    for name in chosen:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"no such section: {name}; there are {', '.join(SECTIONS)}")
    return chosen


def parse(arguments):
    parser = argparse.ArgumentParser(prog="run.sh", description="Measures what only a GPU can tell.")
    parser.add_argument("--only", type=names, default=list(SECTIONS), metavar="SECTION,...",
                        help="these sections alone: " + ", ".join(SECTIONS))
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="folder for the JSON files (default: one for this GPU and day)")
    parser.add_argument("--root", type=pathlib.Path, metavar="DIR",
                        help="the build folder or bundle (default: the one that this lies in)")
    parser.add_argument("--minutes", type=float, metavar="M",
                        help="stretch or shrink the time of these sections to M minutes in all")
    parser.add_argument("--software", action="store_true",
                        help="on the software device, a few rounds: shows that it runs")
    return parser.parse_args(arguments)


def find_root(scripts):
    """A bundle holds these scripts in bench/gpu; a checkout has its builds in build/."""
    tree = scripts.parent.parent
    for root in (tree, tree / "build" / "gpu", tree / "build" / "release"):
        if (root / "bin" / "tessera").is_file():
            return root
    sys.exit("run.sh: no build here: `make gpu-bundle`, or --root")


def default_folder(facts):
    gpu = re.sub(r"[^a-z0-9]+", "-", facts["gpu"].lower()).strip("-")
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return pathlib.Path(__file__).resolve().parent.parent / "results" / "gpu" / f"{day}-{gpu}"


def run_section(name, place, record):
    """A section that breaks is recorded and stops no other."""
    try:
        SECTIONS[name][0].run(place, record)
        record.finish()
    except Exception:
        record.finish(traceback.format_exc(limit=4))
        print(traceback.format_exc(limit=4), file=sys.stderr)


def main(arguments):
    options = parse(arguments)
    root = options.root or find_root(pathlib.Path(__file__).resolve().parent)
    place = Place(root, software=options.software, quick=options.software)
    facts = machine.describe(place)
    folder = options.out or default_folder(facts)
    folder.mkdir(parents=True, exist_ok=True)
    command = "run.sh " + " ".join(shlex.quote(word) for word in arguments)
    print(f"{facts['gpu']}, driver {facts['driver']}, commit {facts['commit']}", flush=True)
    start = time.monotonic()
    usual = sum(SECTIONS[name][1] for name in options.only)
    # The software device is as slow as the machine is busy, and has nothing to hurry for.
    scale = options.minutes * 60 / usual if options.minutes else 4 if options.software else 1
    summary = []
    for name in options.only:
        print(f"== {name}", flush=True)
        record = Record(folder / f"{name}.json", name, facts, command.strip(),
                        SECTIONS[name][1] * scale)
        run_section(name, place, record)
        summary += record.summary(name)
    shutil.rmtree(place.scratch, ignore_errors=True)
    print("\n".join(["", *summary, f"{time.monotonic() - start:.0f} s in all, results in {folder}"]))
    return 0 if "problem" not in facts else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
