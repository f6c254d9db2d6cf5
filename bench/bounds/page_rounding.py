"""What is lost to pages: how much memory a program needs for its iterations to go on without a copy.

Pages are 2 MiB, and the frames behind free pages serve others, so holes between blocks cost addresses and no memory: what
a program holds at most is the pages that hold a live block. `in_pages` counts them as if no two blocks above 1 MiB shared one;
`fits_in` is measured: the least device memory, over what is live at most and to a thousandth, in which the fifth iteration under `auto`
brings nothing in. Beside it the time of that iteration over its computing with 3 % more memory than is live at most; null where
that does not do for one operation.

Usage: page_rounding.py BUILD TRACE... [-o FILE]
"""

import argparse
import json
import pathlib
import subprocess

import iteration
import options

PAGE = 2 << 20
SHARED = 1 << 20  # blocks up to this size always share pages
LARGEST = 1500  # thousandths of the peak that are tried


def in_pages(size):
    return -(-size // PAGE) * PAGE if size > SHARED else size


def rounding(events):
    """Bytes: live at most, and likewise where each block above SHARED has pages of its own."""
    sizes, live, paged, peak, paged_peak = {}, 0, 0, 0, 0
    for event in events:
        if event["t"] == "alloc":
            size = sizes[event["id"]] = event["bytes"]
            live, paged = live + size, paged + in_pages(size)
        elif event["t"] == "free":
            size = sizes.pop(event["id"])
            live, paged = live - size, paged - in_pages(size)
        peak, paged_peak = max(peak, live), max(paged_peak, paged)
    return peak, paged_peak


def last_pass(build, trace, memory, iterations=5):
    """None where memory does not do for one operation."""
    words = [build / "bin" / "tessera", "replay", trace, "--device-memory", str(memory), "--host-memory", "128GiB", "--policy",
             "auto", "--iterations", str(iterations), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["last_pass"] if done.returncode == 0 else None


def fits_in(build, trace, peak):
    """Over the peak; LARGEST thousandths when that does not do."""
    low, high = 999, LARGEST  # it does not fit in the one, and is not asked for more than the other
    while high - low > 1:
        middle = (low + high) // 2
        played = last_pass(build, trace, peak * middle // 1000)
        if played and played["bytes_h2d"] == 0:
            high = middle
        else:
            low = middle
    return high / 1000


def row_of(build, trace):
    peak, paged = rounding(map(json.loads, iteration.lines_of(trace)))
    played = last_pass(build, trace, peak * 103 // 100)
    return {"trace": trace.name.split(".")[0], "live_peak_bytes": peak, "in_pages": round(paged / peak, 4),
            "fits_in": fits_in(build, trace, peak), "time_at_103": round(played["ns"] / played["compute_ns"], 4) if played else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("traces", type=pathlib.Path, nargs="+")
    options.add_out(parser)
    chosen = parser.parse_args()
    rows = [row_of(chosen.build, trace) for trace in chosen.traces]
    options.write({"results": rows}, chosen.out)


if __name__ == "__main__":
    main()
