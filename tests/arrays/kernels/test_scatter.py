"""Elements and rows are added at the right positions. Positions outside of the array are refused."""

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import scatter

pytestmark = pytest.mark.skipif(not scatter.compiled, reason="only the compiled form has these loops")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_are_added(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    values, places = rng.standard_normal((4, 50)).astype(dtype), rng.integers(12, size=(4, 50))
    expected = np.zeros((4, 12), dtype)
    np.add.at(expected, (np.arange(4)[:, None], places), values)
    np.testing.assert_array_equal(scatter.add_elements(values, places, 4, 12), expected)
    for n_images in (0, 3):
        none = np.zeros((n_images, 0), dtype)
        assert scatter.add_elements(none, none.astype(int), n_images, 5).tolist() == [[0.0] * 5] * n_images


def test_places_outside_of_an_image() -> None:
    for position in (-1, 6):
        with pytest.raises(IndexError, match="a place lies outside of an image of 6 elements"):
            scatter.add_elements(np.ones((1, 1)), np.array([[position]]), 1, 6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_added(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    values, rows = rng.standard_normal((500, 7)).astype(dtype), rng.integers(40, size=500)
    expected = np.zeros((40, 7), dtype)
    np.add.at(expected, rows, values)
    np.testing.assert_array_equal(scatter.add_rows(values, rows, (40, 7), 40), expected)
    np.testing.assert_array_equal(scatter.add_rows(values[::2, ::3], rows[::2], (40, 3), 40).shape, (40, 3))
    assert not scatter.add_rows(values[:0], rows[:0], (40, 7), 40).any()
    for row in (-1, 40):
        assert scatter.add_rows(values[:1], np.array([row]), (40, 7), 40) is None


class Other:
    """An array that is not a NumPy array."""

    dtype, shape, size, itemsize = np.dtype(float), (2,), 2, 8


def test_only_arrays_of_numpy_are_read() -> None:
    rows = np.array([0, 1])
    for values in (Other(), np.ones(2, int)):
        with pytest.raises(TypeError, match="expected an array of float32 or float64"):
            scatter.add_rows(values, rows, (3,), 3)
        with pytest.raises(TypeError, match="expected an array of float32 or float64"):
            scatter.add_elements(values, rows, 1, 3)
    with pytest.raises(TypeError, match="one of ints, got ndarray and Other"):
        scatter.add_rows(np.ones(2), Other(), (3,), 3)


def test_only_arrays_of_one_type_are_sampled() -> None:
    places = np.zeros((2, 1), int)
    for image in (Other(), np.ones((1, 3), np.float32)):
        with pytest.raises(TypeError, match="expected arrays of float32 or of float64"):
            scatter.sampled_weights(np.ones((1, 3)), places, image)


def test_sizes_are_those_of_the_arrays() -> None:
    with pytest.raises(ValueError, match="2 elements need as many places, got 1"):
        scatter.add_elements(np.ones(2), np.array([0]), 1, 3)
    with pytest.raises(ValueError, match=r"3 rows of 2 elements do not fit in an array of shape \(3, 1\)"):
        scatter.add_rows(np.ones((2, 2)), np.array([0, 1]), (3, 1), 3)
    for out in (np.zeros((3, 2), np.float32), np.zeros((2, 3)).T, np.zeros((2, 2))):
        with pytest.raises(ValueError, match="do not fit"):
            scatter.add_rows_to(out, np.ones((2, 2)), np.array([0, 1]), 3)


def test_integers_are_within_bounds() -> None:
    numbers = np.array([[0, 3], [2, -1]])
    assert scatter.are_within(numbers, -1, 4) is True
    assert scatter.are_within(numbers, 0, 4) is scatter.are_within(numbers, -1, 3) is False
    assert scatter.are_within(numbers.T, -1, 4) is scatter.are_within(numbers.astype(np.int32), -1, 4) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_along_an_axis(dtype: Any, axis: int) -> None:
    rng = np.random.default_rng(0)
    shape = [3, 4, 5]
    array = rng.standard_normal(shape).astype(dtype)
    shape[axis] = 7
    index, values = rng.integers(array.shape[axis], size=shape), rng.standard_normal(shape).astype(dtype)
    np.testing.assert_array_equal(scatter.take_along(array, index, axis), np.take_along_axis(array, index, axis))
    target, expected = array.copy(), array.copy()
    assert scatter.put_along(target, index, axis, values)
    np.put_along_axis(expected, index, values, axis)
    np.testing.assert_array_equal(target, expected)
    added, expected = array.copy(), array.copy()
    assert scatter.add_along(added, index, axis, values) == (dtype != "int64")
    grid = [np.arange(n).reshape([-1 if i == k else 1 for i in range(3)]) for k, n in enumerate(shape)]
    if dtype != "int64":
        np.add.at(expected, (*grid[:axis], index, *grid[axis + 1 :]), values)
    np.testing.assert_array_equal(added, expected)


def test_places_that_have_no_loop() -> None:
    array, index = np.zeros((3, 4)), np.array([[0, 1, 2, 3]])
    assert scatter.take_along(array, index, 0) is None  # 3 is outside
    assert scatter.take_along(array, index[:, :2], 0) is None  # another axis is shorter
    assert scatter.take_along(array, -index, 1) is None
    assert scatter.take_along(array.T, index, 1) is None
    assert not scatter.put_along(array, index[:, :3], 1, np.ones((1, 3), np.float32))
