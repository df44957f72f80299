"""The tree: rays, casts, overlaps, nearest boxes."""

import warnings

import numpy as np
import pytest
from conftest import brute_force, scene
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import broadsweep as bs


@pytest.fixture
def tree(device, boxes):
    return bs.Tree(boxes, device=device)


def slabs(boxes, origin, direction, limit):
    """Return when a ray enters each box in exact arithmetic of small integers, or infinity."""
    entry, leave = np.zeros(len(boxes)), np.full(len(boxes), limit)
    for k in range(3):
        low, high = boxes[:, k] - origin[k], boxes[:, 3 + k] - origin[k]
        if direction[k] == 0:
            leave[(low > 0) | (high < 0)] = -np.inf
        else:
            near, far = np.sort([low / direction[k], high / direction[k]], axis=0)
            entry, leave = np.maximum(entry, near), np.minimum(leave, far)
    return np.where(entry <= leave, entry, np.inf)


def test_rays_hit_what_they_hit(device):
    # Small integers and directions of powers of two: the loop above does not round.
    rng = np.random.default_rng(0)
    lower = rng.integers(-20, 20, (300, 3))
    boxes = np.hstack([lower, lower + rng.integers(0, 4, (300, 3))]).astype(np.float32)
    origins = rng.integers(-25, 25, (200, 3)).astype(np.float32)
    directions = rng.choice([-2, -1, -0.5, 0, 0.5, 1, 2], (200, 3)).astype(np.float32)
    tree = bs.Tree(boxes, device=device)
    nearest = tree.rays(origins, directions)
    every = tree.rays(origins, directions, hits="all")
    first = tree.rays(origins, directions, hits=3)
    some = tree.rays(origins, directions, 10.0, hits="any")
    assert nearest.index.dtype == np.int32 and nearest.t.dtype == np.float32
    for i in range(200):
        times = slabs(boxes, origins[i], directions[i], np.inf)
        order = np.lexsort([np.arange(300), times])[: np.isfinite(times).sum()]
        assert np.array_equal(every[i], np.sort(order)) and np.array_equal(first[i], order[:3])
        assert nearest.index[i] == (order[0] if len(order) else -1)
        assert nearest.t[i] == (times[order[0]] if len(order) else np.inf)
        assert some[i] == np.isfinite(slabs(boxes, origins[i], directions[i], 10.0)).any()
    assert tree.query_report.query_count == 200


@pytest.mark.parametrize("kind", ["ray", "box"])
def test_casts_leave_out_what_they_separate_from_at_the_start(device, kind):
    # Small integers and directions of powers of two, as above.
    rng = np.random.default_rng(4)
    lower = rng.integers(-10, 10, (200, 3))
    boxes = np.hstack([lower, lower + rng.integers(0, 8, (200, 3))]).astype(np.float32)
    points = rng.integers(-10, 10, (60, 3)).astype(np.float32)
    directions = rng.choice([-2, -1, -0.5, 0, 0.5, 1, 2], (60, 3)).astype(np.float32)
    ends, reach = points + rng.integers(0, 3, (60, 3)).astype(np.float32), 0 if kind == "ray" else 1
    if kind == "ray":
        ends = points
    tree = bs.Tree(boxes, device=device)

    def ask(**more):
        return {
            "ray": lambda: tree.rays(points, directions, **more),
            "box": lambda: tree.cast_boxes((points - 1, ends + 1), directions, **more),
        }[kind]()

    nearest, every = ask(skips_separating=True), ask(skips_separating=np.True_, hits="all")
    first, some = ask(skips_separating=1, hits=2), ask(skips_separating=True, hits="any")
    whole, skipped, deeper = ask(hits="all"), 0, 0
    for i in range(60):
        # The boxes, each larger by what moves, which is then a point.
        larger = np.hstack([boxes[:, :3] - (ends[i] + reach), boxes[:, 3:] - (points[i] - reach)])
        times = slabs(larger, np.zeros(3), directions[i], np.inf)
        assert np.array_equal(whole[i], np.flatnonzero(np.isfinite(times)))
        at_start = (larger[:, :3] <= 0).all(1) & (larger[:, 3:] >= 0).all(1)
        assert (times[at_start] == 0).all()
        away = directions[i] * np.array([[1], [-1]]) >= 0
        depths = np.stack([larger[:, 3:], -larger[:, :3]], 1)
        least = np.where(away, depths, np.inf).min((1, 2)) <= np.where(away, np.inf, depths).min((1, 2))
        times[at_start & least], skipped = np.inf, skipped + (at_start & least).sum()
        deeper += (at_start & ~least).sum()
        order = np.lexsort([np.arange(200), times])[: np.isfinite(times).sum()]
        assert np.array_equal(every[i], np.sort(order)) and np.array_equal(first[i], order[:2])
        assert nearest.index[i] == (order[0] if len(order) else -1) and some[i] == (len(order) > 0)
    assert skipped > 50 and deeper > 20 and 0 < some.sum() < 60
    assert np.array_equal(ask(skips_separating=False, hits="all").index, whole.index)
    for wrong, exception in (([True] * 60, ValueError), ("yes", TypeError), (2, ValueError), (0.5, TypeError)):
        with pytest.raises(exception, match="skips_separating must be"):
            ask(skips_separating=wrong)


def test_round_casts_hit_what_the_shape_touches_and_not_its_bounds(device):
    # The bounding box touches the first one at the start, the capsule later, the ball never.
    boxes = [[0.9, 0.9, 0.9, 2, 2, 2], [5, -1, -1, 6, 1, 1], [-0.5, -0.5, -0.5, -0.4, -0.4, -0.4]]
    tree = bs.Tree(np.array(boxes, np.float32), device=device)
    center, end, along = [[0, 0, 0]], [[0, 0.5, 0]], [1, 0, 0]
    for hits in (tree.cast_spheres(center, 1, along), tree.cast_capsules(center, end, 1, along)):
        assert hits.index[0] == 2 and hits.t[0] == 0
    ball = tree.cast_spheres(center, 1, along, hits="all", skips_separating=True)
    assert ball.tolist() == [[1]] and ball.t[0] == 4
    capsule = tree.cast_capsules(center, end, 1, along, hits="all", skips_separating=True)
    assert capsule.tolist() == [[0, 1]] and capsule.t[1] == 4
    assert capsule.t[0] == pytest.approx(0.9 - (1 - 0.4**2 - 0.9**2) ** 0.5, abs=1e-6)


def test_queries_that_do_not_move_do_not_take_skips_separating(tree):
    for ask in (tree.overlaps, tree.overlap_points, tree.nearest):
        with pytest.raises(TypeError, match="skips_separating"):
            ask(scene(3)[:, : 6 if ask == tree.overlaps else 3], skips_separating=True)


def test_boxes_points_and_spheres_touch_exactly(tree, boxes):
    asked = scene(50, 1, 0.2)
    lists = tree.overlaps(asked)
    for i in range(50):
        whole = brute_force(np.vstack([asked[i : i + 1], boxes]))
        assert np.array_equal(lists[i], whole[whole[:, 0] == 0][:, 1] - 1)
    assert np.array_equal(lists.counts, [len(list) for list in lists]) and len(lists) == 50
    assert np.array_equal(lists.query, np.repeat(np.arange(50), lists.counts))
    points = asked[:, :3]
    for i, list in enumerate(tree.overlap_points(points)):
        assert np.array_equal(list, np.flatnonzero(((boxes[:, :3] <= points[i]) & (points[i] <= boxes[:, 3:])).all(1)))
    for i, list in enumerate(tree.overlap_spheres(points, 0.125)):
        gap = np.maximum(0, np.maximum(boxes[:, :3] - points[i], points[i] - boxes[:, 3:])).astype(np.float64)
        squared = (gap**2).sum(1)
        assert set(np.flatnonzero(squared < 0.125**2 - 1e-9)) <= set(list) <= set(np.flatnonzero(squared < 0.125**2 + 1e-9))


def test_turned_shapes_miss_nothing(tree, boxes):
    center = np.full((1, 3), 0.5)
    inside = tree.overlap_oriented(center, [0.2, 0.3, 0.1], np.eye(3)[None])[0]
    aligned = np.hstack([center[0] - [0.2, 0.3, 0.1], center[0] + [0.2, 0.3, 0.1]])
    exact = tree.overlaps(aligned[None])[0]
    assert set(exact) <= set(inside) and len(inside) <= len(exact) + 2
    planes = np.array([[1, 0, 0, 0.7], [-1, 0, 0, -0.3], [0, 1, 0, 0.8], [0, -1, 0, -0.2], [0, 0, 1, 0.6], [0, 0, -1, -0.4]])
    convex = tree.overlap_convex([planes, planes[:2], []])
    assert set(exact) <= set(convex[0]) and len(convex[2]) == len(boxes) and len(convex[1]) > len(convex[0])
    capsule = tree.overlap_capsules([[0.2, 0.5, 0.5]], [[0.8, 0.5, 0.5]], 0.05)[0]
    on_axis = tree.overlaps([[0.2, 0.5, 0.5, 0.8, 0.5, 0.5]])[0]
    assert set(on_axis) <= set(capsule)


def test_what_moves_hits_what_it_sweeps(tree):
    start = np.array([[-1, 0.4, 0.4, -0.9, 0.5, 0.5]], np.float32)
    boxes = tree.cast_boxes(start, [1, 0, 0], hits="all")
    swept = tree.overlaps([[-1, 0.4, 0.4, 9, 0.5, 0.5]])
    assert np.array_equal(boxes[0], swept[0])
    spheres = tree.cast_spheres([[-1, 0.45, 0.45]], 0.05, [1, 0, 0], hits="all")
    capsules = tree.cast_capsules([[-1, 0.45, 0.45]], [[-1, 0.45, 0.45]], 0.05, [1, 0, 0], hits="all")
    centers = tree.rays([[-1, 0.45, 0.45]], [1, 0, 0], hits="all")
    assert np.array_equal(spheres[0], capsules[0]) and set(centers[0]) <= set(spheres[0]) <= set(swept[0])
    assert boxes.t is not None and (np.diff(boxes.t[np.argsort(boxes.t)]) >= 0).all()


def test_nearest_boxes_come_in_order(tree, boxes):
    points = scene(40, 2)[:, :3]
    found = tree.nearest(points, k=5)
    gap = np.maximum(0, np.maximum(boxes[None, :, :3] - points[:, None], points[:, None] - boxes[None, :, 3:]))
    squared = (gap.astype(np.float64) ** 2).sum(2)
    assert found.index.shape == found.squared_distance.shape == (40, 5)
    expected = np.take_along_axis(squared, found.index.astype(np.int64), 1)
    assert np.allclose(found.squared_distance, expected, rtol=1e-5, atol=1e-12)
    assert np.allclose(expected, np.sort(squared, 1)[:, :5])
    few = tree.nearest(points[:1], k=500)
    assert (
        (few.index[0, :400] >= 0).all() and (few.index[0, 400:] == -1).all() and np.isinf(few.squared_distance[0, 400:]).all()
    )
    assert (tree.nearest(points, k=2, radii=0).index[:, 0] == -1).sum() >= 1


def test_queries_say_what_they_meet(device, boxes):
    n = len(boxes)
    world = np.arange(n) % 3
    tree = bs.Tree(boxes, device=device, filters=bs.Filters(world=world, body=np.arange(n) // 2))
    asked = np.tile(np.array([[0, 0, 0, 1.2, 1.2, 1.2]]), (3, 1))
    for i, list in enumerate(tree.overlaps(asked, world=[0, 1, 2])):
        assert np.array_equal(list, np.flatnonzero(world == i))
    assert all(len(list) == n - 1 for list in tree.overlaps(asked, ignore=5))
    assert all(len(list) == n - 2 for list in tree.overlaps(asked, body=5))
    with pytest.raises(ValueError, match="world"):
        tree.overlaps(asked, world=[0])
    with pytest.raises(TypeError, match="worlds"):
        tree.overlaps(asked, worlds=[0, 1, 2])


def test_a_tree_follows_its_boxes(tree, boxes):
    moved = (boxes + np.float32(0.01)).astype(np.float32)
    report = tree.refit(moved)
    assert report.box_count == len(boxes) == len(tree) and report.growth > 0
    assert np.array_equal(tree.overlaps(moved[:5])[0], bs.Tree(moved, device="cpu").overlaps(moved[:5])[0])
    with pytest.raises(ValueError, match="Build it again"):
        tree.refit(moved[:-1])
    tree.set_filters(bs.Filters(half_space_box=[0], half_space=[[0, 0, 1, 0]]))
    with pytest.raises(ValueError, match="not built"):
        tree.overlaps(moved[:5])


@pytest.mark.parametrize(
    "ask, exception, word",
    [
        (lambda tree: tree.rays([[0, 0, 0, 0]], [[1, 0, 0]]), ValueError, "origins"),
        (lambda tree: tree.rays([[0, 0, 0]] * 3, [[1, 0, 0]] * 2), ValueError, "rows"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], hits="some"), ValueError, "hits"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], hits=-1), ValueError, "hits"),
        (lambda tree: tree.rays("here", "there"), TypeError, "origins"),
        (lambda tree: tree.overlaps(np.zeros((3, 5))), ValueError, "boxes"),
        (lambda tree: tree.overlap_oriented([[0, 0, 0]], [[1, 1, 1]], np.eye(2)), ValueError, "axes"),
        (lambda tree: tree.overlap_convex([[[1, 0, 0]]]), ValueError, "shapes"),
        (lambda tree: tree.nearest([[0, 0, 0]], k=-1), ValueError, "k is"),
        (lambda tree: tree.nearest([[0, 0, 0]], k=0), ValueError, "k is"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], hits=0), ValueError, "hits is"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], -1), ValueError, "limits is"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], np.nan), ValueError, "limits is"),
        (lambda tree: tree.cast_boxes([[0] * 6], [[1, 0, 0]], -0.5), ValueError, "limits is"),
        (lambda tree: tree.cast_spheres([[0, 0, 0]], -1, [[1, 0, 0]]), ValueError, "radii is"),
        (lambda tree: tree.cast_capsules([[0, 0, 0]], [[1, 0, 0]], np.float32(-1), [[1, 0, 0]]), ValueError, "radii is"),
        (lambda tree: tree.overlap_spheres([[0, 0, 0]], -1), ValueError, "radii is"),
        (lambda tree: tree.overlap_capsules([[0, 0, 0]], [[1, 0, 0]], -1), ValueError, "radii is"),
        (lambda tree: tree.nearest([[0, 0, 0]], radii=-1), ValueError, "radii is"),
        (lambda tree: tree.nearest([[0, 0, 0]], k=1 << 70), ValueError, "k is"),
        (lambda tree: tree.nearest([[0, 0, 0]], k=1.5), TypeError, "k must"),
        (lambda tree: tree.nearest(np.zeros((1 << 14, 3)), k=(1 << 31) - 1), MemoryError, "not enough memory"),
        (lambda tree: tree.rays([[0, 0, 0]], [[1, 0, 0]], hits=1 << 70), ValueError, "hits"),
    ],
)
def test_what_is_no_query_is_refused(ask, exception, word):
    with pytest.raises(exception, match=word):
        ask(bs.Tree(scene(10), device="cpu"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda tree: tree.rays([[0, 0, 0]], [1, 0, 0]),
        lambda tree: tree.cast_boxes([[0] * 6], [1, 0, 0]),
        lambda tree: tree.cast_spheres([[0, 0, 0]], 1, [1, 0, 0]),
        lambda tree: tree.cast_capsules([[0, 0, 0]], [[0, 0, 0]], 1, [1, 0, 0]),
        lambda tree: tree.overlaps([[0] * 6]),
        lambda tree: tree.overlap_points([[0, 0, 0]]),
        lambda tree: tree.overlap_spheres([[0, 0, 0]], 1),
        lambda tree: tree.overlap_oriented([[0, 0, 0]], [1, 1, 1], np.eye(3)),
        lambda tree: tree.overlap_capsules([[0, 0, 0]], [[0, 0, 0]], 1),
        lambda tree: tree.overlap_convex([[[1, 0, 0, 0]]]),
        lambda tree: tree.nearest([[0, 0, 0]]),
        lambda tree: tree.refit(np.empty((0, 6))),
    ],
)
def test_a_tree_that_was_not_built_is_refused(ask):
    with pytest.raises(ValueError, match="build"):
        ask(bs.Tree(device="cpu"))
    assert len(bs.Tree(device="cpu")) == 0


def test_a_tree_has_to_be_built_again_after_another_world_or_margin(device, boxes):
    tree = bs.Tree(boxes, device=device, filters=bs.Filters(world=0, group=1))
    for change in (
        lambda: tree.set_filters(bs.Filters(world=1)),
        lambda: tree.set_filters(bs.Filters(world=1, margin=0.5)),
        lambda: tree.change_filters("world", [2], first=7),
    ):
        tree.build(boxes)
        change()
        with pytest.raises(ValueError, match="build"):
            tree.overlaps(boxes[:3])
    tree.build(boxes)
    tree.set_filters(bs.Filters(world=np.array([2 if i == 7 else 1 for i in range(len(boxes))]), margin=0.5, group=3))
    assert tree.overlaps([[0, 0, 0, 1, 1, 1]], world=2)[0].tolist() == [7]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "ask",
    [
        lambda tree, bad: tree.rays([[0, 0, 0]] * 2, [1, 0, 0], [bad, 1]),
        lambda tree, bad: tree.rays([[0, 0, 0]] * 2, [1, 0, 0], [bad, 1], hits="any"),
        lambda tree, bad: tree.rays([[0, 0, 0]] * 2, [1, 0, 0], [bad, 1], hits=2),
        lambda tree, bad: tree.cast_boxes([[0, 0, 0, bad, 1, 1], [0] * 6], [1, 0, 0]),
        lambda tree, bad: tree.cast_spheres([[0, 0, 0]] * 2, [bad, 1], [1, 0, 0]),
        lambda tree, bad: tree.overlaps([[0, 0, 0, bad, 1, 1], [0] * 6]),
        lambda tree, bad: tree.overlap_points([[bad * np.nan, 0, 0], [0, 0, 0]]),
        lambda tree, bad: tree.overlap_spheres([[0, 0, 0]] * 2, [bad, 1]),
        lambda tree, bad: tree.overlap_oriented([[0, 0, 0]], [[bad, 1, 1], [1, 1, 1]], np.eye(3)),
        lambda tree, bad: tree.overlap_capsules([[0, 0, 0]] * 2, [0, 0, 0], [bad, 1]),
        lambda tree, bad: tree.overlap_convex([[[bad * np.nan, 0, 0, 0]], []]),
        lambda tree, bad: tree.nearest([[0, 0, 0]] * 2, radii=[bad, 1]),
        lambda tree, bad: tree.rays([[0, 0, 0]] * 2, [[bad * 1e60, 0, 0], [1, 0, 0]]),
        lambda tree, bad: tree.rays([[0, 0, 0]] * 2, [[bad * 1e-60, 0, -1e-50], [1, 0, 0]]),
    ],
)
def test_queries_without_a_meaning_are_counted_and_a_batch_of_such_is_warned_of(device, ask):
    class First:
        """A tree that is asked the first query of each batch alone."""

        def __getattr__(self, name):
            def call(first, *rest, **more):
                def one(value):
                    return value[:1] if isinstance(value, list) and len(value) == 2 else value

                return getattr(tree, name)(one(first), *map(one, rest), **{key: one(value) for key, value in more.items()})

            return call

    tree = bs.Tree([[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]], device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(tree, -1.0)
    report = tree.query_report
    assert (report.query_count, report.invalid_count, report.first_invalid) == (2, 1, [0])
    with pytest.warns(UserWarning, match="all 1 queries") as warned:
        ask(First(), -1.0)
    assert len(warned) == 1 and warned[0].filename == __file__


def test_a_direction_of_zeros_is_a_point_and_a_short_one_is_none(device):
    tree = bs.Tree([[0, 0, 0, 1, 1, 1]], device=device)
    assert tree.rays([[0, 0, 0], [2, 2, 2]], [0, 0, 0]).index.tolist() == [0, -1]
    # float32 holds a denormal, and loses only parts that do not matter.
    assert tree.rays([[-1, 0, 0]], [[1e-40, 1e-60, 0.0]]).index.tolist() == [0]
    assert tree.query_report.invalid_count == 0


def test_no_boxes_and_no_queries(device):
    empty = bs.Tree([], device=device)
    hits = empty.rays([[0, 0, 0]], [[1, 0, 0]])
    assert hits.index.tolist() == [-1] and np.isinf(hits.t[0]) and len(empty) == 0
    tree = bs.Tree(scene(10), device=device)
    assert len(tree.rays(np.empty((0, 3)), np.empty((0, 3))).index) == 0
    assert len(tree.overlaps([])) == 0 and len(tree.overlap_convex([])) == 0
    assert tree.nearest(np.empty((0, 3)), k=3).index.shape == (0, 3)


def test_many_queries_have_a_thread_of_their_own(device):
    tree = bs.Tree(scene(1000), device=device)
    origins = np.random.default_rng(3).random((40_000, 3), np.float32)
    hits = tree.rays(origins, [1, 0, 0])
    assert np.array_equal(hits.index[:100], tree.rays(origins[:100], [1, 0, 0]).index)


numbers = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-45, 3e38]), st.floats(width=32))


@given(hnp.arrays(np.float32, st.tuples(st.integers(0, 12), st.just(6)), elements=numbers), st.data())
@settings(deadline=None)
def test_any_numbers_are_answered_or_counted_as_invalid(boxes, data):
    tree = bs.Tree(boxes, device="cpu")
    rows = data.draw(hnp.arrays(np.float32, st.tuples(st.integers(0, 6), st.just(6)), elements=numbers))
    lists = tree.overlaps(rows)
    whole = brute_force(np.vstack([rows, boxes]))
    for i in range(len(rows)):
        expected = whole[(whole[:, 0] == i) & (whole[:, 1] >= len(rows))][:, 1] - len(rows)
        assert np.array_equal(lists[i], expected)
    tree.rays(rows[:, :3], rows[:, 3:], hits="all")
    finite = np.isfinite(rows).all(1)
    assert tree.query_report.invalid_count == (~finite).sum()
