"""Find overlapping pairs of more boxes than one machine holds, on a Dask cluster, exactly and with equal results on each run.

Space is cut into tiles. Each box is sent to the tiles that it touches, and each tile is searched on its own. A pair belongs to
the tile with the lower corner of the intersection of its boxes, so each pair comes from exactly one tile. Boxes pass through
files, not through the scheduler. If a worker dies, only its task is repeated. A repeated call continues an interrupted one.

>>> import broadsweep.dask                                                       # doctest: +SKIP
>>> broadsweep.dask.find_pairs("boxes.parquet", "pairs", client=client)          # doctest: +SKIP

`find_pairs` is the only function; it returns a `Summary` with `TileReport`s.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import __version__
from .._space import Space, warn
from . import _sources, _tasks
from ._sources import FILTERS, Columns, Part
from ._tasks import Job, TileReport
from ._tiles import Tiles, plan

__all__ = ["Summary", "TileReport", "find_pairs"]

_FORMAT = 1
_MIB = 1 << 20
_LEAST_MEMORY = 1 << 16
_SAMPLES_PER_TILE = 2048  # so that a tile's boxes are known to 2 %
_MOST_SAMPLES = 1 << 22  # 96 MiB in the process that calls


@dataclass(frozen=True)
class Summary:
    """Counts and times of a call of `find_pairs`.

    Attributes
    ----------
    boxes : int
        Boxes of the source.
    invalid : int
        Boxes with a NaN, or with a lower bound above the upper one, which pair with nothing.
    giants : int
        Boxes that touch more than `giant_tiles` tiles.
    copies : int
        Extra copies of boxes that touch several tiles.
    pairs : int
    tiles : int
        Tiles of space, without the pass for giants.
    bytes_split : int
        Bytes of the boxes that were sent to tiles. They are written once and read once.
    memory_per_task : int
        Bytes.
    seconds : dict of str to float
        The time of each stage of this call: ``"sample"``, ``"split"``, ``"search"``, ``"giants"``; 0 if an earlier call
        completed it.
    continued : int
        Tiles and parts of the giants' pass that an earlier call completed.
    per_tile : tuple of TileReport
        Name, boxes, pairs and seconds of each tile, and of each part of the giants' pass.
    """

    boxes: int
    invalid: int
    giants: int
    copies: int
    pairs: int
    tiles: int
    bytes_split: int
    memory_per_task: int
    seconds: dict[str, float]
    continued: int
    per_tile: tuple[TileReport, ...]

    @property
    def skew(self) -> float:
        """The boxes of the largest tile, divided by those of an average one."""
        boxes = [tile.boxes for tile in self._of_space()]
        return max(boxes) / (sum(boxes) / len(boxes)) if sum(boxes) else 1.0

    def _of_space(self) -> list[TileReport]:
        return [tile for tile in self.per_tile if not tile.name.startswith("giants")]

    def __str__(self) -> str:
        tiles = self._of_space()
        times = [tile.seconds for tile in self.per_tile if np.isfinite(tile.seconds)] or [0.0]
        per_valid = (self.boxes - self.invalid + self.copies) / max(self.boxes - self.invalid, 1)
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.seconds.items())
        lines = [
            f"{self.pairs:,} pairs of {self.boxes:,} boxes",
            f"invalid boxes   {self.invalid:,}",
            f"giants          {self.giants:,}",
            f"copies          {self.copies:,}: each box was sent {per_valid:.3f} times, {self.bytes_split / 1e9:.2f} GB in all",
            f"tiles           {self.tiles:,} of up to {max((tile.boxes for tile in tiles), default=0):,} boxes, skew {self.skew:.2f}",
            f"time per tile   {np.median(times):.2f} s, the longest {max(times):.2f} s",
            f"time            {sum(self.seconds.values()):.1f} s: {stages}",
        ]
        if self.continued:
            lines.append(f"continued       {self.continued:,} of {len(self.per_tile):,} were done by an earlier call")
        return "\n".join(lines)


def find_pairs(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    client: Any = None,
    columns: str | Sequence[str] | None = None,
    ids: str | None = None,
    filters: Sequence[str] = (),
    rule: Literal["any", "both"] = "any",
    memory_per_task: int | None = None,
    giant_tiles: int = 64,
    device: str = "cpu",
    origin: Sequence[float] | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Summary:
    """Find every pair of boxes that overlap, each once, and write them to Parquet.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet (a file, a directory, a pattern), ``.npy`` or a zarr array, as for `broadsweep.find_pairs`: float32, or float64
        that is rounded outward.
    out : path
        A directory on a disk that the caller and all workers share.
    client : distributed.Client, optional
        The cluster. The current one of this process if not given; if there is none, a cluster of processes on this machine
        for the time of the call.
    columns : str or sequence of str, optional
        The columns of Parquet that hold the boxes: six names, four in 2D, or one of a column of lists of a fixed size.
        ``min_x``, ``min_y``, ``min_z``, ``max_x``, ``max_y``, ``max_z`` if not given, in 2D without those of z.
    ids : str, optional
        The column of Parquet that holds the id of each box; row numbers of the whole source if not given.
    filters : sequence of str
        Columns of Parquet that filter pairs, each named as the filter that it holds: ``"group"``, ``"mask"``, ``"body"``,
        ``"parent"``, ``"fixed"``, ``"sleeping"``, ``"world"``; and ``"sphere"``, a column of lists of 4 numbers, in 2D of 3, the
        centre and the radius. See `broadsweep.Filters`.
    rule : {"any", "both"}
        The rule of groups and masks, as in `broadsweep.Filters`.
    memory_per_task : int, optional
        Bytes that a task may use, beyond the 0.2 GB of a Python process. Half of a worker's memory for each of its threads if
        not given. A tile has about one box for every 640 bytes (with spheres 840), or fewer where pairs are dense.
    giant_tiles : int
        Boxes that touch more tiles than this are giants. They are not copied to tiles, but searched against all boxes in a
        pass of their own, which reads the whole source again.
    device : str
        As for `broadsweep.BroadPhase`. With ``"auto"`` and ``"gpu"``, run one task at a time on each GPU.
    origin : 2 or 3 numbers, optional
        The point to subtract from boxes in double precision before they are rounded, for boxes far from the origin: numbers near
        them. A warning appears where it is needed.
    overwrite : bool
        True to delete the results of an earlier call in `out` first.
    progress : bool
        True to show the progress of each stage.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        For a source, a column or a number that has no meaning; where `out` has the pairs of another source or of other
        parameters; where the source changes during the call.
    FileExistsError
        Where `out` is a directory with other files.
    MemoryError
        If the boxes at one place do not fit a task, whatever the tiles.
    ImportError
        Without Dask: ``pip install broadsweep[dask]``.

    Notes
    -----
    `out` gets ``tile=000000/pairs.parquet`` and so on, with columns ``a`` and ``b`` of uint64, the smaller id first,
    ascending within a file. Pairs of giants are in ``tile=giants/``, of giants with each other, and in
    ``tile=giants-000000/``, one for each part of the source, ascending by giant within each batch of boxes that fits the
    memory. All of it is read with
    ``pyarrow.parquet.read_table(out)``, and piece by piece with ``pyarrow.dataset.dataset(out)``. A file is there whole or not at all;
    ``_summary.json`` is there once all are. Two calls write the same pairs, in the same order, to files
    of the same names.

    While it runs, ``out/_work`` holds the boxes of each tile: 32 bytes for each box and copy, 4 for each filter, and 16 for a sphere.

    A worker that dies is replaced by Dask, and its task is done again, up to ``distributed.scheduler.allowed-failures`` times.
    After an interruption, the same call goes on with what is missing. One process at a time may write to `out`.
    """
    distributed = _distributed()
    if isinstance(origin, str):
        raise ValueError(f"origin is {origin!r}; here it must be 2 or 3 numbers, as no task sees all boxes")
    requested = Columns(_names(columns), ids, _filter_names(filters), Space(origin).origin)
    if rule not in ("any", "both"):
        raise ValueError(f'rule is {rule!r}; it must be "any" or "both"')
    if giant_tiles < 8:
        raise ValueError(f"giant_tiles is {giant_tiles}; it must be at least 8, as many as the smallest box can touch")
    if memory_per_task is not None and memory_per_task < _LEAST_MEMORY:
        raise ValueError(f"memory_per_task is {memory_per_task}; it must be at least {_LEAST_MEMORY} bytes")
    folder = Path(os.path.abspath(os.fspath(out)))
    with _client(distributed, client) as client:
        return _Run(client, distributed, folder, progress).go(
            source, requested, rule, memory_per_task, giant_tiles, device, overwrite
        )


class _Run:
    """One call of `find_pairs`."""

    def __init__(self, client: Any, distributed: Any, out: Path, progress: bool) -> None:
        self.client, self.distributed, self.out, self.progress = client, distributed, out, progress
        self.seconds = {"sample": 0.0, "split": 0.0, "search": 0.0, "giants": 0.0}

    def go(
        self,
        source: Any,
        columns: Columns,
        rule: str,
        memory: int | None,
        giant_tiles: int,
        device: str,
        overwrite: bool,
    ) -> Summary:
        found = self._manifest()
        self._check_out(found, overwrite)
        if memory is None:
            same = found is not None and not overwrite
            memory = found["parameters"]["memory_per_task"] if same else _memory_per_task(self.client)
        job = Job(str(self.out), "", columns, memory, giant_tiles, rule, device, 0)
        parts, columns, fingerprint = _sources.parts_of(source, columns, job.most_boxes)
        job = replace(job, columns=columns, parts=len(parts))
        boxes = sum(part.count for part in parts)
        manifest = {
            "format": _FORMAT,
            "source": fingerprint,
            "parameters": {
                "columns": None if columns.boxes is None else list(columns.boxes),
                "ids": columns.ids,
                "filters": list(columns.filters),
                "origin": None if columns.origin is None else list(columns.origin),
                "rule": rule,
                "memory_per_task": memory,
                "giant_tiles": giant_tiles,
                "device": device,
            },
        }
        if found is not None and not overwrite:
            _check_same(found, manifest, self.out)
            manifest = found
        else:
            self._clear()
            manifest["broadsweep"] = __version__
            manifest["tiles"] = self._tiles(job, parts, boxes).nodes
            # The plan has a name, so that no task uses the tiles of another plan.
            manifest["plan"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
            _tasks.write_json(self.out / "_manifest.json", manifest, job.work("temporary"))
        job = replace(job, plan=manifest["plan"])
        summary = self._search(job, parts, len(Tiles(manifest["tiles"])), boxes)
        if _sources.parts_of(source, columns, job.most_boxes)[2] != fingerprint:
            raise ValueError(f"{source} changed while its pairs were searched; begin anew with overwrite=True")
        content = {**asdict(summary), "per_tile": [tile._asdict() for tile in summary.per_tile]}
        _tasks.write_json(self.out / "_summary.json", content, job.work("temporary"))
        shutil.rmtree(self.out / "_work", ignore_errors=True)
        return summary

    # ---- stages ----

    def _tiles(self, job: Job, parts: list[Part], boxes: int) -> Tiles:
        wanted = _SAMPLES_PER_TILE * boxes // job.most_boxes
        wanted = min(max(wanted, 1 << 16), _MOST_SAMPLES, boxes)
        counts = [-(-wanted * part.count // boxes) for part in parts]
        calls = [(k, _tasks.sample, (k, part, count)) for k, (part, count) in enumerate(zip(parts, counts))]
        texts = [text for warned in self._do("sample", job, calls) for text in warned]
        if texts:
            warn(texts[0])
        found = [np.load(job.work("sample", k, ".npy")) for k in range(len(parts))]
        sample = np.concatenate([np.empty((0, 6), np.float32), *found])
        weight = boxes / max(sum(counts), 1)
        tiles = plan(sample, max(weight, 1.0), job.most_boxes, job.most_candidates, job.giant_tiles)
        shutil.rmtree(job.work("sample"), ignore_errors=True)
        return tiles

    def _search(self, job: Job, parts: list[Part], tile_count: int, boxes: int) -> Summary:
        earlier = self._summary()
        times = {} if earlier is None else {tile.name: tile.seconds for tile in earlier.per_tile}
        reports = {name: _tasks.report_of(job, name, times) for name in map(_tasks.tile_name, range(tile_count))}
        if earlier is not None and earlier.giants:
            names = map(_tasks.giants_name, [None, *range(len(parts))])
            reports |= {name: _tasks.report_of(job, name, times) for name in names}
        if earlier is not None and None not in reports.values():
            done = tuple(report for report in reports.values() if report is not None)
            return replace(earlier, seconds=self.seconds, continued=len(done), per_tile=done)
        # `_summary.json` marks a complete output.
        (self.out / "_summary.json").unlink(missing_ok=True)
        shutil.rmtree(job.work("temporary"), ignore_errors=True)

        counts = self._do("split", job, [(k, _tasks.split, (k, part)) for k, part in enumerate(parts)])
        total = {name: sum(count[name] for count in counts) for name in ("boxes", "invalid", "giants", "entries", "bytes")}
        tile_boxes = self._tile_boxes(job, tile_count)
        if total["giants"]:
            reports |= {
                name: _tasks.report_of(job, name, times) for name in map(_tasks.giants_name, [None, *range(len(parts))])
            }
            self._check_capacity(job, "the giants", total["giants"] + job.most_boxes)
        todo = [tile for tile in range(tile_count) if reports[_tasks.tile_name(tile)] is None]
        for tile in todo:
            self._check_capacity(job, f"tile {tile}", int(tile_boxes[tile]))
        # The largest tiles first, so that none of them is left over at the end.
        todo.sort(key=lambda tile: -tile_boxes[tile])
        continued = sum(report is not None for report in reports.values())
        found = self._do("search", job, [(tile, _tasks.search_tile, (tile,)) for tile in todo])
        if total["giants"]:
            calls = [(None, _tasks.search_giants, (None, None))]
            calls += [(k, _tasks.search_giants, (k, part)) for k, part in enumerate(parts)]
            calls = [call for call in calls if reports[_tasks.giants_name(call[0])] is None]
            found += self._do("giants", job, calls)
        reports |= {report.name: report for report in found}
        other = [name for name in reports if _tasks.report_of(job, name) is None]
        if other:
            raise RuntimeError(f"tile {other[0]} in {self.out} was written by another call meanwhile; call again")
        return Summary(
            boxes=boxes,
            invalid=total["invalid"],
            giants=total["giants"],
            copies=total["entries"] - (boxes - total["invalid"] - total["giants"]),
            pairs=sum(report.pairs for report in reports.values()),
            tiles=tile_count,
            bytes_split=total["bytes"],
            memory_per_task=job.memory,
            seconds=self.seconds,
            continued=continued,
            per_tile=tuple(reports.values()),
        )

    def _do(self, stage: str, job: Job, calls: list[tuple[Any, Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
        """Do the tasks of a stage, and return their results in the order of the calls."""
        begin = time.perf_counter()
        # Use no key twice, since Dask would return the result of the first task with this key.
        run = os.urandom(4).hex()
        futures = {
            self.client.submit(call, job, *arguments, key=f"broadsweep-{stage}-{run}-{number}", pure=False): place
            for place, (number, call, arguments) in enumerate(calls)
        }
        results: list[Any] = [None] * len(calls)
        try:
            with _bar(self.progress and bool(calls), stage, len(calls)) as bar:
                # Read each result at once, since it is lost if its worker dies later.
                for future in self.distributed.as_completed(list(futures)):
                    results[futures[future]] = future.result()
                    future.release()
                    bar()
        finally:
            if any(result is None for result in results):
                self.client.cancel(list(futures))
        self.seconds[stage] += time.perf_counter() - begin
        return results

    def _tile_boxes(self, job: Job, tile_count: int) -> Any:
        counts = np.zeros(tile_count, np.int64)
        for k in range(job.parts):
            path = job.work("split", k, ".offsets.npy")
            if not path.exists():
                raise ValueError(f"a worker wrote {path}, and it is not here: workers and caller must share the disk of out")
            counts += np.diff(np.load(path), axis=1).sum(0)
        return counts

    def _check_capacity(self, job: Job, what: str, boxes: int) -> None:
        if boxes > job.most_rows:
            needed = -(-boxes * job.memory // job.most_rows // _MIB)
            raise MemoryError(
                f"{boxes:,} boxes of {what} lie where no cut parts them, and a task has memory for {job.most_rows:,}: "
                f"memory_per_task must be about {needed:,} MiB, and it is {job.memory // _MIB:,} MiB"
            )

    # ---- what is in out ----

    def _manifest(self) -> dict[str, Any] | None:
        path = self.out / "_manifest.json"
        return json.loads(path.read_text()) if path.exists() else None

    def _summary(self) -> Summary | None:
        path = self.out / "_summary.json"
        if not path.exists():
            return None
        content = json.loads(path.read_text())
        return Summary(**{**content, "per_tile": tuple(TileReport(**tile) for tile in content["per_tile"])})

    def _ours(self) -> list[Path]:
        # Delete the manifest last: it marks a partly deleted directory as ours.
        names = ("_summary.json", "_work", "_manifest.json")
        return [*self.out.glob("tile=*"), *(self.out / name for name in names if (self.out / name).exists())]

    def _check_out(self, found: dict[str, Any] | None, overwrite: bool) -> None:
        if not self.out.exists():
            return
        if not self.out.is_dir():
            raise FileExistsError(f"out is {self.out}, which is a file; it must be a directory")
        others = sorted({path.name for path in self.out.iterdir()} - {path.name for path in self._ours()})
        if others:
            raise FileExistsError(f"{self.out} has other files, such as {others[0]}; out must be a directory of its own")
        if found is None and not overwrite and next(self.out.glob("tile=*"), None) is not None:
            raise FileExistsError(f"{self.out} has tiles without _manifest.json; overwrite=True deletes them")

    def _clear(self) -> None:
        for path in self._ours():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _check_same(found: dict[str, Any], wanted: dict[str, Any], out: Path) -> None:
    """Refuse to continue a call with another source or other parameters."""
    differences = []
    if found["format"] != wanted["format"]:
        differences.append(f"its format is {found['format']}, and it is {wanted['format']} now")
    if found["source"] != wanted["source"]:
        before, now = ({file["path"]: file for file in each["source"]} for each in (found, wanted))
        changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
        path = changed[0] if changed else "the order of its files"
        differences.append(f"the source is another: {path} was {before.get(path)} and is {now.get(path)}")
    for name, value in wanted["parameters"].items():
        if found["parameters"].get(name) != value:
            differences.append(f"{name} was {found['parameters'].get(name)!r} and is {value!r}")
    if differences:
        raise ValueError(f"{out} belongs to another call: {'; '.join(differences)}. overwrite=True begins anew")


def _names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) not in (1, 4, 6):
        raise ValueError(f"columns has {len(names)} names; it must have 6, 4 in 2D, or 1 of a column of lists")
    return names


def _filter_names(filters: Sequence[str]) -> tuple[str, ...]:
    names = (filters,) if isinstance(filters, str) else tuple(filters)
    for name in names:
        if name not in FILTERS:
            raise ValueError(f"{name!r} is no filter that a column can hold; there are {', '.join(FILTERS)}")
    if "parent" in names and "body" not in names:
        # Without bodies, the index of a box is its body, and indices differ between tiles.
        raise ValueError("filters has parent without body: give each box its body too")
    return tuple(dict.fromkeys(names))


def _distributed() -> Any:
    try:
        import distributed
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError(f"broadsweep.dask needs Dask and pyarrow: pip install broadsweep[dask] ({error})") from error
    return distributed


@contextmanager
def _client(distributed: Any, client: Any) -> Iterator[Any]:
    """Return the requested client, or the current client, or a client of a cluster that ends with the call."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            pass
    if client is not None:
        if getattr(client, "asynchronous", False):
            raise ValueError("client is asynchronous; find_pairs needs one that is not")
        yield client
        return
    with distributed.LocalCluster(threads_per_worker=1) as cluster, distributed.Client(cluster) as client:
        yield client


def _memory_per_task(client: Any) -> int:
    """Return half of the memory that a worker has for each of its threads; 1 GiB if that is unknown."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] / worker["nthreads"] / 2 for worker in workers if worker["memory_limit"]]
    return max(int(min(limits, default=1 << 30)) // _MIB * _MIB, _LEAST_MEMORY)


@contextmanager
def _bar(shown: bool, stage: str, total: int) -> Iterator[Callable[[], object]]:
    if not shown:
        yield lambda: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("a progress bar needs tqdm: pip install broadsweep[dask], or progress=False") from error
    unit = {"sample": "part", "split": "part", "search": "tile", "giants": "part"}[stage]
    with tqdm(total=total, desc=f"broadsweep: {stage}", unit=unit) as bar:
        yield bar.update
