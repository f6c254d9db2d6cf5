"""The C example of docs/quickstart.md equals, word for word, a program that the build compiles and runs."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
example = re.search(r"```c\n(.*?)```", (root / "docs/quickstart.md").read_text(encoding="utf-8"), re.S)
program = (root / "tests/c_api/readme_example.c").read_text(encoding="utf-8")
if example is None or example.group(1).strip() not in program:
    sys.exit("docs/quickstart.md and tests/c_api/readme_example.c show different programs")
