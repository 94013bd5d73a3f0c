"""Linear maps along axes: the C loop and passes over whole arrays give the same bits."""

import numpy as np
import pytest

from adjoint.arrays.kernels import axis_maps, scatter
from adjoint.arrays.kernels.interpolation import antialias_filter, cubics, lines, nearest
from adjoint.arrays.libraries.numpy_namespace import xp

MAPS = {
    "windows": axis_maps.windows(9, 3, 2, 1, 1, 5),
    "windows with holes": axis_maps.windows(9, 2, 4, 0, 3, 2),
    "means without padding": axis_maps.means(9, 3, 2, 1, 5, False),
    "adaptive means": axis_maps.adaptive_means(9, 4),
    "lines": lines(9, 14, False, None, False),
    "lines between corners": lines(9, 5, True, None, True),
    "cubics": cubics(9, 20, False, None, False),
    "antialias": antialias_filter(9, 4, False, None, False, "bilinear"),
    "nearest": nearest(9, 7, None, True),
    "picks": axis_maps.picks(9, (3, 3, 0, 8, 5)),
}


def plain(x, axis, axis_map):
    return axis_maps._combine(xp, x, axis, axis_map.steps, axis_map.results, "add", 0)


@pytest.mark.skipif(not scatter.compiled, reason="only the compiled form has this loop")
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("name", MAPS)
def test_the_loop_equals_passes_over_whole_arrays(name, kind):
    rng = np.random.default_rng(5)
    for axis_map in (MAPS[name], MAPS[name].transpose):
        for shape, axis in (((axis_map.n,), 0), ((2, axis_map.n, 3), 1), ((4, axis_map.n), 1), ((axis_map.n, 40), 0)):
            x = rng.normal(size=shape).astype(kind)
            x[x > 1] = -0.0
            x.flat[0] = np.nan
            for array in (x, np.asfortranarray(x)):
                result = scatter.axis_sums(array, axis, axis_map.table)
                expected = plain(array, axis, axis_map)
                assert result.tobytes() == expected.tobytes() and result.dtype == expected.dtype


@pytest.mark.skipif(not scatter.compiled, reason="only the compiled form has this loop")
def test_other_arrays_are_left_to_numpy():
    table = MAPS["lines"].table
    infinite = np.array([np.inf, -np.inf] * 5)[:9]
    assert scatter.axis_sums(infinite, 0, table) is None
    with pytest.warns(RuntimeWarning, match="invalid value"):
        axis_maps.sums(xp, infinite, (MAPS["lines"],))
    for array in (np.ones(9, complex), np.ones(9, int), np.ones((0, 9)), np.ones(9, "f2")):
        assert scatter.axis_sums(array, array.ndim - 1, table) is None
    with pytest.raises(IndexError, match="outside of an axis of 3"):
        scatter.axis_sums(np.ones(3), 0, table)
