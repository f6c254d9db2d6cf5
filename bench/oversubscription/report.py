"""Tables and plots of the measurements of run.py."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "integration"))

from virtual_environment import Unavailable, environment_with  # noqa: E402

MATPLOTLIB = "3.10.6"
MIB = 1 << 20
# Key of a row, heading.
WAYS = (("auto", "Tessera, `auto`"), ("recency", "Tessera, `recency`"), ("offload", "explicit offload"),
        ("paging", "paging on demand"))


def percent(part):
    return f"{100 * part:.0f} %"


def throughput(program, way):
    return percent(program["memory_ns"] / way["ns"]) if way else "-"


def moved(program, way):
    """Bytes in and out of one step, as MiB."""
    return f"{way['bytes_in'] / program['steps'] / MIB:.1f}, {way['bytes_out'] / program['steps'] / MIB:.1f}"


def stall(program, way):
    """The stall time of one step in ms, and its causes: the longest first, without those that round to zero."""
    def ms(ns):
        return f"{ns / program['steps'] / 1e6:.2f}"
    causes = sorted(way["stall_ns_by_cause"].items(), key=lambda cause: -cause[1])
    told = ", ".join(f"{name.replace('_', ' ')} {ms(ns)}" for name, ns in causes if ms(ns) != "0.00")
    return f"{ms(way['stall_ns'])} ms" + (f": {told}" if told else "")


def table(program):
    """As Markdown: throughput relative to all in memory, and the costs of one step."""
    step_ns = program["memory_ns"] / program["steps"]
    lines = [f"`{program['command']}`: {program['title']}, {program['live_peak'] / MIB:.0f} MiB live, a {program['step']} "
             f"takes {step_ns / 1e6:.2f} ms with all in memory", "",
             "| live / device | bound | " + " | ".join(name for _, name in WAYS)
             + " | stall a step, `auto` | MiB in, out a step, `auto` | real time, alone = 1 |",
             "| --- " * (len(WAYS) + 5) + "|"]
    for row in program["rows"]:
        auto = row["auto"]
        lines.append("| " + " | ".join((
            f"{row['ratio']:.1f}", percent(min(1, program["memory_ns"] / row["lower_bound_ns"])),
            *(throughput(program, row.get(key)) for key, _ in WAYS),
            stall(program, auto), moved(program, auto),
            f"{row['real_seconds'] / program['real_alone_seconds']:.2f}")) + " |")
    return "\n".join(lines) + "\n"


def page(body):
    about = ", ".join(f"{key} {value}" for key, value in body["environment"].items())
    return "\n".join([f"Written by `bench/oversubscription/run.py`; {about}", "",
                      *(table(program) for program in body["programs"])])


def plot(build, path, folder):
    """Draws the plots with matplotlib, in its own virtual environment; without it the old plots stay, and a message
    is printed."""
    try:
        python = environment_with(pathlib.Path(build).resolve(), "matplotlib", MATPLOTLIB)
    except Unavailable as why:
        print(f"The plots in {folder} are out of date, because matplotlib is not available: {why}", file=sys.stderr)
        return
    subprocess.run([python, HERE / "plot.py", path, folder], check=True)
