#!/usr/bin/env python3
"""Prints the figures of docs/policy-benchmark.md about `auto`, from the results in bench/results.

  python3 bench/policy_bench_figures.py [RESULTS]

For each bench: how often `auto` is first, and its time relative to the best other policy in each cell. Then its
time relative to the bound of the linear program (bench/bounds/fluid_bound.py), and the gain from a device that lends
memory.
"""
import json
import math
import pathlib
import sys

OURS = "auto"
NEAR = 1.001  # within this factor of the shortest time counts as first, as in `tessera policy-bench`
BENCHMARKS = {"": "twelve families", "short-host": "the host short too", "peer": "a device lends", "recorded": "recorded models",
              "varying": "iterations that differ", "chosen-kernels": "kernels chosen by size"}


def steps(folder):
    """{(trace, budget): {policy: ns}} of the runs that finished."""
    cells = {}
    for row in json.loads((folder / "policy_bench.json").read_text())["rows"]:
        if row.get("step_ns"):
            cells.setdefault((row["trace"], row["budget"]), {})[row["policy"]] = row["step_ns"]
    return {cell: by_policy for cell, by_policy in cells.items() if OURS in by_policy}


def best_other(by_policy):
    return min((ns, policy) for policy, ns in by_policy.items() if policy != OURS)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tell_policy_bench(name, cells):
    over = {cell: by_policy[OURS] / best_other(by_policy)[0] for cell, by_policy in cells.items()}
    first = sum(ratio < NEAR for ratio in over.values())
    alone = sum(ratio * NEAR < 1 for ratio in over.values())
    print(f"{name}: first in {first} of {len(over)} cells, alone in {alone}; over the best other "
          f"{mean(over.values()):.3f} in the mean, {max(over.values()):.4f} at worst")
    for cell in sorted(cell for cell, ratio in over.items() if ratio >= NEAR):
        print(f"  behind {best_other(cells[cell])[1]} by {over[cell] - 1:.2%}: {cell[0]} at {cell[1]} %")


def tell_bounds(cells, bounds):
    print(f"{OURS} over the linear program:")
    for trace in dict.fromkeys(cell[0] for cell in cells):
        row = [f"{by_policy[OURS] / bounds[cell]:.2f}" for cell, by_policy in cells.items()
               if cell[0] == trace and cell in bounds]
        if row:
            print(f"  {trace:32}{'  '.join(row)}")


def tell_lender(cells, lent):
    print("a quarter lent, at half:  alone, lent, as fast, over the next")
    for cell, by_policy in lent.items():
        alone, ns = cells[cell][OURS], by_policy[OURS]
        other, policy = best_other(by_policy)
        print(f"  {cell[0]:32}{alone / 1e6:.0f} ms, {ns / 1e6:.0f} ms, {alone / ns:.2f}, {ns / other:.2f} ({policy})")


def main():
    kept = pathlib.Path(__file__).parent / "results"
    results = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else kept
    benches = {folder: steps(results / folder) for folder in BENCHMARKS}
    for folder, name in BENCHMARKS.items():
        tell_policy_bench(name, benches[folder])
    bounds = json.loads((kept / "fluid_bounds.json").read_text())["bounds"]
    tell_bounds(benches[""], {(bound["trace"], bound["budget"]): bound["bound_ns"] for bound in bounds})
    tell_lender(benches[""], benches["peer"])


if __name__ == "__main__":
    main()
