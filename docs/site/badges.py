"""Draws the badges of README.md from what they are about, so that none says what is not so: docs/badges/*.svg.

Usage: badges.py
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/badges"
LETTER, MARGIN, HEIGHT = 7, 8, 20


def found(pattern, path):
    return re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))[1]


def badges():
    """Name -> label and value."""
    return {
        "licence": ("licence", found(r'(?m)^license = "(.*)"', "pyproject.toml")),
        "python": ("Python", found(r'(?m)^requires-python = ">=(.*)"', "pyproject.toml") + " and newer"),
        "glibc": ("glibc", found(r"--plat manylinux_(\d+_\d+)_", "cmake/wheel.sh").replace("_", ".") + " and newer"),
        "language": ("C++", found(r"CMAKE_CXX_STANDARD (\d+)", "cmake/compile_options.cmake")),
    }


def draw(label, value):
    left, right = (LETTER * len(words) + 2 * MARGIN for words in (label, value))

    def text(x, words):
        return f'<text x="{x}" y="14" text-anchor="middle" fill="#fff">{words}</text>'

    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
            f'aria-label="{label}: {value}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{left}" height="{HEIGHT}" fill="#555"/>\n'
            f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="#1b6ca8"/>\n'
            f"{text(left / 2, label)}\n{text(left + right / 2, value)}\n</svg>\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, words in badges().items():
        (FOLDER / f"{name}.svg").write_text(draw(*words), encoding="utf-8")


if __name__ == "__main__":
    main()
