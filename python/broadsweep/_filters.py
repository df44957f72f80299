"""Filters of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _arrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._space import Space

GLOBAL = 0xFFFFFFFF
"""The world of a box that meets the boxes of all worlds; -1 in a list of signed integers."""
NO_BODY = 0xFFFFFFFF
"""The body of a box or a query that has none; -1 in a list of signed integers."""
NO_PARENT = 0xFFFFFFFF
"""The parent of a body that has none; -1 in a list of signed integers."""

_BY_BOX: dict[str, Callable[[Any], NDArray[Any]]] = {
    "group": lambda values: _arrays.words(values, "group", bits=True),
    "mask": lambda values: _arrays.words(values, "mask", bits=True),
    "body": lambda values: _arrays.words(values, "body", none=True),
    "parent": lambda values: _arrays.words(values, "parent", none=True),
    "fixed": lambda values: _arrays.flags(values, "fixed"),
    "sleeping": lambda values: _arrays.flags(values, "sleeping"),
    "second": lambda values: _arrays.flags(values, "second"),
    "world": lambda values: _arrays.words(values, "world", none=True),
    "margin": lambda values: _margin(values),
    "sphere": lambda values: _arrays.spheres(values, "sphere"),
}


def _list_or_value(name: str, values: Any) -> NDArray[Any]:
    """Return a list by box, or a single value without a dimension, which stands for all boxes."""
    array = _arrays.as_array(values, name)
    is_single = array.ndim == 0 and name != "sphere"
    return _BY_BOX[name](array.reshape(1)).reshape(()) if is_single else _BY_BOX[name](values)


def _with_own_bodies(body: NDArray[np.uint32], parent: NDArray[np.uint32] | None) -> NDArray[np.uint32]:
    """Give each box without a body a body number of its own: the largest unused numbers."""
    without = body == NO_BODY
    count = int(without.sum())
    if count == 0 or body.ndim == 0:
        return body
    used = np.unique(body if parent is None else np.append(body, parent))
    largest = np.arange(NO_BODY - count - len(used), NO_BODY, dtype=np.int64)
    body = body.copy()
    body[without] = np.setdiff1d(largest, used)[-count:]
    return body


def _margin(values: Any) -> NDArray[np.float32]:
    """Return margins in single precision, rounded up, so that none gets smaller."""
    array = _arrays.floats(values, "margin")
    if array.ndim != 1:
        raise ValueError(f"margin must have one dimension, not the shape {array.shape}")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
        return _arrays.plain(np.where(single < array, np.nextafter(single, np.float32(np.inf)), single))


def _region(owner: Any) -> NDArray[np.float32]:
    """Return a region as ``(1, 6)``. Numbers that float32 does not represent are refused, since tiles share faces exactly."""
    numbers = (
        np.concatenate([_arrays.floats(part, "owner").reshape(-1) for part in owner]) if isinstance(owner, tuple) else owner
    )
    numbers = _arrays.floats(numbers, "owner").reshape(-1)
    if numbers.shape != (6,):
        raise ValueError(f"owner must have 6 numbers, not {numbers.size}")
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    if not np.array_equal(single, numbers, equal_nan=True):
        raise ValueError("owner has numbers that float32 does not hold; tiles must share faces exactly, so round them first")
    return _arrays.plain(single.reshape(1, 6))


class Filters:
    """Select the pairs that are reported.

    All filters are optional, and an absent one costs nothing. A list by box has an element for each box of the call; a
    single value applies to all boxes, except for `sphere`. A pair is reported if every filter keeps it; `include` overrules
    them all.

    Parameters
    ----------
    group, mask : (n,) integers or one, optional
        Bits: the groups of each box, and the groups that it meets. Negative numbers are read as 32 bits.
    rule : {"any", "both"}
        ``"any"`` keeps a pair where ``group[a] & mask[b]`` or ``group[b] & mask[a]`` (MuJoCo, ODE); ``"both"`` where both
        (Bullet, rapier).
    body : (n,) integers or one, optional
        The body of each box, or -1 for a box that has none. Boxes of one body never pair. If only `parent` is given, a box is
        a body of its own, with its index as its number.
    parent : (n,) integers or one, optional
        The parent of each box's body, or -1. A box never pairs with boxes of its body's parent.
    fixed, sleeping : (n,) booleans or one, optional
        Two fixed boxes never pair, nor do two that sleep.
    second : (n,) booleans, optional
        True for boxes of the second of two sets. Boxes of one set never pair.
    world : (n,) integers or one, optional
        The world of each box, or -1 for a box that meets the boxes of all worlds. Boxes of different worlds never pair.
    margin : (n,) floats or one, optional
        The length by which each box is padded on every side, rounded outward, before the search. It pads spheres too.
    sphere : (n, 4) floats, in 2D (n, 3), optional
        The centre and the radius of a sphere for each box. An infinite radius is no sphere; its centre must be finite too. A
        pair is kept only if the boxes overlap and the spheres touch, decided exactly. A
        half-space pairs with the boxes whose sphere it touches. Doubles are rounded outward: the centre to
        the nearest float32, and the radius up, increased by the shift of the centre. The `origin` of the call, if any, is
        subtracted first.
    exclude, include : (m, 2) integers, optional
        Pairs that are never reported, and pairs that always are.
    half_space_box : (h,) integers, optional
        Boxes that represent half-spaces; their bounds are ignored.
    half_space : (h, 4) floats, optional
        Normal and offset of each: the points ``normal · x <= offset``. A floor at z = 0 is ``[0, 0, 1, 0]``.
    owner : (6,) floats or a tuple (lower, upper), optional
        A region. Only pairs whose intersection has its lower corner in it are reported; upper faces are excluded unless they
        are infinite. If such regions tile space, and each is searched with the boxes that touch it, each pair is reported
        once. `broadsweep.dask` does this.

    Raises
    ------
    TypeError, ValueError
        For a list of another type or shape. A list of another length than the boxes is an error of the next call with boxes.

    Notes
    -----
    Single values become lists in the next call with boxes. Threads that share an engine, with different box counts, must pass
    lists: with single values, one of the calls may raise an error.

    Examples
    --------
    >>> import numpy as np, broadsweep as bs
    >>> boxes = np.tile(np.array([0, 0, 0, 1, 1, 1], np.float32), (4, 1))
    >>> bs.find_pairs(boxes, filters=bs.Filters(world=[0, 0, 1, -1]))
    array([[0, 1],
           [0, 3],
           [1, 3],
           [2, 3]], dtype=uint32)
    """

    __slots__ = ("_lists",)

    def __init__(
        self,
        *,
        group: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        rule: Literal["any", "both"] = "any",
        body: ArrayLike | None = None,
        parent: ArrayLike | None = None,
        fixed: ArrayLike | None = None,
        sleeping: ArrayLike | None = None,
        second: ArrayLike | None = None,
        world: ArrayLike | None = None,
        margin: ArrayLike | None = None,
        sphere: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        include: ArrayLike | None = None,
        half_space_box: ArrayLike | None = None,
        half_space: ArrayLike | None = None,
        owner: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        if rule not in ("any", "both"):
            raise ValueError(f'rule is {rule!r}; it must be "any" or "both"')
        by_box = {
            "group": group,
            "mask": mask,
            "body": body,
            "parent": parent,
            "fixed": fixed,
            "sleeping": sleeping,
            "second": second,
            "world": world,
            "margin": margin,
            "sphere": sphere,
        }
        lists: dict[str, Any] = {name: _list_or_value(name, values) for name, values in by_box.items() if values is not None}
        if "body" in lists:
            lists["body"] = _with_own_bodies(lists["body"], lists.get("parent"))
        for name, pairs in (("exclude", exclude), ("include", include)):
            if pairs is not None:
                lists[name] = _arrays.index_pairs(pairs, name)
        if (half_space_box is None) != (half_space is None):
            raise ValueError("half_space_box and half_space belong together")
        if half_space is not None:
            planes = _arrays.plain(_arrays.singles(half_space, "half_space"))
            planes = planes.reshape(0, 4) if planes.size == 0 else planes
            boxes = _arrays.words(half_space_box, "half_space_box")
            if planes.shape != (len(boxes), 4):
                raise ValueError(f"half_space must have the shape ({len(boxes)}, 4), not {planes.shape}")
            lists["half_space_box"], lists["half_space"] = boxes, planes
        if owner is not None:
            lists["owner"] = _region(owner)
        if rule != "any" or "group" in lists or "mask" in lists:
            lists["rule"] = rule
        # Arrays of the caller's may change later.
        self._lists = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in lists.items()}

    def __repr__(self) -> str:
        def described(value: Any) -> str:
            return repr(value) if isinstance(value, str) else f"<{value.dtype} {value.shape}>"

        return f"Filters({', '.join(f'{name}={described(value)}' for name, value in self._lists.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Filters) or self._lists.keys() != other._lists.keys():
            return False
        return all(np.array_equal(value, other._lists[name]) for name, value in self._lists.items())

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return self._lists

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lists = state


def lists_of(filters: Filters | None) -> dict[str, Any]:
    """Return the lists of filters, by name."""
    if filters is None:
        return {}
    if not isinstance(filters, Filters):
        raise TypeError(f"filters must be broadsweep.Filters, not {type(filters).__name__}")
    return filters._lists


class Applied:
    """The filters of an engine or a tree.

    Single values become lists when the number of boxes is known. The origin is subtracted from spheres when the first
    boxes have fixed it.
    """

    def __init__(self, native: Any, space: Space) -> None:
        self._native, self._space = native, space
        self._lists: dict[str, Any] = {}
        self._count: int | None = None
        self._awaits_origin = False

    def set(self, filters: Filters | None, count: int | None = None) -> None:
        """Set all filters, for this many boxes if the count is known."""
        self._set(lists_of(filters), count)

    def _set(self, lists: dict[str, Any], count: int | None) -> None:
        native = {name: value for name, value in lists.items() if not _is_single(value)}
        if count is not None:
            native |= {name: np.full(count, value) for name, value in lists.items() if _is_single(value)}
            if "body" in native:
                native["body"] = _with_own_bodies(native["body"], native.get("parent"))
        awaits_origin = "sphere" in native and self._space.awaits_origin
        if awaits_origin and count is None:
            del native["sphere"]
        self._native.set_filters(self._rounded(native))
        self._lists, self._count, self._awaits_origin = lists, count, awaits_origin

    def _rounded(self, lists: dict[str, Any]) -> dict[str, Any]:
        """Return lists with spheres as the engine has them."""
        if "sphere" not in lists:
            return lists
        return lists | {"sphere": self._space.spheres(lists["sphere"], "filters.sphere")}

    def is_unfit(self, count: int) -> bool:
        """Return whether single values are repeated for another box count, or spheres need an origin that was not known."""
        return self._awaits_origin or count != self._count and any(map(_is_single, self._lists.values()))

    def fit(self, count: int) -> None:
        """Repeat single values for this many boxes, the boxes of the call, and subtract the origin from spheres."""
        if len(self._lists.get("sphere", ())):
            self._space.check_dimension(self._lists["sphere"].shape[1] - 1, "filters.sphere")
        if self.is_unfit(count):
            self._set(self._lists, count)

    def update(self, lists: dict[str, Any], count: int) -> None:
        """Change the lists by box to these, for this many boxes, and nothing else."""
        self._native.update_lists(self._rounded(lists))
        self._awaits_origin = "sphere" in lists and self._space.awaits_origin
        if self._awaits_origin:
            lists = {name: values.copy() for name, values in lists.items()}
        self._lists, self._count = {name: value for name, value in self._lists.items() if name not in _BY_BOX} | lists, count

    def change(self, name: str, values: ArrayLike, first: int) -> None:
        """Change a part of one list."""
        first = _arrays.number(first, "first", 0, (1 << 63) - 1)
        if name not in _BY_BOX:
            raise ValueError(f"{name!r} is no list by box; there are {', '.join(_BY_BOX)}")
        part = _BY_BOX[name](values)
        if name == "body" and (part == NO_BODY).any():
            raise ValueError("body has -1, which is taken by `Filters` alone; give the box a number that is no other body")
        if name == "sphere":
            if self._awaits_origin:
                raise ValueError("sphere can be changed after the first boxes, which fix the origin; until then, set filters")
            width = self._lists[name].shape[1] if len(self._lists.get(name, ())) else part.shape[1]
            if len(part) and part.shape[1] != width:
                raise ValueError(f"sphere has rows of {part.shape[1]} numbers, and those of the filters have {width}")
        self._native.change_filters(name, first, self._rounded({name: part})[name])
        # Another box count repeats single values, and sets all lists again. So store the changed list.
        if len(part) and name in self._lists and any(map(_is_single, self._lists.values())):
            old: Any = self._lists[name]
            # A single value is a list already: otherwise the engine refused the change.
            whole = np.array(np.full(self._count or 0, old) if _is_single(old) else old, np.result_type(old, part))
            whole[first : first + len(part)] = part
            self._lists = {**self._lists, name: whole}


def _is_single(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def of_queries(query_filters: dict[str, Any], count: int, space: Space, are_casts: bool = False) -> dict[str, Any]:
    """Return the filters of this many queries. Only casts take `skips_separating`."""
    names = ("group", "mask", "body", "world", "ignore", "sphere", *(("skips_separating",) if are_casts else ()))
    lists: dict[str, Any] = {}
    for name, values in query_filters.items():
        if name not in names:
            raise TypeError(f"unexpected keyword {name!r}; these queries take {', '.join(names)}")
        if name == "skips_separating":
            lists[name] = _arrays.flag(False if values is None else values, name)
        elif name == "sphere" and values is not None:
            lists[name] = space.spheres(_arrays.spheres(values, name), name)
        elif values is not None:
            array = _arrays.as_array(values, name)
            array = np.full(count, array) if array.ndim == 0 else array
            lists[name] = _BY_BOX[name](array) if name in _BY_BOX else _arrays.words(array, name, none=True)
    return lists
