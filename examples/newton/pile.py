"""Runs a pile in Newton with broadsweep's broad phase and with Newton's own, and compares pairs, trajectories and times."""

import argparse
import time

import numpy as np
import warp as wp

wp.config.log_level = wp.LOG_WARNING

import newton  # noqa: E402

import broadsweep.newton  # noqa: E402


def build(worlds, bodies, seed=1):
    """Build a floor for all worlds, and in each a column of spheres, boxes and capsules that falls. Worlds are in one place."""
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    side = max(2, round((bodies / 5) ** (1 / 2) * 0.72)) if worlds > 1 else max(2, round((bodies / 2.2) ** (1 / 2)))
    for world in range(worlds):
        rng = np.random.default_rng(seed + world)
        one = newton.ModelBuilder()
        for i in range(bodies):
            layer, (row, column) = i // side**2, divmod(i % side**2, side)
            at = np.array([column - side / 2, row - side / 2, 0.6 + layer]) * 0.85 + rng.normal(0, 0.08, 3)
            at[2] = max(at[2], 0.45)
            body = one.add_body(xform=wp.transform(wp.vec3(*at), wp.normalize(wp.quat(*rng.normal(0, 1, 4)))))
            if i % 3 == 0:
                one.add_shape_sphere(body, radius=rng.uniform(0.28, 0.4))
            elif i % 3 == 1:
                hx, hy, hz = rng.uniform(0.2, 0.36, 3)
                one.add_shape_box(body, hx=hx, hy=hy, hz=hz)
            else:
                one.add_shape_capsule(body, radius=rng.uniform(0.16, 0.24), half_height=rng.uniform(0.12, 0.3))
        builder.add_world(one)
    return builder.finalize(device="cpu")


def run(model, steps, buffer, ours, each=lambda step, pipeline: None):
    """Run the simulation, and return where the bodies are, the seconds of all of it, and the contacts in each step."""
    pipeline = newton.CollisionPipeline(model, broad_phase="sap", shape_pairs_max=buffer, deterministic=True)
    if ours:
        broadsweep.newton.attach(pipeline)
    solver = newton.solvers.SolverXPBD(model, iterations=4)
    now, then, control, contacts = model.state(), model.state(), model.control(), pipeline.contacts()
    seconds, counts = 0.0, []
    for step in range(steps):
        began = time.perf_counter()
        now.clear_forces()
        pipeline.collide(now, contacts)
        seconds += time.perf_counter() - began
        each(step, pipeline)
        counts.append(int(contacts.rigid_contact_count.numpy()[0]))
        began = time.perf_counter()
        solver.step(now, then, control, contacts, 1 / 120)
        now, then = then, now
        seconds += time.perf_counter() - began
    return now.body_q.numpy().copy(), seconds, counts


def run_speculative(model, steps, buffer, interval, speed, seed=1):
    """Run with speculative contacts, checked in each step; return the pairs of boxes around paths, and the kept ones."""
    pipeline = newton.CollisionPipeline(model, broad_phase="sap", shape_pairs_max=buffer, speculative_contact_gap_max=0.5)
    broad_phase = broadsweep.newton.attach(pipeline, check=True)
    solver = newton.solvers.SolverXPBD(model, iterations=4)
    now, then, control, contacts = model.state(), model.state(), model.control(), pipeline.contacts()
    velocities = now.body_qd.numpy()
    velocities[:, :3] += np.random.default_rng(seed).normal(0, speed, (len(velocities), 3))
    now.body_qd.assign(velocities)
    substeps = max(1, round(interval * 120))
    counts = []
    for _ in range(steps):
        now.clear_forces()
        pipeline.collide(now, contacts, dt=interval)
        counts.append((broad_phase.report.pair_count, len(broad_phase.pairs)))
        for _ in range(substeps):
            solver.step(now, then, control, contacts, interval / substeps)
            now, then = then, now
    return np.mean(counts, axis=0)


class Comparison:
    """Launches several broad phases on the same boxes in each step, in turns, and compares what they find.

    A time is the least of three, as others use the machine too.
    """

    def __init__(self, model, buffer, all_pairs):
        world, flags = model.shape_world, model.shape_flags
        self.broad_phases = {"sap": newton.geometry.BroadPhaseSAP(world, flags, sort_type="auto", device="cpu")}
        if all_pairs:
            self.broad_phases["nxn"] = newton.geometry.BroadPhaseAllPairs(world, flags, device="cpu")
        self.found = wp.empty(buffer, dtype=wp.vec2i, device="cpu")
        self.count = wp.zeros(1, dtype=wp.int32, device="cpu")
        self.seconds = {name: [] for name in ["broadsweep", *self.broad_phases]}
        self.pair_counts, self.equal, self.lost_by_sap = [], 0, 0

    def __call__(self, step, pipeline):
        model, broad_phases = pipeline.model, {"broadsweep": pipeline.broad_phase, **self.broad_phases}
        names = list(broad_phases)
        sets = {}
        seconds = {name: [] for name in names}
        for name in names[step % len(names) :] + names[: step % len(names)] + names + names:
            began = time.perf_counter()
            broad_phases[name].launch(
                pipeline.narrow_phase.shape_aabb_lower,
                pipeline.narrow_phase.shape_aabb_upper,
                None,
                model.shape_collision_group,
                model.shape_world,
                model.shape_count,
                self.found,
                self.count,
                device="cpu",
                filter_pairs=pipeline.shape_pairs_excluded,
                num_filter_pairs=pipeline.shape_pairs_excluded_count,
                shape_body=model.shape_body,
                body_flags=model.body_flags,
            )
            seconds[name].append(time.perf_counter() - began)
            pairs = self.found.numpy()[: self.count.numpy()[0]]
            sets[name] = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        for name in names:
            self.seconds[name].append(min(seconds[name]))
        ours = sets["broadsweep"]
        self.pair_counts.append(len(ours))
        self.lost_by_sap += len(ours) - len(sets["sap"])
        self.equal += all(np.array_equal(ours, pairs) for pairs in sets.values())
        self.pairs = ours


def draw(model, where, pairs, comparison, path):
    """Draw the worlds side by side, coloured by the pairs of each shape, above the times and counts of all steps."""
    import draw as rays
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    kinds = {newton.GeoType.SPHERE: rays.SPHERE, newton.GeoType.BOX: rays.BOX, newton.GeoType.CAPSULE: rays.CAPSULE}
    types, scales, body, worlds = (
        x.numpy() for x in (model.shape_type, model.shape_scale, model.shape_body, model.shape_world)
    )
    meets = np.bincount(pairs.ravel(), minlength=model.shape_count)
    count = max(worlds) + 1
    apart = 2 * np.percentile(np.abs(where[:, 0]), 95) + 0.4
    shapes, drawn = [], []
    for i in np.flatnonzero(body >= 0):
        q = where[body[i]].astype(float)
        offset = np.array([(worlds[i] - (count - 1) / 2) * apart, 0, 0])
        shapes.append((kinds[newton.GeoType(types[i])], scales[i].astype(float), q[:3] + offset, q[3:]))
        drawn.append(i)
    width = count * apart
    size = (2400, 880)
    camera = rays.Camera((0, -0.8 * width, 0.30 * width), (0, 0, 0.1), size, focal=0.82)
    light = rays.Camera((0.3 * width, -0.5 * width, width), (0, 0, 0), (2200, 1600), width=1.25 * width)
    image = rays.picture(shapes, rays.ramp(meets[drawn] - 1, 19), camera, light)
    image = image.reshape(size[1] // 2, 2, size[0] // 2, 2, 3).mean((1, 3))

    figure = plt.figure(figsize=(12, 8), dpi=100)
    scene = figure.add_axes((0, 0.345, 1, 0.55))
    scene.imshow(image, interpolation="nearest", aspect="auto")
    scene.axis("off")
    figure.text(
        0.03,
        0.97,
        f"Newton on broadsweep's pairs: {count} worlds in one place, here side by side",
        fontsize=14,
        weight="bold",
        va="top",
    )
    figure.text(
        0.03,
        0.933,
        f"{model.shape_count - 1:,} shapes on one floor, step {len(comparison.pair_counts)}; coloured by how many of the "
        f"{len(pairs):,} pairs each is in, from 1 (blue) to 20 (red)",
        fontsize=10.5,
        va="top",
        color="0.3",
    )
    times = figure.add_axes((0.07, 0.075, 0.40, 0.205))
    names = {
        "nxn": ("Newton's all pairs", "0.65"),
        "sap": ("Newton's sweep and prune", "#d9822b"),
        "broadsweep": ("broadsweep", "#2b6cb0"),
    }
    for name, (label, color) in names.items():
        if name in comparison.seconds:
            ms = np.array(comparison.seconds[name]) * 1e3
            times.plot(ms, color=color, lw=1.6, label=f"{label}: {np.median(ms):.2f} ms")
    top = 2.4 * max(np.median(seconds) for seconds in comparison.seconds.values()) * 1e3
    times.set(title="broad phase of the same boxes, ms a call (median)", xlabel="step", ylim=(0, top))
    times.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=9, loc="upper right")
    counts = figure.add_axes((0.56, 0.075, 0.40, 0.205))
    counts.plot(comparison.pair_counts, color="#2b6cb0", lw=4, alpha=0.45, label="broadsweep")
    counts.plot(comparison.newton_counts, color="#d9822b", lw=1.2, label="Newton")
    counts.set(title=f"pairs: the same set in {comparison.equal} of {len(comparison.pair_counts)} steps", xlabel="step")
    counts.legend(frameon=False, fontsize=9)
    for axes in (times, counts):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
    Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--bodies", type=int, default=300, help="in each world")
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--buffer", type=int, default=200_000, help="pairs that the pipeline has room for")
    parser.add_argument("--all-pairs", action="store_true", help="time Newton's test of all pairs too")
    parser.add_argument("--picture", help="a .png")
    parser.add_argument("--speculative", type=float, metavar="SECONDS", help="with contacts for this long ahead; counts pairs")
    parser.add_argument("--speed", type=float, default=0, help="with --speculative: random velocities, m/s an axis")
    said = parser.parse_args()

    model = build(said.worlds, said.bodies)
    print(f"{model.shape_count} shapes in {said.worlds} world(s), {said.steps} steps")
    if said.speculative:
        paths, kept = run_speculative(model, said.steps, said.buffer, said.speculative, said.speed)
        print(f"mean pairs a step: {paths:,.0f} of boxes around paths, {kept:,.0f} of them kept ({kept / paths:.1%})")
        print(f"the same pairs in {said.steps} of {said.steps} steps")
        return
    comparison = Comparison(model, said.buffer, said.all_pairs)
    comparison.newton_counts = []
    where, _, contacts = run(model, said.steps, said.buffer, True, comparison)
    pairs = comparison.pairs
    print(f"the same pairs in {comparison.equal} of {said.steps} steps, {comparison.pair_counts[-1]} in the last")
    if comparison.lost_by_sap:
        print(f"lost by SAP in all steps: {comparison.lost_by_sap}")
    ms = {name: np.median(seconds) * 1e3 for name, seconds in comparison.seconds.items()}
    for name, time_of_call in ms.items():
        print(f"  {name:12s} {time_of_call:8.2f} ms a call, {time_of_call / ms['broadsweep']:6.1f} of broadsweep's")

    # The whole of it, in turns, each from the start.
    ours, theirs = [], []
    for _ in range(2):
        our_end, seconds, our_contacts = run(model, said.steps, said.buffer, True)
        ours.append(seconds)
        their_end, seconds, their_contacts = run(
            model,
            said.steps,
            said.buffer,
            False,
            lambda step, pipeline: comparison.newton_counts.append(int(pipeline.broad_phase_pair_count.numpy()[0])),
        )
        theirs.append(seconds)
    print(f"the whole simulation: {min(ours):.2f} s with broadsweep, {min(theirs):.2f} s with SAP")
    print(f"contacts the same in each step: {our_contacts == their_contacts == contacts}, {contacts[-1]} in the last")
    print(f"bodies are apart at the end by {np.abs(our_end - their_end).max():g}")
    comparison.newton_counts = comparison.newton_counts[: said.steps]
    if said.picture:
        draw(model, where, pairs, comparison, said.picture)


if __name__ == "__main__":
    main()
