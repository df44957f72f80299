"""Spheres of boxes, against NumPy and against fractions."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from conftest import brute_force

import broadsweep as bs

EVERYWHERE = np.array([-np.inf] * 3 + [np.inf] * 3, np.float32)


def some_spheres(n, seed=0, dimension=3):
    """Return spheres on a grid of 1/64, so that sums of squares are exact in doubles; a tenth of the boxes have none."""
    rng = np.random.default_rng(seed)
    spheres = np.hstack([rng.integers(0, 200, (n, dimension)), rng.integers(0, 40, (n, 1))]).astype(np.float32) / 64
    spheres[rng.random(n) < 0.1, -1] = np.inf
    return spheres


def boxes_of(spheres):
    """Return boxes around the spheres, larger than those where there is no sphere."""
    reach = np.where(np.isinf(spheres[:, -1:]), np.float32(0.5), spheres[:, -1:])
    return np.hstack([spheres[:, :-1] - reach, spheres[:, :-1] + reach]).astype(np.float32)


def that_touch(pairs, spheres, margin=0.0):
    a, b = spheres[pairs].astype(np.float64).transpose(1, 0, 2)
    reach = a[:, -1] + b[:, -1] + 2 * margin
    return pairs[((a[:, :-1] - b[:, :-1]) ** 2).sum(1) <= reach**2]


def test_pairs_are_those_whose_boxes_and_spheres_touch(device):
    spheres = some_spheres(500)
    boxes = boxes_of(spheres)
    for all_pairs_up_to in (0, None):
        engine = bs.BroadPhase(device, filters=bs.Filters(sphere=spheres), all_pairs_up_to=all_pairs_up_to)
        pairs = brute_force(boxes)
        expected = that_touch(pairs, spheres)
        assert 0 < len(expected) < 0.9 * len(pairs)
        assert np.array_equal(engine.find_pairs(boxes), expected)
        assert np.array_equal(engine.step(boxes).pairs, expected)
        engine.set_filters(bs.Filters(sphere=spheres, margin=1 / 16))
        padded = boxes + np.array([-1 / 16] * 3 + [1 / 16] * 3, np.float32)
        expected = that_touch(brute_force(padded), spheres, 1 / 16)
        assert np.array_equal(engine.find_pairs(boxes), expected)
        # A half-space meets the boxes whose sphere it touches.
        engine.set_filters(bs.Filters(sphere=spheres, half_space_box=[7], half_space=[[0, 0, 1, 0.5]]))
        touched = (boxes[:, 2] <= 0.5) & (spheres[:, 2] - spheres[:, 3] <= 0.5) & (np.arange(500) != 7)
        found = engine.find_pairs(boxes)
        with_floor = found[(found == 7).any(1)]
        assert np.array_equal(with_floor[with_floor != 7], np.flatnonzero(touched)) and touched.sum() > 10


def test_spheres_can_be_changed(device):
    spheres = some_spheres(300)
    boxes = boxes_of(spheres)
    engine = bs.BroadPhase(device, filters=bs.Filters(sphere=spheres, fixed=False))
    spheres[50:150, 3] /= 2
    for _ in range(2):
        engine.change_filters("sphere", spheres[50:150].astype(np.float64), first=50)
        assert np.array_equal(engine.find_pairs(boxes), that_touch(brute_force(boxes), spheres))
        assert np.array_equal(engine.find_pairs(boxes), that_touch(brute_force(boxes), spheres))
        spheres[50:150, 3] = np.inf
    for values, word in (([[0, 0, 0, -1]], "radius -1"), ([[0, 0, 1]], "3 numbers"), ([0, 0, 0, 1], "shape")):
        with pytest.raises(ValueError, match=word):
            engine.change_filters("sphere", values)
    with pytest.raises(ValueError, match="sphere"):
        engine.change_filters("sphere", spheres[:2], first=299)


def reach(a, b):
    return Fraction(float(a[3])) + Fraction(float(b[3]))


def touching_doubles(count, scale):
    """Return pairs of spheres in doubles that touch, most of them in a point: one radius is the smallest that does."""
    rng = np.random.default_rng(11)
    pairs = []
    for a, b in rng.random((count, 2, 4)):
        a[:3], b[:3] = a[:3] * scale, b[:3] * scale
        center = [[Fraction(x) for x in end[:3].tolist()] for end in (a, b)]
        square = sum((x - y) ** 2 for x, y in zip(*center))
        a[3] *= float(square) ** 0.5
        b[3] = max(float(square) ** 0.5 - a[3], 0)

        while reach(a, b) ** 2 >= square and b[3] > 0:
            b[3] = np.nextafter(b[3], 0)
        while reach(a, b) ** 2 < square:
            b[3] = np.nextafter(b[3], np.inf)
        pairs.append((a.copy(), b.copy()))
    return np.array(pairs)


@pytest.mark.filterwarnings("ignore:rounding")
@pytest.mark.parametrize("scale", [1e-43, 1e-20, 1.0, 1e6])
def test_doubles_that_touch_still_touch_in_single_precision(device, scale):
    pairs = touching_doubles(400, scale)
    spheres = pairs.reshape(-1, 4)
    boxes, world = np.tile(EVERYWHERE, (len(spheres), 1)), np.arange(len(spheres)) // 2
    found = bs.find_pairs(boxes, filters=bs.Filters(sphere=spheres, world=world), device=device)
    assert np.array_equal(found, np.arange(len(spheres)).reshape(-1, 2))
    # A radius grows by the distance that its centre moved, at most 1.5 half steps of the largest coordinate, and is
    # rounded up: by at most two steps of its own.
    center_step = np.spacing(np.float32(scale)).astype(np.float64)
    apart = pairs.copy()
    slack = 2 * center_step + 4 * np.spacing(pairs[..., 3].astype(np.float32)).astype(np.float64).max(1)
    apart[:, 1, 3] -= 2 * slack
    is_positive = apart[:, 1, 3] > 0
    apart[~is_positive] = [[0, 0, 0, 0], [3, 0, 0, 1]]
    assert is_positive.mean() > 0.5 or scale < 1e-40
    filters = bs.Filters(sphere=apart.reshape(-1, 4), world=world)
    assert len(bs.find_pairs(boxes, filters=filters, device=device)) == 0


def test_singles_in_doubles_are_not_changed(device):
    spheres = some_spheres(300, 5)
    spheres[0] = [0.1, 0.2, 0.3, 1e-45]
    boxes = boxes_of(spheres)
    one, other = (bs.find_pairs(boxes, filters=bs.Filters(sphere=s), device=device) for s in (spheres, spheres.astype(float)))
    assert np.array_equal(one, other) and len(one) > 0


@pytest.mark.parametrize("origin", ["auto", (5e6, 4e6, -3e6)])
def test_an_origin_is_subtracted_from_spheres_too(device, origin):
    shift = np.array([5e6, 4e6, -3e6])
    near = some_spheres(300)
    boxes = boxes_of(near).astype(np.float64)
    far, far_boxes = near + np.append(shift, 0), boxes + np.tile(shift, 2)
    expected = that_touch(brute_force(boxes), near)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filters = bs.Filters(sphere=far)
        assert np.array_equal(bs.find_pairs(far_boxes, filters=filters, device=device, origin=origin), expected)
        halves = bs.find_pairs_between(far_boxes[:100], far_boxes[100:], filters=filters, device=device, origin=origin)
        crossing = expected[(expected[:, 0] < 100) & (expected[:, 1] >= 100)] - np.array([0, 100], np.uint32)
        assert np.array_equal(halves, crossing)
        engine = bs.BroadPhase(device, filters=filters, origin=origin)
        if origin == "auto":
            with pytest.raises(ValueError, match="origin"):
                engine.change_filters("sphere", far[:1])
        assert np.array_equal(engine.step(far_boxes).pairs, expected)
        near[:, 3] /= 2
        far[:, 3] /= 2
        engine.change_filters("sphere", far)
        assert np.array_equal(engine.find_pairs(far_boxes), that_touch(brute_force(boxes), near))
        tree = bs.Tree(far_boxes, device=device, filters=filters, origin=origin)
        assert len(tree) == 300
    # Without finite bounds, boxes fix no origin, and nothing is subtracted from spheres either.
    everywhere = np.tile(EVERYWHERE, (300, 1))
    found = bs.find_pairs(everywhere, filters=bs.Filters(sphere=near), device=device, origin="auto")
    assert np.array_equal(found, that_touch(brute_force(everywhere), near))


@pytest.mark.parametrize("dimension", [2, 3])
def test_queries_with_a_sphere_meet_boxes_whose_sphere_it_touches(device, dimension):
    spheres, own = some_spheres(300, 1, dimension), some_spheres(40, 2, dimension)
    boxes = boxes_of(spheres)
    tree = bs.Tree(boxes, device=device, filters=bs.Filters(sphere=spheres))
    apart = ((spheres[None, :, :-1] - own[:, None, :-1]).astype(np.float64) ** 2).sum(2)
    meets = apart <= (spheres[None, :, -1].astype(np.float64) + own[:, None, -1]) ** 2
    regions = boxes_of(own)
    low, high = np.maximum(regions[:, None], boxes)[..., :dimension], np.minimum(regions[:, None], boxes)[..., dimension:]
    overlaps = (low <= high).all(2)
    expected = meets & overlaps
    for kind in (own, own.astype(float)):
        found = tree.overlaps(regions, sphere=kind)
        assert all(np.array_equal(found[i], np.flatnonzero(expected[i])) for i in range(40))
    assert 0 < expected.sum() < overlaps.sum()
    points, along = np.zeros((40, dimension)), np.ones((40, dimension))
    hits, nearest = tree.rays(points, along, hits="all", sphere=own), tree.nearest(points, k=300, sphere=own).index
    for i in range(40):
        assert meets[i, hits[i]].all()
        assert np.array_equal(np.sort(nearest[i][nearest[i] >= 0]), np.flatnonzero(meets[i]))
    with pytest.raises(ValueError, match="sphere"):
        tree.overlaps(regions, sphere=own[:3])
    with pytest.raises(ValueError, match="sphere.* at least zero"):
        tree.overlaps(regions, sphere=np.where(np.arange(dimension + 1) == dimension, -1, own))


def test_spheres_that_rounding_makes_much_larger_are_warned_of():
    near = some_spheres(100).astype(np.float64)
    far = near + np.array([5e6, 4e6, 0, 0])
    boxes = boxes_of(some_spheres(100))
    text = "rounding filters.sphere .* makes radii longer by .*spheres touch .*`origin`"
    with pytest.warns(UserWarning, match=text) as warned:
        bs.find_pairs(boxes, filters=bs.Filters(sphere=far), device="cpu")
    assert len(warned) == 1 and warned[0].filename == __file__
    points = np.where(np.arange(4) == 3, 0.0, near + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (near, far.astype(np.float32), near * 1.1, points):
            bs.find_pairs(boxes, filters=bs.Filters(sphere=quiet), device="cpu")


def test_spheres_in_2d_lie_at_z_0(device):
    spheres = some_spheres(300, 3, dimension=2)
    boxes = boxes_of(spheres)
    engine = bs.BroadPhase(device, filters=bs.Filters(sphere=spheres))
    expected = that_touch(brute_force(np.insert(np.insert(boxes, 2, 0, 1), 5, 0, 1)), spheres)
    assert np.array_equal(engine.find_pairs(boxes), expected) and len(expected) > 0
    engine.change_filters("sphere", spheres[:1])
    with pytest.raises(ValueError, match="numbers"):
        engine.change_filters("sphere", np.ones((1, 4)))
    with pytest.raises(ValueError, match="filters.sphere is in 3D"):
        engine.set_filters(bs.Filters(sphere=np.ones((300, 4))))
    engine = bs.BroadPhase(device, filters=bs.Filters(sphere=spheres))
    with pytest.raises(ValueError, match="filters.sphere is in 2D"):
        engine.find_pairs(np.zeros((300, 6)))


@pytest.mark.parametrize("sphere", [[1, 2, 3, 4], 1.0, [[1, 2]], np.zeros((3, 5)), np.zeros((3, 2, 2))])
def test_spheres_of_another_shape_are_refused(sphere):
    with pytest.raises(ValueError, match="sphere must have the shape"):
        bs.Filters(sphere=sphere)


@pytest.mark.parametrize(
    "sphere", [[0, 0, 0, -1], [0, 0, 0, np.nan], [np.inf, 0, 0, 1], [0, np.nan, 0, np.inf], [0, 0, 0, -1e-300]]
)
def test_spheres_without_a_meaning_are_refused(device, sphere):
    for dtype in (np.float32, np.float64):
        if np.array(sphere).astype(dtype)[3] != 0:
            with pytest.raises(ValueError, match="sphere"):
                bs.BroadPhase(device, filters=bs.Filters(sphere=np.array([[0, 0, 0, 1], sphere]).astype(dtype)))
    with pytest.raises(ValueError, match="sphere"):
        bs.Slots().insert([0] * 6, sphere=sphere)
    with pytest.raises(ValueError, match="sphere"):
        bs.find_pairs(np.zeros((3, 6)), filters=bs.Filters(sphere=np.ones((2, 4))), device=device)


def test_filters_with_spheres_can_be_pickled_and_compared():
    spheres = some_spheres(3)
    filters = bs.Filters(sphere=spheres)
    spheres[0] += 1
    assert pickle.loads(pickle.dumps(filters)) == filters != bs.Filters(sphere=spheres)
    assert "sphere=<float32 (3, 4)>" in repr(filters)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("origin", [None, "auto"])
def test_spheres_follow_boxes_in_slots(device, dimension, origin):
    shift = np.array([5e6, 4e6, -3e6])[:dimension] if origin else np.zeros(dimension)
    slots, engine = bs.Slots(dimension=dimension, origin=origin), bs.BroadPhase(device)
    spheres = some_spheres(40, 6, dimension)
    boxes = boxes_of(spheres)
    handles = []
    for sphere, box in zip(spheres, boxes.astype(np.float64)):
        sphere = sphere.astype(np.float64) + np.append(shift, 0)
        handles.append(slots.insert(box + np.tile(shift, 2), sphere=None if np.isinf(sphere[-1]) else sphere))
    in_space = boxes if dimension == 3 else np.insert(np.insert(boxes, 2, 0, 1), 5, 0, 1)
    expected = that_touch(brute_force(in_space), spheres)
    events = slots.find_events(engine)
    assert np.array_equal(events.created, expected) and len(expected) > 0
    with_sphere, without = (int(np.flatnonzero(np.isinf(spheres[:, -1]) == is_none)[0]) for is_none in (False, True))
    assert slots.filter(handles[without])["sphere"] is None
    held = np.array(slots.filter(handles[with_sphere])["sphere"]) + np.append(slots.origin or np.zeros(dimension), 0)
    assert held == pytest.approx(spheres[with_sphere] + np.append(shift, 0), abs=1e-6)
    slots.set_filter(handles[expected[0, 0]], sphere=np.append(shift - 100, 0))
    has_one = ~np.isinf(spheres[:, -1])
    is_lost = (expected == expected[0, 0]).any(1) & has_one[expected].all(1)
    assert is_lost.any() and set(map(tuple, expected[is_lost])) <= set(map(tuple, slots.find_events(engine).lost))
    slots.remove(handles[with_sphere])
    assert slots.filter(slots.insert(np.tile(shift, 2)))["sphere"] is None
    for wrong in ([0] * (dimension + 2), 1.0):
        with pytest.raises(ValueError, match="sphere must have the shape"):
            slots.insert(np.tile(shift, 2), sphere=wrong)


def test_slots_without_an_origin_work_in_an_engine_with_one(device):
    spheres = some_spheres(40, 7)
    boxes = boxes_of(spheres)
    slots = bs.Slots()
    for sphere, box in zip(spheres, boxes):
        slots.insert(box, sphere=sphere)
    expected = that_touch(brute_force(boxes), spheres)
    assert np.array_equal(slots.find_events(bs.BroadPhase(device, origin="auto")).created, expected)
    engine = bs.BroadPhase(device, origin=(0.25, 0.5, 0.75))
    slots.update_filters(engine)
    assert np.array_equal(engine.find_pairs(slots.boxes)[: len(expected)], expected)
    engine = bs.BroadPhase(device, origin="auto")
    slots.update_filters(engine)
    assert np.array_equal(engine.find_pairs(slots.boxes), expected)
