"""Replace the broad phase of a Newton simulation.

Newton's `CollisionPipeline` first finds the pairs of shapes whose bounding boxes overlap, and then their contacts. This module
finds the pairs: the same set, by the same rules, ascending.

>>> import newton, broadsweep.newton                                        # doctest: +SKIP
>>> pipeline = newton.CollisionPipeline(model, broad_phase="sap")           # doctest: +SKIP
>>> broadsweep.newton.attach(pipeline)                                      # doctest: +SKIP

Models must be on Warp's CPU device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import newton
    import warp
except ImportError as error:
    raise ImportError('broadsweep.newton needs Newton: pip install "broadsweep[newton]"') from error

from ._filters import Filters
from ._pairs import BroadPhase as _Engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BroadPhase", "PairBufferError", "attach"]

_KINEMATIC = int(newton.BodyFlags.KINEMATIC)
_COLLIDES = int(newton.ShapeFlags.COLLIDE_SHAPES)
_GROUP_BITS = 32
# The padding of swept boxes, relative to their numbers: 16 times the rounding error of one operation in single
# precision. Newton's test and the sweep round each number at most four times. A smaller value misses pairs; a larger
# one costs tests.
_SLACK = np.float32(2.0**-20)


class PairBufferError(RuntimeError):
    """The pipeline's buffer of pairs is too small. Newton's own broad phases drop the rest without an error.

    Attributes
    ----------
    needed, capacity : int
        The count of pairs, and the capacity of the buffer.
    """

    def __init__(self, needed: int, capacity: int) -> None:
        super().__init__(
            f"the shapes have {needed} pairs, and the pipeline's buffer holds {capacity}; make the pipeline with "
            f"CollisionPipeline(..., shape_pairs_max={needed}) or more"
        )
        self.needed, self.capacity = needed, capacity

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        return type(self), (self.needed, self.capacity)


def attach(pipeline: newton.CollisionPipeline, device: str = "cpu", *, check: bool = False, **options: Any) -> BroadPhase:
    """Replace the broad phase of a pipeline by this one.

    Parameters
    ----------
    pipeline : newton.CollisionPipeline
        Created with ``broad_phase="sap"`` or ``"nxn"``, of a model on the CPU.
    device, check, **options
        As for `BroadPhase`.

    Returns
    -------
    BroadPhase
        The new ``pipeline.broad_phase``. Its attribute `replaced` is the previous one, which you can restore.

    Raises
    ------
    TypeError
        If the broad phase of the pipeline is neither a `BroadPhaseSAP` nor a `BroadPhaseAllPairs`.
    ValueError
        For a model on a CUDA device, or an option that has no meaning.
    """
    now = pipeline.broad_phase
    replaced: Any = now.replaced if isinstance(now, BroadPhase) else now
    if not isinstance(replaced, (newton.geometry.BroadPhaseSAP, newton.geometry.BroadPhaseAllPairs)):
        raise TypeError(
            f"the pipeline's broad phase is {type(replaced).__name__}, which tests a list of pairs and searches nothing; "
            'make the pipeline with broad_phase="sap"'
        )
    broad_phase = BroadPhase(pipeline.model, device, check=check, **options)
    # The pipeline has the shapes that may collide: by the flags of the model or, for rows with variants, of any
    # variant.
    world_index_map: Any = replaced.world_index_map
    broad_phase._colliding = np.unique(world_index_map.numpy())
    broad_phase.replaced = replaced
    pipeline.broad_phase = broad_phase
    return broad_phase


class BroadPhase(newton.geometry.BroadPhaseAllPairs):
    """Finds the pairs of a Newton model, with the rules of Newton's own broad phases.

    Call `attach` to use it. With your own narrow phase, pass it to ``CollisionPipeline(model, broad_phase=...,
    narrow_phase=...)``. It inherits from a class of Newton, since Newton accepts no other.

    Parameters
    ----------
    model : newton.Model
        On the CPU.
    device : str
        Where pairs are searched, as for `broadsweep.BroadPhase`: ``"cpu"``, ``"gpu"`` or ``"auto"``.
    check : bool
        True to compare each call with Newton's own broad phases.
    **options
        Of `broadsweep.BroadPhase`: `threads`, `candidate_limit`, `axis` and so on.

    Attributes
    ----------
    pairs : (m, 2) array of int32
        The pairs of the last call, ascending; the smaller shape first.
    replaced : BroadPhaseSAP, BroadPhaseAllPairs or None
        The broad phase of the pipeline before `attach`.

    Raises
    ------
    ValueError
        For a model on a CUDA device, whose memory wgpu cannot share.

    Notes
    -----
    A pair is reported if the boxes touch, both shapes have ``COLLIDE_SHAPES``, their worlds are one or one is global (-1),
    their groups collide (0 with nothing, a positive one with itself and with all negative ones, a negative one with all
    but itself), their bodies are two, not both are fixed (or kinematic, if the pipeline requests it), and it is not in the
    model's filter pairs. Gaps and margins are in the boxes that Newton gives. With speculative contacts, the boxes must touch
    at one time while they move: Newton's own kernel tests the pairs of the boxes around their paths.

    The data of the rules are prepared once, and again when the model's arrays have changed since. The collision flags of
    shapes are read when the pipeline is created, as Newton does.

    A box that is inside out pairs with nothing; Newton makes such boxes only for shapes that are empty. A box with NaN pairs
    with nothing either. With speculative contacts, `BroadPhaseAllPairs` pairs it with all shapes; `check` ignores those pairs.

    `BroadPhaseSAP` loses pairs by rounding: boxes that touch or overlap by the last bits are apart in its projection. So
    with `check`, where its set is another one, `BroadPhaseAllPairs` decides.

    Examples
    --------
    >>> pipeline = newton.CollisionPipeline(model, broad_phase="sap", shape_pairs_max=100_000)    # doctest: +SKIP
    >>> broad_phase = broadsweep.newton.attach(pipeline, check=True)                              # doctest: +SKIP
    >>> pipeline.collide(state, contacts)                                                         # doctest: +SKIP
    >>> broad_phase.pairs                                                                         # doctest: +SKIP
    """

    def __init__(self, model: newton.Model, device: str = "cpu", *, check: bool = False, **options: Any) -> None:
        # Do not call the constructor of the base class: it prepares a test of every shape against every other.
        _refuse_cuda(model.device)
        self._engine = _Engine(device, **options)
        self._check = check
        flags: Any = model.shape_flags
        self._colliding = np.arange(model.shape_count) if flags is None else np.flatnonzero(flags.numpy() & _COLLIDES)
        # Prepared by `_read_rules`: its input and its results.
        self._read: tuple[Any, ...] | None = None
        self._count = 0
        self._shapes: NDArray[Any] | None = None
        self._groups: NDArray[Any] | None = None
        self._boxes = np.empty((0, 6), np.float32)
        self._sap: Any = None
        self._all_pairs: Any = None
        self.replaced: Any = None
        self.pairs: NDArray[np.int32] = np.empty((0, 2), np.int32)

    def __repr__(self) -> str:
        return f"broadsweep.newton.{repr(self._engine)}"

    @property
    def report(self) -> Any:
        """Counts and choices of the last call, as of `broadsweep.BroadPhase`."""
        return self._engine.report

    def launch(
        self,
        shape_lower: Any,
        shape_upper: Any,
        shape_gap: Any,
        shape_collision_group: Any,
        shape_world: Any,
        shape_count: int,
        candidate_pair: Any,
        candidate_pair_count: Any,
        device: Any = None,
        filter_pairs: Any = None,
        num_filter_pairs: int | None = None,
        skip_count_zero: bool = False,
        *,
        shape_body: Any = None,
        body_flags: Any = None,
        include_static_kinematic_pairs: bool = True,
        shape_displacement: Any = None,
        sort_axis_displacement_limit: float | None = None,
    ) -> None:
        """Find the pairs, and write them and their count into the buffers of Newton's narrow phase.

        The parameters are those of `newton.geometry.BroadPhaseSAP.launch`. The limit of displacements on its axis has no
        meaning here: no pair is missed without it.

        Raises
        ------
        PairBufferError
            Where `candidate_pair` is too small. The number of pairs is then 0.
        AssertionError
            Where the set is not that of Newton's own, if that is checked.
        RuntimeError
            While a graph is captured, since the graph would not contain this search.
        """
        on = warp.get_device(shape_lower.device)
        _refuse_cuda(on)
        if on.is_capturing:
            raise RuntimeError("the broad phase cannot be captured into a graph: it runs outside Warp")
        lower, upper = shape_lower.numpy(), shape_upper.numpy()
        if not 0 <= shape_count <= len(lower):
            raise ValueError(f"shape_count must be from 0 to {len(lower)}, not {shape_count}")
        gap = _optional(shape_gap)
        displacement = _optional(shape_displacement)
        if displacement is not None and len(displacement) != len(lower):
            raise ValueError(f"there are {len(displacement)} displacements for {len(lower)} shapes")
        self._read_rules(
            shape_count,
            include_static_kinematic_pairs,
            shape_collision_group.numpy(),
            shape_world.numpy(),
            _optional(shape_body),
            _optional(body_flags),
            None if filter_pairs is None else filter_pairs.numpy()[:num_filter_pairs],
        )
        pairs = self._found(lower, upper, gap, displacement)
        if gap is not None or displacement is not None:
            moving = None if displacement is None else shape_displacement
            pairs = _touching(pairs, shape_lower, shape_upper, shape_gap, moving)
        capacity = candidate_pair.shape[0]
        if len(pairs) > capacity:
            candidate_pair_count.numpy()[0] = 0
            raise PairBufferError(len(pairs), capacity)
        self.pairs = pairs
        candidate_pair.numpy()[: len(pairs)] = pairs
        candidate_pair_count.numpy()[0] = len(pairs)
        if self._check:
            self._compare(
                (shape_lower, shape_upper, shape_gap, shape_collision_group, shape_world, shape_count),
                filter_pairs=filter_pairs,
                num_filter_pairs=num_filter_pairs,
                shape_body=shape_body,
                body_flags=body_flags,
                include_static_kinematic_pairs=include_static_kinematic_pairs,
                shape_displacement=shape_displacement,
            )

    def _read_rules(self, count: int, with_kinematic: bool, *arrays: NDArray[Any] | None) -> None:
        """Prepare the filters, unless their input is unchanged."""
        if (
            self._read is not None
            and self._read[:2] == (count, with_kinematic)
            and all(_same(now, then) for now, then in zip(arrays, self._read[2:]))
        ):
            return
        groups, worlds, bodies, flags, excluded = arrays
        assert groups is not None and worlds is not None
        shapes = self._colliding[self._colliding < count]
        lists: dict[str, Any] = {}
        lists.update(_of_groups(groups[shapes]))
        # If there are more groups than bits, test each found pair again by its groups.
        self._groups = groups.copy() if len(_distinct(groups[shapes])) > _GROUP_BITS else None
        if (worlds[shapes] < -1).any():
            raise ValueError(f"shape_world has {worlds[shapes].min()}; worlds are -1, which is global, or from 0")
        if (worlds[shapes] != -1).any():
            lists["world"] = worlds[shapes]
        if bodies is not None:
            # All shapes without a body belong to one body, the world, which does not collide with itself.
            body = np.maximum(bodies[shapes], -1)
            lists["body"] = body + 1
            if not with_kinematic and flags is not None:
                kinematic = np.append((flags & _KINEMATIC) != 0, True)
                lists["fixed"] = kinematic[body]
        if excluded is not None and len(excluded):
            place = np.full(len(groups), -1, np.int64)
            place[shapes] = np.arange(len(shapes))
            known = ((excluded >= 0) & (excluded < len(groups))).all(1) & (excluded[:, 0] != excluded[:, 1])
            among = place[excluded[known]]
            lists["exclude"] = among[(among >= 0).all(1)]
        self._engine.set_filters(Filters(**lists) if lists else None)
        self._shapes = None if len(shapes) == count else shapes
        self._boxes = np.empty((len(shapes), 6), np.float32)
        self._count = count
        self._read = (count, with_kinematic, *(None if array is None else array.copy() for array in arrays))
        if self._check:
            collides = np.zeros(len(worlds), np.int32)
            collides[shapes] = _COLLIDES
            self._sap = newton.geometry.BroadPhaseSAP(worlds, collides, sort_type="auto", device="cpu")
            self._all_pairs = newton.geometry.BroadPhaseAllPairs(worlds, collides, device="cpu")

    def _found(self, lower: Any, upper: Any, gap: Any, displacement: Any) -> NDArray[np.int32]:
        """Return the pairs of shapes that the filters keep and whose swept boxes overlap."""
        shapes = slice(self._count) if self._shapes is None else self._shapes
        if gap is None and displacement is None:
            self._boxes[:, :3], self._boxes[:, 3:] = lower[shapes], upper[shapes]
            boxes: NDArray[Any] = self._boxes
        else:
            boxes = _swept(lower[shapes], upper[shapes], *(x if x is None else x[shapes] for x in (gap, displacement)))
        pairs = self._engine.find_pairs(boxes).view(np.int32)
        if self._shapes is not None:
            pairs = self._shapes.astype(np.int32)[pairs]
        if self._groups is not None:
            pairs = pairs[_groups_collide(self._groups[pairs[:, 0]], self._groups[pairs[:, 1]])]
        return pairs

    def _compare(self, inputs: tuple[Any, ...], **named: Any) -> None:
        """Raise if Newton's own broad phases have another set."""
        if np.array_equal(self.pairs, self._newtons(self._sap, inputs, named)):
            return
        expected = self._newtons(self._all_pairs, inputs, named)
        # No comparison with NaN is true. So Newton's test of moving boxes keeps all pairs of boxes with NaN; remove
        # these.
        given = [_optional(array) for array in (*inputs[:2], named["shape_displacement"])]
        known = ~np.isnan(np.hstack([array for array in given if array is not None])).any(1)
        expected = expected[known[expected].all(1)]
        if np.array_equal(self.pairs, expected):
            return
        ours, theirs = set(map(tuple, self.pairs.tolist())), set(map(tuple, expected.tolist()))
        raise AssertionError(
            f"Newton has {len(theirs)} pairs and broadsweep {len(ours)}: "
            f"missing {sorted(theirs - ours)[:4]}, too many {sorted(ours - theirs)[:4]}"
        )

    def _newtons(self, broad_phase: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> NDArray[np.int32]:
        """Return the pairs that one of Newton's own broad phases finds, ascending."""
        capacity = len(self.pairs) + 1024
        while True:
            found: Any = warp.empty(capacity, dtype=warp.vec2i, device="cpu")
            count: Any = warp.zeros(1, dtype=warp.int32, device="cpu")
            broad_phase.launch(*inputs, found, count, device="cpu", **named)
            needed = int(count.numpy()[0])
            if needed <= capacity:
                pairs: NDArray[np.int32] = found.numpy()[:needed].copy()
                return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
            capacity = needed


def _refuse_cuda(device: Any) -> None:
    device = warp.get_device(device)
    if device.is_cuda:
        raise ValueError(
            f"the model is on {device}, and this broad phase takes models on the CPU alone: GPUs are used through wgpu "
            "(Vulkan, Metal, DirectX), which cannot share memory with CUDA. Finalize the model with device='cpu', or keep "
            "Newton's own broad phase"
        )


def _optional(array: Any) -> NDArray[Any] | None:
    """Return an array of Warp as an array of NumPy; None for an empty array, as Newton does."""
    return None if array is None or array.shape[0] == 0 else array.numpy()


def _same(now: NDArray[Any] | None, then: NDArray[Any] | None) -> bool:
    return now is then if now is None or then is None else np.array_equal(now, then)


def _distinct(groups: NDArray[Any]) -> NDArray[Any]:
    """Return the groups that collide with anything."""
    return np.unique(groups[groups != 0])


def _of_groups(groups: NDArray[Any]) -> dict[str, NDArray[np.uint32]]:
    """Return Newton's groups as bits.

    Each group has a bit. A positive group meets its own bit and the bits of all negative groups. A negative group meets all
    bits except its own. If there are more groups than bits, all negative groups share one bit, and positive groups share
    the others. Then no pair is lost, but some pairs are extra.
    """
    distinct = _distinct(groups)
    if len(distinct) == 1 and distinct[0] > 0 and (groups != 0).all():
        return {}
    if len(distinct) <= _GROUP_BITS:
        bits = np.uint32(1) << np.arange(len(distinct), dtype=np.uint32)
        negative = np.bitwise_or.reduce(bits[distinct < 0], initial=np.uint32(0))
        meets = np.where(distinct > 0, bits | negative, ~bits)
    else:
        places = np.arange(len(distinct), dtype=np.uint32) % np.uint32(_GROUP_BITS - 1) + np.uint32(1)
        bits = np.where(distinct > 0, np.uint32(1) << places, np.uint32(1))
        meets = np.where(distinct > 0, bits | np.uint32(1), np.uint32(0xFFFFFFFF))
    at = np.searchsorted(distinct, groups).clip(max=max(len(distinct) - 1, 0))
    some = groups != 0
    if not some.any():
        return {"group": np.zeros(len(groups), np.uint32), "mask": np.zeros(len(groups), np.uint32)}
    zero = np.uint32(0)
    return {"group": np.where(some, bits[at], zero), "mask": np.where(some, meets[at], zero)}


def _groups_collide(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether pairs of groups collide: Newton's `test_group_pair`."""
    collide: NDArray[np.bool_] = (a != 0) & (b != 0) & np.where(a > 0, (a == b) | (b < 0), a != b)
    return collide


def _touching(pairs: NDArray[np.int32], lower: Any, upper: Any, gap: Any, displacement: Any) -> NDArray[np.int32]:
    """Return the pairs that pass Newton's own test of moving boxes with gaps, in their order.

    This test rounds, so its result is not exact. Newton's kernel tests the pairs, to get the same result. On the CPU, Warp
    runs the threads of a kernel one after another, so the order stays.
    """
    kept, count = np.empty_like(pairs), np.zeros(1, np.int32)
    tested, written = (warp.array(array, dtype=warp.vec2i, device="cpu", copy=False) for array in (pairs, kept))
    counted: Any = warp.array(count, dtype=warp.int32, device="cpu", copy=False)
    newton.geometry.BroadPhaseExplicit().launch(
        lower, upper, gap, tested, len(pairs), written, counted, device="cpu", shape_displacement=displacement
    )
    return kept[: count[0]]


@np.errstate(over="ignore")
def _swept(lower: Any, upper: Any, gap: Any, displacement: Any) -> NDArray[np.float32]:
    """Return boxes of whole paths, with gaps, such that the boxes of each pair that Newton keeps overlap."""
    boxes = np.hstack([lower, upper])
    boxes[~(lower <= upper).all(1)] = np.nan
    slack = np.abs(boxes)
    if displacement is not None:
        slack += np.abs(np.tile(displacement, 2))
        boxes[:, :3] += np.minimum(displacement, 0)
        boxes[:, 3:] += np.maximum(displacement, 0)
    if gap is not None:
        # Newton adds the gaps of both shapes. A gap that is not finite pads only its own shape.
        slack += np.abs(gap).max(initial=0, where=np.isfinite(gap))
        # Do not shrink a box by a negative gap, since the gap of the other shape may be larger.
        gap = np.maximum(gap, 0)
        boxes[:, :3] -= gap[:, None]
        boxes[:, 3:] += gap[:, None]
    slack *= _SLACK
    boxes[:, :3] -= slack[:, :3]
    boxes[:, 3:] += slack[:, 3:]
    return boxes
