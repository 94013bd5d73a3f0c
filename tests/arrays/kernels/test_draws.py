"""Small draws of random numbers give the numbers of NumPy's functions."""

import numpy as np
import pytest

from adjoint.arrays.kernels import draws

compiled_only = pytest.mark.skipif(
    draws.uniform(np.random.PCG64(1), (1,), np.dtype("float64")) is None,
    reason="only the compiled form has these loops",
)
BOUNDS = [(0, 1), (0, 2), (-7, 12), (5, 2**31 + 9), (-(2**63), 3 - 2**63), (2**62, 2**62 + 2**32 - 1)]


@compiled_only
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_numpys(seed):
    """NumPy keeps half a word after an odd number of 32-bit draws. The numbers after that are equal, too."""
    ours = np.random.PCG64(seed)
    numpys = np.random.Generator(np.random.PCG64(seed))
    for shape in [(), (3,), (4, 5), (0,), (1000,)]:
        for kind in (np.float32, np.float64):
            result = draws.uniform(ours, shape, np.dtype(kind))
            expected = numpys.random(shape, dtype=kind)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(result, expected)
        for low, high in BOUNDS:
            result, expected = (
                draws.integers(ours, shape, np.dtype(np.int64), low, high),
                numpys.integers(low, high, shape),
            )
            assert (result.dtype, result.shape) == (np.int64, np.shape(expected))
            np.testing.assert_array_equal(result, expected)
    assert ours.state == numpys.bit_generator.state


def test_other_numbers_are_left_to_numpy():
    bits, whole = np.random.PCG64(1), np.dtype(np.int64)
    assert draws.uniform(bits, (5000,), np.dtype("float64")) is None
    assert draws.integers(bits, (5000,), whole, 0, 3) is None
    assert draws.integers(bits, (2,), whole, 0, 2**32) is None and draws.integers(bits, (2,), whole, 3, 3) is None
    assert draws.integers(bits, (2,), np.dtype(np.int32), 0, 3) is None
