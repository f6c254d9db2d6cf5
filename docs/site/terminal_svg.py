"""Draws recorded terminal output as SVG: lines that begin with "$ " are what was typed. Equal text gives equal bytes.

Usage: terminal_svg.py FOLDER FILE...     writes FOLDER/NAME.svg for each NAME.txt. Needs rich.
"""

import io
import pathlib
import re
import sys

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

# A line that is longer is continued on the next.
NARROWEST, WIDEST = 60, 240


def draw(name, text):
    lines = text.rstrip("\n").split("\n")
    console = Console(record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False,
                      width=max(len(line) for line in [NARROWEST * " ", *lines] if len(line) <= WIDEST))
    for line in lines:
        console.print(Text(line, style="bold green" if line.startswith("$ ") else ""))
    drawn = console.export_svg(title=name.replace("_", " "), theme=MONOKAI, unique_id=f"recorded-{name}")
    # Pages ask no other server for anything, such as for a font.
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.S).replace("Fira Code, ", "")


def main(folder, *files):
    for file in map(pathlib.Path, files):
        drawn = draw(file.stem, file.read_text(encoding="utf-8"))
        (pathlib.Path(folder) / f"{file.stem}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
