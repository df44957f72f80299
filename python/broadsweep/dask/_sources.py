"""Boxes of a source that does not fit in memory: Parquet, .npy and zarr, read in parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _arrays
from .._filters import _BY_BOX
from .._space import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILTERS = ("group", "mask", "body", "parent", "fixed", "sleeping", "world", "sphere")
"""The filters that a column may hold. A margin would move boxes, and the giants' pass needs the sets of `second`."""

IN_3D = ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z")
IN_2D = ("min_x", "min_y", "max_x", "max_y")
_BOX_SHAPES = ((6,), (2, 3), (4,), (2, 2))


@dataclass(frozen=True)
class Columns:
    """The columns of Parquet that are read.

    Attributes
    ----------
    boxes : tuple of str
        Six names, four in 2D, or one name of a column of lists.
    ids : str or None
        Ids; row numbers where it is None.
    filters : tuple of str
        Columns that are named as the filter that they hold.
    origin : tuple of float or None
        The point to subtract from the boxes, in double precision.
    """

    boxes: tuple[str, ...] | None
    ids: str | None
    filters: tuple[str, ...]
    origin: tuple[float, ...] | None = None

    def row(self) -> np.dtype[Any]:
        """Return what is written of each box when boxes are sent to tiles."""
        filters = [(name, "<f4", 4) if name == "sphere" else (name, "<u4") for name in self.filters]
        return np.dtype([("bounds", "<f4", 6), ("id", "<u8"), *filters])


class Batch(NamedTuple):
    """Boxes of a part, as float32, with the values of their columns."""

    offset: int
    bounds: NDArray[np.float32]
    ids: NDArray[np.uint64]
    filters: dict[str, NDArray[Any]]

    def valid(self) -> NDArray[np.bool_]:
        """Distinguish boxes from those with a NaN or with a lower bound above the upper, which pair with nothing."""
        return (self.bounds[:, :3] <= self.bounds[:, 3:]).all(1)

    def rows(self, which: NDArray[Any], row: np.dtype[Any]) -> NDArray[Any]:
        """Return some of the boxes with all that is written of them."""
        rows = np.empty(len(which), row)
        rows["bounds"], rows["id"] = self.bounds[which], self.ids[which]
        for name, values in self.filters.items():
            rows[name] = values[which]
        return rows


@dataclass(frozen=True)
class Part:
    """Some rows of a file: what one task reads.

    Attributes
    ----------
    kind : {"npy", "zarr", "parquet"}
    path : str
    begin, end : int
        Rows of an array, or row groups of Parquet.
    first : int
        The number of its first row in the whole source.
    count : int
        The number of its rows.
    """

    kind: str
    path: str
    begin: int
    end: int
    first: int
    count: int

    def batches(self, columns: Columns, most: int, tell: Callable[[str], object] = str) -> Iterator[Batch]:
        """Read the part, at most this many rows at once. Warnings go to `tell`; `str` drops them."""
        space = Space(columns.origin, tell=tell)
        read = self._tables(columns, most, space) if self.kind == "parquet" else self._slices(most, space)
        at = 0
        for bounds, ids, filters in read:
            if ids is None:
                ids = np.arange(self.first + at, self.first + at + len(bounds), dtype=np.uint64)
            yield Batch(at, bounds, ids, filters)
            at += len(bounds)

    def sample(self, columns: Columns, count: int, most: int, seed: int, tell: Callable[[str], object]) -> NDArray[np.float32]:
        """Return about this many boxes from all over the part: one from each of as many stretches of equal length."""
        starts = np.linspace(0, self.count, min(count, self.count) + 1).astype(np.int64)
        # A place by chance within each stretch: boxes of a lattice lie in rows whose period a fixed step could meet.
        places = starts[:-1] + (np.random.default_rng(seed).random(len(starts) - 1) * np.diff(starts)).astype(np.int64)
        if self.kind == "npy":
            sampled = np.load(self.path, mmap_mode="r")[self.begin + places]
            return _bounds(sampled, self.path, Space(columns.origin, tell=tell))
        everything = replace(columns, ids=None, filters=())
        found = [np.empty((0, 6), np.float32)]
        for batch in self.batches(everything, most, tell):
            ours = (places >= batch.offset) & (places < batch.offset + len(batch.bounds))
            found.append(batch.bounds[places[ours] - batch.offset])
        return np.concatenate(found)

    def _slices(self, most: int, space: Space) -> Iterator[tuple[Any, None, dict[str, Any]]]:
        for begin in range(self.begin, self.end, most):
            # Opened anew for each slice, so that the pages of the last one can be given back.
            array = np.load(self.path, mmap_mode="r") if self.kind == "npy" else _zarr_array(self.path)
            yield _bounds(array[begin : min(begin + most, self.end)], self.path, space), None, {}

    def _tables(self, columns: Columns, most: int, space: Space) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [*columns.boxes, *columns.filters] + ([] if columns.ids is None else [columns.ids])
        groups = list(range(self.begin, self.end))
        with pq.ParquetFile(self.path) as file:
            if self.count <= most:
                tables = iter([file.read_row_groups(groups, names, use_threads=False)])
            else:
                batches = file.iter_batches(most, groups, names, use_threads=False)
                tables = (pa.Table.from_batches([batch]) for batch in batches)
            for table in tables:
                ids = None if columns.ids is None else self._ids(table.column(columns.ids), columns.ids)
                boxes = self._boxes(table, columns.boxes, space)
                yield boxes, ids, {name: self._filter(table.column(name), name, space) for name in columns.filters}

    def _boxes(self, table: Any, names: Sequence[str], space: Space) -> NDArray[np.float32]:
        where = f"{', '.join(names)} of {self.path}"
        if len(names) == 1:
            return _bounds(_lists(table.column(names[0]), "boxes", where), where, space)
        parts = [_arrays.floats(table.column(name).to_numpy(), f"{name} of {self.path}") for name in names]
        boxes = np.empty((table.num_rows, len(names)), np.result_type(*parts))
        for k, part in enumerate(parts):
            boxes[:, k] = part
        return _bounds(boxes, where, space)

    def _ids(self, column: Any, name: str) -> NDArray[np.uint64]:
        if column.null_count:
            raise ValueError(f"{name} of {self.path}: {column.null_count} ids are null")
        ids = column.to_numpy()
        if ids.dtype.kind == "i" and ids.size and int(ids.min()) < 0:
            raise ValueError(f"{name} of {self.path} has {int(ids.min())}; ids must be from 0 to 2**64 - 1")
        return ids.astype(np.uint64)

    def _filter(self, column: Any, name: str, space: Space) -> NDArray[Any]:
        if name == "sphere":
            return self._spheres(column, space)
        if column.null_count:
            raise ValueError(f"{name} of {self.path}: {column.null_count} values are null")
        try:
            return _BY_BOX[name](column.to_numpy()).astype(np.uint32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path}: {error}") from error


    def _spheres(self, column: Any, space: Space) -> NDArray[np.float32]:
        where = f"sphere of {self.path}"
        spheres = space.spheres(_arrays.spheres(_lists(column, "spheres", where), where), where)
        valid = np.isfinite(spheres[:, :3]).all(1) & (spheres[:, 3] >= 0)
        if not valid.all():
            wrong = spheres[~valid][0].tolist()
            raise ValueError(f"{where} has {wrong}; the centre must be finite, and the radius at least 0, or infinity for none")
        return spheres


def _lists(column: Any, what: str, where: str) -> NDArray[Any]:
    """Return a column of lists of a fixed size as rows."""
    if column.null_count:
        raise ValueError(f"{where}: {column.null_count} {what} are null; drop those rows")
    return column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


def parts_of(source: Any, columns: Columns, most: int) -> tuple[list[Part], Columns, list[dict[str, Any]]]:
    """Look at a source without reading its boxes.

    Parameters
    ----------
    source : path or sequence of paths
    columns : Columns
        The request.
    most : int
        The most rows of a part, as far as row groups and chunks can be cut.

    Returns
    -------
    parts : list of Part
    columns : Columns
        With the names of the columns of boxes.
    fingerprint : list of dict
        The identity of the source: path, size, time of change and rows of each file.
    """
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise ValueError(
            f"source is {type(source).__name__}; it must be a path, or a list of paths, of Parquet, .npy or zarr. "
            "An array in memory is written with numpy.save"
        )
    parts: list[Part] = []
    fingerprint: list[dict[str, Any]] = []
    space = Space(columns.origin)
    for kind, path in [found for path in paths for found in _files(os.fspath(path))]:
        first = parts[-1].first + parts[-1].count if parts else 0
        if kind == "parquet":
            more, columns = _parquet_parts(path, columns, most, first)
        else:
            named = [name for name in (columns.ids, *columns.filters) if name]
            if named:
                raise ValueError(f"{path} has no column {named[0]!r}: ids and filters are columns of Parquet")
            more = _array_parts(kind, path, most, first, space)
        parts += more
        fingerprint.append({"path": path, **_stamp(path), "rows": sum(part.count for part in more)})
    return parts, columns, fingerprint


def _files(path: str) -> list[tuple[str, str]]:
    """Return the files of a path, each with its kind."""
    path = os.path.abspath(path)
    if not os.path.exists(path):
        found = sorted(glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(f"there is no source {path}")
        return [file for name in found for file in _files(name)]
    if os.path.isdir(path):
        if any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup")):
            return [("zarr", path)]
        inside = (file.relative_to(path) for file in Path(path).rglob("*.parquet"))
        # A file that begins like this is not data, as all who read Parquet agree.
        data = sorted(str(file) for file in inside if not any(name.startswith(("_", ".")) for name in file.parts))
        if not data:
            raise ValueError(f"{path} is a directory without .parquet files, and no zarr array")
        return [("parquet", os.path.join(path, name)) for name in data]
    kinds = {".npy": "npy", ".parquet": "parquet", ".pq": "parquet"}
    kind = kinds.get(os.path.splitext(path)[1].lower())
    if kind is None:
        raise ValueError(f"{path} must be .npy, .parquet or .pq, a directory of .parquet files, or a zarr array")
    return [(kind, path)]


def _stamp(path: str) -> dict[str, Any]:
    if os.path.isfile(path):
        stat = os.stat(path)
        return {"size": stat.st_size, "changed": stat.st_mtime_ns}
    files = sorted(file for file in Path(path).rglob("*") if file.is_file())
    stamps = [(str(file.relative_to(path)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    size, digest = sum(size for _, size, _ in stamps), hashlib.sha256(repr(stamps).encode()).hexdigest()
    return {"size": size, "files": len(stamps), "changed": digest}


def _array_parts(kind: str, path: str, most: int, first: int, space: Space) -> list[Part]:
    array = np.load(path, mmap_mode="r") if kind == "npy" else _zarr_array(path)
    shape, dtype, step = tuple(array.shape), array.dtype, most
    if len(shape) < 2 or shape[1:] not in _BOX_SHAPES:
        raise ValueError(f"{path} must have the shape (n, 6) or (n, 2, 3), in 2D (n, 4) or (n, 2, 2); not {shape}")
    space.fix_dimension(int(np.prod(shape[1:])) // 2, path)
    _check_numbers(dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize <= 8), path, dtype)
    if kind == "zarr":
        # Whole chunks, so that none is decoded twice.
        chunk = array.chunks[0]
        step = max(most // chunk, 1) * chunk
    cuts = range(0, shape[0], step)
    return [Part(kind, path, at, min(at + step, shape[0]), first + at, min(step, shape[0] - at)) for at in cuts]


def _parquet_parts(path: str, columns: Columns, most: int, first: int) -> tuple[list[Part], Columns]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, meta = file.schema_arrow, file.metadata
    if columns.boxes is None:
        found = [names for names in (IN_3D, IN_2D) if set(names) <= set(schema.names)]
        if not found:
            raise ValueError(
                f"{path} has no columns {', '.join(IN_3D)} (in 2D {', '.join(IN_2D)}); it has {', '.join(schema.names)}: "
                "pass columns= to name the ones that hold the boxes"
            )
        columns = replace(columns, boxes=found[0])
    for name in [*columns.boxes, *columns.filters] + ([] if columns.ids is None else [columns.ids]):
        if name not in schema.names:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(schema.names)}")
        _check_column(schema.field(name).type, name, columns, path)
    counts = [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]
    parts: list[Part] = []
    begin = rows = 0
    for k, count in enumerate(counts):
        if rows and rows + count > most:
            parts.append(Part("parquet", path, begin, k, first, rows))
            begin, first, rows = k, first + rows, 0
        rows += count
    if rows:
        parts.append(Part("parquet", path, begin, len(counts), first, rows))
    return parts, columns


def _check_column(kind: Any, name: str, columns: Columns, path: str) -> None:
    import pyarrow as pa

    def is_number(kind: Any) -> bool:
        return pa.types.is_floating(kind) or pa.types.is_integer(kind)

    where = f"{name} of {path}"
    if name == columns.ids:
        if not pa.types.is_integer(kind):
            raise ValueError(f"{where} must be integers to be ids, not {kind}")
    elif name == "sphere" and name in columns.filters:
        if not (pa.types.is_fixed_size_list(kind) and kind.list_size in (3, 4) and is_number(kind.value_type)):
            raise ValueError(f"{where} must be lists of 4 numbers, or of 3 in 2D, of a fixed size; not {kind}")
    elif name in columns.filters:
        if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"{where} must be integers or booleans to be a filter, not {kind}")
    elif len(columns.boxes) > 1:
        _check_numbers(is_number(kind), where, kind)
    elif not (pa.types.is_fixed_size_list(kind) and kind.list_size in (4, 6) and is_number(kind.value_type)):
        raise ValueError(f"{where} must be lists of 6 numbers, or of 4 in 2D, of a fixed size; not {kind}")


def _check_numbers(are: bool, where: str, dtype: Any) -> None:
    if not are:
        raise ValueError(f"{where} must be float32, float64 or integers, not {dtype}")


def _bounds(array: Any, where: str, space: Space) -> NDArray[np.float32]:
    """Return boxes in single precision, rounded outward as the engines do it, in memory of their own."""
    given = np.asarray(array)
    boxes = space.rounded(given, where)
    return boxes.copy() if np.may_share_memory(boxes, given) else boxes


def _zarr_array(path: str) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"{path} is zarr, which the package zarr reads: pip install zarr") from error
    array = zarr.open(path, mode="r")
    if not hasattr(array, "shape"):
        raise ValueError(f"{path} is a group of zarr; give the path of one array in it")
    return array
