"""Tiles that partition space, cut where a sample of the boxes has its quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAF = -1
_FILL = 0.8  # the planned part of a budget: a tile with 1,000 samples has an error of 3 %
_SMALLER, _COPIES = 0.8, 1.5  # the largest part of boxes on one side of a cut, and on both sides together
_CANDIDATES_PER_PAIR = 6  # tests of the sweep per pair that it finds, if boxes are dense


class TooManyEntries(Exception):
    """The boxes touch more tiles than there is memory for at once."""


class Tiles:
    """Tiles: the leaves of a tree of cuts, numbered from the left.

    Each node has an axis and a number. Points below the number on this axis are on its left, all others on its right. So a
    tile contains its lower faces, but not its upper faces. Tiles partition space, from -inf to inf inclusive.

    Parameters
    ----------
    nodes : list of (axis, cut, left, right)
        The root first; the axis is -1 in a leaf, whose `left` is its number.
    """

    def __init__(self, nodes: list[list[Any]]) -> None:
        self.nodes = nodes

    def __len__(self) -> int:
        return sum(node[0] == LEAF for node in self.nodes)

    def regions(self) -> NDArray[np.float32]:
        """Return the region of each tile as an owner region, ``(tiles, 6)``."""
        regions = np.empty((len(self), 6), np.float32)
        todo = [(0, np.repeat(np.array([-np.inf, np.inf], np.float32), 3))]
        while todo:
            at, region = todo.pop()
            axis, cut, left, right = self.nodes[at]
            if axis == LEAF:
                regions[left] = region
                continue
            below, above = region.copy(), region.copy()
            below[3 + axis] = above[axis] = cut
            todo += [(left, below), (right, above)]
        return regions

    def touched(
        self, bounds: NDArray[np.float32], *, giant_tiles: int | None = None, most: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Find the tiles that each valid box touches.

        Parameters
        ----------
        bounds : (n, 6) array of float32
        giant_tiles : int, optional
            A box that touches more tiles than this is left out, and listed as a giant instead.
        most : int, optional
            The most entries to list.

        Returns
        -------
        rows : (m,) array
            Indices of boxes, one tile after the other, ascending within each.
        offsets : (tiles + 1,) array
            The begin of each tile in `rows`.
        giants : (g,) array
            Indices of the giants, ascending.

        Raises
        ------
        TooManyEntries
            If there are more than `most`.
        """
        columns = np.ascontiguousarray(bounds.T)
        giant_tiles = None if giant_tiles is None or giant_tiles >= len(self) else giant_tiles
        counts = np.zeros(0 if giant_tiles is None else len(bounds), np.uint32)
        lists: list[NDArray[np.int64]] = []
        listed = 0
        # Visit the left side first, so that leaves come in the order of their numbers.
        todo = [(0, np.arange(len(bounds)))]
        while todo:
            at, rows = todo.pop()
            if giant_tiles is not None:
                rows = rows[counts[rows] <= giant_tiles]
            axis, cut, left, right = self.nodes[at]
            if axis == LEAF:
                if giant_tiles is not None:
                    counts[rows] += 1
                lists.append(rows)
                listed += len(rows)
                if most is not None and listed > most:
                    raise TooManyEntries
                continue
            cut = np.float32(cut)
            todo.append((right, rows[columns[3 + axis][rows] >= cut]))
            todo.append((left, rows[columns[axis][rows] < cut]))
        giants = np.flatnonzero(counts > giant_tiles) if giant_tiles is not None else np.empty(0, np.int64)
        if len(giants):
            lists = [rows[counts[rows] <= giant_tiles] for rows in lists]
        offsets = np.zeros(len(lists) + 1, np.int64)
        offsets[1:] = np.cumsum([len(rows) for rows in lists])
        return np.concatenate(lists), offsets, giants


def plan(sample: NDArray[np.float32], weight: float, most_boxes: int, most_candidates: int, giant_tiles: int) -> Tiles:
    """Cut space into tiles that each fit a budget, as far as cuts can do that.

    Parameters
    ----------
    sample : (k, 6) array of float32
        Valid boxes, each of which stands for `weight` boxes.
    weight : float
    most_boxes, most_candidates : int
        The capacity of one task, in boxes and in tests of boxes.
    giant_tiles : int
        Boxes that touch more tiles are not counted: they have a pass of their own.

    Returns
    -------
    Tiles
        The same for the same sample.
    """
    for _ in range(8):
        tiles, too_large = _cut(sample, weight, most_boxes, most_candidates)
        # No cut makes a tile small if too many giants touch every tile. So if tiles are too large, boxes that touch a
        # quarter of these tiles count as giants too: with more cuts, they would touch far more tiles.
        limit = min(giant_tiles, max(2, len(tiles) // 4)) if too_large else giant_tiles
        giants = tiles.touched(sample, giant_tiles=limit)[2]
        if not len(giants):
            break
        sample = np.delete(sample, giants, 0)
    return tiles


def _cut(sample: NDArray[np.float32], weight: float, most_boxes: int, most_candidates: int) -> tuple[Tiles, bool]:
    nodes: list[list[Any]] = [[LEAF, 0.0, 0, 0]]
    leaf_count, too_large = 0, False
    todo = [(0, sample)]
    while todo:
        at, boxes = todo.pop()
        fits = len(boxes) * weight <= _FILL * most_boxes
        if fits and weight > 1:
            # The pair count of a sample is proportional to the square of its share.
            candidates = _CANDIDATES_PER_PAIR * _pair_count(boxes) * weight**2
            fits = candidates <= _FILL * most_candidates
        cut = None if fits or len(boxes) < 2 else _best_cut(boxes)
        if cut is None:
            too_large |= not fits
            nodes[at] = [LEAF, 0.0, leaf_count, 0]
            leaf_count += 1
            continue
        axis, number = cut
        left = len(nodes)
        nodes[at] = [axis, float(number), left, left + 1]
        nodes += [[LEAF, 0.0, 0, 0], [LEAF, 0.0, 0, 0]]
        todo.append((left + 1, boxes[boxes[:, 3 + axis] >= number]))
        todo.append((left, boxes[boxes[:, axis] < number]))
    return Tiles(nodes), too_large


def _best_cut(boxes: NDArray[np.float32]) -> tuple[int, np.float32] | None:
    """Return the axis and the number of the cut that copies the fewest boxes, among cuts near the median lower corner."""
    best: tuple[int, int, int, np.float32] | None = None
    count = len(boxes)
    for axis in range(3):
        starts, ends = np.ascontiguousarray(boxes[:, axis]), np.ascontiguousarray(boxes[:, 3 + axis])
        middle = np.partition(starts, count // 2)[count // 2]
        # If many boxes begin at one number, the next larger number may be a better cut.
        later = starts[starts > middle]
        for number in [middle, later.min()] if len(later) else [middle]:
            if not np.isfinite(number):
                continue
            below, above = int(np.count_nonzero(starts < number)), int(np.count_nonzero(ends >= number))
            if below == 0 or max(below, above) > _SMALLER * count or below + above > _COPIES * count:
                continue
            cut = (below + above, max(below, above), axis, number)
            best = min(best, cut) if best is not None else cut
    return None if best is None else best[2:]


def _pair_count(boxes: NDArray[np.float32]) -> int:
    from .. import BroadPhase, CandidateLimitError

    engine = BroadPhase("cpu", order="sweep", candidate_limit=64 * len(boxes) + 4096, threads=1)
    try:
        return len(engine.find_pairs(boxes))
    except CandidateLimitError:
        return 64 * len(boxes)
