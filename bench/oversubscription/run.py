"""Four programs on devices too small for them: Tessera beside its bounds and beside other ways.

Usage: run.py BUILD [--out FOLDER] [--smoke] [--only NAME,...]

Each program is run and recorded on the software device. Its trace is given the times of a GPU (timed_trace.py) and
is replayed in virtual time through the real allocator, with 1 to 1/4 of the program's live peak as device memory. It
is compared with all data in memory, the lower bound, and the two contenders of contenders.py. The programs are also
run in real time under Tessera with the same budgets, and their output must be bit-identical to that of a run alone.
Writes oversubscription.json, a table and a plot for each program.
"""

import argparse
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import contenders  # noqa: E402
import report  # noqa: E402
import timed_trace  # noqa: E402
from machine import Machine  # noqa: E402
from programs import WORKLOADS  # noqa: E402

RATIOS = (1.0, 1.1, 1.5, 2.0, 4.0)
SMOKE_RATIOS = (1.0, 2.0)
POLICIES = ("auto", "recency")
BASE_PAGE = 2 << 20
RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results" / "oversubscription"


def same(outcome, alone, what):
    if outcome.results != alone.results:
        raise RuntimeError(f"{what} computed a different result than the program alone")
    return outcome


def of_pass(replay):
    last = replay["last_pass"]
    return {"ns": last["ns"], "stall_ns": max(0, last["ns"] - last["compute_ns"]),
            "stall_ns_by_cause": last["stall_ns_by_cause"], "bytes_in": last["bytes_h2d"],
            "bytes_out": last["bytes_d2h"], "late_fetches": replay["late_fetches"]}


def measure_offload(machine, workload, device, alone):
    """None if the program cannot be cut into phases that small."""
    outcome, trace = machine.record(workload, offload=device)
    same(outcome, alone, f"{workload.name} with explicit offload")
    if outcome.live_peak > device:
        return None
    ns, bytes_in, bytes_out = contenders.offload_ns(trace)
    return {"ns": ns, "bytes_in": bytes_in, "bytes_out": bytes_out, "real_seconds": outcome.seconds}


def measure_ratio(machine, workload, ratio, whole):
    device = -(-int(whole["live_peak"] / ratio) // BASE_PAGE) * BASE_PAGE
    row = {"ratio": ratio, "device_bytes": device}
    for policy in POLICIES:
        replay = machine.replay(whole["path"], device, policy, workload.passes)
        row[policy] = of_pass(replay)
        row["lower_bound_ns"] = replay["last_pass"]["lower_bound_ns"]
    row["paging"] = contenders.paging(whole["trace"], device, workload.passes)
    if ratio > 1:
        row["offload"] = measure_offload(machine, workload, device, whole["alone"])
    real = machine.under_tessera(workload, device)
    row["real_seconds"] = same(real, whole["alone"], f"{workload.name} under Tessera").seconds
    return row


def measure(machine, workload):
    alone = machine.alone(workload)
    recorded, trace = machine.record(workload)
    same(recorded, alone, f"{workload.name} while it was recorded")
    path = machine.scratch / f"{workload.name}.jsonl"
    trace.write(path)
    whole = {"alone": alone, "live_peak": alone.live_peak, "path": path, "trace": trace}
    ample = machine.replay(path, 4 * alone.live_peak, "recency", workload.passes)
    return {"name": workload.name, "title": workload.title, "step": workload.step,
            "command": " ".join([workload.program, *workload.words]),
            "steps": len([line for line in trace.steps if line["t"] == "mark"]),
            "live_peak": alone.live_peak, "memory_ns": ample["last_pass"]["ns"], "real_alone_seconds": alone.seconds,
            "rows": [measure_ratio(machine, workload, ratio, whole) for ratio in (SMOKE_RATIOS if machine.smoke else RATIOS)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--smoke", action="store_true", help="small programs: a smoke test")
    parser.add_argument("--only", default="", help="names, with commas")
    words = parser.parse_args()
    names = [w.name for w in WORKLOADS]
    wanted = words.only.split(",") if words.only else names
    for name in wanted:
        if name not in names:
            parser.error(f"unknown program: {name}; available: {', '.join(names)}")
    chosen = [w for w in WORKLOADS if w.name in wanted]
    with tempfile.TemporaryDirectory() as scratch:
        machine = Machine(words.build, scratch, words.smoke)
        body = {"environment": machine.environment, "smoke": words.smoke,
                "model": {"gpu": timed_trace.GPU.name, "link": timed_trace.LINK}, "programs": []}
        for workload in chosen:
            body["programs"].append(measure(machine, workload))
            print(report.table(body["programs"][-1]), flush=True)
    words.out.mkdir(parents=True, exist_ok=True)
    path = words.out / "oversubscription.json"
    path.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    (words.out / "oversubscription.md").write_text(report.page(body), encoding="utf-8")
    if words.smoke:
        print("A smoke test: the numbers are meaningless.")
    else:
        report.plot(words.build, path, words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
