"""The pairs of points that are near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _arrays, _native
from ._pairs import BroadPhase
from ._space import Space, warn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_CHUNK = 1 << 18
"""Pairs whose distances are computed at once: some tens of MB of numbers."""


def query_pairs(points: ArrayLike, r: float, *, device: str = "auto") -> NDArray[np.uint32]:
    """Find every pair of points whose distance is at most `r`, each once, as `query_pairs` of `scipy.spatial.cKDTree` does.

    Parameters
    ----------
    points : (n, 3) array, or (n, 2) in 2D
        A point that is not finite pairs with nothing; if all points are such, a warning says so.
    r : float
        The largest distance, at least 0.
    device : str
        As for `find_pairs`.

    Returns
    -------
    (m, 2) array of uint32
        Indices of the points, the smaller one first, ascending; differences as for `find_pairs`.

    Raises
    ------
    TypeError, ValueError, MemoryError, CandidateLimitError, GpuError
        As `find_pairs`.

    Notes
    -----
    Boxes with edges of length `r` around the points find candidates. Distances are then compared in double precision, with
    coordinates as they are given: how far points are from the origin does not matter.

    Examples
    --------
    >>> import broadsweep as bs
    >>> bs.query_pairs([[0, 0], [3, 4], [9, 9]], 5)
    array([[0, 1]], dtype=uint32)
    """
    points, radius = _arrays.floats(points, "points"), _arrays.floats(r, "r")
    if points.ndim == 1 and points.size == 0:
        points = points.reshape(0, 3)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"points must have the shape (n, 3), or (n, 2) in 2D, not {points.shape}")
    if radius.ndim or not radius >= 0:
        raise ValueError(f"r is {r}; it must be a number that is at least 0")
    points, radius = points.astype(np.float64), radius.astype(np.float64)
    is_finite = np.isfinite(points).all(1)
    if len(points) and not is_finite.any():
        warn(f"all {len(points)} points have a number that is not finite, and pair with nothing")
    points[~is_finite] = np.nan
    # Half of a length that exceeds `r` by more than the rounding error of a distance.
    half = radius * (0.5 + 1e-14)
    boxes = np.nextafter(points - half, -np.inf), np.nextafter(points + half, np.inf)
    engine = BroadPhase(device)
    single, _, _ = _native.round_outward(_arrays.plain(Space("auto").moved(boxes, "points"), np.float64), None)
    pairs, _ = engine._engine.find_pairs(single)
    # Scale by a power of two, so that no square is too small or too large.
    exponent = int(np.frexp(radius)[1])
    largest, scaled = np.ldexp(radius, -exponent) ** 2, np.ldexp(points, -exponent)
    near = np.empty(len(pairs), np.bool_)
    for at in range(0, len(pairs), _CHUNK):
        first, second = pairs[at : at + _CHUNK].T
        with np.errstate(over="ignore", invalid="ignore"):
            near[at : at + _CHUNK] = ((scaled[first] - scaled[second]) ** 2).sum(1) <= largest
    return pairs[near]
