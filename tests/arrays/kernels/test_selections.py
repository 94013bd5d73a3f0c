"""The choice between two values for each element, by the C loops and by NumPy."""

import itertools

import numpy as np
import pytest

from adjoint.arrays.kernels.products_and_sums import select
from adjoint.arrays.libraries.numpy_namespace import xp

RNG = np.random.default_rng(3)
KINDS = [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_, np.complex128, np.complex64]
NUMBERS = [0, 1, -1, 0.5, float("nan"), float("inf"), 1e300, 2**24 + 1, 2**70, True, 1j]
compiled_only = pytest.mark.skipif(
    select(np.ones(1, bool), np.ones(1), 0) is None, reason="only the compiled form has this loop"
)


def operands(shape, kind):
    """Operands of a type that broadcast to a shape, in several layouts, and operands without axes."""
    a = (RNG.standard_normal(shape) * 5).astype(kind)
    return [a, np.asfortranarray(a), a[..., ::-1], np.array(3).astype(kind), a[:1]]


@pytest.mark.parametrize("shape", [(1,), (8,), (3, 4), (2, 0), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_types_are_numpys(kind, shape):
    condition = RNG.random(shape) > 0.5
    arrays = operands(shape, kind)
    pairs = [
        *itertools.product(arrays, repeat=2),
        *itertools.product(arrays[:4], NUMBERS),
        *itertools.product(NUMBERS, arrays),
    ]
    with np.errstate(all="ignore"):
        for first, second in pairs:
            try:
                expected = np.where(condition, first, second)
            except OverflowError:
                assert select(condition, first, second) is None
                continue
            result = xp.where(condition, first, second)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(result, expected)


@compiled_only
def test_plain_operands_have_a_loop():
    x, condition = np.ones(3), np.ones(3, bool)
    assert all(select(condition, *pair) is not None for pair in ((x, x), (x, 0), (0.5, x), (np.ones(()), x)))


def test_other_operands_are_left_to_numpy():
    x, condition = np.ones(3), np.ones(3, bool)
    others = [
        (x, np.ones(3, np.float32)),
        (x, x[:1]),
        (1, 2),
        (x.astype(">f8"), x),
        (x, 1j),
        (x.astype(np.float32), 1e300),
    ]
    assert all(select(condition, *pair) is None for pair in others)
    assert select(x, x, x) is None and select(condition[::-1], x, x) is None and select([True], x, x) is None
    assert select(np.ones(5000, bool), np.ones(5000), 0) is None
