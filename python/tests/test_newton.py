"""The broad phase of Newton simulations, against Newton's own in each step.

Warp compiles Newton's kernels on the first run, which takes about a minute; from its cache (WARP_CACHE_PATH), these tests take
ten seconds.
"""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("newton")
import newton
import warp as wp

import broadsweep.newton
from broadsweep.newton import PairBufferError, attach

NEWTONS = {"sap": newton.geometry.BroadPhaseSAP, "nxn": newton.geometry.BroadPhaseAllPairs}


def pile(builder, count, seed=0, shapes="sphere box capsule"):
    """Add bodies that fall onto each other, of these shapes in turn."""
    rng = np.random.default_rng(seed)
    kinds = shapes.split()
    for i in range(count):
        at = np.array([i % 3, i // 3 % 3, 1 + i // 9]) * 0.45 + rng.normal(0, 0.04, 3)
        body = builder.add_body(xform=wp.transform(wp.vec3(*at), wp.normalize(wp.quat(*rng.normal(0, 1, 4)))))
        kind = kinds[i % len(kinds)]
        if kind == "sphere":
            builder.add_shape_sphere(body, radius=0.2)
        elif kind == "box":
            builder.add_shape_box(body, hx=0.2, hy=0.15, hz=0.18)
        elif kind == "capsule":
            builder.add_shape_capsule(body, radius=0.12, half_height=0.12)
        elif kind == "hull":
            # Newton's kernels for triangle meshes take a minute to compile; the broad phase treats meshes in the same
            # way as hulls.
            corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.18
            faces = [0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5]
            builder.add_shape_convex_hull(body, mesh=newton.Mesh(corners, faces))
    return builder


def finalized(builder):
    return builder.finalize(device="cpu")


def simulate(model, pipeline, steps, substep=1 / 120, each=lambda step, contacts: None, **said):
    """Step a model, and return where its bodies are at the end."""
    solver = newton.solvers.SolverXPBD(model, iterations=4)
    now, then, control, contacts = model.state(), model.state(), model.control(), pipeline.contacts()
    for step in range(steps):
        now.clear_forces()
        pipeline.collide(now, contacts, **said)
        each(step, contacts)
        solver.step(now, then, control, contacts, substep)
        now, then = then, now
    return now.body_q.numpy().copy(), now.body_qd.numpy().copy()


def launched(broad_phase, lower, upper, groups, worlds, capacity=100_000, **named):
    """Return the pairs that a broad phase finds, ascending, of arrays of NumPy."""
    kinds = {"gap": wp.float32, "shape_displacement": wp.vec3, "filter_pairs": wp.vec2i}
    arrays = {
        name: wp.array(value, dtype=kinds.get(name, wp.int32), device="cpu") if isinstance(value, np.ndarray) else value
        for name, value in named.items()
    }
    found, count = wp.empty(capacity, dtype=wp.vec2i, device="cpu"), wp.zeros(1, dtype=wp.int32, device="cpu")
    broad_phase.launch(
        wp.array(lower, dtype=wp.vec3, device="cpu"),
        wp.array(upper, dtype=wp.vec3, device="cpu"),
        arrays.pop("gap", None),
        wp.array(groups, dtype=wp.int32, device="cpu"),
        wp.array(worlds, dtype=wp.int32, device="cpu"),
        named.pop("shape_count", len(lower)) if "shape_count" not in arrays else arrays.pop("shape_count"),
        found,
        count,
        device="cpu",
        **arrays,
    )
    pairs = found.numpy()[: count.numpy()[0]]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


@pytest.fixture(scope="module")
def any_model():
    """Return a model for broad phases that are launched by hand: 400 shapes, all of which collide."""
    builder = newton.ModelBuilder()
    for _ in range(400):
        builder.add_shape_sphere(builder.add_body(), radius=0.1)
    return finalized(builder)


def some_boxes(seed=0, count=400, edge=0.25):
    rng = np.random.default_rng(seed)
    lower = rng.random((count, 3), np.float32)
    return lower, lower + rng.random((count, 3), np.float32) * np.float32(edge)


@pytest.mark.parametrize("mode", ["sap", "nxn"])
def test_a_pile_of_all_shapes_has_newtons_pairs_in_each_step(mode):
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    model = finalized(pile(builder, 27, shapes="sphere box capsule hull"))
    pipeline = newton.CollisionPipeline(model, broad_phase=mode)
    broad_phase = attach(pipeline, check=True)
    assert pipeline.broad_phase is broad_phase and isinstance(broad_phase.replaced, NEWTONS[mode])
    counts = []
    simulate(model, pipeline, 30, each=lambda step, contacts: counts.append(len(broad_phase.pairs)))
    assert min(counts) > 0 and len(set(counts)) > 1, "the pile must move"


def test_worlds_groups_and_filter_pairs_are_newtons():
    one = pile(newton.ModelBuilder(), 18)
    one.shape_collision_group = [[1, 1, 2, -1, -2, 0, -1, 3, 3][i % 9] for i in range(18)]
    # Two bodies of two shapes each, a shape that only is seen, and pairs that are not to collide.
    for at in (0.3, 0.6):
        body = one.add_body(xform=wp.transform(wp.vec3(at, 0.5, 1.0), wp.quat_identity()))
        one.add_shape_sphere(body, radius=0.3)
        one.add_shape_box(body, hx=0.3, hy=0.3, hz=0.3)
    seen = newton.ModelBuilder.ShapeConfig(has_shape_collision=False)
    one.add_shape_box(
        one.add_body(xform=wp.transform(wp.vec3(0.4, 0.4, 1.2), wp.quat_identity())), hx=0.5, hy=0.5, hz=0.5, cfg=seen
    )
    for pair in ((0, 1), (0, 3), (3, 18), (18, 20)):
        one.add_shape_collision_filter_pair(*pair)
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_box(-1, hx=0.2, hy=0.2, hz=2.0)
    builder.replicate(one, 3)
    model = finalized(builder)
    assert set(model.shape_world.numpy()) == {-1, 0, 1, 2}
    assert len(model.shape_collision_filter_pairs) >= 12
    pipeline = newton.CollisionPipeline(model, broad_phase="sap")
    broad_phase = attach(pipeline, check=True)
    met = set()

    def each(step, contacts):
        groups, worlds = model.shape_collision_group.numpy(), model.shape_world.numpy()
        met.update((int(groups[a]), int(groups[b])) for a, b in broad_phase.pairs)
        met.update(("global",) for a, b in broad_phase.pairs if -1 in worlds[[a, b]])

    simulate(model, pipeline, 20, each=each)
    assert ("global",) in met and any(-1 in pair for pair in met) and any(-2 in pair for pair in met)


def test_the_trajectory_is_that_of_newtons_own_broad_phase():
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    model = finalized(pile(builder, 27))

    def ran(mode, ours=False, deterministic=False):
        pipeline = newton.CollisionPipeline(model, broad_phase=mode, deterministic=deterministic)
        if ours:
            attach(pipeline)
        return simulate(model, pipeline, 60)

    where, velocity = ran("sap", ours=True)
    assert (where[:, 2] < 3).all() and np.abs(velocity).max() > 0.1, "the pile must have fallen"
    # Pairs of one world ascend in all pairs too: the same contacts in the same order, so the same sums.
    np.testing.assert_array_equal(where, ran("nxn")[0])
    # SAP has the same pairs in another order. Where contacts are sorted, that is the same again.
    for ours, theirs in zip(ran("sap", ours=True, deterministic=True), ran("sap", deterministic=True)):
        np.testing.assert_array_equal(ours, theirs)
    # In these cases impulses are summed in another order, in single precision: Newton's own two broad phases differ as
    # much. Half a second of collisions multiplies that rounding from micrometres to a few millimetres; bodies are 20 to
    # 40 cm.
    np.testing.assert_allclose(where[:, :3], ran("sap")[0][:, :3], atol=1e-2)


def test_speculative_contacts_have_the_pairs_of_all_pairs():
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    pile(builder, 18, shapes="sphere")
    for body in range(18):
        builder.body_qd[body] = wp.spatial_vector(3.0 * (-1) ** body, 1.0, -6.0, 0.0, 2.0, 0.0)
    model = finalized(builder)
    pipeline = newton.CollisionPipeline(model, broad_phase="nxn", speculative_contact_gap_max=0.5)
    attach(pipeline, check=True)
    simulate(model, pipeline, 15, dt=1 / 30)


def test_kinematic_bodies_are_filtered_if_the_pipeline_requests_it():
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    for i in range(6):
        body = builder.add_body(xform=wp.transform(wp.vec3(0.1 * i, 0, 0.1), wp.quat_identity()), is_kinematic=i % 2 == 0)
        builder.add_shape_sphere(body, radius=0.2)
    model = finalized(builder)
    counts = []
    for with_kinematic in (True, False):
        pipeline = newton.CollisionPipeline(model, broad_phase="sap", include_static_kinematic_pairs=with_kinematic)
        broad_phase = attach(pipeline, check=True)
        pipeline.collide(model.state(), pipeline.contacts())
        counts.append(len(broad_phase.pairs))
    assert counts == [15 + 6, 15 + 6 - 3 - 3]


def test_a_change_of_the_models_arrays_is_seen():
    builder = newton.ModelBuilder()
    for _ in range(4):
        builder.add_shape_sphere(builder.add_body(), radius=0.2)
    model = finalized(builder)
    pipeline = newton.CollisionPipeline(model, broad_phase="sap")
    broad_phase = attach(pipeline, check=True)
    state, contacts = model.state(), pipeline.contacts()
    counts = []
    for groups in ([1, 1, 1, 1], [1, 2, 1, 1], [0, 0, 0, 0], [-1, -1, 5, 6], [1, 1, 1, 1]):
        model.shape_collision_group.assign(groups)
        pipeline.collide(state, contacts)
        counts.append(len(broad_phase.pairs))
    assert counts == [6, 3, 0, 4, 6]


@pytest.mark.parametrize("low, high", [(1, 2), (-2, 3), (-5, 0), (-15, 17), (-20, 60), (-200, 200)])
def test_groups_of_all_signs_and_numbers_are_newtons(any_model, low, high):
    broad_phase = broadsweep.newton.BroadPhase(any_model, check=True)
    lower, upper = some_boxes()
    groups = np.random.default_rng(1).integers(low, high, 400)
    groups *= np.where(np.abs(groups) == 7, 100_000_007, 1)
    worlds = np.zeros(400, np.int32)
    pairs = launched(broad_phase, lower, upper, groups, worlds)
    assert len(pairs) or high == 0 and low == -1
    np.testing.assert_array_equal(
        pairs, launched(newton.geometry.BroadPhaseAllPairs(worlds, device="cpu"), lower, upper, groups, worlds)
    )


@pytest.mark.parametrize("scale", [1e-43, 1e-30, 1, 1e30])
@pytest.mark.parametrize("said", ["gap", "displacement", "both"])
def test_gaps_and_displacements_are_those_of_all_pairs(any_model, said, scale):
    rng = np.random.default_rng(2)
    # On a lattice, so that many boxes touch exactly, far from the origin, so that rounding is felt.
    lower = (rng.integers(0, 60, (400, 3)) / 10 + 1000) * scale
    upper = lower + rng.integers(1, 4, (400, 3)) / 10 * scale
    lower, upper = lower.astype(np.float32), upper.astype(np.float32)
    named = {}
    if said != "displacement":
        named["gap"] = (rng.integers(0, 3, 400) / 10 * scale).astype(np.float32)
    if said != "gap":
        named["shape_displacement"] = (rng.integers(-8, 9, (400, 3)) / 10 * scale).astype(np.float32)
    worlds, groups = rng.integers(-1, 2, 400).astype(np.int32), np.ones(400, np.int32)
    broad_phase = broadsweep.newton.BroadPhase(any_model)
    pairs = launched(broad_phase, lower, upper, groups, worlds, **named)
    expected = launched(newton.geometry.BroadPhaseAllPairs(worlds, device="cpu"), lower, upper, groups, worlds, **named)
    assert len(pairs) > len(launched(broadsweep.newton.BroadPhase(any_model), lower, upper, groups, worlds))
    np.testing.assert_array_equal(pairs, expected)
    np.testing.assert_array_equal(broad_phase.pairs, pairs, "they ascend without a sort")


def touch_on_their_way(boxes, displacements, gaps):
    """Return whether two boxes with their gaps touch at one time from 0 to 1, in exact fractions, and whether they just do."""
    enter, leave = Fraction(0), Fraction(1)
    gap = gaps[0] + gaps[1]
    for axis in range(3):
        low, high = (boxes[1][side + axis] + reach - boxes[0][3 - side + axis] for side, reach in ((0, -gap), (3, gap)))
        closing = displacements[0][axis] - displacements[1][axis]
        if closing == 0 and (low > 0 or high < 0):
            return False, False
        if closing != 0:
            times = sorted((Fraction(low, closing), Fraction(high, closing)))
            enter, leave = max(enter, times[0]), min(leave, times[1])
    return enter <= leave, enter == leave


def test_moving_shapes_pair_if_they_touch_at_one_time_in_exact_fractions(any_model):
    # Small integers: sums are exact, and different quotients round to different numbers, so Newton's rule is exact
    # here.
    rng = np.random.default_rng(4)
    lower = rng.integers(-12, 12, (120, 3))
    boxes = np.hstack([lower, lower + rng.integers(1, 5, (120, 3))]).tolist()
    displacements, gaps = rng.integers(-9, 10, (120, 3)).tolist(), rng.integers(0, 2, 120).tolist()
    expected, just, swept = [], 0, 0
    for a, b in itertools.combinations(range(120), 2):
        met, just_met = touch_on_their_way(*([rows[a], rows[b]] for rows in (boxes, displacements, gaps)))
        just += just_met
        if met:
            expected.append((a, b))
        spans = [
            (boxes[i][k] + min(displacements[i][k], 0) - gaps[i], boxes[i][k + 3] + max(displacements[i][k], 0) + gaps[i])
            for k in range(3)
            for i in (a, b)
        ]
        swept += all(p[0] <= q[1] and q[0] <= p[1] for p, q in zip(spans[::2], spans[1::2]))
    assert just > 10 and len(expected) > 200 and swept > 1.5 * len(expected), "the rule must be felt"
    found = launched(
        broadsweep.newton.BroadPhase(any_model, check=True),
        np.array(boxes, np.float32)[:, :3],
        np.array(boxes, np.float32)[:, 3:],
        np.ones(120, np.int32),
        np.zeros(120, np.int32),
        gap=np.array(gaps, np.float32),
        shape_displacement=np.array(displacements, np.float32),
    )
    assert list(map(tuple, found.tolist())) == expected


def test_boxes_that_are_inside_out_or_have_nan_pair_with_nothing_though_they_move(any_model):
    lower, upper, moving = np.zeros((5, 3), np.float32), np.ones((5, 3), np.float32), np.ones((5, 3), np.float32)
    lower[1], upper[1] = np.inf, -np.inf
    lower[2, 1] = moving[4, 2] = np.nan
    groups, worlds = np.ones(5, np.int32), np.zeros(5, np.int32)
    broad_phase = broadsweep.newton.BroadPhase(any_model, check=True)
    pairs = launched(broad_phase, lower, upper, groups, worlds, shape_displacement=moving)
    assert pairs.tolist() == [[0, 3]]
    # Why the check ignores pairs with NaN. Should this fail, Newton drops them too.
    all_pairs = newton.geometry.BroadPhaseAllPairs(worlds, device="cpu")
    assert [0, 2] in launched(all_pairs, lower, upper, groups, worlds, shape_displacement=moving).tolist()


def test_gaps_are_added_with_newtons_rounding(any_model):
    # 100 + 4e-6 is 100.0000076 in single precision, so Newton finds that these touch; in exact numbers they are apart.
    lower, upper = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    lower[0, 0], upper[0, 0], lower[1, 0], upper[1, 0] = np.nextafter(np.float32(100), np.float32(200)), 101, -1, -1e-6
    gap, groups, worlds = np.array([100, 4e-6], np.float32), np.ones(2, np.int32), np.zeros(2, np.int32)
    assert len(launched(newton.geometry.BroadPhaseAllPairs(worlds, device="cpu"), lower, upper, groups, worlds, gap=gap)) == 1
    assert len(launched(broadsweep.newton.BroadPhase(any_model), lower, upper, groups, worlds, gap=gap)) == 1


def test_a_gap_that_is_nan_or_negative_concerns_its_own_shape(any_model):
    lower = np.array([[0, 0, 0], [1.5, 0, 0], [0, 1.5, 0], [4, 0, 0]], np.float32)
    upper, groups, worlds = lower + 1, np.ones(4, np.int32), np.zeros(4, np.int32)
    for gap, expected in (
        ([0.5, 0.5, np.nan, 0], [[0, 1]]),
        # Less than nothing on one side, and more on the other.
        ([-0.6, 1.2, -9, 0], [[0, 1]]),
        ([0, 0, 0, 2], [[1, 3]]),
    ):
        named = {"gap": np.array(gap, np.float32)}
        newtons = launched(newton.geometry.BroadPhaseAllPairs(worlds, device="cpu"), lower, upper, groups, worlds, **named)
        ours = launched(broadsweep.newton.BroadPhase(any_model), lower, upper, groups, worlds, **named)
        assert ours.tolist() == sorted(newtons.tolist()) == expected


def test_pairs_that_touch_at_a_corner_are_all_pairs_and_sap_loses_some(any_model):
    rng = np.random.default_rng(3)
    low = rng.uniform(-50, 50, (200, 3)).astype(np.float32)
    corner = low + rng.uniform(0.1, 1, (200, 3)).astype(np.float32)
    high = corner + rng.uniform(0.1, 1, (200, 3)).astype(np.float32)
    lower, upper = np.stack([low, corner], 1).reshape(-1, 3), np.stack([corner, high], 1).reshape(-1, 3)
    groups, worlds = np.ones(400, np.int32), np.zeros(400, np.int32)
    pairs = launched(broadsweep.newton.BroadPhase(any_model, check=True), lower, upper, groups, worlds)
    assert len(pairs) >= 200
    # Why a check asks for all pairs where SAP has others. Should this fail, SAP has been mended.
    assert len(launched(newton.geometry.BroadPhaseSAP(worlds, device="cpu"), lower, upper, groups, worlds)) < len(pairs)


def test_only_the_first_shapes_are_used_if_there_is_a_count(any_model):
    lower, upper = some_boxes()
    groups, worlds = np.ones(400, np.int32), np.zeros(400, np.int32)
    whole = launched(broadsweep.newton.BroadPhase(any_model), lower, upper, groups, worlds)
    some = launched(broadsweep.newton.BroadPhase(any_model), lower, upper, groups, worlds, shape_count=150)
    np.testing.assert_array_equal(some, whole[(whole < 150).all(1)])


def test_a_wrong_set_is_found_by_the_check(any_model, monkeypatch):
    broad_phase = broadsweep.newton.BroadPhase(any_model, check=True)
    find = broad_phase._engine.find_pairs
    monkeypatch.setattr(broad_phase._engine, "find_pairs", lambda boxes: find(boxes)[1:])
    with pytest.raises(AssertionError, match="missing"):
        launched(broad_phase, *some_boxes(), np.ones(400, np.int32), np.zeros(400, np.int32))


def test_a_buffer_that_is_too_small_raises_with_both_numbers():
    builder = newton.ModelBuilder()
    for _ in range(8):
        builder.add_shape_sphere(builder.add_body(), radius=0.2)
    model = finalized(builder)
    pipeline = newton.CollisionPipeline(model, broad_phase="sap", shape_pairs_max=27)
    attach(pipeline)
    with pytest.raises(PairBufferError, match="28 pairs.* holds 27.*shape_pairs_max=28") as raised:
        pipeline.collide(model.state(), pipeline.contacts())
    copied = pickle.loads(pickle.dumps(raised.value))
    for error in (raised.value, copied):
        assert (error.needed, error.capacity) == (28, 27) and str(error) == str(raised.value)
    assert pipeline.broad_phase_pair_count.numpy()[0] == 0


def test_an_own_narrow_phase_takes_it_as_an_expert_component():
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    pile(builder, 9)
    seen = newton.ModelBuilder.ShapeConfig(has_shape_collision=False)
    builder.add_shape_box(
        builder.add_body(xform=wp.transform(wp.vec3(0.4, 0.4, 1), wp.quat_identity())), hx=1, hy=1, hz=1, cfg=seen
    )
    model = finalized(builder)
    usual = newton.CollisionPipeline(model, broad_phase="nxn")
    pipeline = newton.CollisionPipeline(
        model, broad_phase=broadsweep.newton.BroadPhase(model, check=True), narrow_phase=usual.narrow_phase
    )
    simulate(model, pipeline, 5)
    pairs = pipeline.broad_phase.pairs
    assert len(pairs) and not (pairs == model.shape_count - 1).any(), "what is only seen does not collide"


def test_what_cannot_be_attached_is_refused():
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    model = finalized(pile(builder, 3))
    with pytest.raises(TypeError, match='broad_phase="sap"'):
        attach(newton.CollisionPipeline(model, broad_phase="explicit"))
    pipeline = newton.CollisionPipeline(model, broad_phase="sap")
    with pytest.raises(ValueError, match="axis"):
        attach(pipeline, axis="no such axis")
    assert isinstance(pipeline.broad_phase, newton.geometry.BroadPhaseSAP), "a refusal changes nothing"
    first = attach(pipeline)
    assert attach(pipeline).replaced is first.replaced

    class OnCuda:
        is_cuda = True

        def __str__(self):
            return "cuda:0"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wp, "get_device", lambda device: OnCuda())
        with pytest.raises(ValueError, match="cuda:0.*cannot share memory with CUDA"):
            attach(pipeline)
