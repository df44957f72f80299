"""Neighbours of points, compared with exact arithmetic and with other libraries."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import broadsweep as bs

RNG = np.random.default_rng(57)
CUBE = np.eye(3) * 2.0
NEEDLE = np.array([[1.0, 0, 0], [7.25, 0.5, 0], [-3.0, 4.0, 0.75]])
TRICLINIC = np.array([[3.0, 0.2, -0.1], [1.1, 2.7, 0.3], [-0.4, 0.9, 3.3]])
GRID = np.argwhere(np.ones((4, 4, 4)))


def images(points, radius, cell, periodic):
    """Return all (i, j, S) that may be within a radius, and some more, as arrays."""
    along, finite = np.flatnonzero(periodic), np.flatnonzero(np.isfinite(points).all(1))
    pairs = np.array(list(product(finite, repeat=2)), int).reshape(-1, 2)
    dual = np.linalg.pinv(cell[along])
    middle = (points[pairs[:, 0]] - points[pairs[:, 1]]) @ dual
    reach = radius * np.linalg.norm(dual, axis=0)
    # As many shifts of each, from the first that may be within the radius on.
    sides = np.ones(3, int)
    sides[along] = np.ceil(2 * reach).astype(int) + 2
    shifts = np.zeros((len(pairs), 1, 1), int) + np.argwhere(np.ones(sides))
    shifts[:, :, along] += np.floor(middle - reach).astype(int)[:, None]
    distance = np.linalg.norm(points[pairs[:, 1]][:, None] - points[pairs[:, 0]][:, None] + shifts @ cell, axis=2)
    near = distance <= 1.001 * radius + 1e-6
    return np.repeat(pairs, near.sum(1), axis=0).tolist(), shifts[near].tolist()


def exact(numbers):
    return [Fraction(float(number)) for number in numbers]


def exact_neighbours(points, radius, cell=None, periodic=(False,) * 3, radii=None, worlds=None):
    """Return {(i, j, S): vector} in exact arithmetic, both directions and self-images."""
    points = np.pad(np.asarray(points, np.float64), ((0, 0), (0, 3 - np.shape(points)[1])))
    cell = np.zeros((3, 3)) if cell is None else np.asarray(cell, np.float64)
    radii = np.zeros(len(points)) if radii is None else radii
    worlds = np.zeros(len(points)) if worlds is None else worlds
    found = {}
    for (i, j), shift in zip(*images(points, float(radius) + 2 * float(np.max(radii, initial=0)), cell, periodic)):
        if (i == j and not any(shift)) or worlds[i] != worlds[j]:
            continue
        rows = zip(exact(points[i]), exact(points[j]), *map(exact, cell))
        vector = [xj - xi + sum(s * part for s, part in zip(shift, parts)) for xi, xj, *parts in rows]
        if sum(x * x for x in vector) <= (Fraction(float(radius)) + sum(exact([radii[i], radii[j]]))) ** 2:
            found[i, j, tuple(shift)] = vector
    return found


def keys(found):
    """Return (i, j, S) of each pair, in order."""
    pairs, shifts = found.pairs.tolist(), found.shifts
    shifts = np.zeros((len(pairs), 3), int) if shifts is None else np.pad(shifts, ((0, 0), (0, 3 - shifts.shape[1])))
    return [(i, j, tuple(shift)) for (i, j), shift in zip(pairs, shifts.tolist())]


def assert_exact(points, radius, *, cell=None, periodic=True, **lists):
    """Compare all that is found with exact arithmetic."""
    points, dimension = np.asarray(points), np.shape(points)[1]
    found = bs.find_neighbours(
        points, radius, cell=cell, periodic=periodic, both_directions=True, vectors=True, squared_distances=True, **lists
    )
    whole, flags = np.zeros((3, 3)), np.zeros(3, bool)
    if cell is not None:
        whole[:dimension, :dimension], flags[:dimension] = cell, periodic
    expected = exact_neighbours(points, radius, whole, flags, **lists)
    assert keys(found) == sorted(expected)
    kind = np.float32 if points.dtype == np.float32 else np.float64
    assert found.vectors.dtype == found.squared_distances.dtype == kind
    assert found.vectors.shape == (len(expected), dimension) and found.offsets.dtype == np.int64
    assert found.offsets.tolist() == np.searchsorted(found.pairs[:, 0], range(len(points) + 1)).tolist()
    assert found.invalid_count == np.count_nonzero(~np.isfinite(points).all(1))
    for key, own, square in zip(keys(found), found.vectors, found.squared_distances):
        for number, exactly in zip(own, expected[key]):
            assert abs(Fraction(float(number)) - exactly) <= Fraction(float(np.spacing(np.abs(number))))
        squared = sum(x * x for x in expected[key])
        assert Fraction(float(square)) <= squared < Fraction(float(np.nextafter(square, kind(np.inf))))
    once = bs.find_neighbours(points, radius, cell=cell, periodic=periodic, **lists)
    assert keys(once) == [key for key in sorted(expected) if (key[0], (0, 0, 0)) < (key[1], key[2])]
    assert once.vectors is once.squared_distances is None and (once.shifts is None) == (cell is None)
    others = bs.find_neighbours(points, radius, cell=cell, periodic=periodic, self_images=False, **lists)
    assert keys(others) == [key for key in keys(once) if key[0] != key[1]]
    return found


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "cell, periodic, radius",
    [
        (None, True, 1.3),
        (CUBE, True, 0.9),
        (CUBE, True, 4.1),
        (TRICLINIC, True, 2.0),
        (TRICLINIC, True, 5.5),
        (TRICLINIC, [True, False, True], 2.0),
        (TRICLINIC, [False, True, False], 4.0),
        (NEEDLE, True, 0.8),
        (CUBE, False, 0.9),
    ],
)
def test_pairs_shifts_vectors_and_squares_are_those_of_exact_arithmetic(cell, periodic, radius, kind):
    inside = RNG.random((9, 3)) @ (CUBE if cell is None else cell)
    unwrapped = inside + RNG.integers(-3, 4, (9, 3)) @ (CUBE if cell is None else cell)
    for points in (inside, unwrapped, np.repeat(inside[:3], 2, axis=0), inside[:1], inside[:0]):
        assert_exact(points.astype(kind), radius, cell=cell, periodic=periodic)


def test_a_distance_is_compared_without_rounding_where_it_touches_the_radius():
    # 0.1 * k is rounded, so that some neighbours are a bit farther than 0.1.
    touching = assert_exact(GRID[:32] * 0.1, 0.1)
    assert 0 < len(touching) < len(assert_exact(GRID[:32], 1))
    assert_exact(GRID[:32].astype(np.float32) * np.float32(0.1), np.float32(0.1))
    assert_exact((GRID[::4] * 0.1 + 1e6), 0.1)
    assert_exact(GRID[::7] * 0.1, 0.4, cell=np.eye(3) * 0.4)
    assert_exact(GRID[::7] * 0.1, 0.3, cell=np.eye(3) * 0.3, periodic=[True, True, False])
    below, above = np.nextafter(np.sqrt(2), [0, 2])
    assert len(bs.find_neighbours([[0, 0], [1, 1]], below)) == 0 and len(bs.find_neighbours([[0, 0], [1, 1]], above)) == 1


def test_no_radius_and_no_cell_is_rounded_to_the_type_of_the_points():
    points = np.array([[0, 0, 0], [0.1, 0, 0]], np.float32)
    assert float(points[1, 0]) > 0.1
    assert len(assert_exact(points, 0.1)) == 0 and len(assert_exact(points, np.float32(0.1))) == 2
    assert len(bs.find_neighbours(points, 0.05, radii=[0.05 - 2**-60, 0])) == 0
    # The image is at 2.2 - 2; with the edge as a float32 it is too far.
    far, edges = np.array([[0, 0, 0], [2, 0, 0]], np.float32), np.diag([2.2, 5, 5])
    assert len(assert_exact(far, 0.20000001, cell=edges)) == 2
    assert len(assert_exact(far, 0.20000001, cell=edges.astype(np.float32))) == 0


# Whole numbers, so that many distances touch the radius; a step of 0.1 or of a third rounds them.
@settings(deadline=None)
@given(
    points=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), max_size=5),
    cell=st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=3, max_size=3),
    periodic=st.lists(st.booleans(), min_size=3, max_size=3),
    radius=st.integers(0, 3),
    step=st.sampled_from([1, 0.1, 1 / 3]),
    origin=st.sampled_from([0, 1000.7]),
    kind=st.sampled_from([np.float32, np.float64]),
)
def test_any_points_in_any_cell_have_the_neighbours_of_exact_arithmetic(points, cell, periodic, radius, step, origin, kind):
    cell, points = np.array(cell, float) * step, np.array(points, float).reshape(-1, 3) * step + origin
    assume(abs(np.linalg.det(cell / step)) > 0.5)
    sides = 2 * radius * step * np.linalg.norm(np.linalg.pinv(cell[periodic]), axis=0) + 3
    assume(np.prod(sides) < 3000)
    assert_exact(points.astype(kind), radius * step, cell=cell, periodic=periodic)


@pytest.mark.filterwarnings("error")
def test_two_dimensions_integers_and_points_that_are_not_finite():
    cell = np.array([[3.0, 0.5], [-1.0, 2.5]])
    flat = RNG.random((12, 2)) * 9
    for kind in (np.float32, np.float64):
        assert_exact(flat.astype(kind), 1.5)
        assert_exact(flat[:6].astype(kind), 2.5, cell=cell)
        assert_exact(flat[:6].astype(kind), 2.5, cell=cell, periodic=[False, True])
    edges = bs.find_neighbours(flat, 1.5, cell=[9, 9], vectors=True)
    assert np.array_equal(edges.pairs, bs.find_neighbours(flat, 1.5, cell=np.eye(2) * 9).pairs)
    assert edges.shifts.shape == edges.vectors.shape == (len(edges), 2)
    assert_exact(GRID[::2], 2)
    assert_exact(RNG.integers(-5, 5, (20, 2)), 3, cell=cell * 4)
    holes = np.array([[0, 0, 0], [np.nan, 0, 0], [np.inf, 0, 0], [1, 0, 0], [0, 0, -np.inf]])
    for cell in (None, CUBE):
        assert assert_exact(holes, 1.5, cell=cell).invalid_count == 3


def test_radii_and_worlds_belong_to_points_in_any_order():
    points, radii, worlds = RNG.random((24, 3)) * 4, RNG.random(24), RNG.permutation(24) % 3
    for cell in (None, TRICLINIC):
        for kind in (np.float32, np.float64):
            found = assert_exact(points.astype(kind), 0.2, cell=cell, radii=radii.astype(kind), worlds=worlds)
            assert 0 < len(found) < len(bs.find_neighbours(points, 2.2, cell=cell, both_directions=True))
    first, second = bs.find_neighbours(points, 2).pairs.T
    same = bs.find_neighbours(points, 2, worlds=worlds.astype(np.int64)).pairs
    assert np.array_equal(same.T, np.stack([first, second])[:, worlds[first] == worlds[second]])


def test_pairs_between_two_sets_are_those_of_both_sets_in_one():
    queries, points = RNG.random((7, 3)) * 3, RNG.random((9, 3)) * 3
    both, radii, worlds = np.vstack([queries, points]), RNG.random(16) / 4, RNG.integers(0, 2, 16)
    for cell, periodic in ((None, True), (TRICLINIC, True), (TRICLINIC, [False, True, True])):
        found = bs.find_neighbours_between(
            queries, points, 0.9, radii=radii, worlds=worlds, cell=cell, periodic=periodic, vectors=True, squared_distances=True
        )
        flags = np.broadcast_to(periodic, 3) if cell is not None else [False] * 3
        expected = exact_neighbours(both, 0.9, cell, flags, radii, worlds)
        assert keys(found) == sorted((i, j - 7, shift) for i, j, shift in expected if i < 7 <= j)
        assert len(found.offsets) == 8 and found.row(-1).stop == len(found) == len(found.vectors) > 0
        assert np.allclose((found.vectors**2).sum(1), found.squared_distances)
    assert len(bs.find_neighbours_between([], points, 1)) == len(bs.find_neighbours_between(points, [], 1)) == 0
    # A point may be in both sets, and is its own neighbour there.
    assert bs.find_neighbours_between(points, points, 0).pairs.tolist() == [[i, i] for i in range(9)]


def test_the_number_of_threads_changes_nothing():
    points = RNG.random((40_000, 3)) * 30
    one, two = (bs.find_neighbours(points, 1.2, cell=[30] * 3, vectors=True, threads=threads) for threads in (1, 2))
    for name in ("pairs", "offsets", "shifts", "vectors"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert len(one) > 100_000


# ---- other libraries ----


def scipy_pairs(points, radius, cell, periodic):
    spatial = pytest.importorskip("scipy.spatial")
    if any(periodic):
        # It knows edges along the axes only, and no shifts.
        return None
    pairs = spatial.cKDTree(points).query_pairs(radius, output_type="ndarray")
    return {(i, j, (0, 0, 0)) for i, j in np.vstack([pairs, pairs[:, ::-1]]).tolist()}


def ase_pairs(points, radius, cell, periodic):
    neighborlist, ase = pytest.importorskip("ase.neighborlist"), pytest.importorskip("ase")
    atoms = ase.Atoms(f"H{len(points)}", positions=points, cell=cell, pbc=periodic)
    i, j, shifts = neighborlist.neighbor_list("ijS", atoms, radius)
    return set(zip(i.tolist(), j.tolist(), map(tuple, shifts.tolist())))


def matscipy_pairs(points, radius, cell, periodic):
    neighbours = pytest.importorskip("matscipy.neighbours")
    flags = np.array(periodic)
    i, j, shifts = neighbours.neighbour_list("ijS", positions=points, cutoff=radius, cell=cell, pbc=flags)
    return set(zip(i.tolist(), j.tolist(), map(tuple, shifts.tolist())))


def vesin_pairs(points, radius, cell, periodic):
    vesin = pytest.importorskip("vesin")
    search = vesin.NeighborList(cutoff=radius, full_list=True)
    i, j, shifts = search.compute(points=points, box=cell, periodic=list(periodic), quantities="ijS")
    return set(zip(i.tolist(), j.tolist(), map(tuple, shifts.tolist())))


def systems():
    """Return points, radius, cell and periodic directions by name."""
    fcc = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    crystal = (np.argwhere(np.ones((4, 4, 4)))[:, None] + fcc).reshape(-1, 3) * 3.6
    liquid, box = RNG.random((400, 3)) @ (TRICLINIC * 3), TRICLINIC * 3
    all_of, none = [True] * 3, [False] * 3
    return {
        "crystal": (crystal, 4.0, np.eye(3) * 14.4, all_of),
        "crystal, open": (crystal, 4.0, np.eye(3) * 14.4, none),
        "liquid": (liquid, 2.0, box, all_of),
        "liquid, open": (liquid, 2.0, box, none),
        "liquid, a slab": (liquid, 2.0, box, [True, True, False]),
        "liquid, unwrapped": (liquid + RNG.integers(-2, 3, liquid.shape) @ box, 1.5, box, all_of),
        "a radius above the cell": (RNG.random((6, 3)) @ TRICLINIC, 7.0, TRICLINIC, all_of),
        "one atom": (np.zeros((1, 3)), 3.0, TRICLINIC, all_of),
    }


@pytest.mark.parametrize("system", systems())
@pytest.mark.parametrize("peer", [scipy_pairs, ase_pairs, matscipy_pairs, vesin_pairs])
def test_pairs_and_shifts_are_those_of_other_libraries(peer, system):
    points, radius, cell, periodic = systems()[system]
    expected = peer(points, radius, cell, periodic)
    found = bs.find_neighbours(
        points, radius, cell=cell, periodic=periodic, both_directions=True, vectors=True, squared_distances=True
    )
    # They round distances, and some take the radius itself as outside.
    near = np.abs(np.sqrt(found.squared_distances) - radius) <= 1e-12 * radius
    own = {key for key, is_near in zip(keys(found), near.tolist()) if not is_near}
    if expected is not None:
        assert own - expected == set() and expected - own <= {key for key, is_near in zip(keys(found), near) if is_near}
        assert len(own) > 0 or system == "one atom"


@pytest.mark.parametrize("system", systems())
def test_a_neighbour_list_has_what_ase_has_by_the_same_letters(system):
    ase, neighborlist = pytest.importorskip("ase"), pytest.importorskip("ase.neighborlist")
    points, radius, cell, periodic = systems()[system]
    radius *= 1 + 1e-9  # ASE leaves out the cutoff itself.
    atoms = ase.Atoms(f"Cu{len(points)}", positions=points, cell=cell, pbc=periodic)
    i, j, d, vectors, shifts = neighborlist.neighbor_list("ijdDS", atoms, radius)
    order = np.lexsort((*shifts.T[::-1], j, i))
    for own in (
        bs.neighbour_list("ijdDS", atoms, radius),
        bs.neighbour_list("ijdDS", points, radius, cell=cell, pbc=periodic),
    ):
        assert all(np.array_equal(a, b[order]) for a, b in zip((own[0], own[1], own[4]), (i, j, shifts)))
        assert np.allclose(own[2], d[order], rtol=1e-12) and np.allclose(own[3], vectors[order], atol=1e-12 * radius)
        assert own[0].dtype == own[1].dtype == i.dtype and len(own[0]) > 0
    by_atom = np.random.default_rng(5).random(len(points)) * radius / 2
    i, j, shifts = neighborlist.neighbor_list("ijS", atoms, by_atom)
    order = np.lexsort((*shifts.T[::-1], j, i))
    own = bs.neighbour_list("ijS", atoms, by_atom)
    assert all(np.array_equal(a, b[order]) for a, b in zip(own, (i, j, shifts)))


# ---- in the words of other libraries ----


class Atoms:
    """The part of ASE's Atoms that the package reads."""

    def __init__(self, positions, cell, pbc):
        self.positions, self.cell, self.pbc = positions, cell, pbc

    def get_positions(self):
        return self.positions


def test_a_neighbour_list_returns_what_its_letters_name():
    points = RNG.random((30, 3)) @ TRICLINIC
    found = bs.find_neighbours(
        points, 1.5, cell=TRICLINIC, periodic=[1, 0, 1], both_directions=True, vectors=True, squared_distances=True
    )
    expected = {
        "i": found.pairs[:, 0],
        "j": found.pairs[:, 1],
        "d": np.sqrt(found.squared_distances),
        "D": found.vectors,
        "S": found.shifts,
    }
    for letters in ("i", "S", "ij", "dDS", "Sji", "ijdDS", "ii"):
        for answer in (
            bs.neighbour_list(letters, points, 1.5, cell=TRICLINIC, pbc=[True, False, True]),
            bs.neighbour_list(letters, Atoms(points, TRICLINIC, np.array([True, False, True])), 1.5),
        ):
            arrays = (answer,) if len(letters) == 1 else answer
            assert all(np.array_equal(own, expected[letter]) for own, letter in zip(arrays, letters, strict=True))
    assert bs.neighbour_list("", points, 1) == ()
    for flat in (points, points[:, :2], points.astype(np.float32)):
        i, d, shifts = bs.neighbour_list("idS", flat, 1.5)
        assert i.dtype == np.int64 and d.dtype == flat.dtype and shifts.dtype == np.int32
        assert shifts.shape == (len(i), flat.shape[1]) and not shifts.any()


def torch_cluster_graph(x, r, batch, loop):
    """Return what torch_cluster does where it does not truncate, as its documentation says, with r itself."""
    x = np.asarray(x, np.float64)
    within = (((x[:, None] - x) ** 2).sum(2) <= r * r) & (batch[:, None] == batch)
    if not loop:
        np.fill_diagonal(within, False)
    target, source = np.nonzero(within)
    return np.stack([source, target])


def test_a_radius_graph_has_the_edges_of_torch_cluster():
    x, batch = RNG.random((60, 3)) * 4, RNG.integers(0, 4, 60)
    x[7] = np.nan
    for points in (x, x.astype(np.float32), x[:, :2], RNG.integers(0, 4, (60, 3))):
        for own in (batch, np.sort(batch), None):
            groups = np.zeros(60) if own is None else own
            for loop in (False, True):
                found = bs.radius_graph(points, 1, own, loop)
                assert found.dtype == np.int64 and found.flags.c_contiguous
                assert np.array_equal(found, torch_cluster_graph(points, 1, groups, loop))
    for loop in (False, True):
        assert bs.radius_graph([], 1, loop=loop).shape == (2, 0)
        assert bs.radius_graph([[0, 0]], 1, loop=loop).tolist() == [[0] * loop, [0] * loop]
        assert bs.radius_graph([[np.nan, 0], [0, 0]], 1, loop=loop).tolist() == [[1] * loop, [1] * loop]


def test_a_radius_graph_is_refused_and_not_cut_where_a_point_has_too_many_neighbours():
    star = np.array([[9, 9], [0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    for loop in (False, True):
        whole = bs.radius_graph(star, 1, loop=loop)
        assert whole.shape[1] == 8 + 6 * loop
        assert np.array_equal(bs.radius_graph(star, 1, loop=loop, max_num_neighbors=4 + loop), whole)
        with pytest.raises(ValueError, match=rf"^point 1 has {4 + loop} neighbours, and max_num_neighbors is {3 + loop}"):
            bs.radius_graph(star, 1, loop=loop, max_num_neighbors=3 + loop)
    assert bs.radius_graph([[0, 0]], 1, max_num_neighbors=0).size == 0
    with pytest.raises(ValueError, match="max_num_neighbors is -1"):
        bs.radius_graph(star, 1, max_num_neighbors=-1)


class Tensor:
    """A tensor of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_device_returns_the_same_bytes(device, dtype):
    points = (RNG.random((300, 3)) * 6 - 1).astype(dtype)
    options = {"cell": [4, 5, 6], "both_directions": True, "vectors": True, "squared_distances": True}
    found, expected = (bs.find_neighbours(points, 1, device=name, **options) for name in (device, "cpu"))
    assert len(expected) > 1000
    for name in ("pairs", "offsets", "shifts", "vectors", "squared_distances"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()
    between = (bs.find_neighbours_between(points[:50], points, 1, device=name).pairs for name in (device, "cpu"))
    assert np.array_equal(*between)


def test_tensors_come_and_go_through_dlpack():
    x, batch = RNG.random((50, 3), np.float32) * 3, np.arange(50) % 3
    graph = bs.radius_graph(x, 1, batch, loop=True)
    assert np.array_equal(bs.radius_graph(Tensor(x), 1, Tensor(batch), loop=True), graph)
    i, vectors = bs.neighbour_list("iD", Tensor(x), 1, cell=Tensor(np.eye(3) * 3), pbc=True)
    found = bs.find_neighbours(Tensor(x), 1, cell=[3] * 3, both_directions=True, vectors=True)
    assert np.array_equal(found.vectors, vectors)
    for array in (graph, i, vectors, found.pairs, found.offsets, found.shifts):
        assert array.flags.c_contiguous and array.flags.writeable
        shared = np.from_dlpack(array)
        assert np.shares_memory(shared, array) and np.array_equal(shared, array)


# ---- what is refused ----

POINTS = np.zeros((2, 3))


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: bs.find_neighbours(POINTS, -1), ValueError, "^radius is -1"),
        (lambda: bs.find_neighbours(POINTS, np.nan), ValueError, "^radius is nan"),
        (lambda: bs.find_neighbours(POINTS, np.inf), ValueError, "^radius is inf"),
        (lambda: bs.find_neighbours(POINTS, [1, 1]), ValueError, "^radius must be a number"),
        (lambda: bs.find_neighbours(POINTS, "far"), TypeError, "^radius must be"),
        (lambda: bs.find_neighbours(POINTS, 1, radii=[1]), ValueError, "^radii must have a number for each of 2"),
        (lambda: bs.find_neighbours(POINTS, 1, radii=[1, -1]), ValueError, "radii.*-1 at index 1"),
        (lambda: bs.find_neighbours(POINTS, 1, worlds=[1, -1]), ValueError, "^worlds has -1"),
        (lambda: bs.find_neighbours(POINTS, 1, worlds=[0, 0xFFFFFFFF]), ValueError, "worlds.*4294967295 at index 1"),
        (lambda: bs.find_neighbours(POINTS, 1, worlds=[0.5, 1]), TypeError, "^worlds must be integers"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=np.eye(2)), ValueError, "^cell must have the shape"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=[1, 1, 1, 90, 90, 90]), ValueError, "^cell must have the shape"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=np.zeros((3, 3))), ValueError, "cell.*linearly independent"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=[np.nan, 1, 1]), ValueError, "cell.*finite"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=[1, 1, 1], periodic=[True] * 2), ValueError, "^periodic must be one"),
        (lambda: bs.find_neighbours(POINTS, 1, cell=[1, 1, 1], periodic="xyz"), TypeError, "^periodic must be booleans"),
        (lambda: bs.find_neighbours(POINTS + 1e300, 1, cell=[1, 1, 1]), ValueError, "positions.*cell"),
        (lambda: bs.find_neighbours(POINTS, 1e9, cell=[1, 1, 1]), MemoryError, "periodic images"),
        (lambda: bs.find_neighbours(POINTS, 1, device=""), ValueError, "^device is empty"),
        (lambda: bs.find_neighbours(POINTS, 1, device=None), TypeError, "^device must be a string"),
        (lambda: bs.find_neighbours(POINTS, 1, threads=0), ValueError, "^threads is 0"),
        (lambda: bs.find_neighbours(POINTS, 1, vectors=2), ValueError, "^vectors must be booleans"),
        (lambda: bs.find_neighbours_between(POINTS, POINTS[:, :2], 1), ValueError, "^queries and points must both"),
        (lambda: bs.find_neighbours_between(POINTS, POINTS, 1, radii=[1, 2]), ValueError, "^radii .* each of 4"),
        (lambda: bs.radius_graph(POINTS, -1), ValueError, "^r is -1"),
        (lambda: bs.radius_graph(POINTS, 1, batch=[0]), ValueError, "^batch must have a number for each of 2"),
        (lambda: bs.radius_graph(POINTS, 1, loop=None), TypeError, "^loop must be booleans"),
        (lambda: bs.neighbour_list("ijx", POINTS, 1), ValueError, "^quantities is 'ijx'"),
        (lambda: bs.neighbour_list("ij", POINTS, {("H", "H"): 1.0}), TypeError, "^cutoff must be.* dict"),
        (lambda: bs.neighbour_list("ij", POINTS, [1.0]), ValueError, "^cutoff must have a number for each of 2"),
        (lambda: bs.neighbour_list("ij", POINTS, 1, pbc=True), ValueError, "^pbc needs a cell"),
        (lambda: bs.neighbour_list("ij", Atoms(POINTS, CUBE, [True] * 3), 1, pbc=True), ValueError, "its own cell and pbc"),
        (lambda: bs.neighbour_list("ij", POINTS, 1, CUBE, [True] * 2), ValueError, "^pbc must be one"),
    ],
)
def test_what_has_no_meaning_is_refused_by_its_name(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_row_has_the_places_of_the_pairs_of_a_point():
    found = bs.find_neighbours(GRID, 1, both_directions=True)
    assert len(found) == found.offsets[-1] and repr(found) == "NeighbourPairs(288 pairs of 64 points)"
    for index in (0, 21, 63, -1):
        assert np.array_equal(found.pairs[found.row(index)], found.pairs[found.pairs[:, 0] == index % 64])
    with pytest.raises(IndexError):
        found.row(64)
