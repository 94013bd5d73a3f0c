"""Series of eigenvectors, singular vectors and QR factors agree with nested forward mode, mpmath and equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint
from adjoint.func import grad, jvp, taylor, vmap

ORDER = 6
START = adjoint.tensor(0.0, dtype=adjoint.float64)


def matrices(shape: tuple[int, ...], is_complex: bool, hermitian: bool = False) -> list[Any]:
    rng = np.random.default_rng(3)
    results = []
    for _ in range(3):
        a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if is_complex else 0)
        results.append(adjoint.tensor(a + np.swapaxes(a, -1, -2).conj() if hermitian else a))
    return results


def along(coefficients: list[Any]) -> Callable[[Any], Any]:
    """The curve of matrices with these coefficients."""
    return lambda t: coefficients[0] + t * coefficients[1] + t * t * coefficients[2]


def thin_svd(a: Any) -> Any:
    return adjoint.linalg.svd(a, full_matrices=False)


CASES = {
    "eigh": (adjoint.linalg.eigh, (4, 4), True),
    "qr of square ones": (adjoint.linalg.qr, (3, 3), False),
    "qr of tall ones": (adjoint.linalg.qr, (5, 3), False),
    "qr of wide ones": (adjoint.linalg.qr, (3, 5), False),
    "qr of several": (adjoint.linalg.qr, (2, 4, 3), False),
    "svd": (adjoint.linalg.svd, (3, 3), False),
    "svd of tall ones": (thin_svd, (5, 3), False),
    "svd of wide ones": (thin_svd, (3, 5), False),
    "svd of several": (thin_svd, (2, 4, 3), False),
}


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_nested_forward_mode(name: str, is_complex: bool) -> None:
    function, shape, hermitian = CASES[name]
    curve = along(matrices(shape, is_complex, hermitian))
    series = taylor(lambda t: tuple(function(curve(t))), START, order=3)

    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda t: jvp(f, (t,), (adjoint.ones_like(t),))[1]

    nested: Callable[[Any], Any] = lambda t: tuple(function(curve(t)))
    for k, factorial in ((1, 1), (2, 2), (3, 6)):
        nested = derivative(nested)
        for actual, expected in zip(series, nested(START), strict=True):
            np.testing.assert_allclose(actual[k].numpy() * factorial, expected.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_factors_satisfy_their_equations(name: str, is_complex: bool) -> None:
    function, shape, hermitian = CASES[name]
    curve = along(matrices(shape, is_complex, hermitian))

    def product(t: Any) -> Any:
        first, *rest = function(curve(t))
        if hermitian:
            vectors = rest[0]
            return (vectors * first[..., None, :]) @ vectors.mH
        return first @ rest[0] if len(rest) == 1 else (first * rest[0][..., None, :]) @ rest[1]

    def gram(t: Any) -> Any:
        factors = function(curve(t))
        columns = factors[1] if hermitian else factors[0]
        return columns.mH @ columns

    expected = taylor(curve, START, order=ORDER)
    np.testing.assert_allclose(taylor(product, START, order=ORDER).numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)
    inner = taylor(gram, START, order=ORDER).numpy()
    np.testing.assert_allclose(inner[0] - np.eye(inner.shape[-1]), 0, atol=1e-12)
    np.testing.assert_allclose(inner[1:], 0, atol=1e-9)


def of_mpmath(coefficients: list[Any], t: Any) -> Any:
    return sum((mpmath.matrix(c.numpy().tolist()) * t**k for k, c in enumerate(coefficients)), mpmath.zeros(3))


def test_eigenvalues_and_singular_values_are_those_of_mpmath() -> None:
    hermitian, general = matrices((3, 3), False, True), matrices((3, 3), False)
    values = taylor(lambda t: adjoint.linalg.eigvalsh(along(hermitian)(t)), START, order=ORDER).numpy()
    singular = taylor(lambda t: adjoint.linalg.svdvals(along(general)(t)), START, order=ORDER).numpy()
    diagonal = taylor(lambda t: adjoint.linalg.qr(along(general)(t))[1].diagonal(), START, order=ORDER).numpy()
    with mpmath.workdps(60):
        for i in range(3):
            exact = mpmath.taylor(lambda t, i=i: mpmath.eigsy(of_mpmath(hermitian, t), eigvals_only=True)[i], 0, ORDER)
            np.testing.assert_allclose(values[:, i], [float(c) for c in exact], rtol=1e-11)
            exact = mpmath.taylor(lambda t, i=i: mpmath.svd_r(of_mpmath(general, t), compute_uv=False)[i], 0, ORDER)
            np.testing.assert_allclose(singular[:, i], [float(c) for c in exact], rtol=1e-10)
            exact = mpmath.taylor(lambda t, i=i: abs(mpmath.qr(of_mpmath(general, t))[1][i, i]), 0, ORDER)
            np.testing.assert_allclose(diagonal[:, i] * np.sign(diagonal[0, i]), [float(c) for c in exact], rtol=1e-10)


@pytest.mark.parametrize("name", ["eigh", "qr of tall ones", "svd of tall ones"])
def test_with_vmap_and_gradients(name: str) -> None:
    function, shape, hermitian = CASES[name]
    coefficients = matrices(shape, False, hermitian)

    def last(scale: Any) -> Any:
        """A coefficient of a quantity that does not depend on signs."""
        curve = along([coefficients[0], scale * coefficients[1], coefficients[2]])
        return taylor(lambda t: (function(curve(t))[1] ** 3).abs().sum(), START, order=3)[3]

    scales = adjoint.tensor([0.5, 1.0, 1.5], dtype=adjoint.float64)
    each = [last(scale).item() for scale in scales]
    np.testing.assert_allclose(vmap(last)(scales).numpy(), each, rtol=1e-9, atol=1e-9)
    step = 1e-5
    slope = (last(scales[1] + step) - last(scales[1] - step)).item() / (2 * step)
    np.testing.assert_allclose(grad(last)(scales[1]).item(), slope, rtol=1e-5, atol=1e-5)


def test_all_vectors_of_tall_matrices_take_the_general_way() -> None:
    """The additional columns of full matrices have values, but no derivatives."""
    curve = along(matrices((4, 2), False))
    whole = taylor(lambda t: adjoint.linalg.svd(curve(t))[1], START, order=4)
    thin = taylor(lambda t: thin_svd(curve(t))[1], START, order=4)
    np.testing.assert_allclose(whole.numpy(), thin.numpy(), rtol=1e-9)


@pytest.mark.parametrize("function", [lambda a: adjoint.linalg.eigh(a), lambda a: thin_svd(a)[1::-1]])
def test_equal_values_have_no_coefficients_of_order_2(function: Any) -> None:
    """First derivatives of functions of all values are right. Undefined coefficients are NaN."""
    start = adjoint.diag(adjoint.tensor([1.0, 1.0, 3.0], dtype=adjoint.float64))
    change = adjoint.tensor([[0.3, 0.2, 0.1], [0.2, 0.7, 0.4], [0.1, 0.4, 0.9]], dtype=adjoint.float64)
    values, vectors = taylor(lambda t: tuple(function(start + t * change)), START, order=2)
    np.testing.assert_allclose(values[1].sum().item(), 1.9)
    assert np.isfinite(vectors[1].numpy()).all()
    repeated = np.isclose(values[0].numpy(), 1.0)
    assert np.isnan(values[2].numpy()[repeated]).all()
