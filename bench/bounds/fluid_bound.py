"""How fast any plan that only moves bytes can be at most: a linear program over a trace.

Bytes flow: any part of any block may go out and come in at any time, on both directions of the link at once, and a
copy that is valid need not be made again. A block that is held after its last use is kept, on the device or as a copy:
only the program knows that nothing needs it. Memory is counted at some moments of the iteration (--moments), the
begins of operations with the most operands; what the device cannot hold there is elsewhere. Time is what the
operations take, and what the link takes longer. Every run of many equal iterations obeys these rules, so none is faster
in the mean, and the mean of a run is a solution: the program is one of averages. More moments make the bound tighter,
fewer leave it valid. It is mostly tighter than the bound that a replay prints, not always: blocks under 1 MiB and what
happens between two moments do not count here. Of two bounds the greater holds. Operations that need more than the device has make it impossible, as they make the run.

Usage: fluid_bound.py TRACE... [--budgets 90,70,50,35] [--rate BYTES_PER_SECOND] [--moments N] [-o FILE]
Needs highspy (PyPI).
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys

import highspy
import numpy

import iteration
import options

GB = 1e9  # numbers near one are what a solver likes
SMALL = 1 << 20  # smaller blocks are left out: this only lowers the bound


@contextlib.contextmanager
def native_output_to_stderr():
    """Some versions of the solver print a banner whatever their options: standard output is for the result."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


class Program:
    """A linear program under construction: minimise the sum of `cost * variable`."""

    def __init__(self):
        self.cost, self.low, self.high = [], [], []
        self.rows, self.columns, self.values, self.limits = [], [], [], []

    def variable(self, cost=0.0, low=0.0, high=1.0):
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        return len(self.cost) - 1

    def at_most(self, terms, limit):
        for variable, value in terms:
            self.rows.append(len(self.limits))
            self.columns.append(variable)
            self.values.append(value)
        self.limits.append(limit)

    def least(self):
        """The minimum; None if there is no solution."""
        solver = highspy.Highs()
        for option, value in {"output_flag": False, "solver": "ipm", "run_crossover": "off", "threads": 1}.items():
            solver.setOptionValue(option, value)
        order = numpy.lexsort((self.rows, self.columns))
        columns = numpy.asarray(self.columns)[order]
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.cost), len(self.limits)
        model.col_cost_ = numpy.array(self.cost)
        model.col_lower_, model.col_upper_ = numpy.array(self.low), numpy.array(self.high)
        model.row_lower_ = numpy.full(len(self.limits), -highspy.kHighsInf)
        model.row_upper_ = numpy.array(self.limits)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = numpy.searchsorted(columns, numpy.arange(len(self.cost) + 1)).astype(numpy.int32)
        model.a_matrix_.index_ = numpy.asarray(self.rows, dtype=numpy.int32)[order]
        model.a_matrix_.value_ = numpy.asarray(self.values, dtype=float)[order]
        solver.passModel(model)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return solver.getInfo().objective_function_value


def moments_of(trace, count):
    """Sampled steps: from each stretch of equal work, the step with the largest operands."""
    steps = len(trace.seconds)
    if steps <= count:
        return list(range(steps))
    operands = [sum(trace.bytes[block] for block in users) for users in trace.users]
    total = sum(trace.seconds) or 1
    work = numpy.cumsum([seconds / total + 1 / steps for seconds in trace.seconds])
    edges = [0, *numpy.searchsorted(work, numpy.linspace(0, work[-1], count + 1)[1:-1]).tolist(), steps]
    return sorted({max(range(a, b), key=operands.__getitem__) for a, b in zip(edges, edges[1:]) if a < b})


class Flow:
    """The linear program of one trace: how much of each block is on the device at each moment."""

    def __init__(self, trace, device, rate, moments):
        self.trace, self.moments, self.steps = trace, moments, len(trace.seconds)
        self.program = Program()
        ends = [*moments[1:], moments[0] + self.steps]
        self.spans = [self.program.variable(1.0, sum(trace.seconds[step % self.steps] for step in range(a, b)),
                                            highspy.kHighsInf) for a, b in zip(moments, ends)]
        self.there = [[] for _ in moments]       # terms of memory that is not on the device
        self.held = [0.0 for _ in moments]       # GB if everything were on the device
        self.inward, self.outward = [[] for _ in moments], [[] for _ in moments]
        for moment, step in enumerate(moments):
            self.held[moment] = sum(trace.bytes[block] for block in trace.users[step] if trace.bytes[block] >= SMALL) / GB
        for contents in trace.contents:
            if trace.bytes[contents.block] >= SMALL:
                self.add(contents)
        for moment in range(len(moments)):
            self.program.at_most(self.there[moment], device / GB - self.held[moment])
            for flow in (self.inward, self.outward):
                self.program.at_most([*flow[moment], (self.spans[moment], -rate / GB)], 0)

    def between(self, begin, end):
        """Moments strictly between two steps; the numbering continues into the following iterations."""
        count = len(self.moments)
        first = next((i for i in range(2 * count + 1) if self.step(i) > begin), None)
        result = []
        while self.step(first) < end:
            result.append(first)
            first += 1
        return result

    def step(self, moment):
        return self.moments[moment % len(self.moments)] + moment // len(self.moments) * self.steps

    def add(self, contents):
        size = self.trace.bytes[contents.block] / GB
        gaps = [moments for moments in (self.between(*gap) for gap in contents.gaps) if moments]
        held = self.between(*contents.held) if contents.held else []
        if not gaps and not held:
            return
        copied = self.copies(contents, (held or gaps[-1])[-1], size)
        for gap in gaps:
            self.come_back(gap, size, self.stay_away(gap, size, copied))
        if held:
            self.stay_away(held, size, copied)

    def copies(self, contents, last, size):
        """Per moment from the write on: the fraction that has been copied out. None if nothing has to be."""
        if contents.written is None:
            return None
        copied, before = {}, None
        for moment in self.between(contents.written, self.step(last) + 1):
            copied[moment] = self.program.variable()
            link = self.outward[(moment - 1) % len(self.moments)]
            link.append((copied[moment], size))
            if before is not None:
                link.append((before, -size))
                self.program.at_most([(before, 1), (copied[moment], -1)], 0)
            before = copied[moment]
        return copied

    def stay_away(self, gap, size, copied):
        """A fraction may be off the device during the gap: only what was copied out. Returns that at its end."""
        before = None
        for moment in gap:
            here = moment % len(self.moments)
            away = self.program.variable()
            self.there[here].append((away, -size))
            self.held[here] += size
            if copied is not None:
                self.program.at_most([(away, 1), (copied[moment], -1)], 0)
            if before is not None:
                comes = self.program.variable()
                self.program.at_most([(before, 1), (away, -1), (comes, -1)], 0)
                self.inward[(moment - 1) % len(self.moments)].append((comes, size))
            before = away
        return before

    def come_back(self, gap, size, away):
        self.inward[gap[-1] % len(self.moments)].append((away, size))


def bound_of(trace, share, rate, moments):
    """Seconds of one iteration when the device has this share of the liveness peak; None if that is infeasible."""
    least = Flow(trace, trace.liveness_peak * share, rate, moments_of(trace, moments)).program.least()
    return None if least is None else least / trace.marks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    options.add_budgets(parser)
    parser.add_argument("--rate", type=float, default=25e9, help="bytes a second, each way")
    parser.add_argument("--moments", type=int, default=64, help="at which memory is counted")
    options.add_out(parser)
    chosen = parser.parse_args()
    rows = []
    for path in chosen.traces:
        trace = iteration.read(path)
        for budget in chosen.budgets:
            with native_output_to_stderr():
                seconds = bound_of(trace, budget / 100, chosen.rate, chosen.moments)
            rows.append({"trace": pathlib.Path(path).name.split(".")[0], "budget": budget,
                         "bound_ns": None if seconds is None else round(seconds * 1e9)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    options.write({"rate": chosen.rate, "moments": chosen.moments, "bounds": rows}, chosen.out)


if __name__ == "__main__":
    main()
