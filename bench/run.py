"""Measures everything that docs/benchmarks.md shows, and writes its tables and plots anew.

Usage: run.py BUILD [--only NAME,...]

Runs each benchmark program of a release build, the demo and bench/oversubscription, one after the other, stores
their output in bench/results/, and fills the tables of docs/benchmarks.md from it. The machine should be idle
otherwise. The text around the tables is written by hand, after reading them.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import tables  # noqa: E402
from environment import environment_of  # noqa: E402


def told(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, timeout=900, check=True)
    return json.loads(done.stdout)


def keep(name, body, results):
    (results / f"{name}.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")


def mebibytes(count):
    return f"{count / (1 << 20):.0f} MiB" if count else ""


def demo(build, environment):
    """The demo's three configurations, a row each."""
    body = told([build / "bin" / "tessera", "demo", "--json"])
    ways = (("a", "ample memory", "ample"), ("b", "a third, alone", "small"), ("c", "a third, Tessera", "small"))
    rows = []
    for key, name, memory in ways:
        way = body[key]
        moved = ("bytes_in", "bytes_out", "bytes_file_read", "bytes_file_written")
        rows.append({"way": name, "device memory": mebibytes(body[memory]), "outcome": way["outcome"],
                     "live peak": mebibytes(way["live_peak"])} |
                    {peak: mebibytes(way.get(peak)) for peak in ("device_peak", "host_peak", "file_peak")} |
                    {"in, out, file read, written": ", ".join(mebibytes(way.get(key)) for key in moved if way.get(key))})
    return {"environment": environment, "smoke": False, "results": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of a release build")
    parser.add_argument("--only", default="", help="names, with commas")
    words = parser.parse_args()
    build, results = words.build.resolve(), HERE / "results"
    environment = environment_of(build, smoke=False)
    steps = {program.name: lambda program=program: keep(program.name, told([program, "--json"]), results)
             for program in sorted((build / "bench").glob("*_bench"))}
    steps["demo"] = lambda: keep("demo", demo(build, environment), results)
    steps["oversubscription"] = lambda: subprocess.run([sys.executable, HERE / "oversubscription" / "run.py", build],
                                                       check=True)
    steps["unchanged"] = lambda: keep("unchanged", told([sys.executable, HERE / "unchanged.py", build, "--json"]), results)
    chosen = words.only.split(",") if words.only else list(steps)
    for name in chosen:
        if name not in steps:
            parser.error(f"unknown benchmark: {name}; available: {', '.join(steps)}")
    for name in chosen:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        steps[name]()
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)
    tables.main()


if __name__ == "__main__":
    main()
