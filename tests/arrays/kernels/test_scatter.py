"""Elements and rows are added where they belong; places outside are refused."""

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import scatter

pytestmark = pytest.mark.skipif(not scatter.compiled, reason="these loops are compiled")


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
    for place in (-1, 6):
        with pytest.raises(IndexError, match="a place lies outside of an image of 6 elements"):
            scatter.add_elements(np.ones((1, 1)), np.array([[place]]), 1, 6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_added(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    values, rows = rng.standard_normal((500, 7)).astype(dtype), rng.integers(40, size=500)
    expected = np.zeros((40, 7), dtype)
    np.add.at(expected, rows, values)
    np.testing.assert_array_equal(scatter.add_rows(values, rows, 40), expected)
    np.testing.assert_array_equal(scatter.add_rows(values[::2, ::3], rows[::2], 40).shape, (40, 3))
    assert not scatter.add_rows(values[:0], rows[:0], 40).any()
    for row in (-1, 40):
        with pytest.raises(IndexError, match="a row lies outside of an array of 40 rows"):
            scatter.add_rows(values[:1], np.array([row]), 40)
