"""Answers, reports, filters and slots survive pickle and copy."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from conftest import scene

import broadsweep as bs

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda value, p=p: pickle.loads(pickle.dumps(value, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}


def values(device):
    """Return values of every public class that holds data, by class."""
    boxes, filters = scene(300), bs.Filters(group=np.arange(300), world=0, exclude=[[0, 1]], owner=[0, 0, 0, 1, 1, 1])
    engine, tree = bs.BroadPhase(device, filters=filters), bs.Tree(boxes, device=device)
    engine.find_pairs(boxes)
    engine.step(boxes)
    whole, changes = engine.step(boxes[:, [1, 2, 0, 4, 5, 3]]), engine.events(boxes)
    slots = bs.Slots(origin=(1, 2, 3))
    handles = [slots.insert(box, group=i, body=-1) for i, box in enumerate(boxes)]
    slots.remove(handles[7])
    slots.mark_step()
    points = boxes[:9, :3]
    made = [
        *(filters, bs.Filters(), bs.Filters(rule="both")),
        *(engine.report, whole.report, changes.report, tree.report, whole, changes, handles[3], slots),
        *(tree.rays(points, [1, 0, 0]), tree.nearest(points, k=2)),
        *(tree.rays(points, [1, 0, 0], hits="all"), tree.overlaps(boxes[:5]), tree.overlaps([])),
        bs.find_neighbours(points, 0.5),
        bs.find_neighbours(points, 0.5, cell=[1, 1, 1], vectors=True, squared_distances=True),
        *(tree.query_report, bs.CandidateLimitError("too many"), bs.GpuError("lost")),
    ]
    return {kind: [value for value in made if type(value) is kind] for kind in set(map(type, made))}


def state(value):
    """Return what a value holds, in parts that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return tuple(map(state, value))
    if isinstance(value, dict):
        return {name: state(part) for name, part in value.items()}
    if isinstance(value, BaseException):
        return type(value), value.args
    if dataclasses.is_dataclass(value):
        return type(value), {field.name: state(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, bs.Lists):
        return state((value.offsets, value.index, value.t))
    if isinstance(value, bs.Slots):
        rows = [state((handle, value.get(handle), value.filter(handle))) for handle in value]
        return rows, value.origin, state((value.boxes, value.generations)), [value.last_handle_of(i) for i in (0, 7)]
    return value


@pytest.mark.parametrize("how", COPIES)
def test_every_public_class_of_data_survives_a_copy(device, how):
    found = values(device)
    for kind, own in found.items():
        for value in own:
            copied = COPIES[how](value)
            assert type(copied) is kind and state(copied) == state(value) and repr(copied) == repr(value)
    public = {value for name in bs.__all__ if inspect.isclass(value := getattr(bs, name))}
    # The others work: they hold threads, memory of a GPU or an open call.
    assert found.keys() == public - {bs.BroadPhase, bs.Tree, bs.PairStream}
    empty, both = bs.Filters(), bs.Filters(rule="both")
    assert COPIES[how](both) == both != COPIES[how](empty) == empty


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_slots_shares_nothing_with_them(how):
    slots = bs.Slots()
    first = slots.insert([0, 0, 0, 1, 1, 1], world=1)
    copied = COPIES[how](slots)
    slots.remove(first)
    second = copied.insert([1, 1, 1, 2, 2, 2], world=2)
    assert first in copied and second not in slots and first not in slots and len(slots) == 0
    assert copied.filter(first)["world"] == 1 and copied.get(first).tolist() == [0, 0, 0, 1, 1, 1]
    assert len(copied.find_events(bs.BroadPhase("cpu")).created) == 0
    copied.set_filter(second, world=1)
    assert len(copied.find_events(bs.BroadPhase("cpu")).created) == 1


@pytest.mark.parametrize("how", ["deepcopy", "pickle 2", "pickle 5"])
def test_engines_are_not_copied(how):
    for engine in (bs.BroadPhase("cpu"), bs.Tree(device="cpu")):
        with pytest.raises(TypeError, match="pickle"):
            COPIES[how](engine)
