"""Boxes that come and go, with handles."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays
from ._filters import _BY_BOX, GLOBAL, NO_BODY, NO_PARENT
from ._pairs import BroadPhase
from ._queries import Tree
from ._space import Space

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._pairs import Events
    from ._space import Origin

_OWN_BODIES = 1 << 31
_FEWEST = 64
_MOST = 1 << 25
_DEFAULTS: dict[str, Any] = {
    "group": np.uint32(0xFFFFFFFF),
    "mask": np.uint32(0xFFFFFFFF),
    "body": np.uint32(NO_BODY),
    "parent": np.uint32(NO_PARENT),
    "fixed": np.bool_(False),
    "sleeping": np.bool_(False),
    "second": np.bool_(False),
    "world": np.uint32(0),
    "margin": np.float32(0),
    "sphere": np.array([0, 0, 0, np.inf], np.float32),
}
# Values that may be None, which stands in lists as 2**32 - 1.
_OPTIONAL = {"body": NO_BODY, "parent": NO_PARENT, "world": GLOBAL}


@dataclass(frozen=True, order=True)
class Handle:
    """Identifies a box of `Slots` until it is removed. A handle never identifies another box.

    Attributes
    ----------
    index : int
        The slot of the box: its row in `Slots.boxes`, and its index in pairs.
    generation : int
        The generation of the slot of this box.
    """

    index: int
    generation: int


class Slots:
    """Manage boxes that come and go. A box keeps its slot, a row of `boxes`, until it is removed. A free slot has a NaN box.

    Free slots are reused, the lowest first. If none is free, the capacity doubles. With a stale handle, of a box that was
    removed, methods return None or raise KeyError. Reports count free slots as invalid boxes.

    Parameters
    ----------
    capacity : int
        The initial count of slots.
    dimension : {3, 2}
        The dimension of all boxes.
    origin : None, "auto", or 2 or 3 numbers
        The point to subtract from boxes in double precision before they are rounded outward, for boxes far from the origin.
        ``"auto"`` is the centre of the first box. `boxes`, `get` and `remove` return boxes relative to the origin. Engines and
        trees of these boxes must have no origin.

    Notes
    -----
    Keywords of `insert` and `set_filter` are the values of one box in the lists of `Filters`: `group`, `mask`, `body`,
    `parent`, `fixed`, `sleeping`, `second`, `world`, `margin`, `sphere`. Without them, a box pairs with all others. Bodies and
    parents have numbers below 2**31. None means a body of its own, no parent, all worlds, or no sphere. A sphere is its centre
    and its radius, 4 numbers, in 2D 3; `filter` returns it relative to the origin, rounded outward. Set other filters (`rule`,
    `exclude`, `include`, half-spaces) in the engine, by slot, and update them yourself when a box is removed.

    Examples
    --------
    >>> import broadsweep as bs
    >>> engine, slots = bs.BroadPhase("cpu"), bs.Slots()
    >>> wall = slots.insert([0, 0, 0, 1, 1, 1], fixed=True)
    >>> old = slots.insert([0.5, 0, 0, 1.5, 1, 1])
    >>> slots.find_events(engine).created
    array([[0, 1]], dtype=uint32)
    >>> slots.remove(old).tolist()
    [0.5, 0.0, 0.0, 1.5, 1.0, 1.0]
    >>> new = slots.insert([0.25, 0, 0, 1.25, 1, 1], margin=0.1)    # in the same slot
    >>> old in slots, new in slots
    (False, True)
    >>> created, lost = slots.find_events(engine)
    >>> slots.last_handle_of(lost[0, 1]) == old, slots.handle_of(created[0, 1]) == new
    (True, True)
    """

    def __init__(self, capacity: int = 0, *, dimension: int = 3, origin: Origin = None) -> None:
        self._dimension = _arrays.number(dimension, "dimension", 2, 3)
        self._space = Space(origin)
        if self.origin is not None and len(self.origin) != self._dimension:
            raise ValueError(f"origin has {len(self.origin)} numbers, and dimension is {self._dimension}")
        self._boxes = np.empty((0, 2 * self._dimension), np.float32)
        self._generations = np.empty(0, np.uint32)
        self._lists: dict[str, NDArray[Any]] = {}
        self._defaults = _DEFAULTS | {"sphere": _DEFAULTS["sphere"][-1 - self._dimension :]}
        self._free: list[int] = []
        self._fresh = self._len = 0
        self._marked = (self._generations, self._generations)
        self._lengthen(_arrays.number(capacity, "capacity", 0, _MOST))

    def __repr__(self) -> str:
        return f"Slots({len(self)} boxes, {len(self._boxes)} slots)"

    def __len__(self) -> int:
        return self._len

    def __copy__(self) -> Slots:
        """Return slots that share nothing with these."""
        return copy.deepcopy(self)

    def __contains__(self, handle: object) -> bool:
        return isinstance(handle, Handle) and self.handle_of(handle.index) == handle

    def __iter__(self) -> Iterator[Handle]:
        """List the handles of all boxes, ascending by slot."""
        live = np.flatnonzero(self._generations % 2)
        return map(Handle, live.tolist(), self._generations[live].tolist())

    @property
    def origin(self) -> tuple[float, ...] | None:
        """The point that is subtracted from boxes; None without one, and before the first box."""
        return self._space.origin

    @property
    def boxes(self) -> NDArray[np.float32]:
        """``(n, 6)``, in 2D ``(n, 4)``: the box of each slot, relative to `origin` if there is one.

        A writable view; write only to slots that have a box. Read the property again after `insert`, which may replace the
        array. Assigned doubles are rounded to nearest; `insert` and `set` round outward.
        """
        return self._boxes

    @property
    def generations(self) -> NDArray[np.uint32]:
        """``(n,)``: the generation of each slot, read-only; odd if it has a box."""
        view = self._generations.view()
        view.flags.writeable = False
        return view

    def insert(self, box: ArrayLike | tuple[ArrayLike, ArrayLike], **filter: Any) -> Handle:
        """Insert a box, 6 numbers, in 2D 4, or a tuple (lower, upper), with its filter values, and return its handle.

        Raises
        ------
        TypeError, ValueError
            For a box or a filter value of another type or shape. The slots are then unchanged.
        MemoryError
            Beyond 2**25 slots.
        """
        values, row = self._values(filter), self._row(box)
        # After the box, which may fix the origin.
        values |= self._sphere(filter)
        index = self._free[0] if self._free else self._fresh
        if index == len(self._boxes):
            if index == _MOST:
                raise MemoryError(f"all {_MOST} slots are in use")
            self._lengthen(min(max(2 * index, _FEWEST), _MOST))
        if self._free:
            heapq.heappop(self._free)
        else:
            self._fresh += 1
        self._len += 1
        self._boxes[index] = row
        self._generations[index] += np.uint32(1)
        self._put(index, values)
        return Handle(index, int(self._generations[index]))

    def remove(self, handle: Handle) -> NDArray[np.float32] | None:
        """Remove a box and return it, or None if the handle is stale."""
        if handle not in self:
            return None
        row: NDArray[np.float32] = self._boxes[handle.index].copy()
        self._boxes[handle.index] = np.nan
        self._len -= 1
        if self._generations[handle.index] == 0xFFFFFFFF:
            # The slot is not used again, so that no handle returns.
            self._generations[handle.index] = 0
        else:
            self._generations[handle.index] += np.uint32(1)
            heapq.heappush(self._free, handle.index)
        return row

    def get(self, handle: Handle) -> NDArray[np.float32] | None:
        """Return a view of a box, or None if the handle is stale."""
        if handle not in self:
            return None
        box: NDArray[np.float32] = self._boxes[handle.index]
        return box

    def set(self, handle: Handle, box: ArrayLike | tuple[ArrayLike, ArrayLike]) -> None:
        """Set the bounds of a box. A stale handle raises KeyError."""
        self._check(handle)
        self._boxes[handle.index] = self._row(box)

    def filter(self, handle: Handle) -> dict[str, Any] | None:
        """Return the filter values of a box, or None if the handle is stale."""
        if handle not in self:
            return None
        found = {name: default.tolist() for name, default in self._defaults.items()}
        found |= {name: values[handle.index].tolist() for name, values in self._lists.items()}
        if found["body"] >= _OWN_BODIES:
            found["body"] = NO_BODY
        if found["sphere"][-1] == np.inf:
            found["sphere"] = None
        return found | {name: None for name, none in _OPTIONAL.items() if found[name] == none}

    def set_filter(self, handle: Handle, **filter: Any) -> None:
        """Set all filter values of a box; absent ones get their defaults. A stale handle raises KeyError."""
        self._check(handle)
        self._put(handle.index, self._values(filter) | self._sphere(filter))

    def handle_of(self, index: int) -> Handle | None:
        """Return the handle of the box in a slot, for instance of a `created` pair; None if the slot is free."""
        return _handle_of(self._generations, index)

    def last_handle_of(self, index: int) -> Handle | None:
        """Return the handle of the box that a slot had in the step before the last one, for `lost` pairs."""
        return _handle_of(self._marked[0], index)

    def update_filters(self, target: BroadPhase | Tree) -> None:
        """Copy the per-box filters of the slots to an engine or a tree.

        Cost grows with the lists in use. Other filters of the target stay. After a change of `world` or `margin`, and after
        slots were added, build a tree again. If both these slots and the target have an origin, it would be subtracted twice:
        ValueError.
        """
        if not isinstance(target, (BroadPhase, Tree)):
            raise TypeError(f"target must be a BroadPhase or a Tree, not {type(target).__name__}")
        if self._space.is_moved and target._space.is_moved:
            raise ValueError("slots and target both have an origin, which would be subtracted twice: give it to the slots only")
        target._update_filters(self._lists, len(self._boxes))

    def find_events(self, engine: BroadPhase, *, changes_only: bool = False) -> Events:
        """Update the filters of an engine, and find its events since the last step, as `BroadPhase.step`."""
        # No warning where no slot has a box. Before the filters, since boxes may fix an origin.
        boxes = engine._space.rounded(self._boxes, "boxes")
        self.update_filters(engine)
        events = engine._step(boxes, (self._generations, None, None), changes_only)
        self.mark_step()
        return events

    def mark_step(self) -> None:
        """Record the present boxes as a step. Call it after `BroadPhase.step` with `boxes` and `generations`."""
        self._marked = (self._marked[1], self._generations.copy())

    def _check(self, handle: Handle) -> None:
        if handle not in self:
            raise KeyError(f"{handle} is stale: its box was removed")

    def _row(self, box: Any) -> NDArray[np.float32]:
        d, is_pair = self._dimension, isinstance(box, tuple) and len(box) == 2
        names = ("box[0]", "box[1]") if is_pair else ("box",)
        numbers = [_arrays.floats(part, name) for part, name in zip(box if is_pair else (box,), names)]
        shapes = [array.shape for array in numbers]
        if shapes not in ([(2 * d,)], [(2, d)], [(d,), (d,)]):
            raise ValueError(
                f"box must have the shape ({2 * d},) or (2, {d}) in {d}D, or be a tuple (lower, upper), both ({d},); "
                f"not {' and '.join(map(str, shapes))}"
            )
        whole = np.concatenate([array.reshape(-1) for array in numbers])
        row: NDArray[np.float32] = self._space.boxes(whole[None], "box")
        return row.reshape(2, 3)[:, :d].ravel()

    def _first_values(self, name: str, first: int, end: int) -> NDArray[Any]:
        """Return the values of slots without a box. Each is a body of its own."""
        if name == "body":
            return np.arange(_OWN_BODIES + first, _OWN_BODIES + end, dtype=np.uint32)
        default = self._defaults[name]
        return np.full((end - first, *default.shape), default)

    def _values(self, given: dict[str, Any]) -> dict[str, Any]:
        """Check the filter values of a box, except for its sphere, and add the defaults."""
        values = dict(self._defaults)
        for name, value in given.items():
            if name not in values:
                raise TypeError(f"unexpected keyword {name!r}; a box takes {', '.join(values)}")
            if name == "sphere":
                continue
            values[name] = np.uint32(_OPTIONAL[name]) if value is None and name in _OPTIONAL else _BY_BOX[name]([value])[0]
        if not 0 <= values["margin"] < np.inf:
            raise ValueError(f"margin is {values['margin']}; it must be finite and not negative")
        for name in ("body", "parent"):
            if _OWN_BODIES <= values[name] != NO_BODY:
                raise ValueError(f"{name} is {values[name]}; bodies of `Slots` have numbers below {_OWN_BODIES}, or None")
        return values

    def _sphere(self, filter: dict[str, Any]) -> dict[str, Any]:
        """Return the sphere of these filter values, less the origin and rounded outward; nothing where there is none."""
        sphere = filter.get("sphere")
        if sphere is None:
            return {}
        numbers, d = _arrays.floats(sphere, "sphere"), self._dimension
        if numbers.shape != (d + 1,):
            raise ValueError(f"sphere must have the shape ({d + 1},) in {d}D, centre and radius, not {numbers.shape}")
        row = self._space.spheres(numbers[None], "sphere")[0]
        if not (np.isfinite(row[:3]).all() and row[3] >= 0):
            raise ValueError(
                f"sphere is {numbers.tolist()}; the centre must be finite, and the radius at least zero, or infinity for none"
            )
        return {"sphere": row[[0, 1, 3]] if d == 2 else row}

    def _lengthen(self, capacity: int) -> None:
        more = capacity - len(self._boxes)
        self._boxes = np.vstack([self._boxes, np.full((more, self._boxes.shape[1]), np.nan, np.float32)])
        self._generations = np.append(self._generations, np.zeros(more, np.uint32))
        for name, values in self._lists.items():
            self._lists[name] = np.concatenate([values, self._first_values(name, len(values), capacity)])

    def _put(self, index: int, values: dict[str, Any]) -> None:
        # Without a list of bodies, parents would be indices of boxes.
        used = {name for name, value in values.items() if not np.array_equal(value, self._defaults[name])}
        for name in (used | {"body"} if "parent" in used else used) - self._lists.keys():
            self._lists[name] = self._first_values(name, 0, len(self._boxes))
        for name, column in self._lists.items():
            is_own = name == "body" and values[name] == NO_BODY
            column[index] = _OWN_BODIES + index if is_own else values[name]


def _handle_of(generations: NDArray[np.uint32], index: int) -> Handle | None:
    if not 0 <= index < len(generations) or generations[index] % 2 == 0:
        return None
    return Handle(int(index), int(generations[index]))
