"""From when on `auto` is steady: what the first iterations of a program take over those behind them.

Usage: third_iteration.py BUILD TRACE... [--budgets 90,70,50,35] [-o FILE]

The program goes through the trace's iteration again and again. The first has no plan, the second one from its middle on. `second` is
what the second takes over the sixth, and so on; each is the difference of two replays' makespans, so that
it ends with its last operation. Memory is a percentage of the liveness peak, links carry 25 GB/s.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

import options

PAGE = 2 << 20
STEADY = 6  # the iteration that counts as steady


def makespan_ns(build, trace, memory, iterations):
    """None if the memory is too small for a single operation."""
    words = [build / "bin" / "tessera", "replay", trace, "--device-memory", str(memory), "--host-memory", "128GiB",
             "--policy", "auto", "--iterations", str(iterations), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["makespan_ns"] if done.returncode == 0 else None


def liveness_peak(build, trace):
    done = subprocess.run([build / "bin" / "tessera", "replay", trace, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["liveness_peak_bytes"]


def row_of(build, trace, peak, budget, threads):
    memory = -(-peak * budget // (100 * PAGE)) * PAGE
    ends = list(threads.map(lambda iterations: makespan_ns(build, trace, memory, iterations), range(1, STEADY + 1)))
    if None in ends:
        return None
    times = [end - begin for begin, end in zip([0, *ends], ends)]
    over = [round(time / times[-1], 4) for time in times]
    return {"trace": trace.name.split(".")[0], "budget": budget, "steady_ns": times[-1],
            "second": over[1], "third": over[2], "fourth": over[3]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("traces", nargs="+", type=pathlib.Path, metavar="TRACE")
    options.add_budgets(parser)
    options.add_out(parser)
    chosen = parser.parse_args()
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for trace in chosen.traces:
            peak = liveness_peak(chosen.build, trace)
            for budget in chosen.budgets:
                row = row_of(chosen.build, trace, peak, budget, threads)
                if row is not None:
                    rows.append(row)
                    print(json.dumps(row), file=sys.stderr, flush=True)
    summary = {name: {"mean": round(statistics.mean(row[name] for row in rows), 4), "worst": max(row[name] for row in rows)}
               for name in ("second", "third", "fourth")}
    options.write({"summary": summary, "iterations": rows}, chosen.out)


if __name__ == "__main__":
    main()
