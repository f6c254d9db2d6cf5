"""Runs one section in a process of its own for run.py, which kills it when its time is over.

Usage: section.py '{"name": ..., "file": ..., "seconds": ..., "root": ..., ...}'
"""

import json
import pathlib
import sys
import traceback

from sections import (backends, bounded, choices, contract, facts, first_light, frameworks, probes, pytorch, sanitizer,
                      segments, smoke, speed)
from sections.place import Place
from sections.record import Record

MODULES = {"facts": facts, "smoke": smoke, "probes": probes, "backends": backends, "contract": contract, "speed": speed,
           "first_light": first_light, "pytorch": pytorch, "segments": segments, "choices": choices,
           "frameworks": frameworks, "sanitizer": sanitizer}


def main(order):
    bounded.adopt_orphans()
    place = Place(order["root"], order["software"], order["software"], order["scratch"])
    record = Record(pathlib.Path(order["file"]), order["name"], order["machine"], order["command"], order["seconds"])
    try:
        MODULES[order["name"]].run(place, record)
    except Exception:
        record.finish(traceback.format_exc(limit=4))
        raise
    record.finish()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
