"""Every command of README.md works as it is written there: run here in an empty folder, or by the test that is named.

Usage: readme_commands_test.py BUILD_FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))

import recordings  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 120
# A word without which the named file would not be about the command.
ELSEWHERE = {
    "pip install build/dist/tessera_cuda-*.whl": ("tests/long/clean_root_test.py", "first_commands"),
    "make wheel": ("tests/long/wheel_test.py", "cmake/wheel.sh"),
    "make deb": ("tests/package/deb_test.py", "cpack"),
    "make install PREFIX=/usr/local": ("tests/package/install_test.py", "--install"),
    "make check": (".ci/run", "make check"),
    "make demo": (".github/workflows/check.yml", "make demo"),
}
# What each must print.
HERE = {
    "tessera demo": "are bit-identical",
    "tessera doctor": "software device",
    "tessera run --device-memory 8GiB --file-dir /var/tmp -- python train.py": "trained",
}
# The user's program: more blocks than it needs would only take time.
TRAIN = "import worker_program\nworker_program.use_device(blocks=4)\nprint('trained')\n"


def commands():
    """Each line of a block of commands, and each code span that is one."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.S)
    spans = re.findall(r"`((?:make|tessera)\s[^`]+)`", re.sub(r"```.*?```", "", README, flags=re.S))
    return [line for block in blocks for line in block.splitlines()] + [" ".join(span.split()) for span in spans]


def run(command, build, folder):
    """Returns what it prints. Without a GPU the software device stands for it."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    if not (bin_folder / "python").exists():
        (bin_folder / "python").symlink_to(sys.executable)
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    environment = os.environ | {"PATH": f"{build / 'bin'}:{bin_folder}:{os.environ['PATH']}", "TMPDIR": str(folder),
                                "PYTHONPATH": str(ROOT / "tests/integration")}
    if command.startswith("tessera run"):
        environment |= {"TESSERA_SOFTWARE": "1", "TESSERA_SOFTWARE_MEMORY": "16GiB"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=250,
                          check=False)
    # A machine without a GPU has something missing, which is what `tessera doctor` then says by its exit code too.
    if done.returncode != 0 and command != "tessera doctor":
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_recording(command, printed):
    """What the documents show of it is what it prints."""
    for name, recording in recordings.RECORDINGS.items():
        if recording.commands != (command,):
            continue
        recorded = (recordings.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
        found = recordings.steady_lines(name, f"$ {command}\n{printed}")
        assert found == recordings.steady_lines(name, recorded), f"{name}: `make recordings` was not run\n{printed}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    found = commands()
    unknown = set(found) - set(HERE) - set(ELSEWHERE)
    assert not unknown, f"no test runs {unknown}"
    unused = (set(HERE) | set(ELSEWHERE)) - set(found)
    assert not unused, f"README.md no longer has {unused}"
    assert README.count("\n") <= MOST_LINES, README.count("\n")
    for command, (test, word) in ELSEWHERE.items():
        assert word in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not run {command}"
    with tempfile.TemporaryDirectory() as scratch:
        for command, shown in HERE.items():
            printed = run(command, build, pathlib.Path(scratch))
            assert shown in printed, f"{command} printed\n{printed}"
            check_recording(command, printed)


if __name__ == "__main__":
    main()
