"""Draws docs/drawings/*.txt as SVG beside them: messages between lanes, or bars over time. Equal text gives equal bytes.

Usage: drawings.py [FOLDER]

A drawing of messages:                        A drawing over time:

    lanes program | allocator | driver            rows kernels | copies in
    program -> allocator: what it asks            bar kernels 0 2: forward
    allocator: what happens there                 mark 2: the fetch begins
    == a part of the drawing ==                   scale 10
"""

import html
import pathlib
import sys

LANE, STEP, MARGIN, TOP = 216, 34, 16, 56
ROW, TIMELINE, LABEL = 44, 760, 150
COLOURS = ("#1b6ca8", "#d98032", "#4c956c", "#8a8a8a", "#8e5ea2", "#b8505a")
STYLE = "font-family=\"sans-serif\" font-size=\"12\""


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, more):
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {more}/>'


def svg(width, height, body):
    return "\n".join((f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" {STYLE}>',
                      '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
                      'orient="auto"><path d="M0 0 8 4 0 8z" fill="#333"/></marker></defs>',
                      f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>', *body, "</svg>", ""))


def names(rest):
    return [name.strip() for name in rest.split("|")]


def messages(lanes, lines):
    at = {name: MARGIN + LANE * (number + 0.5) for number, name in enumerate(lanes)}
    width, y, body = 2 * MARGIN + LANE * len(lanes), TOP, []
    for words in lines:
        y += STEP
        if words.startswith("=="):
            body += [line(MARGIN, y, width - MARGIN, y, 'stroke="#bbb" stroke-dasharray="4 3"'),
                     text(MARGIN, y - 5, words.strip("= "), "start", 'fill="#666" font-style="italic"')]
            continue
        ends, _, said = (part.strip() for part in words.partition(":"))
        sender, _, receiver = (part.strip() for part in ends.partition("->"))
        if receiver:
            body += [line(at[sender], y, at[receiver], y, 'stroke="#333" marker-end="url(#end)"'),
                     text((at[sender] + at[receiver]) / 2, y - 5, said)]
        else:
            half = 4 + 3.4 * len(said)
            body += [f'<rect x="{at[sender] - half:g}" y="{y - 15:g}" width="{2 * half:g}" height="22" rx="4" fill="#eef4f9" '
                     'stroke="#1b6ca8"/>', text(at[sender], y, said)]
    height = y + STEP
    heads = [part for name, x in at.items()
             for part in (line(x, TOP - 18, x, height - MARGIN, 'stroke="#ccc"'),
                          text(x, TOP - 26, name, more='font-weight="bold"'))]
    return svg(width, height, heads + body)


def over_time(rows, lines):
    scale = next(float(words.split()[1]) for words in lines if words.startswith("scale "))
    left, height = MARGIN + LABEL, TOP + ROW * len(rows) + MARGIN

    def x(time):
        return left + TIMELINE * float(time) / scale

    body = [text(left - 8, TOP + ROW * (number + 0.5), name, "end", 'font-weight="bold"') for number, name in enumerate(rows)]
    marks = 0
    for words in lines:
        command, _, said = (part.strip() for part in words.partition(":"))
        if command.startswith("bar "):
            *name, begin, end = command.split()[1:]
            row = rows.index(" ".join(name))
            y, wide = TOP + ROW * row + 6, x(end) - x(begin)
            body += [f'<rect x="{x(begin):g}" y="{y:g}" width="{wide:g}" height="{ROW - 14:g}" rx="3" '
                     f'fill="{COLOURS[row % len(COLOURS)]}"/>',
                     text(x(begin) + wide / 2, y + 19, said, more='fill="#fff"')]
        elif command.startswith("mark "):
            at = x(command.split()[1])
            marks += 1
            body += [line(at, TOP - 6, at, height - MARGIN, 'stroke="#333" stroke-dasharray="3 3"'),
                     text(at, 18 if marks % 2 else 36, said, more='fill="#333"')]
    return svg(left + TIMELINE + MARGIN, height, body)


def draw(source):
    head, *rest = [words.strip() for words in source.splitlines() if words.strip()]
    kind, _, listed = head.partition(" ")
    return {"lanes": messages, "rows": over_time}[kind](names(listed), rest)


def main(folder):
    for path in sorted(folder.glob("*.txt")):
        path.with_suffix(".svg").write_text(draw(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1] / "drawings")
