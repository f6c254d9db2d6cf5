"""PyTorch, before everything else: what nearly every program does, with ample memory and then with half of its peak."""

from sections import evidence, torch_runs

# The PyTorch defaults that are set unless the user has set them; the second name is that of PyTorch before 2.10.
PRESETS = {"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync", "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
# (name, fraction of the peak or None for ample, policy)
RUNS = [("ample", None, "auto"), ("half, lru", 0.5, "lru"), ("half, auto", 0.5, "auto")]
LONGEST = 60  # seconds for one run


def verdict(alone, under):
    """One part of the program compared with its run alone: bit-identical losses, and Tessera in use."""
    if "losses" not in alone:
        return {"answer": "not supported here", "why": alone["error"]}
    if "losses" not in under:
        return {"answer": "failed", "why": under.get("error", "not reached"), "evidence": under.get("evidence", {})}
    different = torch_runs.first_difference(alone["losses"], under["losses"])
    seen = under["evidence"]
    return {"answer": evidence.answer(different is None, seen), "seconds_alone": alone["seconds"],
            "seconds": under["seconds"], "evidence": seen,
            **({} if different is None else {"first_different_step": different,
                                             "losses_alone": alone["losses"], "losses": under["losses"]})}


def presets_hold(found):
    """Whether PyTorch used the configured allocator, with the preload library in its process."""
    held = found.get("backend") == "cudaMallocAsync" and found.get("preloaded") is True
    return {"answer": "yes" if held else "no", "backend": found.get("backend"), "preloaded": found.get("preloaded")}


def run(place, record):
    why = torch_runs.absent(place)
    if why:
        record.not_here("PyTorch", why)
        return
    alone = torch_runs.in_pieces(place, record, "smoke.py", "parts", limit=LONGEST)
    record.add("alone", **{"answer": "measured" if alone.get("peak_allocated") else "failed", **alone})
    if not alone.get("peak_allocated"):
        return
    for name, share, policy in RUNS:
        if record.over():
            record.out_of_time(name)
            continue
        options = torch_runs.budget(alone["peak_allocated"], share)
        found = torch_runs.in_pieces(place, record, "smoke.py", "parts", options=options, policy=policy, part=share,
                                     limit=LONGEST, more=PRESETS)
        if found.get("answer") == torch_runs.OUT_OF_TIME:
            record.add(name, **found)
            continue
        for part, facts in alone["parts"].items():
            record.add(f"{part}, {name}", **verdict(facts, found["parts"].get(part, {})))
        record.add(f"presets, {name}", options=options, **presets_hold(found),
                   **{key: found[key] for key in ("torch", "free_and_total", "failed", "stderr") if key in found})
