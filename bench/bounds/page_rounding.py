"""What is lost because no two blocks above 1 MiB share a page, and what a placement by plan could win of it.

Pages are 2 MiB, and the frames behind free pages serve others, so holes between blocks cost addresses and no memory: what
a program holds at most is its live blocks in whole pages. Of blocks that are there before an iteration begins and are
not freed, no plan for iterations changes the addresses; what is lost for them is lost. Beside it what happens with 3 % more memory
than is live at most: bytes that come in in an iteration, and its time over its computing.

Usage: page_rounding.py BUILD TRACE... [-o FILE]
"""

import argparse
import json
import pathlib
import subprocess

import iteration

PAGE = 2 << 20
SHARED = 1 << 20  # blocks up to this size share pages


def in_pages(size):
    return -(-size // PAGE) * PAGE if size > SHARED else size


def rounding(events):
    """Bytes: live at most; likewise in pages; and what pages lose then to blocks that are never freed."""
    events = list(events)
    freed = {event["id"] for event in events if event["t"] == "free"}
    sizes, live, paged, lost_for_good = {}, 0, 0, 0
    peak, paged_peak, lost_at_peak = 0, 0, 0
    for event in events:
        if event["t"] == "alloc":
            size = sizes[event["id"]] = event["bytes"]
            live, paged = live + size, paged + in_pages(size)
            if event["id"] not in freed:
                lost_for_good += in_pages(size) - size
        elif event["t"] == "free":
            size = sizes.pop(event["id"])
            live, paged = live - size, paged - in_pages(size)
        peak = max(peak, live)
        if paged > paged_peak:
            paged_peak, lost_at_peak = paged, lost_for_good
    return peak, paged_peak, lost_at_peak


def last_pass(build, trace, memory):
    words = [build / "bin" / "tessera", "replay", trace, "--device-memory", str(memory), "--host-memory", "128GiB", "--policy",
             "auto", "--iterations", "5", "--json"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["last_pass"]


def row_of(build, trace):
    peak, paged, lost = rounding(map(json.loads, iteration.lines_of(trace)))
    after = last_pass(build, trace, peak * 103 // 100)
    return {"trace": trace.name.split(".")[0], "live_peak_bytes": peak, "in_pages": round(paged / peak, 4),
            "lost_to_older_blocks": round(lost / peak, 4), "bytes_in_at_103": after["bytes_h2d"],
            "time_at_103": round(after["ns"] / after["compute_ns"], 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("traces", type=pathlib.Path, nargs="+")
    parser.add_argument("-o", type=pathlib.Path, metavar="FILE")
    chosen = parser.parse_args()
    rows = [row_of(chosen.build, trace) for trace in chosen.traces]
    text = json.dumps({"results": rows}, indent=1) + "\n"
    if chosen.o:
        chosen.o.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
