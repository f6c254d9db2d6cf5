"""The trace of a program that asks for bundles (bundles.py) and not for their blocks, and whether it is one."""

from collections import Counter

from bundles import ALIGNMENT, aligned, begin_of, size_of


def bundled(events, bundles, rooms=None):
    """The trace of the program with these bundles. `rooms`: bytes of the runs of some, by their first block; others have what they need."""
    home = {}
    for bundle in bundles:
        first = next(block.id for block in bundle if block.begin == begin_of(bundle))
        home.update({block.id: (first, bundle) for block in bundle})
    left = Counter(run for run, _ in home.values())
    contents = {run: set() for run in left}   # members that hold something
    told = []
    for event in events:
        if event["t"] in ("alloc", "free") and event["id"] in home:
            run, bundle = home[event["id"]]
            contents[run].discard(event["id"])
            if event["t"] == "alloc" and event["id"] == run:
                told.append({**event, "bytes": (rooms or {}).get(run, size_of(bundle))})
            elif event["t"] == "free":
                left[run] -= 1
                if not left[run]:
                    told.append({**event, "id": run})
        elif event["t"] == "op":
            told.append(moved_op(event, home, contents))
        else:
            told.append(event)
    return told


def moved_op(event, home, contents):
    """Who writes a block of a bundle needs what the others hold."""
    reads, writes = event.get("r", []), event.get("w", [])
    kept = []
    for block in writes:
        if block in home and contents[home[block][0]].difference(writes):
            kept.append(home[block][0])
    for block in writes:
        if block in home:
            contents[home[block][0]].add(block)
    def runs(blocks):
        return list(dict.fromkeys(home[block][0] if block in home else block for block in blocks))
    return {**event, "r": list(dict.fromkeys(runs(reads) + kept)), "w": runs(writes)}


def objections(events):
    """What is wrong with a trace, as docs/traces.md has it."""
    live, written, seen = set(), set(), set()
    for at, event in enumerate(events):
        if event["t"] == "alloc":
            if event["id"] in seen:
                yield f"{at}: allocated twice"
            live.add(event["id"])
            seen.add(event["id"])
        elif event["t"] == "free":
            if event["id"] not in live:
                yield f"{at}: freed, and not there"
            live.discard(event["id"])
        elif event["t"] == "op":
            if not live.issuperset(event.get("r", []) + event.get("w", [])):
                yield f"{at}: used, and not there"
            if not written.issuperset(event.get("r", [])):
                yield f"{at}: read, and never written"
            written.update(event.get("w", []))


def differences(plain, changed, spare=0):
    """What bundles must leave as it is, and did not; `spare`: bytes of room that nobody takes."""
    def work(events):
        return [{key: value for key, value in event.items() if key not in "rw"} for event in events if event["t"] not in ("alloc", "free")]
    if work(plain) != work(changed):
        yield "other operations or marks"
    asked = [sum(aligned(event["bytes"]) for event in events if event["t"] == "alloc") for events in (plain, changed)]
    if abs(asked[0] - asked[1] + spare) > ALIGNMENT * len(plain):
        yield f"{asked[1]} bytes allocated instead of {asked[0]}"
    touched = [sum(len({*event.get("r", []), *event.get("w", [])}) for event in events if event["t"] == "op") for events in (plain, changed)]
    if touched[1] > touched[0]:
        yield "operations name more than before"
