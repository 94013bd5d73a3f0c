"""Loops compare arrays as NumPy does."""

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import comparisons

pytestmark = pytest.mark.skipif(not comparisons.compiled, reason="only the compiled form has these loops")
TYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200, 5000])
def test_same_elements(dtype: Any, n: int) -> None:
    array = np.random.default_rng(0).integers(0, 100, n).astype(dtype)
    assert comparisons.are_same(array, array.copy()) is True
    for position in {0, n // 2, n - 1} if n else ():
        other = array.copy()
        other[position] += 1
        assert comparisons.are_same(array, other) is False


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_differs_from_itself_and_zeros_are_equal(dtype: Any) -> None:
    values = np.array([np.nan, 0.0, np.inf], dtype)
    assert comparisons.are_same(values, values) is False
    assert comparisons.are_same(values[1:].copy(), np.array([-0.0, np.inf], dtype)) is True
    assert comparisons.are_among(values, np.array([np.nan, -0.0], dtype), False).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("inverted", [False, True])
def test_members(dtype: Any, inverted: bool) -> None:
    rng = np.random.default_rng(0)
    elements, tests = rng.integers(0, 50, (5, 7)).astype(dtype), rng.integers(0, 50, 9).astype(dtype)
    for some in (tests, tests[:0]):
        expected = np.isin(elements, some, invert=inverted)
        np.testing.assert_array_equal(comparisons.are_among(elements, some, inverted), expected)


@pytest.mark.parametrize(
    ("array", "other"),
    [
        (np.zeros((2, 3)).T, np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros(2, bool), np.zeros(2, bool)),
        (np.zeros(2, complex), np.zeros(2, complex)),
        (np.zeros(2, ">f8"), np.zeros(2, ">f8")),
        (np.zeros(2), [0.0, 0.0]),
    ],
)
def test_other_arrays_have_no_loop(array: Any, other: Any) -> None:
    assert comparisons.are_same(array, other) is comparisons.are_among(array, other, False) is None


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("shape", [(40,), (1, 1), (3, 7), (2, 5, 17), (4, 100)], ids=str)
def test_places_of_first(shape: tuple[int, ...], dtype: str, largest: bool) -> None:
    rng = np.random.default_rng(0)
    for x in (rng.integers(-4, 5, shape), np.sort(rng.integers(-50, 50, shape)), np.zeros(shape)):
        array = x.astype(dtype)
        if array.dtype.kind == "f":
            array[rng.random(shape) < 0.1] = np.nan
            array[rng.random(shape) < 0.1] = -np.inf
        # The sort is stable, and NaN is its largest value. In descending order the last of equal values would come
        # first, so the array is reversed.
        order = np.argsort(array[..., ::-1] if largest else array, axis=-1, kind="stable")
        expected = shape[-1] - 1 - order[..., ::-1] if largest else order
        for k in {1, min(3, shape[-1]), min(16, shape[-1])}:
            result = comparisons.places_of_first(array, k, largest)
            np.testing.assert_array_equal(result, expected[..., :k])


def test_places_that_are_left_to_whole_arrays() -> None:
    x = np.ones((3, 40))
    for array, k in [
        (x, 0),
        (x, 17),
        (x[:, :4], 2),
        (x[:2, :2].copy(), 3),
        (x.astype("uint8"), 2),
        (np.float64(1.0), 1),
    ]:
        assert comparisons.places_of_first(array, k, True) is None
