"""Times neighbours of points beside other libraries, with about 50 neighbours each, and checks that all find the same pairs.

    PYTHONPATH=python python benches/neighbours.py [--scenes NAME …] [--most POINTS] [--rounds N] [--limit SECONDS]

Needs numpy, ase, matscipy, scipy, vesin, and the package in release (CONTRIBUTING.md). Each call has a process of its own, and
the libraries take turns: a round calls each once, or where there are few points often. A row has the medians of the rounds:
seconds of the clock, seconds of all processors, and the memory that the call adds at its peak. A library that takes longer
than the limit is not called again with the same points. The second list has the processor time of the fastest other library,
divided by ours. Prints the rows of times.csv and ratios.csv in benches/results/neighbours.
"""

import argparse
import csv
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time
from itertools import product

import numpy as np

OUT = csv.writer(sys.stdout, lineterminator="\n")
COLUMNS = ("s", "processor s", "of ours", "ns per pair", "peak MB")
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])


def crystal(count):
    """Atoms of copper: 54 neighbours, the radius between two shells."""
    cells = round((count / 4) ** (1 / 3))
    points = (np.argwhere(np.ones((cells,) * 3))[:, None] + FCC).reshape(-1, 3) * 3.615
    return points, 1.54 * 3.615, [3.615 * cells] * 3


def liquid(count):
    """A lattice with one point to a volume of 1, jittered by 0.8 of a cell, so that no two are too close. 50 neighbours."""
    side = round(count ** (1 / 3))
    points = np.argwhere(np.ones((side,) * 3)) + 0.8 * np.random.default_rng(1).random((side**3, 3))
    return np.random.default_rng(2).permutation(points), (50 / (4 / 3 * np.pi)) ** (1 / 3), [float(side)] * 3


def droplet(count):
    """The liquid without a cell."""
    return *liquid(count)[:2], None


def clusters(count):
    """Clusters of 1,000 points, normal along each axis, far apart, without a cell. 50 neighbours on average."""
    rng = np.random.default_rng(3)
    centers = rng.random((count // 1000, 3)) * 30 * (count / 1000) ** (1 / 3)
    return np.repeat(centers, 1000, axis=0) + rng.standard_normal((count, 3)), 0.863, None


SCENES = {scene.__name__: scene for scene in (crystal, liquid, droplet, clusters)}


def ours(points, radius, cell, full, threads):
    import broadsweep

    found = broadsweep.find_neighbours(points, radius, cell=cell, both_directions=full, threads=threads)
    return found.pairs[:, 0], found.pairs[:, 1]


def vesin(points, radius, cell, full, threads):
    from vesin import NeighborList

    search = NeighborList(cutoff=radius, full_list=full, n_threads=threads)
    box = np.zeros((3, 3)) if cell is None else np.diag(cell)
    return search.compute(points, box, cell is not None, "ij" if cell is None else "ijS")[:2]


def scipy(points, radius, cell, full, threads):
    from scipy.spatial import cKDTree

    # Without shifts. Points on the upper face are refused.
    tree = cKDTree(points if cell is None else points % cell, boxsize=cell)
    return tree.query_pairs(radius, output_type="ndarray").T


def matscipy(points, radius, cell, full, threads):
    from matscipy.neighbours import neighbour_list

    box, periodic = (np.diag(np.ptp(points, axis=0)), False) if cell is None else (np.diag(cell), True)
    letters = "ij" if cell is None else "ijS"
    return neighbour_list(letters, positions=points, cutoff=radius, cell=box, pbc=np.full(3, periodic))[:2]


def ase(points, radius, cell, full, threads):
    from ase.neighborlist import primitive_neighbor_list

    box, periodic = (np.eye(3), [False] * 3) if cell is None else (np.diag(cell), [True] * 3)
    return primitive_neighbor_list("ij" if cell is None else "ijS", periodic, box, points, radius)[:2]


# The lists that each makes (both directions or not), its most threads, and points: ASE takes 1 GB for 10,000.
LIBRARIES = {
    "broadsweep": (ours, (False, True), 2, COUNTS[-1]),
    "vesin": (vesin, (False, True), 2, COUNTS[-1]),
    "scipy": (scipy, (False,), 1, COUNTS[-1]),
    "matscipy": (matscipy, (True,), 1, COUNTS[-1]),
    "ase": (ase, (True,), 1, 10_000),
}


def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def checksum(first, second, full):
    """Return a number of the pairs that their order does not change."""
    total = 0
    for at in range(0, len(first), 1 << 22):
        i, j = (part[at : at + (1 << 22)].astype(np.uint64) for part in (first, second))
        i, j = (i, j) if full else (np.minimum(i, j), np.maximum(i, j))
        mixed = (i << np.uint64(32) | j) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        total += int((mixed * np.uint64(0xBF58476D1CE4E5B9)).sum())
    return f"{len(first)} {total % 2**64:x}"


def child(library, scene, count, full, threads):
    call, given = LIBRARIES[library][0], (full, threads)
    call(*liquid(1000), *given)
    points, radius, cell = SCENES[scene](count)
    seconds = []
    for _ in range(max(1, 20_000 // count)):
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        before, clock, processor = status("VmRSS"), time.perf_counter(), time.process_time()
        first, second = call(points, radius, cell, *given)
        seconds.append((time.perf_counter() - clock, time.process_time() - processor))
        peak_mb = status("VmHWM") - before
    clock, processor = map(statistics.median, zip(*seconds))
    print(json.dumps([clock, processor, peak_mb, len(first), checksum(first, second, full)]))


def measured(arguments, limit):
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments[-1]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-B", __file__, "--child", json.dumps(arguments)]
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def compare(scene, count, full, threads, options):
    """Prints a row for each library that makes these lists, and returns the time of the fastest other one, divided by ours."""
    rows = LIBRARIES.items()
    names = [name for name, (_, lists, most, points) in rows if full in lists and threads <= most and count <= points]
    rounds = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names if number % 2 else names[::-1]:
            if None not in rounds[name]:
                rounds[name].append(measured((name, scene, count, full, threads), options.limit))
    sums = {name: {found[4] for found in of if found} for name, of in rounds.items()}
    medians = {
        name: [statistics.median(column) for column in list(zip(*of))[:4]] for name, of in rounds.items() if None not in of
    }
    for name in names:
        start = [scene, count, "both" if full else "one", threads, name]
        if name not in medians:
            OUT.writerow([*start, f"> {options.limit:g}", *[""] * 5])
            continue
        clock, processor, peak, pairs = medians[name]
        ratio = processor / medians["broadsweep"][1]
        same = "equal" if sums[name] == sums["broadsweep"] else "others"
        numbers = [f"{clock:.3g}", f"{processor:.3g}", f"{ratio:.2f}", f"{1e9 * processor / pairs:.1f}", f"{peak:.0f}"]
        OUT.writerow([*start, *numbers, same])
    return min(found[1] for name, found in medians.items() if name != "broadsweep") / medians["broadsweep"][1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--most", type=int, default=COUNTS[-1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--child", type=json.loads)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    sys.stdout.reconfigure(line_buffering=True)
    print("# " + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES if name != "broadsweep"))
    OUT.writerow(["scene", "points", "directions", "threads", "library", *COLUMNS, "pairs"])
    counts = [count for count in COUNTS if count <= options.most]
    summary = {case: [] for case in product(options.scenes, (False, True), (1, 2))}
    for scene, count, full, threads in product(options.scenes, counts, (False, True), (1, 2)):
        summary[scene, full, threads].append(compare(scene, count, full, threads, options))
    print()
    OUT.writerow(["scene", "directions", "threads", *counts])
    for (scene, full, threads), times in summary.items():
        OUT.writerow([scene, "both" if full else "one", threads, *(f"{time:.1f}" for time in times)])


if __name__ == "__main__":
    main()
