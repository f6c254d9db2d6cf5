"""Runs tests in one way, in a process of their own: if a test ends that, another process goes on behind it."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

from ways import Sleeper

FOLDER = pathlib.Path(__file__).resolve().parent
MOST_SECONDS = 1800  # for one process
MOST_CRASHES = 50
ENDS_WELL = (0, 1, 5)  # of pytest: all passed, some failed, none was there


@dataclasses.dataclass
class Outcome:
    outcome: str  # passed, failed, error, skipped, crashed
    seconds: float = 0.0
    why: str = ""


@dataclasses.dataclass
class Played:
    outcomes: dict = dataclasses.field(default_factory=dict)  # by the test's name
    rounds: int = 0  # in which all blocks slept and woke
    problem: str = ""  # why tests of the file may be missing


def _lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _one_process(build, suite, way, command, variables, scratch):
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        process = subprocess.Popen(way.command(build, command), env=way.environment(build, suite) | variables,
                                   cwd=scratch, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)
        sleeper = Sleeper(build, process) if way.asleep else None
        try:
            code = process.wait(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        rounds = sleeper.end() if sleeper else 0
        printed.seek(0)
        return code, rounds, printed.read()[-4000:]


def play(build, suite, way, python, root, tests, scratch):
    """The outcomes of `tests`: files below `root`, or tests in them."""
    played = Played()
    scratch.mkdir(parents=True, exist_ok=True)
    left_out = list(suite.leave_out) + (list(suite.leave_out_short) if way.asleep else [])
    log, skip = scratch / "outcomes.jsonl", scratch / "skip.json"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcome_plugin",
               "--continue-on-collection-errors", "--rootdir", root,
               *suite.arguments, *(root / test for test in tests)]
    variables = {"PYTHONPATH": str(FOLDER), "SUITE_OUTCOMES": str(log), "SUITE_SKIP": str(skip),
                 "SUITE_SECONDS": str(suite.seconds)}
    for _ in range(MOST_CRASHES):
        log.unlink(missing_ok=True)
        skip.write_text(json.dumps([list(played.outcomes), left_out]), encoding="utf-8")
        code, rounds, printed = _one_process(build, suite, way, command, variables, scratch)
        played.rounds += rounds
        begun, collected, seen = None, None, set()
        for line in _lines(log):
            collected = line.get("collected", collected)
            if "begin" in line:
                begun = line["begin"]
                seen.add(begun)  # a test may be tried again
            elif "end" in line:
                played.outcomes[line["end"]] = Outcome(line["outcome"], line["seconds"], line["why"])
                begun = None
        if begun is None:
            if len(seen) != collected or code not in ENDS_WELL:
                played.problem = f"ended with {code}: {printed.strip()[-600:]}"
            return played
        played.outcomes[begun] = Outcome("crashed", why=f"ended with {code}\n{printed}")
    played.problem = f"more than {MOST_CRASHES} tests ended their process"
    return played
