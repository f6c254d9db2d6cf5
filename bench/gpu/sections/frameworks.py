"""JAX and CuPy, unmodified, with half of the memory that they took alone."""

from sections import evidence, torch_runs
from sections.place import json_of

# Without these flags XLA picks its algorithms by timing, and two runs need not agree.
SAME_EACH_TIME = {"XLA_FLAGS": "--xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true"}
# On demand: each array is an allocation of its own, which can be evicted by itself.
JAX_WAYS = {"arena": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **SAME_EACH_TIME},
            "array by array": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform", **SAME_EACH_TIME}}


def at_half(place, record, script, peak, variables=None):
    """Runs a program with half of its peak: (its output, with the evidence; the options)."""
    options = torch_runs.budget(peak, 0.5)
    outcome, seen = evidence.run(place, place.script(script), record.left(40), options, variables, evicts=True)
    return torch_runs.marked({**json_of(outcome), "evidence": seen, **outcome.told()}, record), options


def jax(place, record):
    if place.software or not place.has("jax"):
        record.not_here("JAX", "JAX is not installed" if not place.software
                        else "JAX needs the CUDA runtime, which needs a GPU")
        return
    reference = place.run_json(place.script("jax_step.py"), record.left(40), JAX_WAYS["arena"])
    record.add("JAX, alone", **torch_runs.compare(reference, reference))
    if not reference.get("peak_bytes"):
        return
    for way, variables in JAX_WAYS.items():
        if record.over():
            record.out_of_time(f"JAX, half, {way}")
            continue
        found, options = at_half(place, record, "jax_step.py", reference["peak_bytes"], variables)
        record.add(f"JAX, half, {way}", options=options, **torch_runs.compare(reference, found))


def cupy(place, record):
    if place.software or not place.has("cupy"):
        record.not_here("CuPy", "CuPy is not installed" if not place.software
                        else "CuPy needs the CUDA runtime, which needs a GPU")
        return
    reference = place.run_json(place.script("cupy_step.py"), record.left(40))
    record.add("CuPy, alone", **reference)
    if "digest" not in reference:
        return
    found, options = at_half(place, record, "cupy_step.py", reference["pool_bytes"])
    same = found.get("digest") == reference["digest"]
    record.add("CuPy, half", **{"answer": evidence.answer(same, found["evidence"]), **found}, options=options)


def run(place, record):
    cupy(place, record)
    jax(place, record)
