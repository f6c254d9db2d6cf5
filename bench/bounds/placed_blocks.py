"""What it would win if blocks of a repeated iteration shared pages by plan, and if all that is made in a burst did.

The allocator is as it is: the trace is another one, of a program that asks for *bundles* (bundles.py) and not for their blocks.
Variants: `plain` is the trace itself; `64` has bundles of at most 64 MiB of what an iteration makes; `burst` has bundles of what is
there before it and stays, cut as if one knew what follows, `first-come` filled as an allocator meets the blocks; `64+burst` both.

`held` is counted: pages behind live blocks at most, over what is live at most in the plain trace; what stays counts as if it shared
pages without loss. `fits_in` is that of page_rounding.py, over the same. `times` are those of the last of ten iterations under `auto`
over its computing, by device memory in percent of the same; null where that does not do for one operation.

Usage: placed_blocks.py BUILD TRACE... [--most 64,128] [--budgets 90,70,50,35] [--stays burst,first-come] [--keep FOLDER] [-o FILE]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import bundled_trace
import bundles
import iteration
import options
import page_rounding

ITERATIONS = 10


def written(events, path):
    path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events), encoding="utf-8")
    return path


def time_of(build, trace, memory):
    played = page_rounding.last_pass(build, trace, memory, ITERATIONS)
    return round(played["ns"] / played["compute_ns"], 4) if played else None


def plans_of(events, sizes, stays):
    """By name: the bundles of each variant, and the room of their runs where it is not what they need."""
    placed = {str(most): bundles.placed(events, most << 20).bundles for most in sizes}
    plans = {"plain": ([], {}), **{name: (found, {}) for name, found in placed.items()}}
    for name in stays:
        staying, rooms = (bundles.staying(events), {}) if name == "burst" else bundles.first_come(events)
        plans |= {name: (staying, rooms), **{f"{most}+{name}": (found + staying, rooms) for most, found in placed.items()}}
    return plans


def row_of(build, path, peak, events, budgets):
    return {"held": round(max(bundles.held_by(events)) / peak, 4), "fits_in": page_rounding.fits_in(build, path, peak),
            "times": {budget: time_of(build, path, -(-peak * budget // (100 * bundles.PAGE)) * bundles.PAGE) for budget in budgets}}


def rows_of(chosen, trace, folder):
    events = [json.loads(line) for line in iteration.lines_of(trace) if line.strip()]
    peak, measured = bundles.live_peak(events), {}
    for variant, (plan, rooms) in plans_of(events, chosen.most, chosen.stays).items():
        changed = bundled_trace.bundled(events, plan, rooms)
        spare = sum(rooms[bundle[0].id] - bundles.size_of(bundle) for bundle in plan if bundle[0].id in rooms)
        wrong = list(bundled_trace.objections(changed)) + list(bundled_trace.differences(events, changed, spare))
        assert not wrong, wrong[:3]
        same = json.dumps([sorted([block.id for block in bundle] for bundle in plan), sorted(rooms.items())])
        if same not in measured:  # a plan without a bundle is the plain trace
            path = written(changed, folder / f"{trace.name.split('.')[0]}-{variant}.jsonl") if plan else trace
            measured[same] = row_of(chosen.build, path, peak, changed, chosen.budgets)
        yield {"trace": trace.name.split(".")[0], "variant": variant, "live_peak_bytes": peak, "bundles": len(plan),
               "blocks": sum(map(len, plan)), "largest_bytes": max(map(bundles.size_of, plan), default=0), **measured[same]}


def summary_of(rows, budgets):
    """By variant and budget: the mean over traces of its time over that of the plain trace."""
    plain = {row["trace"]: row["times"] for row in rows if row["variant"] == "plain"}
    over = {}
    for row in rows:
        for budget in budgets:
            if row["times"][budget] and plain[row["trace"]][budget]:
                over.setdefault(row["variant"], {}).setdefault(budget, []).append(row["times"][budget] / plain[row["trace"]][budget])
    return {variant: {budget: round(statistics.mean(ratios), 4) for budget, ratios in found.items()} for variant, found in over.items()}


def commit():
    """Of these sources; empty without a repository. What is replayed is the same on every machine."""
    words = ["git", "-C", pathlib.Path(__file__).parent, "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("traces", nargs="+", type=pathlib.Path, metavar="TRACE")
    parser.add_argument("--most", default=[64, 128], help="MiB of a bundle, with commas",
                        type=lambda text: [int(most) for most in text.split(",")])
    parser.add_argument("--stays", default=[], help="bundles of what stays, too: burst, first-come or both, with commas",
                        type=lambda text: text.split(","))
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where the traces with bundles are left")
    options.add_budgets(parser)
    options.add_out(parser)
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as passing:
        for trace in chosen.traces:
            for row in rows_of(chosen, trace, chosen.keep or pathlib.Path(passing)):
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    options.write({"commit": commit(), "options": {"most": chosen.most, "budgets": chosen.budgets, "iterations": ITERATIONS},
                   "summary": summary_of(rows, chosen.budgets), "results": rows}, chosen.out)


if __name__ == "__main__":
    main()
