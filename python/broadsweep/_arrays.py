"""Arrays of users, as the library takes them: one type, C order, native bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CPU = 1  # kDLCPU of DLPack
_HOST_MEMORY = (_CPU, 3, 11)  # and what CUDA and ROCm pin there


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array of NumPy, without a copy where there is memory that both can have.

    Tensors of other libraries come through DLPack, if they are in the memory of the CPU.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: fill it or drop what is masked")
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if hasattr(values, "__dlpack__") and hasattr(values, "__dlpack_device__"):
        device = values.__dlpack_device__()[0]
        if int(device) not in _HOST_MEMORY:
            raise ValueError(f"{name} is on another device; copy it to the CPU first")
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError) as error:
            raise type(error)(f"{name} cannot be taken through DLPack: {error}") from error
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is no array: {error}") from error


def text(value: Any, name: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    return value


def number(value: Any, name: str, least: int, most: int) -> int:
    """Return a whole number within these bounds."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    whole = int(value.__index__())
    if not least <= whole <= most:
        raise ValueError(f"{name} is {whole}; it must be from {least} to {most}")
    return whole


def plain(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return the same numbers in C order and aligned, without a copy where they are."""
    return np.require(array, dtype, ["C", "A"])


def floats(values: Any, name: str) -> NDArray[Any]:
    """Return an array of float32 or float64 that holds the same numbers."""
    array = as_array(values, name)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if array.size == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.float32)
    if kind == "f" and size <= 4:
        return array.astype(np.float32, copy=False)
    if kind == "f" and size == 8:
        return array.astype(np.float64, copy=False)
    if kind in "iu":
        if size > 4 and array.size and max(abs(int(array.min())), abs(int(array.max()))) > 1 << 53:
            raise ValueError(f"{name} has integers beyond 2**53, which a double does not hold")
        return array.astype(np.float64)
    raise TypeError(f"{name} must be float32, float64 or integers, not {array.dtype}")


def boxes(values: Any, name: str) -> NDArray[Any]:
    """Return boxes as ``(n, 6)``, or in 2D ``(n, 4)``, in C order, float32 or float64.

    A tuple of two is ``(lower, upper)``; anything else is one array: ``(n, 6)``, ``(n, 2, 3)``, or in 2D ``(n, 4)`` or
    ``(n, 2, 2)``.
    """
    if isinstance(values, tuple) and len(values) == 2:
        return _of_corners(*values, name)
    array = floats(values, name)
    if array.ndim == 1 and array.size == 0:
        return np.empty((0, 6), np.float32)
    n, shape = array.shape[0] if array.ndim else 0, array.shape[1:]
    if shape in ((6,), (4,)):
        return plain(array)
    if shape in ((2, 3), (2, 2)):
        return plain(array).reshape(n, 2 * shape[1])
    raise ValueError(
        f"{name} must have the shape (n, 6) or (n, 2, 3), in 2D (n, 4) or (n, 2, 2), or be a tuple "
        f"(lower, upper); not {array.shape}"
    )


def _of_corners(lower: Any, upper: Any, name: str) -> NDArray[Any]:
    lower, upper = floats(lower, f"{name}[0]"), floats(upper, f"{name}[1]")
    if lower.shape != upper.shape or lower.ndim != 2 or lower.shape[1] not in (2, 3):
        raise ValueError(
            f"a tuple of {name} is (lower, upper), both (n, 3), or (n, 2) in 2D; not {lower.shape} and {upper.shape}"
        )
    return plain(np.hstack((lower, upper)))


def words(values: Any, name: str, none: bool = False, bits: bool = False) -> NDArray[np.uint32]:
    """Return a list of 32-bit numbers.

    Where `none`, -1 stands for 2**32 - 1, which is no number of a box, body or world. Where `bits`, a negative number
    stands for its bits, as masks of int32 have them.
    """
    array = as_array(values, name)
    if array.size == 0:
        array = array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not the shape {array.shape}")
    if array.size and array.dtype != np.uint32:
        least = -(1 << 31) if bits else -1 if none else 0
        low, high = int(array.min()), int(array.max())
        if low < least or high >= 1 << 32:
            allowed = "fit 32 bits" if bits else "be from -1 to 2**32 - 1" if none else "be from 0 to 2**32 - 1"
            raise ValueError(f"{name} has {low if low < least else high}; numbers must {allowed}")
        array = (array.astype(np.int64) & 0xFFFFFFFF) if array.dtype.kind == "i" else array
    return plain(array, np.uint32)


def flags(values: Any, name: str) -> NDArray[np.bool_]:
    """Return a list of truth values: booleans, or integers that are 0 or 1."""
    array = as_array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not the shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.bool_)
    if array.dtype.kind in "iu":
        if int(array.min()) < 0 or int(array.max()) > 1:
            raise ValueError(f"{name} must be booleans, or integers that are 0 or 1")
    elif array.dtype.kind != "b":
        raise TypeError(f"{name} must be booleans, not {array.dtype}")
    return plain(array, np.bool_)


def flag(value: Any, name: str) -> bool:
    """Return a single truth value."""
    array = as_array(value, name)
    if array.ndim:
        raise ValueError(f"{name} must be one boolean for all queries, not an array of the shape {array.shape}")
    return bool(flags(array.reshape(1), name)[0])


def index_pairs(values: Any, name: str) -> NDArray[np.uint32]:
    """Return pairs of indices as ``(m, 2)``."""
    array = as_array(values, name)
    if array.size == 0:
        return np.empty((0, 2), np.uint32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must have the shape (m, 2), not {array.shape}")
    return words(array.reshape(-1), name).reshape(-1, 2)


def spheres(values: Any, name: str) -> NDArray[Any]:
    """Return spheres, centre and radius, as ``(n, 4)``, or in 2D ``(n, 3)``, in C order, float32 or float64."""
    array = floats(values, name)
    if array.ndim == 1 and array.size == 0:
        return np.empty((0, 4), np.float32)
    if array.ndim != 2 or array.shape[1] not in (3, 4):
        raise ValueError(f"{name} must have the shape (n, 4), or (n, 3) in 2D, centre and radius; not {array.shape}")
    return plain(array)


def singles(values: Any, name: str) -> NDArray[np.float32]:
    """Return an array of float32; numbers in double precision are rounded to the nearest."""
    array = floats(values, name)
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def lengths(values: Any, name: str) -> NDArray[Any]:
    """Return lengths as ``(q, 1)``, or one for all. A single number must be at least 0; in an array, others are invalid."""
    array = floats(values, name)
    if array.ndim == 0 and not array >= 0:
        raise ValueError(f"{name} is {array}; it must be at least 0")
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ValueError(f"{name} must have the shape (q,) or be a number, not {array.shape}")
    return array.reshape(-1, 1)


def columns(**parts: NDArray[Any]) -> NDArray[np.float32]:
    """Return queries as rows of float32. Each part has as many rows as the others, or one for all."""
    counts = {len(array) for array in parts.values()}
    count = max(counts - {1}, default=1) if 0 not in counts else 0
    for name, array in parts.items():
        if len(array) not in (1, count):
            raise ValueError(f"{name} has {len(array)} rows, and there are {count} queries")
    rows = np.empty((count, sum(array.shape[1] for array in parts.values())), np.float32)
    with np.errstate(over="ignore"):
        repeated = [np.broadcast_to(array, (count, array.shape[1])) for array in parts.values()]
        return np.concatenate(repeated, axis=1, out=rows, casting="same_kind")
