"""compute-sanitizer's memcheck over the programs that use memory most: no invalid access."""

import shutil

from sections import evidence, torch_runs

OK = 0
FOUND = 99  # our exit code for "errors were found"
FEATURES = "adam_over_lists_of_tensors,batched_products,batched_solves,joined_and_sorted,two_streams"


def tool():
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer")


def checks(place):
    """(name, command, options of `tessera run` or None, environment), the most valuable first."""
    small = ["--device-memory", "16MiB"]
    yield "launches under tessera run", [place.program("launches"), place.kernels("preload_kernels")], small, {}
    yield "hidden_addresses under tessera run", [
        place.program("hidden_addresses"), place.kernels("preload_kernels")], ["--device-memory", "24MiB"], {}
    yield "train under tessera run", [
        place.program("train"), "--kernels", place.kernels("train_kernels"), "--steps", "1",
        "--layers", "4", "--width", "256", "--batch", "64"], small, {}
    yield "C API", [place.test("c_api_tessera_test")], None, {}
    yield "random operations", [place.probe("random_operations"), "--operations", "20000",
                                "--seconds", "10"], None, {}
    yield "driver contract", [place.test("contract_cuda_driver_contract_test")], None, {
        "TESSERA_TEST_CUDA": "1"}
    yield "graphs under tessera run", [place.program("graphs"), place.kernels("preload_kernels")], small, {}
    if not torch_runs.absent(place):
        # An access to an evicted page is an invalid access, so a missed use would show here.
        yield "PyTorch's ways under tessera run", place.script("features.py") + [
            "--tiny", "--only", FEATURES], small, torch_runs.environment(place)


def checked(place, prefix, command, options, limit, more):
    """The outcome of a command under the sanitizer, and the evidence if it ran under Tessera."""
    if options is None:
        return place.run(prefix + command, limit, more), {}
    # Some of these programs fit: an invalid access shows all the same.
    return evidence.run(place, command, limit, options, more, before=prefix)


def run(place, record):
    sanitizer = tool()
    if sanitizer is None:
        record.not_here("memcheck", "no compute-sanitizer")
        return
    if place.software:
        record.not_here("memcheck", "the software device runs no device code")
        return
    # Some programs provoke API errors on purpose; only invalid accesses matter here.
    prefix = [sanitizer, "--tool", "memcheck", "--report-api-errors", "no", "--target-processes",
              "all", "--error-exitcode", str(FOUND)]
    for name, command, options, environment in checks(place):
        if record.over():
            record.out_of_time(name)
            continue
        outcome, seen = checked(place, prefix, command, options, record.left(25), environment)
        answer = {OK: "clean", FOUND: "errors found"}.get(outcome.code, "failed")
        if outcome.code is None and record.over():
            answer = "no time left"
        if answer == "clean" and "missing" in seen:
            answer = "no"
        summary = [line for line in (outcome.out + outcome.err).splitlines()
                   if "ERROR SUMMARY" in line or "Invalid __" in line or "Error:" in line]
        record.add(name, answer=answer, summary=summary[:20], seconds=round(outcome.seconds, 2),
                   **({"evidence": seen} if seen else {}), **({} if outcome.well else {"failed": outcome.failure()}))
