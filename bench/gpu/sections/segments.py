"""PyTorch's own allocator on half of its memory: what a launch is given of a segment, with its listener and without."""

import os
import pathlib

from sections import torch_runs

MODEL, STEPS, PART = "gpt2", "12", 0.5
# Settings of the user's, which presets leave alone. Both names, as in smoke.PRESETS.
SETTINGS = {"expandable": "expandable_segments:True", "native": "max_split_size_mb:20"}
LONGEST_BUILD = 90  # seconds


def variables(setting):
    return {"PYTORCH_ALLOC_CONF": SETTINGS[setting], "PYTORCH_CUDA_ALLOC_CONF": SETTINGS[setting]}


def build(place, record, folder):
    """Compiles the listener for the PyTorch that is here; whether that succeeded."""
    path = f"{place.root / 'bin'}:{os.environ.get('PATH', '')}"
    done = place.run([place.python, "-m", "tessera", "torch-listener"], record.left(LONGEST_BUILD),
                     torch_runs.environment(place, {"TESSERA_TORCH_LISTENERS": str(folder), "PATH": path}))
    record.add("the listener is built", answer="yes" if done.well else "no", seconds=round(done.seconds, 1),
               **({} if done.well else done.failure()))
    return done.well


def under_tessera(place, record, setting, reference, listeners):
    options = [*torch_runs.budget(reference["peak_reserved"], PART), "--torch-listeners", str(listeners)]
    found = torch_runs.run(place, record, ("train_step.py", MODEL, "--steps", STEPS), options, "auto", part=PART,
                           more=variables(setting))
    return torch_runs.compare(reference, found)


def compare(place, record, setting, folders):
    reference = torch_runs.run(place, record, ("train_step.py", MODEL, "--steps", STEPS), more=variables(setting))
    record.add(f"{MODEL}, {setting}, alone", **torch_runs.compare(reference, reference))
    if "peak_reserved" not in reference:
        return
    for way, folder in folders.items():
        name = f"{MODEL}, {setting}, half, {way}"
        if record.over():
            record.out_of_time(name)
        else:
            record.add(name, **under_tessera(place, record, setting, reference, folder))


def run(place, record):
    why = torch_runs.absent(place)
    if why:
        record.not_here("PyTorch", why)
        return
    built, empty = (pathlib.Path(place.scratch) / name for name in ("listeners", "no-listeners"))
    folders = {"with the listener": built} if build(place, record, built) else {}
    folders["without"] = empty
    for setting in SETTINGS:
        if record.over():
            record.out_of_time(f"{MODEL}, {setting}")
        else:
            compare(place, record, setting, folders)
