"""The driver contract and the C API on this driver, and programs that must compute the same under Tessera."""

import json

from sections import evidence

# Programs of lib/tessera: (name, kernels, device memory, whether that is too small for it).
PROGRAMS = [("memory_calls", None, "8MiB", True), ("memory_calls_ptds", None, "8MiB", True),
            ("launches", "preload_kernels", "11MiB", True), ("graphs", "preload_kernels", "16MiB", True),
            ("hidden_addresses", "preload_kernels", "22MiB", True), ("crowd", "preload_kernels", "12MiB", True),
            ("contexts", None, "24MiB", False), ("forks", None, "24MiB", True),
            ("kept_addresses", None, "24MiB", True)]
TRAINING = ["--steps", "4", "--layers", "8", "--width", "512", "--batch", "128"]


def suite(place, record):
    """tests/contract/cuda_driver_contract_test.cpp, on the machine's own driver."""
    report = place.scratch / "contract.json"
    test = place.test("contract_cuda_driver_contract_test")
    outcome = place.run([test, f"--gtest_output=json:{report}"], record.left(40),
                        {} if place.software else {"TESSERA_TEST_CUDA": "1"})
    if not report.is_file():
        record.add("driver contract", answer="failed", failed=outcome.failure())
        return
    tests = [test for group in json.loads(report.read_text())["testsuites"] for test in group["testsuite"]]
    broken = {test["name"]: test["failures"][0]["failure"][:500] for test in tests if "failures" in test}
    record.add("driver contract", answer="no" if broken or not outcome.well else "yes",
               tests=len(tests), broken=broken, seconds=round(outcome.seconds, 2))


def c_api(place, record):
    for test in ("c_api_tessera_test", "c_api_readme_example"):
        outcome = place.run([place.test(test)], record.left(30))
        record.add(test, answer="yes" if outcome.well else "no",
                   **({} if outcome.well else {"failed": outcome.failure()}))


def compare(place, record, name, command, memory, too_small):
    """Alone, then under Tessera: the output must be the same, and Tessera must have managed the memory."""
    alone = place.run(command, record.left(20))
    small, seen = evidence.run(place, command, record.left(20), ["--device-memory", memory],
                               {"TESSERA_LOG_LEVEL": "error"}, evicts=too_small)
    if record.over() and None in (alone.code, small.code):
        record.out_of_time(name)
        return
    same = alone.well and small.well and alone.out == small.out
    record.add(name, answer=evidence.answer(same, seen), device_memory=memory, evidence=seen,
               seconds_alone=round(alone.seconds, 3), seconds=round(small.seconds, 3),
               **(small.told() if same else
                  {"alone": alone.failure(), "failed": small.failure(),
                   "output_alone": alone.out[-500:], "output": small.out[-500:]}))


def programs(place, record):
    for name, kernels, memory, too_small in PROGRAMS:
        if record.over():
            record.out_of_time(name)
            continue
        command = [place.program(name)] + ([place.kernels(kernels)] if kernels else [])
        compare(place, record, name, command, memory, too_small)


def training(place, record):
    """A training program alone, on a device too small for it, and with a spill file too: equal losses."""
    ways = {"20MiB of device memory": ["--device-memory", "20MiB"],
            "three tiers": ["--device-memory", "20MiB", "--host-memory", "8MiB", "--file-memory",
                            "256MiB", "--file-dir", "/var/tmp"]}
    file = place.scratch / "losses"
    command = [place.program("train"), "--kernels", place.kernels("train_kernels"), *TRAINING, "--losses", str(file)]

    def losses():
        return file.read_text() if file.is_file() else None

    alone = place.run(command, record.left(30))
    wanted = losses()
    for way, options in ways.items():
        file.unlink(missing_ok=True)
        outcome, seen = evidence.run(place, command, record.left(30), options, evicts=True)
        same = alone.well and outcome.well and wanted is not None and losses() == wanted
        record.add(f"train, {way}", answer=evidence.answer(same, seen), evidence=seen,
                   seconds_alone=round(alone.seconds, 3), seconds=round(outcome.seconds, 3),
                   **(outcome.told() if same else {"alone": alone.failure(), "failed": outcome.failure()}))


def random_operations(place, record):
    """Random blocks, kernels, hints, threads; every block's contents are checked."""
    operations = 2000 if place.quick else 1_000_000
    found = place.run_json([place.probe("random_operations"), "--operations", str(operations),
                            "--seconds", str(max(record.left() - 5, 1))], record.left())
    record.add("random operations", answer="no" if "failed" in found or found.get("wrong") else "yes",
               **found)


def run(place, record):
    suite(place, record)
    c_api(place, record)
    programs(place, record)
    training(place, record)
    random_operations(place, record)
