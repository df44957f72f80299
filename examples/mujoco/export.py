"""Writes what MuJoCo's collision detection works on, step by step, for broadsweep to find the same pairs.

    python export.py dog pile:1000 my_robot.xml --steps 400 --every 10 --out frames

For each model and every few steps of simulation (`--every`) there are two files: `NAME-STEP.npz`, the boxes of the geoms with
the filters (one row for each geom, in MuJoCo's order), and `NAME-STEP.contacts.npy`, the pairs of geoms for which
MuJoCo has a contact, ascending, each once. With --worlds there is one such pair of files for a model, `NAME.npz`, in
which each step is a world. Needs numpy, mujoco 4 and, for most of the names, dm_control.
"""

import argparse
import pathlib

import mujoco
import numpy as np

import scenes
import tile

PLANE = mujoco.mjtGeom.mjGEOM_PLANE


def down(x):
    """The largest f32 that is at most x."""
    y = np.asarray(x, np.float64).astype(np.float32)
    return np.where(y > x, np.nextafter(y, np.float32(-np.inf)), y)


def up(x):
    """The smallest f32 that is at least x."""
    return -down(-np.asarray(x))


def filters(model):
    """The arrays that do not change from step to step. They say what engine_collision_driver.c does."""
    body = model.geom_bodyid
    weld = model.body_weldid[body]  # bodies without a joint between them are one
    parent = model.body_weldid[model.body_parentid[weld]]
    # A geom may meet its parent if that is the world, or if the model asks for it.
    meets_parent = parent == 0
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        meets_parent[:] = True
    arrays = {
        "group": model.geom_contype.astype(np.uint32),
        "mask": model.geom_conaffinity.astype(np.uint32),
        "body": weld.astype(np.uint32),
        "parent": np.where(meets_parent, tile.NO_PARENT, parent).astype(np.uint32),
        # The world, what is welded to it, and mocap bodies.
        "fixed": (model.body_dofnum[weld] == 0).astype(np.uint8),
        "exclude": excluded_geoms(model),
        # Whatever the other rules say, and in MuJoCo too.
        "include": ascending(np.stack([model.pair_geom1, model.pair_geom2], 1)),
    }
    margin = reach(model)
    if margin.any():
        arrays["margin"] = up(margin)
    return arrays


def reach(model):
    """How far from each geom contacts begin. MuJoCo adds up the margins and gaps of both geoms; a margin may be
    negative, a box's may not."""
    margin = model.geom_margin
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        margin = np.full(model.ngeom, 0.5 * model.opt.o_margin)
    return np.maximum(margin + model.geom_gap, 0)


def excluded_geoms(model):
    """Bodies are excluded, not welded groups: every geom of the one with every geom of the other."""
    geoms = lambda body: model.body_geomadr[body] + np.arange(model.body_geomnum[body])
    bodies = [(signature >> 16, signature & 0xFFFF) for signature in model.exclude_signature.tolist()]
    pairs = [np.stack(np.meshgrid(geoms(a), geoms(b)), -1).reshape(-1, 2) for a, b in bodies]
    return ascending(np.concatenate([np.empty((0, 2), int), *pairs]))


def ascending(pairs):
    """Each pair once, a < b."""
    return np.unique(np.sort(pairs, axis=1), axis=0).reshape(-1, 2).astype(np.uint32)


def boxes(model, data):
    """Around each geom, in the world, outward to f32: `boxes` and `sphere`, and the planes that no box can say as
    `half_space`."""
    turn = data.geom_xmat.reshape(-1, 3, 3)
    # MuJoCo knows a box in the geom's frame and a sphere around its origin. What is in both is in this.
    center = np.einsum("nij,nj->ni", turn, model.geom_aabb[:, :3])
    half = np.einsum("nij,nj->ni", np.abs(turn), model.geom_aabb[:, 3:])
    # Its convex collider stops when it is this near the answer.
    slack = model.opt.ccd_tolerance
    radius = model.geom_rbound[:, None]
    low = data.geom_xpos + np.maximum(center - half, -radius) - slack
    high = data.geom_xpos + np.minimum(center + half, radius) + slack
    arrays = {"boxes": np.concatenate([down(low), up(high)], 1)}

    planes = np.flatnonzero(model.geom_type == PLANE)
    is_solid = model.geom_type != PLANE
    extent = np.abs(np.concatenate([low[is_solid], high[is_solid]])).max(0, initial=0) + reach(model).max(initial=0)
    # A centre lies within a radius of its box, and a normal shorter than 1 reaches less far around it.
    extent += 2 * radius.max(initial=0)
    half_spaces = []
    for plane in planes:
        exact = turn[plane, :, 2]
        offset = exact @ data.geom_xpos[plane] + slack
        normal = exact.astype(np.float32)
        normal[np.abs(normal) < 1e-7] = 0  # a rotation by 90 degrees, say
        # The f32 normal leans by less than an ulp. So that nothing in the scene gets out for it, the offset grows.
        offset += np.abs(normal - exact) @ extent
        box = arrays["boxes"][plane]
        box[:3], box[3:] = -np.inf, np.inf
        axes = np.flatnonzero(normal)
        if len(axes) == 1:
            axis = axes[0]
            # The near side of an axis-aligned plane; its far side is infinite.
            if normal[axis] > 0:
                box[3 + axis] = up(offset / normal[axis])
            else:
                box[axis] = down(offset / normal[axis])
        else:
            # A half-space has no margin of its own.
            half_spaces.append((plane, *normal, up(offset + reach(model)[plane])))
    arrays["sphere"] = spheres(model, data)
    if half_spaces:
        table = np.array(half_spaces)
        arrays["half_space_box"] = table[:, 0].astype(np.uint32)
        arrays["half_space"] = table[:, 1:].astype(np.float32)
    return arrays


def spheres(model, data):
    """Around each geom, as MuJoCo's second filter has them, outward to f32. A plane has none."""
    center = data.geom_xpos.astype(np.float32)
    moved = np.linalg.norm(center - data.geom_xpos, axis=1)
    radius = up(model.geom_rbound + moved + model.opt.ccd_tolerance)
    radius[model.geom_rbound == 0] = np.inf
    return np.column_stack([center, radius])


def asleep(model, data):
    """The flags of sleeping bodies: MuJoCo tests none of them against other sleeping bodies or the world."""
    if not model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP:
        return {}
    state = data.body_awake[model.geom_bodyid]
    is_world = model.body_weldid[model.geom_bodyid] == 0
    return {"sleeping": ((state == mujoco.mjtSleepState.mjS_ASLEEP) | is_world).astype(np.uint8)}


def contacts(data):
    """The pairs of geoms for which MuJoCo has contacts, those within a gap among them."""
    geoms = data.contact.geom
    return ascending(geoms[(geoms >= 0).all(1)])


def steps_of(model, steps, every):
    """Yields, every few steps of a simulation: the step, its arrays, and its pairs in contact."""
    constant = filters(model)
    for step, data in simulated(model, steps, every):
        yield step, boxes(model, data) | constant | asleep(model, data), contacts(data)


def simulated(model, steps, every):
    """Yields, every few steps of a simulation: the step and its data."""
    # A speculative contact is one of where geoms will be, not of where they are.
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SPECULATIVE)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    is_limited = model.actuator_ctrllimited.astype(bool)
    low, high = np.where(is_limited[:, None], model.actuator_ctrlrange, [-1, 1]).T
    for step in range(1, steps + 1):
        if step % 20 == 1:
            # Actuators that pull at random, so that robots do more than fall.
            data.ctrl[:] = rng.uniform(low, high)
        mujoco.mj_step(model, data)
        if step % every == 0:
            # A step ends with new positions of the joints; this gives those of the geoms, and their contacts.
            mujoco.mj_forward(model, data)
            yield step, data


def export(name, steps, every, out, worlds):
    model = scenes.load(name)
    if model.nflex:
        print(f"{name}: flexes are left out; only geoms are exported")
    stem = out / pathlib.Path(name).stem.replace(":", "-")
    exported = []
    for step, arrays, found in steps_of(model, steps, every):
        exported.append((arrays, found))
        if not worlds:
            write(f"{stem}-{step:06}", arrays, found)
    if worlds:
        shifted = [found + number * model.ngeom for number, (_, found) in enumerate(exported)]
        arrays = tile.join([arrays for arrays, _ in exported], worlds=True)
        write(stem, arrays, np.concatenate(shifted).astype(np.uint32))
    count = sum(len(found) for _, found in exported)
    print(f"{name}: {model.ngeom} geoms, {len(exported)} steps, {count} pairs in contact")


def write(stem, arrays, found):
    np.savez_compressed(f"{stem}.npz", **arrays)
    np.save(f"{stem}.contacts.npy", found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    named = "a name, or the path of an .xml file; a wrong name lists all"
    parser.add_argument("models", nargs="+", metavar="MODEL", help=named)
    parser.add_argument("--steps", type=int, default=400, help="of simulation (default: 400)")
    parser.add_argument("--every", type=int, default=10, help="steps of simulation from one export to the next (default: 10)")
    parser.add_argument("--worlds", action="store_true", help="one file for a model, in which each step is a world")
    parser.add_argument("--out", type=pathlib.Path, default="frames", help="folder to write to (default: frames)")
    arguments = parser.parse_args()
    if not 0 < arguments.every <= arguments.steps:
        parser.error("--every must be from 1 to the number of steps")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models:
        export(name, arguments.steps, arguments.every, arguments.out, arguments.worlds)


if __name__ == "__main__":
    main()
