"""Max pooling by the compiled loops and by whole arrays."""

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import axis_maps, max_pooling, scatter
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.rules import TABLE

pytestmark = pytest.mark.skipif(not max_pooling.compiled, reason="only the compiled form has these loops")


def both(monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> tuple[Any, Any]:
    result = function(xp, *arguments)
    with monkeypatch.context() as patch:
        patch.setattr(max_pooling, "can_do", lambda *_: False)
        patch.setattr(scatter, "can_do", lambda *_: False)
        return result, function(xp, *arguments)


def spread_back(xp: Any, *arguments: Any) -> Any:
    return TABLE["on_places"].kernel(xp)(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "maps",
    [
        (axis_maps.windows(12, 2, 2, 0, 1, 6), axis_maps.windows(10, 2, 2, 0, 1, 5)),
        (axis_maps.windows(12, 3, 1, 1, 1, 12), axis_maps.windows(10, 3, 2, 1, 1, 5)),
        (axis_maps.windows(12, 3, 3, 1, 2, 3), axis_maps.windows(10, 2, 1, 0, 3, 7)),
        (axis_maps.adaptive(12, 5), axis_maps.windows(10, 3, 2, 1, 1, 5)),
        (axis_maps.windows(10, 4, 3, 2, 1, 4),),
        (axis_maps.windows(7, 3, 2, 1, 1, 4), axis_maps.windows(6, 2, 2, 0, 1, 3), axis_maps.windows(5, 2, 1, 0, 1, 4)),
        (axis_maps.adaptive(7, 3), axis_maps.adaptive(6, 4), axis_maps.adaptive(5, 2)),
    ],
)
def test_loops_do_what_whole_arrays_do(monkeypatch: pytest.MonkeyPatch, maps: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    # few different values, so that several are equal; some are NaN
    x = rng.integers(-3, 3, (2, 3, *[actual.n for actual in maps])).astype(dtype)
    x[0, 0] = -np.inf
    x[0, 1].flat[3::7] = np.nan
    x[1, 2].flat[::5] = np.inf
    for array in (x, x[:, ::2], x[..., ::-1]):
        tops = both(monkeypatch, axis_maps.maxima, array, maps)
        np.testing.assert_array_equal(*tops)
        places = both(monkeypatch, axis_maps.places_of_maxima, array, maps)
        np.testing.assert_array_equal(*places)
        assert places[0].dtype == places[1].dtype
        image = array.shape[2:]
        once = bool(all(actual.transpose.passes == 1 for actual in maps))
        spread = both(monkeypatch, spread_back, tops[1], places[1], image, len(image), once)
        np.testing.assert_array_equal(*spread)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("axes", [((150, 1),), ((25, 2), (19, 2)), ((9, 2), (10, 2), (11, 3))])
def test_a_few_large_windows(monkeypatch: pytest.MonkeyPatch, axes: Any, missing: bool) -> None:
    maps = tuple([axis_maps.adaptive(*axis) for axis in axes])
    x = np.random.default_rng(0).integers(-20, 3, (2, 3, *[actual.n for actual in maps])).astype(float)
    if missing:
        x[0, 0].flat[::7] = np.nan
    assert axis_maps._are_few_and_large(x, maps)
    top = axis_maps.maxima(xp, x, maps)
    places = axis_maps.places_of_maxima(xp, x, maps)
    monkeypatch.setattr(axis_maps, "_are_few_and_large", lambda *_: False)
    np.testing.assert_array_equal(top, axis_maps.maxima(xp, x, maps))
    np.testing.assert_array_equal(places, axis_maps.places_of_maxima(xp, x, maps))


@pytest.mark.parametrize(
    "actual",
    [
        axis_maps.adaptive_means(40, 4),
        axis_maps.adaptive_means(41, 3),
        axis_maps.means(50, 12, 11, 0, 4, False),
        axis_maps.windows(60, 10, 15, 0, 1, 4),
        axis_maps.windows(60, 10, 1, 0, 1, 51).transpose,
    ],
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sums_of_many_neighbours(actual: axis_maps.AxisMap, axis: int) -> None:
    assert actual.passes > 8 and actual.bounds is not None
    x = np.random.default_rng(0).normal(size=(3, 4, actual.n))
    x[0, 0, 5] = np.inf
    matrix = np.zeros((actual.results, actual.n))
    np.add.at(matrix, (np.arange(actual.results)[:, None], actual.index), actual.weight)
    with np.errstate(invalid="ignore"):
        expected = np.array([[[np.sum(row[w != 0] * w[w != 0]) for w in matrix] for row in rows] for rows in x])
    maps = [axis_maps.picks(n, tuple(range(n))) for n in (4, 3)[: 2 - axis]]
    turned = np.moveaxis(x, 2, axis)
    np.testing.assert_allclose(np.moveaxis(axis_maps.sums(xp, turned, [actual, *maps]), axis, 2), expected, rtol=1e-12)


def test_elements_that_are_no_neighbours_have_no_bounds() -> None:
    for actual in (
        axis_maps.windows(30, 4, 1, 0, 2, 24),
        axis_maps.windows(5, 2, 1, 1, 1, 6),
        axis_maps.picks(3, (2, 0)),
    ):
        assert actual.bounds is None or actual.passes == 1
