"""Which pairs are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _arrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

GLOBAL = 0xFFFFFFFF
"""The world of a box that meets the boxes of all worlds; -1 in a list of signed integers."""
NO_PARENT = 0xFFFFFFFF
"""The parent of a body that has none; -1 in a list of signed integers."""

_BY_BOX: dict[str, Callable[[Any], NDArray[Any]]] = {
    "group": lambda values: _arrays.words(values, "group", bits=True),
    "mask": lambda values: _arrays.words(values, "mask", bits=True),
    "body": lambda values: _arrays.words(values, "body"),
    "parent": lambda values: _arrays.words(values, "parent", none=True),
    "fixed": lambda values: _arrays.flags(values, "fixed"),
    "sleeping": lambda values: _arrays.flags(values, "sleeping"),
    "second": lambda values: _arrays.flags(values, "second"),
    "world": lambda values: _arrays.words(values, "world", none=True),
    "margin": lambda values: _margin(values),
}


def _margin(values: Any) -> NDArray[np.float32]:
    """Return margins in single precision, rounded up, so that none gets smaller."""
    array = _arrays.floats(values, "margin")
    if array.ndim != 1:
        raise ValueError(f"margin must have one dimension, not the shape {array.shape}")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
        return _arrays.plain(np.where(single < array, np.nextafter(single, np.float32(np.inf)), single))


def _region(owner: Any) -> NDArray[np.float32]:
    """Return a region as ``(1, 6)``. What single precision does not hold is refused: a rounded face would be another."""
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
    """Say which of the pairs of boxes that overlap are wanted, and what boxes do not tell.

    All of it is optional, and what is not given costs nothing. A list by box has an element for each box of the call. A
    pair is reported if every filter keeps it; `include` overrules them all.

    Parameters
    ----------
    group, mask : (n,) integers, optional
        Bits: the groups that each box is in, and those that it meets. Negative numbers stand for their 32 bits.
    rule : {"any", "both"}
        ``"any"`` keeps a pair where ``group[a] & mask[b]`` or ``group[b] & mask[a]`` (MuJoCo, ODE); ``"both"`` where both
        (Bullet, rapier).
    body : (n,) integers, optional
        The body of each box, at least 0. Boxes of one body never pair. If only `parent` is given, each box is a body of its
        own, with its index as its number.
    parent : (n,) integers, optional
        The parent of each box's body, or -1. A box never pairs with boxes of its body's parent.
    fixed, sleeping : (n,) booleans, optional
        Two fixed boxes never pair, nor do two that sleep.
    second : (n,) booleans, optional
        Whether each box is in the second of two sets. Boxes of one set never pair.
    world : (n,) integers, optional
        The world of each box, or -1 for a box that meets the boxes of all worlds. Boxes of different worlds never pair.
    margin : (n,) floats, optional
        The length by which each box is grown on every side, rounded outward, before anything else.
    exclude, include : (m, 2) integers, optional
        Pairs that are never reported, and pairs that always are.
    half_space_box : (h,) integers, optional
        Boxes that stand for half-spaces; their own bounds are not looked at.
    half_space : (h, 4) floats, optional
        Normal and offset of each: the points ``normal · x <= offset``. A floor at z = 0 is ``[0, 0, 1, 0]``.
    owner : (6,) floats or a tuple (lower, upper), optional
        A region: only pairs are reported whose intersection has its lower corner in it, upper faces excluded unless they are
        at infinity. Where such regions tile space, each pair is reported for one of them, and needs only the boxes that
        touch it: what `broadsweep.dask` does.

    Raises
    ------
    TypeError, ValueError
        For a list of another type or shape. What does not fit the boxes is said by the call that has boxes.

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
        }
        lists: dict[str, Any] = {name: _BY_BOX[name](values) for name, values in by_box.items() if values is not None}
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
        if "group" in lists or "mask" in lists:
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


def changed(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return new values of the list with this name."""
    if name not in _BY_BOX:
        raise ValueError(f"{name!r} is no list by box; there are {', '.join(_BY_BOX)}")
    return _BY_BOX[name](values)
