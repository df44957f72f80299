"""Writes the Python reference into a folder: reference.py FOLDER. Needs pdoc, and broadsweep on PYTHONPATH."""

import pathlib
import re
import sys
import types

import numpy.typing
import pdoc


class Base:
    """Stands for a class of Newton."""


def stand_in_for_newton():
    """Lets broadsweep.newton be imported without Newton and Warp, which take gigabytes."""
    names = ["CollisionPipeline", "Model"]
    newton = types.SimpleNamespace(
        BodyFlags=types.SimpleNamespace(KINEMATIC=1),
        ShapeFlags=types.SimpleNamespace(COLLIDE_SHAPES=1),
        geometry=types.SimpleNamespace(BroadPhaseAllPairs=Base),
        **{name: type(name, (), {"__module__": "newton"}) for name in names},
    )
    sys.modules.update(newton=newton, warp=types.SimpleNamespace())


def name_arrays():
    """Lets signatures name the types of arrays, which NumPy defines as unions of many lines."""
    of = classmethod(types.GenericAlias)
    for name in ["ArrayLike", "NDArray"]:
        setattr(numpy.typing, name, type(name, (), {"__module__": "numpy.typing", "__class_getitem__": of}))


def add_headings(page):
    """Gives each item a heading that screen readers and the search see, so that a result leads to the item."""
    style = "position: absolute; width: 1px; overflow: hidden; clip-path: inset(100%)"
    heading = rf'\g<0><h2 id="item.\1" style="{style}">\1</h2>'
    text = re.sub(r'<(?:section|div) id="([^"]+)"(?: class="classattr")?>', heading, page.read_text(encoding="utf-8"))
    # Without their addresses, "Parameters" and the like are no results of their own.
    page.write_text(re.sub(r'<h6 id="[^"]*"', "<h6", text), encoding="utf-8")


stand_in_for_newton()
name_arrays()
pdoc.render.configure(docformat="numpy", show_source=False, search=True, footer_text="broadsweep")
folder = pathlib.Path(sys.argv[1])
pdoc.pdoc("broadsweep", "broadsweep.newton", "broadsweep.dask", output_directory=folder)
for page in folder.glob("**/*.html"):
    add_headings(page)
