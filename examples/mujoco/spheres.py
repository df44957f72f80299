"""Counts the pairs that bounding spheres drop, and compares them with MuJoCo's second filter.

    python spheres.py dog tilted pile:300 --steps 400 --every 10

For each model: the pairs that broadsweep hands on with and without spheres, those that MuJoCo's `mj_filterSphere` keeps of the
latter, and the pairs in contact. Ends with an error if a pair that MuJoCo keeps, or one in contact, is missing. Needs numpy, mujoco 4,
the package broadsweep and, for most of the names, dm_control.
"""

import argparse

import broadsweep
import numpy as np

import export
import scenes


def kept(model, data, pairs):
    """Tells for each pair whether `mj_filterSphere` of MuJoCo's engine_collision_driver.c keeps it."""
    margin = export.reach(model)[pairs].sum(1)
    position, radius = data.geom_xpos[pairs], model.geom_rbound[pairs]
    normal = data.geom_xmat.reshape(-1, 3, 3)[:, :, 2][pairs]
    bound = radius.sum(1) + margin
    keeps = ((position[:, 0] - position[:, 1]) ** 2).sum(1) <= bound**2
    is_plane = model.geom_type[pairs] == export.PLANE
    for plane, other in ((0, 1), (1, 0)):
        height = ((position[:, other] - position[:, plane]) * normal[:, plane]).sum(1)
        meets = height <= margin + radius[:, other]
        keeps = np.where(is_plane[:, plane], meets | (radius[:, other] == 0), keeps)
    return keeps


def keys(pairs):
    """Pairs as one number each."""
    return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)


def compare(name, steps, every, engine):
    model = scenes.load(name)
    counts, constant = np.zeros(4, int), export.filters(model)
    for step, data in export.simulated(model, steps, every):
        arrays = export.boxes(model, data) | constant | export.asleep(model, data)
        boxes, sphere = arrays.pop("boxes"), arrays.pop("sphere")
        engine.set_filters(broadsweep.Filters(**arrays))
        before = engine.find_pairs(boxes)
        engine.set_filters(broadsweep.Filters(**arrays, sphere=sphere))
        after = keys(engine.find_pairs(boxes))
        of_mujoco, in_contact = keys(before[kept(model, data, before)]), keys(export.contacts(data))
        for needed in (of_mujoco, in_contact):
            missing = np.setdiff1d(needed, after)
            if len(missing):
                raise SystemExit(
                    f"{name}, step {step}: {len(missing)} pairs are missing, the first is {divmod(int(missing[0]), 1 << 32)}"
                )
        counts += len(before), len(after), len(of_mujoco), len(in_contact)
    return model.ngeom, *counts.tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a name, or the path of an .xml file; a wrong name lists all"
    )
    parser.add_argument("--steps", type=int, default=400, help="of simulation (default: 400)")
    parser.add_argument("--every", type=int, default=10, help="steps of simulation from one search to the next (default: 10)")
    parser.add_argument("--device", default="cpu", help="as broadsweep.BroadPhase takes it (default: cpu)")
    arguments = parser.parse_args()
    print("| model | geoms | boxes | spheres | mj_filterSphere | contacts |\n|---|---|---|---|---|---|", flush=True)
    for name in arguments.models:
        row = compare(name, arguments.steps, arguments.every, broadsweep.BroadPhase(arguments.device))
        print(f"| {name} | {' | '.join(f'{count:,}' for count in row)} |", flush=True)


if __name__ == "__main__":
    main()
