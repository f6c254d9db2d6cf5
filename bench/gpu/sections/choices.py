"""The alternatives a user has: keep everything, recompute, save on the CPU, offload by hand."""

from sections import torch_runs

STEPS = "8"
MODEL = "gpt2"
WAYS = ["checkpoint", "save_on_cpu", "offload"]
# Tessera under the unchanged program, at these fractions of keep's peak.
PARTS = [(0.5, "auto"), (0.5, "recency"), (0.7, "auto"), (0.4, "auto")]


def at_part(place, record, keep, part, policy):
    name = f"tessera run, {part:.0%} of keep, {policy}"
    if record.over():
        record.out_of_time(name)
        return
    options = torch_runs.budget(keep["peak_reserved"], part)
    found = torch_runs.run(place, record, ("train_step.py", MODEL, "--steps", STEPS), options, policy, part=part)
    record.add(name, part=part, options=options, **torch_runs.compare(keep, found))


def run(place, record):
    why = torch_runs.absent(place)
    if why:
        record.not_here("choices", why)
        return
    keep = torch_runs.run(place, record, ("train_step.py", MODEL, "--steps", STEPS))
    record.add("keep", **torch_runs.compare(keep, keep))
    if "peak_reserved" not in keep:
        return
    # Half of the memory first: the others need no Tessera to be known.
    for part, policy in PARTS[:2]:
        at_part(place, record, keep, part, policy)
    for way in WAYS:
        if record.over():
            record.out_of_time(way)
            continue
        found = torch_runs.run(place, record, ("train_step.py", MODEL, "--steps", STEPS, "--way", way))
        record.add(way, **torch_runs.compare(keep, found))
    for part, policy in PARTS[2:]:
        at_part(place, record, keep, part, policy)
