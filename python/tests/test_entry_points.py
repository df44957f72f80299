"""Every call with boxes, points or rays takes the same arrays, answers in the same types, and names what it refuses."""

import warnings
from functools import cache

import numpy as np
import pytest

import broadsweep as bs

NUMBERS = np.random.default_rng(19).integers(0, 12, (24, 6))
NUMBERS[:, 3:] = NUMBERS[:, :3] + NUMBERS[:, 3:] % 3
# Whole numbers, which all types hold, by dimension.
WHOLE = {2: NUMBERS[:, [0, 1, 3, 4]], 3: NUMBERS}
SINGLE = {d: boxes.astype(np.float32) for d, boxes in WHOLE.items()}


@cache
def tree(d):
    return bs.Tree(SINGLE[d], device="cpu")


def unit(d):
    return [1] + [0] * (d - 1)


def count(boxes):
    return len(boxes[0]) if isinstance(boxes, tuple) else len(boxes)


def rows(boxes):
    """Return boxes one at a time, in the same form."""
    return list(zip(*boxes)) if isinstance(boxes, tuple) else list(boxes)


def inserted(boxes, d):
    slots = bs.Slots(dimension=d)
    for row in rows(boxes):
        slots.insert(row)
    return slots.boxes[: len(slots)]


def moved(boxes, d):
    slots = bs.Slots(dimension=d)
    for row in rows(boxes):
        slots.set(slots.insert([0] * 2 * d), row)
    return slots.boxes[: len(slots)]


def refitted(boxes, d):
    fitted = bs.Tree(np.zeros((count(boxes), 2 * d), np.float32), device="cpu")
    fitted.refit(boxes)
    return fitted.overlaps(SINGLE[d])


# By method and argument.
BOXES = {
    ("find_pairs", "boxes"): lambda x, d: bs.find_pairs(x, device="cpu"),
    ("find_pairs_between", "first"): lambda x, d: bs.find_pairs_between(x, SINGLE[d], device="cpu"),
    ("find_pairs_between", "second"): lambda x, d: bs.find_pairs_between(SINGLE[d], x, device="cpu"),
    ("BroadPhase.find_pairs", "boxes"): lambda x, d: bs.BroadPhase("cpu").find_pairs(x),
    ("BroadPhase.find_pairs_between", "first"): lambda x, d: bs.BroadPhase("cpu").find_pairs_between(x, SINGLE[d]),
    ("BroadPhase.find_pairs_between", "second"): lambda x, d: bs.BroadPhase("cpu").find_pairs_between(SINGLE[d], x),
    ("BroadPhase.step", "boxes"): lambda x, d: bs.BroadPhase("cpu").step(x),
    ("BroadPhase.events", "boxes"): lambda x, d: bs.BroadPhase("cpu").events(x),
    ("BroadPhase.stream", "boxes"): lambda x, d: np.vstack(list(bs.BroadPhase("cpu").stream(x))),
    ("Tree", "boxes"): lambda x, d: bs.Tree(x, device="cpu").overlaps(SINGLE[d]),
    ("Tree.refit", "boxes"): refitted,
    ("Tree.overlaps", "boxes"): lambda x, d: tree(d).overlaps(x),
    ("Tree.cast_boxes", "boxes"): lambda x, d: tree(d).cast_boxes(x, unit(d), hits="all"),
    ("Slots.insert", "box"): inserted,
    ("Slots.set", "box"): moved,
}
POINTS = {
    ("query_pairs", "points"): lambda x, d: bs.query_pairs(x, 1, device="cpu"),
    ("find_neighbours", "points"): lambda x, d: bs.find_neighbours(x, 3),
    ("find_neighbours_between", "queries"): lambda x, d: bs.find_neighbours_between(x, SINGLE[d][:, :d], 3),
    ("find_neighbours_between", "points"): lambda x, d: bs.find_neighbours_between(SINGLE[d][:, :d], x, 3),
    ("radius_graph", "x"): lambda x, d: bs.radius_graph(x, 3, loop=True),
    ("neighbour_list", "positions"): lambda x, d: np.stack(bs.neighbour_list("ij", x, 3)),
    ("Tree.rays", "origins"): lambda x, d: tree(d).rays(x, unit(d)),
    ("Tree.rays", "directions"): lambda x, d: tree(d).rays([0] * d, x, hits="all"),
    ("Tree.cast_boxes", "directions"): lambda x, d: tree(d).cast_boxes(SINGLE[d][:1], x, hits=2),
    ("Tree.cast_spheres", "centers"): lambda x, d: tree(d).cast_spheres(x, 1, unit(d), hits="any"),
    ("Tree.cast_spheres", "directions"): lambda x, d: tree(d).cast_spheres([0] * d, 1, x),
    ("Tree.cast_capsules", "starts"): lambda x, d: tree(d).cast_capsules(x, [0] * d, 1, unit(d)),
    ("Tree.cast_capsules", "ends"): lambda x, d: tree(d).cast_capsules([0] * d, x, 1, unit(d)),
    ("Tree.cast_capsules", "directions"): lambda x, d: tree(d).cast_capsules([0] * d, [1] * d, 1, x),
    ("Tree.overlap_points", "points"): lambda x, d: tree(d).overlap_points(x),
    ("Tree.overlap_spheres", "centers"): lambda x, d: tree(d).overlap_spheres(x, 1),
    ("Tree.overlap_oriented", "centers"): lambda x, d: tree(d).overlap_oriented(x, [1] * d, np.eye(d)),
    ("Tree.overlap_oriented", "halves"): lambda x, d: tree(d).overlap_oriented([4] * d, x, np.eye(d)),
    ("Tree.overlap_capsules", "starts"): lambda x, d: tree(d).overlap_capsules(x, [4] * d, 1),
    ("Tree.overlap_capsules", "ends"): lambda x, d: tree(d).overlap_capsules([4] * d, x, 1),
    ("Tree.nearest", "points"): lambda x, d: tree(d).nearest(x, k=3),
}
LENGTHS = {
    ("Tree.rays", "limits"): lambda x, d: tree(d).rays([0] * d, [1] * d, x),
    ("Tree.cast_boxes", "limits"): lambda x, d: tree(d).cast_boxes(SINGLE[d][:1], [1] * d, x),
    ("Tree.cast_spheres", "radii"): lambda x, d: tree(d).cast_spheres([0] * d, x, [1] * d),
    ("Tree.cast_spheres", "limits"): lambda x, d: tree(d).cast_spheres([0] * d, 1, [1] * d, x),
    ("Tree.cast_capsules", "radii"): lambda x, d: tree(d).cast_capsules([0] * d, [1] * d, x, [1] * d),
    ("Tree.cast_capsules", "limits"): lambda x, d: tree(d).cast_capsules([0] * d, [1] * d, 1, [1] * d, x),
    ("Tree.overlap_spheres", "radii"): lambda x, d: tree(d).overlap_spheres([4] * d, x),
    ("Tree.overlap_capsules", "radii"): lambda x, d: tree(d).overlap_capsules([4] * d, [6] * d, x),
    ("Tree.nearest", "radii"): lambda x, d: tree(d).nearest([4] * d, k=2, radii=x),
}
AXES = {("Tree.overlap_oriented", "axes"): lambda x, d: tree(d).overlap_oriented([4] * d, [2] * d, x)}
PLANES = {("Tree.overlap_convex", "shapes"): lambda x, d: tree(d).overlap_convex(x)}


def named(entries):
    calls = [(argument, call) for (_, argument), call in entries.items()]
    return pytest.mark.parametrize("argument, call", calls, ids=map(" ".join, entries))


def parts(answer):
    """Return all arrays of an answer."""
    if isinstance(answer, np.ndarray):
        return [answer]
    names = ("index", "t", "offsets", "squared_distance", "created", "lost", "pairs", "before", "persisting")
    return [value for value in (getattr(answer, name, None) for name in names) if value is not None]


def assert_same(found, expected, what):
    found, expected = parts(found), parts(expected)
    assert len(found) == len(expected) > 0
    for own, other in zip(found, expected):
        assert own.dtype == other.dtype and np.array_equal(own, other), what


def in_layouts(array):
    """Return the same numbers in several layouts."""
    wide = np.zeros((2 * array.shape[0], *(3 * length for length in array.shape[1:])), array.dtype)
    strided = wide[(slice(None, None, 2), *(slice(1, None, 3) for _ in array.shape[1:]))]
    strided[...] = array
    fixed, reversed = array.copy(), array[::-1].copy()[::-1]
    fixed.flags.writeable = False
    return {"C": array, "F": np.asfortranarray(array), "strided": strided, "reversed": reversed, "read-only": fixed}


TYPES = pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8", "f2", "i4", "i8", "u1", ">i2", list])


@TYPES
@named(BOXES)
def test_every_entry_point_takes_boxes_of_the_same_types_and_shapes(argument, call, dtype):
    for d, boxes in WHOLE.items():
        expected = call(SINGLE[d], d)
        for shaped in (boxes, boxes.reshape(-1, 2, d)):
            given = {"list": shaped.tolist()} if dtype is list else in_layouts(shaped.astype(dtype))
            for name, array in given.items():
                assert_same(call(array, d), expected, (name, shaped.shape))
                if shaped is boxes and dtype is not list:
                    assert_same(call((array[:, :d], array[:, d:]), d), expected, (name, "a tuple"))


@TYPES
@named(POINTS | LENGTHS | AXES | PLANES)
def test_every_entry_point_takes_points_lengths_and_axes_of_the_same_types(argument, call, dtype):
    for d, boxes in WHOLE.items():
        whole = {
            "limits": boxes[:, 0],
            "radii": boxes[:, 0],
            "axes": np.eye(d, dtype=int)[np.random.default_rng(3).permuted(np.tile(np.arange(d), (9, 1)), axis=1)],
            "shapes": np.concatenate([boxes[:, :d] % 3 + 1, boxes[:, d : d + 1]], axis=1).reshape(8, 3, d + 1),
        }.get(argument, boxes[:, :d])
        expected = call(whole.astype(np.float32), d)
        given = {"list": whole.tolist()} if dtype is list else in_layouts(whole.astype(dtype))
        for name, array in given.items():
            assert_same(call(array, d), expected, name)


@pytest.mark.filterwarnings("error")
@named(BOXES)
def test_no_boxes_are_taken_by_every_entry_point_in_every_shape(argument, call):
    for d in (2, 3):
        expected = call(np.empty((0, 2 * d), np.float32), d)
        for dtype in (np.float32, np.float64, np.int64):
            corners = np.empty((0, d), dtype)
            for empty in (np.empty((0, 2 * d), dtype), np.empty((0, 2, d), dtype), (corners, corners), []):
                assert_same(call(empty, d), expected, np.shape(empty))


@pytest.mark.filterwarnings("error")
@named(POINTS | LENGTHS | AXES | PLANES)
def test_no_points_are_taken_by_every_entry_point(argument, call):
    for d in (2, 3):
        shape = {"limits": (0,), "radii": (0,), "axes": (0, d, d), "shapes": (0, 3, d + 1)}.get(argument, (0, d))
        expected = call(np.empty(shape, np.float32), d)
        for empty in (np.empty(shape), np.empty(shape, np.int64), []):
            assert_same(call(empty, d), expected, argument)


WRONG_TYPES = [
    np.zeros((3, 6), complex),
    np.zeros((3, 6), bool),
    np.zeros((3, 6), object),
    np.zeros((3, 6), np.longdouble),
    np.zeros((3, 6), "datetime64[s]"),
    np.ma.zeros((3, 6)),
    [["0"] * 6] * 3,
]


@named(BOXES)
def test_what_is_no_box_is_refused_with_the_name_of_the_argument(argument, call):
    for wrong in WRONG_TYPES:
        with pytest.raises(TypeError, match=f"^{argument}\\b"):
            call(wrong, 3)
    wrong_shapes = [np.zeros((3, 5)), np.zeros((3, 3, 2)), np.zeros((3, 1, 6)), np.zeros((3, 7)), np.zeros(3)]
    for wrong in (*wrong_shapes, (np.zeros((3, 3)), np.zeros((3, 2))), np.full((3, 6), 2**53 + 1), [[0] * 5] * 3):
        with pytest.raises(ValueError, match=rf"^(a tuple of )?{argument}\b"):
            call(wrong, 3)


@named(POINTS | LENGTHS | AXES | PLANES)
def test_what_is_no_point_is_refused_with_the_name_of_the_argument(argument, call):
    for wrong in (*WRONG_TYPES, None, "here"):
        with pytest.raises(TypeError, match=f"^{argument}\\b"):
            call(wrong, 3)
    for wrong in (np.zeros((3, 5)), np.zeros((3, 3, 2)), np.zeros((2, 2, 3, 3)), np.full((3, 3), 2**53 + 1), [[0] * 5] * 3):
        with pytest.raises(ValueError, match=f"^{argument}\\b"):
            call(wrong, 3)


@pytest.mark.filterwarnings("default")
@named(POINTS)
def test_a_batch_of_points_that_are_all_nan_is_warned_of_once(argument, call):
    for d in (2, 3):
        wrong = np.full((5, d), np.nan)
        with pytest.warns(UserWarning, match="all 5 (points|queries) ") as warned:
            call(wrong, d)
        assert len(warned) == 1 and warned[0].filename == __file__
        wrong[4] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(wrong, d)
