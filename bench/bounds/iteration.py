"""One repeated iteration of a trace, in the form the bounds need: steps, and the contents that blocks hold between
uses."""

import json
import pathlib
import subprocess
from dataclasses import dataclass, field


@dataclass
class Contents:
    """The contents of a block from one write to the next; step numbers past the last step belong to the next
    iteration."""
    block: int
    written: int | None                # None: never written, so its copy off the device stays valid
    gaps: list[tuple[int, int]] = field(default_factory=list)  # between two uses, both of which need the contents
    held: tuple[int, int] | None = None  # from the last use to the step before which the block is freed: only the
    #                                      program knows that nothing needs them, so they are kept somewhere


@dataclass
class Iteration:
    seconds: list[float]               # by step
    users: list[list[int]]             # by step: the blocks it uses
    bytes: dict[int, int]              # by block
    contents: list[Contents]
    liveness_peak: int                 # bytes, of the whole trace
    marks: int                         # iterations of the program in the trace


def lines_of(path):
    if str(path).endswith(".zst"):
        text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True, text=True).stdout
        return text.splitlines()
    # The file of a program that was killed ends in zeros (docs/traces.md).
    return pathlib.Path(path).read_text(encoding="utf-8").rstrip("\0").splitlines()


def begins_at(events):
    """The first iteration mark that is followed by operations, or the first operation."""
    first = next(i for i, event in enumerate(events) if event["t"] == "op")
    marks = [i for i, event in enumerate(events) if event["t"] == "mark" and event.get("kind") == "iteration"]
    last = max(i for i, event in enumerate(events) if event["t"] == "op")
    return next((i for i in marks if i < last), first)


def contents_of(block, uses, steps, stays, freed=None):
    """`uses`: step -> (reads, writes). `stays`: the block lives across iterations, so its first use follows its
    last. `freed`: the step before which it is freed."""
    order = sorted(uses)
    writes = [step for step in order if uses[step][1]]
    if stays and writes:  # start at the write that begins new contents
        cut = order.index(writes[0])
        order = order[cut:] + [step + steps for step in order[:cut]] + [order[cut] + steps]
    elif stays:
        order = order + [order[0] + steps]
    found = []
    for here, there in zip(order, order[1:]):
        if not found or uses[here % steps][1]:
            found.append(Contents(block, here if uses[here % steps][1] else None))
        if uses[there % steps][0]:  # otherwise it is overwritten: nothing to keep
            found[-1].gaps.append((here, there))
    last = order[-1]
    if freed is not None and freed > last + 1:
        if not found or uses[last][1]:
            found.append(Contents(block, last if uses[last][1] else None))
        found[-1].held = (last, freed)
    return [contents for contents in found if contents.gaps or contents.held]


def read(path):
    events = [json.loads(line) for line in lines_of(path) if line.strip()]
    assert not any(event.get("device") or event.get("recompute_ns") for event in events), "one device, nothing recomputed"
    assert len({event.get("stream", 0) for event in events if event["t"] == "op"}) == 1, "one stream"
    size, live, peak = {}, 0, 0
    for event in events:
        if event["t"] == "alloc":
            size[event["id"]] = event["bytes"]
            live += event["bytes"]
            peak = max(peak, live)
        elif event["t"] == "free":
            live -= size[event["id"]]
    begin = begins_at(events)
    steps = [event for event in events[begin:] if event["t"] == "op"]
    # What an iteration makes or frees itself. Blocks from before it that are freed behind its last operation end with the
    # program, as in a replay.
    end = max(at for at, event in enumerate(events) if event["t"] == "op")
    own = {event["id"] for event in events[begin:] if event["t"] == "alloc"}
    own |= {event["id"] for event in events[begin:end] if event["t"] == "free"}
    freed, ahead = {}, 0
    for event in events[begin:]:
        ahead += event["t"] == "op"
        if event["t"] == "free" and event["id"] in own:
            freed[event["id"]] = ahead
    uses = {}
    for at, step in enumerate(steps):
        for block in {*step.get("r", []), *step.get("w", [])}:
            uses.setdefault(block, {})[at] = (block in step.get("r", []), block in step.get("w", []))
    contents = [one for block, of_block in uses.items()
                for one in contents_of(block, of_block, len(steps), block not in own, freed.get(block))]
    marks = sum(event["t"] == "mark" and event.get("kind") == "iteration" for event in events[begin:])
    return Iteration([step.get("ns", 0) * 1e-9 for step in steps],
                     [sorted({*step.get("r", []), *step.get("w", [])}) for step in steps],
                     size, contents, peak, max(1, marks))
