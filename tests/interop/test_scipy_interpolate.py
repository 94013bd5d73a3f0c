"""scipy.interpolate on Tensors: values are SciPy's, gradients agree with central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse.linalg

import adjoint
from adjoint.scipy import interpolate

Call = Callable[..., Any]
RNG = np.random.default_rng(5)
NODES = np.array([0.0, 0.4, 1.1, 1.9, 2.4, 3.2, 3.9])
VALUES = RNG.normal(size=7)
MATRIX = RNG.normal(size=(7, 2))
RISING = np.cumsum(RNG.uniform(0.2, 1.0, 7))
RING = np.append(VALUES[:-1], VALUES[0])
PLACES = np.array([0.1, 0.7, 1.3, 2.2, 3.5])
BEYOND = np.array([-0.3, 0.7, 4.2])
KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.7, 3.0, 3.0, 3.0, 3.0])
GRID = (np.array([0.0, 0.5, 1.2, 2.0, 3.1, 3.7]), np.array([-1.0, 0.1, 0.8, 1.5, 2.0, 2.6]))
FIELD = RNG.normal(size=(6, 6))
POINTS = np.array([[0.3, 0.5], [1.7, 1.2], [2.9, -0.4]])


def derivative(order: int) -> Call:
    return lambda module, x, y, places: module.CubicSpline(x, y)(places, order)


CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    **{
        f"CubicSpline, {bc}": (
            lambda m, x, y, places, bc=bc: m.CubicSpline(x, y, bc_type=bc)(places), (NODES, VALUES, PLACES))
        for bc in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.4)), ((2, 0.3), "not-a-knot"))
    },
    "CubicSpline, periodic": (
        lambda m, x, y, places: m.CubicSpline(
            x, y - y * np.eye(7)[6] + y[0] * np.eye(7)[6], bc_type="periodic")(places), (NODES, RING, BEYOND + 9)),
    "CubicSpline, axis": (
        lambda m, x, y, places: m.CubicSpline(x, y.T, axis=1)(places.reshape(1, 5)), (NODES, MATRIX, PLACES)),
    "CubicSpline, two nodes": (lambda m, x, y, p: m.CubicSpline(x, y)(p), (NODES[:2], VALUES[:2], PLACES)),
    "CubicSpline, three nodes": (lambda m, x, y, p: m.CubicSpline(x, y)(p), (NODES[:3], VALUES[:3], PLACES)),
    "CubicSpline, beyond": (lambda m, x, y, p: m.CubicSpline(x, y)(p), (NODES, VALUES, BEYOND)),
    **{f"derivative {n}": (derivative(n), (NODES, VALUES, PLACES)) for n in (1, 2, 3, 4)},
    "a derivative as a spline": (
        lambda m, x, y, p: m.CubicSpline(x, y).derivative()(p), (NODES, VALUES, PLACES)),
    "an antiderivative": (lambda m, x, y, p: m.CubicSpline(x, y).antiderivative()(p), (NODES, MATRIX, PLACES)),
    "an antiderivative twice": (lambda m, x, y, p: m.CubicSpline(x, y).antiderivative(2)(p), (NODES, VALUES, PLACES)),
    "an integral": (lambda m, x, y: m.CubicSpline(x, y).integrate(0.3, 3.3), (NODES, VALUES)),
    "CubicHermiteSpline": (
        lambda m, x, y, s, p: m.CubicHermiteSpline(x, y, s)(p), (NODES, VALUES, RISING, PLACES)),
    "PchipInterpolator": (lambda m, x, y, p: m.PchipInterpolator(x, y)(p), (NODES, VALUES, PLACES)),
    "PchipInterpolator, rising": (lambda m, x, y, p: m.PchipInterpolator(x, y)(p), (NODES, RISING, PLACES)),
    "PchipInterpolator, matrix": (lambda m, x, y, p: m.PchipInterpolator(x, y)(p), (NODES, MATRIX, PLACES)),
    "Akima1DInterpolator": (lambda m, x, y, p: m.Akima1DInterpolator(x, y)(p), (NODES, VALUES, PLACES)),
    "Akima1DInterpolator, makima": (
        lambda m, x, y, p: m.Akima1DInterpolator(x, y, method="makima")(p), (NODES, MATRIX, PLACES)),
    "PPoly": (lambda m, c, x, p: m.PPoly(c, x)(p), (RNG.normal(size=(3, 6)), NODES, PLACES)),
    "BSpline": (lambda m, t, c, p: m.BSpline(t, c, 3)(p), (KNOTS, VALUES[:6], PLACES[:4])),
    "BSpline, slope": (lambda m, t, c, p: m.BSpline(t, c, 3)(p, 1), (KNOTS, VALUES[:6], PLACES[:4])),
    "BSpline, beyond": (lambda m, t, c, p: m.BSpline(t, c, 3)(p), (KNOTS, MATRIX[:6], BEYOND)),
    **{
        f"make_interp_spline, {k}": (
            lambda m, x, y, p, k=k: m.make_interp_spline(x, y, k)(p), (NODES, MATRIX, PLACES))
        for k in (1, 2, 3, 4, 5)
    },
    "make_interp_spline, natural": (
        lambda m, x, y, p: m.make_interp_spline(x, y, bc_type="natural")(p), (NODES, VALUES, PLACES)),
    **{
        f"interp1d, {kind}": (lambda m, x, y, p, kind=kind: m.interp1d(x, y, kind)(p), (NODES, VALUES, PLACES))
        for kind in ("linear", "slinear", "quadratic", "cubic", 3)
    },
    **{
        f"interp1d, {kind}": (lambda m, y, p, kind=kind: m.interp1d(NODES, y, kind)(p), (VALUES, PLACES))
        for kind in ("nearest", "nearest-up", "previous", "next", "zero")
    },
    "interp1d, beyond": (
        lambda m, x, y, p: m.interp1d(x, y, fill_value="extrapolate")(p), (NODES, VALUES, BEYOND)),
    "interp1d, filled": (
        lambda m, x, y, p: m.interp1d(x, y, bounds_error=False, fill_value=(2.0, 3.0))(p), (NODES, VALUES, BEYOND)),
    "interp1d, unsorted": (
        lambda m, x, y, p: m.interp1d(x, y, axis=0)(p), (NODES[::-1].copy(), MATRIX, PLACES)),
    **{
        f"RegularGridInterpolator, {kind}": (
            lambda m, a, b, f, p, kind=kind: m.RegularGridInterpolator(
                (a, b), f, kind, **({} if "linear" in kind else {"solver": scipy.sparse.linalg.spsolve}))(p),
            (*GRID, FIELD, POINTS))
        for kind in ("linear", "slinear", "cubic", "quintic")
    },
    "RegularGridInterpolator, nearest": (
        lambda m, f, p: m.RegularGridInterpolator(GRID, f, "nearest")(p), (FIELD, POINTS)),
    "RegularGridInterpolator, filled": (
        lambda m, f, p: m.RegularGridInterpolator(GRID, f, bounds_error=False, fill_value=0.5)(p),
        (FIELD, POINTS + [[0.0, 0.0], [5.0, 0.0], [0.0, 0.0]])),
    "interpn": (lambda m, f, x, y: m.interpn(GRID, f, (x, y)), (FIELD, POINTS[:, 0], POINTS[:, 1])),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    call, arrays = CASES[name]
    tensors = [adjoint.tensor(array, requires_grad=True) for array in arrays]
    result = call(interpolate, *tensors)
    expected = call(scipy.interpolate, *arrays)
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-9, atol=1e-11)
    weights = RNG.normal(size=np.shape(expected))
    gradients = adjoint.autograd.grad(
        result, tensors, adjoint.tensor(weights), allow_unused=True, materialize_grads=True
    )
    ways = [RNG.normal(size=array.shape) for array in arrays]
    if name.startswith("PchipInterpolator"):
        ways[-1][:] = 0  # the second derivative jumps where a limit takes effect
    if name.startswith("BSpline"):
        ways[0][:4], ways[0][-4:] = ways[0][0], ways[0][-1]  # equal knots stay equal
    ahead, behind = (
        call(scipy.interpolate, *[a + step * way for a, way in zip(arrays, ways, strict=True)])
        for step in (1e-6, -1e-6)
    )
    slope = float(np.sum(weights * (ahead - behind))) / 2e-6
    exact = sum(float(np.sum(g.numpy() * way)) for g, way in zip(gradients, ways, strict=True))
    assert exact == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_plain_data_with_tensors_as_places() -> None:
    spline = interpolate.CubicSpline(NODES, VALUES)
    of_scipy = scipy.interpolate.CubicSpline(NODES, VALUES)
    np.testing.assert_array_equal(spline(PLACES), of_scipy(PLACES))
    np.testing.assert_array_equal(spline.c, of_scipy.c)
    x = adjoint.tensor(PLACES, requires_grad=True)
    spline(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), of_scipy(PLACES, 1))
    places = adjoint.tensor(PLACES, requires_grad=True)
    assert adjoint.autograd.gradgradcheck(interpolate.PchipInterpolator(NODES, RISING), places)


def test_what_stands_outside() -> None:
    y = adjoint.tensor(VALUES, requires_grad=True)
    result = interpolate.Akima1DInterpolator(NODES, y)(BEYOND)
    np.testing.assert_array_equal(np.isnan(result.detach().numpy()), [True, False, True])
    result[1].backward()
    assert np.isfinite(y.grad.numpy()).all()


REFUSED: list[tuple[Call, type[Exception], str]] = [
    (lambda y: interpolate.CubicSpline(NODES[::-1], y), ValueError, "strictly increasing"),
    (lambda y: interpolate.CubicSpline(NODES[:5], y), ValueError, "doesn't match the length"),
    (lambda y: interpolate.CubicSpline(NODES, y, bc_type="loose"), ValueError, "is not allowed"),
    (lambda y: interpolate.CubicSpline(NODES, y, bc_type="periodic").integrate(0, 1), TypeError, "not supported"),
    (lambda y: interpolate.Akima1DInterpolator(NODES, y, method="other"), NotImplementedError, "is unsupported"),
    (lambda y: interpolate.interp1d(NODES, y)(9.0), ValueError, "is above the interpolation range"),
    (lambda y: interpolate.interp1d(NODES, y, "other")(1.0), NotImplementedError, "is unsupported"),
    (lambda y: interpolate.BSpline(KNOTS, y, 5), ValueError, "Need at least 2k"),
    (lambda y: interpolate.BSpline(KNOTS, y, 3).antiderivative(), AttributeError, "antiderivative"),
    (lambda y: interpolate.make_interp_spline(NODES, y, bc_type="periodic"), TypeError, "'periodic' is not supported"),
    (lambda y: interpolate.RegularGridInterpolator((NODES,), y)([9.0]), ValueError, "out of bounds"),
    (lambda y: interpolate.RegularGridInterpolator((NODES,), y, "pchip")([1.0]), TypeError, "use one of linear"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call(adjoint.tensor(VALUES, requires_grad=True))
