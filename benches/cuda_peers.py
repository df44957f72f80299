"""Times NVIDIA Warp and Newton beside this library on the same boxes, and compares their pairs with the exact ones.

    PYTHONPATH=python python benches/cuda_peers.py [OPTION ...] SCENE ...

    SCENE            FILE.npy; KIND:N as `broadsweep scene` generates it; rods:N, long boxes along x that touch their neighbours
    --device NAME    of Warp: cuda:0, cpu [CUDA if there is a device]
    --rounds N       rounds, in which all engines take turns [7]
    --limit SECONDS  an engine whose first call takes longer is called once only [2]
    --program PATH   the binary of the command line [broadsweep]
    --recorded PATH  the benchmark `recorded`: times this library with boxes and pairs in GPU memory
    --csv FILE       also writes the rows there

Needs numpy, newton, warp-lang and the package in release (CONTRIBUTING.md). Boxes of Warp and Newton are in the memory of their
device, and so is the list of pairs, which is allocated before. A time is the mean of calls between two waits for the device.
On a CUDA device, the first engine is this library with `recorded`, on the adapter that WGPU_ADAPTER_NAME selects; without
`recorded`, it is the Python package, with upload and readback in the time. Warp's CPU device has one thread, and so has the
CPU engine beside it; times are then those of the processor, which other programs hardly change.

A factor is the time of the first engine divided by the time of another one in the same round: the median and its quartiles.
*missing*, *extra* and *doubled* count pairs against the CPU engine, whose set the tests compare with a double loop. *order*
tells whether five calls list the pairs in the same order. *half list* tells what happens with a list for half of them:
*cut* is no error, and *counted* means that the count of the call exceeds the capacity.
"""

import argparse
import csv
import importlib.metadata
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import newton
import numpy as np
import warp as wp

import broadsweep as bs

COLUMNS = ["scene", "boxes", "pairs", "engine", "ms", "factor", "q1", "q3", "missing", "extra", "doubled", "order", "half list"]
# Of Warp's examples with particles.
GRID_CELLS = 128
# Newton's `BroadPhaseAllPairs` computes n (n - 1) in 32 bits. With more boxes this is negative or wraps around; its
# kernel then misses pairs and may read out of bounds.
MOST_OF_ALL_PAIRS = 46_341
# The least milliseconds between two waits for the device, and the most calls.
SAMPLE_MS, MOST_CALLS = 20, 20


@wp.func
def overlap(lower: wp.array(dtype=wp.vec3), upper: wp.array(dtype=wp.vec3), i: int, j: int):
    return (
        lower[i][0] <= upper[j][0]
        and lower[j][0] <= upper[i][0]
        and lower[i][1] <= upper[j][1]
        and lower[j][1] <= upper[i][1]
        and lower[i][2] <= upper[j][2]
        and lower[j][2] <= upper[i][2]
    )


@wp.func
def append(pairs: wp.array(dtype=wp.vec2i), count: wp.array(dtype=wp.int32), i: int, j: int):
    place = wp.atomic_add(count, 0, 1)
    if place < pairs.shape[0]:
        pairs[place] = wp.vec2i(i, j)


@wp.kernel(enable_backward=False)
def count_with_bvh(
    bvh: wp.uint64, lower: wp.array(dtype=wp.vec3), upper: wp.array(dtype=wp.vec3), total: wp.array(dtype=wp.int32)
):
    i = wp.tid()
    found = wp.bvh_query_aabb(bvh, lower[i], upper[i])
    j, count = wp.int32(0), wp.int32(0)
    while wp.bvh_query_next(found, j):
        if j > i:
            count += 1
    wp.atomic_add(total, 0, count)


@wp.kernel(enable_backward=False)
def list_with_bvh(
    bvh: wp.uint64,
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    pairs: wp.array(dtype=wp.vec2i),
    count: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    found = wp.bvh_query_aabb(bvh, lower[i], upper[i])
    j = wp.int32(0)
    while wp.bvh_query_next(found, j):
        if j > i:
            append(pairs, count, i, j)


@wp.kernel(enable_backward=False)
def list_with_grid(
    grid: wp.uint64,
    centres: wp.array(dtype=wp.vec3),
    radius: float,
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    pairs: wp.array(dtype=wp.vec2i),
    count: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    found = wp.hash_grid_query(grid, centres[i], radius)
    j = wp.int32(0)
    while wp.hash_grid_query_next(found, j):
        if j > i and overlap(lower, upper, i, j):
            append(pairs, count, i, j)


class Scene:
    """Boxes in NumPy and on Warp's device, and their exact pairs."""

    def __init__(self, name, boxes, device):
        self.name, self.boxes, self.device = name, np.ascontiguousarray(boxes, np.float32), device
        self.lower, self.upper = (wp.array(part, dtype=wp.vec3, device=device) for part in np.hsplit(self.boxes, 2))
        self.exact = keys(bs.find_pairs(self.boxes, device="cpu"))

    def __len__(self):
        return len(self.boxes)


def is_cuda(device):
    return wp.get_device(device).is_cuda


def keys(pairs):
    """Return pairs as sorted numbers that the order within a pair does not change."""
    pairs = np.sort(np.asarray(pairs, np.int64), axis=1)
    return np.sort(pairs[:, 0] << 32 | pairs[:, 1])


# An engine is prepared with a scene, and returns a call that begins to write pairs and their count into arrays of Warp.


def warp_bvh(scene):
    """Builds the tree again in each call, with the constructor that Warp chooses, and queries it with each box."""
    bvh = wp.Bvh(scene.lower, scene.upper)

    def call(pairs, count):
        bvh.rebuild()
        count.zero_()
        wp.launch(list_with_bvh, len(scene), [bvh.id, scene.lower, scene.upper, pairs, count], device=scene.device)

    return call


def warp_bvh_counts(scene):
    """The same, and only counts the pairs: one atomic addition per box."""
    bvh = wp.Bvh(scene.lower, scene.upper)

    def call(_pairs, count):
        bvh.rebuild()
        count.zero_()
        wp.launch(count_with_bvh, len(scene), [bvh.id, scene.lower, scene.upper, count], device=scene.device)

    return call


def hash_grid(radius_of):
    """The grid has points: it returns those whose cells a cube around a centre meets, of which boxes that overlap are kept."""

    def prepare(scene):
        middle = (scene.boxes[:, :3] + scene.boxes[:, 3:]) / 2
        radius = float(radius_of(scene.boxes[:, 3:] - scene.boxes[:, :3]) + 2.0**-20 * np.abs(middle).max())
        centres = wp.array(middle, dtype=wp.vec3, device=scene.device)
        grid = wp.HashGrid(GRID_CELLS, GRID_CELLS, GRID_CELLS, device=scene.device)

        def call(pairs, count):
            grid.build(centres, radius)
            count.zero_()
            inputs = [grid.id, centres, radius, scene.lower, scene.upper, pairs, count]
            wp.launch(list_with_grid, len(scene), inputs, device=scene.device)

        return call

    return prepare


def newton_broad_phase(kind):
    """All shapes are in one group, and in the world -1, which is the only one."""

    def prepare(scene):
        if kind is newton.geometry.BroadPhaseAllPairs and len(scene) > MOST_OF_ALL_PAIRS:
            raise OverflowError(f"not called: its 32 bits are enough for {MOST_OF_ALL_PAIRS:,} boxes")
        worlds = np.full(len(scene), -1, np.int32)
        broad_phase = kind(worlds, device=scene.device)
        groups, worlds = (wp.array(part, device=scene.device) for part in (np.ones_like(worlds), worlds))

        def call(pairs, count):
            boxes = (scene.lower, scene.upper, None)
            broad_phase.launch(*boxes, groups, worlds, len(scene), pairs, count, device=scene.device)

        return call

    return prepare


RIVALS = {
    "Warp Bvh": warp_bvh,
    "Warp Bvh (counts only)": warp_bvh_counts,
    "Warp HashGrid (largest edge)": hash_grid(np.max),
    "Warp HashGrid (mean edge)": hash_grid(np.mean),
    "Newton SAP": newton_broad_phase(newton.geometry.BroadPhaseSAP),
    "Newton NxN": newton_broad_phase(newton.geometry.BroadPhaseAllPairs),
}
COUNTS_ONLY = "Warp Bvh (counts only)"


class Lists:
    """A list of pairs on the device, with its count."""

    def __init__(self, capacity, device):
        self.pairs = wp.zeros(max(1, capacity), dtype=wp.vec2i, device=device)
        self.count = wp.zeros(1, dtype=wp.int32, device=device)

    def needed(self):
        return int(self.count.numpy()[0])

    def read(self):
        return self.pairs.numpy()[: max(0, self.needed())].copy()


def verdict(found, exact):
    """Return how many pairs are missing, extra and doubled."""
    once, times = np.unique(found, return_counts=True)
    missing, extra = (len(np.setdiff1d(*sets, assume_unique=True)) for sets in ((exact, once), (once, exact)))
    return {"missing": missing, "extra": extra, "doubled": int((times - 1).sum())}


def half_list(call, needed, device):
    """Tell what a call does whose list has half of the capacity that it needs."""
    if needed < 2:
        return ""
    lists = Lists(needed // 2, device)
    try:
        call(lists.pairs, lists.count)
        wp.synchronize_device(device)
    except Exception as error:
        return type(error).__name__
    return "cut, counted" if lists.needed() > len(lists.pairs) else "cut"


def timed(call, calls, device):
    """Return the milliseconds of a call."""
    clock = time.perf_counter if is_cuda(device) else time.process_time
    wp.synchronize_device(device)
    start = clock()
    for _ in range(calls):
        call()
    wp.synchronize_device(device)
    return max(1e3 * (clock() - start) / calls, 1e-6)


class Row:
    """An engine with a scene: what its pairs are, and the milliseconds of rounds. `sample` measures a round."""

    def __init__(self, name, scene):
        self.name, self.scene, self.sample = name, scene, None
        self.times, self.result = [], {}

    def repeat(self, call):
        """Samples this call from now on, several times between two waits if it is short."""
        device = self.scene.device
        calls = max(1, min(MOST_CALLS, int(SAMPLE_MS / timed(call, 1, device))))
        self.sample = lambda: timed(call, calls, device)

    def cells(self, first):
        """Return the row of the table."""
        scene = self.scene
        cells = {"scene": scene.name, "boxes": len(scene), "pairs": len(scene.exact), "engine": self.name, **self.result}
        if self.times:
            cells["ms"] = f"{statistics.median(self.times):.4g}"
        if self.times and self is not first:
            once = len(self.times) == 1
            ours = [statistics.median(first.times)] if once else first.times
            factors = [own / other for own, other in zip(ours, self.times)]
            cells["factor"] = f"{statistics.median(factors):.3g}"
            if not once:
                q1, _, q3 = statistics.quantiles(factors, n=4, method="inclusive")
                cells |= {"q1": f"{q1:.3g}", "q3": f"{q3:.3g}"}
        return [cells.get(column, "") for column in COLUMNS]


def of_rival(name, scene, limit=2.0):
    """Prepare a rival, compare its pairs, and return its row."""
    row = Row(name, scene)
    try:
        lists = Lists(2 * len(scene.exact) + 1024, scene.device)
        call = RIVALS[name](scene)
        first_ms = timed(lambda: call(lists.pairs, lists.count), 1, scene.device)
    except Exception as error:
        row.result = {"ms": f"{type(error).__name__}: {error}"}
        return row
    if name == COUNTS_ONLY:
        row.result = {"missing": max(0, len(scene.exact) - lists.needed()), "extra": max(0, lists.needed() - len(scene.exact))}
    else:
        listed = lists.read()
        row.result = verdict(keys(listed), scene.exact)
    if first_ms > 1e3 * limit:
        row.times = [first_ms]
        return row
    if name != COUNTS_ONLY:
        again = [(call(lists.pairs, lists.count), lists.read())[1] for _ in range(4)]
        row.result["order"] = "same" if all(np.array_equal(listed, other) for other in again) else "differs"
        row.result["half list"] = half_list(call, len(listed), scene.device)
    row.repeat(lambda: call(lists.pairs, lists.count))
    return row


def of_package(name, scene, device, **options):
    """Prepare the Python package, whose lists have no capacity that a caller chooses, and return its row."""
    row, engine = Row(name, scene), bs.BroadPhase(device, order="sweep", **options)
    lists = [engine.find_pairs(scene.boxes).copy() for _ in range(5)]
    row.result = verdict(keys(lists[0]), scene.exact)
    row.result["order"] = "same" if all(np.array_equal(lists[0], other) for other in lists) else "differs"
    row.repeat(lambda: engine.find_pairs(scene.boxes))
    return row


def run_recorded(program, path):
    """Return the milliseconds of the device for the pairs of a file, and the adapter."""
    command = [program, "--runs", "3", "--only", "pairs", str(path)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return next(float(line[52:].split()[0]) for line in lines if line[:52].strip() == "pairs"), lines[0]


def of_recorded(scene, program, folder):
    """Return the row of this library with boxes and pairs in GPU memory. The row of the package compares its pairs."""
    path = Path(folder) / "boxes.npy"
    np.save(path, scene.boxes)
    row = Row("broadsweep (on the device)", scene)
    row.result["adapter"] = run_recorded(program, path)[1]
    row.sample = lambda: run_recorded(program, path)[0]
    return row


def rods(count):
    """Return boxes along x, in rows along y and layers along z. Neighbours of a row touch, layers are apart."""
    side = int(np.ceil(np.sqrt(count)))
    z, y = np.divmod(np.arange(count), side)
    lower = np.stack([np.zeros(count), y, z], axis=1)
    return np.hstack([lower, lower + [4 * side, 1, 0.5]]).astype(np.float32)


def load(name, program, folder):
    """Return the boxes of a scene."""
    if name.endswith(".npy"):
        return np.load(name).reshape(-1, 6)
    kind, count = name.split(":")
    if kind == "rods":
        return rods(int(count))
    path = Path(folder) / "generated.npy"
    subprocess.run([program, "scene", kind, "--n", count, "--out", str(path)], check=True, stdout=subprocess.DEVNULL)
    return np.load(path)


def measure(scene, options, folder):
    """Return the rows of a scene: this library first, then the rivals."""
    if not is_cuda(scene.device):
        rows = [of_package("broadsweep (1 thread)", scene, "cpu", threads=1)]
    else:
        rows = [of_recorded(scene, options.recorded, folder)] if options.recorded else []
        if bs.adapters():
            rows.append(of_package("broadsweep (upload and readback)", scene, "gpu"))
        else:
            rows.append(of_package("broadsweep (CPU, no adapter of wgpu)", scene, "cpu"))
    rows += [of_rival(name, scene, options.limit) for name in RIVALS]
    taking_turns = [row for row in rows if row.sample]
    for number in range(options.rounds):
        for row in taking_turns if number % 2 else taking_turns[::-1]:
            row.times.append(row.sample())
    return [row.cells(rows[0]) for row in rows], rows[0].result.get("adapter")


def compile_kernels(device):
    """Compile all kernels, which Warp does in the first launch."""
    scene = Scene("", rods(1000), device)
    for name in RIVALS:
        of_rival(name, scene)


def head(device, adapter):
    """Return the line that names devices and versions."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("warp-lang", "newton"))
    found = wp.get_device(device)
    where = f"{found.name} ({found.alias})" if is_cuda(device) else "Warp's CPU device"
    return f"{where}, {versions}" + (f"; broadsweep on {adapter}" if adapter else "")


def command(options):
    """Return the command that gives the same rows, without paths of this machine."""
    chosen = f"--rounds {options.rounds} --limit {options.limit:g} {' '.join(options.scenes)}"
    return f"PYTHONPATH=python python benches/cuda_peers.py {chosen}"


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="+", metavar="SCENE")
    parser.add_argument("--device")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--program", default="broadsweep")
    parser.add_argument("--recorded")
    parser.add_argument("--csv", type=argparse.FileType("w"))
    options = parser.parse_args(arguments)
    wp.config.log_level = wp.LOG_ERROR
    device = options.device or ("cuda:0" if wp.get_cuda_device_count() else "cpu")
    compile_kernels(device)
    out = csv.writer(options.csv, lineterminator="\n") if options.csv else None
    for number, name in enumerate(options.scenes):
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(name, load(name, options.program, folder), device)
            rows, adapter = measure(scene, options, folder)
        if number == 0:
            print(f"{head(device, adapter)}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
            if out:
                options.csv.write(f"# device: {head(device, adapter)}\n# command: {command(options)}\n")
                out.writerow(COLUMNS)
        for row in rows:
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            if out:
                out.writerow(row)


if __name__ == "__main__":
    sys.exit(main())
