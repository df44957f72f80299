"""Times other libraries on the points of `examples/neighbours.rs`, uniform ones, on one thread: seconds of the processor per call.

    python benches/neighbours.py POINTS        # needs numpy, scipy, vesin, matscipy
"""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import vesin
from matscipy.neighbours import neighbour_list
from scipy.spatial import cKDTree


def main():
    count = int(sys.argv[1])
    edge, radius = count ** (1 / 3), (50 / (4 / 3 * np.pi)) ** (1 / 3)
    points = np.random.default_rng(1).random((count, 3)) * edge
    cell = np.eye(3) * edge
    half = vesin.NeighborList(cutoff=radius, full_list=False)
    calls = {
        "scipy": lambda: cKDTree(points).query_pairs(radius, output_type="ndarray"),
        "vesin": lambda: half.compute(points=points, box=cell, periodic=False, quantities="ij")[0],
        "vesin, periodic": lambda: half.compute(points=points, box=cell, periodic=True, quantities="ijS")[0],
        "matscipy, both directions": lambda: neighbour_list("ij", positions=points, cutoff=radius, cell=cell, pbc=np.zeros(3, bool))[0],
    }
    print("library,points,pairs,cpu_s,cpu_ns_per_pair")
    for name, call in calls.items():
        start = time.process_time()
        pairs = len(call())
        seconds = time.process_time() - start
        print(f"{name},{count},{pairs},{seconds:.3f},{1e9 * seconds / pairs:.1f}", flush=True)


main()
