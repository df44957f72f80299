"""Neighbours: all pairs of points within a radius, also in a periodic cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _native
from ._pairs import MOST_THREADS
from ._space import padded, warn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray

    _Named: TypeAlias = tuple[Any, str]


@dataclass(frozen=True, eq=False, repr=False)
class NeighbourPairs:
    """The result of a search for neighbours: pairs, ascending by first point, second point and shift.

    Attributes
    ----------
    pairs : (m, 2) array of uint32
        The points i and j of each pair. Between two sets, i is an index in the queries, and j one in the points.
    offsets : (n + 1,) array of int64
        Where the pairs of each point i begin, and the number of pairs at the end.
    shifts : (m, 3) array of int32, or None
        Lattice vectors from j to its image, which lies at ``points[j] + shift @ cell``. None without a cell. In 2D
        (m, 2), as the vectors.
    vectors : (m, 3) array of the type of the points, or None
        From i to the image of j. The error of a component is at most one unit in its last place. None if not requested.
    squared_distances : (m,) array of the type of the points, or None
        The exact squares of the distances, rounded down. None if not requested.
    invalid_count : int
        The number of points with a NaN or an infinite number. They have no neighbours.

    Examples
    --------
    >>> import broadsweep as bs
    >>> found = bs.find_neighbours([[0, 0], [3, 4], [9, 9]], 5, both_directions=True)
    >>> found
    NeighbourPairs(2 pairs of 3 points)
    >>> found.pairs[found.row(1)]
    array([[1, 0]], dtype=uint32)
    """

    pairs: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    shifts: NDArray[np.int32] | None
    vectors: NDArray[Any] | None
    squared_distances: NDArray[Any] | None
    invalid_count: int

    def __len__(self) -> int:
        return len(self.pairs)

    def row(self, index: int) -> slice:
        """Return the places of the pairs of point `index` in the arrays."""
        index = range(len(self.offsets) - 1)[index]
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def __repr__(self) -> str:
        return f"NeighbourPairs({len(self)} pairs of {len(self.offsets) - 1} points)"


def find_neighbours(
    points: ArrayLike,
    radius: float,
    *,
    radii: ArrayLike | None = None,
    worlds: ArrayLike | None = None,
    cell: ArrayLike | None = None,
    periodic: ArrayLike = True,
    both_directions: bool = False,
    self_images: bool = True,
    vectors: bool = False,
    squared_distances: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> NeighbourPairs:
    """Find every pair of points whose distance is at most `radius`, also in a periodic cell.

    The pairs are exact for the numbers that you pass: no coordinate, radius or lattice vector is rounded. A distance that
    equals the radius counts.

    Parameters
    ----------
    points : (n, 3) array, or (n, 2) in 2D
        float32, float64 or integers. Points need not lie in the cell. A point that is not finite pairs with nothing; if all
        points are such, a warning says so.
    radius : float
        The largest distance, at least 0. It may be longer than the cell.
    radii : (n,) array, optional
        A radius for each point. Points i and j pair at a distance of at most ``radius + radii[i] + radii[j]``.
    worlds : (n,) integers, optional
        The world of each point, in any order. Points of different worlds never pair.
    cell : (3, 3) or (3,) array, optional
        The lattice vectors, a row each, or the edges of a cell along the axes. In 2D (2, 2) or (2,).
    periodic : bool, or one for each lattice vector
        True if points repeat along it.
    both_directions : bool
        True to list each pair twice, as (i, j, S) and as (j, i, -S). Otherwise it is listed once, with i < j, or with i = j and
        one of S and -S.
    self_images : bool
        True if a point pairs with its own images.
    vectors, squared_distances : bool
        True to list these.
    device : str
        ``"auto"`` and ``"cpu"``: the CPU. ``"gpu"``, or part of the name of an adapter: a GPU finds candidates, and the CPU decides
        each. The result has the same bytes.
    threads : int, optional
        As for `BroadPhase`. It changes no bit of the result.

    Returns
    -------
    NeighbourPairs

    Raises
    ------
    TypeError, ValueError
        For arrays of another type or shape, and for a cell without volume.
    MemoryError
        If the pairs do not fit memory, or the radius reaches more than 2**27 images. No pair is dropped.

    See Also
    --------
    find_neighbours_between : of two sets.
    radius_graph, neighbour_list : the same, as torch_cluster and ASE have it.

    Examples
    --------
    >>> import broadsweep as bs
    >>> found = bs.find_neighbours([[0.25, 5, 5], [9.75, 5, 5]], 1, cell=[10, 10, 10], vectors=True)
    >>> found.pairs, found.shifts, found.vectors
    (array([[0, 1]], dtype=uint32), array([[-1,  0,  0]], dtype=int32), array([[-0.5,  0. ,  0. ]]))
    """
    options = {"both_directions": both_directions, "self_images": self_images}
    wanted = {"vectors": vectors, "squared_distances": squared_distances}
    search = _Search({"points": points}, (radius, "radius"), (radii, "radii"), (worlds, "worlds"))
    return search.run(cell, (periodic, "periodic"), {**options, **wanted}, device, threads)


def find_neighbours_between(
    queries: ArrayLike,
    points: ArrayLike,
    radius: float,
    *,
    radii: ArrayLike | None = None,
    worlds: ArrayLike | None = None,
    cell: ArrayLike | None = None,
    periodic: ArrayLike = True,
    vectors: bool = False,
    squared_distances: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> NeighbourPairs:
    """Find every pair of a query and a point whose distance is at most `radius`, each once, also in a periodic cell.

    Parameters
    ----------
    queries, points : (q, 3) and (n, 3) arrays, or (q, 2) and (n, 2) in 2D
        As for `find_neighbours`. Images are those of the points.
    radius : float
        The largest distance, at least 0.
    radii, worlds : (q + n,) arrays, optional
        As for `find_neighbours`, of the queries and then of the points.
    cell, periodic, vectors, squared_distances, device, threads
        As for `find_neighbours`.

    Returns
    -------
    NeighbourPairs

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `find_neighbours`.

    Examples
    --------
    >>> import broadsweep as bs
    >>> bs.find_neighbours_between([[0, 0]], [[3, 4], [9, 9], [4, 3]], 5).pairs
    array([[0, 0],
           [0, 2]], dtype=uint32)
    """
    options = {"both_directions": False, "self_images": True, "vectors": vectors, "squared_distances": squared_distances}
    search = _Search({"queries": queries, "points": points}, (radius, "radius"), (radii, "radii"), (worlds, "worlds"))
    return search.run(cell, (periodic, "periodic"), options, device, threads)


def radius_graph(
    x: ArrayLike,
    r: float,
    batch: ArrayLike | None = None,
    loop: bool = False,
    max_num_neighbors: int | None = None,
) -> NDArray[np.int64]:
    """Find the edges of a graph of points within a radius, as ``radius_graph`` of torch_cluster, without truncation.

    Parameters
    ----------
    x : (n, 3) array, or (n, 2) in 2D
        Points, as for `find_neighbours`. A tensor on the CPU comes through DLPack.
    r : float
        The largest distance. A distance that equals it counts.
    batch : (n,) integers, optional
        The example that each point belongs to, in any order. Points of different examples have no edge.
    loop : bool
        True for an edge of each point to itself.
    max_num_neighbors : int, optional
        The most edges to a point, loops included. A point with more raises ValueError.

    Returns
    -------
    (2, m) array of int64
        The source and the target of each edge: the flow ``source_to_target``, both directions of each pair, ascending by target
        and source. ``torch.from_dlpack`` takes it without a copy.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `find_neighbours`, and ValueError where a point has more than `max_num_neighbors` edges.

    Examples
    --------
    >>> import broadsweep as bs
    >>> bs.radius_graph([[0, 0], [3, 4], [9, 9]], 5)
    array([[1, 0],
           [0, 1]])
    """
    search = _Search({"x": x}, (r, "r"), (None, "radii"), (batch, "batch"))
    options = {"both_directions": True, "self_images": False, "vectors": False, "squared_distances": False}
    found = search.run(None, (True, "periodic"), options, "auto")
    target, source = found.pairs.T
    counts = np.diff(found.offsets)
    own = np.flatnonzero(np.isfinite(search.sets[0]).all(1)) if _arrays.flag(loop, "loop") else np.empty(0, np.intp)
    if max_num_neighbors is not None:
        most = _arrays.number(max_num_neighbors, "max_num_neighbors", 0, (1 << 63) - 1)
        counts[own] += 1
        if counts.size and counts.max() > most:
            raise ValueError(
                f"point {int(counts.argmax())} has {int(counts.max())} neighbours, and max_num_neighbors is {most}. No edge is "
                "dropped: raise it, leave it out, or lower r"
            )
    edges = np.empty((2, len(found) + len(own)), np.int64)
    if not len(own):
        edges[0], edges[1] = source, target
        return edges
    # The loop of a point follows its sources that are less than the point.
    less = np.bincount(target[source < target], minlength=len(counts))
    loops = found.offsets[own] + less[own] + np.arange(len(own))
    is_edge = np.ones(edges.shape[1], np.bool_)
    is_edge[loops] = False
    edges[:, loops] = own
    edges[0, is_edge], edges[1, is_edge] = source, target
    return edges


def neighbour_list(
    quantities: str,
    positions: Any,
    cutoff: ArrayLike,
    cell: ArrayLike | None = None,
    pbc: ArrayLike = False,
    device: str = "auto",
) -> Any:
    """Find neighbours, as ``neighbor_list`` of ASE and ``neighbour_list`` of matscipy: one array for each letter.

    Parameters
    ----------
    quantities : str
        The arrays to return, in this order: ``i`` and ``j``, the points; ``d``, the distance; ``D``, the vector from i to the
        image of j; ``S``, the shift of the image, ``D = positions[j] - positions[i] + S @ cell``.
    positions : (n, 3) array, or an Atoms of ASE
        Points, as for `find_neighbours`. An Atoms has its own `cell` and `pbc`.
    cutoff : float, or (n,) array
        The largest distance, or a radius per atom; then the largest distance is the sum of both radii. A distance that equals
        it counts, unlike in ASE.
    cell : (3, 3) or (3,) array, optional
        As for `find_neighbours`.
    pbc : bool, or one for each lattice vector
        True if points repeat along it.
    device : str
        As for `find_neighbours`.

    Returns
    -------
    array, or tuple of arrays
        One for each letter: int64 for ``i`` and ``j``, int32 for ``S``, the type of the positions for ``d`` and ``D``. Both
        directions of each pair and self-images, ascending by i, j and S.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `find_neighbours`.

    Examples
    --------
    >>> import broadsweep as bs
    >>> i, d = bs.neighbour_list("id", [[0, 0, 0], [1.5, 1.5, 1.5]], 2.7, cell=[3, 3, 3], pbc=True)
    >>> i.size, d.max().round(3)
    (16, np.float64(2.598))
    """
    unknown = set(_arrays.text(quantities, "quantities")) - set("ijdDS")
    if unknown:
        raise ValueError(f"quantities is {quantities!r}; its letters must be of ijdDS")
    if hasattr(positions, "get_positions"):
        if cell is not None or np.any(pbc):
            raise ValueError("positions is an Atoms, which has its own cell and pbc: leave these out")
        positions, cell, pbc = positions.get_positions(), np.asarray(positions.cell), np.asarray(positions.pbc)
    elif cell is None and np.any(pbc):
        raise ValueError("pbc needs a cell")
    if isinstance(cutoff, dict):
        raise TypeError("cutoff must be a number or a list of radii; a dict, of cutoffs of two elements, is not supported")
    lengths = _arrays.floats(cutoff, "cutoff")
    radius, radii = (lengths, None) if lengths.ndim == 0 else (0.0, lengths)
    search = _Search({"positions": positions}, (radius, "cutoff"), (radii, "cutoff"), (None, "worlds"))
    wanted = {"vectors": "D" in quantities, "squared_distances": "d" in quantities}
    options = {"both_directions": True, "self_images": True, **wanted}
    found = search.run(cell, (pbc, "pbc"), options, device)
    squares: Any = found.squared_distances
    of_letter: dict[str, Callable[[], Any]] = {
        "i": lambda: found.pairs[:, 0].astype(np.int64),
        "j": lambda: found.pairs[:, 1].astype(np.int64),
        "d": lambda: np.sqrt(squares),
        "D": lambda: found.vectors,
        "S": lambda: np.zeros((len(found), search.dimension), np.int32) if found.shifts is None else found.shifts,
    }
    arrays = [of_letter[letter]() for letter in quantities]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


class _Search:
    """The points and lengths of a call: searched in float32 if that holds all of them, or else in float64.

    `sets`, `radius`, `radii` and `worlds` come with their names.
    """

    def __init__(self, sets: dict[str, Any], radius: _Named, radii: _Named, worlds: _Named) -> None:
        self.sets = [_points(values, name) for name, values in sets.items()]
        # An empty set has no dimension.
        dimensions = {points.shape[1] for points in self.sets if len(points)} or {self.sets[-1].shape[1]}
        self.dimension = dimensions.pop()
        if dimensions:
            raise ValueError(f"{' and '.join(sets)} must both be in 3D, or both in 2D")
        self.radius = _arrays.floats(*radius)
        if self.radius.ndim:
            raise ValueError(f"{radius[1]} must be a number, not an array of the shape {self.radius.shape}")
        if not (self.radius >= 0 and np.isfinite(self.radius)):
            raise ValueError(f"{radius[1]} is {self.radius}; it must be finite and at least 0")
        self.radii = self._list(_arrays.floats, radii)
        self.worlds = self._list(_arrays.words, worlds)

    def _list(self, convert: Callable[[Any, str], NDArray[Any]], named: _Named) -> NDArray[Any] | None:
        if named[0] is None:
            return None
        array, count = convert(*named), sum(map(len, self.sets))
        if array.shape != (count,):
            raise ValueError(f"{named[1]} must have a number for each of {count} points, not the shape {array.shape}")
        return array

    def run(
        self, cell: Any, periodic: _Named, options: dict[str, Any], device: str, threads: int | None = None
    ) -> NeighbourPairs:
        vectors, flags = _lattice(cell, periodic, self.dimension)
        wanted = np.result_type(*self.sets)
        lengths = [array for array in (self.radius, self.radii, vectors) if array is not None]
        kind = wanted if all(map(_is_single, lengths)) else np.dtype(np.float64)
        find = _native.find_neighbours_f32 if kind == np.float32 else _native.find_neighbours_f64
        search = {
            "radius": float(self.radius),
            "cell": None if vectors is None else vectors.astype(kind).tolist(),
            "periodic": flags,
            **{name: _arrays.flag(value, name) for name, value in options.items()},
        }
        if threads is not None:
            threads = _arrays.number(threads, "threads", 1, MOST_THREADS)
        answer = find(self._rows(kind), search, _arrays.text(device, "device"), threads)
        pairs, offsets, shifts, along, squares, invalid_count = answer
        return NeighbourPairs(
            pairs,
            offsets.view(np.int64),
            None if vectors is None else _flat(shifts, self.dimension),
            _flat(_nearest(along, wanted), self.dimension) if search["vectors"] else None,
            _rounded_down(squares, wanted) if search["squared_distances"] else None,
            invalid_count,
        )

    def _rows(self, kind: np.dtype[Any]) -> list[tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]]:
        rows, first = [], 0
        for points in self.sets:
            part = slice(first, first + len(points))
            radii = None if self.radii is None else _arrays.plain(self.radii[part], kind)
            worlds = None if self.worlds is None else self.worlds[part]
            rows.append((_arrays.plain(padded(points), kind), radii, worlds))
            first = part.stop
        return rows


def _points(values: Any, name: str) -> NDArray[Any]:
    """Return points as ``(n, 3)`` or ``(n, 2)``, and warn if none of them is finite."""
    points = _arrays.floats(values, name)
    if points.ndim == 1 and points.size == 0:
        points = points.reshape(0, 3)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"{name} must have the shape (n, 3), or (n, 2) in 2D, not {points.shape}")
    # Usually the first point is finite. Then skip the others.
    if len(points) and not np.isfinite(points[0]).all() and not np.isfinite(points).all(1).any():
        warn(f"all {len(points)} points of {name} have a number that is not finite, and pair with nothing")
    return points


def _lattice(cell: Any, periodic: _Named, dimension: int) -> tuple[NDArray[Any] | None, list[bool]]:
    """Return the lattice vectors, and a flag per direction: True if it is periodic. Other directions have the vector 0."""
    if cell is None:
        return None, [False] * 3
    vectors = _arrays.floats(cell, "cell")
    if vectors.shape == (dimension,):
        vectors = np.diag(vectors)
    if vectors.shape != (dimension, dimension):
        d = dimension
        raise ValueError(f"cell must have the shape ({d}, {d}) or ({d},) for points in {d}D, not {vectors.shape}")
    name = periodic[1]
    flags = _arrays.flags(np.atleast_1d(_arrays.as_array(*periodic)), name)
    if len(flags) not in (1, dimension):
        raise ValueError(f"{name} must be one boolean or {dimension}, not {len(flags)}")
    whole = np.zeros((3, 3), vectors.dtype)
    whole[:dimension, :dimension] = np.where(np.broadcast_to(flags, dimension)[:, None], vectors, 0)
    return whole, [*np.broadcast_to(flags, dimension).tolist(), *[False] * (3 - dimension)]


def _is_single(lengths: NDArray[Any]) -> bool:
    """Return whether float32 holds these numbers."""
    with np.errstate(over="ignore"):
        return lengths.dtype == np.float32 or bool((lengths.astype(np.float32) == lengths).all())


def _nearest(numbers: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return numbers.astype(kind, copy=False)


def _rounded_down(squares: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    if squares.dtype == kind:
        return squares
    rounded = _nearest(squares, kind)
    return np.where(rounded > squares, np.nextafter(rounded, -np.inf, dtype=kind), rounded)


def _flat(rows: NDArray[Any], dimension: int) -> NDArray[Any]:
    """Return rows of 3 numbers; in 2D of 2."""
    return rows if dimension == 3 else np.ascontiguousarray(rows[:, :dimension])
