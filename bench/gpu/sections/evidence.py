"""Whether Tessera managed a program's memory, by the statistics that the library writes when the process ends.

Equal results alone prove nothing: a program without Tessera has them too. Each run gets a new folder, in which each
process that Tessera managed leaves one file, named by its process id. There is none with `TESSERA_OFF=1`, without
the library, or if no memory came from it.
"""

import json
import pathlib
import tempfile

# Group and name of the statistics that are recorded with an answer.
FIGURES = [("blocks", "allocations"), ("blocks", "peak_live_bytes"), ("device", "device_capacity"),
           ("device", "device_peak"), ("host", "host_peak"), ("moves", "bytes_in"), ("moves", "bytes_out"),
           ("moves", "fetches"), ("moves", "evictions"), ("waits", "stalls"), ("waits", "stall_ns"),
           ("waits", "late_fetches"), ("uses", "launches")]


def figures(report):
    return {name: report[group][name] for group, name in FIGURES} | {
        "exposed_bytes_by_reason": report["exposed_bytes_by_reason"]}


def read(folder):
    """The statistics of each process, by process id. Truncated files are ignored."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            found[int(path.stem)] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
    return found


def judge(reports, pid, evicts):
    """What the reports show about the program that ran as `pid` (None: any process), and "missing" if that is not
    enough."""
    if not reports:
        return {"missing": "no statistics: Tessera was not active in this program"}
    if pid is not None and pid not in reports:
        return {"missing": "no statistics of the program itself", "processes": sorted(reports)}
    # If several processes have reports, the one with the most memory.
    shown = reports[pid] if pid is not None else max(
        reports.values(), key=lambda report: report["blocks"]["peak_live_bytes"])
    facts = figures(shown)
    if facts["allocations"] == 0:
        facts["missing"] = "none of its memory came from Tessera"
    elif evicts and facts["evictions"] == 0:
        facts["missing"] = "nothing was evicted, although device memory was too small"
    return facts


def run(place, command, limit, options=(), more=None, evicts=False, before=()):
    """`command` under `tessera run`: (outcome, evidence). `before`: a wrapper command, which makes the process id
    unknown."""
    with tempfile.TemporaryDirectory(dir=place.scratch, prefix="stats-") as folder:
        line = place.under_tessera(command, "--no-control", "--stats", f"{folder}/%p.json", *options)
        outcome = place.run([*before, *line], limit, more)
        return outcome, judge(read(folder), None if before else outcome.pid, evicts)


def answer(right, evidence):
    """"yes" requires both: the result is right, and Tessera managed the memory."""
    return "yes" if right and "missing" not in evidence else "no"
