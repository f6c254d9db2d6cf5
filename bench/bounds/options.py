"""Options shared by several of these scripts, and writing their results."""

import json
import pathlib
import sys


def add_budgets(parser):
    parser.add_argument("--budgets", default=[90, 70, 50, 35], help="percent of the liveness peak, with commas",
                        type=lambda text: [int(budget) for budget in text.split(",")])


def add_out(parser):
    parser.add_argument("-o", "--out", metavar="FILE", help="JSON; standard output without")


def write(body, out):
    text = json.dumps(body, indent=1) + "\n"
    if out:
        pathlib.Path(out).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
