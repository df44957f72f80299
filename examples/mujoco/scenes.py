"""The models that `export.py` knows by name, as MuJoCo's MjModel.

Those of dm_control are read from the installed package; the others are made here, each for rules that those do not
exercise.
"""

import importlib.util
import pathlib
import random

import mujoco

# Of dm_control's suite. Each is a file of that name; its tasks are not needed.
SUITE = (
    "dog humanoid humanoid_CMU quadruped walker cheetah hopper finger fish stacker manipulator swimmer"
).split()


def load(name):
    """`NAME`, `NAME:N` or a path of a model in XML."""
    if pathlib.Path(name).suffix in (".xml", ".mjb"):
        read = mujoco.MjModel.from_xml_path if name.endswith(".xml") else mujoco.MjModel.from_binary_path
        return read(name)
    kind, _, count = name.partition(":")
    if kind in SUITE and not count:
        return mujoco.MjModel.from_xml_path(str(suite_file(kind)))
    if kind in MADE and (not count or count.isdecimal() and int(count) > 0):
        make, usual = MADE[kind]
        return make(int(count or usual))
    raise SystemExit(
        f"{name}: no such model. There are: {', '.join(SUITE)}; {', '.join(f'{kind}[:N]' for kind in MADE)}; "
        "or the path of an .xml file"
    )


def suite_file(name):
    # Found, not imported: the package's own bindings want OpenGL, and version 1.0.50 of them fails with MuJoCo 4.0.
    package = importlib.util.find_spec("dm_control")
    if package is None:
        raise SystemExit("dm_control is missing: pip install dm_control")
    return pathlib.Path(package.submodule_search_locations[0]) / "suite" / f"{name}.xml"


def pile(count):
    """Bodies falling into a box of five planes."""
    half = 0.12 * count ** (1 / 3) + 0.2
    walls = (
        f'<geom type="plane" size="1 1 1" pos="{-half} 0 0" zaxis="1 0 0"/>'
        f'<geom type="plane" size="1 1 1" pos="{half} 0 0" zaxis="-1 0 0"/>'
        f'<geom type="plane" size="1 1 1" pos="0 {-half} 0" zaxis="0 1 0"/>'
        f'<geom type="plane" size="1 1 1" pos="0 {half} 0" zaxis="0 -1 0"/>'
        '<geom type="plane" size="1 1 1"/>'
    )
    return compiled(f"<worldbody>{walls}{bodies(count, half)}</worldbody>")


def heap(count):
    """Bodies falling onto a floor: what `tile.py` can lay side by side."""
    half = 0.12 * count ** (1 / 3) + 0.2
    return compiled(f'<worldbody><geom type="plane" size="1 1 1"/>{bodies(count, half)}</worldbody>')


def sleepers(count):
    """Bodies that fall asleep where they come to rest on a floor."""
    half = 0.12 * count ** (1 / 3) + 0.7
    sleep = '<option><flag sleep="enable"/></option>'
    return compiled(f'{sleep}<worldbody><geom type="plane" size="1 1 1"/>{bodies(count, half)}</worldbody>')


def tilted(count):
    """A tilted floor, two tilted walls and a field of hills; bodies of every shape, with margins and gaps, and some
    of several parts welded together."""
    hills = " ".join(f"{value:.3f}" for value in numbers(7, 81))
    assets = (
        '<asset><mesh name="wedge" vertex="-.08 -.05 -.05  .08 -.05 -.05  0 .09 -.05  0 0 .09"/>'
        f'<hfield name="hills" nrow="9" ncol="9" size=".9 .9 .25 .1" elevation="{hills}"/></asset>'
    )
    ground = (
        '<geom type="plane" size="1 1 1" zaxis=".2 .1 1" margin=".004" gap=".01"/>'
        '<geom type="plane" size="1 1 1" pos="2 0 0" zaxis="-1 .3 .2"/>'
        '<geom type="plane" size="1 1 1" pos="0 2 0" zaxis=".1 -1 0"/>'
        '<geom type="hfield" hfield="hills" pos=".6 .6 -.1" euler="10 -10 20"/>'
    )
    return compiled(f"{assets}<worldbody>{ground}{bodies(count, 1.0, rich=True)}</worldbody>")


def pairs(count):
    """Chains whose links meet their parents by explicit pairs alone, with exclusions, groups that do not meet, and a
    pusher that is moved by hand (mocap)."""
    chains, contacts = [], []
    for chain in range(count):
        links = ""
        for link in reversed(range(4)):
            joint = "<freejoint/>" if link == 0 else '<joint type="ball" pos="0 0 .12"/>'
            links = (
                f'<body name="b{chain}.{link}" pos="0 0 {0 if link == 0 else -0.2}">{joint}'
                f'<geom name="g{chain}.{link}" type="capsule" size=".05" fromto="0 0 -.08 0 0 .08" '
                f'contype="{1 << link % 2}" conaffinity="{1 if chain % 3 else 3}"/>{links}</body>'
            )
        x, y = 0.13 * (chain % 5), 0.13 * (chain // 5)
        chains.append(f'<frame pos="{x} {y} 1" euler="{25 * chain} {40 * chain} 0">{links}</frame>')
        # A parent and its child, which no rule but an explicit pair lets through.
        contacts.append(f'<pair geom1="g{chain}.0" geom2="g{chain}.1" margin=".01"/>')
        # Both lists: MuJoCo keeps such a pair.
        contacts.append(f'<exclude body1="b{chain}.1" body2="b{chain}.3"/>')
        contacts.append(f'<pair geom1="g{chain}.1" geom2="g{chain}.3" margin=".02"/>')
        if chain:
            contacts.append(f'<exclude body1="b{chain - 1}.0" body2="b{chain}.0"/>')
            contacts.append(f'<pair geom1="g{chain - 1}.3" geom2="g{chain}.3" margin=".05" gap=".02"/>')
    return compiled(
        '<worldbody><geom type="plane" size="1 1 1" contype="3" conaffinity="3"/>'
        '<body name="pusher" mocap="true" pos=".3 .1 .1"><geom type="box" size=".2 .05 .1" contype="3"/>'
        '<body pos="0 0 .15"><geom type="sphere" size=".08" conaffinity="3"/></body></body>'
        f"{''.join(chains)}</worldbody><contact>{''.join(contacts)}</contact>"
    )


def humanoids(count):
    """dm_control's humanoid many times, falling onto one floor in each other's way."""
    spec = mujoco.MjSpec.from_file(str(suite_file("humanoid")))
    side = max(1, round(count**0.5))
    for copy in range(1, count):
        other = mujoco.MjSpec.from_file(str(suite_file("humanoid")))
        place = [0.6 * (copy % side), 0.6 * (copy // side), 0.1 * (copy % 3)]
        spec.worldbody.add_frame(pos=place).attach_body(other.body("torso"), f"{copy}/", "")
    return spec.compile()


MADE = {
    "pile": (pile, 1000),
    "heap": (heap, 1000),
    "sleepers": (sleepers, 60),
    "tilted": (tilted, 60),
    "pairs": (pairs, 15),
    "humanoids": (humanoids, 20),
}


def bodies(count, half, rich=False):
    """Bodies in the air above a square, of random shapes, sizes and turns, clear of each other. A `rich` one may be a
    mesh, have a margin and a gap, or be of several parts."""
    rng = random.Random(count)
    side = max(1, int(half / 0.15))
    made = []
    for i in range(count):
        layer, cell = divmod(i, side * side)
        x, y = (0.3 * (cell % side) - half + 0.15, 0.3 * (cell // side) - half + 0.15)
        turn = " ".join(f"{rng.uniform(-180, 180):.1f}" for _ in range(3))
        geoms = geom(rng, rich)
        if rich and i % 4 == 0:
            # No joint: welded to the body that it is in.
            geoms += f'<body pos=".1 0 0">{geom(rng, rich)}<body pos="0 .1 0">{geom(rng, rich)}</body></body>'
        made.append(f'<body pos="{x:.3f} {y:.3f} {0.3 * layer + 0.6:.3f}" euler="{turn}"><freejoint/>{geoms}</body>')
    return "".join(made)


def geom(rng, rich):
    a, b, c = (rng.uniform(0.03, 0.08) for _ in range(3))
    extra = ""
    if rich:
        # Negative ones too: what counts in MuJoCo is that margin and gap are not negative together.
        gap = rng.choice([0, 0, 0.01, 0.03])
        extra = f' margin="{rng.choice([0, 0.002, 0.02, -0.5 * gap]):.3f}" gap="{gap}"'
    shape = rng.choice(["sphere", "capsule", "ellipsoid", "cylinder", "box"] + ["mesh"] * rich)
    size = 'mesh="wedge"' if shape == "mesh" else f'size="{a:.3f} {b:.3f} {c:.3f}"'
    return f'<geom type="{shape}" {size}{extra}/>'


def numbers(seed, count):
    rng = random.Random(seed)
    return [rng.random() for _ in range(count)]


def compiled(content):
    return mujoco.MjModel.from_xml_string(f"<mujoco>{content}</mujoco>")
