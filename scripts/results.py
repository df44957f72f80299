#!/usr/bin/env python3
"""Generates the tables and charts in the pages of benches/results, README.md and the guide from CSV files.

    scripts/results.py            writes the pages and the charts
    scripts/results.py --check    fails if a page or a chart differs from its CSV file, a file is on no page, or the pages are too long

A page has a block for each table and chart. This script writes what is between the two comments. Paths begin at the page:

    <!-- table FILE.csv: OPTION; OPTION -->              <!-- chart FILE.svg FILE.csv: OPTION; OPTION -->
    <!-- end -->                                         <!-- end -->

    where COLUMN=VALUE|VALUE, COLUMN=VALUE    selects rows of the CSV file
    show COLUMN=HEADING, COLUMN               selects columns; without `show` and `columns`, all columns
    columns COLUMN                            a column for each value of COLUMN, in the order of `where`
    rows COLUMN=HEADING, COLUMN               the columns that name a row; needs `columns`
    value COLUMN, value COLUMN/COLUMN         the number in each cell; needs `columns`
    bold                                      marks the least number of each row; needs `columns`
    title TEXT, x COLUMN, y COLUMN, lines COLUMN    of a chart, whose axes are logarithmic

A range is a block within a line, also in a cell of a table, where `|` is written `\\|`:

    <!-- range FILE.csv: where …; value COLUMN -->0.09 to 0.20<!-- end -->

It is the least and the greatest value. With `rows` and `columns`, a value is the first column divided by the least of the others.

A table ends with the lines `# device: …` and `# command: …` at the head of its CSV file.
"""

import csv
import math
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches/results"
GUIDE = ROOT / "docs/guide/src"
# The most lines of all pages in the folder, and of a page in a folder below, without its tables.
MOST_LINES, MOST_LINES_BELOW = 500, 25
BLOCK = re.compile(r"(<!-- (table|chart|range) (.*?) -->\n?).*?(<!-- end -->)", re.S)
# Names of engines and axes in the CSV files that `broadsweep bench` writes, as pages call them.
NAMES = {
    "cpu": "broadsweep",
    "cpu_events": "broadsweep, events",
    "aabb_tree": "dynamic tree",
    "brute": "brute force",
    "fps": "calls per second",
    "n": "objects",
    "side": "side, in largest diameters",
    "speed": "largest diameters per step",
    "i_collide": "I-COLLIDE",
    "mbp": "MBP",
    "median_ms": "milliseconds",
    "mj_broadphase": "MuJoCo, its frame",
    "mj_sap": "MuJoCo, sweep along x",
    "parry_refit": "parry, refitted",
    "pruning": "box pruning",
    "ray_grid": "uniform grid",
    "scd": "SCD",
    "usscd": "USSCD",
}
COLOURS = ["#c0392b", "#2c6fbb", "#2e8b57", "#8e5bb5", "#d9822b", "#5d6d7e", "#00838f", "#9e7b00"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 90, 40, 170, 50


def read(path):
    """Returns the comments of a CSV file and its rows, as dictionaries."""
    lines = path.read_text().splitlines()
    comments = [line[2:] for line in lines if line.startswith("# ")]
    return comments, [*csv.DictReader(line for line in lines if not line.startswith("# "))]


def options(text):
    """Splits the options of a block."""
    found = {}
    for option in filter(None, map(str.strip, text.split(";"))):
        name, _, rest = option.partition(" ")
        found[name] = rest
    return found


def pairs_of(text):
    """Splits `A=B, C` into (A, B) and (C, C)."""
    parts = [part.strip().partition("=") for part in text.split(", ")]
    return [(key, value or key) for key, _, value in parts]


def selected(rows, where):
    """Returns the rows that `where` selects, and the values that it allows for each column."""
    allowed = {key: values.split("|") for key, values in pairs_of(where)} if where else {}
    chosen = [row for row in rows if all(row[key] in values for key, values in allowed.items())]
    if not chosen:
        raise ValueError(f"no row has {where}")
    return chosen, allowed


def value_of(row, name):
    """Returns a cell, or the quotient of two."""
    over, _, under = name.partition("/")
    if not under or not row[over]:
        return row[over]
    return repr(float(row[over]) / float(row[under]))


def shown(cell, digits=3):
    """Formats a cell: a decimal number with this count of significant digits, an integer with commas."""
    if re.fullmatch(r"\d+", cell):
        return f"{int(cell):,}"
    if not re.fullmatch(r"\d+\.\d+(e-?\d+)?", cell):
        return NAMES.get(cell, cell).replace("|", "\\|")
    if len(re.sub(r"^[0.]+|\.", "", cell)) <= digits:
        return cell
    number = float(cell)
    decimals = max(0, digits - 1 - math.floor(math.log10(number))) if number else 0
    return f"{number:,.{decimals}f}"


def pivot(rows, wanted, allowed):
    """Returns the head and the cells of a table with a column for each value of a column."""
    by, value = wanted["columns"], wanted["value"]
    values = allowed.get(by) or [*dict.fromkeys(row[by] for row in rows)]
    names = pairs_of(wanted["rows"])
    cells = {}
    for row in rows:
        line = cells.setdefault(tuple(row[key] for key, _ in names), {})
        if row[by] in line:
            raise ValueError(f"two rows for {row[by]}")
        line[row[by]] = value_of(row, value)
    head = [heading for _, heading in names] + [shown(name) for name in values]
    return head, [[*key, *(line.get(name) or "–" for name in values)] for key, line in cells.items()], len(names)


def emphasized(line, first):
    """Marks the least number of a row."""
    numbers = [float(cell) for cell in line[first:] if cell != "–"]
    least = {at for at, cell in enumerate(line) if at >= first and cell != "–" and float(cell) == min(numbers)}
    return [f"**{shown(cell)}**" if at in least else shown(cell) for at, cell in enumerate(line)]


def table(folder, spec):
    """Generates a table of Markdown."""
    name, _, rest = spec.partition(":")
    wanted = options(rest)
    comments, rows = read(folder / name)
    rows, allowed = selected(rows, wanted.get("where"))
    if "columns" in wanted:
        head, lines, first = pivot(rows, wanted, allowed)
    else:
        columns = pairs_of(wanted["show"]) if "show" in wanted else [(key, key) for key in rows[0]]
        head, first = [shown(heading) for _, heading in columns], 0
        lines = [[row[key] for key, _ in columns] for row in rows]
    lines = [emphasized(line, first) if "bold" in wanted else [shown(cell) for cell in line] for line in lines]
    text = [f"| {' | '.join(cells)} |" for cells in [head, *lines]]
    text.insert(1, "|" + "---|" * len(head))
    notes = [comment.removeprefix("device: ") + "." for comment in comments if comment.startswith("device: ")]
    notes.append("; ".join(f"`{comment[9:]}`" for comment in comments if comment.startswith("command: ")))
    return "\n".join(text) + (f"\n\n{' '.join(filter(None, notes))}" if comments else "") + "\n"


def span(folder, spec):
    """Returns the least and the greatest value, with two significant digits."""
    name, _, rest = spec.replace("\\|", "|").partition(":")
    wanted = options(rest)
    rows, allowed = selected(read(folder / name)[1], wanted.get("where"))
    values = [row[wanted["value"]] for row in rows]
    if "columns" in wanted:
        _, lines, first = pivot(rows, wanted, allowed)
        lines = [[float(cell) for cell in line[first:] if cell != "–"] for line in lines if line[first] != "–"]
        values = [repr(line[0] / min(line[1:])) for line in lines if len(line) > 1]
    values = sorted(filter(None, values), key=float)
    return f"{shown(values[0], 2)} to {shown(values[-1], 2)}"


def ticks(low, high):
    """Returns the powers of ten of an axis."""
    return range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)


def axis(points, at, start, end):
    """Returns the powers of ten of an axis, and the function that places a number on it."""
    numbers = [point[at] for line in points.values() for point in line]
    powers = ticks(min(numbers), max(numbers))
    low, span = powers[0], max(1, powers[-1] - powers[0])
    return powers, lambda number: start + (math.log10(number) - low) / span * (end - start)


def label_places(ends):
    """Moves the labels at the ends of lines apart. Ends are (x, y)."""
    places, last = {}, {}
    for name, (x, y) in sorted(ends.items(), key=lambda item: item[1][1]):
        last[x] = places[name] = max(y, last.get(x, -math.inf) + 15)
    return places


def tick(power):
    """Formats a power of ten."""
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def drawing(points, title, x_name, y_name):
    """Draws lines with logarithmic axes as SVG."""
    xs, x = axis(points, 0, LEFT, WIDTH - RIGHT)
    ys, y = axis(points, 1, HEIGHT - BOTTOM, TOP)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_name)}</text>',
        f'<text transform="translate(16 {HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>',
    ]
    for power in xs:
        at = x(10.0**power)
        svg.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        svg.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{tick(power)}</text>')
    for power in ys:
        at = y(10.0**power)
        svg.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        svg.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick(power)}</text>')
    places = label_places({name: (x(line[-1][0]), y(line[-1][1])) for name, line in points.items()})
    for number, (name, line) in enumerate(points.items()):
        colour, width = COLOURS[number % len(COLOURS)], 3 if number == 0 else 1.5
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        svg.append(f'<text x="{x(line[-1][0]) + 6:.1f}" y="{places[name] + 4:.1f}" fill="{colour}">{escape(NAMES.get(name, name))}</text>')
    return "\n".join([*svg, "</svg>", ""])


def chart(folder, spec):
    """Returns the Markdown of a chart, its path, and its SVG."""
    files, _, rest = spec.partition(":")
    picture, source = files.split()
    wanted = options(rest)
    rows, allowed = selected(read(folder / source)[1], wanted.get("where"))
    values = allowed.get(wanted["lines"]) or [*dict.fromkeys(row[wanted["lines"]] for row in rows)]
    x, y, lines, title = (wanted[key] for key in ("x", "y", "lines", "title"))
    points = {name: [(float(row[x]), float(row[y])) for row in rows if row[lines] == name and row[y]] for name in values}
    return f"![{title}]({picture})\n", folder / picture, drawing(points, title, NAMES.get(x, x), NAMES.get(y, y))


def generated(page, files, used):
    """Returns the text of a page with its blocks generated. Collects the charts and the CSV files."""
    folder = page.parent
    text = page.read_text()
    if len(BLOCK.findall(text)) != len(re.findall(r"<!-- (?:table|chart|range) ", text)):
        raise ValueError("a block has no end")

    def block(match):
        head, kind, spec, end = match.groups()
        used.add((folder / spec.partition(":")[0].split()[-1]).resolve())
        if kind != "chart":
            return head + {"table": table, "range": span}[kind](folder, spec) + end
        markdown, path, svg = chart(folder, spec)
        files[path] = svg
        return head + markdown + end

    return BLOCK.sub(block, text)


def main():
    files, used = {}, set()
    results = sorted(page for page in RESULTS.rglob("*.md") if "gpus" not in page.parts)
    pages = [ROOT / "README.md", *sorted(GUIDE.glob("*.md")), *results]
    for page in pages:
        try:
            files[page] = generated(page, files, used)
        except (KeyError, ValueError, OSError) as error:
            print(f"{page.relative_to(ROOT)}: {type(error).__name__}: {error}")
            return 1
    if "--check" not in sys.argv:
        for path, text in files.items():
            path.write_text(text)
    differing = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    mistakes = [f"{path.relative_to(ROOT)} differs: run scripts/results.py" for path in differing]
    unused = {*RESULTS.rglob("*.csv"), *RESULTS.rglob("*.svg")} - used - {*files}
    mistakes += [f"{path.relative_to(RESULTS)} is on no page" for path in sorted(unused) if "gpus" not in path.parts]
    lines = sum(len(files[page].splitlines()) for page in pages if page.parent == RESULTS)
    for page in pages:
        written = len(BLOCK.sub("", files[page]).splitlines())
        if RESULTS in page.parent.parents and written > MOST_LINES_BELOW:
            mistakes.append(f"{page.relative_to(RESULTS)} has {written} lines without tables, must be at most {MOST_LINES_BELOW}")
    if lines > MOST_LINES:
        mistakes.append(f"the pages have {lines} lines, must be at most {MOST_LINES}")
    print(*mistakes or [f"{len(pages)} pages with {lines} lines, as their CSV files"], sep="\n")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
