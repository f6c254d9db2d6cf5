"""Blocks that share pages by plan: which do.

A *bundle* is one run for several blocks of one tag and stream, laid one behind the other. It is allocated with the first of
them and freed with the last, and what one of them moves, moves all. Pages are saved where all are live, and lost where
one is not yet or not any more; the fuller a moment is, the more they count.
"""

import itertools
import math
from dataclasses import dataclass

import iteration

PAGE = 2 << 20
SHARED = 1 << 20      # blocks up to this size always share pages
STAYING = 16 << 20    # and up to this one those that stay (alloc/block/burst.hpp)
SLAB = 18 << 20       # the most that they share now
ALIGNMENT = 512
STEEPNESS = 0.01      # a moment at which so much of the peak less is held counts e times less
ALWAYS = 0.01         # what a full moment counts besides, so that no life grows for nothing
WORTH = 0.995         # a plan with which more of the peak than this is held is none


@dataclass(frozen=True)
class Block:
    id: int
    bytes: int
    begin: int        # event that allocates it
    end: int          # event that frees it
    kind: tuple       # only blocks of one share pages
    iteration: int = 0


def aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def pages(size):
    return -(-size // PAGE)


def size_of(blocks):
    """Of the run that they share."""
    return blocks[0].bytes if len(blocks) == 1 else sum(aligned(block.bytes) for block in blocks)


def begin_of(blocks):
    return min(block.begin for block in blocks)


def end_of(blocks):
    return max(block.end for block in blocks)


def held_alone(size, stays):
    """Bytes of pages behind a block that is in no bundle; shared ones count as filled."""
    return size if size <= (STAYING if stays else SHARED) else pages(size) * PAGE


def kind_of(alloc):
    return alloc.get("device", 0), alloc.get("stream", 0), alloc.get("tag")


def blocks_of(events):
    """Those that live within one iteration and lose to whole pages."""
    begun, number = iteration.begins_at(events), 0
    found, open_ = [], {}
    for at, event in enumerate(events):
        if event["t"] == "mark" and event.get("kind") == "iteration":
            number += 1
        elif event["t"] == "alloc":
            open_[event["id"]] = (at, event, number)
        elif event["t"] == "free":
            begin, alloc, since = open_.pop(event["id"])
            size = alloc["bytes"]
            if begin >= begun and since == number and size > SHARED and size % PAGE and not alloc.get("regen_ns"):
                found.append(Block(event["id"], size, begin, at, kind_of(alloc), since))
    remade = {event["id"] for event in events if event["t"] == "regen"}
    return [block for block in sorted(found, key=lambda block: block.begin) if block.id not in remade]


def held_by(events, apart=()):
    """Bytes of pages after each event, without the blocks in `apart`."""
    begun = iteration.begins_at(events)
    apart = {block.id for block in apart}
    ends = {event["id"] for event in events if event["t"] == "free"}
    behind, held, curve = {}, 0, []
    for at, event in enumerate(events):
        if event["t"] == "alloc" and event["id"] not in apart:
            behind[event["id"]] = held_alone(event["bytes"], at < begun or event["id"] not in ends)
            held += behind[event["id"]]
        elif event["t"] == "free" and event["id"] not in apart:
            held -= behind.pop(event["id"])
        curve.append(held)
    return curve


def live_peak(events):
    sizes = {event["id"]: event["bytes"] for event in events if event["t"] == "alloc"}
    changes = ({"alloc": 1, "free": -1}.get(event["t"], 0) * sizes.get(event.get("id"), 0) for event in events)
    return max(itertools.accumulate(changes))


def together(fixed, bundles):
    """Bytes of pages after each event, with these bundles."""
    changes = [0] * (len(fixed) + 1)
    for bundle in bundles:
        size = pages(size_of(bundle)) * PAGE
        changes[begin_of(bundle)] += size
        changes[end_of(bundle)] -= size
    return [held + more for held, more in zip(fixed, itertools.accumulate(changes))]


def sums_of_weights(curve):
    """Before each event, and of all: how much it counts to hold a page then."""
    peak = max(curve)
    return [0.0, *itertools.accumulate(math.exp((held / peak - 1) / STEEPNESS) + ALWAYS * held / peak for held in curve)]


def cut(row, most, before):
    """The row in parts of at most `most` bytes, for which the pages of each, through its life, weigh least together."""
    best = [(0.0, 0)]  # of the blocks before each: what they weigh, and where their last part begins
    for end in range(1, len(row) + 1):
        found = []
        for begin in range(end - 1, -1, -1):
            part = row[begin:end]
            if len(part) > 1 and size_of(part) > most:
                break
            weight = pages(size_of(part)) * (before[end_of(part)] - before[begin_of(part)])
            found.append((best[begin][0] + weight, -begin))
        weight, begin = min(found)
        best.append((weight, -begin))
    parts, end = [], len(row)
    while end:
        parts.append(row[best[end][1]:end])
        end = best[end][1]
    return parts


@dataclass
class Plan:
    bundles: list     # of two blocks and more
    held_alone: int   # at most, in pages, with no bundle
    held: int         # and with these


def placed(events, most):
    """Of each iteration the blocks that are there at its fullest moment, cut into bundles in the order of their allocation."""
    blocks = [block for block in blocks_of(events) if block.bytes < most]
    fixed = held_by(events, blocks)
    alone = together(fixed, [[block] for block in blocks])
    before, bundles = sums_of_weights(alone), []
    for number in dict.fromkeys(block.iteration for block in blocks):
        there = at_fullest([block for block in blocks if block.iteration == number], alone)
        for kind in dict.fromkeys(block.kind for block in there):
            parts = cut([block for block in there if block.kind == kind], most, before)
            bundles += [part for part in parts if len(part) > 1]
    inside = {block for bundle in bundles for block in bundle}
    held = max(together(fixed, bundles + [[block] for block in blocks if block not in inside]))
    return Plan(bundles, max(alone), held) if held <= max(alone) * WORTH else Plan([], max(alone), max(alone))


def at_fullest(blocks, curve):
    """Those that are there when, while any is, most is held."""
    moment = max(range(begin_of(blocks), end_of(blocks)), key=curve.__getitem__)
    return [block for block in blocks if block.begin <= moment < block.end]


def staying_rows(events):
    """What was there before the iteration and stays, of 1 to 16 MiB and not of whole pages: by kind, as allocated."""
    ends = {event["id"] for event in events if event["t"] == "free"}
    rows = {}
    for at, event in enumerate(events[:iteration.begins_at(events)]):
        if event["t"] == "alloc" and event["id"] not in ends and SHARED < event["bytes"] <= STAYING and event["bytes"] % PAGE:
            rows.setdefault(kind_of(event), []).append(Block(event["id"], event["bytes"], at, len(events), kind_of(event)))
    return list(rows.values())


def staying(events):
    """The rows cut as if one knew what follows."""
    always = [0.0] * len(events) + [1.0]  # only the end counts: all are there then
    return [part for row in staying_rows(events) for part in cut(row, SLAB, always) if len(part) > 1]


def first_come(events):
    """The rows as an allocator meets them: each block goes where it leaves least, or into a run for some of its size. And
    how much room the runs have, by their first block."""
    runs, rooms = [], {}
    for row in staying_rows(events):
        held, own = 0, []
        for block in row:
            fitting = [run for run in own if rooms[run[0].id] - size_of([*run, block]) >= 0]
            if fitting:
                min(fitting, key=lambda run: rooms[run[0].id] - size_of(run)).append(block)
                continue
            rooms[block.id] = pages(aligned(block.bytes) * best_number(aligned(block.bytes), min(SLAB, 2 * held))) * PAGE
            held += rooms[block.id]
            own.append([block])
        runs += own
    return runs, rooms


def best_number(size, most):
    """Of blocks of one size, as Burst::best_slots() has it."""
    def wasted(number):
        return 1 - size * number / (pages(size * number) * PAGE)
    best = 1
    for number in range(2, most // size + 1):
        if pages(size * number) * PAGE <= most and wasted(number) + 0.01 < wasted(best):
            best = number
    return best if wasted(best) + 0.03 < wasted(1) else 1
