"""Drops a cloth on a ball with IPC Toolkit on broadsweep's candidates, and compares with its own broad phases in each step."""

import argparse
import time
from itertools import combinations

import ipctk
import numpy as np
from broad_phase import BroadPhase
from scipy import sparse
from scipy.sparse.linalg import cg

GRAVITY = np.array([0, 0, -9.81])
OWN = [name for name in ("HashGrid", "SpatialHash", "BVH", "LBVH", "SweepAndPrune") if hasattr(ipctk, name)]


def grid(side, size):
    """Return the vertices and faces of a square cloth of side x side vertices."""
    line = np.linspace(-size / 2, size / 2, side)
    x, y = np.meshgrid(line, line, indexing="ij")
    index = np.arange(side * side).reshape(side, side)
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    return np.stack([x.ravel(), y.ravel(), np.zeros(side * side)], 1), np.vstack([np.c_[a, b, c], np.c_[a, c, d]])


def ball(radius, rounds=3):
    """Return the vertices and faces of an icosahedron, each face of which was cut in four this many times."""
    g = (1 + 5**0.5) / 2
    # The corners are three rectangles; the faces are those of the twenty triples that are nearest.
    vertices = np.array([np.roll([0, i, j * g], k) for k in range(3) for i in (-1, 1) for j in (-1, 1)])
    near = np.linalg.norm(vertices[:, None] - vertices, axis=-1) < 2.1
    faces = np.array([(a, b, c) for a, b, c in combinations(range(12), 3) if near[a, b] and near[b, c] and near[c, a]])
    inward = np.linalg.det(vertices[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(rounds):
        a, b, c = faces.T
        edges, at = np.unique(np.sort(np.vstack([np.c_[a, b], np.c_[b, c], np.c_[c, a]]), 1), axis=0, return_inverse=True)
        ab, bc, ca = len(vertices) + at.reshape(3, -1)
        vertices = np.vstack([vertices, vertices[edges].mean(1)])
        faces = np.vstack([np.c_[a, ab, ca], np.c_[ab, b, bc], np.c_[ca, bc, c], np.c_[ab, bc, ca]])
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces


class Cloth:
    """A cloth of springs over a ball that does not move, stepped by implicit Euler with the barrier of IPC."""

    def __init__(self, side=48, size=2.0, radius=0.42, dhat=0.008, dt=0.0125):
        self.dhat, self.dt = dhat, dt
        cloth, faces = grid(side, size)
        rng = np.random.default_rng(0)
        cloth[:, 2] = radius + 0.02 + 0.0005 * rng.standard_normal(len(cloth))
        # Not quite in the middle and turned, so that folds are not symmetric.
        turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
        cloth[:, :2] = cloth[:, :2] @ turn.T + [0.06, 0.03]
        obstacle, obstacle_faces = ball(radius)
        self.n = len(cloth)
        self.x = np.vstack([cloth, obstacle])
        self.v = np.zeros_like(cloth)
        self.faces = np.vstack([faces, obstacle_faces + self.n]).astype(np.int32)
        self.mesh = ipctk.CollisionMesh(self.x, ipctk.edges(self.faces), self.faces)
        self.mesh.can_collide = ipctk.make_static_obstacle_filter(self.n)
        self.fixed = np.arange(len(self.x)) >= self.n
        self.mass = 0.25 * size**2 / self.n
        index = np.arange(self.n).reshape(side, side)
        pairs = [
            (index[:-1], index[1:]),
            (index[:, :-1], index[:, 1:]),
            (index[:-1, :-1], index[1:, 1:]),
            (index[1:, :-1], index[:-1, 1:]),
        ]
        bends = [(index[:-2], index[2:]), (index[:, :-2], index[:, 2:])]
        self.springs = np.vstack([np.c_[a.ravel(), b.ravel()] for a, b in pairs + bends])
        counts = [sum(a.size for a, _ in pairs), sum(a.size for a, _ in bends)]
        self.stiffness = np.repeat([150.0, 0.6], counts)
        i, j = self.springs.T
        self.length = np.linalg.norm(self.x[i] - self.x[j], axis=1)
        self.barrier = ipctk.BarrierPotential(dhat, 4.0)
        rows = (3 * np.stack([i, j], 1)[:, :, None] + np.arange(3)).reshape(len(i), 6)
        self.at = np.repeat(rows, 6, 1).ravel(), np.tile(rows, 6).ravel()

    def energy(self, x, aim, collisions):
        i, j = self.springs.T
        stretch = np.linalg.norm(x[i] - x[j], axis=1) - self.length
        inertia = 0.5 * self.mass * ((x[: self.n] - aim) ** 2).sum()
        return inertia + self.dt**2 * 0.5 * (self.stiffness * stretch**2).sum() + self.barrier(collisions, self.mesh, x)

    def derivatives(self, x, aim, collisions):
        """Return the gradient and a positive definite Hessian, of the cloth's vertices."""
        i, j = self.springs.T
        d = x[i] - x[j]
        length = np.linalg.norm(d, axis=1)
        u = d / length[:, None]
        pull = (self.dt**2 * self.stiffness * (length - self.length))[:, None] * u
        gradient = self.mass * (x[: self.n] - aim)
        np.add.at(gradient, i, pull)
        np.subtract.at(gradient, j, pull)
        uu = u[:, :, None] * u[:, None]
        slack = np.maximum(0, 1 - self.length / length)[:, None, None]
        block = (self.dt**2 * self.stiffness)[:, None, None] * (uu + slack * (np.eye(3) - uu))
        blocks = np.concatenate([np.concatenate([block, -block], 2), np.concatenate([-block, block], 2)], 1)
        size = 3 * self.n
        hessian = sparse.coo_matrix((blocks.ravel(), self.at), (size, size)).tocsr() + self.mass * sparse.identity(
            size, format="csr"
        )
        if len(collisions):
            gradient = gradient + self.barrier.gradient(collisions, self.mesh, x).reshape(-1, 3)[: self.n]
            hessian = (
                hessian + self.barrier.hessian(collisions, self.mesh, x, ipctk.PSDProjectionMethod.CLAMP).tocsr()[:size, :size]
            )
        return gradient.ravel(), hessian

    def step(self, broad_phase, each=lambda before, after: None):
        """Step by `dt`; `broad_phase` finds the candidates of each iteration."""
        start = self.x[: self.n].copy()
        aim = start + self.dt * self.v + self.dt**2 * GRAVITY
        candidates, collisions = ipctk.Candidates(), ipctk.NormalCollisions()
        candidates.build(self.mesh, self.x, self.dhat / 2, broad_phase)
        collisions.build(candidates, self.mesh, self.x, self.dhat)
        for _ in range(20):
            gradient, hessian = self.derivatives(self.x, aim, collisions)
            scale = sparse.diags(1 / hessian.diagonal())
            move, _ = cg(hessian, -gradient, rtol=1e-4, maxiter=400, M=scale)
            # Where no vertex would go faster or slower by 2 cm/s: IPC's own criterion is of that order.
            if np.abs(move).max() < 2e-2 * self.dt:
                break
            target = self.x.copy()
            target[: self.n] += move.reshape(-1, 3)
            # The candidates of the whole way serve for the length of the step and for all collisions on it.
            candidates.build(self.mesh, self.x, target, self.dhat / 2, broad_phase)
            each(self.x, target)
            length = candidates.compute_collision_free_stepsize(self.mesh, self.x, target)
            before = self.energy(self.x, aim, collisions)
            while True:
                tried = self.x + length * (target - self.x)
                collisions.build(candidates, self.mesh, tried, self.dhat)
                if self.energy(tried, aim, collisions) <= before or length < 1e-9:
                    break
                length /= 2
            self.x = tried
        self.v = (self.x[: self.n] - start) / self.dt
        return collisions


def named(collisions, mesh):
    """Return what tells collisions apart, sorted: their kinds, vertices, weights and minimum distances."""
    edges, faces = mesh.edges, mesh.faces
    found = []
    for k in range(len(collisions)):
        collision = collisions[k]
        vertices = [v for v in collision.vertex_ids(edges, faces) if v >= 0]
        kind = type(collision).__name__
        if kind.startswith("EdgeEdge"):
            # The order of the two edges depends on the order in which a broad phase finds them.
            first, second = sorted([sorted(vertices[:2]), sorted(vertices[2:])])
            vertices = first + second
        elif kind.startswith(("VertexVertex", "FaceVertex")):
            vertices = sorted(vertices) if kind.startswith("VertexVertex") else [vertices[0], *sorted(vertices[1:])]
        found.append((kind, tuple(vertices), collision.weight, collision.dmin))
    return sorted(found)


def candidate_sets(candidates):
    edges = {tuple(sorted((c.edge0_id, c.edge1_id))) for c in candidates.ee_candidates}
    return edges, {(c.face_id, c.vertex_id) for c in candidates.fv_candidates}


class Comparison:
    """Builds the candidates of the same step with several broad phases, in turns, and compares what comes of them."""

    def __init__(self, cloth):
        self.cloth = cloth
        self.broad_phases = {"broadsweep": BroadPhase(cloth.fixed), **{name: getattr(ipctk, name)() for name in OWN}}
        self.ms = {name: [] for name in ["broadsweep, pairs alone", *self.broad_phases]}
        self.rows, self.calls = [], 0
        self.differ = {name: {"candidates": 0, "collisions": 0, "length": 0.0, "more": 0, "fewer": 0} for name in OWN}

    def __call__(self, before, after):
        cloth, self.calls = self.cloth, self.calls + 1
        names = list(self.broad_phases)
        ms, sets, collisions, lengths = {name: [] for name in self.ms}, {}, {}, {}
        for name in names[self.calls % len(names) :] + names[: self.calls % len(names)] + names:
            candidates = ipctk.Candidates()
            began = time.perf_counter()
            candidates.build(cloth.mesh, before, after, cloth.dhat / 2, self.broad_phases[name])
            ms[name].append(1e3 * (time.perf_counter() - began))
            if name not in sets:
                sets[name] = candidate_sets(candidates)
                found = ipctk.NormalCollisions()
                found.build(candidates, cloth.mesh, before, cloth.dhat)
                collisions[name] = named(found, cloth.mesh)
                lengths[name] = candidates.compute_collision_free_stepsize(cloth.mesh, before, after)
        ours = self.broad_phases["broadsweep"]
        for _ in range(2):
            began = time.perf_counter()
            ours.build(before, after, cloth.mesh.edges, cloth.mesh.faces, cloth.dhat / 2)
            count = len(ours.pairs(1, 1)) + len(ours.pairs(2, 0))
            ms["broadsweep, pairs alone"].append(1e3 * (time.perf_counter() - began))
        for name in self.ms:
            self.ms[name].append(min(ms[name]))
        assert count == sum(map(len, sets["broadsweep"]))
        for name, told in self.differ.items():
            more = sum(len(theirs - mine) for theirs, mine in zip(sets[name], sets["broadsweep"]))
            fewer = sum(len(mine - theirs) for theirs, mine in zip(sets[name], sets["broadsweep"]))
            told["candidates"] += bool(more or fewer)
            told["more"] += more
            told["fewer"] += fewer
            told["collisions"] += collisions[name] != collisions["broadsweep"]
            told["length"] = max(told["length"], abs(lengths[name] - lengths["broadsweep"]))
        self.rows.append((count, len(collisions["broadsweep"])))


def touched(cloth, collisions):
    """Return, for each vertex, 1 where it is near the ball and 2 where it is near the cloth, or 0."""
    what = np.zeros(len(cloth.x), int)
    for k in range(len(collisions)):
        vertices = np.array([v for v in collisions[k].vertex_ids(cloth.mesh.edges, cloth.mesh.faces) if v >= 0])
        kind = 2 if (vertices < cloth.n).all() else 1
        what[vertices] = np.maximum(what[vertices], kind)
    return what


def draw(cloth, moments, comparison, path):
    """Draw moments of the cloth, coloured by what touches, above times and counts."""
    import draw as triangles
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    colors = np.array([[0.70, 0.78, 0.88], [0.98, 0.66, 0.25], [0.85, 0.16, 0.25]])
    figure = plt.figure(figsize=(12, 7.6), dpi=100)
    # Eye, height of what is looked at, focal length, and where the light is.
    views = [
        ((1.5, -2.5, 1.15), -0.02, 1.16, (1.2, -1.0, 2.6)),
        ((1.5, -2.5, 1.15), -0.06, 1.3, (1.2, -1.0, 2.6)),
        ((-1.2, -2.4, -0.9), -0.2, 1.55, (-1.9, -1.9, 0.3)),
    ]
    for k, ((seconds, x, what), (eye, height, focal, lamp)) in enumerate(zip(moments, views)):
        size = (800, 720)
        camera = triangles.Camera(eye, (0, 0, height), size, focal=focal)
        light = triangles.Camera(lamp, (0, 0, 0), (1400, 1400), width=3.4)
        color = colors[what]
        color[cloth.n :] = [0.55, 0.57, 0.60]
        image = (
            triangles.picture(x, cloth.faces, color, camera, light).reshape(size[1] // 2, 2, size[0] // 2, 2, 3).mean((1, 3))
        )
        axes = figure.add_axes((k / 3, 0.385, 1 / 3, 0.474))
        axes.imshow(image)
        axes.axis("off")
        axes.text(
            0.5,
            1.02,
            f"{seconds:.2f} s{', from below' if eye[2] < 0 else ''}",
            transform=axes.transAxes,
            color="0.4",
            ha="center",
        )
    figure.text(0.03, 0.97, "IPC Toolkit on broadsweep's candidates", fontsize=14, weight="bold", va="top")
    near = f"{1e3 * cloth.dhat:g} mm from the ball or less, red: from itself"
    said = f"a cloth of {cloth.n:,} vertices falls on a ball; orange: {near}"
    figure.text(0.03, 0.935, said, fontsize=10.5, va="top", color="0.3")
    times = figure.add_axes((0.07, 0.08, 0.40, 0.24))
    shades = {
        "broadsweep, pairs alone": ("#2b6cb0", "--"),
        "broadsweep": ("#2b6cb0", "-"),
        "HashGrid": ("#d9822b", "-"),
        "SpatialHash": ("#c9a227", "-"),
        "BVH": ("#884488", "-"),
        "LBVH": ("#3f8f5a", "-"),
        "SweepAndPrune": ("0.6", "-"),
    }
    for name, (shade, style) in shades.items():
        if name in comparison.ms:
            times.plot(comparison.ms[name], style, color=shade, lw=1.3, label=f"{name} {np.median(comparison.ms[name]):.1f}")
    high = max(np.percentile(ms, 80) for ms in comparison.ms.values())
    times.set(title="candidates of a step, ms (median)", xlabel="comparison", ylim=(0, 2.4 * high))
    times.legend(frameon=False, fontsize=8.5, ncols=2, loc="upper left")
    counts = figure.add_axes((0.57, 0.08, 0.40, 0.24))
    candidates, collisions = np.array(comparison.rows).T
    counts.plot(candidates, color="#2b6cb0", label="candidates")
    counts.plot(collisions, color="#d81f3f", label="collisions")
    same = all(told["collisions"] == 0 for told in comparison.differ.values())
    counts.set(
        title="counts; all broad phases have the same collisions" if same else "counts", xlabel="comparison", yscale="log"
    )
    counts.legend(frameon=False, fontsize=9)
    for axes in (times, counts):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
    Image.open(path).convert("RGB").quantize(160, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=48, help="vertices along a side of the cloth")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--every", type=int, default=4, help="compare one of this many iterations")
    parser.add_argument("--picture", help="a .png")
    said = parser.parse_args()

    cloth = Cloth(said.side)
    comparison = Comparison(cloth)
    iterations = [0]

    def each(before, after):
        iterations[0] += 1
        if iterations[0] % said.every == 0:
            comparison(before, after)

    print(f"{cloth.mesh.num_vertices} vertices, {cloth.mesh.num_edges} edges, {cloth.mesh.num_faces} faces, {said.steps} steps")
    # The same cloth on candidates of the toolkit's own, twice: what is between those two is rounding alone.
    ours, lbvh, grid_of_hashes = BroadPhase(cloth.fixed), ipctk.LBVH(), ipctk.HashGrid()
    second, third = Cloth(said.side), Cloth(said.side)
    moments = []
    for step in range(1, said.steps + 1):
        collisions = cloth.step(ours, each)
        second.step(lbvh)
        third.step(grid_of_hashes)
        if step in (said.steps * 3 // 10, said.steps * 6 // 10, said.steps):
            moments.append((step * cloth.dt, cloth.x.copy(), touched(cloth, collisions)))
        if step % 4 == 0:
            apart, own = (np.abs(x - second.x).max() for x in (cloth.x, third.x))
            print(
                f"  step {step}: {iterations[0]} iterations, {len(collisions)} collisions; vertices apart by {apart:.0e} m on "
                f"broadsweep and LBVH, {own:.0e} m on HashGrid and LBVH",
                flush=True,
            )
    intersects = ipctk.has_intersections(cloth.mesh, cloth.x)
    print(f"{iterations[0]} iterations; the end {'HAS' if intersects else 'has no'} intersections")
    print(f"{comparison.calls} comparisons, candidates up to {max(row[0] for row in comparison.rows)}")
    for name, ms in comparison.ms.items():
        print(f"  {name:24s} {np.median(ms):8.2f} ms")
    for name, told in comparison.differ.items():
        print(
            f"  {name:14s} other candidates in {told['candidates']} (+{told['more']} -{told['fewer']}), other collisions in "
            f"{told['collisions']}, step lengths apart by up to {told['length']:g}"
        )
    if said.picture:
        draw(cloth, moments, comparison, said.picture)


if __name__ == "__main__":
    main()
