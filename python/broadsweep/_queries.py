"""Trees: the hits of rays, the boxes that touch a shape, the nearest boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _arrays, _native
from ._filters import Applied, lists_of, of_queries
from ._pairs import MOST_THREADS, described
from ._space import Space, warn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._filters import Filters
    from ._native import QueryReport, TreeReport
    from ._space import Origin


@dataclass(frozen=True, eq=False)
class Hits:
    """The nearest hit of each query. Unpacks into `index` and `t`.

    Attributes
    ----------
    index : (q,) array of int32
        The first box that is hit, or -1. Ties go to the smaller index.
    t : (q,) array of float32
        The time of the hit, in lengths of the direction, rounded down; infinity for no hit.
    """

    index: NDArray[np.int32]
    t: NDArray[np.float32]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.index, self.t))


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest boxes of each point, ascending by distance; ties go to the smaller index.

    Unpacks into `index` and `squared_distance`.

    Attributes
    ----------
    index : (q, k) array of int32
        The boxes; -1 if there are fewer than `k`.
    squared_distance : (q, k) array of float32
        Squared distances, rounded down: 0 if the point is in the box, infinity for no box.
    """

    index: NDArray[np.int32]
    squared_distance: NDArray[np.float32]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.index, self.squared_distance))


class Lists:
    """A list of boxes for each query, stored as consecutive rows.

    Attributes
    ----------
    offsets : (q + 1,) array of int64
        The position in `index` at which each list begins, and the end of the last one.
    index : (m,) array of int32
        The boxes of all lists.
    t : (m,) array of float32, or None
        The time at which each box is hit; None for overlaps.

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
        """``(q,)``: the count of boxes in each list."""
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
    """A tree of boxes that answers batches of rays, casts, overlaps and nearest-box queries.

    No box is missed, ties go to the smaller index, touching counts. Points, boxes, spheres, rays and moving boxes are exact.
    CPU and GPU return the same bits.

    Parameters
    ----------
    boxes : array of boxes
        As for `find_pairs`.
    device : str
        As for `BroadPhase`.
    filters : Filters, optional
        The filters of the boxes: groups, masks, bodies, worlds and spheres, which are compared with those of queries; margins
        and half-spaces. Filters of two boxes (`fixed`, `sleeping`, `second`, `exclude`, `include`) are ignored.
    threads : int, optional
        As for `BroadPhase`.
    origin : None, "auto", or 2 or 3 numbers
        As for `BroadPhase`; subtracted from queries too.

    Raises
    ------
    TypeError, ValueError, MemoryError, GpuError
        As `find_pairs`.

    Notes
    -----
    All queries take these keywords: arrays with one value per query, or one number for all queries.

    - `group`, `mask`: integers. The groups of the query, and the groups that it meets, a bit each. The `rule` of the filters
      decides, as between two boxes. With ``"any"``, a query also meets boxes whose own `mask` has its group. With
      ``rule="both"``, or ``group=0``, the `mask` of the query decides.
    - `body`: integers. The query meets no box of this body.
    - `world`: integers. The query meets boxes of this world; -1 is all worlds.
    - `ignore`: integers. A box that the query does not meet, or -1.
    - `sphere`: (q, 4) floats, in 2D (q, 3); never one for all. The centre and the radius of a sphere for each query; an
      infinite radius is no sphere. The query meets only boxes whose own `sphere`, padded by their margin, touches it, decided
      exactly, and half-spaces that it touches. Doubles are rounded outward, as for `Filters`.

    Rays and casts also take one keyword for the whole batch.

    - `skips_separating`: bool. True ignores boxes that a cast touches at ``t = 0`` and separates from. A ray or a moving box
      separates if it moves away from, or along, the face through which the overlap ends by the shortest shift. A sphere or
      capsule separates if it does not approach the nearest point of the box. A cast that moves deeper into a box hits it at 0.

    Queries are in single precision. Doubles are rounded to nearest; boxes are rounded outward. A tree of 2D boxes takes 2D
    queries: points and directions ``(q, 2)``, boxes ``(q, 4)``. Another dimension raises ValueError, and so does a tree that
    was not built.

    A single limit or radius that is negative or a NaN raises ValueError. In an array it makes its query invalid, as does a NaN
    elsewhere or an inverted box. An invalid query has no answer; `query_report` counts it. If all are invalid, a warning says
    so.

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
        origin: Origin = None,
    ) -> None:
        threads = None if threads is None else _arrays.number(threads, "threads", 1, MOST_THREADS)
        self._tree = _native.Tree(_arrays.text(device, "device"), threads)
        self._space = Space(origin, threads)
        self._filters = Applied(self._tree, self._space)
        self._is_built = False
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
    def origin(self) -> tuple[float, ...] | None:
        """The point that is subtracted from boxes and queries; None without one, and before the first boxes."""
        return self._space.origin

    @property
    def report(self) -> TreeReport:
        """Counts of the last build or refit."""
        return self._tree.report()

    @property
    def query_report(self) -> QueryReport | None:
        """Counts of the last batch of queries."""
        return self._query_report

    def build(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike]) -> TreeReport:
        """Build the tree of these boxes. Answers are indices of them."""
        array = self._space.boxes(boxes)
        if len(array) >= 1 << 31:
            raise MemoryError(f"{len(array)} boxes; answers are int32, so that there may be at most 2**31 - 1")
        if self._filters.is_unfit(len(array)):
            # As long as the tree has boxes, it refuses filters for another number of them.
            self._is_built = False
            self._tree.set_filters({})
            self._tree.build(array[:0])
            self._filters.fit(len(array))
        report = self._tree.build(array)
        self._is_built = True
        return report

    def refit(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike]) -> TreeReport:
        """Update the bounds of the tree after boxes moved: the same count in the same order. Faster than a build.

        If ``report.growth`` is above 1.5 or 2, build again for faster queries.
        """
        self._check_built()
        return self._tree.refit(self._space.boxes(boxes))

    def set_filters(self, filters: Filters | None) -> None:
        """Set the filters of the boxes. After a change of `world` or `margin`, build the tree again."""
        self._space.check_filters(lists_of(filters))
        count = len(self)
        self._filters.set(filters, count if self._is_built else None)
        self._is_built = self._is_built and len(self) == count

    def change_filters(self, name: str, values: ArrayLike, *, first: int = 0) -> None:
        """Change values of one list of the filters, from box `first` on.

        After a change of `world` or `margin`, build the tree again.
        """
        count = len(self)
        self._filters.change(name, values, first)
        self._is_built = self._is_built and len(self) == count

    def _update_filters(self, lists: dict[str, Any], boxes: int) -> None:
        count = len(self)
        self._filters.update(lists, boxes)
        self._is_built = self._is_built and len(self) == count

    def _check_built(self) -> None:
        if not self._is_built:
            raise ValueError(
                "this tree is not built: call `build`, and again after filters with another `world`, `margin` or boxes of half-spaces"
            )

    def _answered(self, report: QueryReport) -> None:
        """Keep the report of queries, and warn where none of them has a meaning."""
        self._query_report = report
        if report.invalid_count == report.query_count > 0:
            warn(
                f"all {report.query_count} queries have a number without a meaning, and answer nothing: a NaN, a lower bound "
                "above the upper, a negative length, or a direction that float32 does not hold"
            )

    # ---- what moves ----

    @overload
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **query_filters: ArrayLike,
    ) -> Hits: ...
    @overload
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["any"],
        **query_filters: ArrayLike,
    ) -> NDArray[np.bool_]: ...
    @overload
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **query_filters: ArrayLike,
    ) -> Lists: ...
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **query_filters: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find the boxes that rays hit: points ``origin + t * direction`` with ``0 <= t <= limit``. Exact.

        Parameters
        ----------
        origins, directions : (q, 3) arrays, or (3,) for all queries
            Finite. A direction may have any length, and is the unit of `t`. A float64 direction that is too long
            or too short for float32 makes its query invalid.
        limits : (q,) array or number
            The largest `t`, at least 0; infinity for a ray without an end.
        hits : {"nearest", "any", "all"} or int
            ``"nearest"``: the first hit of each ray (`Hits`). ``"any"``: True if there is a hit ((q,) booleans). ``"all"``: all
            hits, ascending by index (`Lists`). A number, at least 1: the first hits, by `t` (`Lists`).
        **query_filters
            The filters of the queries; see `Tree`.

        Returns
        -------
        Hits, (q,) array of bool, or Lists
        """
        return self._cast("ray", {"origins": self._space.points(origins, "origins")}, directions, limits, hits, query_filters)

    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **query_filters: ArrayLike,
    ) -> Hits: ...
    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["any"],
        **query_filters: ArrayLike,
    ) -> NDArray[np.bool_]: ...
    @overload
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["all"] | int,
        **query_filters: ArrayLike,
    ) -> Lists: ...
    def cast_boxes(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **query_filters: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find the boxes that moving boxes hit: ``box + t * direction`` with ``0 <= t <= limit``. Exact.

        Parameters
        ----------
        boxes : array of boxes
            As for `find_pairs`.
        directions, limits, hits, **query_filters
            As for `rays`.
        """
        return self._cast("box", {"boxes": self._space.rounded(boxes, "boxes")}, directions, limits, hits, query_filters)

    @overload
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = ...,
        *,
        hits: Literal["nearest"] = ...,
        **query_filters: ArrayLike,
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
        **query_filters: ArrayLike,
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
        **query_filters: ArrayLike,
    ) -> Lists: ...
    def cast_spheres(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        directions: ArrayLike,
        limits: ArrayLike = np.inf,
        *,
        hits: Literal["nearest", "any", "all"] | int = "nearest",
        **query_filters: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find the boxes that moving spheres hit. No box is missed and no `t` is too late; a hit may be extra, or `t` early.

        Parameters
        ----------
        centers : (q, 3) array
        radii : (q,) array or number
        directions, limits, hits, **query_filters
            As for `rays`.
        """
        return self._cast("sphere", self._sphere(centers, radii), directions, limits, hits, query_filters)

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
        **query_filters: ArrayLike,
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
        **query_filters: ArrayLike,
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
        **query_filters: ArrayLike,
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
        **query_filters: ArrayLike,
    ) -> Hits | NDArray[np.bool_] | Lists:
        """Find the boxes that moving capsules hit. No box is missed and no `t` is too late; a hit may be extra, or `t` early.

        Parameters
        ----------
        starts, ends : (q, 3) arrays
            The ends of the axis of each capsule.
        radii : (q,) array or number
        directions, limits, hits, **query_filters
            As for `rays`.
        """
        return self._cast("capsule", self._capsule(starts, ends, radii), directions, limits, hits, query_filters)

    def _sphere(self, centers: ArrayLike, radii: ArrayLike) -> dict[str, NDArray[Any]]:
        return {"centers": self._space.points(centers, "centers"), "radii": _arrays.lengths(radii, "radii")}

    def _capsule(self, starts: ArrayLike, ends: ArrayLike, radii: ArrayLike) -> dict[str, NDArray[Any]]:
        starts, ends = self._space.points(starts, "starts"), self._space.points(ends, "ends")
        return {"starts": starts, "ends": ends, "radii": _arrays.lengths(radii, "radii")}

    def _cast(
        self,
        kind: str,
        shape: dict[str, NDArray[Any]],
        directions: ArrayLike,
        limits: ArrayLike,
        hits: Any,
        query_filters: dict[str, Any],
    ) -> Hits | NDArray[np.bool_] | Lists:
        self._check_built()
        directions, limits = self._space.vectors(directions, "directions"), _arrays.lengths(limits, "limits")
        rows = _arrays.columns(**shape, directions=directions, limits=limits)
        lists = of_queries(query_filters, len(rows), self._space, are_casts=True)
        if hits == "nearest":
            answers, report = self._tree.nearest_hits(kind, rows, lists)
            self._answered(report)
            return Hits(answers[:, 0].view(np.int32), answers[:, 1].view(np.float32))
        if hits == "any":
            any_hit, report = self._tree.any_hits(kind, rows, lists)
            self._answered(report)
            return any_hit
        if isinstance(hits, str) and hits != "all":
            raise ValueError(f'hits is {hits!r}; it must be "nearest", "any", "all" or a number')
        k = None if isinstance(hits, str) else _arrays.number(hits, "hits", 1, (1 << 63) - 1)
        offsets, answers, report = self._tree.hits(kind, rows, k, lists)
        self._answered(report)
        return Lists(offsets.view(np.int64), answers[:, 0].view(np.int32), answers[:, 1].view(np.float32))

    # ---- what touches ----

    def overlaps(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike], **query_filters: ArrayLike) -> Lists:
        """Find all boxes that touch each query box, ascending by index. Exact.

        Parameters
        ----------
        boxes : array of boxes
            As for `find_pairs`.
        **query_filters
            The filters of the queries; see `Tree`.

        Returns
        -------
        Lists
        """
        return self._overlaps("box", query_filters, boxes=self._space.rounded(boxes, "boxes"))

    def overlap_points(self, points: ArrayLike, **query_filters: ArrayLike) -> Lists:
        """Find all boxes that contain each point, ascending by index. Exact."""
        return self._overlaps("point", query_filters, points=self._space.points(points, "points"))

    def overlap_spheres(self, centers: ArrayLike, radii: ArrayLike, **query_filters: ArrayLike) -> Lists:
        """Find all boxes that touch each sphere, ascending by index. Exact."""
        return self._overlaps("sphere", query_filters, **self._sphere(centers, radii))

    def overlap_oriented(self, centers: ArrayLike, halves: ArrayLike, axes: ArrayLike, **query_filters: ArrayLike) -> Lists:
        """Find all boxes that touch each oriented box, ascending by index. No box is missed; a few may be extra.

        Parameters
        ----------
        centers, halves : (q, 3) arrays
            The centre, and the half-length along each axis.
        axes : (q, 3, 3) array
            The axes of each box as rows: the transposed rotation matrix. They must have unit length; this is not checked.
            In 2D ``(q, 2, 2)``.
        **query_filters
            The filters of the queries; see `Tree`.
        """
        space = self._space
        centers, halves = space.points(centers, "centers"), space.vectors(halves, "halves")
        return self._overlaps("oriented", query_filters, centers=centers, halves=halves, axes=space.axes(axes, "axes"))

    def overlap_capsules(self, starts: ArrayLike, ends: ArrayLike, radii: ArrayLike, **query_filters: ArrayLike) -> Lists:
        """Find all boxes that touch each capsule, ascending by index. No box is missed; a few may be extra."""
        return self._overlaps("capsule", query_filters, **self._capsule(starts, ends, radii))

    def overlap_convex(self, shapes: Sequence[ArrayLike], **query_filters: ArrayLike) -> Lists:
        """Find all boxes that touch each convex shape, ascending by index. No box is missed; a few may be extra.

        Parameters
        ----------
        shapes : sequence of (h, 4) arrays
            The half-spaces ``normal · x <= offset`` of each shape: normals that point outward, and offsets.
            In 2D ``(h, 3)``.
        **query_filters
            The filters of the queries; see `Tree`.
        """
        self._check_built()
        if not isinstance(shapes, Iterable):
            raise TypeError(f"shapes must be a sequence of arrays of half-spaces, not {type(shapes).__name__}")
        planes = [self._space.planes(shape, "shapes") for shape in shapes]
        starts = np.zeros(len(planes) + 1, np.uint64)
        starts[1:] = np.cumsum([len(rows) for rows in planes])
        rows = _arrays.columns(shapes=np.concatenate([*planes, np.empty((0, 4), np.float32)]))
        offsets, index, report = self._tree.overlaps_convex(rows, starts, of_queries(query_filters, len(planes), self._space))
        self._answered(report)
        return Lists(offsets.view(np.int64), index.view(np.int32))

    def _overlaps(self, kind: str, query_filters: dict[str, Any], **parts: NDArray[Any]) -> Lists:
        self._check_built()
        rows = _arrays.columns(**parts)
        offsets, index, report = self._tree.overlaps(kind, rows, of_queries(query_filters, len(rows), self._space))
        self._answered(report)
        return Lists(offsets.view(np.int64), index.view(np.int32))

    # ---- what is nearest ----

    def nearest(self, points: ArrayLike, k: int = 1, radii: ArrayLike = np.inf, **query_filters: ArrayLike) -> Nearest:
        """Find the `k` boxes that are nearest to each point, ascending by distance. Exact.

        Parameters
        ----------
        points : (q, 3) array
            Finite.
        k : int
            The count of boxes, at least 1.
        radii : (q,) array or number
            The largest distance of a box, at least 0.
        **query_filters
            The filters of the queries; see `Tree`.

        Returns
        -------
        Nearest
        """
        k = _arrays.number(k, "k", 1, (1 << 31) - 1)
        self._check_built()
        rows = _arrays.columns(points=self._space.points(points, "points"), radii=_arrays.lengths(radii, "radii"))
        lists = of_queries(query_filters, len(rows), self._space)
        try:
            index = np.full((len(rows), k), -1, np.int32)
            squared = np.full((len(rows), k), np.inf, np.float32)
        except (MemoryError, ValueError) as error:
            raise MemoryError(f"not enough memory for {k} answers to each of {len(rows)} queries") from error
        offsets, answers, report = self._tree.nearest(rows, k, lists)
        self._answered(report)
        counts = np.diff(offsets.view(np.int64))
        filled = np.arange(k) < counts[:, None]
        index[filled], squared[filled] = answers[:, 0].view(np.int32), answers[:, 1].view(np.float32)
        return Nearest(index, squared)
