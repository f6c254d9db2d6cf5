"""`python -m tessera run [options] train.py ...`: the command line, with this very Python for scripts.

Every other subcommand goes to the `tessera` program as it is.
"""

import os
import sys
from typing import List

from . import _library


def with_python(words: List[str]) -> List[str]:
    """The words of `run`, with the interpreter in front of a script, a module or a command."""
    for place, word in enumerate(words):
        if word == "--" or word.endswith(".py") or word in ("-m", "-c"):
            program = words[place + 1:] if word == "--" else words[place:]
            is_script = bool(program) and (program[0].endswith(".py") or program[0] in ("-m", "-c"))
            return words[:place] + ["--"] + ([sys.executable] if is_script else []) + program
    return words


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
