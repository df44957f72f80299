"""The pairs of points that are near each other."""

import numpy as np
import pytest

import broadsweep as bs


def pairs_within(points, r):
    """Return the pairs of points at distance at most r, by comparing each with each."""
    points = np.asarray(points, np.float64)
    squared = ((points[:, None] - points[None]) ** 2).sum(2)
    return np.argwhere(np.triu(squared <= r * r, 1))


@pytest.mark.parametrize("dimension", [2, 3])
def test_points_pair_up_to_their_distance(device, dimension):
    rng = np.random.default_rng(16)
    grid = np.argwhere(np.ones((6,) * dimension)).astype(np.float64)
    cases = [
        (rng.random((500, dimension)), 0.1),
        (rng.random((500, dimension), np.float32), 0.05),
        (rng.random((300, dimension)) + 5e6, 0.1),
        (grid, 1.0),
        (grid * 0.1, 0.1),
        (grid.astype(np.int64), np.sqrt(2)),
        (np.repeat(grid, 2, axis=0) / 3, 0),
        (grid.tolist(), np.inf),
        (np.empty((0, dimension)), 1),
    ]
    for points, r in cases:
        found = bs.query_pairs(points, r, device=device)
        assert found.dtype == np.uint32 and np.array_equal(found, pairs_within(points, r))


def test_points_pair_as_those_of_scipy():
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(17)
    for dimension in (2, 3):
        for points in (
            rng.random((2000, dimension)),
            rng.random((2000, dimension)) + 5e6,
            rng.integers(0, 30, (900, dimension)),
        ):
            for r in (0.03, 0.2, 1.0, 5.0):
                expected = spatial.cKDTree(points).query_pairs(r, output_type="ndarray")
                expected = expected[np.lexsort(expected.T[::-1])].reshape(-1, 2)
                assert np.array_equal(bs.query_pairs(points, r, device="cpu"), expected)


@pytest.mark.filterwarnings("error")
def test_points_pair_by_their_distance_however_small_or_large_it_is():
    for scale in (2.0**-700, 2.0**-530, 2.0**500, 2.0**700):
        found = bs.query_pairs(np.array([[0, 0], [3, 4], [3, 4.1]]) * scale, 5 * scale, device="cpu")
        assert found.tolist() == [[0, 1], [1, 2]]
    points = [[0, 0, 0], [np.nan, 0, 0], [np.inf] * 3, [np.inf] * 3, [1, 0, 0]]
    assert bs.query_pairs(points, 1, device="cpu").tolist() == [[0, 4]]


@pytest.mark.parametrize(
    "points, r, word",
    [
        ([[0, 0]], -1, "r is"),
        ([[0, 0]], np.nan, "r is"),
        ([[0, 0, 0, 0]], 1, "points"),
        ([1, 2], 1, "points"),
        (5, 1, "points"),
        ([[0, 0]], "far", "r must"),
        ([[0, 0]], [1, 2], "r is"),
    ],
)
def test_what_is_no_points_or_no_distance_is_refused(points, r, word):
    with pytest.raises((TypeError, ValueError), match=word):
        bs.query_pairs(points, r, device="cpu")
