"""Draws throughput over oversubscription: one SVG for each program, and overview.svg with all of them for the README.
Equal input gives equal bytes.

Usage: plot.py RESULTS.json FOLDER      (needs matplotlib)
"""

import json
import pathlib
import sys

import matplotlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from environment import objection  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "tessera", "svg.fonttype": "none", "font.size": 9,
                            "axes.spines.top": False, "axes.spines.right": False})

from matplotlib import pyplot  # noqa: E402

# Key of a row, name, colour, marker, line style.
LINES = (("auto", "Tessera, auto", "#1b6ca8", "o", "-"), ("recency", "Tessera, recency", "#6fb1dd", "s", "-"),
         ("offload", "explicit offload", "#d98032", "^", "--"), ("paging", "paging on demand", "#8a8a8a", "v", "--"))

Y_LABEL = "throughput, % of all in memory"


def draw_in(axes, program):
    """The lines of one program, without legend and label of the y axis."""
    rows = program["rows"]
    bound = [min(100, 100 * program["memory_ns"] / row["lower_bound_ns"]) for row in rows]
    axes.fill_between([row["ratio"] for row in rows], bound, 100, color="#eeeeee", linewidth=0)
    axes.text(4, 101, "above the bound", ha="right", va="bottom", color="#666666")
    for key, name, colour, marker, line in LINES:
        points = [(row["ratio"], 100 * program["memory_ns"] / row[key]["ns"]) for row in rows if row.get(key)]
        if points:
            axes.plot(*zip(*points), label=name, color=colour, marker=marker, linestyle=line, markersize=4)
    axes.set(title=program["title"], xlabel="live bytes / device memory", xscale="log", ylim=(0, 110))
    axes.set_xticks([row["ratio"] for row in rows], [f"{row['ratio']:g}" for row in rows])
    axes.minorticks_off()
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def save(figure, folder, name):
    figure.savefig(pathlib.Path(folder) / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def draw(program, folder):
    figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    draw_in(axes, program)
    axes.set_ylabel(Y_LABEL)
    axes.legend(frameon=False)
    save(figure, folder, program["name"])


def draw_overview(programs, folder):
    """All programs side by side, with one legend below them."""
    figure, row = pyplot.subplots(1, len(programs), figsize=(3 * len(programs), 3.1), sharey=True, layout="constrained")
    for axes, program in zip(row, programs):
        draw_in(axes, program)
    row[0].set_ylabel(Y_LABEL)
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LINES), frameon=False)
    save(figure, folder, "overview")


def main(path, folder):
    body = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    why = objection(body)
    if why:
        sys.exit(f"{path}: {why}: not a publishable result")
    for program in body["programs"]:
        draw(program, folder)
    draw_overview(body["programs"], folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
