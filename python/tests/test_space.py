"""The dimension and the origin of boxes and queries, and the warnings about boxes."""

import warnings

import numpy as np
import pytest
from conftest import brute_force, scene

import broadsweep as bs


def in_utm(n=2000, seed=14):
    """Return boxes of some metres in the plane, in coordinates of a map, float64, and the same near the origin."""
    rng = np.random.default_rng(seed)
    # Multiples of 1/1024, so that subtraction is exact and float32 holds what is near the origin.
    lower = rng.integers(0, 1000 * 1024, (n, 2)) / 1024
    near = np.hstack([lower, lower + rng.integers(1, 8 * 1024, (n, 2)) / 1024])
    return near + np.array([5e5, 5e6, 5e5, 5e6]), near


def in_3d(plane):
    """Return boxes in the plane z = 0 as boxes in space."""
    return np.insert(plane, [2, 4], 0, axis=1)


def test_boxes_far_from_the_origin_have_their_own_pairs_with_an_origin(device):
    far, near = in_utm()
    expected = brute_force(in_3d(near))
    for origin in ("auto", (5e5, 5e6), np.array([500_300, 5_000_700])):
        assert np.array_equal(bs.find_pairs(far, device=device, origin=origin), expected)
    engine = bs.BroadPhase(device, origin="auto")
    assert engine.origin is None
    assert np.array_equal(engine.find_pairs(far), expected)
    assert np.allclose(engine.origin, [500_504, 5_000_504], atol=4)
    assert np.array_equal(engine.step(far).pairs, expected)
    assert np.array_equal(np.vstack(list(engine.stream(far))), expected)
    halves = far[:1000], far[1000:]
    crossing = expected[(expected[:, 0] < 1000) & (expected[:, 1] >= 1000)] - np.array([0, 1000], np.uint32)
    assert np.array_equal(engine.find_pairs_between(*halves), crossing)
    assert np.array_equal(bs.find_pairs_between(*halves, device=device, origin="auto"), crossing)


@pytest.mark.filterwarnings("error")
def test_the_first_boxes_fix_the_origin_and_no_call_changes_it():
    engine = bs.BroadPhase("cpu", origin="auto")
    engine.find_pairs([])
    engine.find_pairs([[np.nan] * 6, [-np.inf] * 3 + [np.inf] * 3])
    assert engine.origin is None
    engine.find_pairs([[1e7, 0, 0, 1e7 + 2, 1, 1]])
    assert engine.origin == (1e7 + 1, 0.5, 0.5)
    shifted = np.array([[1e7 + 8, 0, 0, 1e7 + 9, 1, 1], [1e7 + 9, 1, 1, 1e7 + 10, 2, 2]])
    assert len(engine.find_pairs(shifted)) == 1 and engine.origin == (1e7 + 1, 0.5, 0.5)


@pytest.mark.filterwarnings("error")
def test_sets_of_slabs_and_boxes_share_an_origin():
    infinity = np.inf
    slabs = [[1e7, -infinity, -infinity, 1e7 + 0.5, infinity, infinity]]
    boxes = [[1e7 + 0.5, 3e7, 0, 1e7 + 2.5, 3e7 + 8, 9], [1e7 + 0.625, 3e7, 0, 1e7 + 1.625, 3e7 + 8, 9]]
    assert bs.find_pairs_between(slabs, boxes, device="cpu", origin="auto").tolist() == [[0, 0]]
    assert bs.find_pairs_between(boxes, slabs, device="cpu", origin="auto").tolist() == [[0, 0]]


ENTRIES = {
    "find_pairs": lambda boxes: bs.find_pairs(boxes, device="cpu"),
    "find_pairs_between, first": lambda boxes: bs.find_pairs_between(boxes, boxes[:0], device="cpu"),
    "find_pairs_between, second": lambda boxes: bs.find_pairs_between(boxes[:0], boxes, device="cpu"),
    "BroadPhase.find_pairs": lambda boxes: bs.BroadPhase("cpu").find_pairs(boxes),
    "BroadPhase.find_pairs_between": lambda boxes: bs.BroadPhase("cpu").find_pairs_between(boxes[:0], boxes),
    "BroadPhase.step": lambda boxes: bs.BroadPhase("cpu").step(boxes),
    "BroadPhase.events": lambda boxes: bs.BroadPhase("cpu").events(boxes),
    "BroadPhase.stream": lambda boxes: bs.BroadPhase("cpu").stream(boxes),
    "Tree": lambda boxes: bs.Tree(boxes, device="cpu"),
    "Tree.build": lambda boxes: bs.Tree(device="cpu").build(boxes),
    "Tree.refit": lambda boxes: bs.Tree(np.zeros_like(boxes, np.float32), device="cpu").refit(boxes),
    "Tree.overlaps": lambda boxes: bs.Tree(np.zeros_like(boxes, np.float32), device="cpu").overlaps(boxes),
    "Tree.cast_boxes": lambda boxes: bs.Tree(np.zeros((1, 4), np.float32), device="cpu").cast_boxes(boxes, [1, 0]),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_point_warns_where_rounding_makes_boxes_much_longer(entry):
    far, near = in_utm(200)
    with pytest.warns(UserWarning, match="along y longer by 0.5. .*`origin`") as warned:
        ENTRIES[entry](far)
    # The warning is at the line that called, and there is one.
    assert len(warned) == 1 and warned[0].filename == __file__
    for quiet in (near, far.astype(np.float32), near.astype(np.int64)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ENTRIES[entry](quiet)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_point_warns_where_no_box_is_valid(entry):
    inverted = np.tile(np.array([1, 1, 0, 0], np.float32), (100, 1))
    with pytest.warns(UserWarning, match="all 100 (boxes|queries)") as warned:
        ENTRIES[entry](inverted)
    assert len(warned) == 1 and warned[0].filename == __file__
    inverted[99] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ENTRIES[entry](inverted)


@pytest.mark.filterwarnings("error")
def test_points_and_huge_boxes_are_not_warned_of_without_a_reason():
    rng = np.random.default_rng(15)
    points = rng.random((100, 3))
    bs.find_pairs((points, points), device="cpu")
    huge = np.vstack([np.hstack([points, points + 0.1]), [[-1e300] * 3 + [1e300] * 3], [[-np.inf] * 3 + [np.inf] * 3]])
    bs.find_pairs(huge, device="cpu")
    with pytest.warns(UserWarning, match="rounding boxes"):
        bs.find_pairs((points + 1e6, points + 1e6), device="cpu")
    with pytest.warns(UserWarning, match="far from the origin"):
        bs.find_pairs((points + 1e6, points + 1e6 + 0.1), device="cpu", origin=(0, 0, 0))


@pytest.mark.parametrize("origin", ["centre", (1,), (1, 2, 3, 4), (np.nan, 0, 0), (np.inf, 0), [[1, 2, 3]], 5])
def test_an_origin_that_is_none_is_refused(origin):
    with pytest.raises(ValueError, match="origin"):
        bs.BroadPhase("cpu", origin=origin)
    with pytest.raises(ValueError, match="origin"):
        bs.Tree(device="cpu", origin=origin)


def test_filters_that_do_not_follow_an_origin_are_refused():
    for filters in (bs.Filters(half_space_box=[0], half_space=[[0, 0, 1, 0]]), bs.Filters(owner=[0, 0, 0, 1, 1, 1])):
        with pytest.raises(ValueError, match="origin"):
            bs.BroadPhase("cpu", filters=filters, origin=(1, 2, 3))
        with pytest.raises(ValueError, match="origin"):
            bs.Tree(device="cpu", filters=filters, origin=(1, 2, 3))


def test_an_engine_has_one_dimension():
    space, plane = scene(20), scene(20)[:, [0, 1, 3, 4]]
    for first, second in ((space, plane), (plane, space)):
        with pytest.raises(ValueError, match="second is in .D"):
            bs.find_pairs_between(first, second, device="cpu")
        engine = bs.BroadPhase("cpu")
        engine.step(first)
        for call in (engine.step, engine.find_pairs, engine.stream):
            with pytest.raises(ValueError, match="boxes is in .D"):
                call(second)
        assert len(engine.step(first).created) == 0
        # No boxes have no dimension.
        assert len(engine.find_pairs(second[:0])) == 0
        with pytest.raises(ValueError, match="boxes is in .D"):
            bs.BroadPhase("cpu", origin=[0] * (len(first[0]) // 2)).find_pairs(second)


def test_queries_are_in_the_coordinates_of_the_boxes(device):
    far, near = in_utm()
    shift = np.array([5e5, 5e6])
    plain, moved = bs.Tree(near, device=device), bs.Tree(far, device=device, origin="auto")
    points = np.random.default_rng(18).integers(0, 1000 * 64, (50, 2)) / 64
    for ask in (
        lambda tree, at: tree.rays(points + at, [1, 0.5], hits="all"),
        lambda tree, at: tree.cast_boxes((points + at, points + at + 1), [1, 0.5], hits=2),
        lambda tree, at: tree.cast_spheres(points + at, 1, [0, 1], 100, hits="all"),
        lambda tree, at: tree.cast_capsules(points + at, points + at + 2, 1, [0, 1], 100, hits="all"),
        lambda tree, at: tree.overlaps((points + at, points + at + 8)),
        lambda tree, at: tree.overlap_points(points + at),
        lambda tree, at: tree.overlap_spheres(points + at, 5),
        lambda tree, at: tree.overlap_oriented(points + at, [4, 2], np.eye(2)),
        lambda tree, at: tree.overlap_capsules(points + at, points + at + 8, 1),
        lambda tree, at: tree.overlap_convex([[[1, 0, 100 + at[0]], [0, 1, 64.5 + at[1]]], [[-1, 1, at[1] - at[0] - 3]]]),
    ):
        expected = ask(plain, 0 * shift)
        assert len(expected.index) > 0 and ask(moved, shift).tolist() == expected.tolist()
    nearest = moved.nearest(points + shift, k=3)
    assert np.array_equal(nearest.index, plain.nearest(points, k=3).index)
    assert moved.refit(far).box_count == len(far) and np.allclose(moved.origin, shift + 504, atol=4)


def test_queries_of_a_tree_in_2d_are_those_of_boxes_at_z_0(device):
    plane = scene(300)[:, [0, 1, 3, 4]]
    flat, space = bs.Tree(plane, device=device), bs.Tree(in_3d(plane), device=device)
    points = scene(40, 3)[:, :2]
    in_space = np.insert(points, 2, 0, axis=1)
    turned = np.array([[0.6, 0.8], [-0.8, 0.6]])
    turned_in_space = np.array([[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1]])
    for found, expected in (
        (flat.rays(points, [1, 2]), space.rays(in_space, [1, 2, 0])),
        (flat.rays(points.tolist(), points, hits="all"), space.rays(in_space, in_space, hits="all")),
        (flat.cast_boxes(plane[:9], [[1, 0]]), space.cast_boxes(in_3d(plane[:9]), [[1, 0, 0]])),
        (flat.cast_spheres(points, 0.1, [1, 0]), space.cast_spheres(in_space, 0.1, [1, 0, 0])),
        (
            flat.cast_capsules(points, points + 1, 0.1, [1, 0]),
            space.cast_capsules(in_space, in_space + [1, 1, 0], 0.1, [1, 0, 0]),
        ),
        (flat.overlaps(plane[:9].reshape(-1, 2, 2)), space.overlaps(in_3d(plane[:9]))),
        (flat.overlap_points(points), space.overlap_points(in_space)),
        (flat.overlap_spheres(points, 0.1), space.overlap_spheres(in_space, 0.1)),
        (flat.overlap_oriented(points, [0.1, 0.2], turned), space.overlap_oriented(in_space, [0.1, 0.2, 0], turned_in_space)),
        (flat.overlap_capsules(points, points + 1, 0.1), space.overlap_capsules(in_space, in_space + [1, 1, 0], 0.1)),
        (flat.overlap_convex([[[1, 0, 0.5]], []]), space.overlap_convex([[[1, 0, 0, 0.5]], []])),
    ):
        assert np.array_equal(found.index, expected.index) and (found.index >= 0).any()
    assert np.array_equal(flat.nearest(points, k=4).index, space.nearest(in_space, k=4).index)


@pytest.mark.parametrize(
    "ask",
    [
        lambda tree, p, q: tree.rays(p, [1] * len(q[0])),
        lambda tree, p, q: tree.rays(q, [1] * len(p[0])),
        lambda tree, p, q: tree.cast_spheres(q, 1, [1] * len(p[0])),
        lambda tree, p, q: tree.cast_boxes((q, q), [1] * len(p[0])),
        lambda tree, p, q: tree.overlaps((q, q)),
        lambda tree, p, q: tree.overlap_points(q),
        lambda tree, p, q: tree.overlap_spheres(q, 1),
        lambda tree, p, q: tree.overlap_capsules(p, q, 1),
        lambda tree, p, q: tree.overlap_oriented(p, p, np.eye(len(q[0]))),
        lambda tree, p, q: tree.overlap_oriented(p, q, np.eye(len(p[0]))),
        lambda tree, p, q: tree.overlap_convex([[[1] * (len(q[0]) + 1)]]),
        lambda tree, p, q: tree.nearest(q),
        lambda tree, p, q: tree.refit((q, q)),
        lambda tree, p, q: tree.build((q, q)),
    ],
)
def test_queries_of_another_dimension_than_the_tree_are_refused(ask):
    two, three = np.ones((1, 2)), np.ones((1, 3))
    for own, other in ((two, three), (three, two)):
        with pytest.raises(ValueError, match="is in .D, and what was given before is in .D"):
            ask(bs.Tree((own, own), device="cpu"), own, other)
