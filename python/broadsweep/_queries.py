"""What rays hit, what touches a shape, what is nearest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _arrays, _native
from ._filters import changed, lists_of
from ._pairs import MOST_THREADS, described

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._filters import Filters
    from ._native import QueryReport, TreeReport


@dataclass(frozen=True, eq=False)
class Hits:
    """The nearest hit of each query. It unpacks into `index` and `t`.

    Attributes
    ----------
    index : (q,) array of int32
        The box that is hit first, or -1. Of two that are hit at once, the smaller index.
    t : (q,) array of float32
        When, in lengths of the direction, rounded down; infinity where nothing is hit.
    """

    index: NDArray[np.int32]
    t: NDArray[np.float32]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.index, self.t))


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest boxes of each point, the nearest first; of two that are as far, the smaller index.

    It unpacks into `index` and `squared_distance`.

    Attributes
    ----------
    index : (q, k) array of int32
        The boxes; -1 where there are fewer than `k`.
    squared_distance : (q, k) array of float32
        How far they are, squared, rounded down: 0 where the point is in the box; infinity where there is none.
    """

    index: NDArray[np.int32]
    squared_distance: NDArray[np.float32]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.index, self.squared_distance))


class Lists:
    """A list of boxes for each query: rows that lie one after the other.

    Attributes
    ----------
    offsets : (q + 1,) array of int64
        Where the list of each query begins in `index`, and where the last one ends.
    index : (m,) array of int32
        The boxes of all lists.
    t : (m,) array of float32, or None
        When each box is hit; None where nothing moves.

    Examples
    --------
    >>> import broadsweep as bs
    >>> tree = bs.Tree([[0, 0, 0, 1, 1, 1], [2, 0, 0, 3, 1, 1]], device="cpu")
    >>> lists = tree.overlaps([[0.5, 0.5, 0.5, 2.5, 0.5, 0.5], [9, 9, 9, 9, 9, 9]])
    >>> lists.tolist()
    [[0, 1], []]
    >>> lists.query
    array([0, 0])
    """

    __slots__ = ("index", "offsets", "t")

    def __init__(self, offsets: NDArray[np.int64], index: NDArray[np.int32], t: NDArray[np.float32] | None = None) -> None:
        self.offsets, self.index, self.t = offsets, index, t

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> NDArray[np.int32]:
        query = range(len(self))[query]
        return self.index[self.offsets[query] : self.offsets[query + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[query] for query in range(len(self)))

    @property
    def counts(self) -> NDArray[np.int64]:
        """``(q,)``: how many boxes each list has."""
        return np.diff(self.offsets)

    @property
    def query(self) -> NDArray[np.int64]:
        """``(m,)``: the query of each element of `index`."""
        return np.repeat(np.arange(len(self)), self.counts)

    def tolist(self) -> list[list[int]]:
        """Return the boxes of each list as lists of Python."""
        return [row.tolist() for row in self]

    def __repr__(self) -> str:
        return f"Lists({len(self)} queries, {len(self.index)} answers)"


class Tree:
    """A tree of boxes that is built once and asked many times, by the million.

    Answers are those of a loop over all boxes: nothing is missed, ties go to the smaller index, touching counts. Both devices
    answer the same bits.

    Parameters
    ----------
    boxes : array of boxes
        As for `find_pairs`.
    device : str
        As for `BroadPhase`.
    filters : Filters, optional
        What boxes say of themselves, to be compared with what queries say: groups, masks, bodies, worlds; and margins. What
        concerns two boxes (`fixed`, `sleeping`, `second`, `exclude`, `include`) is not looked at.
    threads : int, optional
        As for `BroadPhase`.

    Raises
    ------
    TypeError, ValueError, MemoryError, GpuError
        As `find_pairs`.

    Notes
    -----
    Every query takes these keywords, each an array with an element per query, or one number for all:

    group, mask : integers
        The groups that the query is in, and those that it meets, a bit each. The `rule` of the filters decides, as between
        two boxes: with ``"any"``, a query meets those too whose own `mask` has its group. ``rule="both"``, or ``group=0``,
        leaves the choice to the query's `mask`.
    body : integers
        The body that the query belongs to: it meets no box of that body.
    world : integers
        The world that the query is in, or -1 for all.
    ignore : integers
        A box that the query does not meet, or -1.

    Queries are in single precision; numbers in double precision are rounded to the nearest, but for boxes, which are rounded
    outward. A query with a NaN has no answer, and `query_report` counts it.

    Examples
    --------
    >>> import numpy as np, broadsweep as bs
    >>> tree = bs.Tree([[1, 1, 1, 2, 2, 2], [4, 4, 4, 5, 5, 5]], device="cpu")
    >>> hits = tree.rays([[0, 0, 0], [0, 0, 0]], [[1, 1, 1], [-1, -1, -1]])
    >>> hits.index, hits.t
    (array([ 0, -1], dtype=int32), array([ 1., inf], dtype=float32))
    >>> tree.overlap_spheres([[3, 3, 3]], 2)[0]
    array([0, 1], dtype=int32)
    >>> tree.nearest([[0, 0, 0]]).index
    array([[0]], dtype=int32)
    """

    def __init__(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        *,
        device: str = "auto",
        filters: Filters | None = None,
        threads: int | None = None,
    ) -> None:
        threads = None if threads is None else _arrays.number(threads, "threads", 1, MOST_THREADS)
        self._tree = _native.Tree(device, threads)
        self._query_report: QueryReport | None = None
        if filters is not None:
            self.set_filters(filters)
        if boxes is not None:
            self.build(boxes)

    def __repr__(self) -> str:
        return f"Tree({self.report.box_count} boxes, {described(self._tree)})"

    def __len__(self) -> int:
        return self.report.box_count

    @property
    def device(self) -> str:
        """``"cpu"``, or the name of the adapter."""
        return "cpu" if self._tree.adapter is None else self._tree.adapter[0]

    @property
    def report(self) -> TreeReport:
        """Counts of the last build or refit."""
        return self._tree.report()

    @property
    def query_report(self) -> QueryReport | None:
        """Counts of the last batch of queries."""
        return self._query_report

    def build(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike]) -> TreeReport:
        """Build the tree of these boxes. Queries answer with their indices."""
        array = _arrays.boxes(boxes)
        if len(array) >= 1 << 31:
            raise MemoryError(f"{len(array)} boxes; answers are int32, so that there may be at most 2**31 - 1")
        return self._tree.build(array)

    def refit(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike]) -> TreeReport:
        """Fit the tree to boxes that have moved: the same number in the same order. That takes a fraction of a build.

        Where ``report.growth`` is above 1.5 or 2, building again makes queries faster.
        """
        return self._tree.refit(_arrays.boxes(boxes))

    def set_filters(self, filters: Filters | None) -> None:
        """Set what boxes say of themselves. After another `world` or `margin`, the tree has to be built again."""
        self._tree.set_filters(lists_of(filters))

    def change_filters(self, name: str, values: ArrayLike, *, first: int = 0) -> None:
        """Change one list of the filters from box `first` on. After another `world` or `margin`, build the tree again."""
        first = _arrays.number(first, "first", 0, (1 << 63) - 1)
        self._tree.change_filters(name, first, changed(name, values))

    # ---- what moves ----

    @overload
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **said: ArrayLike,
    ) -> Hits: ...
    @overload
    def rays(
        self, origins: ArrayLike, directions: ArrayLike, limits: ArrayLike = ..., *, hits: Literal["any"], **said: ArrayLike
    ) -> NDArray[np.bool_]: ...
    @overload
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **said: ArrayLike,
    ) -> Lists: ...
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **said: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find what rays hit: the points ``origin + t * direction`` with ``0 <= t <= limit``.

        Parameters
        ----------
        origins, directions : (q, 3) arrays, or (3,) for all queries
            Finite. A direction need not be of unit length; `t` counts in its lengths.
        limits : (q,) array or number
            The largest `t`; infinity for a ray without an end.
        hits : {"nearest", "any", "all"} or int
            The nearest hit of each ray (`Hits`); whether there is any ((q,) booleans); all of them, ascending by index
            (`Lists`); or the first so many, by `t` (`Lists`).
        **said
            What queries say beside their shapes; see `Tree`.

        Returns
        -------
        Hits, (q,) array of bool, or Lists
        """
        parts = [("origins", origins, 3), ("directions", directions, 3), ("limits", limits, 1)]
        return self._cast("ray", parts, hits, said)

    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **said: ArrayLike,
    ) -> Hits: ...
    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["any"],
        **said: ArrayLike,
    ) -> NDArray[np.bool_]: ...
    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **said: ArrayLike,
    ) -> Lists: ...
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **said: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find what boxes hit that move: ``box + t * direction`` with ``0 <= t <= limit``.

        Parameters
        ----------
        boxes : array of boxes
            As for `find_pairs`.
        directions, limits, hits, **said
            As for `rays`.
        """
        boxes = rounded_outward(_arrays.boxes(boxes))
        return self._cast("box", [("boxes", boxes, 6), ("directions", directions, 3), ("limits", limits, 1)], hits, said)

    @overload
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **said: ArrayLike,
    ) -> Hits: ...
    @overload
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["any"],
        **said: ArrayLike,
    ) -> NDArray[np.bool_]: ...
    @overload
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **said: ArrayLike,
    ) -> Lists: ...
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **said: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find what the bounding boxes of spheres hit that move. No box that a sphere touches is missed among all hits.

        Parameters
        ----------
        centers : (q, 3) array
        radii : (q,) array or number
        directions, limits, hits, **said
            As for `rays`.
        """
        parts = [("centers", centers, 3), ("radii", radii, 1), ("directions", directions, 3), ("limits", limits, 1)]
        return self._cast("sphere", parts, hits, said)

    @overload
    def cast_capsules(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **said: ArrayLike,
    ) -> Hits: ...
    @overload
    def cast_capsules(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["any"],
        **said: ArrayLike,
    ) -> NDArray[np.bool_]: ...
    @overload
    def cast_capsules(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **said: ArrayLike,
    ) -> Lists: ...
    def cast_capsules(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **said: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find what the bounding boxes of capsules hit that move. No box that a capsule touches is missed among all hits.

        Parameters
        ----------
        starts, ends : (q, 3) arrays
            The ends of the segment in the middle of each capsule.
        radii : (q,) array or number
        directions, limits, hits, **said
            As for `rays`.
        """
        parts = [
            ("starts", starts, 3),
            ("ends", ends, 3),
            ("radii", radii, 1),
            ("directions", directions, 3),
            ("limits", limits, 1),
        ]
        return self._cast("capsule", parts, hits, said)

    def _cast(
        self, kind: str, parts: list[tuple[str, Any, int]], hits: Any, said: dict[str, Any]
    ) -> Hits | NDArray[np.bool_] | Lists:
        rows = _arrays.columns(parts)
        lists = askers(said, len(rows))
        if hits == "nearest":
            answers, self._query_report = self._tree.nearest_hits(kind, rows, lists)
            return Hits(answers[:, 0].view(np.int32), answers[:, 1].view(np.float32))
        if hits == "any":
            any_hit, self._query_report = self._tree.any_hits(kind, rows, lists)
            return any_hit
        if isinstance(hits, str) and hits != "all":
            raise ValueError(f'hits is {hits!r}; it must be "nearest", "any", "all" or a number')
        k = None if isinstance(hits, str) else _arrays.number(hits, "hits", 0, (1 << 63) - 1)
        offsets, answers, self._query_report = self._tree.hits(kind, rows, k, lists)
        return Lists(offsets.view(np.int64), answers[:, 0].view(np.int32), answers[:, 1].view(np.float32))

    # ---- what touches ----

    def overlaps(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike], **said: ArrayLike) -> Lists:
        """Find all boxes that touch each of these boxes, ascending by index; exactly.

        Parameters
        ----------
        boxes : array of boxes
            As for `find_pairs`.
        **said
            What queries say beside their shapes; see `Tree`.

        Returns
        -------
        Lists
        """
        return self._overlaps("box", rounded_outward(_arrays.boxes(boxes)), said)

    def overlap_points(self, points: ArrayLike, **said: ArrayLike) -> Lists:
        """Find all boxes that each point is in, ascending by index; exactly."""
        return self._overlaps("point", _arrays.columns([("points", points, 3)]), said)

    def overlap_spheres(self, centers: ArrayLike, radii: ArrayLike, **said: ArrayLike) -> Lists:
        """Find all boxes that touch each ball, ascending by index; exactly."""
        return self._overlaps("sphere", _arrays.columns([("centers", centers, 3), ("radii", radii, 1)]), said)

    def overlap_oriented(self, centers: ArrayLike, halves: ArrayLike, axes: ArrayLike, **said: ArrayLike) -> Lists:
        """Find all boxes that touch each box that is turned, ascending by index. None is missed; rounding may add few.

        Parameters
        ----------
        centers, halves : (q, 3) arrays
            The centre, and half of the length along each axis.
        axes : (q, 3, 3) array
            The axes of each box as rows: the transposed rotation matrix. They must be of unit length, which is not checked.
        **said
            What queries say beside their shapes; see `Tree`.
        """
        axes = _arrays.singles(axes, "axes")
        if axes.ndim < 2 or axes.shape[-2:] != (3, 3):
            raise ValueError(f"axes must have the shape (q, 3, 3), not {axes.shape}")
        parts = [("centers", centers, 3), ("halves", halves, 3), ("axes", axes.reshape(-1, 9), 9)]
        return self._overlaps("oriented", _arrays.columns(parts), said)

    def overlap_capsules(self, starts: ArrayLike, ends: ArrayLike, radii: ArrayLike, **said: ArrayLike) -> Lists:
        """Find all boxes that touch each capsule, ascending by index. None is missed; a few that are near are too many."""
        return self._overlaps("capsule", _arrays.columns([("starts", starts, 3), ("ends", ends, 3), ("radii", radii, 1)]), said)

    def overlap_convex(self, shapes: Sequence[ArrayLike], **said: ArrayLike) -> Lists:
        """Find all boxes that touch each convex shape, ascending by index. None is missed; a few that are near are too many.

        Parameters
        ----------
        shapes : sequence of (h, 4) arrays
            The half-spaces of each shape: normals that point outward, and offsets, for the points ``normal · x <= offset``.
        **said
            What queries say beside their shapes; see `Tree`.
        """
        planes = [_arrays.columns([("shapes", shape, 4)]) for shape in shapes]
        starts = np.zeros(len(planes) + 1, np.uint64)
        starts[1:] = np.cumsum([len(rows) for rows in planes])
        rows = np.concatenate([*planes, np.empty((0, 4), np.float32)])
        offsets, index, self._query_report = self._tree.overlaps_convex(rows, starts, askers(said, len(planes)))
        return Lists(offsets.view(np.int64), index.view(np.int32))

    def _overlaps(self, kind: str, rows: NDArray[np.float32], said: dict[str, Any]) -> Lists:
        offsets, index, self._query_report = self._tree.overlaps(kind, rows, askers(said, len(rows)))
        return Lists(offsets.view(np.int64), index.view(np.int32))

    # ---- what is nearest ----

    def nearest(self, points: ArrayLike, k: int = 1, radii: ArrayLike = np.inf, **said: ArrayLike) -> Nearest:
        """Find the `k` boxes that are nearest to each point.

        Parameters
        ----------
        points : (q, 3) array
            Finite.
        k : int
            How many.
        radii : (q,) array or number
            How far a box may be.
        **said
            What queries say beside their shapes; see `Tree`.

        Returns
        -------
        Nearest
        """
        k = _arrays.number(k, "k", 0, (1 << 31) - 1)
        rows = _arrays.columns([("points", points, 3), ("radii", radii, 1)])
        lists = askers(said, len(rows))
        try:
            index = np.full((len(rows), k), -1, np.int32)
            squared = np.full((len(rows), k), np.inf, np.float32)
        except (MemoryError, ValueError) as error:
            raise MemoryError(f"no room for {k} answers to each of {len(rows)} queries") from error
        offsets, answers, self._query_report = self._tree.nearest(rows, k, lists)
        counts = np.diff(offsets.view(np.int64))
        filled = np.arange(k) < counts[:, None]
        index[filled], squared[filled] = answers[:, 0].view(np.int32), answers[:, 1].view(np.float32)
        return Nearest(index, squared)


def rounded_outward(boxes: NDArray[Any]) -> NDArray[np.float32]:
    """Return boxes in single precision that hold those in double precision."""
    if boxes.dtype == np.float32:
        return boxes
    with np.errstate(over="ignore"):
        single = boxes.astype(np.float32)
    infinity = np.float32(np.inf)
    lower, upper = single[:, :3], single[:, 3:]
    lower[...] = np.where(lower > boxes[:, :3], np.nextafter(lower, -infinity), lower)
    upper[...] = np.where(upper < boxes[:, 3:], np.nextafter(upper, infinity), upper)
    return single


def askers(said: dict[str, Any], count: int) -> dict[str, NDArray[np.uint32]]:
    """Return what queries say beside their shapes."""
    signed = {"group": "bits", "mask": "bits", "body": "none", "world": "none", "ignore": "none"}
    lists = {}
    for name, values in said.items():
        if name not in signed:
            raise TypeError(f"unexpected keyword {name!r}; queries say {', '.join(signed)}")
        if values is None:
            continue
        array = _arrays.as_array(values, name)
        array = np.full(count, array) if array.ndim == 0 else array
        lists[name] = _arrays.words(array, name, **{signed[name]: True})
    return lists
