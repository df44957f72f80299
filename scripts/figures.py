#!/usr/bin/env python3
"""Draws the figures of the guide: docs/guide/src/figures/*.svg.

    python3 scripts/figures.py            writes them
    python3 scripts/figures.py --check    fails if a committed figure differs
"""

import pathlib
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs/guide/src/figures"
PAPER, INK, LINE, SHADE = "#fcfcf9", "#22303c", "#9aa7b0", "#e8edf0"
BLUE, RED, GREEN, GOLD = "#2b6cb0", "#c0392b", "#2e7d4f", "#d9a21b"
FONT = "font-family='Helvetica, Arial, sans-serif'"


class Picture:
    """An SVG on a light ground, so that it can be read on dark pages too."""

    def __init__(self, width, height):
        self.size = width, height
        self.parts = [f"<rect width='{width}' height='{height}' rx='6' fill='{PAPER}'/>"]

    def rect(self, x, y, width, height, fill="none", stroke=LINE, opacity=1.0, dash=""):
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' fill='{fill}' fill-opacity='{opacity:g}' "
            f"stroke='{stroke}' stroke-width='1.5'{dashes(dash)}/>"
        )

    def polygon(self, points, fill, stroke=LINE, opacity=1.0):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f"<polygon points='{corners}' fill='{fill}' fill-opacity='{opacity:g}' stroke='{stroke}' "
            "stroke-width='1' stroke-linejoin='round'/>"
        )

    def line(self, x1, y1, x2, y2, color=LINE, dash="", width=1.5, arrow=False):
        end = " marker-end='url(#arrow)'" if arrow else ""
        self.parts.append(
            f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}' "
            f"stroke-width='{width:g}'{dashes(dash)}{end}/>"
        )

    def text(self, x, y, text, color=INK, size=14, anchor="start", bold=False):
        weight = " font-weight='bold'" if bold else ""
        self.parts.append(
            f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' fill='{color}' "
            f"text-anchor='{anchor}'{weight}>{escape(text)}</text>"
        )

    def __str__(self):
        width, height = self.size
        arrow = (
            "<defs><marker id='arrow' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
            f"orient='auto'><path d='M0 0L10 5L0 10z' fill='{INK}'/></marker></defs>"
        )
        head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>"
        return "\n".join([head, arrow, *self.parts, "</svg>\n"])


def dashes(dash):
    return f" stroke-dasharray='{dash}'" if dash else ""


def columns():
    """The grid of columns, and a box that is in two of them."""
    picture = Picture(640, 380)

    def at(s, u, v):
        """Projects a point: s along the sweep axis, u and v across it."""
        return 70 + 92 * s + 38 * u, 268 + 9 * s - 17 * u - 58 * v

    def prism(s, u, v, fill, stroke, opacity):
        (s0, s1), (u0, u1), (v0, v1) = s, u, v
        faces = [
            [(s0, u0, v0), (s0, u1, v0), (s0, u1, v1), (s0, u0, v1)],
            [(s0, u0, v1), (s1, u0, v1), (s1, u1, v1), (s0, u1, v1)],
            [(s0, u0, v0), (s1, u0, v0), (s1, u0, v1), (s0, u0, v1)],
        ]
        for face in faces:
            picture.polygon([at(*corner) for corner in face], fill, stroke, opacity)

    for v in range(3):
        for u in reversed(range(3)):
            hit = v == 1 and u < 2
            prism((0, 4.6), (u, u + 1), (v, v + 1), GOLD if hit else SHADE, LINE, 0.35 if hit else 0.22)
    prism((1.5, 2.4), (0.3, 1.6), (1.2, 1.75), BLUE, INK, 0.9)
    start, end = at(0, -0.55, -0.35), at(4.6, -0.55, -0.35)
    picture.line(*start, *end, INK, arrow=True)
    picture.text(at(2.3, -0.55, -0.35)[0] - 60, at(2.3, -0.55, -0.35)[1] + 24, "sweep axis")
    picture.text(at(0, 0, 1.5)[0] - 52, at(0, 0, 1.5)[1] + 5, "cells")
    picture.text(320, 26, "The box is in two cells: it gets two entries", size=15, anchor="middle")
    return picture


# Boxes of one column: begin and end along the sweep axis, begin and end across it, in grid units.
COLUMN = [(0.4, 4.2, 2, 9), (1.3, 2.6, 11, 14), (3.1, 6.4, 0, 4), (3.9, 5.1, 8, 15), (6.8, 8.7, 1, 6), (7.4, 9.2, 3, 10)]


def sweep():
    """The entries of one column, sorted by start; those that begin within the first one are its candidates."""
    picture = Picture(640, 330)
    scale, left, top, step = 58, 70, 66, 36
    entries = sorted(COLUMN)
    start, end, low, high = entries[0]
    candidates = [i for i, other in enumerate(entries) if i > 0 and other[0] <= end]
    picture.rect(left + scale * start, top - 16, scale * (end - start), step * 6 + 8, SHADE, "none", 0.9)
    picture.line(left + scale * end, top - 16, left + scale * end, top + step * 6 - 8, RED, "5 4")
    picture.text(left + scale * end, top - 22, "end of A", RED, anchor="middle")
    for i, (begin, stop, lower, upper) in enumerate(entries):
        overlaps = lower <= high and low <= upper
        color = BLUE if i == 0 else LINE if i not in candidates else GREEN if overlaps else GOLD
        y = top + step * i
        picture.rect(left + scale * begin, y, scale * (stop - begin), 18, color, "none", 0.85)
        picture.line(left + scale * begin, y - 3, left + scale * begin, y + 21, INK, width=2.5)
        picture.text(left - 18, y + 14, "ABCDEF"[i], bold=True, anchor="middle")
        note = {BLUE: "", LINE: "begins after A ends", GREEN: "candidate: a pair", GOLD: "candidate: apart across the axis"}[color]
        if begin > end:
            picture.text(left + scale * begin - 10, y + 14, note, INK, 13, "end")
        else:
            picture.text(left + scale * max(stop, end) + 8, y + 14, note, INK, 13)
    picture.line(left, top + step * 6 + 6, 620, top + step * 6 + 6, INK, arrow=True)
    picture.text(345, top + step * 6 + 26, "sweep axis", anchor="middle")
    picture.text(320, 24, "One column, entries sorted by their start: A tests B, C and D only", size=15, anchor="middle")
    return picture


def once():
    """Two boxes that share four cells; the pair belongs to one of them."""
    picture = Picture(640, 300)
    cell, left, top = 60, 150, 44
    for i in range(4):
        for k in range(4):
            picture.rect(left + cell * i, top + cell * k, cell, cell, SHADE if (i + k) % 2 else PAPER)
    a, b = (0.4, 0.5, 2.7, 2.6), (1.3, 1.25, 3.5, 3.4)
    owner = [max(int(a[axis]), int(b[axis])) for axis in range(2)]
    picture.rect(left + cell * owner[0], top + cell * owner[1], cell, cell, GOLD, GOLD, 0.6)
    for box, color, name in [(a, BLUE, "A"), (b, GREEN, "B")]:
        x0, y0, x1, y1 = (left + cell * box[0], top + cell * box[1], left + cell * box[2], top + cell * box[3])
        picture.rect(x0, y0, x1 - x0, y1 - y0, color, color, 0.22)
        picture.text(x0 + 8 if name == "A" else x1 - 18, y0 + 18 if name == "A" else y1 - 8, name, color, 16, bold=True)
    picture.text(left - 12, top + 20, "first cell of A", BLUE, anchor="end")
    picture.line(left - 8, top + 16, left + 22, top + 20, BLUE)
    picture.text(left + cell * 4 + 12, top + cell + 36, "first cell of B,", anchor="start")
    picture.text(left + cell * 4 + 12, top + cell + 54, "where the pair is reported", anchor="start")
    picture.line(left + cell * 4 + 8, top + cell + 32, left + cell * 2 - 6, top + cell + 32, INK, arrow=True)
    picture.text(320, 26, "A and B share four cells. One of them reports the pair", size=15, anchor="middle")
    return picture


COUNTS = [3, 0, 5, 2, 4, 1, 1, 6, 2, 0, 3, 4]
PER_GROUP, MINE = 4, 10


def sums():
    """The place of the pairs of a block: sums of the groups before its own, and counts of the blocks before it in its group."""
    picture = Picture(640, 290)
    width, left, top = 46, 44, 190
    groups = [sum(COUNTS[i : i + PER_GROUP]) for i in range(0, len(COUNTS), PER_GROUP)]
    mine = MINE // PER_GROUP
    first_block = mine * PER_GROUP
    place = sum(groups[:mine]) + sum(COUNTS[first_block:MINE])
    assert place == sum(COUNTS[:MINE])
    for i, count in enumerate(COUNTS):
        is_read = first_block <= i < MINE
        x = left + width * i
        picture.rect(x, top, width - 4, 34, RED if i == MINE else GOLD if is_read else SHADE, LINE, 0.75)
        picture.text(x + width / 2 - 2, top + 22, str(count), anchor="middle", bold=is_read or i == MINE)
    for g, total in enumerate(groups):
        x = left + width * PER_GROUP * g
        picture.rect(x, top - 74, width * PER_GROUP - 4, 34, GOLD if g < mine else SHADE, LINE, 0.75)
        picture.text(x + width * PER_GROUP / 2 - 2, top - 52, str(total), anchor="middle", bold=g < mine)
        for k in range(PER_GROUP):
            picture.line(x + width * k + width / 2 - 2, top - 2, x + width * k + width / 2 - 2, top - 36, LINE, arrow=True)
    parts = [str(total) for total in groups[:mine]] + [str(count) for count in COUNTS[first_block:MINE]]
    picture.text(left, top - 86, "sums of groups, by atomic additions in the dispatch that counts", size=13)
    picture.text(left, top + 56, "pairs per block", size=13)
    picture.text(left, top + 84, f"next dispatch: the red block writes from place {' + '.join(parts)} = {place}", RED, 15)
    picture.text(320, 28, "Places without waiting: each block adds up a few sums", size=15, anchor="middle")
    return picture


def rounding():
    """An interval that is widened to whole quanta contains the exact interval."""
    picture = Picture(640, 220)
    step, left, axis = 40, 60, 150
    for i in range(14):
        picture.line(left + step * i, axis - 6, left + step * i, axis + 6, LINE)
    picture.line(left - 10, axis, 620, axis, INK, arrow=True)
    boxes = [(2.3, 6.42, BLUE, "A", 56), (6.42, 10.7, GREEN, "B", 96)]
    for begin, end, color, name, y in boxes:
        low, high = int(begin) - 1, int(end) + 2
        picture.rect(left + step * low, y, step * (high - low), 26, color, color, 0.18, "4 3")
        picture.rect(left + step * begin, y + 4, step * (end - begin), 18, color, color, 0.8)
        picture.text(left + step * (begin + end) / 2, y + 18, name, "#ffffff", 14, "middle", True)
    touch = left + step * 6.42
    picture.line(touch, 50, touch, axis + 8, RED, "5 4")
    picture.text(touch, axis + 26, "A and B touch here", RED, anchor="middle")
    picture.text(left, axis + 54, "dashed: the interval in quanta, one quantum wider at each end", size=13)
    picture.text(320, 28, "Rounding outward: boxes that touch are candidates", size=15, anchor="middle")
    return picture


def main():
    drawn = {f"{draw.__name__}.svg": str(draw()) for draw in (columns, sweep, once, sums, rounding)}
    if sys.argv[1:] == ["--check"]:
        kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
        wrong = sorted(name for name in kept.keys() | drawn.keys() if kept.get(name) != drawn.get(name))
        if wrong:
            sys.exit(f"{', '.join(wrong)} in {FOLDER}: not what python3 scripts/figures.py writes")
        return
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawn.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
