"""The program that compares Warp and Newton with this library, on Warp's CPU device."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import brute_force, scene

import broadsweep as bs

pytest.importorskip("newton")
PROGRAM = Path(__file__).parents[2] / "benches/cuda_peers.py"
if not PROGRAM.exists():
    pytest.skip("an installed package has no benches/cuda_peers.py", allow_module_level=True)

SPEC = importlib.util.spec_from_file_location("cuda_peers", PROGRAM)
peers = sys.modules["cuda_peers"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(peers)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile the kernels before a call is measured, since a slow first call is the only one of its rival."""
    peers.compile_kernels("cpu")


def on_cpu(boxes):
    return peers.Scene("boxes", boxes, "cpu")


def counts(row):
    return [row.result[key] for key in ("missing", "extra", "doubled")]


@pytest.fixture
def sizes():
    """Boxes of many sizes: most are small, and a few are large."""
    boxes = scene(600, edge=0.05)
    boxes[::50, 3:] += np.float32(0.4)
    return boxes


def test_the_exact_pairs_are_those_of_a_double_loop(sizes):
    assert np.array_equal(on_cpu(sizes).exact, peers.keys(brute_force(sizes)))


@pytest.mark.parametrize("name", ["Warp Bvh", "Warp HashGrid (largest edge)", "Newton NxN"])
def test_a_rival_that_is_complete_has_no_pair_missing_extra_or_doubled(name, sizes):
    for boxes in (sizes, peers.rods(600)):
        row = peers.of_rival(name, on_cpu(boxes))
        assert counts(row) == [0, 0, 0]
        assert row.result["order"] == "same"


def test_the_count_of_a_tree_is_compared_too(sizes):
    assert peers.of_rival(peers.COUNTS_ONLY, on_cpu(sizes)).result == {"missing": 0, "extra": 0}
    half = on_cpu(sizes)
    half.exact = half.exact[::2]
    assert peers.of_rival(peers.COUNTS_ONLY, half).result["extra"] == len(on_cpu(sizes).exact) - len(half.exact)


def test_a_grid_with_cells_of_the_mean_edge_misses_pairs_of_large_boxes(sizes):
    missing, extra, doubled = counts(peers.of_rival("Warp HashGrid (mean edge)", on_cpu(sizes)))
    assert missing > 0 and (extra, doubled) == (0, 0)


def test_a_rival_that_drops_doubles_invents_and_reorders_pairs_is_reported(sizes, monkeypatch):
    boxes = on_cpu(sizes)
    i, j = boxes.exact >> 32, boxes.exact & 0xFFFFFFFF
    apart = np.setdiff1d(peers.keys(np.argwhere(np.triu(np.ones((600, 600)), 1))), boxes.exact)[:3]
    listed = np.stack([i, j], axis=1)
    listed = np.vstack([listed[2:], listed[7:8], np.stack([apart >> 32, apart & 0xFFFFFFFF], axis=1)]).astype(np.int32)

    def prepare(_scene):
        def call(pairs, count):
            listed[:] = np.roll(listed, 1, axis=0)[:, ::-1]
            known = min(len(listed), len(pairs))
            pairs.numpy()[:known] = listed[:known]
            count.numpy()[0] = known

        return call

    monkeypatch.setitem(peers.RIVALS, "Newton SAP", prepare)
    row = peers.of_rival("Newton SAP", boxes)
    assert row.result == {"missing": 2, "extra": 3, "doubled": 1, "order": "differs", "half list": "cut"}


def test_an_error_of_a_rival_is_in_its_row(sizes, monkeypatch):
    def prepare(_scene):
        raise ValueError("no such shape")

    monkeypatch.setitem(peers.RIVALS, "Warp Bvh", prepare)
    row = peers.of_rival("Warp Bvh", on_cpu(sizes))
    assert row.result == {"ms": "ValueError: no such shape"} and row.sample is None


def test_all_pairs_of_newton_are_not_called_with_more_boxes_than_their_numbers_hold():
    most = peers.MOST_OF_ALL_PAIRS
    assert (most - 1) * most < 2**31 <= most * (most + 1)
    row = peers.of_rival("Newton NxN", on_cpu(peers.rods(most + 1)))
    assert row.result["ms"].startswith("OverflowError: not called") and row.sample is None


def test_a_list_that_is_too_short_is_cut_without_an_error(sizes):
    for name in ("Newton SAP", "Newton NxN"):
        assert peers.of_rival(name, on_cpu(sizes)).result["half list"] == "cut, counted"


def test_a_call_above_the_limit_is_measured_once(sizes):
    row = peers.of_rival("Warp Bvh", on_cpu(sizes), limit=0.0)
    assert len(row.times) == 1 and row.sample is None and "order" not in row.result


def test_the_file_and_the_table_have_a_row_for_each_engine(sizes, tmp_path, capsys):
    np.save(tmp_path / "sizes.npy", sizes)
    names = [str(tmp_path / "sizes.npy"), "rods:700"]
    peers.main([*names, "--device", "cpu", "--rounds", "3", "--csv", str(tmp_path / "out.csv")])
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].startswith("# device: Warp's CPU device, ") and lines[1].startswith("# command: ")
    rows = [*csv.DictReader(lines[2:])]
    assert [row["engine"] for row in rows] == ["broadsweep (1 thread)", *peers.RIVALS] * 2
    assert {row["scene"] for row in rows} == set(names)
    for row in rows:
        ours = row["engine"].startswith("broadsweep")
        assert float(row["ms"]) > 0
        assert ours == (row["factor"] == "") and (ours or float(row["q1"]) <= float(row["factor"]) <= float(row["q3"]))
    assert capsys.readouterr().out.count("\n|") == 2 + len(rows)


@pytest.fixture
def recorded(tmp_path):
    """A program that prints rows as the benchmark does."""
    program = tmp_path / "recorded"
    names = {"pairs": 0.25, "pairs in canonical order": 0.5, "pairs, CPU": ""}
    rows = "".join(f"echo '{name:52} {ms:>12} 0.2 to 0.3 0.01'\n" for name, ms in names.items())
    program.write_text(f'#!/bin/sh\ntest -f "$5" || exit 1\necho "An adapter (Vulkan)"\necho "$5: 600 boxes"\n{rows}')
    program.chmod(0o755)
    return str(program)


def test_times_on_the_device_come_from_the_row_of_pairs(recorded):
    assert peers.run_recorded(recorded, recorded) == (0.25, "An adapter (Vulkan)")


def test_on_a_cuda_device_the_first_engine_is_the_one_with_boxes_in_gpu_memory(sizes, recorded, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(peers, "is_cuda", lambda _device: True)
    np.save(tmp_path / "sizes.npy", sizes)
    peers.main([str(tmp_path / "sizes.npy"), "--device", "cpu", "--rounds", "2", "--recorded", recorded])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("; broadsweep on An adapter (Vulkan)")
    first, second, bvh = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:7])
    assert first[3:6] == ["broadsweep (on the device)", "0.25", ""]
    second = dict(zip(peers.COLUMNS, second))
    with_gpu = "broadsweep (upload and readback)" if bs.adapters() else "broadsweep (CPU, no adapter of wgpu)"
    assert second["engine"] == with_gpu and (second["missing"], second["order"]) == ("0", "same")
    bvh = dict(zip(peers.COLUMNS, bvh))
    assert bvh["engine"] == "Warp Bvh" and abs(float(bvh["factor"]) * float(bvh["ms"]) / 0.25 - 1) < 0.5
