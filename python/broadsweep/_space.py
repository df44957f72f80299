"""The dimension and the origin of the boxes and queries of an engine or a tree: the place where arrays become boxes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _native

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray

    Origin: TypeAlias = str | ArrayLike | None

INFLATION = 0.01
"""The part of the mean edge by which rounding may lengthen edges, on average, without a warning."""


class Space:
    """The dimension and the origin that the arrays of an engine or a tree share. The first boxes fix both for good.

    Parameters
    ----------
    origin : None, "auto", or 2 or 3 numbers
        The point to subtract from boxes and points, in double precision, before they are rounded to single precision. ``"auto"``
        is the centre of the bounds of the first boxes.
    threads : int, optional
        The threads that round.
    tell : callable, optional
        Called with the text of each warning; if not given, it is a warning of Python.
    """

    def __init__(self, origin: Origin = None, threads: int | None = None, tell: Callable[[str], object] | None = None) -> None:
        self._threads, self._tell = threads, warn if tell is None else tell
        # Set with `setdefault`, so that the first of two threads decides.
        self._fixed: dict[str, Any] = {}
        self.is_moved = origin is not None
        if isinstance(origin, str):
            if origin != "auto":
                raise ValueError(f'origin is {origin!r}; it must be "auto" or 2 or 3 numbers')
        elif origin is not None:
            numbers = _arrays.floats(origin, "origin").astype(np.float64)
            if numbers.shape not in ((2,), (3,)) or not np.isfinite(numbers).all():
                raise ValueError(f'origin must be "auto" or 2 or 3 finite numbers, not {numbers.tolist()}')
            self._fixed["dimension"], self._fixed["origin"] = len(numbers), padded(numbers)

    def check_filters(self, lists: dict[str, Any]) -> None:
        """Refuse filters with coordinates from which the origin is not subtracted."""
        for name in ("half_space", "owner"):
            if self.is_moved and name in lists:
                raise ValueError(f"filters.{name} does not follow `origin`: subtract the origin from boxes and filters before")

    @property
    def awaits_origin(self) -> bool:
        """True if the first boxes will fix the origin."""
        return self.is_moved and "origin" not in self._fixed

    @property
    def origin(self) -> tuple[float, ...] | None:
        """The point that is subtracted; None without one, and before it is known."""
        origin = self._fixed.get("origin")
        return None if origin is None else tuple(origin[: self._fixed["dimension"]].tolist())

    def boxes(self, values: Any, name: str = "boxes") -> NDArray[np.float32]:
        """Return boxes as ``(n, 6)``, and warn if none of them is valid."""
        boxes = self.rounded(values, name)
        # Usually the first box is valid. Then skip the others.
        if len(boxes) and not _is_valid(*boxes[0].tolist()) and not (boxes[:, :3] <= boxes[:, 3:]).all(1).any():
            self._tell(
                f"all {len(boxes)} boxes have a NaN, or a lower bound above the upper one: are corners of {name} in this order?"
            )
        return boxes

    def rounded(self, values: Any, name: str) -> NDArray[np.float32]:
        """Return boxes as ``(n, 6)``, rounded outward, and warn if rounding makes them much longer."""
        boxes = self.moved(values, name)
        if boxes.dtype == np.float32:
            return boxes
        single, gains, edges = _native.round_outward(boxes, self._threads)
        gained, edge = np.array(gains), np.array(edges)
        if (gained > INFLATION * edge).any():
            if (edge == 0).any():
                # If boxes have no extent along an axis, compare with the extent of all boxes.
                lower, upper = bounds(boxes)
                edge = np.where(edge > 0, edge, INFLATION * len(boxes) * (upper - lower))
            axis = int(np.argmax(np.where(edge > 0, gained / np.where(edge > 0, edge, 1), 0)))
            if gained[axis] > INFLATION * edge[axis] > 0:
                lengths = gained[axis] / len(boxes), edges[axis] / len(boxes)
                self._warn_of_rounding(name, f"edges along {'xyz'[axis]}", *lengths, "boxes pair")
        return single

    def _warn_of_rounding(self, name: str, lengths: str, gain: float, length: float, consequence: str) -> None:
        remedy = (
            'Pass `origin`, "auto" or the numbers of a point near them, which is subtracted before rounding'
            if not self.is_moved
            else f"They are far from the origin {self.origin}: pass a point near them, or search fewer of them at once"
        )
        self._tell(
            f"rounding {name} from float64 to float32 makes {lengths} longer by {gain:.2g} on average, and they are "
            f"{length:.2g} long: {consequence} that are apart. {remedy}"
        )

    def spheres(self, spheres: NDArray[Any], name: str) -> NDArray[np.float32]:
        """Return spheres as ``(n, 4)``, less a known origin, rounded outward, and warn if rounding makes them much larger."""
        if len(spheres):
            self.check_dimension(spheres.shape[1] - 1, name)
        spheres = np.insert(spheres, 2, 0, axis=1) if spheres.shape[1] == 3 else spheres
        if "origin" in self._fixed:
            spheres = spheres - np.append(self._fixed["origin"], 0)
        if spheres.dtype == np.float32:
            return spheres
        single = _native.round_spheres(spheres, self._threads)
        finite = np.isfinite(single).all(1)
        center, radius = spheres[finite, :3], spheres[finite, 3]
        with np.errstate(over="ignore"):
            gained, length = float((single[finite, 3] - radius).sum()), float(radius.sum())
        if gained > INFLATION * length:
            # If all radii are 0, compare with the extent of all centres.
            extent = length or INFLATION * len(center) * float(np.ptp(center, axis=0).max())
            if gained > INFLATION * extent > 0:
                self._warn_of_rounding(name, "radii", gained / len(center), length / len(center), "spheres touch")
        return single

    def moved(self, values: Any, name: str) -> NDArray[Any]:
        """Return boxes as ``(n, 6)``, less the origin."""
        boxes = _arrays.boxes(values, name)
        count, dimension = len(boxes), boxes.shape[1] // 2
        if count:
            self.fix_dimension(dimension, name)
        if dimension == 2:
            boxes = padded(boxes.reshape(count, 2, 2)).reshape(count, 6)
        if not self.is_moved:
            return boxes
        if "origin" not in self._fixed:
            lower, upper = bounds(boxes)
            bounded = lower <= upper
            if not bounded.any():
                # No finite bound, so the origin remains unknown.
                return boxes
            with np.errstate(invalid="ignore"):
                self._fixed.setdefault("origin", np.where(bounded, lower / 2 + upper / 2, 0))
        moved: NDArray[np.float64] = boxes - np.tile(self._fixed["origin"], 2)
        return moved

    def fix_dimension(self, dimension: int, name: str) -> None:
        """Refuse a dimension that differs from the dimension of the first boxes."""
        self._fixed.setdefault("dimension", dimension)
        self.check_dimension(dimension, name)

    def check_dimension(self, dimension: int, name: str) -> None:
        """Refuse a dimension that differs from the dimension of the first boxes, once it is fixed."""
        fixed = self._fixed.get("dimension", dimension)
        if fixed != dimension:
            raise ValueError(
                f"{name} is in {dimension}D, and what was given before is in {fixed}D. An engine or a tree has one dimension; "
                "boxes in 2D lie at z = 0"
            )

    # ---- parts of queries ----

    def points(self, values: Any, name: str) -> NDArray[Any]:
        """Return points as ``(q, 3)``, less the origin."""
        points = self._of_dimension(values, name)
        return points - self._fixed["origin"] if "origin" in self._fixed else points

    def vectors(self, values: Any, name: str) -> NDArray[Any]:
        """Return directions or lengths along the axes as ``(q, 3)``. A vector too short for float32 becomes NaN, not zero."""
        vectors = self._of_dimension(values, name)
        with np.errstate(over="ignore"):
            vanish = (vectors != 0).any(1) & (vectors.astype(np.float32) == 0).all(1)
        return np.where(vanish[:, None], np.nan, vectors) if vanish.any() else vectors

    def axes(self, values: Any, name: str) -> NDArray[Any]:
        """Return the axes of boxes that are turned, as ``(q, 9)``."""
        axes = _arrays.floats(values, name)
        if axes.size == 0 and axes.ndim == 1:
            return axes.reshape(0, 9)
        if axes.ndim not in (2, 3) or axes.shape[-2:] not in ((2, 2), (3, 3)):
            raise ValueError(f"{name} must have the shape (q, 3, 3), or (q, 2, 2) in 2D, not {axes.shape}")
        self.fix_dimension(axes.shape[-1], name)
        if axes.shape[-1] == 2:
            flat, axes = axes, np.zeros((*axes.shape[:-2], 3, 3), axes.dtype)
            axes[..., :2, :2], axes[..., 2, 2] = flat, 1
        return axes.reshape(-1, 9)

    def planes(self, values: Any, name: str) -> NDArray[Any]:
        """Return half-spaces as ``(h, 4)``, less the origin."""
        planes = _arrays.floats(values, name)
        planes = planes.reshape(0, 4) if planes.size == 0 else planes.reshape(1, -1) if planes.ndim == 1 else planes
        if planes.ndim != 2 or planes.shape[1] not in (3, 4):
            raise ValueError(f"{name} must have the shape (h, 4), or (h, 3) in 2D, not {planes.shape}")
        if len(planes):
            self.fix_dimension(planes.shape[1] - 1, name)
        if planes.shape[1] == 3:
            planes = np.insert(planes, 2, 0, axis=1)
        if "origin" in self._fixed:
            planes = planes.astype(np.float64)
            planes[:, 3] -= planes[:, :3] @ self._fixed["origin"]
        return planes

    def _of_dimension(self, values: Any, name: str) -> NDArray[Any]:
        array = _arrays.floats(values, name)
        if array.size == 0 and array.ndim == 1:
            return array.reshape(0, 3)
        array = array.reshape(1, -1) if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] not in (2, 3):
            raise ValueError(f"{name} must have the shape (q, 3), or (q, 2) in 2D, not {array.shape}")
        if len(array):
            self.fix_dimension(array.shape[1], name)
        return padded(array)


def _is_valid(x0: float, y0: float, z0: float, x1: float, y1: float, z1: float) -> bool:
    return x0 <= x1 and y0 <= y1 and z0 <= z1


def padded(array: NDArray[Any]) -> NDArray[Any]:
    """Return rows of 3 numbers; in 2D the third is 0."""
    if array.shape[-1] == 3:
        return array
    whole = np.zeros((*array.shape[:-1], 3), array.dtype)
    whole[..., :2] = array
    return whole


def bounds(boxes: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of the least box that contains all finite bounds of boxes; infinities if there are none."""
    corners = boxes.reshape(-1, 3).astype(np.float64, copy=False)
    finite = np.isfinite(corners)
    lower = corners.min(0, initial=np.inf, where=finite)
    return lower, corners.max(0, initial=-np.inf, where=finite)


def warn(text: str) -> None:
    """Warn at the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "broadsweep":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(text, stacklevel=level)
