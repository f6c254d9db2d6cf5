"""With Tessera switched off, what runs on a GPU machine says "no" to all that it claims of Tessera.

Usage: gpu_off_test.py BUILD_FOLDER

Programs that are left alone compute what they should: equal results must not be taken for Tessera's.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
SECTIONS = "facts,contract,speed"
# Answers about the driver and the machine, in which nothing of Tessera has a part.
NOT_OURS = {"driver contract", "tessera doctor"}
CLAIMS = {"a program under tessera run", "memory_calls", "memory_calls_ptds", "launches", "graphs", "hidden_addresses",
          "crowd", "contexts", "forks", "kept_addresses", "train, 20MiB of device memory", "train, three tiers",
          "launch with 16 live blocks", "train with ample memory", "c_api_tessera_test", "random operations"}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "bench" / "gpu" / "first_light").is_file():
        print("built without benchmarks")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        command = ["sh", SCRIPTS / "run.sh", "--software", "--root", build, "--only", SECTIONS, "--out", folder]
        done = subprocess.run(command, env=os.environ | {"TESSERA_OFF": "1"}, capture_output=True, text=True,
                              timeout=280, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        results = [result for path in pathlib.Path(folder).glob("*.json")
                   for result in json.loads(path.read_text())["results"]]
    said = {result["name"]: result.get("answer") for result in results}
    assert CLAIMS <= set(said), CLAIMS - set(said)
    yes = {name for name, answer in said.items() if answer == "yes"} - NOT_OURS
    assert not yes, f"without Tessera, yes to: {sorted(yes)}"
    not_no = {name: said[name] for name in CLAIMS if said[name] != "no"}
    assert not not_no, not_no
    unexplained = [result["name"] for result in results if "missing" not in result.get("evidence", {"missing": ""})]
    assert not unexplained, unexplained


if __name__ == "__main__":
    main()
