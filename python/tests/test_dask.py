"""Pairs of more boxes than one machine holds: the same as those of one call, whatever the tiles and whoever dies."""

import copy
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import brute_force, scene

import broadsweep as bs

distributed = pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

import broadsweep.dask as bd  # noqa: E402
from broadsweep.dask import _sources, _tasks, _tiles  # noqa: E402

SMALL = 1 << 18  # memory of a task that holds 512 boxes: a few thousand boxes make many tiles
INFINITY = np.float32(np.inf)


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def find(client, tmp_path):
    """Write boxes to a file and find their pairs."""

    def find(boxes, *, memory=SMALL, **more):
        np.save(tmp_path / "boxes.npy", boxes)
        return bd.find_pairs(
            tmp_path / "boxes.npy", tmp_path / "out", client=client, memory_per_task=memory, progress=False, **more
        )

    find.out = tmp_path / "out"
    return find


def pairs_of(out):
    """Return all pairs of an output, ascending."""
    table = pq.read_table(out)
    assert table.schema.names == ["a", "b", "tile"]
    pairs = np.stack([table[name].to_numpy() for name in "ab"], 1)
    return pairs[np.lexsort(pairs.T[::-1])]


def assert_same(out, expected):
    found = pairs_of(out)
    assert found.dtype == np.uint64
    assert len(found) == len(expected) and (found == expected).all()


def tables_of(out):
    """Return the pairs of each file, in their order."""
    return {str(path.relative_to(out)): pq.ParquetFile(path).read().to_pydict() for path in out.glob("tile=*/*")}


def files_of(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("tile=*/*")}


def write_parquet(path, boxes, *, rows=300, names=_sources.IN_3D, **more):
    columns = {name: boxes[:, k] for k, name in enumerate(names)}
    pq.write_table(pa.table({**columns, **more}), path, row_group_size=rows)


# ---- what is found ----


def giants_and_small():
    boxes = scene(4000, 3, 0.02)
    boxes[::400, :3], boxes[::400, 3:] = 0, 1
    boxes[7::1000, 0], boxes[7::1000, 3] = -INFINITY, INFINITY
    return boxes


def lattice():
    """Boxes whose faces lie on each other, and so on the cuts."""
    at = np.stack(np.meshgrid(*[np.arange(14, dtype=np.float32)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return np.hstack([at, at + 1])


def at_infinity():
    boxes = scene(3000, 4, 0.05)
    rng = np.random.default_rng(4)
    for column, value in ((0, -INFINITY), (3, INFINITY), (1, -INFINITY), (5, INFINITY)):
        boxes[rng.choice(3000, 40, False), column] = value
    boxes[:30], boxes[30:60] = INFINITY, -INFINITY
    return boxes


def with_invalid():
    boxes = scene(3000, 5, 0.08)
    boxes[::50, 1] = np.nan
    boxes[25::50, 2], boxes[25::50, 5] = 2, 1
    return boxes


def many_at_one_corner():
    boxes = scene(3000, 6, 0.05)
    boxes[::3, :3] = 0.25
    boxes[::3, 3:] = np.maximum(boxes[::3, 3:], 0.25)
    return boxes


SCENES = {
    "uniform": lambda: scene(6000, 1, 0.06),
    "dense": lambda: scene(2000, 2, 0.6),
    "identical": lambda: np.tile(np.array([0, 0, 0, 1, 1, 1], np.float32), (900, 1)),
    "points": lambda: np.repeat(np.round(scene(3000, 7, 0)[:, :3], 1), 1, 0)[:, [0, 1, 2, 0, 1, 2]],
    "giants and small": giants_and_small,
    "lattice": lattice,
    "at infinity": at_infinity,
    "with invalid": with_invalid,
    "many at one corner": many_at_one_corner,
    "twice": lambda: np.repeat(scene(1500, 8, 0.08), 2, 0),
    "flat": lambda: scene(4000, 9, 0.03) * np.array([1, 1, 0, 1, 1, 0], np.float32),
    "zeros of both signs": lambda: np.where(scene(2500, 10, 0.1) < 0.5, np.float32(-0.0), 0)[:, [0, 1, 2, 0, 1, 2]]
    + scene(2500, 11, 0.1) * np.array([0, 0, 1, 0, 0, 1], np.float32),
}


@pytest.mark.parametrize("name", SCENES)
def test_pairs_are_those_of_one_call(find, name):
    boxes = SCENES[name]()
    summary = find(boxes, giant_tiles=8)
    expected = bs.find_pairs(boxes, device="cpu")
    assert_same(find.out, expected)
    valid = (boxes[:, :3] <= boxes[:, 3:]).all(1)
    assert (summary.boxes, summary.pairs, summary.invalid) == (len(boxes), len(expected), (~valid).sum())
    assert summary.pairs == sum(tile.pairs for tile in summary.per_tile)
    assert summary.tiles > 1 or name == "identical" or name == "dense"
    assert not (find.out / "_work").exists()
    if name == "giants and small":
        assert summary.giants >= 10
        assert (find.out / "tile=giants" / "pairs.parquet").exists()


def test_a_summary_survives_pickle_and_copy(find):
    summary = find(scene(300))
    for copied in (pickle.loads(pickle.dumps(summary)), copy.copy(summary), copy.deepcopy(summary)):
        assert copied == summary and str(copied) == str(summary) and copied.per_tile[0].name == summary.per_tile[0].name


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_boxes_have_their_pairs(find, n):
    boxes = np.tile(np.array([0, 0, 0, 1, 1, 1], np.float32), (n, 1))
    summary = find(boxes)
    assert_same(find.out, brute_force(boxes))
    assert (summary.boxes, summary.tiles, summary.pairs) == (n, 1, n * (n - 1) // 2)


def test_pairs_are_ascending_within_a_tile(find):
    find(scene(5000, 1, 0.3), memory=1 << 17)
    for path in find.out.glob("tile=*/pairs.parquet"):
        table = pq.read_table(path, partitioning=None)
        a, b = (table[name].to_numpy() for name in "ab")
        assert (a < b).all()
        assert ((a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] > b[:-1]))).all()


def test_two_calls_write_the_same_pairs_in_the_same_order(find, tmp_path):
    boxes = giants_and_small()
    find(boxes, giant_tiles=8)
    first = tables_of(find.out)
    shutil.rmtree(find.out)
    # The files also name the plan, and with it the time of the source.
    find(boxes, giant_tiles=8)
    assert tables_of(find.out) == first and len(first) > 10


def test_without_a_client_a_cluster_is_started_for_the_call(tmp_path):
    np.save(tmp_path / "boxes.npy", scene(2000, 1, 0.1))
    (tmp_path / "script.py").write_text(
        "import sys, broadsweep.dask\n"
        "if __name__ == '__main__':\n"
        "    print(broadsweep.dask.find_pairs(*sys.argv[1:]))\n"
    )
    command = [sys.executable, *(str(tmp_path / name) for name in ("script.py", "boxes.npy", "out"))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    expected = bs.find_pairs(scene(2000, 1, 0.1), device="cpu")
    assert f"{len(expected):,} pairs of 2,000 boxes" in result.stdout
    assert "broadsweep: search: 100%" in result.stderr
    assert_same(tmp_path / "out", expected)


# ---- sources ----


def test_parquet_in_many_files_with_ids(client, tmp_path):
    boxes = scene(5000, 1, 0.06)
    ids = np.random.default_rng(1).permutation(5000).astype(np.uint64) + np.uint64(1 << 63)
    (tmp_path / "in" / "_hidden").mkdir(parents=True)
    for k in range(5):
        rows = slice(1000 * k, 1000 * k + 1000)
        write_parquet(tmp_path / "in" / f"{k}.parquet", boxes[rows], name=ids[rows])
    shutil.copy(tmp_path / "in" / "0.parquet", tmp_path / "in" / "_hidden" / "0.parquet")
    bd.find_pairs(tmp_path / "in", tmp_path / "out", client=client, ids="name", memory_per_task=SMALL, progress=False)
    expected = np.sort(ids[bs.find_pairs(boxes, device="cpu")], 1)
    assert_same(tmp_path / "out", expected[np.lexsort(expected.T[::-1])])


def test_a_row_group_that_is_larger_than_a_task(client, tmp_path):
    boxes = giants_and_small()
    write_parquet(tmp_path / "boxes.parquet", boxes, rows=1 << 20)
    summary = bd.find_pairs(
        tmp_path / "*.parquet", tmp_path / "out", client=client, memory_per_task=SMALL, giant_tiles=8, progress=False
    )
    assert summary.giants
    assert_same(tmp_path / "out", bs.find_pairs(boxes, device="cpu"))


def test_a_column_of_lists_and_one_of_two_dimensions(client, tmp_path):
    boxes = scene(2000, 1, 0.1).astype(np.float64)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(boxes.reshape(-1)), 6)
    pq.write_table(pa.table({"box": lists}), tmp_path / "lists.parquet")
    write_parquet(tmp_path / "flat.parquet", boxes[:, [0, 1, 3, 4]], names=("w", "s", "e", "n"))
    for name, columns, expected in (
        ("lists", "box", boxes),
        ("flat", ("w", "s", "e", "n"), boxes[:, [0, 1, 3, 4]]),
    ):
        bd.find_pairs(
            tmp_path / f"{name}.parquet",
            tmp_path / name,
            columns=columns,
            client=client,
            memory_per_task=SMALL,
            progress=False,
        )
        assert_same(tmp_path / name, bs.find_pairs(expected, device="cpu"))


def test_doubles_are_rounded_outward_before_tiles_are_chosen(find):
    # Faces of neighbours are about the distance of two floats apart: many boxes touch only because they are rounded
    # outward.
    boxes = lattice().astype(np.float64) + 1
    boxes[:, :3] += np.random.default_rng(1).random((len(boxes), 3)) * 3e-7
    boxes[:, 3:] -= 1e-7
    find(boxes)
    expected = bs.find_pairs(boxes, device="cpu")
    assert_same(find.out, expected)
    assert len(expected) > 1.1 * len(bs.find_pairs(boxes.astype(np.float32), device="cpu"))


def test_arrays_of_corners_and_of_the_plane(find):
    boxes = scene(3000, 1, 0.1)
    find(boxes.reshape(-1, 2, 3))
    assert_same(find.out, bs.find_pairs(boxes, device="cpu"))
    flat = np.ascontiguousarray(boxes[:, [0, 1, 3, 4]])
    find(flat, overwrite=True)
    assert_same(find.out, bs.find_pairs(flat, device="cpu"))


def test_zarr(client, tmp_path):
    zarr = pytest.importorskip("zarr")
    boxes = scene(4000, 1, 0.06)
    path = str(tmp_path / "boxes.zarr")
    array = zarr.open(path, mode="w", shape=boxes.shape, chunks=(300, 6), dtype=boxes.dtype)
    array[:] = boxes
    bd.find_pairs(path, tmp_path / "out", client=client, memory_per_task=SMALL, progress=False)
    assert_same(tmp_path / "out", bs.find_pairs(boxes, device="cpu"))


def test_filters_are_columns(client, tmp_path):
    boxes = giants_and_small()
    rng = np.random.default_rng(2)
    said = {
        "world": rng.integers(-1, 3, 4000).astype(np.int32),
        "group": rng.integers(0, 4, 4000).astype(np.uint32),
        "mask": rng.integers(0, 4, 4000).astype(np.uint32),
        "body": rng.integers(0, 300, 4000).astype(np.int64),
        "fixed": rng.random(4000) < 0.5,
    }
    write_parquet(tmp_path / "boxes.parquet", boxes, **said)
    bd.find_pairs(
        tmp_path / "boxes.parquet",
        tmp_path / "out",
        client=client,
        filters=tuple(said),
        rule="both",
        memory_per_task=SMALL,
        giant_tiles=8,
        progress=False,
    )
    assert_same(tmp_path / "out", bs.find_pairs(boxes, filters=bs.Filters(**said, rule="both"), device="cpu"))


@pytest.mark.parametrize("dtype, origin", [(np.float32, None), (np.float64, (5e6, 4e6, -3e6))])
def test_spheres_are_a_column_of_lists(client, tmp_path, dtype, origin):
    boxes = giants_and_small().astype(dtype)
    # Half as wide as the boxes; a tenth of the boxes have none.
    at = np.where(np.isfinite(boxes), boxes, 0)
    spheres = np.hstack([(at[:, :3] + at[:, 3:]) / 2, (at[:, 3:] - at[:, :3]).mean(1, keepdims=True) / 4]).astype(dtype)
    spheres[5::10, 3] = np.inf
    shift = np.zeros(3) if origin is None else np.array(origin)
    boxes += np.tile(shift, 2).astype(dtype)
    spheres[:, :3] += shift.astype(dtype)
    lists, body = pa.FixedSizeListArray.from_arrays(pa.array(spheres.reshape(-1)), 4), np.arange(len(boxes)) // 2
    write_parquet(tmp_path / "boxes.parquet", boxes, sphere=lists, body=body)
    summary = bd.find_pairs(
        tmp_path / "boxes.parquet",
        tmp_path / "out",
        client=client,
        filters=("sphere", "body"),
        memory_per_task=SMALL,
        giant_tiles=8,
        origin=origin,
        progress=False,
    )
    expected = bs.find_pairs(boxes, filters=bs.Filters(sphere=spheres, body=body), device="cpu", origin=origin)
    assert_same(tmp_path / "out", expected)
    without = bs.find_pairs(boxes, filters=bs.Filters(body=body), device="cpu", origin=origin)
    assert summary.tiles > 1 and summary.giants and 100 < len(expected) < 0.9 * len(without)


# ---- what is refused ----


@pytest.mark.parametrize(
    "make, more, says",
    [
        (lambda path: np.save(path, np.zeros((4, 5))), {}, r"boxes\.npy must have the shape .* not \(4, 5\)"),
        (lambda path: np.save(path, np.zeros((4, 6), complex)), {}, "boxes.npy must be float32.* not complex128"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"ids": "name"}, "no column 'name'"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"filters": ["margin"]}, "'margin' is no filter"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"memory_per_task": 100}, "memory_per_task is 100"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"giant_tiles": 1}, "giant_tiles is 1"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"rule": "none"}, "rule is 'none'"),
        (lambda path: np.save(path, np.zeros((4, 6))), {"columns": ["x", "y"]}, "columns has 2 names"),
    ],
)
def test_what_has_no_meaning_is_refused(client, tmp_path, make, more, says):
    make(tmp_path / "boxes.npy")
    with pytest.raises(ValueError, match=says):
        bd.find_pairs(tmp_path / "boxes.npy", tmp_path / "out", client=client, progress=False, **more)
    assert not (tmp_path / "out").exists()


def rows_of(row, width):
    return pa.array([row], pa.list_(pa.float64(), width))


def with_spheres(spheres):
    return {**{name: [1.0] for name in _sources.IN_3D}, "sphere": spheres}


@pytest.mark.parametrize(
    "columns, more, says",
    [
        ({"x": [1.0]}, {}, "no columns min_x.* it has x"),
        ({**{name: [1.0] for name in _sources.IN_3D}, "min_x": ["a"]}, {}, "min_x of .* must be float32.* not string"),
        ({name: [1.0] for name in _sources.IN_3D}, {"ids": "name"}, "no column 'name'"),
        ({**{name: [1.0] for name in _sources.IN_3D}, "name": [0.5]}, {"ids": "name"}, "name of .* must be integers"),
        ({**{name: [1.0] for name in _sources.IN_3D}, "name": [-1]}, {"ids": "name"}, "name of .* has -1"),
        ({**{name: [1.0] for name in _sources.IN_3D}, "world": [-2]}, {"filters": ["world"]}, "world has -2"),
        ({"box": [[1.0] * 6]}, {"columns": "box"}, "box of .* must be lists .* of a fixed size"),
        (with_spheres([[1.0] * 4]), {"filters": ["sphere"]}, "sphere of .* must be lists of 4 numbers"),
        (with_spheres(rows_of([1.0] * 6, 6)), {"filters": ["sphere"]}, "sphere of .* must be lists of 4"),
        (with_spheres(rows_of([1.0] * 3, 3)), {"filters": ["sphere"]}, "is in 2D"),
        (with_spheres(rows_of(None, 4)), {"filters": ["sphere"]}, "1 spheres are null"),
        (with_spheres(rows_of([0.0, 0, 0, -1], 4)), {"filters": ["sphere"]}, r"has \[0.0, 0.0, 0.0, -1"),
    ],
)
def test_columns_that_have_no_meaning_are_refused(client, tmp_path, columns, more, says):
    pq.write_table(pa.table(columns), tmp_path / "boxes.parquet")
    with pytest.raises(ValueError, match=says):
        bd.find_pairs(tmp_path / "boxes.parquet", tmp_path / "out", client=client, progress=False, **more)


def test_other_sources_are_refused(client, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no source"):
        bd.find_pairs(tmp_path / "nothing.npy", tmp_path / "out", client=client)
    with pytest.raises(ValueError, match="source is ndarray"):
        bd.find_pairs(scene(4), tmp_path / "out", client=client)


def test_a_directory_with_other_files_is_left_alone(client, tmp_path):
    np.save(tmp_path / "boxes.npy", scene(10))
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"other files, such as boxes\.npy"):
            bd.find_pairs(tmp_path / "boxes.npy", tmp_path, client=client, overwrite=overwrite)
    assert (tmp_path / "boxes.npy").exists()


def test_boxes_at_one_place_that_do_not_fit_are_refused_with_numbers(find):
    with pytest.raises(MemoryError, match=r"4,000 boxes of tile 0 .* memory_per_task must be about"):
        find(np.tile(np.array([0, 0, 0, 1, 1, 1], np.float32), (4000, 1)), memory=1 << 18)
    assert not list(find.out.glob("tile=*/*")) and not (find.out / "_summary.json").exists()


def test_without_dask_the_error_names_the_package_to_install():
    script = "import sys; sys.modules['distributed'] = None; import broadsweep.dask as d; d.find_pairs('a.npy', 'b')"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "pip install broadsweep[dask]" in result.stderr


# ---- interruptions ----


def test_another_source_or_other_parameters_are_refused(find):
    boxes = scene(3000, 1, 0.06)
    find(boxes)
    before = files_of(find.out)
    with pytest.raises(ValueError, match="giant_tiles was 64 and is 70.*overwrite=True"):
        find_again(find, giant_tiles=70)
    with pytest.raises(ValueError, match="the source is another: .*boxes.npy"):
        find(boxes + 1)
    assert files_of(find.out) == before
    find(boxes + 1, overwrite=True)
    assert_same(find.out, bs.find_pairs(boxes + 1, device="cpu"))


def find_again(find, **more):
    """Find pairs again without writing the source."""
    source = find.out.parent / "boxes.npy"
    return bd.find_pairs(source, find.out, **{"memory_per_task": SMALL, "progress": False, **more})


def test_a_call_goes_on_where_an_earlier_one_was_interrupted(find):
    boxes = giants_and_small()
    done = find(boxes, giant_tiles=8)
    whole = files_of(find.out)
    lost = sorted(path for path in find.out.glob("tile=*/*"))[::3]
    times = {path: path.stat().st_mtime_ns for path in find.out.glob("tile=*/*") if path not in lost}
    for path in lost:
        path.unlink()
    # Files of a worker that was killed during a write.
    temporary = find.out / "_work" / "temporary" / "pairs.parquet.0123"
    temporary.parent.mkdir(parents=True)
    temporary.write_bytes(whole["tile=000000/pairs.parquet"][:50])
    split = find.out / "_work" / f"split-{json.loads((find.out / '_manifest.json').read_text())['plan'][:16]}"
    split.mkdir()
    (split / "000000.rows").write_bytes(b"half")

    again = find_again(find, giant_tiles=8)
    assert files_of(find.out) == whole
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    assert again.continued == len(times) and len(lost) > 3
    assert [tile[:3] for tile in again.per_tile] == [tile[:3] for tile in done.per_tile]
    assert not (find.out / "_work").exists()
    assert_same(find.out, bs.find_pairs(boxes, device="cpu"))


def test_a_task_whose_answer_was_lost_is_not_done_again(find):
    summary = find(scene(3000, 1, 0.06))
    manifest = json.loads((find.out / "_manifest.json").read_text())
    columns = _sources.Columns(None, None, ())
    job = _tasks.Job(str(find.out), manifest["plan"], columns, SMALL, 64, "any", "cpu", 6)
    # The files that it would have to read are deleted.
    assert _tasks.search_tile(job, 2)[:3] == summary.per_tile[2][:3]


def test_a_file_that_was_not_finished_is_not_there(tmp_path):
    path = tmp_path / "tile" / "pairs.parquet"
    with pytest.raises(RuntimeError), _tasks.whole(path, tmp_path / "temporary") as name:
        with open(name, "w") as file:
            file.write("half")
        assert not path.exists()
        raise RuntimeError
    assert not path.exists() and not os.listdir(tmp_path / "temporary")
    with _tasks.whole(path, tmp_path / "temporary") as name, open(name, "w") as file:
        file.write("all")
    assert path.read_text() == "all" and not os.listdir(tmp_path / "temporary")


def test_a_call_that_is_done_is_answered_from_its_summary(find, monkeypatch):
    first = find(scene(3000, 1, 0.06))
    monkeypatch.setattr(bd._Run, "_do", lambda *_: pytest.fail("a task was started"))
    again = find_again(find, memory_per_task=None)
    assert again.pairs == first.pairs and again.per_tile == first.per_tile
    assert again.continued == first.tiles
    assert json.loads((find.out / "_summary.json").read_text())["pairs"] == first.pairs


def test_a_source_that_changes_during_the_call_is_noticed(find, monkeypatch):
    do = bd._Run._do

    def change(self, stage, *rest):
        if stage == "search":
            os.utime(find.out.parent / "boxes.npy")
        return do(self, stage, *rest)

    monkeypatch.setattr(bd._Run, "_do", change)
    with pytest.raises(ValueError, match="changed while its pairs were searched"):
        find(scene(1000))
    assert not (find.out / "_summary.json").exists()


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path):
    boxes = scene(300_000, 1, 0.03)
    np.save(tmp_path / "boxes.npy", boxes)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        processes = set(client.run(os.getpid).values())
        killed = []

        def kill():
            while not killed:
                if len(list((tmp_path / "out").glob("tile=*/*"))) >= 3:
                    killed.append((min(processes), len(list((tmp_path / "out").glob("tile=*/*")))))
                    os.kill(killed[0][0], signal.SIGKILL)
                time.sleep(0.001)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        summary = bd.find_pairs(
            tmp_path / "boxes.npy", tmp_path / "out", client=client, memory_per_task=1 << 22, progress=False
        )
        thread.join(10)
        client.wait_for_workers(2)
        left = set(client.run(os.getpid).values())
    assert killed and killed[0][1] < summary.tiles, "nobody was killed in the middle"
    assert killed[0][0] in processes and killed[0][0] not in left
    assert_same(tmp_path / "out", bs.find_pairs(boxes, device="cpu"))


# ---- tiles ----


def region_of(regions, corner):
    """Return the tiles whose regions have this point, by the rule of owner regions."""
    low, high = regions[:, :3], regions[:, 3:]
    return np.flatnonzero(((low <= corner) & ((corner < high) | ((high == INFINITY) & (low < high)))).all(1))


def check_tiles(boxes, tiles):
    """Check that tiles partition space, and that each pair is found in one of them, which both boxes touch."""
    regions = tiles.regions()
    assert (regions[:, :3] < regions[:, 3:]).all()
    rows, offsets, giants = tiles.touched(boxes)
    assert not len(giants) and len(offsets) == len(tiles) + 1
    members = [set(rows[begin:end].tolist()) for begin, end in zip(offsets[:-1], offsets[1:])]
    assert all(list(rows[begin:end]) == sorted(rows[begin:end]) for begin, end in zip(offsets[:-1], offsets[1:]))
    points = np.concatenate([boxes[:, :3], boxes[:, 3:], regions[:, :3], regions[:, 3:]])
    for point in points:
        assert len(region_of(regions, point)) == 1, point
    found = []
    for tile, region in enumerate(regions):
        own = np.array(sorted(members[tile]), np.int64)
        pairs = bs.find_pairs(boxes[own], filters=bs.Filters(owner=region), device="cpu")
        found.append(own[pairs])
    found = np.concatenate(found)
    found = found[np.lexsort(found.T[::-1])]
    expected = bs.find_pairs(boxes, device="cpu")
    assert len(found) == len(expected) and (found == expected).all()


def test_tiles_partition_space_whatever_the_boxes():
    hypothesis = pytest.importorskip("hypothesis")
    st, extra = hypothesis.strategies, pytest.importorskip("hypothesis.extra.numpy")
    few = st.sampled_from([float("-inf"), -3e38, -1.0, -0.0, 0.0, 1e-40, 0.5, 1.0, 1.5, 2.0, 3e38, float("inf")])
    any_number = st.floats(width=32, allow_nan=False)
    numbers = st.one_of(few, any_number)

    @hypothesis.settings(max_examples=150, deadline=None)
    @hypothesis.given(
        corners=extra.arrays(np.float32, st.tuples(st.integers(0, 40), st.just(2), st.just(3)), elements=numbers),
        most=st.integers(1, 12),
        sampled=st.integers(1, 3),
    )
    def check(corners, most, sampled):
        boxes = np.concatenate([corners.min(1), corners.max(1)], 1)
        tiles = _tiles.plan(boxes[::sampled], float(sampled), most, 1 << 20, 8)
        check_tiles(boxes, tiles)

    check()


def test_tiles_fit_their_budget():
    boxes = scene(20_000, 1, 0.01)
    tiles = _tiles.plan(boxes, 1.0, 1000, 1 << 40, 64)
    rows, offsets, _ = tiles.touched(boxes)
    sizes = np.diff(offsets)
    assert sizes.max() <= 1000 and sizes.mean() > 400
    assert len(rows) < 1.25 * len(boxes)


def test_boxes_at_one_place_make_no_tiles_without_end():
    boxes = np.tile(np.array([1, 1, 1, 2, 2, 2], np.float32), (5000, 1))
    assert len(_tiles.plan(boxes, 1.0, 10, 1 << 40, 64)) == 1
    # Every other box begins where all cuts would be first looked for.
    mixed = scene(4000, 1, 0.001)
    mixed[::2] = 0.5
    sizes = np.diff(_tiles.plan(mixed, 1.0, 200, 1 << 40, 64).touched(mixed)[1])
    assert np.sort(sizes)[-2] <= 200 and sizes.max() < 2200


def test_giants_do_not_keep_tiles_from_being_cut():
    boxes = scene(10_000, 1, 0.002)
    boxes[::10, :3], boxes[::10, 3:] = 0, 1
    tiles = _tiles.plan(boxes, 1.0, 500, 1 << 40, 16)
    rows, offsets, giants = tiles.touched(boxes, giant_tiles=16)
    assert (giants == np.arange(0, 10_000, 10)).all()
    assert np.diff(offsets).max() <= 500 and len(rows) < 1.2 * 9000


def test_dense_boxes_make_smaller_tiles():
    sparse, dense = (_tiles.plan(scene(4000, 1, edge), 100.0, 200_000, 1_000_000, 64) for edge in (0.001, 0.1))
    assert len(dense) > 2 * len(sparse)


@pytest.mark.parametrize("most", [64, 300, 5000])
def test_a_tile_in_pieces_has_its_pairs_in_order(monkeypatch, most):
    """Few candidates at once, so that boxes are searched a few at a time, each with those that come after."""
    boxes = scene(1500, 2, 0.5)
    boxes[700:760] = [0, 0, 0, 1, 1, 1]
    columns = _sources.Columns(_sources.IN_3D, None, ())
    rows = np.empty(len(boxes), columns.row())
    rows["bounds"], rows["id"] = boxes, np.arange(len(boxes)) * 3
    job = _tasks.Job("", "", columns, 1 << 18, 64, "any", "cpu", 0)
    monkeypatch.setattr(_tasks.Job, "most_candidates", 20_000)
    monkeypatch.setattr(_tasks.Job, "most_boxes", most)
    pieces = [bs.id_pairs(pairs, ids) for pairs, ids in _tasks._ascending(job, rows)]
    assert max(map(len, pieces)) <= 20_000 and len(pieces) > 10
    found, expected = np.concatenate(pieces), 3 * bs.find_pairs(boxes, device="cpu").astype(np.uint64)
    assert len(found) == len(expected) and (found == expected).all()

    giants = [bs.id_pairs(pairs, ids) for pairs, ids in _tasks._ascending(job, rows, giants=90)]
    found = np.concatenate(giants)
    expected = expected[(expected[:, 0] < 270) & (expected[:, 1] >= 270)]
    assert max(map(len, giants)) <= 20_000
    assert len(found) == len(expected) and (found == expected).all()


def test_a_join_has_no_more_pairs_than_its_capacity(monkeypatch):
    """Boxes at one place meet all others: a join of many of them must be refused before its pairs are listed."""
    boxes = scene(30_000, 2, 0.001)
    boxes[10_000:20_000] = [0, 0, 0, 1, 1, 1]
    longest = []

    class Engine(bs.BroadPhase):
        def find_pairs_between(self, first, second):
            try:
                pairs = super().find_pairs_between(first, second)
            except bs.CandidateLimitError as error:
                longest.append(int(re.match(r"\d+", str(error))[0]))
                raise
            longest.append(len(pairs))
            return pairs

    columns = _sources.Columns(_sources.IN_3D, None, ())
    rows = np.empty(len(boxes), columns.row())
    rows["bounds"], rows["id"] = boxes, np.arange(len(boxes))
    job = _tasks.Job("", "", columns, 1 << 18, 64, "any", "cpu", 0)
    monkeypatch.setattr(_tasks, "BroadPhase", Engine)
    monkeypatch.setattr(_tasks.Job, "most_candidates", 2_000_000)
    monkeypatch.setattr(_tasks.Job, "most_boxes", 30_000)
    # The first two pieces are enough: they end where the boxes at one place begin.
    pieces = _tasks._ascending(job, rows)
    count = sum(len(next(pieces)[0]) for _ in range(2))
    assert count > 1_000_000 and max(longest) <= 3_000_000


@pytest.mark.parametrize("names", [("group", "mask"), ("mask",), ("body",), ("body", "parent"), ("world",), ("fixed",), ("sleeping",)])
def test_each_filter_passes_the_pairs_of_one_call(client, tmp_path, names):
    boxes, rng = scene(1500, 31, 0.1), np.random.default_rng(32)
    lists = {
        "group": rng.integers(0, 8, 1500, np.uint32),
        "mask": rng.integers(0, 8, 1500, np.uint32),
        "body": rng.integers(0, 500, 1500, np.uint32),
        "parent": rng.integers(0, 500, 1500, np.uint32),
        "world": rng.integers(0, 3, 1500, np.uint32),
        "fixed": rng.random(1500) < 0.5,
        "sleeping": rng.random(1500) < 0.5,
    }
    used = {name: lists[name] for name in names}
    write_parquet(tmp_path / "boxes.parquet", boxes, **used)
    out = tmp_path / "out"
    summary = bd.find_pairs(
        tmp_path / "boxes.parquet", out, client=client, filters=names, memory_per_task=SMALL, progress=False
    )
    expected = bs.find_pairs(boxes, filters=bs.Filters(**used), device="cpu")
    assert summary.tiles > 1 and len(expected) < len(brute_force(boxes))
    assert_same(out, expected)


def test_parents_without_bodies_are_refused(tmp_path):
    with pytest.raises(ValueError, match="body"):
        bd.find_pairs(tmp_path / "boxes.parquet", tmp_path / "out", filters=("parent",))


def test_what_a_task_of_another_plan_left_is_found_anew(find):
    boxes = scene(3000, 33, 0.06)
    find(boxes)
    whole = files_of(find.out)
    manifest = json.loads((find.out / "_manifest.json").read_text())
    job = _tasks.Job(str(find.out), "another", _sources.Columns(None, None, ()), 1 << 20, 8, "any", "cpu", 1)
    with pytest.raises(RuntimeError, match="anew"):
        _tasks._write_pairs(job, _tasks.tile_name(0), lambda: iter([7]))
    # The same without the check that it just ran into.
    (find.out / "_manifest.json").write_text(json.dumps({**manifest, "plan": "another"}))
    (find.out / "tile=000000" / "pairs.parquet").unlink()
    _tasks._write_pairs(job, _tasks.tile_name(0), lambda: iter([7]))
    (find.out / "_manifest.json").write_text(json.dumps(manifest, indent=1))
    assert files_of(find.out) != whole
    find_again(find)
    assert files_of(find.out) == whole


def in_utm(n=3000):
    """Return boxes in coordinates of a map, float64, and the same near the origin, which float32 holds."""
    lower = np.random.default_rng(20).integers(0, 1000 * 1024, (n, 2)) / 1024
    near = np.hstack([lower, lower + 4])
    return near + np.array([5e5, 5e6, 5e5, 5e6]), near


def test_boxes_far_from_the_origin_are_warned_of_and_have_their_own_pairs_with_one(find, client, tmp_path):
    far, near = in_utm()
    with pytest.warns(UserWarning, match="float64 to float32 .* `origin`"):
        assert find(far).pairs > len(bs.find_pairs(near, device="cpu"))
    expected = bs.find_pairs(near, device="cpu")
    find(far, origin=(5e5, 5e6), overwrite=True)
    assert_same(find.out, expected)
    with pytest.raises(ValueError, match="origin"):
        find(far)
    table = pa.table(dict(zip(_sources.IN_2D, far.T)))
    pq.write_table(table, tmp_path / "boxes.parquet")
    bd.find_pairs(tmp_path / "boxes.parquet", tmp_path / "other", client=client, progress=False, origin=[5e5, 5e6])
    assert_same(tmp_path / "other", expected)


@pytest.mark.parametrize("origin", ["auto", (1,), (1, 2, 3), (np.nan, 0)])
def test_an_origin_that_does_not_fit_is_refused(find, origin):
    with pytest.raises(ValueError, match="origin|dimension"):
        find(in_utm(10)[0], origin=origin)


def test_arrays_of_two_dimensions_are_refused(client, tmp_path):
    np.save(tmp_path / "a.npy", scene(10))
    np.save(tmp_path / "b.npy", scene(10)[:, [0, 1, 3, 4]])
    with pytest.raises(ValueError, match="b.npy is in 2D"):
        bd.find_pairs([tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "out", client=client, progress=False)
