"""`python -m tessera run [options] train.py ...`: the command line, with this very Python for scripts.

Every other subcommand goes to the `tessera` program as it is.
"""

import os
import sys
from typing import List

from . import _library


# Options of `run` that have no value; each other one has its own behind it, or behind a "=".
FLAGS = frozenset({"-h", "--help", "--explain", "--no-control", "--software"})


def _program_at(words: List[str]) -> int:
    """Where the options of `run` end: at the first word that is none of them, nor the value of one."""
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] not in ("--", "-m", "-c"):
        place += 1 if words[place] in FLAGS or "=" in words[place] else 2
    return place


def with_python(words: List[str]) -> List[str]:
    """The words of `run`, with the interpreter in front of a script, a module or a command."""
    place = _program_at(words)
    program = words[place + 1:] if words[place:place + 1] == ["--"] else words[place:]
    if not program:
        return words
    is_script = program[0].endswith(".py") or program[0] in ("-m", "-c")
    return words[:place] + ["--"] + ([sys.executable] if is_script else []) + program


def main() -> int:
    """Becomes the `tessera` program; returns only with an error."""
    words = sys.argv[1:]
    if words and words[0] == "run":
        words = ["run"] + with_python(words[1:])
    try:
        program = str(_library.program())
        os.execv(program, [program] + words)
    except (OSError, ImportError) as error:
        print(f"tessera: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
