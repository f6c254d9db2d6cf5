"""Instruction counts of the hot paths, and the lines of the caches that a launch touches, compared with
tests/golden/instructions.txt.

Counted by callgrind, most of them on one thread, so a count is the same on every machine and in every run; other
compilers generate other code, for which the tolerance is wide. A changed count fails with the current table and the command
that accepts it.

Usage: instruction_counts_test.py BUILD_FOLDER [--accept]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = SOURCE / "tests/golden/instructions.txt"
SKIPPED = 77
TOLERANCE, TOLERANCE_OF_LINES, TOLERANCE_OF_OTHERS = 0.03, 0.1, 0.5
# Counted over a whole program, so its other threads, and when they run, count too.
OF_ALL_THREADS = {"launch_of_a_first_step"}
LINES = "lines_of_a_hooked_launch"  # which functions share a line is the linker's choice
# Of the first level there is next to nothing, so each line that a call touches, for the first time since the program has
# used the last level for itself, is a miss there, and no other access is.
DISTINCT_LINES = ("--cache-sim=yes", "--I1=128,1,64", "--D1=128,1,64", "--LL=1048576,16,64")
LAUNCHES, ROUNDS = 5000, 1000  # per turn of launch_cost.c, and of hot_calls.c and tests/c_api/hot_paths.c
LAUNCHED = ("refused", "numbers")
# In runs of these: of functions whose names begin with the same word callgrind collects the first one only.
PATHS = (("use_of_sixteen_blocks", "touch", "cached_pair_of_4_kib"), ("cached_pair_of_8_mib", "use_of_a_segment"))


def events(program, functions, preload="", options=(), **variables):
    """What happened in the second call of each of the functions, including its callees, by its name: counts by their names."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib/softcuda"), LD_PRELOAD=preload, **variables)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        ran = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options,
                              *(f"--{what}={function}" for function in functions for what in ("toggle-collect", "dump-after")),
                              *program], cwd=BUILD / "lib/tessera", env=environment, capture_output=True, text=True,
                             timeout=300)
        if ran.returncode != 0:
            sys.exit(f"{program[0]} under callgrind: {ran.stderr[-2000:]}")
        dumps = [path.read_text() for path in sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))]
    found = {}
    for function in functions:
        of_calls = [dump for dump in dumps if re.search(rf"^desc: Trigger: --dump-after={function}$", dump, re.M)]
        if len(of_calls) < 2:
            sys.exit(f"callgrind saw nothing of {function} in {program[0]}")
        names, values = (re.search(rf"^{line}: (.*)$", of_calls[1], re.M).group(1).split() for line in ("events", "totals"))
        found[function] = {name: int(value) for name, value in zip(names, values)}
    return found


def counts(program, functions, preload="", **variables):
    """Instructions in these calls."""
    return {name: found["Ir"] for name, found in events(program, functions, preload, **variables).items()}


def hot_calls(preload):
    """Instructions in calls of tests/programs/hot_calls.c, and lines that its cold launch touches, of code and of data."""
    found = events(("./hot_calls", "preload_kernels.so"), ("sixty_kernels", "pooled_pairs", "cold_launch"), preload, DISTINCT_LINES)
    cold = found["cold_launch"]
    return {name: calls["Ir"] for name, calls in found.items()} | {LINES: cold["ILmr"] + cold["DLmr"] + cold["DLmw"]}


def launches_of_first_steps(preload):
    """Instructions per launch of a program that Tessera still learns: twelve small blocks, ten steps of 1000 launches."""
    run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}",
                          "./first_steps", "preload_kernels.so", "12", str(2 << 20), "1000", "10"],
                         cwd=BUILD / "lib/tessera", capture_output=True, text=True, timeout=120, check=False,
                         env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib/softcuda"), LD_PRELOAD=preload))
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or collected is None:
        sys.exit(f"first_steps under callgrind: {run.stderr[-2000:]}")
    return int(collected.group(1)) / 10000


def measure():
    launch = ["./launch_cost", "preload_kernels.so", "1000", "1"]
    preload = str(BUILD / "lib/libtessera_preload.so")
    bare, hooked = counts(launch, LAUNCHED), counts(launch, LAUNCHED, preload)
    low = counts(launch, ("numbers",), preload, TESSERA_SOFTWARE_HINTS="0")

    def over(function, counted):
        return round((counted[function] - bare[function]) / LAUNCHES)

    rows = {"hooked_launch_of_16_pointers": over("refused", hooked),
            "hooked_launch_of_numbers": over("numbers", hooked),
            "the_same_at_low_addresses": over("numbers", low),
            "launch_of_a_first_step": round(launches_of_first_steps(preload) - launches_of_first_steps(""))}
    bare, hooked = hot_calls(""), hot_calls(preload)
    rows["hooked_launch_of_60_kernels"] = round((hooked["sixty_kernels"] - bare["sixty_kernels"]) / ROUNDS)
    rows["pair_from_the_current_pool"] = round(hooked["pooled_pairs"] / ROUNDS)
    rows[LINES] = hooked[LINES] - bare[LINES]
    for together in PATHS:
        paths = counts([BUILD / "tests/c_api_hot_paths"], together)
        rows.update({name: round(paths[name] / ROUNDS) for name in together})
    return rows


def compiler():
    for path in BUILD.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        found = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)', path.read_text()))
        return f"{found['ID']} {found['VERSION'].split('.')[0]}"
    return "unknown"


def table(rows):
    return f"compiler: {compiler()}\n" + "".join(f"{name:<30}{value:>6}\n" for name, value in rows.items())


def complaints(golden, rows):
    same = golden.get("compiler:") == compiler()
    for name, value in rows.items():
        tolerance = TOLERANCE_OF_LINES if name == LINES else TOLERANCE
        if not same or name in OF_ALL_THREADS:
            tolerance = TOLERANCE_OF_OTHERS
        expected = int(golden.get(name, "0"))
        if abs(value - expected) > tolerance * expected:
            yield f"{name}: {value}, {expected} are accepted ({tolerance:.0%} more or less)"


def main():
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind; `make check` installs it")
        return SKIPPED
    if "CMAKE_BUILD_TYPE:STRING=Release" not in (BUILD / "CMakeCache.txt").read_text():
        print("skipped: instructions are counted in the release build alone")
        return SKIPPED
    rows = measure()
    print(table(rows), end="")
    if "--accept" in sys.argv:
        GOLDEN.write_text(table(rows))
        return 0
    golden = dict(line.split(maxsplit=1) for line in GOLDEN.read_text().splitlines())
    wrong = list(complaints(golden, rows))
    if not wrong:
        return 0
    print("\n".join(wrong))
    print(f"If that is meant: python3 {pathlib.Path(__file__).relative_to(SOURCE)} {BUILD} --accept")
    return 1


sys.exit(main())
