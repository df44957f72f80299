"""The engine: pairs, filters, steps, streams, and how calls end."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import brute_force, scene

import broadsweep as bs


def keys(pairs):
    return {(int(a), int(b)) for a, b in pairs}


@pytest.mark.parametrize("order", ["canonical", "sweep"])
def test_pairs_are_those_of_brute_force(device, order):
    engine = bs.BroadPhase(device, order=order, all_pairs_up_to=0)
    for seed, edge in ((0, 0.05), (1, 0.3), (2, 0.0)):
        boxes = scene(700, seed, edge)
        pairs = engine.find_pairs(boxes)
        expected = brute_force(boxes)
        assert pairs.dtype == np.uint32
        if order == "canonical":
            assert np.array_equal(pairs, expected)
        else:
            assert len(pairs) == len(expected) and keys(pairs) == keys(expected)
        assert engine.report.pair_count == len(expected) and engine.report.box_count == 700


def test_long_calls_give_the_same_as_short_ones(device):
    # Above and below the number of boxes from which a call has a thread of its own; float64 always has a copy.
    boxes = scene(40_000, 3, 0.02)
    pairs = bs.BroadPhase(device).find_pairs(boxes)
    assert np.array_equal(pairs, bs.find_pairs(boxes.astype(np.float64), device=device))
    half = boxes[:20_000]
    assert np.array_equal(pairs[(pairs < 20_000).all(1)], bs.find_pairs(half, device=device))


def test_boxes_that_are_all_none_are_warned_of():
    with pytest.warns(UserWarning, match="all 3 boxes"):
        bs.find_pairs((np.ones((3, 3)), np.zeros((3, 3))), device="cpu")


def test_two_sets_are_joined(device):
    first, second = scene(300, 4), scene(200, 5)
    pairs = bs.find_pairs_between(first, second, device=device)
    whole = brute_force(np.vstack([first, second]))
    crossing = whole[(whole[:, 0] < 300) & (whole[:, 1] >= 300)] - np.array([0, 300], np.uint32)
    assert np.array_equal(pairs, crossing)


def filtered(boxes, keep):
    pairs = brute_force(boxes)
    return pairs[[bool(keep(int(a), int(b))) for a, b in pairs]]


def test_filters_by_box(device, boxes):
    rng = np.random.default_rng(6)
    n = len(boxes)
    group, mask = rng.integers(0, 8, n), rng.integers(0, 8, n)
    body, parent = rng.integers(0, 50, n), rng.integers(-1, 50, n)
    world, fixed = rng.integers(-1, 3, n), rng.random(n) < 0.3
    cases = [
        (dict(group=group, mask=mask), lambda a, b: (group[a] & mask[b]) | (group[b] & mask[a])),
        (dict(group=group, mask=mask, rule="both"), lambda a, b: (group[a] & mask[b]) and (group[b] & mask[a])),
        (dict(body=body), lambda a, b: body[a] != body[b]),
        (
            dict(body=body, parent=parent),
            lambda a, b: body[a] != body[b] and parent[a] != body[b] and parent[b] != body[a],
        ),
        (dict(fixed=fixed), lambda a, b: not (fixed[a] and fixed[b])),
        (dict(sleeping=fixed.astype(np.uint8)), lambda a, b: not (fixed[a] and fixed[b])),
        (dict(second=fixed), lambda a, b: fixed[a] != fixed[b]),
        (dict(world=world), lambda a, b: world[a] == world[b] or world[a] < 0 or world[b] < 0),
    ]
    engine = bs.BroadPhase(device)
    for lists, keep in cases:
        engine.set_filters(bs.Filters(**lists))
        assert np.array_equal(engine.find_pairs(boxes), filtered(boxes, keep)), lists.keys()
    engine.set_filters(None)
    assert np.array_equal(engine.find_pairs(boxes), brute_force(boxes))


def test_lists_of_pairs_margins_and_half_spaces(device, boxes):
    pairs = brute_force(boxes)
    some, others = pairs[::3], np.array([[5, 3], [17, 2]])
    found = bs.find_pairs(boxes, filters=bs.Filters(exclude=some[:, ::-1], include=others), device=device)
    assert keys(found) == (keys(pairs) - keys(some)) | {(3, 5), (2, 17)}

    margin = np.full(len(boxes), 0.03)
    grown = bs.find_pairs(boxes, filters=bs.Filters(margin=margin), device=device)
    sure = boxes + np.array([-0.0299] * 3 + [0.0299] * 3, np.float32)
    assert keys(brute_force(sure)) <= keys(grown) and len(grown) > len(pairs)

    floor = bs.Filters(half_space_box=[7], half_space=[[0, 0, 1, 0.25]])
    on_floor = bs.find_pairs(boxes, filters=floor, device=device)
    expected = {(min(i, 7), max(i, 7)) for i in range(len(boxes)) if i != 7 and boxes[i, 2] <= 0.25}
    assert {pair for pair in keys(on_floor) if 7 in pair} == expected


def test_one_list_can_be_changed(device, boxes):
    world = np.zeros(len(boxes), np.int32)
    engine = bs.BroadPhase(device, filters=bs.Filters(world=world))
    engine.change_filters("world", [1] * 100, first=50)
    world[50:150] = 1
    assert np.array_equal(engine.find_pairs(boxes), filtered(boxes, lambda a, b: world[a] == world[b]))
    with pytest.raises(ValueError, match="world"):
        engine.change_filters("world", [1], first=len(boxes))
    with pytest.raises(ValueError, match="exclude"):
        engine.change_filters("exclude", [1])


@pytest.mark.parametrize(
    "lists, exception, word",
    [
        (dict(world=[0.5]), TypeError, "world"),
        (dict(world=[-2]), ValueError, "world"),
        (dict(body=[0, -2]), ValueError, "body"),
        (dict(world=[1 << 32]), ValueError, "world"),
        (dict(world=[[1]]), ValueError, "world"),
        (dict(fixed=[2]), ValueError, "fixed"),
        (dict(fixed=["yes"]), TypeError, "fixed"),
        (dict(exclude=[1, 2]), ValueError, "exclude"),
        (dict(exclude=[[1, -1]]), ValueError, "exclude"),
        (dict(half_space=[[0, 0, 1, 0]]), ValueError, "half_space_box"),
        (dict(half_space=[[0, 0, 1]], half_space_box=[0]), ValueError, "half_space"),
        (dict(margin=["1"]), TypeError, "margin"),
        (dict(rule="either"), ValueError, "rule"),
        (dict(worlds=[1]), TypeError, "worlds"),
    ],
)
def test_filters_that_are_none_are_refused(lists, exception, word):
    with pytest.raises(exception, match=word):
        bs.Filters(**lists)


@pytest.mark.parametrize(
    "lists, word",
    [
        (dict(world=[0, 1]), "world"),
        (dict(margin=[-1.0, 0, 0]), "margin"),
        (dict(exclude=[[0, 3]]), "exclude"),
        (dict(include=[[1, 1]]), "include"),
        (dict(half_space_box=[0], half_space=[[0, 0, 0, 1]]), r"`half_space\[0\]`"),
    ],
)
def test_filters_that_do_not_fit_the_boxes_are_refused(device, lists, word):
    with pytest.raises(ValueError, match=word):
        bs.find_pairs(np.zeros((3, 6)), filters=bs.Filters(**lists), device=device)


def test_filters_are_those_of_the_time_of_their_creation():
    world = np.zeros(3, np.uint32)
    filters = bs.Filters(world=world)
    world[:] = [0, 1, 2]
    assert len(bs.find_pairs(np.zeros((3, 6)), filters=filters, device="cpu")) == 3


def test_filters_can_be_pickled_and_compared():
    filters = bs.Filters(world=[0, -1], exclude=[[0, 1]], rule="both")
    assert pickle.loads(pickle.dumps(filters)) == filters != bs.Filters(world=[0, 0])
    assert "world" in repr(filters)


def test_steps_tell_what_began_and_ended(device):
    rng = np.random.default_rng(7)
    boxes = scene(500, 8)
    engine = bs.BroadPhase(device)
    last = np.empty((0, 2), np.uint32)
    for _ in range(6):
        moves = rng.random((len(boxes), 1)) < 0.2
        shift = rng.normal(0, 0.05, (len(boxes), 3)) * moves
        boxes = (boxes + np.hstack([shift, shift])).astype(np.float32)
        now = brute_force(boxes)
        events = engine.step(boxes)
        assert np.array_equal(events.pairs, now)
        assert keys(events.created) == keys(now) - keys(last) and keys(events.lost) == keys(last) - keys(now)
        assert keys(events.persisting) == keys(now) & keys(last)
        found = events.before >= 0
        assert np.array_equal(events.pairs[found], last[events.before[found]])
        assert events.report.created_count == len(events.created)
        last = now
    created, lost = engine.events(boxes[1:], was=np.arange(1, 500))
    assert len(lost) == (last == 0).any(1).sum() and len(created) == 0
    engine.forget_steps()
    created, lost = engine.events(boxes)
    assert np.array_equal(created, last) and len(lost) == 0


def test_a_step_that_means_nothing_is_refused(device, boxes):
    engine = bs.BroadPhase(device)
    engine.events(boxes)
    n = len(boxes)
    for said, word in (
        (dict(was=[0] * n), "was"),
        (dict(was=[0]), "was"),
        (dict(moved=[n]), "moved"),
        (dict(generations=[1]), "generations"),
        (dict(generations=[1] * n, was=list(range(n))), "exclude"),
    ):
        with pytest.raises(ValueError, match=word):
            engine.events(boxes, **said)
    created, lost = engine.events(boxes)
    assert len(created) == len(lost) == 0


def test_a_stream_has_all_pairs_once(device):
    boxes = scene(3000, 9, 0.2)
    engine = bs.BroadPhase(device, all_pairs_up_to=0)
    expected = engine.find_pairs(boxes)
    pieces = list(engine.stream(boxes, piece=1000))
    assert len(pieces) >= 1 and keys(np.vstack(pieces)) == keys(expected) and sum(map(len, pieces)) == len(expected)
    with engine.stream(boxes, piece=1000) as stream:
        next(stream)
        assert stream.pair_count == len(expected)
    # Closed in the middle, the engine is free again.
    assert np.array_equal(engine.find_pairs(boxes), expected)
    assert sum(map(len, engine.stream(np.empty((0, 6))))) == 0
    stream = engine.stream(boxes)
    del stream
    assert np.array_equal(engine.find_pairs(boxes), expected)


def test_while_a_stream_is_open_the_engine_is_refused_and_not_waited_for():
    if not bs.adapters():
        pytest.skip("on the CPU a stream has the whole list")
    # A list for which there is little room comes in many pieces.
    engine = bs.BroadPhase("gpu", memory_budget=4 << 20)
    stream = engine.stream(scene(3000, 9, 0.6))
    next(stream)
    with pytest.raises(RuntimeError, match="stream"):
        engine.find_pairs(np.zeros((2, 6)))
    stream.close()
    assert len(engine.find_pairs(np.zeros((2, 6)))) == 1


def many_pieces():
    """Return an engine with little room for a list, and boxes whose list is long."""
    return bs.BroadPhase("gpu", memory_budget=4 << 20), scene(3000, 9, 0.6)


def with_an_answer(engine):
    """Call an engine on another thread, so that a call that waits for ever is seen."""
    found = []
    thread = threading.Thread(target=lambda: found.append(engine.find_pairs(np.zeros((2, 6)))), daemon=True)
    thread.start()
    thread.join(30)
    assert found and len(found[0]) == 1, "the engine hangs"


@pytest.mark.skipif(not bs.adapters(), reason="on the CPU a stream has the whole list")
def test_the_end_of_a_stream_does_not_end_the_next_one():
    engine, boxes = many_pieces()
    old = engine.stream(boxes)
    assert sum(map(len, old)) > 0
    new = engine.stream(boxes)
    next(new)
    del old
    with pytest.raises(RuntimeError, match="stream"):
        engine.find_pairs(boxes)
    new.close()
    with_an_answer(engine)


@pytest.mark.skipif(not bs.adapters(), reason="on the CPU a stream has the whole list")
def test_a_stream_may_be_closed_while_another_thread_waits_for_a_piece():
    for wait in (0, 0.001, 0.01, 0.1):
        engine, boxes = many_pieces()
        stream = engine.stream(boxes)
        thread = threading.Thread(target=lambda pieces=stream: list(pieces))
        thread.start()
        time.sleep(wait)
        stream.close()
        thread.join(30)
        assert not thread.is_alive()
        with_an_answer(engine)


@pytest.mark.parametrize(
    "options, exception",
    [
        (dict(axis="w"), ValueError),
        (dict(order="random"), ValueError),
        (dict(cell_size="big"), ValueError),
        (dict(cell_size=-1.0), ValueError),
        (dict(cell_size=float("nan")), ValueError),
        (dict(cell_size=[1]), TypeError),
        (dict(threads="two"), TypeError),
        (dict(threads=0), ValueError),
        (dict(threads=10**6), ValueError),
        (dict(threads=-1), ValueError),
        (dict(memory_budget=-1), ValueError),
        (dict(device="no such adapter"), bs.GpuError),
        (dict(device=3), TypeError),
        (dict(device=""), ValueError),
        (dict(all_pairs_up_to=1 << 40), ValueError),
        (dict(candidate_limit=1.5), TypeError),
        (dict(filters={"world": [1]}), TypeError),
    ],
)
def test_options_without_a_meaning_are_refused(options, exception):
    with pytest.raises(exception):
        bs.BroadPhase(**{"device": "cpu", **options})


def test_what_does_not_fit_is_refused_and_the_engine_goes_on(device):
    same = np.zeros((5000, 6), np.float32)
    engine = bs.BroadPhase(device, candidate_limit=1000)
    with pytest.raises(bs.CandidateLimitError, match="candidate_limit"):
        engine.find_pairs(same)
    assert len(engine.find_pairs(same[:10])) == 45
    if device == "gpu":
        tight = bs.BroadPhase(device, memory_budget=1 << 12)
        with pytest.raises(MemoryError, match="memory_budget"):
            tight.find_pairs(same)


def test_an_engine_names_its_device(device):
    engine = bs.BroadPhase(device, threads=1)
    assert "device=" in repr(engine)
    if device == "cpu":
        assert engine.device == "cpu" and "threads=1" in repr(engine) and engine.memory_plan(1000) == {}
    else:
        assert engine.device in {adapter["name"] for adapter in bs.adapters()}
        assert sum(engine.memory_plan(1000).values()) > 24_000
        seen = []
        engine.compile(100_000, lambda done, of: seen.append((done, of)))
        assert seen[-1][0] == seen[-1][1] > 0
    engine.find_pairs(scene(100))
    assert engine.memory_bytes > 0


def test_auto_takes_no_driver_in_software():
    engine = bs.BroadPhase()
    kinds = {adapter["type"] for adapter in bs.adapters()}
    if kinds <= {"software"}:
        assert engine.device == "cpu" and ("software" in repr(engine) or "no GPU" in repr(engine))


def test_threads_may_share_an_engine(device):
    boxes = scene(2000, 10)
    engine = bs.BroadPhase(device)
    expected, found = engine.find_pairs(boxes), []
    threads = [threading.Thread(target=lambda: found.append(engine.find_pairs(boxes))) for _ in range(8)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert len(found) == 8 and all(np.array_equal(pairs, expected) for pairs in found)


def test_the_lock_of_the_interpreter_is_released(device):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    bs.BroadPhase(device, all_pairs_up_to=0).find_pairs(scene(150_000, 11, 0.02))
    done.set(), thread.join()
    assert len(ticks) > 3


def calls(engine, boxes):
    """Return what every kind of call answers."""
    few = boxes[:300]
    tree = bs.Tree(few, device="cpu")
    return [
        engine.find_pairs(boxes),
        engine.find_pairs(few),
        engine.find_pairs_between(few, boxes[300:400]),
        engine.step(few).pairs,
        bs.id_pairs(engine.find_pairs(few), np.arange(300)),
        tree.refit(few).box_count,
        tree.rays(few[:, :3], [1, 0, 0]).index,
        tree.overlaps(few).index,
        tree.nearest(few[:, :3], k=2).index,
        bs.find_neighbours(few[:, :3], 0.1).pairs,
    ]


def child(connection, boxes, engine):
    connection.send(calls(engine, boxes))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_every_call_works_on_after_a_fork():
    # The threads of a pool do not survive a fork: a call that waited for them would wait for ever.
    boxes = scene(20_000, 12, 0.02)
    engine = bs.BroadPhase("cpu")
    calls(engine, boxes)
    engine.forget_steps()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=child, args=(theirs, boxes, engine))
    process.start()
    answered = ours.poll(30)
    if not answered:
        process.kill()
    assert answered, "the child hangs"
    for theirs, expected in zip(ours.recv(), calls(engine, boxes)):
        assert np.array_equal(theirs, expected)
    process.join(10)


def busy_child(connection, engine):
    try:
        connection.send(len(engine.find_pairs(np.zeros((2, 6)))))
    except RuntimeError as error:
        connection.send(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_an_engine_that_was_at_work_reports_that_it_was_forked():
    engine = bs.BroadPhase("cpu", threads=1)
    boxes = np.repeat(np.arange(40_000, dtype=np.float32), 6).reshape(-1, 6)
    boxes[:12_000] = 0
    thread = threading.Thread(target=engine.find_pairs, args=(boxes,))
    thread.start()
    time.sleep(0.1)
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=busy_child, args=(theirs, engine))
    process.start()
    answered = ours.poll(20)
    if not answered:
        process.kill()
    assert answered, "the child hangs"
    answer = ours.recv()
    # Either answer is possible: it depends on the clock.
    assert answer == 1 or "forked" in answer
    process.join(10), thread.join()


@pytest.mark.skipif(not hasattr(os, "fork") or not bs.adapters(), reason="no fork, or no GPU")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_an_engine_on_a_gpu_reports_that_it_was_forked():
    engine = bs.BroadPhase("gpu")
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=gpu_child, args=(theirs, engine))
    process.start()
    assert ours.poll(30), "the child hangs"
    assert "fork" in ours.recv()
    process.join(10)


def gpu_child(connection, engine):
    try:
        connection.send(str(engine.find_pairs(np.zeros((2, 6)))))
    except bs.GpuError as error:
        connection.send(str(error))
    os._exit(0)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
def test_ctrl_c_ends_a_long_call_and_the_engine_goes_on():
    program = """
import os, signal, threading, time, numpy as np, broadsweep as bs
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
engine = bs.BroadPhase("cpu", threads=1)
boxes = np.repeat(np.arange(40_000, dtype=np.float32), 6).reshape(-1, 6)
boxes[:20_000] = 0   # 200 million pairs
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    engine.find_pairs(boxes)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start < 1.5)
print(len(engine.find_pairs(boxes[:40])))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["interrupted", "True", "780"], done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
def test_a_step_that_ctrl_c_ends_loses_no_event():
    program = """
import os, signal, threading, numpy as np, broadsweep as bs
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
engine = bs.BroadPhase("cpu", threads=1)
boxes = np.repeat(np.arange(40_000, dtype=np.float32), 6).reshape(-1, 6)
engine.events(boxes[:2])
many = boxes.copy()
many[:12_000] = 0   # 72 million pairs
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    engine.events(many)
    print("not interrupted")
except KeyboardInterrupt:
    pass
many = boxes.copy()
many[:2000] = 0
created, lost = engine.events(many)
print(len(created), len(lost))
created, lost = engine.events(many)
print(len(created), len(lost))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["1999000", "0", "0", "0"], done.stdout + done.stderr


def test_memory_does_not_grow_from_call_to_call():
    resource = pytest.importorskip("resource")
    boxes = scene(50_000, 13, 0.02)
    engine = bs.BroadPhase("cpu")
    for _ in range(5):
        engine.find_pairs(boxes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        engine.find_pairs(boxes)
        bs.Tree(boxes, device="cpu").nearest(boxes[:100, :3])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


def test_tiles_own_each_pair_once(device, boxes):
    infinity = np.inf
    cuts = [-infinity, 0.25, float(boxes[3, 0]), 0.75, infinity]
    cuts.sort()
    ids = np.arange(len(boxes), dtype=np.uint64) * 10**10
    engine, all_pairs = bs.BroadPhase(device), []
    for low, high in zip(cuts, cuts[1:]):
        inside = (boxes[:, 3] >= low) & (boxes[:, 0] <= high)
        engine.set_filters(bs.Filters(owner=([low, -infinity, -infinity], [high, infinity, infinity])))
        all_pairs.append(bs.id_pairs(engine.find_pairs(boxes[inside]), ids[inside]))
    found = np.vstack(all_pairs)
    found = found[np.lexsort([found[:, 1], found[:, 0]])]
    assert np.array_equal(found, ids[brute_force(boxes)])


@pytest.mark.parametrize(
    "owner, word",
    [
        ([0, 0, 0, 1, 1], "6 numbers"),
        ([0.1, 0, 0, 1, 1, 1], "float32"),
        (["a"] * 6, "owner"),
        ([np.nan] * 6, "owner"),
        ([1] * 3 + [0] * 3, "owner"),
    ],
)
def test_a_region_that_is_none_is_refused(owner, word):
    with pytest.raises((TypeError, ValueError), match=word):
        bs.find_pairs(np.zeros((3, 6)), filters=bs.Filters(owner=owner), device="cpu")


@pytest.mark.parametrize(
    "pairs, ids, exception",
    [
        ([[0, 2]], [1, 2], ValueError),
        ([[0, 1]], [1.0, 2.0], TypeError),
        ([[0, 1]], [-1, 2], ValueError),
        ([0, 1], [1, 2], ValueError),
    ],
)
def test_ids_that_name_no_pairs_are_refused(pairs, ids, exception):
    with pytest.raises(exception):
        bs.id_pairs(pairs, ids)


@pytest.mark.parametrize(
    "name, value",
    [
        ("group", 6),
        ("mask", -1),
        ("body", 3),
        ("body", -1),
        ("parent", -1),
        ("fixed", True),
        ("sleeping", np.bool_(True)),
        ("second", False),
        ("world", -1),
        ("world", np.array(2)),
        ("margin", 0.03),
    ],
)
def test_a_single_value_of_a_filter_stands_for_all_boxes(device, boxes, name, value):
    engine = bs.BroadPhase(device, filters=bs.Filters(**{name: value}))
    tree = bs.Tree(device=device, filters=bs.Filters(**{name: value}))
    for count in (400, 100, 300):
        listed = bs.Filters(**{name: np.full(count, value)})
        expected = bs.find_pairs(boxes[:count], filters=listed, device="cpu")
        assert np.array_equal(engine.find_pairs(boxes[:count]), expected)
        assert np.array_equal(np.vstack(list(engine.stream(boxes[:count]))), expected)
        halves = boxes[: count // 2], boxes[count // 2 : count]
        expected = bs.find_pairs_between(*halves, filters=listed, device="cpu")
        assert np.array_equal(engine.find_pairs_between(*halves), expected)
        expected = bs.BroadPhase("cpu", filters=listed).step(boxes[:count]).pairs
        assert np.array_equal(engine.step(boxes[:count]).pairs, expected)
        tree.build(boxes[:count])
        asked = bs.Tree(boxes[:count], device="cpu", filters=listed).overlaps(boxes[:9], group=2, mask=4, world=2, body=3)
        assert tree.overlaps(boxes[:9], group=2, mask=4, world=2, body=3).tolist() == asked.tolist()


def test_a_changed_list_stays_changed_beside_a_single_value(boxes):
    world = np.zeros(400, np.int32)
    engine = bs.BroadPhase("cpu", filters=bs.Filters(world=world, margin=0.0, fixed=False))
    engine.change_filters("world", [1] * 50, first=50)
    engine.find_pairs(boxes)
    engine.change_filters("world", [1] * 50, first=100)
    engine.change_filters("fixed", [True] * 400)
    world[50:150] = 1
    with pytest.raises(ValueError, match="world|fixed"):
        engine.find_pairs(boxes[:10])
    assert len(engine.find_pairs(boxes)) == 0
    engine.change_filters("fixed", [False] * 400)
    assert np.array_equal(engine.find_pairs(boxes), filtered(boxes, lambda a, b: world[a] == world[b]))


def test_a_box_without_a_body_pairs_with_every_other(device):
    same = np.zeros((6, 6), np.float32)
    top = (1 << 32) - 2
    for body in ([7, -1, -1, 7, top, top], np.array([7, top + 1, top + 1, 7, top, top], np.uint32)):
        expected = [(a, b) for a in range(6) for b in range(a + 1, 6) if body[a] != body[b] or a in (1, 2)]
        found = bs.find_pairs(same, filters=bs.Filters(body=body), device=device)
        assert found.tolist() == [list(pair) for pair in expected]
    # A body that is someone's parent is not given to a box that has none.
    found = bs.find_pairs(same[:2], filters=bs.Filters(body=[-1, 0], parent=[-1, top]), device=device)
    assert found.tolist() == [[0, 1]]
    engine = bs.BroadPhase(device, filters=bs.Filters(body=[0] * 6))
    with pytest.raises(ValueError, match="body"):
        engine.change_filters("body", [-1])


@pytest.mark.parametrize(
    "options, name",
    [(dict(device=0), "device"), (dict(axis=1), "axis"), (dict(order=None), "order"), (dict(cell_size=[1]), "cell_size")],
)
def test_an_option_of_another_type_is_named(options, name):
    with pytest.raises(TypeError, match=name):
        bs.BroadPhase(**{"device": "cpu", **options})
    if name == "device":
        with pytest.raises(TypeError, match=name):
            bs.Tree(device=0)
