"""scipy.ndimage and the filters of scipy.signal on Tensors: values are SciPy's, gradients agree with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import adjoint
from adjoint.scipy import ndimage, signal

Call = Callable[..., Any]
RNG = np.random.default_rng(1)
IMAGE = RNG.normal(size=(9, 8))
WEIGHTS, WEIGHTS_1 = RNG.normal(size=(3, 4)), RNG.normal(size=4)
WIDTH = np.array(1.3)
INSIDE = np.stack([RNG.uniform(0.2, 7.8, 5), RNG.uniform(0.2, 6.8, 5)])
OUTSIDE = np.stack([RNG.uniform(-6, 13, 7), RNG.uniform(-5, 12, 7)])
SERIES, ROWS = RNG.normal(size=40), RNG.normal(size=(40, 3))
B, A = scipy.signal.butter(3, 0.3)
SECTIONS = scipy.signal.butter(4, 0.25, output="sos")
STATE = RNG.normal(size=3)
MODES = ("reflect", "mirror", "nearest", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant")

IMAGES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    **{
        f"correlate1d, {mode}": (lambda n, x, w, m=mode: n.correlate1d(x, w, 0, mode=m, cval=0.7), (IMAGE, WEIGHTS_1))
        for mode in MODES
    },
    **{
        f"correlate, {mode}": (
            lambda n, x, w, m=mode: n.correlate(x, w, mode=m, cval=0.7, origin=(1, -1)), (IMAGE, WEIGHTS))
        for mode in MODES
    },
    **{f"convolve, {mode}": (lambda n, x, w, m=mode: n.convolve(x, w, mode=m), (IMAGE, WEIGHTS)) for mode in MODES},
    "convolve1d": (lambda n, x, w: n.convolve1d(x, w, origin=1), (IMAGE, WEIGHTS_1)),
    "uniform_filter": (lambda n, x: n.uniform_filter(x, (3, 4), origin=(1, 0)), (IMAGE,)),
    "uniform_filter1d": (lambda n, x: n.uniform_filter1d(x, 5), (IMAGE,)),
    "gaussian_filter": (lambda n, x, s: n.gaussian_filter(x, s), (IMAGE, WIDTH)),
    "gaussian_filter, one axis": (lambda n, x: n.gaussian_filter(x, (1.1, 0), (1, 0), mode="wrap"), (IMAGE,)),
    **{
        f"gaussian_filter1d, order {k}": (lambda n, x, s, k=k: n.gaussian_filter1d(x, s, order=k), (IMAGE, WIDTH))
        for k in range(4)
    },
    **{
        f"{name}, {mode}": (lambda n, x, f=name, m=mode: getattr(n, f)(x, (2, 3), mode=m, origin=(0, -1)), (IMAGE,))
        for name in ("minimum_filter", "maximum_filter", "median_filter")
        for mode in MODES
    },
    "minimum_filter1d": (lambda n, x: n.minimum_filter1d(x, 3, axis=0), (IMAGE,)),
    "maximum_filter1d": (lambda n, x: n.maximum_filter1d(x, 4, origin=1), (IMAGE,)),
    "rank_filter, footprint": (lambda n, x: n.rank_filter(x, -2, footprint=[[1, 1, 0], [0, 1, 1]]), (IMAGE,)),
    "percentile_filter": (lambda n, x: n.percentile_filter(x, 30, size=3), (IMAGE,)),
    "percentile_filter, one axis": (lambda n, x: n.percentile_filter(x, -10, size=3, axes=0), (IMAGE,)),
    "sobel": (lambda n, x: n.sobel(x, 0), (IMAGE,)),
    "prewitt": (lambda n, x: n.prewitt(x), (IMAGE,)),
    "laplace": (lambda n, x: n.laplace(x, mode="wrap"), (IMAGE,)),
    "gaussian_laplace": (lambda n, x, s: n.gaussian_laplace(x, s), (IMAGE, WIDTH)),
    "gaussian_gradient_magnitude": (lambda n, x, s: n.gaussian_gradient_magnitude(x, s), (IMAGE, WIDTH)),
    "spline_filter1d": (lambda n, x: n.spline_filter1d(x, 3, 0), (IMAGE,)),
    "spline_filter": (lambda n, x: n.spline_filter(x, 4, mode="reflect"), (IMAGE,)),
    **{
        f"map_coordinates, {mode}, order {k}, {where}": (
            lambda n, x, c, k=k, m=mode: n.map_coordinates(x, c, order=k, mode=m, cval=0.3), (IMAGE, places))
        for mode in ("constant", "nearest", "mirror", "reflect", "grid-wrap")
        for k in (0, 1, 2, 3, 5)
        for where, places in (("inside", INSIDE), ("outside", OUTSIDE))
    },
    "map_coordinates, coefficients": (
        lambda n, x, c: n.map_coordinates(x, c, mode="mirror", prefilter=False), (IMAGE, INSIDE)),
}  # fmt: skip

SIGNALS: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "lfilter": (lambda n, b, a, x: n.lfilter(b, a, x), (B, 1.7 * A, SERIES)),
    "lfilter, axis": (lambda n, b, a, x: n.lfilter(b, a, x, axis=0), (B, A, ROWS)),
    "lfilter, no recursion": (lambda n, b, x: n.lfilter(b, 1.0, x), (B, SERIES)),
    "lfilter, short": (lambda n, b, a, x: n.lfilter(b, a, x), (B, A, SERIES[:2])),
    "lfilter, complex": (lambda n, b, a, x: n.lfilter(b, a, x), (B + 0.1j, A, SERIES)),
    "lfilter, state": (lambda n, b, a, x, z: n.lfilter(b, a, x, zi=z)[0], (B, A, SERIES, STATE)),
    "lfilter, last state": (lambda n, b, a, x, z: n.lfilter(b, a, x, zi=z)[1], (B, A, SERIES, STATE)),
    "lfilter, short state": (lambda n, b, a, x, z: n.lfilter(b, a, x, zi=z)[1], (B, A, SERIES[:2], STATE)),
    "lfilter_zi": (lambda n, b, a: n.lfilter_zi(b, a), (B, 1.7 * A)),
    "sosfilt": (lambda n, s, x: n.sosfilt(s, x), (SECTIONS, SERIES)),
    "sosfilt, state": (lambda n, s, x: n.sosfilt(s, x, zi=n.sosfilt_zi(s))[0], (SECTIONS, SERIES)),
    "sosfilt, last state": (lambda n, s, x: n.sosfilt(s, x, zi=n.sosfilt_zi(s))[1], (SECTIONS, SERIES)),
    "filtfilt": (lambda n, b, a, x: n.filtfilt(b, a, x), (B, A, SERIES)),
    "filtfilt, even": (lambda n, b, a, x: n.filtfilt(b, a, x, 0, "even", 7), (B, A, ROWS)),
    "filtfilt, constant": (lambda n, b, a, x: n.filtfilt(b, a, x, padtype="constant"), (B, A, SERIES)),
    "filtfilt, none": (lambda n, b, a, x: n.filtfilt(b, a, x, padtype=None), (B, A, SERIES)),
    "sosfiltfilt": (lambda n, s, x: n.sosfiltfilt(s, x), (SECTIONS, SERIES)),
    "resample": (lambda n, x: n.resample(x, 27, axis=0), (ROWS,)),
    "upfirdn": (lambda n, h, x: n.upfirdn(h, x, 3, 2), (WEIGHTS_1, SERIES)),
    "upfirdn, axis": (lambda n, h, x: n.upfirdn(h, x, 2, 3, axis=0), (WEIGHTS_1, ROWS)),
    "upfirdn, alone": (lambda n, h, x: n.upfirdn(h, x), (WEIGHTS_1, SERIES)),
    "resample_poly": (lambda n, x: n.resample_poly(x, 3, 2), (ROWS,)),
    "resample_poly, line": (lambda n, x: n.resample_poly(x, 2, 3, axis=0, padtype="line"), (ROWS,)),
    "decimate": (lambda n, x: n.decimate(x, 3, n=2), (SERIES,)),
    "decimate, axis": (lambda n, x: n.decimate(x, 2, ftype="fir", axis=0), (ROWS,)),
    "hilbert": (lambda n, x: n.hilbert(x), (SERIES,)),
    "hilbert, longer": (lambda n, x: n.hilbert(x, 44, axis=0), (ROWS,)),
    "medfilt": (lambda n, x: n.medfilt(x), (SERIES,)),
    "medfilt, axes": (lambda n, x: n.medfilt(x, [3, 5]), (IMAGE,)),
    "medfilt2d": (lambda n, x: n.medfilt2d(x, 3), (IMAGE,)),
    "order_filter": (lambda n, x: n.order_filter(x, np.array([[1, 0, 1], [1, 1, 1], [0, 1, 1]]), 2), (IMAGE,)),
    **{
        f"savgol_filter, {mode}": (lambda n, x, m=mode: n.savgol_filter(x, 7, 3, 1, 0.5, 0, m, 0.3), (ROWS,))
        for mode in ("mirror", "nearest", "wrap", "constant", "interp")
    },
}


def check(ours: Any, theirs: Any, call: Call, arrays: tuple[np.ndarray, ...]) -> None:
    tensors = [adjoint.tensor(array, requires_grad=True) for array in arrays]
    actual, expected = call(ours, *tensors), call(theirs, *arrays)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-9, atol=1e-9)
    weights = RNG.normal(size=expected.shape).astype(expected.dtype)
    gradients = adjoint.autograd.grad(
        actual, tensors, adjoint.tensor(weights), allow_unused=True, materialize_grads=True
    )
    ways = [RNG.normal(size=array.shape) for array in arrays]
    for array, way in zip(arrays, ways, strict=True):
        if array is SECTIONS:
            way[:, 3] = 0  # SciPy requires ones there
    ahead, behind = (call(theirs, *[a + h * way for a, way in zip(arrays, ways, strict=True)]) for h in (1e-6, -1e-6))
    slope = float(np.sum(weights * (ahead - behind)).real) / 2e-6
    exact = sum(float(np.sum(g.numpy() * way).real) for g, way in zip(gradients, ways, strict=True))
    assert exact == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    check(ndimage, scipy.ndimage, *IMAGES[name])


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name: str) -> None:
    check(signal, scipy.signal, *SIGNALS[name])


def test_second_order_and_forward_mode() -> None:
    tensors = [adjoint.tensor(array, requires_grad=True) for array in (B, A, SERIES[:6])]
    assert adjoint.autograd.gradcheck(signal.lfilter, tensors, check_forward_ad=True)
    assert adjoint.autograd.gradgradcheck(signal.lfilter, tensors)


@pytest.mark.parametrize("name", SIGNALS)
def test_rows_and_columns_of_jacobians_at_once(name: str) -> None:
    call, arrays = SIGNALS[name]

    def function(*tensors: Any) -> Any:
        y = call(signal, *tensors).ravel()
        return adjoint.cat([y.real, y.imag]) if y.is_complex() else y

    for i, array in enumerate(arrays):
        if array.dtype.kind == "c":
            continue

        def of_one(x: Any, i: int = i) -> Any:
            return function(*[x if k == i else adjoint.tensor(other) for k, other in enumerate(arrays)])

        x = adjoint.tensor(array, requires_grad=True)
        y = of_one(x)
        rows = [adjoint.autograd.grad(element, x, retain_graph=True)[0] for element in y]
        expected = adjoint.stack(rows).numpy()
        for transform in (adjoint.func.jacrev, adjoint.func.jacfwd):
            result = transform(of_one)(x.detach()).numpy()
            np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_batches_of_signals_and_of_coefficients() -> None:
    a = adjoint.tensor(np.stack([A, 2 * A, -A]))
    x = adjoint.tensor(RNG.normal(size=(3, 6)))
    for in_dims in ((0, None), (None, 0), (0, 0)):
        arguments = [t if dim == 0 else t[0] for t, dim in zip((a, x), in_dims, strict=True)]
        members = [[t[k] if dim == 0 else t for t, dim in zip(arguments, in_dims, strict=True)] for k in range(3)]
        result = adjoint.vmap(lambda a, x: signal.lfilter(B, a, x), in_dims)(*arguments)
        expected = adjoint.stack([signal.lfilter(B, *member) for member in members])
        np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="leading coefficient"):
        adjoint.vmap(lambda a: signal.lfilter(B, a, x[0]))(adjoint.tensor([[1.0, 0.5], [0.0, 1.0]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: signal.upfirdn(x, x, mode="wrap"), "mode='wrap' with cval=0 is not supported"),
        (lambda x: signal.upfirdn(x, x, 0), "Both up and down"),
        (lambda x: signal.resample_poly(x, 2, 1, padtype="median"), "use one of constant, line, mean"),
        (lambda x: signal.medfilt(x, 4), "should be odd"),
        (lambda x: ndimage.rank_filter(x, 7, 3), "rank not within"),
        (lambda x: ndimage.percentile_filter(x, 101, 3), "invalid percentile"),
        (lambda x: ndimage.median_filter(x), "no footprint or filter size"),
        (lambda x: ndimage.median_filter(x, footprint=np.ones((2, 2))), "one for each filtered axis"),
        (lambda x: signal.wiener(x, 3), r"scipy.signal.wiener\(\) was given a Tensor"),
    ],
)
def test_messages(call: Call, message: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        call(adjoint.tensor(SERIES, requires_grad=True))


def test_arrays_in_arrays_out() -> None:
    def total(x: Any) -> Any:
        return np.sum(ndimage.gaussian_filter1d(x, 1.0) * np.arange(40.0))

    gradient = adjoint.func.grad(total)(SERIES)
    np.testing.assert_allclose(gradient, scipy.ndimage.gaussian_filter1d(np.eye(40), 1.0, 1) @ np.arange(40.0))
    assert type(gradient) is np.ndarray


T, V = adjoint.tensor(IMAGE, requires_grad=True), adjoint.tensor(SERIES, requires_grad=True)
REFUSED: list[tuple[Call, type[Exception], str]] = [
    (lambda: ndimage.correlate1d(T, WEIGHTS_1, mode="other"), RuntimeError, "not supported"),
    (lambda: ndimage.correlate1d(T, WEIGHTS_1, output=np.zeros((9, 8))), TypeError, "output= must be a dtype or None"),
    (lambda: ndimage.correlate1d(T, WEIGHTS_1, origin=3), ValueError, "invalid origin"),
    (lambda: ndimage.correlate(T, WEIGHTS_1), RuntimeError, "incorrect shape"),
    (lambda: ndimage.gaussian_filter(T, (1.0, 2.0, 3.0)), RuntimeError, "length equal to input rank"),
    (lambda: ndimage.map_coordinates(T, INSIDE, mode="wrap"), TypeError, "mode='wrap' is not supported for Tensors"),
    (lambda: ndimage.map_coordinates(T, INSIDE, mode="nearest", prefilter=False), TypeError, "prefilter=True"),
    (lambda: signal.resample(adjoint.zeros(5000, requires_grad=True), 7), ValueError, "takes at most 4096"),
    (lambda: signal.resample(V, 7, domain="freq"), TypeError, "domain='freq' are not supported for Tensors"),
    (lambda: signal.lfilter(B, [0.0, 1.0], V), ValueError, "must not be 0"),
    (lambda: signal.sosfilt(WEIGHTS, V), ValueError, "must be shape"),
    (lambda: signal.filtfilt(B, A, V, method="gust"), TypeError, "use method='pad'"),
    (lambda: signal.filtfilt(B, A, V, padtype="other"), ValueError, "padtype must be"),
    (lambda: signal.filtfilt(B, A, V[:5]), ValueError, "greater than padlen"),
    (lambda: signal.savgol_filter(V, 5, 2, mode="other"), ValueError, "mode must be"),
    (lambda: signal.savgol_filter(V[:3], 5, 2), ValueError, "less than or equal to the size"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    call, error, message = case
    with pytest.raises(error, match=message):
        call()
