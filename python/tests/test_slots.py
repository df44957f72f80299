"""Boxes that come and go in slots, against a dictionary of bodies and brute force over its boxes alone."""

import warnings

import numpy as np
import pytest
from conftest import brute_force

import broadsweep as bs

DEFAULTS = dict(group=0xFFFFFFFF, world=0, fixed=False, margin=0.0, body=-1, sleeping=False)


def some_box(rng, dimension=3):
    lower = rng.integers(0, 32, dimension) / 8
    return np.hstack([lower, lower + rng.integers(1, 8, dimension) / 8]).astype(np.float32)


def some_filter(rng):
    return [
        {},
        {},
        dict(group=1),
        dict(group=2),
        dict(world=1),
        dict(fixed=True),
        dict(margin=0.25),
        dict(body=3),
        dict(body=3),
        dict(sleeping=True),
    ][rng.integers(10)]


def pairs_of(bodies):
    """Return the pairs of handles that the filters keep, by their definition."""
    handles = list(bodies)
    if not handles:
        return set()
    boxes = np.array([box for box, _ in bodies.values()])
    values = [DEFAULTS | filter for _, filter in bodies.values()]
    margin = np.array([value["margin"] for value in values], np.float32)[:, None]
    boxes = np.hstack([boxes[:, :3] - margin, boxes[:, 3:] + margin])

    def keeps(a, b):
        a, b = values[a], values[b]
        met = a["group"] & b["group"] and a["world"] == b["world"]
        return met and not (a["fixed"] and b["fixed"]) and not (a["body"] == b["body"] != -1)

    return {(handles[a], handles[b]) for a, b in brute_force(boxes).tolist() if keeps(a, b)}


@pytest.mark.parametrize("has_filters", [False, True])
def test_bodies_that_come_and_go_have_the_events_of_a_dictionary(device, has_filters):
    rng = np.random.default_rng(3)
    engine, slots, bodies, gone, last = bs.BroadPhase(device), bs.Slots(), {}, [], set()
    engine.set_filters(bs.Filters(rule="both"))
    counts = np.zeros(2, int)
    for _ in range(15):
        for handle in list(bodies):
            chance = rng.random()
            if chance < 0.05:
                box, _ = bodies.pop(handle)
                assert np.array_equal(slots.remove(handle), box)
                gone.append(handle)
            elif chance < 0.15:
                box = some_box(rng)
                slots.set(handle, box)
                bodies[handle] = box, bodies[handle][1]
            elif chance < 0.2 and has_filters:
                filter = some_filter(rng)
                # A group is seen and met.
                slots.set_filter(handle, **filter, **({"mask": filter["group"]} if "group" in filter else {}))
                bodies[handle] = bodies[handle][0], filter
        for _ in range(rng.integers(12)):
            box, filter = some_box(rng), some_filter(rng) if has_filters else {}
            handle = slots.insert(box, **filter, **({"mask": filter["group"]} if "group" in filter else {}))
            assert handle not in bodies and handle not in gone
            bodies[handle] = box, filter
        bodies = dict(sorted(bodies.items()))
        assert list(slots) == list(bodies) and len(slots) == len(bodies)

        events = slots.find_events(engine)
        pairs = pairs_of(bodies)

        def named(array, name):
            return {(name(a), name(b)) for a, b in array}

        assert named(events.pairs, slots.handle_of) == pairs
        assert named(events.created, slots.handle_of) == pairs - last
        assert named(events.lost, slots.last_handle_of) == last - pairs
        last = pairs
        counts += len(events.created), len(events.lost)
        for handle in gone:
            assert handle not in slots and slots.get(handle) is slots.remove(handle) is slots.filter(handle) is None
            with pytest.raises(KeyError, match="stale"):
                slots.set(handle, some_box(rng))
            with pytest.raises(KeyError, match="stale"):
                slots.set_filter(handle, fixed=True)
    assert (counts > 20).all() and gone


def test_slots_double_and_the_lowest_free_one_is_used_again():
    slots = bs.Slots()
    handles = [slots.insert([0, 0, 0, 1, 1, 1], world=i or None, parent=4 if i == 70 else None) for i in range(100)]
    assert slots.boxes.shape == (128, 6) and np.isnan(slots.boxes[100:]).all()
    for handle in (handles[9], handles[5], handles[7]):
        slots.remove(handle)
    assert [slots.insert([0] * 6).index for _ in range(4)] == [5, 7, 9, 100]
    assert slots.filter(handles[70]) | {} == slots.filter(handles[71]) | {"world": 70, "parent": 4}
    none = {"body": None, "parent": None, "world": None}
    assert slots.filter(handles[0]).items() >= none.items() and slots.filter(handles[71])["world"] == 71
    assert bs.Slots(10).boxes.shape == (10, 6) and len(bs.Slots(10)) == 0


def test_boxes_are_a_view_and_are_rounded_outward():
    slots = bs.Slots()
    handle = slots.insert(([0.1, 0, 0], [0.1, 1, 1]))
    box = slots.get(handle)
    assert float(box[0]) < 0.1 < float(box[3])
    slots.boxes[handle.index] += 1
    assert box[1] == 1 and np.array_equal(slots.get(handle), box)
    with pytest.raises(ValueError, match="read-only"):
        slots.generations[0] = 7


def test_slots_in_2d_and_without_boxes_are_found_without_a_warning(device):
    engine, slots = bs.BroadPhase(device), bs.Slots(dimension=2)
    first, _ = slots.insert([0, 0, 1, 1]), slots.insert([1, 1, 2, 2])
    assert len(slots.find_events(engine).created) == 1
    for handle in list(slots):
        slots.remove(handle)
    created, lost = slots.find_events(engine, changes_only=True)
    assert (len(created), lost.tolist(), slots.last_handle_of(0)) == (0, [[0, 1]], first)


@pytest.mark.parametrize("origin", [(5e5, 5e6), "auto"])
def test_boxes_far_from_the_origin_are_rounded_less_it(device, origin):
    rng = np.random.default_rng(5)
    near = np.round(rng.random((300, 2)) * 20 * 1024) / 1024
    near = np.hstack([near, near + rng.integers(1, 1024, (300, 2)) / 1024])
    far = near + np.array([5e5, 5e6, 5e5, 5e6])
    expected = brute_force(np.insert(near, [2, 4], 0, axis=1))
    slots, engine = bs.Slots(dimension=2, origin=origin), bs.BroadPhase(device)
    assert slots.origin == (None if origin == "auto" else origin)
    handles = [slots.insert(box if i % 2 else (box[:2], box[2:])) for i, box in enumerate(far)]
    assert slots.origin == (origin if origin != "auto" else tuple(far[0].reshape(2, 2).mean(0)))
    assert np.array_equal(slots.find_events(engine).created, expected) and len(expected) > 100
    # Subtraction is exact here, and float32 holds what is near the origin.
    less = np.tile(slots.origin, 2)
    assert np.array_equal(slots.boxes[:300].astype(np.float64) + less, far)
    slots.set(handles[7], far[8])
    assert np.array_equal(slots.get(handles[7]), slots.get(handles[8]))
    tree = bs.Tree(slots.boxes, device=device)
    found = tree.overlap_points(far[:5, :2] - slots.origin)
    assert all(i in found[i] for i in range(5))
    # A box whose bounds float32 does not hold is larger, by little.
    handle = slots.insert([500_000.1, 5_000_000.1, 500_000.3, 5_000_000.3])
    exact = np.array([500_000.1, 5_000_000.1, 500_000.3, 5_000_000.3]) - less
    grown = (slots.get(handle).astype(np.float64) - exact) * [-1, -1, 1, 1]
    assert (grown >= 0).all() and 0 < grown.max() < 1e-5


def test_slots_warn_of_boxes_that_rounding_makes_much_longer_and_of_invalid_ones():
    far = [500_000.1, 5_000_000.1, 500_000.3, 5_000_000.3]
    with pytest.warns(UserWarning, match="rounding box from float64 .* along y longer by .*`origin`") as warned:
        bs.Slots(dimension=2).insert(far)
    assert len(warned) == 1 and warned[0].filename == __file__
    slots = bs.Slots(dimension=2, origin=(0, 0))
    with pytest.warns(UserWarning, match="far from the origin"):
        handle = slots.insert([0, 0, 1, 1])
        slots.set(handle, far)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bs.Slots(dimension=2, origin=(5e5, 5e6)).insert(far)
        bs.Slots(dimension=2, origin="auto").insert(far)
    with pytest.warns(UserWarning, match="all 1 boxes .* corners of box in this order") as warned:
        slots.insert([1, 1, 0, 0])
    assert len(warned) == 1 and warned[0].filename == __file__


def test_an_origin_is_subtracted_once_and_has_the_dimension_of_the_slots():
    slots = bs.Slots(origin=(1, 2, 3))
    for target in (bs.BroadPhase("cpu", origin="auto"), bs.Tree(device="cpu", origin=(1, 2, 3))):
        with pytest.raises(ValueError, match="subtracted twice"):
            slots.update_filters(target)
    with pytest.raises(ValueError, match="origin has 2 numbers, and dimension is 3"):
        bs.Slots(origin=(1, 2))
    with pytest.raises(ValueError, match="origin"):
        bs.Slots(origin="centre")
    auto = bs.Slots(origin="auto")
    with pytest.raises(TypeError):
        auto.insert([0] * 6, world=0.5)
    # A refused call does not fix it.
    assert auto.origin is None


def test_a_tree_of_slots_answers_with_the_boxes_that_are_there(device):
    slots, tree = bs.Slots(), bs.Tree(device=device, filters=bs.Filters(rule="both"))
    handles = [slots.insert([i, 0, 0, i + 1, 1, 1], group=1 + i % 2) for i in range(5)]
    slots.update_filters(tree)
    tree.build(slots.boxes)
    assert tree.overlaps([[1, 0, 0, 3, 1, 1]]).tolist() == [[0, 1, 2, 3]]
    slots.remove(handles[1])
    slots.set_filter(handles[2], group=4)
    slots.update_filters(tree)
    tree.refit(slots.boxes)
    assert tree.overlaps([[1, 0, 0, 3, 1, 1]], mask=4).tolist() == [[2]]
    assert tree.overlaps([[1, 0, 0, 3, 1, 1]]).tolist() == [[0, 2, 3]]


def test_what_has_no_meaning_is_refused_and_changes_nothing():
    slots = bs.Slots()
    for error, box, filter in [
        (ValueError, [0, 0, 1, 1], {}),
        (TypeError, "box", {}),
        (TypeError, [0] * 6, dict(colour=1)),
        (ValueError, [0] * 6, dict(margin=-1)),
        (ValueError, [0] * 6, dict(body=1 << 31)),
        (TypeError, [0] * 6, dict(world=0.5)),
    ]:
        with pytest.raises(error):
            slots.insert(box, **filter)
    assert len(slots) == 0 and len(slots.boxes) == 0
    with pytest.raises(TypeError, match="target"):
        slots.update_filters(slots)


def test_a_step_tells_why_all_boxes_were_searched(device):
    engine, boxes = bs.BroadPhase(device), np.zeros((2000, 6), np.float32)
    boxes[:, 3:] = 1
    boxes += np.arange(2000)[:, None] * 2
    reasons = [engine.step(boxes).report.reason for _ in range(3)]
    assert reasons == (["first_step", "first_step", ""] if device == "cpu" else ["always"] * 3)
