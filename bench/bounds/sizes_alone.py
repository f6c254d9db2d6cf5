"""What iterations of many sizes take, over what each of these sizes takes when the program repeats it alone.

Usage: sizes_alone.py BUILD TRACE... [--budgets 50] [--from 10] [-o FILE]

Each iteration of a trace is replayed on its own, twelve times, behind what the program does before its first iteration;
the last two count. Iterations that allocate the same sizes are replayed once. `over` is the time of the trace's
iterations from --from on, replayed once in their order, over the sum of what these take alone. All under `auto`, with a
percentage of the liveness peak of the whole trace, and links of 25 GB/s.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import iteration
import options

ALONE = 12  # passes


def replay(build, trace, memory, passes):
    """The times of all iterations in nanoseconds, and the liveness peak in bytes."""
    words = [build / "bin" / "tessera", "replay", trace, "--json", "--policy", "auto", "--iterations", str(passes),
             "--host-memory", "128GiB", "--device-memory", str(memory)]
    done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return done["iteration_ns"], done["liveness_peak_bytes"]


def cut(lines):
    """(what comes before the first iteration, the lines of each iteration)."""
    begins = []
    for number, line in enumerate(lines):
        event = json.loads(line)
        if event["t"] == "mark" and event.get("kind") == "iteration":
            begins.append(number)
    return lines[:begins[0]], [lines[a:b] for a, b in zip(begins, [*begins[1:], len(lines)])]


def sizes_of(lines):
    events = map(json.loads, lines)
    return tuple((event.get("name"), event.get("bytes")) for event in events if event["t"] in ("alloc", "op"))


def time_alone(build, lines, memory):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        times, _ = replay(build, file.name, memory, ALONE)
    return sum(times[-2:]) / 2


def row_of(build, trace, budget, begin, threads):
    before, iterations = cut(iteration.lines_of(trace))
    _, peak = replay(build, trace, "1TiB", 1)
    memory = peak * budget // 100
    sizes = [sizes_of(lines) for lines in iterations]
    together = threads.submit(replay, build, trace, memory, 1)
    alone = {size: threads.submit(time_alone, build, before + lines, memory) for size, lines in zip(sizes, iterations)}
    times = together.result()[0]
    sum_alone = sum(alone[size].result() for size in sizes[begin:])
    return {"trace": trace.name.split(".")[0], "budget": budget, "sizes": len(alone), "iterations": len(sizes) - begin,
            "alone_ms": round(sum_alone / 1e6, 1), "over": round(sum(times[begin:]) / sum_alone, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("traces", nargs="+", type=pathlib.Path, metavar="TRACE")
    options.add_budgets(parser)
    parser.set_defaults(budgets=[50])
    parser.add_argument("--from", dest="begin", type=int, default=10, help="the first iteration that counts, from 0")
    options.add_out(parser)
    chosen = parser.parse_args()
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for trace in chosen.traces:
            for budget in chosen.budgets:
                rows.append(row_of(chosen.build, trace, budget, chosen.begin, threads))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    options.write({"from": chosen.begin, "traces": rows}, chosen.out)


if __name__ == "__main__":
    main()
