"""A broad phase for IPC Toolkit: candidates from broadsweep's pairs."""

from functools import reduce

import ipctk
import numpy as np

import broadsweep as bs


class BroadPhase(ipctk.BroadPhase):
    """Finds candidates with broadsweep, wherever IPC Toolkit takes a broad phase.

    The candidates are those of `ipctk.BruteForce`, ascending: boxes that touch, in double precision, of elements that share
    no vertex and that the mesh's `can_collide` lets collide.

    Parameters
    ----------
    fixed : (n,) booleans, optional
        The vertices of obstacles: no two elements all of whose vertices are fixed collide. It is what
        `ipctk.make_static_obstacle_filter` says, and takes the place of the mesh's `can_collide`.
    every : bool
        Whether any two vertices may collide. Otherwise, and without `fixed`, the mesh's `can_collide` is asked for each pair
        of vertices, which is right for every filter and slow.
    **options
        Of `broadsweep.BroadPhase`.
    """

    def __init__(self, fixed=None, every=False, **options):
        super().__init__()
        self._fixed = None if fixed is None else np.asarray(fixed, bool)
        self._ask = fixed is None and not every
        self._engine = bs.BroadPhase(**{"device": "cpu", **options})
        self.clear()

    def name(self):
        return "broadsweep"

    def clear(self):
        self._corners, self._boxes = [None] * 3, [None] * 3

    def build(self, vertices, *rest):
        # For one time, (vertices, edges, faces, radius); for a step, (vertices, vertices at its end, edges, faces,
        # radius).
        *ends, edges, faces, radius = rest
        self.clear()
        lower, upper = np.minimum(vertices, *ends or [vertices]), np.maximum(vertices, *ends or [vertices])
        self._corners = [np.arange(len(vertices)).reshape(-1, 1), edges.reshape(-1, 2), faces.reshape(-1, 3)]
        # The toolkit grows its boxes by one more bit on each side, so that rounding never makes them too small; so does
        # this.
        lower, upper = np.nextafter(lower - radius, -np.inf), np.nextafter(upper + radius, np.inf)
        if lower.shape[1] == 2:
            lower, upper = (np.pad(side, ((0, 0), (0, 1))) for side in (lower, upper))
        self._boxes = [
            (reduce(np.minimum, (lower[i] for i in c.T)), reduce(np.maximum, (upper[i] for i in c.T))) for c in self._corners
        ]

    def detect_vertex_vertex_candidates(self):
        return self._candidates(ipctk.VertexVertexCandidate, 0, 0)

    def detect_edge_vertex_candidates(self):
        return self._candidates(ipctk.EdgeVertexCandidate, 1, 0)

    def detect_edge_edge_candidates(self):
        return self._candidates(ipctk.EdgeEdgeCandidate, 1, 1)

    def detect_face_vertex_candidates(self):
        return self._candidates(ipctk.FaceVertexCandidate, 2, 0)

    def detect_edge_face_candidates(self):
        return self._candidates(ipctk.EdgeFaceCandidate, 1, 2)

    def detect_face_face_candidates(self):
        return self._candidates(ipctk.FaceFaceCandidate, 2, 2)

    def _candidates(self, kind, first, second):
        return list(map(kind, *self.pairs(first, second).T.tolist()))

    def pairs(self, first, second):
        """Find the pairs of elements of these dimensions that may collide, ascending: (m, 2) array.

        Toolkit asks for lists, an object for each candidate; whoever wants the pairs alone has them here in less time.
        """
        (lower, upper), (others_lower, others_upper) = self._boxes[first], self._boxes[second]
        corners, others = self._corners[first], self._corners[second]
        if self._fixed is not None:
            of_both = [corners] if first == second else [corners, others]
            self._engine.set_filters(bs.Filters(fixed=np.concatenate([self._fixed[c].all(1) for c in of_both])))
        if first == second:
            pairs = self._engine.find_pairs((lower, upper)).astype(np.int64)
        else:
            pairs = self._engine.find_pairs_between((lower, upper), (others_lower, others_upper)).astype(np.int64)
        a, b = pairs.T
        apart = np.ones(len(pairs), bool)
        for i in corners.T:
            for j in others.T:
                apart &= i[a] != j[b]
        pairs = pairs[apart]
        # The search is in single precision, outward: what touches only there goes.
        a, b = pairs.T
        keep = np.ones(len(pairs), bool)
        for axis in range(3):
            keep &= (lower[:, axis][a] <= others_upper[:, axis][b]) & (others_lower[:, axis][b] <= upper[:, axis][a])
        if self._ask:
            can = self.can_vertices_collide
            for k in np.flatnonzero(keep):
                keep[k] = any(can(i, j) for i in corners[a[k]] for j in others[b[k]])
        return pairs[keep]
