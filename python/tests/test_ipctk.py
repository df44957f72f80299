"""IPC Toolkit on candidates from here (examples/ipctk), against its own broad phases."""

import pathlib
import sys

import numpy as np
import pytest

ipctk = pytest.importorskip("ipctk")
pytest.importorskip("scipy")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ipctk"
if not EXAMPLE.is_dir():
    pytest.skip("the example is not here", allow_module_level=True)
sys.path.insert(0, str(EXAMPLE))

import cloth as example  # noqa: E402
from broad_phase import BroadPhase  # noqa: E402

KINDS = ["vertex_vertex", "edge_vertex", "edge_edge", "face_vertex", "edge_face", "face_face"]


def sheets(side=9, seed=0, apart=0.05):
    """Return two sheets above each other, and where their vertices are going."""
    rng = np.random.default_rng(seed)
    vertices, faces = example.grid(side, 1.0)
    vertices = np.vstack([vertices, vertices + [0.03, 0.02, apart]]) + rng.normal(0, 0.002, (2 * side * side, 3))
    faces = np.vstack([faces, faces + side * side]).astype(np.int32)
    return vertices, vertices + rng.normal(0, 0.03, vertices.shape), ipctk.edges(faces), faces


def detected(broad_phase, kind):
    """Return the candidates of a kind as pairs of numbers; the smaller first where both are elements of one dimension."""
    first, second = kind.split("_")
    names = (f"{first}0_id", f"{first}1_id") if first == second else (f"{first}_id", f"{second}_id")
    found = getattr(broad_phase, f"detect_{kind}_candidates")()
    pairs = [tuple(getattr(c, name) for name in names) for c in found]
    return sorted(tuple(sorted(pair)) for pair in pairs) if first == second else sorted(pairs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0.0, 0.01, 0.1])
def test_candidates_of_each_kind_are_those_of_brute_force(kind, radius):
    before, after, edges, faces = sheets()
    for way in ([before], [before, after]):
        ours, theirs = BroadPhase(every=True), ipctk.BruteForce()
        ours.build(*way, edges, faces, radius)
        theirs.build(*way, edges, faces, radius)
        assert detected(ours, kind) == detected(theirs, kind)


def test_boxes_that_touch_in_single_precision_alone_are_told_apart():
    # Edges along x, one above the other by a few bits of double precision more or less than two radii.
    edges, faces = np.array([[0, 1], [2, 3]], np.int32), np.empty((0, 3), np.int32)
    found = []
    for bits in range(-8, 9):
        height = 0.2 + bits * np.spacing(0.2)
        vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 0, height], [1, 0, height]])
        counts = []
        for broad_phase in (BroadPhase(every=True), ipctk.BruteForce()):
            broad_phase.build(vertices, edges, faces, 0.1)
            counts.append(len(broad_phase.detect_edge_edge_candidates()))
        assert counts[0] == counts[1]
        found.append(counts[0])
    assert 0 in found and 1 in found


def test_filters_of_vertices_are_those_of_the_mesh():
    before, after, edges, faces = sheets(side=6)
    mesh = ipctk.CollisionMesh(before, edges, faces)
    count = len(before)
    patches = np.arange(count) % 3
    cases = [
        (ipctk.make_static_obstacle_filter(50), [BroadPhase(), BroadPhase(np.arange(count) >= 50)]),
        (ipctk.make_vertex_patches_filter(patches), [BroadPhase()]),
        # Not a function of Python: those of the toolkit's own that use threads wait for the interpreter for ever.
        (ipctk.make_sparse_filter({(i, j): (i + j) % 5 == 0 for j in range(count) for i in range(j)}, False), [BroadPhase()]),
    ]
    for rule, ours in cases:
        mesh.can_collide = rule
        expected = ipctk.Candidates()
        expected.build(mesh, before, after, 0.02, ipctk.BruteForce())
        for broad_phase in ours:
            candidates = ipctk.Candidates()
            candidates.build(mesh, before, after, 0.02, broad_phase)
            assert example.candidate_sets(candidates) == example.candidate_sets(expected)
            assert len(candidates.ee_candidates) and len(candidates.fv_candidates)


def test_a_mesh_in_the_plane_has_its_candidates():
    line = np.linspace(0, 1, 12)
    vertices = np.vstack([np.c_[line, 0.02 * np.sin(9 * line)], np.c_[line, 0.03 + 0.02 * np.cos(7 * line)]])
    index = np.arange(11)
    edges = np.vstack([np.c_[index, index + 1], np.c_[index, index + 1] + 12]).astype(np.int32)
    ours, theirs = BroadPhase(every=True), ipctk.BruteForce()
    for broad_phase in (ours, theirs):
        broad_phase.build(vertices, edges, np.empty((0, 3), np.int32), 0.01)
    assert detected(ours, "edge_vertex") == detected(theirs, "edge_vertex") != []


@pytest.mark.parametrize("name", example.OWN)
def test_collisions_and_step_lengths_are_those_of_each_of_its_own(name):
    before, after, edges, faces = sheets(side=12)
    mesh = ipctk.CollisionMesh(before, edges, faces)
    results = []
    for broad_phase in (BroadPhase(every=True), getattr(ipctk, name)()):
        candidates, collisions, alone = ipctk.Candidates(), ipctk.NormalCollisions(), ipctk.NormalCollisions()
        candidates.build(mesh, before, after, 0.03, broad_phase)
        collisions.build(candidates, mesh, before, 0.06)
        alone.build(mesh, before, 0.06, broad_phase=broad_phase)
        length = candidates.compute_collision_free_stepsize(mesh, before, after)
        whole = ipctk.compute_collision_free_stepsize(mesh, before, after, broad_phase=broad_phase)
        results.append((example.named(collisions, mesh), example.named(alone, mesh), length, whole))
    assert results[0] == results[1]
    assert len(results[0][0]) > 100 and 0 < results[0][2] < 1


def test_intersections_are_found_through_it():
    before, after, edges, faces = sheets()
    mesh = ipctk.CollisionMesh(before, edges, faces)
    ours = BroadPhase(every=True)
    assert not ipctk.has_intersections(mesh, before, ours)
    through = after.copy()
    through[:81, 2] += 0.06 * (np.arange(81) % 2)
    assert ipctk.has_intersections(mesh, through, ours) and ipctk.has_intersections(mesh, through, ipctk.HashGrid())


def test_a_cloth_falls_on_a_ball_as_with_its_own_broad_phase():
    ends = []
    for ours in (True, False):
        cloth = example.Cloth(side=12)
        broad_phase = BroadPhase(cloth.fixed) if ours else ipctk.LBVH()
        comparison = example.Comparison(cloth) if ours else None
        for _ in range(10):
            collisions = cloth.step(broad_phase, comparison or (lambda before, after: None))
        assert len(collisions) > 5, "it must have reached the ball"
        assert not ipctk.has_intersections(cloth.mesh, cloth.x)
        if ours:
            for name, told in comparison.differ.items():
                assert told["collisions"] == 0 and told["length"] == 0 and told["fewer"] == 0, name
        ends.append(cloth.x)
    # Collisions come in another order from another broad phase, and their forces are summed in it, in double precision.
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
