"""PyTorch's two allocators with ample memory, alone and under Tessera: step time and peak memory."""

import statistics

from sections import evidence, smoke, torch_runs

STEPS = "12"
ROUNDS = 2  # alternating, so that a device that warms up favours none of them
MODELS = ["gpt2", "resnet50"]
# (name, variables, whether under Tessera); the others are compared with the first.
WAYS = [("native", {}, False), ("native, tessera run", {}, True),
        ("cudaMallocAsync", smoke.PRESETS, False), ("cudaMallocAsync, tessera run", smoke.PRESETS, True)]


def one(place, record, model, variables, under):
    return torch_runs.run(place, record, ("train_step.py", model, "--steps", STEPS), [] if under else None, "auto",
                          more=variables)


def told(base, runs):
    """All runs of one configuration compared with the first one: equal losses, the median warm step, the peak."""
    last = runs[-1]
    if any("losses" not in found for found in runs) or not base or "losses" not in base[-1]:
        return {"answer": "failed", **last}
    steps = [step for found in runs for step in found["step_seconds"][torch_runs.WARM_UP:]]
    reference = [step for found in base for step in found["step_seconds"][torch_runs.WARM_UP:]]
    same = all(found["losses"] == base[-1]["losses"] for found in runs)
    seen = next((found["evidence"] for found in runs if "missing" in found.get("evidence", {})), last.get("evidence", {}))
    return {"answer": evidence.answer(same, seen), "step_seconds": statistics.median(steps),
            "times_reference": round(statistics.median(steps) / statistics.median(reference), 4),
            "all_steps": [found["step_seconds"] for found in runs], **({"evidence": seen} if seen else {}),
            **{key: last[key] for key in torch_runs.TOLD if key in last and key != "evidence"}}


def compare(place, record, model):
    runs = {name: [] for name, _, _ in WAYS}
    for number in range(ROUNDS):
        for name, variables, under in WAYS:
            if record.over():
                break
            found = one(place, record, model, variables, under)
            # If a later round fails or is cut off, the result of the earlier round is kept.
            if number == 0 or "losses" in found:
                runs[name].append(found)
    for name, found in runs.items():
        if found:
            record.add(f"{model}, {name}", **told(runs[WAYS[0][0]], found))
        else:
            record.out_of_time(f"{model}, {name}")


def run(place, record):
    why = torch_runs.absent(place)
    if why:
        record.not_here("PyTorch", why)
        return
    for model in MODELS:
        compare(place, record, model)
