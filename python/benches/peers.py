"""Find the same pairs with other packages of Python, in one run, and compare time and pairs.

python peers.py [N ...]

Boxes lie on a grid of 2**-14, so that centres and half sizes, which some packages take instead of corners, are exact. Times
are those of a whole call, from boxes in NumPy to pairs in NumPy: building what is asked, asking, and where a package finds
more than the pairs of boxes, dropping the rest. The least of three calls counts, in seconds of the clock and of all cores.
What a package is given that is not an array (objects of its own) is made before the clock starts.
Prints the rows of benches/results/python/packages.csv.
"""

import argparse
import csv
import importlib.metadata
import sys
import time

import numpy as np

import broadsweep as bs


def scene(n):
    rng = np.random.default_rng(0)
    grid = np.float32(2.0**-14)
    lower = np.floor(rng.random((n, 3)) / grid).astype(np.float32)
    edge = np.ceil(rng.random((n, 3)) * 2.0 / n ** (1 / 3) / grid).astype(np.float32)
    edge += edge % 2  # even, so that half of it is on the grid
    return np.hstack([lower, lower + edge]) * grid


def overlapping(boxes, i, j):
    """Return the pairs that overlap, of those found."""
    lower, upper = boxes[:, :3], boxes[:, 3:]
    touch = ((lower[i] <= upper[j]) & (lower[j] <= upper[i])).all(1) & (i != j)
    return np.minimum(i, j)[touch], np.maximum(i, j)[touch]


def scipy_tree(boxes):
    from scipy.spatial import cKDTree

    centers, reach = (boxes[:, :3] + boxes[:, 3:]) / 2, float((boxes[:, 3:] - boxes[:, :3]).max())

    def call():
        near = cKDTree(centers).query_pairs(reach, p=np.inf, output_type="ndarray")
        return overlapping(boxes, near[:, 0], near[:, 1])

    return call


def rtree_index(boxes):
    from rtree import index

    lower, upper = boxes[:, :3].astype(np.float64), boxes[:, 3:].astype(np.float64)

    def call():
        entries = ((i, tuple(row), None) for i, row in enumerate(np.hstack([lower, upper]).tolist()))
        tree = index.Index(entries, properties=index.Property(dimension=3))
        found, counts = tree.intersection_v(lower, upper)
        return overlapping(boxes, np.repeat(np.arange(len(boxes)), counts.astype(np.int64)), found)

    return call


def ipctk_method(name):
    def prepare(boxes):
        import ipctk

        # A box as an edge between its corners.
        corners = boxes.astype(np.float64).reshape(-1, 3)
        edges = np.arange(len(corners), dtype=np.int32).reshape(-1, 2)

        def call():
            method = getattr(ipctk, name)()
            method.build(corners, edges, np.zeros((0, 3), np.int32), 0.0)
            found = method.detect_edge_edge_candidates()
            pairs = np.array([(pair.edge0_id, pair.edge1_id) for pair in found], np.int64).reshape(-1, 2)
            return overlapping(boxes, pairs[:, 0], pairs[:, 1])

        return call

    return prepare


def coal_tree(boxes):
    import coal

    half = (boxes[:, 3:] - boxes[:, :3]).astype(np.float64)
    middle = (boxes[:, 3:] + boxes[:, :3]).astype(np.float64) / 2
    objects = [coal.CollisionObject(coal.Box(*size), np.eye(3), at) for size, at in zip(half, middle)]

    def call():
        manager = coal.DynamicAABBTreeCollisionManager()
        for one in objects:
            manager.registerObject(one)
        manager.setup()
        collected = coal.CollisionCallBackCollect(16 * len(objects))  # it makes room for so many at once
        manager.collide(collected)
        # It counts them for Python, and does not list them.
        return collected.numCollisionPairs()

    return call


def broadsweep_once(boxes):
    return lambda: bs.find_pairs(boxes, device="cpu").T


def broadsweep_engine(order, threads=None):
    def prepare(boxes):
        engine = bs.BroadPhase("cpu", order=order, threads=threads)
        return lambda: engine.find_pairs(boxes).T

    return prepare


PEERS = [
    ("broadsweep.find_pairs", "broadsweep", broadsweep_once),
    ("broadsweep.BroadPhase", "broadsweep", broadsweep_engine("canonical")),
    ("broadsweep.BroadPhase (order of the sweep)", "broadsweep", broadsweep_engine("sweep")),
    ("broadsweep.BroadPhase (1 thread)", "broadsweep", broadsweep_engine("canonical", 1)),
    ("scipy cKDTree and a filter", "scipy", scipy_tree),
    ("coal DynamicAABBTree", "coal", coal_tree),
    ("ipctk LBVH", "ipctk", ipctk_method("LBVH")),
    ("ipctk HashGrid", "ipctk", ipctk_method("HashGrid")),
    ("ipctk SpatialHash", "ipctk", ipctk_method("SpatialHash")),
    ("ipctk SweepAndPrune", "ipctk", ipctk_method("SweepAndPrune")),
    ("rtree (bulk loaded)", "rtree", rtree_index),
]


def key(i, j):
    i, j = np.asarray(i, np.int64), np.asarray(j, np.int64)
    return np.unique(np.minimum(i, j) << 32 | np.maximum(i, j))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n", nargs="*", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a package is not run with more boxes")
    arguments = parser.parse_args()
    late = set()
    sys.stdout.reconfigure(line_buffering=True)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["boxes", "package", "version", "ms", "ms of all cores", "pairs"])
    for n in arguments.n:
        boxes = scene(n)
        expected = key(*bs.find_pairs(boxes, device="cpu").T)
        for name, package, prepare in PEERS:
            try:
                version = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                version = bs.__version__ if package == "broadsweep" else None
            if version is None or name in late:
                out.writerow([n, name, version or "not here", "", "", ""])
                continue
            try:
                call = prepare(boxes)
                best, cores = np.inf, np.inf
                for _ in range(3):
                    start, start_cores = time.perf_counter(), time.process_time()
                    found = call()
                    taken = time.perf_counter() - start
                    best, cores = min(best, taken), min(cores, time.process_time() - start_cores)
                    if taken > arguments.limit / 3:
                        late.add(name)
                        break
            except Exception as error:  # what another package raises is a line of the table
                out.writerow([n, name, version, "", "", f"{type(error).__name__}: {str(error)[:80]}"])
                continue
            if isinstance(found, (tuple, np.ndarray)):
                pairs = key(*found)
                verdict = (
                    "equal"
                    if np.array_equal(pairs, expected)
                    else f"{len(np.setdiff1d(expected, pairs))} missing, {len(np.setdiff1d(pairs, expected))} too many"
                )
            else:
                verdict = "count equal" if found == len(expected) else f"count is {found}, must be {len(expected)}"
            out.writerow([n, name, version, f"{best * 1e3:.1f}", f"{cores * 1e3:.1f}", verdict])


if __name__ == "__main__":
    main()
