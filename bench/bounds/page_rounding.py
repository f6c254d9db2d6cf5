"""What is lost to pages: how much memory a program needs for its iterations to go on without a copy.

Pages are 2 MiB, and the frames behind free pages are reused, so holes between blocks cost addresses but no memory.
The peak of a program is therefore the number of pages that hold a live block. `in_pages` counts them as if no two
blocks above 1 MiB shared a page. `fits_in` is measured: the least device memory, relative to the live peak and to a
thousandth, in which the fifth iteration under `auto` fetches nothing. The last figure is that iteration's time over
its compute time with 3 % more memory than the live peak; null if that is too little for a single operation.

Usage: page_rounding.py BUILD TRACE... [-o FILE]
"""

import argparse
import json
import pathlib
import subprocess

import iteration
import options

PAGE = 2 << 20
SHARED = 1 << 20  # blocks up to this size share pages
LARGEST = 1500  # upper end of the search, in thousandths of the peak


def in_pages(size):
    return -(-size // PAGE) * PAGE if size > SHARED else size


def rounding(events):
    """Bytes: the live peak, and the same with blocks above SHARED in pages of their own."""
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
    """None if the memory is too small for a single operation."""
    words = [build / "bin" / "tessera", "replay", trace, "--device-memory", str(memory), "--host-memory", "128GiB", "--policy",
             "auto", "--iterations", str(iterations), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["last_pass"] if done.returncode == 0 else None


def fits_in(build, trace, peak):
    """In thousandths of the peak; LARGEST if that is not enough either."""
    low, high = 999, LARGEST  # it does not fit in `low`; more than `high` is not tried
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
