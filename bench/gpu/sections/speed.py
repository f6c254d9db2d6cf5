"""What Tessera costs and how fast it moves bytes, compared with the driver and PyTorch."""

import statistics

from sections import evidence, torch_runs


def allocator(place, record):
    quick = ["--quick"] if place.quick else []
    for what, limit in (("pairs", 15), ("moves", 30), ("sleep", 30)):
        if record.over():
            record.out_of_time(what)
            continue
        found = place.run_json([place.probe("allocator_speed"), *quick, what], record.left(limit))
        record.add(what, **({"answer": "failed"} if "failed" in found else {}), **found)


def fingerprints(place, record):
    """The cost of finding out whether a page has changed, compared with copying it."""
    quick = ["--quick"] if place.quick else []
    record.add("fingerprints", **place.run_json([place.probe("fingerprint_speed"), *quick], record.left(20)))


def in_turn(place, record, command, rounds, limit, read):
    """`command` alone and under Tessera, alternating: the value that `read` extracts from each run, and the facts
    for a comparison."""
    found, failed, seen = {"alone": [], "under tessera run": []}, None, {}
    for _ in range(rounds):
        alone = place.run(command, record.left(limit))
        under, seen = evidence.run(place, command, record.left(limit))
        for way, outcome in (("alone", alone), ("under tessera run", under)):
            value = read(outcome) if outcome.well else None
            if value is None:
                failed = outcome.failure()
            else:
                found[way].append(value)
    facts = {"evidence": seen, **({"failed": failed} if failed else {})}
    if failed or "missing" in seen:
        facts["answer"] = "no"
    return found, facts


def step_costs(outcome):
    """The lines of step_cost, (warm, cold) nanoseconds for each call; None for any other output."""
    lines = [line.split() for line in outcome.out.splitlines()]
    well = lines and all(len(line) == 3 for line in lines)
    return {call: {"warm": float(warm), "cold": float(cold)} for call, warm, cold in lines} if well else None


def step_cost(place, record):
    """The calls of a training step, with warm caches and with cold ones, as a framework leaves them."""
    command = [place.program("step_cost"), place.kernels("preload_kernels"), "20" if place.quick else "500"]
    costs, facts = in_turn(place, record, command, 1 if place.quick else 3, 15, step_costs)
    medians = {way: {call: {heat: statistics.median(cost[call][heat] for cost in found) for heat in ("warm", "cold")}
                     for call in found[0]} for way, found in costs.items() if found}
    record.add("calls of a step", ns=medians, **facts)


LAUNCHES = ("refused", "numbers", "queued")


def launch_costs(outcome):
    """The lines of launch_cost, one for each kind of launch; None for any other output."""
    lines = [line.split() for line in outcome.out.splitlines()]
    kinds = tuple(line[0] for line in lines if len(line) == 2)
    return {kind: float(cost) for kind, cost in lines} if kinds == LAUNCHES and len(lines) == len(kinds) else None


def launch_cost(place, record):
    """An empty kernel with sixteen addresses, with and without the preload library, alternating."""
    rounds = "1" if place.quick else "25"
    for blocks in (16, 1000) if place.quick else (16, 1000, 100000):
        command = [place.program("launch_cost"), place.kernels("preload_kernels"), str(blocks), rounds]
        costs, facts = in_turn(place, record, command, 1 if place.quick else 3, 15, launch_costs)
        medians = {way: {kind: statistics.median(cost[kind] for cost in found) for kind in LAUNCHES}
                   for way, found in costs.items() if found}
        record.add(f"launch with {blocks} live blocks", ns=medians, **facts)


def one_number(outcome):
    text = outcome.out.strip()
    return float(text) if text.isdigit() else None


def first_steps(place, record):
    """Launches while Tessera learns the program: with small blocks, which plans do not move, and with large ones."""
    for what, size in (("2 MiB", 2 << 20), ("16 MiB", 16 << 20)):
        command = [place.program("first_steps"), place.kernels("preload_kernels"), "12", str(size), "1000",
                   "3" if place.quick else "60"]
        costs, facts = in_turn(place, record, command, 1 if place.quick else 3, 15, one_number)
        record.add(f"launch of the first steps, blocks of {what}", **facts,
                   ns={way: statistics.median(found) for way, found in costs.items() if found})


def ample(place, record):
    """A whole program that fits: what does Tessera cost when it has nothing to do?"""
    command = [place.program("train"), "--kernels", place.kernels("train_kernels"), "--steps",
               "2" if place.quick else "20", "--layers", "8", "--width", "256" if place.quick else "1024",
               "--batch", "64" if place.quick else "256"]
    seconds, facts = in_turn(place, record, command, 1 if place.quick else 3, 20,
                             lambda outcome: round(outcome.seconds, 4))
    record.add("train with ample memory", process_seconds=seconds, **facts)


def torch_pairs(place, record):
    """PyTorch's caching allocator and ours, called through the same Python code."""
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
    step_cost(place, record)
    first_steps(place, record)
    ample(place, record)
    torch_pairs(place, record)
