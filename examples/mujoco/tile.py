"""Lays copies of an exported scene side by side, or puts each into a world of its own.

    python tile.py frames/humanoids-10-000400.npz 5300 --out million.npz
    python tile.py frames/pile-300-000400.npz 3300 --worlds --out million.npz

A floor is there once. A scene with planes that stand or lean has to go into worlds: such a plane has no end, and would
reach all the other copies. Needs numpy.
"""

import argparse
import pathlib

import numpy as np

NO_PARENT = 0xFFFFFFFF
BY_BOX = ("boxes", "group", "mask", "fixed", "sleeping", "margin", "sphere")


def join(scenes, once=None, worlds=False):
    """One scene of many that have the same rows and arrays, as dictionaries. Rows that are true in `once` are taken
    from the first alone. With `worlds`, the scenes are worlds 0, 1, 2, ..."""
    joined = {}
    box_count = body_count = 0
    for number, scene in enumerate(scenes):
        rows = np.arange(len(scene["boxes"]))
        once = np.zeros(len(rows), bool) if once is None else once
        kept = ~once if number else np.ones(len(rows), bool)
        # Where each row of this scene is in the whole; of those that are there once, where they are in the first.
        place = np.where(kept, box_count + np.cumsum(kept) - 1, rows)
        is_shared = lambda bodies: np.isin(bodies, scene["body"][once]) | (bodies == NO_PARENT)
        arrays = {name: scene[name][kept] for name in BY_BOX if name in scene}
        for name in ("body", "parent"):
            bodies = scene[name][kept].astype(np.int64)
            arrays[name] = np.where(is_shared(bodies), bodies, bodies + body_count)
        for name in ("exclude", "include", "half_space_box"):
            if name in scene:
                arrays[name] = place[scene[name]]
        if "half_space" in scene:
            arrays["half_space"] = scene["half_space"]
        if worlds:
            arrays["world"] = np.full(kept.sum(), number)
        for name, array in arrays.items():
            joined.setdefault(name, []).append(array if array.dtype != np.int64 else array.astype(np.uint32))
        box_count += kept.sum()
        body_count += int(scene["body"].max(initial=0)) + 1
    return {name: np.concatenate(arrays) for name, arrays in joined.items()}


def side_by_side(scene, copies):
    """Copies on a square grid in x and y."""
    boxes = scene["boxes"]
    is_finite = np.isfinite(boxes).all(1)
    is_level = np.isinf(boxes[:, [0, 1, 3, 4]]).all(1)
    if "half_space" in scene or not (is_finite | is_level).all():
        raise SystemExit("a plane of this scene stands or leans, and has no end: it needs --worlds")
    extent = boxes[is_finite, 3:5].max(0) - boxes[is_finite, :2].min(0)
    side = int(np.ceil(np.sqrt(copies)))
    for copy in range(copies):
        move = np.zeros(6, np.float32)
        move[[0, 1]] = move[[3, 4]] = extent * [copy % side, copy // side]
        moved = {"boxes": boxes + move}
        if "sphere" in scene:
            # In double precision: who reads them rounds them outward.
            moved["sphere"] = scene["sphere"] + np.append(move[:3], 0).astype(np.float64)
        yield scene | moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", type=pathlib.Path, metavar="SCENE.npz")
    parser.add_argument("copies", type=int)
    parser.add_argument("--worlds", action="store_true", help="all in one place, each in a world of its own")
    parser.add_argument("--without", nargs="+", default=[], metavar="ARRAY", help="arrays to leave out, such as sphere")
    parser.add_argument("--out", type=pathlib.Path, default="tiled.npz", help="file to write (default: tiled.npz)")
    arguments = parser.parse_args()
    if arguments.copies < 1:
        parser.error("at least one copy")
    scene = {name: array for name, array in np.load(arguments.scene).items() if name not in arguments.without}
    if arguments.worlds:
        tiled = join([scene] * arguments.copies, worlds=True)
    else:
        once = np.isinf(scene["boxes"]).any(1)
        tiled = join(side_by_side(scene, arguments.copies), once)
    np.savez(arguments.out, **tiled)
    print(f"{len(tiled['boxes'])} boxes of {len(np.unique(tiled['body']))} bodies in {arguments.out}")


if __name__ == "__main__":
    main()
