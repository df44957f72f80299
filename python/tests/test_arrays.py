"""Tests the conversion of arrays of users."""

import numpy as np
import pytest
from conftest import brute_force, scene
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import broadsweep as bs

SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e30, np.inf, -np.inf, np.nan, 3.4e38, 1e300, 0.1, 1 / 3]


def outward(boxes):
    """Return float32 boxes that hold the float64 boxes, one number at a time."""
    with np.errstate(over="ignore"):
        single = boxes.astype(np.float32)
    for i, row in enumerate(boxes):
        for k, x in enumerate(row):
            y = single[i, k]
            if k < 3 and y > x:
                single[i, k] = np.nextafter(y, np.float32(-np.inf))
            if k >= 3 and y < x:
                single[i, k] = np.nextafter(y, np.float32(np.inf))
    return single


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8", "f2", "i4", "i8", "u1", ">i2"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "read-only", "unaligned"])
def test_any_type_and_layout_gives_the_pairs_of_the_same_numbers(dtype, layout):
    numbers = np.random.default_rng(1).integers(0, 12, (200, 6))
    numbers[:, 3:] = numbers[:, :3] + numbers[:, 3:] % 3
    expected = brute_force(numbers.astype(np.float32))
    array = numbers.astype(dtype)
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "strided":
        wide = np.zeros((400, 13), dtype)
        wide[::2, 1::2] = array
        array = wide[::2, 1::2]
    elif layout == "reversed":
        array = array[::-1, ::-1].copy()[::-1, ::-1]
    elif layout == "read-only":
        array.flags.writeable = False
    elif layout == "unaligned":
        buffer = bytearray(array.nbytes + 1)
        view = np.frombuffer(buffer, dtype, array.size, 1).reshape(array.shape)
        view[...] = array
        array = view
    assert np.array_equal(bs.find_pairs(array, device="cpu"), expected)


def test_the_shapes_of_boxes_mean_the_same(boxes):
    expected = brute_force(boxes)
    lower, upper = boxes[:, :3], boxes[:, 3:]
    for given_as in (boxes, boxes.reshape(-1, 2, 3), (lower, upper), (lower.copy(), np.asfortranarray(upper)), boxes.tolist()):
        assert np.array_equal(bs.find_pairs(given_as, device="cpu"), expected)


def test_boxes_in_the_plane(boxes):
    flat = boxes.copy()
    flat[:, [2, 5]] = 0
    plane = flat[:, [0, 1, 3, 4]]
    for given_as in (plane, plane.reshape(-1, 2, 2), (plane[:, :2], plane[:, 2:])):
        assert np.array_equal(bs.find_pairs(given_as, device="cpu"), brute_force(flat))


@pytest.mark.parametrize(
    "empty", [[], np.empty((0, 6)), np.empty((0, 2, 3), "f4"), np.empty((0, 4)), (np.empty((0, 3)), np.empty((0, 3)))]
)
def test_no_boxes_have_no_pairs(empty):
    pairs = bs.find_pairs(empty, device="cpu")
    assert pairs.shape == (0, 2) and pairs.dtype == np.uint32


def test_pairs_own_their_memory_and_can_be_seen_as_signed(boxes):
    pairs = bs.find_pairs(boxes, device="cpu")
    assert pairs.flags.c_contiguous and pairs.flags.writeable
    assert np.shares_memory(pairs.view(np.int32), pairs)
    again = pairs.copy()
    bs.find_pairs(scene(400, 1), device="cpu")
    assert np.array_equal(pairs, again)


@pytest.mark.parametrize(
    "wrong, exception",
    [
        (np.zeros((3, 5)), ValueError),
        (np.zeros((3, 3, 2)), ValueError),
        (np.zeros(6), ValueError),
        (np.float32(1), ValueError),
        (5, ValueError),
        (None, TypeError),
        ("boxes", TypeError),
        (np.zeros((3, 6), complex), TypeError),
        (np.zeros((3, 6), bool), TypeError),
        (np.zeros((3, 6), object), TypeError),
        (np.zeros((3, 6), np.longdouble), TypeError),
        (np.zeros((3, 6), "datetime64[s]"), TypeError),
        (np.ma.zeros((3, 6)), TypeError),
        ([[0, 0, 0, 1, 1, 1], [0, 0]], ValueError),
        ((np.zeros((3, 3)), np.zeros((4, 3))), ValueError),
        ((np.zeros((3, 3)), np.zeros((3, 2))), ValueError),
        (np.full((1, 6), 2**53 + 1), ValueError),
    ],
)
def test_what_is_no_box_is_refused_with_a_word_on_it(wrong, exception):
    with pytest.raises(exception, match="boxes"):
        bs.find_pairs(wrong, device="cpu")


def test_tensors_come_through_dlpack(boxes):
    class Tensor:
        """A tensor of another library, which has neither a buffer nor `__array__`."""

        def __init__(self, array, device=(1, 0)):
            self.array, self.device = array, device

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.device

    assert np.array_equal(bs.find_pairs(Tensor(boxes), device="cpu"), brute_force(boxes))
    assert np.array_equal(bs.find_pairs((Tensor(boxes[:, :3]), Tensor(boxes[:, 3:])), device="cpu"), brute_force(boxes))
    with pytest.raises(ValueError, match="copy it to the CPU"):
        bs.find_pairs(Tensor(boxes, (2, 0)), device="cpu")


def test_tensors_of_jax(boxes):
    jax = pytest.importorskip("jax")
    # Where there is a GPU, it would lie there.
    with jax.default_device(jax.devices("cpu")[0]):
        array = jax.numpy.asarray(boxes)
    assert np.array_equal(bs.find_pairs(array, device="cpu"), brute_force(boxes))


def test_tensors_of_torch(boxes):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(boxes)
    assert np.array_equal(bs.find_pairs(tensor, device="cpu"), brute_force(boxes))
    with pytest.raises((BufferError, RuntimeError), match="boxes"):
        bs.find_pairs(tensor.requires_grad_(), device="cpu")


numbers = st.one_of(st.sampled_from(SPECIAL), st.floats(width=64), st.integers(-4, 4).map(float))


@st.composite
def arrays_of_boxes(draw):
    """Boxes of any numbers in any layout, half of them valid."""
    dtype = draw(st.sampled_from(["<f4", ">f4", "<f8", ">f8"]))
    n = draw(st.integers(0, 24))
    with np.errstate(over="ignore"):
        boxes = draw(hnp.arrays(np.float64, (n, 6), elements=numbers)).astype(dtype)
    if draw(st.booleans()):
        lower, upper = np.minimum(boxes[:, :3], boxes[:, 3:]), np.maximum(boxes[:, :3], boxes[:, 3:])
        boxes = np.hstack([lower, upper]).astype(dtype)
    layout = draw(st.sampled_from(["C", "F", "strided", "transposed", "read-only", "(n, 2, 3)"]))
    if layout == "F":
        boxes = np.asfortranarray(boxes)
    elif layout == "strided":
        wide = np.zeros((2 * n, 18), dtype)
        wide[::2, ::3] = boxes
        boxes = wide[::2, ::3]
    elif layout == "transposed":
        boxes = np.ascontiguousarray(boxes.T).T
    elif layout == "read-only":
        boxes.flags.writeable = False
    elif layout == "(n, 2, 3)":
        boxes = boxes.reshape(-1, 2, 3)
    return boxes


@given(arrays_of_boxes())
@example(np.zeros((0, 6), ">f8"))
@settings(deadline=None)
def test_any_numbers_in_any_layout_give_the_pairs_of_brute_force(boxes):
    native = boxes.reshape(-1, 6).astype(boxes.dtype.newbyteorder("="))
    expected = brute_force(native if native.dtype == np.float32 else outward(native))
    assert np.array_equal(bs.find_pairs(boxes, device="cpu"), expected)


shapes = st.one_of(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7))
types = st.one_of(
    hnp.floating_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.boolean_dtypes(),
    hnp.unicode_string_dtypes(max_len=3),
    hnp.datetime64_dtypes(),
)


@given(st.data())
@settings(deadline=None)
def test_any_array_is_taken_or_refused_with_an_exception_of_python(data):
    array = data.draw(hnp.arrays(data.draw(types), data.draw(shapes)))
    try:
        pairs = bs.find_pairs(array, device="cpu")
    except (TypeError, ValueError) as error:
        assert str(error)
    else:
        assert pairs.ndim == 2 and len(pairs) <= len(array) * (len(array) - 1) // 2
