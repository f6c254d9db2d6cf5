"""What runs on a GPU machine runs on the software device, and every answer has the agreed shape.

Usage: gpu_run_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
ANSWERS = {"yes", "no", "measured", "not supported here", "failed"}
HEADER = {"section", "gpu", "driver", "cuda", "commit", "date", "command", "complete", "seconds",
          "software", "results"}
# What the software device is known not to do: device code.
NOT_HERE = {"atomic_add_32", "atomic_add_64", "atomic_add_float", "atomic_add_double",
            "atomic_add_halves", "atomic_cas_32", "atomic_cas_64", "atomic_cas_128", "bulk_load",
            "bulk_store", "async_load", "read_only_load", "tensor_load", "tensor_store",
            "tensor_map_after_swap", "wgmma_operands"}
SECTIONS = {"facts", "smoke", "probes", "contract", "first_light"}
# Questions whose answer the software device must know, however busy the machine is.
PROBES_THAT_ARE_YES = {"kernel_handles", "fences_on_each_stream", "swap_by_registered_memory"}
MUST_BE_YES = {"host_frames", "parameter_layout", "access_over_mixed_run", "swap_2_mib",
               "swap_32_mib", "transfers_right", "graph_after_swap"}
# As on an H100.
MUST_BE_NO = {"map_at_offset", "map_in_part", "map_over_mapped", "unmap_in_part", "capture_while_unmapped",
              "graph_calls_on_unmapped"}


def sections(build, folder):
    command = ["sh", str(SCRIPTS / "run.sh"), "--software", "--root", str(build), "--only",
               ",".join(SECTIONS), "--out", folder]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    found = {path.stem: json.loads(path.read_text()) for path in pathlib.Path(folder).iterdir()}
    assert set(found) == SECTIONS, sorted(found)
    return found


def check_shape(section):
    assert HEADER <= set(section), HEADER - set(section)
    assert section["complete"] is True and section["software"] is True, section
    names = [result["name"] for result in section["results"]]
    assert len(names) == len(set(names)) and names, names
    for result in section["results"]:
        assert result.get("answer", "measured") in ANSWERS, result


def check_first_light(section):
    answers = {result["name"]: result for result in section["results"]}
    broken = {name: result for name, result in answers.items() if result["answer"] == "failed"}
    assert not broken, broken
    absent = {name for name, result in answers.items() if result["answer"] == "not supported here"}
    assert absent == NOT_HERE, absent ^ NOT_HERE
    for wanted, names in (("yes", MUST_BE_YES), ("no", MUST_BE_NO)):
        for name in names:
            assert answers[name]["answer"] == wanted, answers[name]


def check_probes(section):
    """All ten, each with an answer."""
    answers = {result["name"]: result for result in section["results"]}
    assert len(answers) == 10, sorted(answers)
    wrong = [result for result in answers.values() if result["answer"] not in ("yes", "no", "measured")]
    assert not wrong, wrong
    for name in PROBES_THAT_ARE_YES:
        assert answers[name]["answer"] == "yes", answers[name]


def check_facts(section):
    answers = {result["name"]: result.get("answer") for result in section["results"]}
    assert answers["tessera doctor"] == answers["a program under tessera run"] == "yes", section["results"]


def check_contract(section):
    wrong = [result for result in section["results"] if result["answer"] != "yes"]
    assert not wrong, json.dumps(wrong, indent=1)
    suite = section["results"][0]
    assert suite["name"] == "driver contract" and suite["tests"] > 20, suite


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "bench" / "gpu" / "first_light").is_file():
        print("built without benchmarks")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        found = sections(build, folder)
    for section in found.values():
        check_shape(section)
    check_first_light(found["first_light"])
    check_contract(found["contract"])
    check_probes(found["probes"])
    check_facts(found["facts"])


if __name__ == "__main__":
    main()
