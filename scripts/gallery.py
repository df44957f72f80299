#!/usr/bin/env python3
"""Draws the pictures of docs/gallery for the examples that only print: `python3 scripts/gallery.py [NAME ...]`

Each picture repeats the boxes of its example by the same formulas, in double precision. Plain loops find pairs and hits.
"""

import math
import struct
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INK, GREY, RED, GREEN = "#222", "#98a2b0", "#d1495b", "#3f8f5f"
BLUE, PALE, BROWN, SAND = "#3b6fb0", "#dde6f2", "#a8832a", "#f3dfb4"
WIDTH, HEIGHT, PLOT = 320, 200, 176
WORD = 0xFFFFFFFF


class Picture:
    """A card with a plot, and a legend below. The plot maps `left` and `bottom` of the world to its lower left corner."""

    def __init__(self, left=0.0, bottom=0.0, scale=1.0):
        self.left, self.bottom, self.scale, self.parts = left, bottom, scale, []

    def point(self, x, y):
        return (x - self.left) * self.scale, PLOT - (y - self.bottom) * self.scale

    def path(self, points, stroke, fill="none", width=1.0, extra=""):
        """Draws a line through points, if a part of it can be in the plot. Neighbours of one style are one element."""
        points = [self.point(*point) for point in points]
        if any(max(axis) < 0 or min(axis) > end for axis, end in zip(zip(*points), (WIDTH, PLOT))):
            return
        tail = f"' stroke='{stroke}' fill='{fill}' stroke-width='{width:g}'{extra}/>"
        data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        if self.parts and self.parts[-1].endswith(tail) and "marker" not in tail:
            self.parts[-1] = self.parts[-1].removesuffix(tail) + data + tail
        else:
            self.parts.append(f"<path d='{data}{tail}")

    def line(self, a, b, stroke, width=1.5, extra=""):
        self.path([a, b], stroke, width=width, extra=extra)

    def arrow(self, a, b, stroke=GREY):
        self.line(a, b, stroke, extra=" marker-end='url(#tip)'")

    def pixels(self):
        """Ends the view: from here on, coordinates are pixels from the lower left corner of the plot."""
        self.left, self.bottom, self.scale = 0, 0, 1

    def box(self, aabb, fill=PALE, stroke=GREY, axes=(0, 1), width=0.7, extra=""):
        """Draws the projection of a box along the third axis, up to 9,999 units in each direction."""
        (x0, y0), (x1, y1) = ([max(-9999, min(9999, corner[k])) for k in axes] for corner in aabb)
        self.path([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], stroke, fill, width, extra)

    def dot(self, at, fill, radius=2.5, stroke="none"):
        x, y = self.point(*at)
        self.parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:g}' fill='{fill}' stroke='{stroke}'/>")

    def text(self, at, text, fill=INK, anchor="middle", size=11):
        x, y = self.point(*at)
        style = f"fill='{fill}' text-anchor='{anchor}' font-size='{size}'"
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' {style}>{text}</text>")

    def links(self, boxes, found, stroke, axes=(0, 1), width=1.5):
        """Draws a line between the centres of the boxes of each pair."""
        for a, b in sorted(found):
            self.line(middle(boxes[a], axes), middle(boxes[b], axes), stroke, width)

    def chip(self, at, size, text, fill=PALE):
        """Draws a labelled box with its centre at `at`."""
        self.box([[at[k] + sign * size[k] / 2 for k in (0, 1)] for sign in (-1, 1)], fill, BLUE)
        self.text((at[0], at[1] - 4), text)

    def save(self, name, *legend):
        """Writes the file. The legend has pairs of a text and its colour."""
        spans = "\u2002·\u2002".join(f"<tspan fill='{colour}'>{text}</tspan>" for text, colour in legend)
        tip = "<path d='M0 0L6 3L0 6z' fill='#98a2b0'/>"
        lines = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}' "
            "font-family='sans-serif' font-size='11'>",
            f"<defs><marker id='tip' markerWidth='6' markerHeight='6' refX='5' refY='3' orient='auto'>{tip}</marker></defs>",
            f"<rect x='.5' y='.5' width='{WIDTH - 1}' height='{HEIGHT - 1}' rx='6' fill='#fff' stroke='#c8cfd8'/>",
            f"<svg x='1' y='1' width='{WIDTH - 2}' height='{PLOT}' stroke-linejoin='round'>",
            *self.parts,
            f"</svg><text x='10' y='191'>{spans}</text>",
            "</svg>",
        ]
        (ROOT / f"docs/gallery/{name}.svg").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def cube(lower, edge):
    return lower, [x + edge for x in lower]


def around(center, half):
    return [x - h for x, h in zip(center, half)], [x + h for x, h in zip(center, half)]


def middle(aabb, axes=(0, 1)):
    return [(aabb[0][k] + aabb[1][k]) / 2 for k in axes]


def overlap(a, b):
    return all(a[0][k] <= b[1][k] and b[0][k] <= a[1][k] for k in range(3))


def intersection(a, b):
    return [max(x) for x in zip(a[0], b[0])], [min(x) for x in zip(a[1], b[1])]


def pairs(boxes):
    """Lists the overlapping pairs: a sweep along x."""
    order, found = sorted(range(len(boxes)), key=lambda i: boxes[i][0][0]), set()
    for k, i in enumerate(order):
        for m in range(k + 1, len(order)):
            j = order[m]
            if boxes[j][0][0] > boxes[i][1][0]:
                break
            if overlap(boxes[i], boxes[j]):
                found.add((min(i, j), max(i, j)))
    return found


def ray_span(origin, direction, box, limit=math.inf):
    """Returns where a ray enters and leaves a box, or None."""
    enter, leave = 0.0, limit
    for o, d, low, high in zip(origin, direction, *box):
        if d == 0 and not low <= o <= high:
            return None
        if d:
            near, far = sorted(((low - o) / d, (high - o) / d))
            enter, leave = max(enter, near), min(leave, far)
    return (enter, leave) if enter <= leave else None


def scramble(seed, shift):
    mixed = seed * 0x9E3779B9 & WORD
    return ((mixed ^ mixed >> 15) * 0x85EBCA6B & WORD) >> shift


def spread(i):
    """Multiples of three irrational numbers."""
    return [i * step % 1 for step in (0.819172513396, 0.671043606703, 0.549700477901)]


def first_pairs():
    picture = Picture(-1.6, -0.15, 54)
    boxes = [cube([0] * 3, 1), cube([0.5] * 3, 1.5), cube([2] * 3, 1)]
    for number, aabb in enumerate(boxes):
        picture.box(aabb, stroke=BLUE, width=1.5)
        picture.text((aabb[0][0] + 0.15, aabb[1][1] - 0.25), number)
    for a, b in sorted(pairs(boxes)):
        lower, upper = intersection(boxes[a], boxes[b])
        picture.box((lower, upper), RED, RED)
        if lower == upper:
            picture.dot(lower[:2], RED, 4)
    picture.save("first_pairs", ("0 overlaps 1", RED), ("1 touches 2 at a corner: a pair too", INK))


def any_engine():
    unit = lambda seed: scramble(seed, 16) / 65536
    place = lambda seed, step: 10 * unit(seed) + 0.3 * math.sin(3 * unit(seed + 9999) * step)
    scene = lambda step: [around([place(3 * i + k, step) for k in range(3)], [0.3] * 3) for i in range(2000)]
    picture, boxes, before, after = Picture(0, 0, 32), scene(1), pairs(scene(0)), pairs(scene(1))
    in_slice = {i for i, aabb in enumerate(boxes) if abs(middle(aabb, (2, 0))[0] - 5) < 0.4 and middle(aabb)[0] < 4.6}
    for i in sorted(in_slice):
        picture.box(boxes[i])
    for found, colour in ((after & before, BLUE), (after - before, RED), (before - after, GREY)):
        picture.links(boxes, {pair for pair in found if in_slice.issuperset(pair)}, colour)
    picture.pixels()
    for y, name in ((138, "GPU"), (38, "CPU")):
        picture.chip((201, y), (46, 24), name)
        picture.arrow((160, 88 + (y - 88) / 3), (178, y))
        picture.arrow((224, y), (243, 88 + (y - 88) / 3))
    picture.chip((276, 88), (68, 24), "same lists", SAND)
    counts = (f"{len(after):,} pairs", BLUE), (f"{len(after - before)} began", RED), (f"{len(before - after)} ended", GREY)
    picture.save("any_engine", *counts)


def any_tree(z=42):
    picture = Picture(0, 12, 5)
    point = lambda seed: [0.5 * scramble(4 * seed + axis, 25) for axis in (1, 2, 3)]
    boxes = [cube(point(i), 1.5) for i in range(3000)]
    in_slice = [i for i, aabb in enumerate(boxes) if aabb[0][2] <= z <= aabb[1][2]]
    for i in sorted(in_slice, key=lambda i: i % 3 == 0):
        picture.box(boxes[i], SAND if i % 3 == 0 else PALE)
    for i in range(2000):
        origin = point(5000 + i)
        if i % 5 < 2 and origin[2] == z:
            direction = [[1, 0, 0], [-1, 0.5, 0]][i % 5]
            met = [boxes[j] for j in in_slice if i % 3 == 2 or (j % 3 == 0) == (i % 3 == 1)]
            t = min((span[0] for b in met if (span := ray_span(origin, direction, b))), default=99)
            end = [origin[k] + t * direction[k] for k in (0, 1)]
            picture.line(origin[:2], end, BROWN if i % 3 == 1 else BLUE if i % 3 == 0 else INK)
            picture.dot(end, RED)
    for query in (p for p in map(point, range(9000, 9500)) if p[2] == z):
        closest = lambda b: [min(max(x, low), high) for x, low, high in zip(query, *b)]
        for b in sorted(boxes, key=lambda b: math.dist(query, closest(b)))[:4]:
            picture.box(b, "none", GREEN, extra=" stroke-dasharray='2 1.5'")
            picture.line(query[:2], closest(b)[:2], GREEN, 1)
        picture.dot(query[:2], GREEN)
    legend = ("rays to walls", BLUE), ("to doors", BROWN), ("to both", INK), ("hits", RED), ("4 nearest", GREEN)
    picture.save("any_tree", *legend)


def contacts():
    picture, state, dt = Picture(0, 0, 26.5), 1, 1 / 60

    def unit():
        nonlocal state
        state = (state * 747796405 + 2891336453) & WORD
        return (state >> 8) / (1 << 24)

    bodies, ages = [], {}
    for _ in range(2000):
        bodies.append(([30 * unit(), 30 * unit(), 1 + 20 * unit()], [4 * unit() - 2, 4 * unit() - 2, 0], [0]))
    bodies = [body for body in bodies if body[0][0] < 14 and body[0][1] < 9]
    for _ in range(110):
        for center, speed, at_rest in bodies:
            if at_rest[0] > 30:
                continue
            speed[2] -= 9.81 * dt
            floor = 0.5 * (center[0] % 1) + 0.5
            lands = center[2] + dt * speed[2] <= floor
            if lands:
                speed[:], center[2] = [0.8 * speed[0], 0.8 * speed[1], 0], floor
            is_slow = lands and max(abs(speed[0]), abs(speed[1])) < 0.05
            at_rest[0] = at_rest[0] + 1 if is_slow else 0
            speed[:] = [0, 0, 0] if is_slow else speed
            center[:] = [x + dt * v for x, v in zip(center, speed)]
        boxes = [around(center, [0.5] * 3) for center, _, _ in bodies]
        ages = {pair: ages.get(pair, -1) + 1 for pair in pairs(boxes)}
    asleep = [at_rest[0] > 30 for _, _, at_rest in bodies]
    for aabb, sleeps in sorted(zip(boxes, asleep), key=lambda item: item[0][1][2]):
        picture.box(aabb, "#eee" if sleeps else PALE)
    awake = {pair: age for pair, age in ages.items() if not (asleep[pair[0]] and asleep[pair[1]])}
    picture.links(boxes, {pair for pair, age in awake.items() if age >= 10}, BLUE)
    picture.links(boxes, {pair for pair, age in awake.items() if age < 10}, RED)
    picture.save("contacts", ("began within 10 steps", RED), ("older contacts", BLUE), ("asleep", GREY))


def draw_pairs():
    number = lambda i, below: i * i * 7919 // 64 % below
    sizes = [[number(6 * i + k, below) for k, below in enumerate((230, 230, 100, 25, 25, 25))] for i in range(500)]
    # Rows of the picture go down.
    boxes = [([x, -y - h, z], [x + w, -y, z + d]) for x, y, z, w, h, d in sizes]
    picture, found = Picture(0, -141, 1.25), pairs(boxes)
    for aabb in boxes:
        picture.box(aabb, "none", "#c3d1e3")
    for a, b in sorted(found):
        picture.box(intersection(boxes[a], boxes[b]), RED, RED)
    picture.save("draw_pairs", (f"the overlaps of {len(found)} pairs, as drawn", RED), ("500 boxes", GREY))


def game(frame=6):
    crates = [around([5 + i // 3 % 20 * 1.5, 4, -0.1 * (5 + i // 3 % 20 * 1.5) + 0.6 + i % 3], [0.5] * 3) for i in range(60)]
    place = lambda i: 12 + 2.5 * i - 0.05 * frame
    enemies = [around([place(i), i % 3 - 1, 0.9 - 0.1 * (12 + 2.5 * i) + 0.005 * frame], [0.3, 0.3, 0.9]) for i in range(10)]
    bullets = [around([1.5 + 2.5 * frame, 0.2 * i - 1, 1 - 0.25 * frame], [0.02] * 3) for i in range(12)]
    boxes, picture = [*crates, *enemies, *bullets], Picture(8.5, -4.6, 15)
    kinds = "c" * 60 + "e" * 10 + "b" * 12
    pad = {"c": 0, "e": 0.05, "b": 2.5}
    padded = [([x - pad[kind] for x in low], [x + pad[kind] for x in high]) for kind, (low, high) in zip(kinds, boxes)]
    for aabb, around_it, kind in zip(boxes, padded, kinds):
        if kind == "b":
            picture.box(around_it, "none", "#c3d1e3")
        picture.box(aabb, {"c": SAND, "e": BLUE, "b": INK}[kind])
    # Crates sleep, and bullets do not meet each other.
    found = {(a, b) for a, b in pairs(padded) if kinds[a] != kinds[b] or kinds[a] == "e"}
    picture.links(boxes, found, RED, width=0.8)
    legend = (f"{len(found)} pairs", RED), ("bullets with margins", INK), ("enemies", BLUE), ("crates", BROWN)
    picture.save("game", *legend)


def mesh_pairs(chosen=8):
    on_circle = lambda u, radius, z: (radius * math.cos(u), radius * math.sin(u), z)
    corner = lambda i, j: on_circle(math.tau * i / 48, 3 + math.cos(math.tau * j / 24), math.sin(math.tau * j / 24))
    triangles = []
    for i in range(48):
        for j in range(24):
            at = lambda di, dj: ((i + di) % 48, (j + dj) % 24)
            triangles += [[at(0, 0), at(1, 0), at(1, 1)], [at(0, 0), at(1, 1), at(0, 1)]]
    points = [[corner(*vertex) for vertex in triangle] for triangle in triangles]
    boxes = [[[pick(axis) for axis in zip(*three)] for pick in (min, max)] for three in points]
    counts, picture = [0, 0], Picture(1.35, -0.8, 95)
    order = sorted(range(len(points)), key=lambda i: sum(z for _, _, z in points[i]))
    for i in order:
        shares = bool(set(triangles[i]) & set(triangles[chosen]))
        touches = overlap(boxes[i], boxes[chosen]) and i != chosen
        counts[0] += touches and not shares
        counts[1] += touches and shares
        if all(z > -0.1 for _, _, z in points[i]) and all(abs(y) < 1.9 and x > 1 for x, y, _ in points[i]):
            fill = INK if i == chosen else PALE if not touches else SAND if shares else RED
            picture.path([(x, y) for x, y, _ in [*points[i], points[i][0]]], GREY, fill, 0.7)
    picture.box(boxes[chosen], "none", INK, width=1.2)
    legend = (f"its {counts[0]} pairs", RED), (f"{counts[1]} share a vertex: excluded", BROWN)
    picture.save("mesh_pairs", ("a triangle", INK), *legend)


def rays_with_groups(z=11):
    state, groups = 1, ["#7fa6d6", "#e5b84f", "#84b98b"]

    def random(below):
        nonlocal state
        state = (state * 1664525 + 1013904223) & WORD
        return (state >> 16) % below

    vector = lambda below: [random(below) for _ in range(3)]
    lower = [(vector(100), vector(5)) for _ in range(2000)]
    boxes = [(low, [x + s for x, s in zip(low, size)]) for low, size in lower]
    rays = [(vector(100), [x - 1 for x in vector(3)]) for _ in range(1000)]
    group = [random(3) for _ in boxes]
    masks = [random(8) for _ in rays]
    picture = Picture(0, 11, 3.2)
    for aabb, own in zip(boxes, group):
        if aabb[0][2] <= z <= aabb[1][2]:
            picture.box(aabb, groups[own])
    for (origin, direction), mask in zip(rays, masks):
        if origin[2] != z or direction[2] or not any(direction) or not mask:
            continue
        met = [b for b, own in zip(boxes, group) if mask >> own & 1]
        hits = sorted(span[0] for b in met if (span := ray_span(origin, direction, b, 60)))
        along = lambda t: [origin[k] + t * direction[k] for k in (0, 1)]
        picture.line(origin[:2], along(60), INK, 1)
        for own in range(3):
            if mask >> own & 1:
                x, y = picture.point(*origin[:2])
                picture.parts.append(f"<circle cx='{x + 5 * own:.1f}' cy='{y - 6:.1f}' r='2.5' fill='{groups[own]}'/>")
        for k, t in enumerate(hits):
            picture.dot(along(t), RED, 2.5 if k else 4)
    picture.save("rays_with_groups", ("rays and their groups", INK), ("all hits, the nearest larger", RED))


def robots(step=40):
    def robot(world):
        x, z = 0.02 * step * (1 + world % 7 * 0.1), max(0.1 - 0.02 * step, -0.005)
        place = lambda i: [x + (0.22 if i % 4 < 2 else -0.22), 0.14 if i % 2 == 0 else -0.14, z + (0.3 if i <= 4 else 0.1)]
        legs = [around(place(i), [0.05, 0.03, 0.11]) for i in range(1, 9)]
        return [around([x, 0, z + 0.45], [0.3, 0.15, 0.08]), *legs, around([1, 0, 0.1], [0.1] * 3)]

    picture, end = Picture(0.3, -0.15, 130), math.inf
    terrain = [([-end] * 3, [end, end, 0]), *(([x, -end, 0], [end, end, x - 1.4]) for x in (1.5, 1.8, 2.1))]
    styles = [(terrain, SAND, GREY), *((robot(world), "none", "#b9c8dd") for world in range(1, 7)), (robot(0), PALE, BLUE)]
    for boxes, fill, stroke in styles:
        for aabb in boxes:
            picture.box(aabb, fill, stroke, (0, 2))
    # A thigh hangs on the trunk, and a shank on its thigh.
    parent = {i: max(i - 4, 0) for i in range(1, 9)}
    found = [pair for pair in pairs([*boxes, *terrain]) if pair[0] < 10 and parent.get(pair[1]) != pair[0]]
    for a, b in found:
        x, z = middle(boxes[a], (0, 2))
        picture.dot((x, terrain[b - 10][1][2] if b > 9 else z), RED, 3.5)
    picture.save("robots", (f"{len(found)} pairs of one world", RED), ("6 other worlds", GREY), ("shared terrain", BROWN))


def spawn():
    picture, drops, dt = Picture(-2.05, -0.25, 65), [], 1 / 60
    for step in range(300):
        angles = [(8 * step + number) * 2.4 for number in range(8)]
        drops += [([0, 0, 0.5], [math.cos(angle), math.sin(angle), 6], step) for angle in angles]
        for position, speed, _ in drops:
            speed[2] -= 9.81 * dt
            position[:] = [x + v * dt for x, v in zip(position, speed)]
            if position[2] <= 0.1:
                speed[:], position[2] = [0, 0, 0], 0.1
        drops = [drop for drop in drops if step - drop[2] < 119]
    boxes = sorted(around(position, [0.1] * 3) for position, _, _ in drops if abs(position[1]) < 0.08)
    rests = [aabb[0][2] <= 0 for aabb in boxes]
    picture.box(([-20, -20, -1], [20, 20, 0]), SAND, GREY, (0, 2))
    for aabb, is_at_rest in zip(boxes, rests):
        picture.box(aabb, "#eee" if is_at_rest else PALE, axes=(0, 2))
    picture.links(boxes, {(a, b) for a, b in pairs(boxes) if not rests[a] and not rests[b]}, BLUE, (0, 2))
    for aabb in (aabb for aabb, is_at_rest in zip(boxes, rests) if is_at_rest):
        picture.dot((middle(aabb)[0], 0), RED)
    picture.save("spawn", ("contacts of drops", BLUE), ("with the floor", RED), (f"a slice of {len(drops)} drops", GREY))


def static_world():
    edge, extent = (0.5 / 1e6) ** (1 / 3), 0.01 ** (1 / 3)
    picture = Picture(0.02, 0.02, 3300)
    is_near = lambda at: at[0] < 0.13 and at[1] < 0.09 and 0.05 < at[2] < 0.05 + 0.7 * edge
    boxes = [cube(at, edge) for i in range(1_000_000) if is_near(at := spread(i))]
    count, movers = len(boxes), [i for i in range(10_000) if is_near([extent * x for x in spread(i)])]
    boxes += [cube([extent * x for x in spread(i)], edge) for i in movers]
    for i, aabb in enumerate(boxes):
        picture.box(aabb, *(("#eee", GREY) if i < count else (PALE, BLUE)))
    found = {pair for pair in pairs(boxes) if pair[1] >= count}
    picture.links(boxes, {pair for pair in found if pair[0] < count}, RED)
    picture.links(boxes, {pair for pair in found if pair[0] >= count}, BLUE)
    for i, aabb in zip(movers, boxes[count:]):
        picture.dot(middle(aabb), INK, 2)
        picture.line(middle(aabb), [x + 0.0012 * (i % m - m // 2) for x, m in zip(middle(aabb), (7, 11))], INK, 1)
    picture.save("static_world", ("mover and static box", RED), ("two movers", BLUE), ("a part of a slice", GREY))


def stay_on_gpu():
    picture, boxes = Picture(0, 0, 330), [cube(spread(i), 0.04) for i in range(5000)]
    touched = {i for pair in pairs(boxes) for i in pair}
    for i, aabb in enumerate(boxes):
        if aabb[0][2] <= 0.5 <= aabb[1][2] and aabb[0][0] < 0.52:
            picture.box(aabb, RED if i in touched else PALE)
    picture.pixels()
    for k, text in enumerate(("boxes", "pairs", "marks")):
        picture.chip((255, 150 - 45 * k), (70, 22), text, SAND if k == 2 else PALE)
        if k:
            picture.arrow((255, 184 - 45 * k), (255, 161 - 45 * k))
    picture.text((255, 16), "one submission", GREY)
    picture.save("stay_on_gpu", (f"{len(touched):,} of 5,000 boxes touch another", RED), ("a slice", GREY))


def submit_ahead():
    picture = Picture()
    for y, name in ((126, "CPU"), (56, "GPU")):
        picture.text((10, y - 4), name, INK, "start")
        picture.line((40, y - 20), (312, y - 20), GREY, 0.7)
    for k, x in enumerate(range(48, 312, 66)):
        picture.chip((x + 5, 126), (14, 26), "", SAND)
        picture.text((x + 5, 148), f"submit {k + 1}", BROWN, size=9)
        picture.arrow((x + 5, 113), (x + 8, 70))
        picture.chip((x + 36, 56), (56, 26), f"pairs {k + 1}")
        if k:
            picture.chip((x + 37, 126), (44, 26), f"use {k}", "#f4ccd1")
            picture.arrow((x - 3, 69), (x + 18, 112))
    picture.save("submit_ahead", ("the GPU searches step 2", BLUE), ("while the CPU uses step 1", RED))


def warm_start(steps=244):
    picture, dt, impulses = Picture(-2.6, -0.3, 42), 1 / 60, {}
    # The name, lower and upper corner and speed of each block.
    blocks = [[0, [-9, -9, -1], [9, 9, 0], 0.0]]
    for step in range(1, steps + 1):
        if step % 8 == 0:
            x, y = step // 8 * 7 % 5 * 0.6, step // 8 * 3 % 4 * 0.6
            blocks.append([step, [x, y, 9], [x + 1, y + 1, 9.5], 0.0])
        place = step * 5 % len(blocks)
        if step % 30 == 0 and blocks[place][0]:
            blocks[place] = blocks[-1]
            blocks.pop()
        if step % 50 == 0:
            blocks.reverse()
        for block in blocks:
            block[3] -= 9.8 * dt if block[0] else 0
        found = sorted(pairs([([*low[:2], low[2] + min(speed, 0) * dt], high) for _, low, high, speed in blocks]))
        ends = [sorted((blocks[a], blocks[b]), key=lambda block: block[1][2]) for a, b in found]
        names = [(lower[0], upper[0]) for lower, upper in ends]
        last, impulses = impulses, {name: impulses.get(name, 0.0) for name in names}
        for turn in range(101):
            for name, (lower, upper) in zip(names, ends):
                share, gap = 1 if name[0] else 0, max(upper[1][2] - lower[2][2], -0.005)
                old, excess = impulses[name] if turn else 0, upper[3] - lower[3] + gap / dt
                impulses[name] = max(impulses[name] - excess / (1 + share), 0) if turn else impulses[name]
                lower[3] -= (impulses[name] - old) * share
                upper[3] += impulses[name] - old
        for _, low, high, speed in blocks:
            low[2], high[2] = low[2] + speed * dt, high[2] + speed * dt
    for name, low, high, _ in sorted(blocks, key=lambda block: -block[1][1]):
        picture.box((low, high), PALE if name else SAND, axes=(0, 2))
    for name, (lower, upper) in zip(names, ends):
        bottom, top = (middle(block[1:3], (0, 2)) for block in (lower, upper))
        picture.line(bottom if name[0] else (top[0], 0), top, BLUE if name in last else RED, 0.6 + 0.8 * impulses[name])
    picture.save("warm_start", ("impulses from the last step", BLUE), ("a pair began", RED), (f"step {steps}", GREY))


def mujoco(model="dog", step=3):
    folder = ROOT / "cli/tests/data/mujoco"
    with zipfile.ZipFile(folder / f"{model}.npz") as archive:
        rows, worlds = (archive.read(f"{name}.npy")[128:] for name in ("boxes", "world"))
    boxes = [(row[:3], row[3:]) for row in struct.iter_unpack("<6f", rows)]
    shown = {i for i, (world,) in enumerate(struct.iter_unpack("<I", worlds)) if world == step and -9 < boxes[i][0][2] < 9}
    contacts = struct.iter_unpack("<2I", (folder / f"{model}.contacts.npy").read_bytes()[128:])
    contacts = [pair for pair in contacts if pair[0] in shown or pair[1] in shown]
    picture = Picture(-0.48, -0.08, 320)
    picture.box(([-9] * 3, [9, 9, 0]), SAND, GREY, (0, 2))
    for i in sorted(shown):
        picture.box(boxes[i], PALE, axes=(0, 2))
    picture.links(boxes, {pair for pair in contacts if shown.issuperset(pair)}, RED, (0, 2))
    for a, b in (pair for pair in contacts if not shown.issuperset(pair)):
        picture.dot((middle(boxes[a if a in shown else b])[0], 0), RED)
    picture.save("mujoco", (f"{len(contacts)} contacts of MuJoCo: all are pairs", RED), (f"{len(shown)} boxes", GREY))


DRAWINGS = (
    *(any_engine, any_tree, contacts, draw_pairs, first_pairs, game, mesh_pairs, mujoco, rays_with_groups, robots, spawn),
    *(static_world, stay_on_gpu, submit_ahead, warm_start),
)

if __name__ == "__main__":
    for drawing in DRAWINGS:
        if drawing.__name__ in sys.argv[1:] or not sys.argv[1:]:
            drawing()
