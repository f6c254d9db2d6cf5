"""What Tessera costs and how fast it moves bytes, beside what the driver and PyTorch do."""

import statistics

from sections import torch_runs


def allocator(place, record):
    quick = ["--quick"] if place.quick else []
    for what, limit in (("pairs", 15), ("moves", 30), ("sleep", 30)):
        if record.over():
            record.out_of_time(what)
            continue
        record.add(what, **place.run_json([place.probe("allocator_speed"), *quick, what],
                                          record.left(limit)))


def fingerprints(place, record):
    """What it costs to find out whether a page has changed, beside copying it."""
    quick = ["--quick"] if place.quick else []
    record.add("fingerprints", **place.run_json([place.probe("fingerprint_speed"), *quick], record.left(20)))


def launch_cost(place, record):
    """An empty kernel with sixteen addresses, with and without the preload library, in turn."""
    rounds = "1" if place.quick else "25"
    for blocks in (16, 1000) if place.quick else (16, 1000, 100000):
        command = [place.program("launch_cost"), place.kernels("preload_kernels"), str(blocks), rounds]
        costs, failed = {"alone": [], "under tessera run": []}, None
        for _ in range(1 if place.quick else 3):
            for way, line in (("alone", command),
                              ("under tessera run", place.under_tessera(command, "--no-control"))):
                outcome = place.run(line, record.left(15))
                words = outcome.out.split()
                if not outcome.well or len(words) != 4:
                    failed = outcome.failure()
                    continue
                costs[way].append({"refused": float(words[1]), "queued": float(words[3])})
        medians = {way: {kind: statistics.median(cost[kind] for cost in found)
                         for kind in ("refused", "queued")} for way, found in costs.items() if found}
        record.add(f"launch with {blocks} live blocks", ns=medians,
                   **({"failed": failed} if failed else {}))


def ample(place, record):
    """A whole program that fits: what does Tessera cost when it has nothing to do?"""
    command = [place.program("train"), "--kernels", place.kernels("train_kernels"), "--steps",
               "2" if place.quick else "20", "--layers", "8", "--width", "256" if place.quick else "1024",
               "--batch", "64" if place.quick else "256"]
    seconds, failed = {"alone": [], "under tessera run": []}, None
    for _ in range(1 if place.quick else 3):
        for way, line in (("alone", command),
                          ("under tessera run", place.under_tessera(command, "--no-control"))):
            outcome = place.run(line, record.left(20))
            if outcome.well:
                seconds[way].append(round(outcome.seconds, 4))
            else:
                failed = outcome.failure()
    record.add("train with ample memory", process_seconds=seconds, **({"failed": failed} if failed else {}))


def torch_pairs(place, record):
    """PyTorch's caching allocator and ours, called through the same Python."""
    why = torch_runs.absent(place)
    if why:
        record.not_here("PyTorch pairs", why)
        return
    for allocator_name in ("native", "tessera"):
        found = place.run_json([*place.script("torch_pairs.py"), allocator_name], record.left(30),
                               torch_runs.environment(place))
        record.add(f"PyTorch pairs, {allocator_name}", **found)


def run(place, record):
    allocator(place, record)
    fingerprints(place, record)
    launch_cost(place, record)
    ample(place, record)
    torch_pairs(place, record)
