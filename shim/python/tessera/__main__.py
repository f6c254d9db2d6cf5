"""`python -m tessera run [options] train.py ...`: the command line, with the current Python interpreter for scripts.

`jupyter` and `torch-listener` are in this package; every other subcommand is passed to the `tessera` program unchanged.
"""

import os
import sys
from typing import List

from . import _library


# Options of `run` without a value; the others have a value after them, or after a "=".
FLAGS = frozenset({"-h", "--help", "--explain", "--no-control", "--no-presets", "--software"})


def _program_at(words: List[str]) -> int:
    """The index of the first word that is neither an option of `run` nor the value of one."""
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] not in ("--", "-m", "-c"):
        place += 1 if words[place] in FLAGS or "=" in words[place] else 2
    return place


def with_python(words: List[str]) -> List[str]:
    """The words of `run`, with the interpreter inserted before a script, a module or a command."""
    place = _program_at(words)
    program = words[place + 1:] if words[place:place + 1] == ["--"] else words[place:]
    if not program:
        return words
    is_script = program[0].endswith(".py") or program[0] in ("-m", "-c")
    return words[:place] + ["--"] + ([sys.executable] if is_script else []) + program


def main() -> int:
    """Executes the `tessera` program; returns only on error."""
    words = sys.argv[1:]
    if words and words[0] == "jupyter":
        from ._jupyter import main as jupyter
        return jupyter(words[1:])
    if words and words[0] == "torch-listener":
        from ._torch_listener import main as torch_listener
        return torch_listener(words[1:])
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
