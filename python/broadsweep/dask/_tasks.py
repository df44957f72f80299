"""The tasks of workers: sample, split, search. Each task reads files and writes files, so that it can be done again."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import BroadPhase, CandidateLimitError, Filters, id_pairs
from ._sources import Batch, Columns, Part
from ._tiles import Tiles, TooManyEntries

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES_PER_BOX = 256
"""The memory of a task for each box: 56 to read it and put it in order, and 180 of the engine, measured on uniform boxes."""
BYTES_PER_CANDIDATE = 8
"""A pair of the engine. Where all boxes that are tested overlap, there are as many pairs as candidates."""
_BYTES_PER_ROW = 72
"""The memory of a box that is only held, for tiles that are searched block by block."""
_BYTES_PER_SPHERE = 16
"""The memory of a sphere that is only held. A search has five: of the row, the list and the block, and two of the engine."""
_ROW_GROUP = 1 << 20
"""Pairs of a row group of the output: 16 MiB of ids at once."""
_ENTRIES_PER_BOX = 4
"""Copies of a box that splitting has memory for, on average; a batch that has more is halved."""


@dataclass(frozen=True)
class Job:
    """The common data of all tasks of a call.

    Attributes
    ----------
    out : str
        The directory of the output.
    plan : str
        A digest of the manifest.
    columns : Columns
    memory : int
        Bytes that a task may use.
    giant_tiles : int
        A box that touches more tiles is a giant.
    rule : str
        How groups and masks decide.
    device : str
        Where pairs are searched.
    parts : int
        The number of parts of the source.
    """

    out: str
    plan: str
    columns: Columns
    memory: int
    giant_tiles: int
    rule: str
    device: str
    parts: int

    @property
    def most_boxes(self) -> int:
        """The most boxes of one search. Boxes have half of the memory, pairs the other half."""
        return max(self.memory // 2 // (BYTES_PER_BOX + 5 * self._sphere_bytes), 1)

    @property
    def most_candidates(self) -> int:
        return max(self.memory // 2 // BYTES_PER_CANDIDATE, 64)

    @property
    def most_rows(self) -> int:
        """The most boxes of one tile that is searched block by block."""
        return max(self.memory // 2 // (_BYTES_PER_ROW + 2 * self._sphere_bytes), 1)

    @property
    def _sphere_bytes(self) -> int:
        return _BYTES_PER_SPHERE if "sphere" in self.columns.filters else 0

    def work(self, stage: str, name: Any = None, end: str = "") -> Path:
        """Return the place of a file that is deleted in the end."""
        # This plan does not find the files that a running task of an earlier plan still writes.
        folder = Path(self.out, "_work", f"{stage}-{self.plan[:16]}" if stage == "split" else stage)
        return folder if name is None else folder / f"{name:06}{end}"

    def pairs(self, name: str) -> Path:
        """Return the place of the pairs of a tile."""
        return Path(self.out, f"tile={name}", "pairs.parquet")


class TileReport(NamedTuple):
    """The cost of a tile.

    Attributes
    ----------
    name : str
        Its number, or ``giants-`` and the number of a part of the source, or ``giants``.
    boxes : int
        Boxes that were searched.
    pairs : int
        Pairs that were found.
    seconds : float
        The time of the search; NaN if it is no longer known.
    """

    name: str
    boxes: int
    pairs: int
    seconds: float


def tile_name(tile: int) -> str:
    return f"{tile:06}"


def giants_name(part: int | None) -> str:
    return "giants" if part is None else f"giants-{part:06}"


@contextmanager
def whole(path: Path, folder: Path, check: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Return a temporary name to write to. Afterwards, give the complete file its final name, so no file is ever partial.

    `check` is called before the file gets its final name, and may raise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{path.name}.{uuid.uuid4().hex}"
    try:
        yield str(temporary)
        handle = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        check()
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any, folder: Path) -> None:
    with whole(path, folder) as name, open(name, "w") as file:
        json.dump(content, file, indent=1)


# ---- sample ----


def sample(job: Job, index: int, part: Part, count: int) -> list[str]:
    """Write a sample of the valid boxes of a part, and return the texts of warnings."""
    warned: list[str] = []
    path = job.work("sample", index, ".npy")
    if not path.exists():
        found = part.sample(job.columns, count, job.most_boxes, index, warned.append)
        found = found[(found[:, :3] <= found[:, 3:]).all(1)]
        with whole(path, job.work("temporary")) as name, open(name, "wb") as file:
            np.save(file, found)
    return warned


# ---- split ----


def split(job: Job, index: int, part: Part) -> dict[str, int]:
    """Write the boxes of a part in the order of the tiles that they touch: a copy for each tile.

    One file has the rows, in segments as long as memory allows. A second file has the begin of each tile in each segment. A
    third file has the giants, with their places in the part.
    """
    done = job.work("split", index, ".json")
    if done.exists():
        return json.loads(done.read_text())
    row, tiles, temporary = job.columns.row(), _tiles(job.out, job.plan), job.work("temporary")
    offsets: list[NDArray[np.int64]] = []
    giants = [np.empty(0, [("place", "<i8"), ("row", row)])]
    counts = {"boxes": 0, "invalid": 0, "giants": 0, "entries": 0, "bytes": 0}

    def write(batch: Batch, which: NDArray[np.int64], file: Any) -> None:
        try:
            most = _ENTRIES_PER_BOX * job.most_boxes + 64
            rows, starts, giant = tiles.touched(batch.bounds[which], giant_tiles=job.giant_tiles, most=most)
        except TooManyEntries:
            if len(which) == 1:
                raise MemoryError(
                    f"one box touches more than {most} tiles: memory_per_task must be larger, or giant_tiles smaller"
                ) from None
            middle = len(which) // 2
            write(batch, which[:middle], file)
            write(batch, which[middle:], file)
            return
        # Write pieces, so that memory never has a second copy of all rows.
        for at in range(0, len(rows), 1 << 16):
            batch.rows(which[rows[at : at + (1 << 16)]], row).tofile(file)
        offsets.append(starts + counts["entries"])
        counts["entries"] += len(rows)
        found = np.empty(len(giant), giants[0].dtype)
        found["place"], found["row"] = batch.offset + which[giant], batch.rows(which[giant], row)
        giants.append(found)

    with whole(job.work("split", index, ".rows"), temporary) as name, open(name, "wb") as file:
        for batch in part.batches(job.columns, job.most_boxes):
            which = np.flatnonzero(batch.valid())
            counts["boxes"] += len(batch.bounds)
            counts["invalid"] += len(batch.bounds) - len(which)
            write(batch, which, file)
    with whole(job.work("split", index, ".offsets.npy"), temporary) as name, open(name, "wb") as file:
        np.save(file, np.array(offsets, np.int64).reshape(-1, len(tiles) + 1))
    if sum(map(len, giants)):
        with whole(job.work("split", index, ".giants.npy"), temporary) as name, open(name, "wb") as file:
            np.save(file, np.concatenate(giants))
    counts["giants"] = sum(map(len, giants))
    counts["bytes"] = counts["entries"] * row.itemsize
    write_json(done, counts, temporary)
    return counts


def giants_of(job: Job, index: int) -> NDArray[Any]:
    """Return the giants of a part, with their places in it."""
    path = job.work("split", index, ".giants.npy")
    return np.load(path) if path.exists() else np.empty(0, [("place", "<i8"), ("row", job.columns.row())])


# ---- search ----


def search_tile(job: Job, tile: int) -> TileReport:
    """Find the pairs of a tile: pairs of boxes that touch it, whose intersection has its lower corner in the tile."""

    def pairs() -> Iterator[Any]:
        rows = _rows_of(job, tile)
        yield len(rows)
        yield from _ascending(job, rows, owner=_regions(job.out, job.plan)[tile])

    return _write_pairs(job, tile_name(tile), pairs)


def search_giants(job: Job, index: int | None, part: Part | None) -> TileReport:
    """Find the pairs of giants with all other boxes of a part; without a part, the pairs of giants with each other."""

    def pairs() -> Iterator[Any]:
        found = [giants_of(job, k) for k in range(job.parts)]
        giants = np.concatenate([rows["row"] for rows in found])
        if part is None:
            yield len(giants)
            yield from _ascending(job, giants)
            return
        yield part.count - len(found[index]) + len(giants)
        places = found[index]["place"]
        for batch in part.batches(job.columns, job.most_boxes):
            others = batch.valid()
            here = places[(places >= batch.offset) & (places < batch.offset + len(others))]
            others[here - batch.offset] = False
            rows = np.concatenate([giants, batch.rows(np.flatnonzero(others), job.columns.row())])
            yield from _ascending(job, rows, giants=len(giants))

    return _write_pairs(job, giants_name(index), pairs)


def _write_pairs(job: Job, name: str, pairs: Callable[[], Iterator[Any]]) -> TileReport:
    """Write pairs as they are found. The first element of `pairs()` is the box count."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = job.pairs(name)
    done = report_of(job, name)
    if done is not None:
        return done
    begin = time.perf_counter()
    found = pairs()
    boxes, count = next(found), 0
    metadata = {"broadsweep.boxes": str(boxes), "broadsweep.plan": job.plan}
    schema = pa.schema([("a", pa.uint64()), ("b", pa.uint64())], metadata)
    with whole(path, job.work("temporary"), lambda: _check_plan(job.out, job.plan)) as temporary:
        # Ids ascend, so their differences are small. They mostly differ, so a dictionary does not help.
        with pq.ParquetWriter(
            temporary, schema, compression="zstd", use_dictionary=False, column_encoding="DELTA_BINARY_PACKED"
        ) as writer:
            for indices, ids in found:
                count += len(indices)
                for at in range(0, len(indices), _ROW_GROUP):
                    named = id_pairs(indices[at : at + _ROW_GROUP], ids)
                    columns = [pa.array(np.ascontiguousarray(named[:, k])) for k in range(2)]
                    writer.write_table(pa.table(columns, schema), _ROW_GROUP)
        # Write the time before the pairs get their final name, so that it is never missing.
        report = TileReport(name, boxes, count, time.perf_counter() - begin)
        write_json(job.work("done") / f"{name}.json", report.seconds, job.work("temporary"))
    return report


def report_of(job: Job, name: str, earlier: dict[str, float] | None = None) -> TileReport | None:
    """Return the report of a complete tile; None if the tile is not complete."""
    import pyarrow.parquet as pq

    path = job.pairs(name)
    if not path.exists():
        return None
    meta = pq.read_metadata(path)
    if meta.metadata.get(b"broadsweep.plan") != job.plan.encode():
        # A task of an earlier plan wrote this file, since it could not be stopped.
        return None
    try:
        seconds = float(json.loads((job.work("done") / f"{name}.json").read_text()))
    except FileNotFoundError:
        seconds = (earlier or {}).get(name, float("nan"))
    return TileReport(name, int(meta.metadata[b"broadsweep.boxes"]), meta.num_rows, seconds)


def _rows_of(job: Job, tile: int) -> NDArray[Any]:
    """Read the boxes of a tile, part after part."""
    row = job.columns.row()
    pieces = []
    for index in range(job.parts):
        offsets = np.load(job.work("split", index, ".offsets.npy"), mmap_mode="r")
        pieces += [(index, int(begin), int(end)) for begin, end in offsets[:, tile : tile + 2] if end > begin]
    rows = np.empty(sum(end - begin for _, begin, end in pieces), row)
    at = 0
    for index, begin, end in pieces:
        with open(job.work("split", index, ".rows"), "rb", buffering=0) as file:
            file.seek(begin * row.itemsize)
            buffer = memoryview(rows[at : at + end - begin].view(np.uint8))
            while len(buffer):
                got = file.readinto(buffer)
                if not got:
                    raise OSError(f"{file.name} ends too early")
                buffer = buffer[got:]
        at += end - begin
    return rows


def _ascending(
    job: Job, rows: NDArray[Any], *, owner: NDArray[np.float32] | None = None, giants: int | None = None
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint64]]]:
    """Find pairs of boxes, as indices with the id of each index.

    If memory suffices, one search finds all pairs. Otherwise each search finds the pairs of some boxes with all later
    boxes. So pieces are in order, and a piece fits even if many boxes lie in one place.

    Without `giants`, pairs ascend by id. With `giants`, this many boxes at the beginning are giants. Then only pairs of a
    giant with another box are found, ascending by the id of the giant, then by the id of the other box.
    """
    count, firsts = len(rows), len(rows) if giants is None else giants
    ids = rows["id"].copy()
    order = np.lexsort((ids, np.arange(count) >= firsts))
    if (order[:-1] > order[1:]).any():
        rows, ids = rows[order], ids[order]
    del order
    boxes = np.ascontiguousarray(rows["bounds"])
    lists = {name: rows[name].copy() for name in job.columns.filters}
    del rows
    on_gpu = job.device != "cpu"
    engine = BroadPhase(
        job.device, candidate_limit=job.most_candidates, memory_budget=job.memory if on_gpu else None, threads=1
    )

    def set_filters(*which: Any) -> None:
        values_by_name = {name: np.concatenate([values[k] for k in which]) for name, values in lists.items()}
        engine.set_filters(Filters(**values_by_name, rule=job.rule, owner=owner))

    def between(here: Any, there: slice) -> NDArray[np.uint32]:
        set_filters(here, there)
        return engine.find_pairs_between(boxes[here], boxes[there])

    def check_capacity(first: int, end: int, there: slice) -> None:
        """Refuse boxes with too many pairs before the pairs are listed, since a join checks its limit only at intervals.

        A random sample of boxes predicts the pair count. While the prediction fits, the sample grows to four times its size.
        """
        sampled = first + np.random.default_rng(0).permutation(end - first)
        some = 16
        while some < len(sampled):
            expected = len(between(np.sort(sampled[:some]), there)) * (len(sampled) / some)
            if expected > job.most_candidates:
                raise CandidateLimitError(f"about {expected:.0f} pairs, and a task has memory for {job.most_candidates}")
            some *= 4

    def found(first: int, end: int) -> tuple[NDArray[np.uint32], int]:
        """Find the pairs whose first box is from `first` to `end`."""
        here, parts, tested = slice(first, end), [], 0
        if giants is None:
            set_filters(here)
            parts.append(engine.find_pairs(boxes[here]))
            tested += engine.report.candidate_count
            parts[0] += np.uint32(first)
        for begin in range(end if giants is None else giants, count, job.most_boxes):
            there = slice(begin, min(begin + job.most_boxes, count))
            check_capacity(first, end, there)
            pairs = between(here, there)
            pairs += np.array([first, begin], np.uint32)
            parts.append(pairs)
            tested += engine.report.candidate_count
            if sum(map(len, parts)) > job.most_candidates:
                raise CandidateLimitError(f"more than {job.most_candidates} pairs")
        return (parts[0] if len(parts) == 1 else _merged(parts)), tested

    at, size = 0, min(firsts, job.most_boxes)
    while at < firsts:
        try:
            pairs, tested = found(at, min(at + size, firsts))
        except (CandidateLimitError, MemoryError):
            if size == 1:
                raise
            size //= 2
            continue
        yield pairs, ids
        at += size
        if 2 * tested <= job.most_candidates:
            size = min(2 * size, job.most_boxes)


def _merged(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the pairs of all lists, ascending."""
    if not parts:
        return np.empty((0, 2), np.uint32)
    # Each pair as one number, with the first index in the upper half.
    keys = np.concatenate([(pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1] for pairs in parts])
    keys.sort()
    pairs = np.empty((len(keys), 2), np.uint32)
    pairs[:, 0], pairs[:, 1] = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
    return pairs


def _check_plan(out: str, plan: str) -> dict[str, Any]:
    """Return the manifest. Raise if it has another plan."""
    manifest: dict[str, Any] = json.loads(Path(out, "_manifest.json").read_text())
    if manifest["plan"] != plan:
        raise RuntimeError(f"{out} was begun anew while this task ran")
    return manifest


@lru_cache(maxsize=2)
def _tiles(out: str, plan: str) -> Tiles:
    """Return the tiles of a plan, which a worker reads once."""
    return Tiles(_check_plan(out, plan)["tiles"])


@lru_cache(maxsize=2)
def _regions(out: str, plan: str) -> NDArray[np.float32]:
    return _tiles(out, plan).regions()
