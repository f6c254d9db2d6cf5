"""PyTorch, unmodified: the same losses as alone, on a fraction of the memory; and the time of a step."""

from sections import evidence, torch_runs

STEPS = "8"
# (model, fraction of its peak or None for ample, policy, allocator), the most valuable first.
RUNS = [("gpt2", None, "recency", "native"), ("gpt2", 0.5, "auto", "native"),
        ("gpt2", 0.5, "recency", "native"), ("resnet50", None, "recency", "native"),
        ("resnet50", 0.5, "auto", "native"), ("llama", 0.5, "auto", "native"),
        ("gpt2", 0.5, "auto", "tessera"), ("gpt2", 0.75, "auto", "native"),
        ("gpt2", 0.35, "auto", "native"), ("resnet50", 0.35, "auto", "native"),
        ("llama", 0.25, "auto", "native"), ("gpt2", 1.0, "auto", "native"),
        ("gpt2", 0.25, "auto", "native"), ("resnet50", 0.25, "auto", "native"),
        ("resnet50", 0.5, "auto", "tessera"), ("resnet50", 0.75, "auto", "native"),
        ("resnet50", 1.0, "auto", "native"), ("llama", 0.75, "auto", "native"),
        ("llama", 0.35, "auto", "native"), ("llama", 1.0, "auto", "native"),
        ("llama", None, "recency", "native")]
FEATURES_BUDGET = "1GiB"  # the ballast alone takes 1.5 GiB, so this is only a part of what the features need
FEATURES_PART = 0.5


def alone(place, record, model, references):
    """The native run that others are compared with; run twice, to know whether equal losses can be expected."""
    found = torch_runs.run(place, record, ("train_step.py", model, "--steps", STEPS))
    references[model] = found
    record.add(f"{model}, alone", **torch_runs.compare(found, found))
    if model == "gpt2":
        again = torch_runs.run(place, record, ("train_step.py", model, "--steps", STEPS))
        record.add(f"{model}, alone again", **torch_runs.compare(found, again))


def name_of(model, part, policy, allocator):
    share = "ample" if part is None else f"{part:.0%}"
    return f"{model}, {share}, {policy}" + (", tensor by tensor" if allocator == "tessera" else "")


def under_tessera(place, record, reference, model, part, policy, allocator):
    options = torch_runs.budget(reference["peak_reserved"], part)
    found = torch_runs.run(place, record, ("train_step.py", model, "--steps", STEPS, "--allocator",
                                           allocator), options, policy, part=part)
    record.add(name_of(model, part, policy, allocator), part=part, policy=policy, options=options,
               **torch_runs.compare(reference, found))


def same_digests(reference, found):
    """Each feature: its digest alone and under Tessera, which must have managed its process."""
    for name, facts in reference.get("ways", {}).items():
        other = found.get("ways", {}).get(name, {"error": "not reached"})
        if "digest" not in facts:
            yield name, {"answer": "not supported here", "why": facts["error"]}
        elif "digest" not in other:
            yield name, {"answer": "failed", "why": other["error"]}
        else:
            seen = other.get("evidence", {"missing": "no run under Tessera"})
            yield name, {"answer": evidence.answer(facts["digest"] == other["digest"], seen), "evidence": seen,
                         "seconds_alone": facts["seconds"], "seconds": other["seconds"]}


def features(place, record):
    if record.over():
        record.out_of_time("features")
        return
    reference = torch_runs.in_pieces(place, record, "features.py", "ways")
    found = torch_runs.in_pieces(place, record, "features.py", "ways", part=FEATURES_PART,
                                 options=["--device-memory", FEATURES_BUDGET, "--host-memory", "4GiB"])
    for name, facts in same_digests(reference, found):
        record.add(name, **facts)
    record.add("features", moves=found.get("evidence"), failed_alone=reference.get("failed"),
               failed=found.get("failed"), stderr=found.get("stderr"))


def run(place, record):
    why = torch_runs.absent(place)
    if why:
        record.not_here("PyTorch", why)
        return
    references = {}
    for number, (model, *rest) in enumerate(RUNS):
        if model not in references and not record.over():
            alone(place, record, model, references)
        if record.over():
            record.out_of_time(name_of(model, *rest))
        elif "peak_reserved" not in references[model]:
            record.add(name_of(model, *rest), answer="failed", why="there is no native run to compare with")
        else:
            under_tessera(place, record, references[model], model, *rest)
        if number == 3:  # after the first model: what else can go wrong
            features(place, record)
