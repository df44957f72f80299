"""The pairs of boxes: in one call, from step to step, in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _arrays, _native
from ._filters import Applied, lists_of
from ._space import Space

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray

    from ._filters import Filters
    from ._native import Report, StepReport
    from ._space import Origin

    _Numbers: TypeAlias = NDArray[np.uint32] | None

MOST_THREADS = 1024

NEW = 0xFFFFFFFF
"""The index, in `was`, of a box that the last step did not have; -1 in a list of signed integers."""


def find_pairs(
    boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
    *,
    filters: Filters | None = None,
    device: str = "auto",
    order: Literal["canonical", "sweep"] = "canonical",
    origin: Origin = None,
) -> NDArray[np.uint32]:
    """Find every pair of boxes that overlap, each once.

    Parameters
    ----------
    boxes : (n, 6) or (n, 2, 3) array, or a tuple (lower, upper) of two (n, 3) arrays
        Lower and upper corners. In 2D: (n, 4), (n, 2, 2), or a tuple of two (n, 2). float32 is used as it is; float64 and
        integers are rounded outward to float32, so that no pair is missed. Only a tuple is (lower, upper), never a list. A
        box with a NaN, or with a lower bound above the upper one, pairs with nothing; if all boxes are such, a warning says so.
        Tensors in CPU memory come through DLPack.
    filters : Filters, optional
        Select the pairs that are reported.
    device : str
        ``"auto"``: a GPU, or the CPU if there is none. ``"cpu"``. ``"gpu"``: also a software driver. Or part of the name of an
        adapter.
    order : {"canonical", "sweep"}
        ``"canonical"``: ascending, the same bytes on every device. ``"sweep"``: in the order of the search, which is faster.
    origin : None, "auto", or 2 or 3 numbers
        The point to subtract from boxes in double precision before they are rounded, for boxes far from the origin. ``"auto"`` is
        the centre of their bounds. Without it, there is a warning if rounding lengthens edges by more than a hundredth of the
        mean edge.

    Returns
    -------
    (m, 2) array of uint32
        Indices of the boxes, the smaller one first. ``pairs.view(np.int32)`` is the same memory. Differences of uint32 wrap
        around below 0: take them of this view.

    Raises
    ------
    TypeError, ValueError
        For boxes or filters of another type or shape.
    MemoryError
        If the boxes or pairs do not fit memory. No pair is dropped.
    CandidateLimitError
        If the boxes overlap too much: more candidates than the limit.
    GpuError
        If there is no such GPU, or it was lost.

    See Also
    --------
    BroadPhase : reuses memory and compiled kernels between calls.

    Examples
    --------
    >>> import numpy as np, broadsweep as bs
    >>> lower = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [2.0, 2.0, 2.0]])
    >>> bs.find_pairs((lower, lower + 1))
    array([[0, 1]], dtype=uint32)
    >>> bs.find_pairs(np.array([[0, 0, 1, 1], [1, 1, 2, 2]], np.float32))    # in 2D
    array([[0, 1]], dtype=uint32)
    """
    return BroadPhase(device=device, filters=filters, order=order, origin=origin).find_pairs(boxes)


def find_pairs_between(
    first: ArrayLike | tuple[ArrayLike, ArrayLike],
    second: ArrayLike | tuple[ArrayLike, ArrayLike],
    *,
    filters: Filters | None = None,
    device: str = "auto",
    order: Literal["canonical", "sweep"] = "canonical",
    origin: Origin = None,
) -> NDArray[np.uint32]:
    """Find every pair of a box of one set and a box of another that overlap, each once.

    Parameters
    ----------
    first, second : arrays of boxes
        As for `find_pairs`.
    filters, device, order, origin
        As for `find_pairs`. Filters by box hold for both sets, one after the other. ``origin="auto"`` is the centre of `first`,
        for both sets. Both must be in 3D, or both in 2D.

    Returns
    -------
    (m, 2) array of uint32
        An index in `first` and an index in `second`; differences as for `find_pairs`.

    Raises
    ------
    TypeError, ValueError, MemoryError, CandidateLimitError, GpuError
        As `find_pairs`.

    Examples
    --------
    >>> import broadsweep as bs
    >>> bs.find_pairs_between([[0, 0, 0, 1, 1, 1]], [[5, 5, 5, 6, 6, 6], [1, 1, 1, 2, 2, 2]])
    array([[0, 1]], dtype=uint32)
    """
    return BroadPhase(device=device, filters=filters, order=order, origin=origin).find_pairs_between(first, second)


def id_pairs(pairs: ArrayLike, ids: ArrayLike) -> NDArray[np.uint64]:
    """Replace indices in pairs by 64-bit ids, for calls that search a part of a larger scene.

    Parameters
    ----------
    pairs : (m, 2) array
        Indices of boxes of one call.
    ids : (n,) array
        The id of each box of that call, from 0 to 2**64 - 1.

    Returns
    -------
    (m, 2) array of uint64
        The ids of each pair, the smaller one first, in the order of `pairs`.

    Raises
    ------
    TypeError, ValueError
        For arrays of another type or shape, and for a pair of a box that has no id.

    Examples
    --------
    >>> import broadsweep as bs
    >>> bs.id_pairs([[0, 1], [0, 2]], [7_000_000_000, 5, 9_000_000_000])
    array([[         5, 7000000000],
           [7000000000, 9000000000]], dtype=uint64)
    """
    names = _arrays.as_array(ids, "ids")
    if names.size == 0:
        names = names.astype(np.uint64)
    if names.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, not {names.dtype}")
    if names.ndim != 1:
        raise ValueError(f"ids must have one dimension, not the shape {names.shape}")
    if names.dtype.kind == "i" and names.size and int(names.min()) < 0:
        raise ValueError(f"ids has {int(names.min())}; ids must be from 0 to 2**64 - 1")
    return _native.id_pairs(_arrays.index_pairs(pairs, "pairs"), _arrays.plain(names, np.uint64))


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """Created and lost pairs since the last step. It unpacks into `created` and `lost`.

    Attributes
    ----------
    created, lost : (m, 2) arrays of uint32
        The pairs that the last step did not have, and the pairs of the last step that ended, by their indices in that step.
        Ascending.
    pairs : (m, 2) array of uint32, or None
        All pairs of this step, ascending; None if only changes were requested, as the next two.
    before : (m,) array of int64, or None
        The index of each pair in `pairs` of the last step, or -1. A solver uses it to find cached data.
    persisting : (m, 2) array of uint32, or None
        The pairs of both steps with at least one box that is awake and not fixed.
    report : StepReport
        Counts.
    """

    created: NDArray[np.uint32]
    lost: NDArray[np.uint32]
    pairs: NDArray[np.uint32] | None
    before: NDArray[np.int64] | None
    persisting: NDArray[np.uint32] | None
    report: StepReport

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return iter((self.created, self.lost))

    def __repr__(self) -> str:
        return f"Events({len(self.created)} created, {len(self.lost)} lost, {self.report.pair_count} pairs)"


class PairStream:
    """A list of pairs that comes in pieces: an iterator of ``(m, 2)`` arrays of uint32.

    The engine works ahead by one piece. It takes no other call until the stream is exhausted or closed; a ``with`` statement
    closes it.

    Attributes
    ----------
    pair_count : int or None
        The count of all pairs, after the first piece. If ``report.passes`` is above 1, the count of pairs so far.
    report : Report or None
        Counts, after the first piece.
    """

    def __init__(self, pieces: Iterator[NDArray[np.uint32]], report: Callable[[], Report | None]) -> None:
        self._pieces: Iterator[NDArray[np.uint32]] | None = pieces
        self._report = report

    def __iter__(self) -> PairStream:
        return self

    def __next__(self) -> NDArray[np.uint32]:
        if self._pieces is None:
            raise StopIteration
        return next(self._pieces)

    @property
    def report(self) -> Report | None:
        return self._report()

    @property
    def pair_count(self) -> int | None:
        report = self.report
        return None if report is None else report.pair_count

    def close(self) -> None:
        """End the stream."""
        pieces, self._pieces = self._pieces, None
        if pieces is not None and hasattr(pieces, "close"):
            pieces.close()

    def __enter__(self) -> PairStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BroadPhase:
    """An engine that finds pairs, and reuses its memory and compiled kernels between calls.

    Parameters
    ----------
    device : str
        ``"auto"``: a GPU, or the CPU if there is none. ``"cpu"``. ``"gpu"``: also a software driver. Or part of the name of an
        adapter (see `adapters`). ``repr(engine)`` names the device, and the reason.
    filters : Filters, optional
        Select the pairs that are reported.
    order : {"canonical", "sweep"}
        ``"canonical"``: ascending, the same bytes on every device. ``"sweep"``: in the order of the search, which is faster.
    axis : {"auto", "principal", "x", "y", "z"}
        The direction along which the boxes are swept.
    cell_size : "auto", "usscd" or float
        The edge of a cell of the grid across that direction, in the units of the boxes.
    all_pairs_up_to : int, optional
        Up to this many boxes, every box is tested against every other. By default 12,288 on
        a discrete GPU, 4,096 on an integrated or virtual one, 2,560 on any other adapter and 1,024 on the CPU.
    memory_budget : int, optional
        The most GPU memory to use, in bytes.
    candidate_limit : int, optional
        The most box pairs that a call may test; more raise `CandidateLimitError`.
    threads : int, optional
        Threads of the CPU engine, from 1 to 1,024; by default the number in ``RAYON_NUM_THREADS``, or of the machine.
    origin : None, "auto", or 2 or 3 numbers
        The point to subtract from the boxes of all calls, in double precision before they are rounded to single precision.
        ``"auto"`` is the centre of the bounds of the first boxes that the engine gets. It is subtracted from spheres of
        filters too. With an origin, filters with `half_space` or `owner` are refused, since it is not subtracted from
        them.

    Raises
    ------
    ValueError
        For an option that has no meaning.
    GpuError
        Where there is no such GPU.

    Notes
    -----
    Only `origin` changes the set of pairs. The first boxes fix the dimension of the engine, and with ``"auto"`` the origin.
    Boxes of another dimension raise ValueError.

    Calls release the interpreter's lock. Ctrl-C ends a call at once; the computation finishes in the background, and the next
    call waits for it. Up to 32,768 boxes, float32 in C order, are not copied, and Ctrl-C takes effect when the call ends.

    Several threads may use an engine, one call at a time. After a fork, an engine on the CPU can be used unless a call was
    running; one on a GPU raises `GpuError`.

    Examples
    --------
    >>> import numpy as np, broadsweep as bs
    >>> engine = bs.BroadPhase(device="cpu", threads=2)
    >>> engine
    BroadPhase(device='cpu', threads=2, order='canonical')
    >>> engine.find_pairs(np.zeros((3, 6), np.float32))
    array([[0, 1],
           [0, 2],
           [1, 2]], dtype=uint32)
    >>> engine.report.candidate_count
    3
    """

    def __init__(
        self,
        device: str = "auto",
        *,
        filters: Filters | None = None,
        order: Literal["canonical", "sweep"] = "canonical",
        axis: Literal["auto", "principal", "x", "y", "z"] = "auto",
        cell_size: Literal["auto", "usscd"] | float = "auto",
        all_pairs_up_to: int | None = None,
        memory_budget: int | None = None,
        candidate_limit: int | None = None,
        threads: int | None = None,
        origin: Origin = None,
    ) -> None:
        def whole(value: int | None, name: str, least: int, most: int) -> int | None:
            return None if value is None else _arrays.number(value, name, least, most)

        if not isinstance(cell_size, (str, int, float, np.number)):
            raise TypeError(f'cell_size must be "auto", "usscd" or a number, not {type(cell_size).__name__}')
        self._engine = _native.Engine(
            _arrays.text(device, "device"),
            _arrays.text(axis, "axis"),
            cell_size,
            _arrays.text(order, "order"),
            whole(all_pairs_up_to, "all_pairs_up_to", 0, (1 << 32) - 1),
            whole(memory_budget, "memory_budget", 0, (1 << 64) - 1),
            whole(candidate_limit, "candidate_limit", 0, (1 << 64) - 1),
            whole(threads, "threads", 1, MOST_THREADS),
        )
        self._space = Space(origin, threads)
        self._filters = Applied(self._engine, self._space)
        self._order = order
        self._report: Report | None = None
        if filters is not None:
            self.set_filters(filters)

    def __repr__(self) -> str:
        return f"BroadPhase({described(self._engine)}, order={self._order!r})"

    @property
    def device(self) -> str:
        """``"cpu"``, or the name of the adapter."""
        return "cpu" if self._engine.adapter is None else self._engine.adapter[0]

    @property
    def origin(self) -> tuple[float, ...] | None:
        """The point that is subtracted from boxes; None without one, and before the first boxes."""
        return self._space.origin

    @property
    def report(self) -> Report | None:
        """Counts and choices of the last `find_pairs` or `find_pairs_between`."""
        return self._report

    def find_pairs(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike]) -> NDArray[np.uint32]:
        """Find every pair of boxes that overlap and that the filters keep, each once.

        Parameters
        ----------
        boxes : array of boxes
            As for `broadsweep.find_pairs`.

        Returns
        -------
        (m, 2) array of uint32
            Indices of the boxes, the smaller one first.

        Raises
        ------
        TypeError, ValueError, MemoryError, CandidateLimitError, GpuError
            As `broadsweep.find_pairs`. After an error, the engine can be used as before.
        """
        pairs, self._report = self._engine.find_pairs(self._boxes(boxes))
        return pairs

    def _boxes(self, boxes: Any) -> NDArray[np.float32]:
        array = self._space.boxes(boxes)
        self._filters.fit(len(array))
        return array

    def find_pairs_between(
        self, first: ArrayLike | tuple[ArrayLike, ArrayLike], second: ArrayLike | tuple[ArrayLike, ArrayLike]
    ) -> NDArray[np.uint32]:
        """Find every pair of a box of one set and a box of another that overlap, each once.

        Parameters
        ----------
        first, second : arrays of boxes
            As for `broadsweep.find_pairs`. Filters by box hold for both, one after the other.

        Returns
        -------
        (m, 2) array of uint32
            An index in `first` and an index in `second`.

        Raises
        ------
        TypeError, ValueError, MemoryError, CandidateLimitError, GpuError
            As `broadsweep.find_pairs`.
        """
        boxes = self._space.boxes(first, "first"), self._space.boxes(second, "second")
        self._filters.fit(len(boxes[0]) + len(boxes[1]))
        pairs, self._report = self._engine.find_pairs_between(*boxes)
        return pairs

    def events(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike], **options: Any) -> Events:
        """Find the pairs that began and ended since the last step: `step` with ``changes_only=True``.

        Examples
        --------
        >>> import numpy as np, broadsweep as bs
        >>> boxes = np.array([[0, 0, 0, 1, 1, 1], [0.5, 0, 0, 1.5, 1, 1]], np.float32)
        >>> engine = bs.BroadPhase("cpu")
        >>> created, lost = engine.events(boxes)
        >>> created
        array([[0, 1]], dtype=uint32)
        >>> created, lost = engine.events(boxes + np.array([[0], [5]], np.float32))
        >>> lost
        array([[0, 1]], dtype=uint32)
        """
        return self.step(boxes, changes_only=True, **options)

    def step(
        self,
        boxes: ArrayLike | tuple[ArrayLike, ArrayLike],
        *,
        generations: ArrayLike | None = None,
        was: ArrayLike | None = None,
        moved: ArrayLike | None = None,
        changes_only: bool = False,
    ) -> Events:
        """Find the pairs of a step, and compare them with the last step. On the CPU, cost grows with the count of moved boxes.

        Parameters
        ----------
        boxes : array of boxes
            As for `broadsweep.find_pairs`. The count may differ from the last step.
        generations : (n,) integers, optional
            A number for each box: where it is another than in the last step, the box is a new one in the place of one that is
            gone.
        was : (n,) integers, optional
            The index of each box in the last step, no two the same, or -1 for a new box.
        moved : (k,) integers, optional
            A hint for the CPU: all boxes that may have moved. If it omits a moved box, the events of that box are wrong.
        changes_only : bool
            True to compute only `created` and `lost`.

        Returns
        -------
        Events

        Raises
        ------
        TypeError, ValueError, MemoryError, CandidateLimitError, GpuError
            As `broadsweep.find_pairs`. The step after an error is compared with the last good one. After Ctrl-C, the next
            step finds all its pairs created.
        """
        if generations is not None and was is not None:
            raise ValueError("generations and was exclude each other")
        lists = (
            None if generations is None else _arrays.words(generations, "generations"),
            None if was is None else _arrays.words(was, "was", none=True),
            None if moved is None else _arrays.words(moved, "moved"),
        )
        return self._step(self._boxes(boxes), lists, changes_only)

    def _step(self, boxes: NDArray[np.float32], lists: tuple[_Numbers, _Numbers, _Numbers], changes_only: bool) -> Events:
        created, lost, whole, report = self._engine.find_events(boxes, *lists, changes_only)
        if whole is None:
            return Events(created, lost, None, None, None, report)
        pairs, before, persisting = whole
        return Events(created, lost, pairs, before, persisting, report)

    def forget_steps(self) -> None:
        """Forget all steps: in the next one, every pair is created."""
        self._engine.forget_steps()

    def stream(self, boxes: ArrayLike | tuple[ArrayLike, ArrayLike], *, piece: int = 1 << 20) -> PairStream:
        """Find pairs and return them in pieces, for lists that are longer than memory.

        Parameters
        ----------
        boxes : array of boxes
            As for `broadsweep.find_pairs`.
        piece : int
            The most pairs of a piece on the CPU, which holds the whole list. On a GPU, pieces are as long as its list.

        Returns
        -------
        PairStream
            An iterator of (m, 2) arrays, at least one. In canonical order, they are ascending one after the other on the CPU;
            on a GPU pieces follow each other as they are found, unless there is only one.

        Examples
        --------
        >>> import numpy as np, broadsweep as bs
        >>> with bs.BroadPhase("cpu").stream(np.zeros((100, 6))) as stream:
        ...     sum(len(piece) for piece in stream), stream.pair_count
        (4950, 4950)
        """
        piece = _arrays.number(piece, "piece", 1, (1 << 63) - 1)
        array = self._boxes(boxes)
        if self._engine.adapter is not None:
            pieces = self._engine.stream(array)
            return PairStream(pieces, lambda: pieces.report)
        pairs, self._report = self._engine.find_pairs(array)
        report = self._report
        return PairStream((pairs[at : at + piece] for at in range(0, max(len(pairs), 1), piece)), lambda: report)

    def set_filters(self, filters: Filters | None) -> None:
        """Set the filters, from the next call on.

        Raises
        ------
        TypeError, ValueError
            For a value that has no meaning; the filters are then unchanged.
        """
        self._space.check_filters(lists_of(filters))
        self._filters.set(filters)

    def change_filters(self, name: str, values: ArrayLike, *, first: int = 0) -> None:
        """Change values of one list of the filters, from box `first` on. Other lists stay.

        Parameters
        ----------
        name : str
            ``"group"``, ``"mask"``, ``"body"``, ``"parent"``, ``"fixed"``, ``"sleeping"``, ``"second"``, ``"world"``,
            ``"margin"`` or ``"sphere"``.
        values : (k,) array
            The new values.
        first : int
            The first box whose value changes.
        """
        self._filters.change(name, values, first)

    def _update_filters(self, lists: dict[str, Any], count: int) -> None:
        self._filters.update(lists, count)

    def memory_plan(self, box_count: int) -> dict[str, int]:
        """Return the GPU memory of each buffer for this many boxes, in bytes; empty for the CPU engine."""
        return dict(self._engine.memory_plan(_arrays.number(box_count, "box_count", 0, (1 << 63) - 1)))

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the engine caches: GPU memory, or host memory of the CPU engine."""
        return self._engine.memory_bytes()

    def compile(self, box_count: int, progress: Callable[[int, int], object] | None = None) -> None:
        """Compile the kernels of a call with this many boxes ahead of it. The CPU engine compiles nothing.

        Parameters
        ----------
        box_count : int
            The number of boxes.
        progress : callable, optional
            Called repeatedly with the count of compiled kernels and the count of all.
        """
        self._engine.compile(_arrays.number(box_count, "box_count", 0, (1 << 63) - 1), progress)


def described(engine: Any) -> str:
    """Describe where an engine runs."""
    if engine.adapter is not None:
        name, kind = engine.adapter
        return f"device={name!r}, {kind}"
    reason = f" ({engine.reason})" if engine.reason else ""
    return f"device='cpu'{reason}, threads={engine.thread_count}"
