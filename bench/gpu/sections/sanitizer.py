"""compute-sanitizer's memcheck over what touches memory most: no access that is not allowed."""

import shutil

from sections import torch_runs

OK = 0
FOUND = 99  # our exit code for "errors were found"
FEATURES = "adam_over_lists_of_tensors,batched_products,batched_solves,joined_and_sorted,two_streams"


def tool():
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer")


def checks(place):
    """(name, command, environment) in the order of what is worth most."""
    tessera = ["--device-memory", "16MiB", "--no-control"]
    yield "launches under tessera run", place.under_tessera(
        [place.program("launches"), place.kernels("preload_kernels")], *tessera), {}
    yield "hidden_addresses under tessera run", place.under_tessera(
        [place.program("hidden_addresses"), place.kernels("preload_kernels")],
        "--device-memory", "24MiB", "--no-control"), {}
    yield "train under tessera run", place.under_tessera(
        [place.program("train"), "--kernels", place.kernels("train_kernels"), "--steps", "1",
         "--layers", "4", "--width", "256", "--batch", "64"], *tessera), {}
    yield "C API", [place.test("c_api_tessera_test")], {}
    yield "random operations", [place.probe("random_operations"), "--operations", "20000",
                                "--seconds", "10"], {}
    yield "driver contract", [place.test("contract_cuda_driver_contract_test")], {
        "TESSERA_TEST_CUDA": "1"}
    yield "graphs under tessera run", place.under_tessera(
        [place.program("graphs"), place.kernels("preload_kernels")], *tessera), {}
    if not torch_runs.absent(place):
        # An access to a page that is away is a wrong access: here a missed use would show.
        yield "PyTorch's ways under tessera run", place.under_tessera(
            place.script("features.py") + ["--tiny", "--only", FEATURES], *tessera), \
            torch_runs.environment(place)


def run(place, record):
    sanitizer = tool()
    if sanitizer is None:
        record.not_here("memcheck", "no compute-sanitizer")
        return
    if place.software:
        record.not_here("memcheck", "the software device runs no device code")
        return
    # API errors are what some programs provoke on purpose; wrong accesses are what is looked for.
    prefix = [sanitizer, "--tool", "memcheck", "--report-api-errors", "no", "--target-processes",
              "all", "--error-exitcode", str(FOUND)]
    for name, command, environment in checks(place):
        if record.over():
            record.out_of_time(name)
            continue
        outcome = place.run(prefix + command, record.left(25), environment)
        answer = {OK: "clean", FOUND: "errors found"}.get(outcome.code, "failed")
        summary = [line for line in (outcome.out + outcome.err).splitlines()
                   if "ERROR SUMMARY" in line or "Invalid __" in line or "Error:" in line]
        record.add(name, answer=answer, summary=summary[:20], seconds=round(outcome.seconds, 2),
                   **({} if outcome.well else {"failed": outcome.failure()}))
