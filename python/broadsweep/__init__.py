"""Find all overlapping pairs among millions of axis-aligned boxes, exactly, on all cores of the CPU or on a GPU.

This is the *broad phase* of collision detection. The pairs are those of a double loop over the boxes, bit for bit. Boxes that
touch are a pair.

>>> import numpy as np, broadsweep as bs
>>> boxes = np.array([[0, 0, 0, 1, 1, 1], [1, 0, 0, 2, 1, 1], [3, 0, 0, 4, 1, 1]], np.float32)
>>> bs.find_pairs(boxes)
array([[0, 1]], dtype=uint32)

| item | use |
|---|---|
| `find_pairs`, `find_pairs_between` | the pairs of one set of boxes, or between two |
| `BroadPhase` | an engine to reuse: pairs, events from step to step, long lists in pieces |
| `Filters` | select pairs by groups, bodies, worlds and lists; margins, spheres, half-spaces |
| `Slots` | boxes that come and go, with handles and filters |
| `Tree` | rays, casts, overlaps and nearest boxes |
| `find_neighbours`, `find_neighbours_between` | points within a radius, also in periodic cells |
| `radius_graph`, `neighbour_list`, `query_pairs` | the same, as in torch_cluster, ASE and scipy |
| `adapters` | the GPUs of this machine |
| `NO_BODY`, `NO_PARENT`, `GLOBAL`, `NEW` | 2**32 - 1, the same as -1 in lists: no body, no parent, all worlds, a new box |
| `broadsweep.newton`, `broadsweep.dask` | the broad phase of Newton; more boxes than one machine holds |
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
