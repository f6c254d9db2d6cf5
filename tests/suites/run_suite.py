"""Tests that other projects wrote, without Tessera and with it: what passes without must pass with.

Each suite is run three times on the software device: without Tessera; under `tessera run` with ample memory; and short
of memory, while all of its blocks are put to sleep and woken again and again.

Usage: run_suite.py BUILD_FOLDER SUITE [--quick] [--source FOLDER] [--only PATTERN] [--ways NAME,...] [--with REQUIREMENT]
                    [--jobs N]
    --quick    only the choice that `make check` runs
    --source   where the tests lie that PyPI does not bring: a checkout of the project
    --only     only files whose names match
    --with     another version of a package than the suite names
Ends with 77 when the packages or the tests cannot be had. Outcomes are left in BUILD_FOLDER/suites/SUITE, as JUnit's files.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import compare
import suite as suites
from play import play
from virtual_environment import pip_of, python_with, skip
from ways import ways

TOGETHER = 6  # files in a process: starting one takes longer than most tests


def python_of(build, suite, others):
    """The interpreter that has what the suite needs. Where that cannot be had, this ends as skipped."""
    other = {re.split("[=<>]", requirement)[0]: requirement for requirement in others}
    wanted = [other.get(re.split("[=<>]", requirement)[0], requirement) for requirement in suite.requirements]
    package, _, version = wanted[0].partition("==")
    digest = hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:8]
    return python_with(build, package, version, *wanted[1:], name=f"suite-{suite.name}-{digest}", variables=suite.install,
                       compiled=True)


def unpacked(build, python, suite):
    """The source distribution of the first requirement. Where that cannot be had, this ends as skipped."""
    requirement = suite.requirements[0]
    folder = build / "cache" / f"sdist-{requirement}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        done = subprocess.run([*pip_of(build), "--python", python, "download", "--quiet", "--no-deps", "--no-binary",
                               requirement.partition("==")[0], "--dest", part, requirement],
                              env=os.environ | suite.install, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            skip(f"{suite.name}: no sources of {requirement}: {done.stderr.strip().splitlines()[-1]}")
        for archive in part.iterdir():
            subprocess.run(["tar", "-xf", archive, "-C", part], check=True)  # tarfile has filters from Python 3.11.4 on
            archive.unlink()
        part.rename(folder)
    return next(folder.iterdir())


def root_of(build, suite, python, source, folder):
    """The folder that the tests lie in. Those of a package are copied into `folder`: in their place a package of this
    name, as `cuda`, would hide another one."""
    if suite.folder:
        root = pathlib.Path(source or "") / suite.folder
        if not source or not root.is_dir():
            skip(f"{suite.name}: its tests are not on PyPI; give a checkout by --source, with {suite.folder} in it")
        return root.resolve()
    if suite.sdist:
        return unpacked(build, python, suite) / suite.sdist
    found = subprocess.run([python, "-c", f"import importlib.util as u; print(u.find_spec({suite.package!r}).origin)"],
                           capture_output=True, text=True, check=False)
    if found.returncode != 0:
        skip(f"{suite.name}: no {suite.package}: {found.stderr.strip().splitlines()[-1]}")
    root = folder / "tests"
    shutil.copytree(pathlib.Path(found.stdout.strip()).parent, root)
    return root


def chosen(suite, root, quick, only):
    """Lists of files, or tests, that one process runs after one another."""
    tests = suite.quick if quick else sorted(
        {path.relative_to(root).as_posix() for pattern in suite.files for path in root.glob(pattern)})
    tests = [test for test in tests if re.search(only, test)]
    return [tests[first:first + TOGETHER] for first in range(0, len(tests), TOGETHER)]


def run(build, suite, way, python, root, lists, folder, jobs):
    outcomes, rounds, problems = {}, 0, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        under_way = [pool.submit(play, build, suite, way, python, root, tests, folder / way.name / str(number))
                     for number, tests in enumerate(lists)]
        for played in (one.result() for one in under_way):
            outcomes |= played.outcomes
            rounds += played.rounds
            problems += [played.problem] if played.problem else []
    compare.write_junit(folder / f"{way.name}.xml", suite.name, outcomes)
    return outcomes, rounds, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("suite", choices=suites.names())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--source")
    parser.add_argument("--only", default="")
    parser.add_argument("--ways", default="without,ample,short")
    parser.add_argument("--with", dest="others", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()

    build = given.build.resolve()
    suite = suites.placed(suites.read(given.suite), build)
    python = python_of(build, suite, given.others)
    folder = build / "suites" / suite.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kept").mkdir(parents=True)
    root = root_of(build, suite, python, given.source, folder)
    lists = chosen(suite, root, given.quick, given.only)
    results, failed = {}, []
    for way in (way for way in ways(suite) if way.name in given.ways.split(",")):
        results[way.name], rounds, problems = run(build, suite, way, python, root, lists, folder, given.jobs)
        failed += [f"{way.name}: {problem}" for problem in problems]
        if way.asleep:
            print(f"{way.name}: all blocks slept and woke {rounds} times")
            failed += [] if rounds else [f"{way.name}: nothing ever slept"]
    print(compare.table(results), flush=True)
    without = results.get("without", {})
    if "without" in results and not any(done.outcome == "passed" for done in without.values()):
        failed.append("no test passes without Tessera")
    for way, outcomes in results.items():
        left_out = suite.leave_out_short if way == "short" else ()
        for test, outcome in compare.worse(without, outcomes, left_out).items():
            why = outcomes[test].why.strip().splitlines()[-1:] if test in outcomes else []
            failed.append(f"{way}: {test} passes without Tessera: {outcome} {' '.join(why)}")
    print("\n".join(failed), end="\n" if failed else "")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
