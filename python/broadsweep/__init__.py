"""Every overlapping pair among millions of axis-aligned boxes: exact, lossless, deterministic.

The *broad phase* of collision detection, on all cores of the CPU or on a GPU. The pairs are those of the double loop
over the boxes, bit for bit; touching counts.

>>> import numpy as np, broadsweep as bs
>>> boxes = np.array([[0, 0, 0, 1, 1, 1], [1, 0, 0, 2, 1, 1], [3, 0, 0, 4, 1, 1]], np.float32)
>>> bs.find_pairs(boxes)
array([[0, 1]], dtype=uint32)

What there is
-------------
find_pairs, find_pairs_between
    The pairs of one set of boxes, or of two, in one call.
BroadPhase
    The same, call after call; events from step to step; lists in pieces.
Slots
    Boxes that come and go, with handles and filters of their own.
query_pairs
    The pairs of points that are near each other.
find_neighbours, find_neighbours_between
    The same, exactly, also in periodic cells, with shifts, vectors and distances.
radius_graph, neighbour_list
    The same, as torch_cluster and ASE have it.
Tree
    Rays, casts, overlaps and nearest boxes.
Filters
    Which pairs are wanted: groups, bodies, worlds, lists of pairs, margins, half-spaces.
adapters
    The GPUs of this machine.
broadsweep.newton, broadsweep.dask
    The broad phase of a Newton simulation; more boxes than one machine holds.
"""

from ._filters import GLOBAL, NO_BODY, NO_PARENT, Filters
from ._native import CandidateLimitError, GpuError, QueryReport, Report, StepReport, TreeReport, __version__, adapters
from ._neighbours import NeighbourPairs, find_neighbours, find_neighbours_between, neighbour_list, radius_graph
from ._pairs import NEW, BroadPhase, Events, PairStream, find_pairs, find_pairs_between, id_pairs
from ._points import query_pairs
from ._queries import Hits, Lists, Nearest, Tree
from ._slots import Handle, Slots

__all__ = [
    "GLOBAL",
    "NEW",
    "NO_BODY",
    "NO_PARENT",
    "BroadPhase",
    "CandidateLimitError",
    "Events",
    "Filters",
    "GpuError",
    "Handle",
    "Hits",
    "Lists",
    "Nearest",
    "NeighbourPairs",
    "PairStream",
    "QueryReport",
    "Report",
    "Slots",
    "StepReport",
    "Tree",
    "TreeReport",
    "__version__",
    "adapters",
    "find_neighbours",
    "find_neighbours_between",
    "find_pairs",
    "find_pairs_between",
    "id_pairs",
    "neighbour_list",
    "query_pairs",
    "radius_graph",
]
