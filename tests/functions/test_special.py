"""Special functions: values of mpmath with 30 digits, derivatives of high order, rare cases, refused arguments."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre

import adjoint

S = adjoint.special
SQRT2 = mpmath.sqrt(2)

#: For each name in `special`: the same function in mpmath, and points in the domain of both.
UNARY = {
    "airy_ai": (mpmath.airyai, [-5.0, -0.5, 0.0, 2.5]),
    "bessel_j0": (lambda x: mpmath.besselj(0, x), [-9.0, 0.0, 0.5, 7.5]),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), [-9.0, 0.0, 0.5, 7.5]),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), [0.1, 1.0, 8.5]),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), [0.1, 1.0, 8.5]),
    "digamma": (mpmath.digamma, [-1.5, 0.1, 1.0, 30.0]),
    "entr": (lambda x: -x * mpmath.log(x), [0.1, 1.0, 3.0]),
    "erf": (mpmath.erf, [-2.0, -0.1, 0.0, 1.5]),
    "erfc": (mpmath.erfc, [-2.0, 0.0, 1.5, 9.0]),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-2.0, 0.0, 1.5, 20.0]),
    "erfinv": (mpmath.erfinv, [-0.9, 0.0, 1e-8, 0.99]),
    "expit": (lambda x: 1 / (1 + mpmath.exp(-x)), [-30.0, 0.0, 2.0]),
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [-1.5, 0.1, 1.5, 100.0]),
    "i0": (lambda x: mpmath.besseli(0, x), [-3.0, 0.0, 5.0]),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), [-3.0, 0.5, 500.0]),
    "i1": (lambda x: mpmath.besseli(1, x), [-3.0, 0.0, 5.0]),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), [-3.0, 0.5, 500.0]),
    "log_ndtr": (lambda x: mpmath.log(mpmath.erfc(-x / SQRT2) / 2), [-30.0, -1.0, 0.0, 5.0]),
    "logit": (lambda x: mpmath.log(x / (1 - x)), [1e-5, 0.3, 0.5, 0.9]),
    "modified_bessel_i0": (lambda x: mpmath.besseli(0, x), [-3.0, 0.0, 5.0]),
    "modified_bessel_i1": (lambda x: mpmath.besseli(1, x), [-3.0, 0.0, 5.0]),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), [0.1, 1.0, 20.0]),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), [0.1, 1.0, 20.0]),
    "ndtr": (mpmath.ncdf, [-8.0, -1.0, 0.0, 2.0]),
    "ndtri": (lambda x: SQRT2 * mpmath.erfinv(2 * x - 1), [0.01, 0.3, 0.5, 0.99]),
    "psi": (mpmath.digamma, [0.1, 1.0, 30.0]),
    "scaled_modified_bessel_k0": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), [0.1, 1.0, 500.0]),
    "scaled_modified_bessel_k1": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), [0.1, 1.0, 500.0]),
    "sinc": (mpmath.sincpi, [-1.5, 0.0, 0.3]),
    "spherical_bessel_j0": (mpmath.sinc, [-2.0, 0.0, 1e-4, 7.0]),
}


@pytest.fixture(autouse=True)
def _thirty_digits():
    with mpmath.workdps(30):
        yield


def exact(function, points, order=0):
    """Values (or derivatives) by mpmath, as floats."""
    results = [mpmath.diff(function, mpmath.mpf(x), order) if order else function(mpmath.mpf(x)) for x in points]
    return [float(mpmath.re(value)) for value in results]


def derivative(function, points, order):
    x = adjoint.tensor(points, dtype=adjoint.float64, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    return y.detach().numpy()


@pytest.mark.parametrize("name", UNARY)
def test_values(name):
    function, points = UNARY[name]
    result = getattr(S, name)(adjoint.tensor(points, dtype=adjoint.float64)).numpy()
    np.testing.assert_allclose(result, exact(function, points), rtol=3e-14, atol=1e-15)


@pytest.mark.parametrize("name", UNARY)
def test_single_precision_is_computed_to_its_last_digits(name):
    function, points = UNARY[name]
    points = [float(np.float32(x)) for x in points]
    result = getattr(S, name)(adjoint.tensor(points, dtype=adjoint.float32))
    assert result.dtype is adjoint.float32
    np.testing.assert_allclose(result.numpy(), exact(function, points), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", UNARY)
def test_derivatives(name, order):
    function, points = UNARY[name]
    # The scaled functions have a kink at 0, where only torch has a derivative. For large arguments mpmath's differences
    # cancel.
    points = [x for x in points if abs(x) < 100 and (x or name not in ("i0e", "i1e"))]
    expected = exact(function, points, order)
    np.testing.assert_allclose(derivative(getattr(S, name), points, order), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["sinc", "spherical_bessel_j0", "bessel_j0", "bessel_j1", "i0", "i1"])
def test_derivatives_of_any_order_are_exact_near_0(name):
    function, _ = UNARY[name]
    points = [-1e-3, 0.0, 1e-9, 1e-5]
    for order in (1, 2, 3, 4):
        result = derivative(getattr(S, name), points, order)
        np.testing.assert_allclose(result, exact(function, points, order), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    points = [-2.3, -0.4, 0.05, 0.5, 1.0, 7.25, 80.0]
    result = adjoint.polygamma(n, adjoint.tensor(points, dtype=adjoint.float64)).numpy()
    np.testing.assert_allclose(result, exact(lambda x: mpmath.polygamma(n, x), points), rtol=1e-13)
    x = adjoint.tensor(points, dtype=adjoint.float64, requires_grad=True)
    x.polygamma(n).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), exact(lambda x: mpmath.polygamma(n + 1, x), points), rtol=1e-12)


def test_polygamma_refuses_what_is_no_order():
    x = adjoint.ones(2)
    with pytest.raises(RuntimeError, match=r"polygamma\(n, x\) does not support negative n"):
        adjoint.polygamma(-1, x)
    with pytest.raises(TypeError, match=r"polygamma\(\): argument 'n' \(position 1\) must be int, not float"):
        adjoint.polygamma(1.0, x)


def test_trigamma_at_poles_and_at_the_ends():
    x = adjoint.tensor([0.0, -1.0, math.inf, math.nan], dtype=adjoint.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = adjoint.polygamma(1, x).tolist()
    assert result[:3] == [math.inf, math.inf, 0.0] and math.isnan(result[3])


def test_mvlgamma():
    points, p = [2.5, 3.0, 10.0], 3

    def function(x):
        total = sum(mpmath.loggamma(x - mpmath.mpf(j) / 2) for j in range(p))
        return total + mpmath.mpf(p * (p - 1)) / 4 * mpmath.log(mpmath.pi)

    np.testing.assert_allclose(derivative(lambda x: x.mvlgamma(p), points, 0), exact(function, points), rtol=1e-14)
    np.testing.assert_allclose(derivative(lambda x: x.mvlgamma(p), points, 1), exact(function, points, 1), rtol=1e-12)
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        adjoint.mvlgamma(adjoint.ones(1), 0)


A, X = [0.5, 1.0, 2.5, 10.0], [0.25, 1.5, 2.0, 30.0]


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions(name):
    def function(a, x):
        if name == "igamma":
            return mpmath.gammainc(a, 0, x, regularized=True)
        return mpmath.gammainc(a, x, mpmath.inf, regularized=True)

    a = adjoint.tensor(A, dtype=adjoint.float64)
    expected = [float(function(p, q)) for p, q in zip(A, X, strict=True)]
    np.testing.assert_allclose(derivative(lambda x: getattr(adjoint, name)(a, x), X, 0), expected, rtol=1e-12)
    for order in (1, 2):
        slopes = [float(mpmath.diff(lambda q, p=p: function(p, q), x, order)) for p, x in zip(A, X, strict=True)]
        np.testing.assert_allclose(derivative(lambda x: getattr(adjoint, name)(a, x), X, order), slopes, rtol=1e-9)


def test_the_lower_incomplete_gamma_function_at_0_has_its_slope_there():
    x = adjoint.zeros(3, requires_grad=True)
    adjoint.igamma(adjoint.tensor([0.5, 1.0, 2.0]), x).sum().backward()
    assert x.grad.tolist() == [math.inf, 1.0, 0.0]


def test_incomplete_gamma_functions_have_no_slope_where_they_are_undefined():
    x = adjoint.tensor([-0.5, -0.5], requires_grad=True)
    slope = adjoint.autograd.grad(adjoint.igamma(adjoint.tensor([1.0, 2.5]), x).sum(), x)[0]
    assert slope.isnan().all()


def test_scaled_bessel_functions_vanish_at_the_far_end():
    # there I0 exp(-x) and I1 exp(-x) are (2 pi x) ** -1/2, with the derivatives -y / (2x) and 3y / (4x^2)
    x = adjoint.tensor([1e12, 1e30], dtype=adjoint.float64)
    for order, factor in ((0, 1.0), (1, -0.5), (2, 0.75)):
        result = derivative(S.i1e, x.tolist(), order)
        np.testing.assert_allclose(result, factor * (2 * math.pi * x.numpy()) ** -0.5 / x.numpy() ** order, atol=1e-22)


def test_zeta():
    s, q = [1.5, 2.0, 6.0], [0.25, 1.0, 12.5]
    x = adjoint.tensor(s, dtype=adjoint.float64)
    expected = [float(mpmath.zeta(a, b)) for a, b in zip(s, q, strict=True)]
    np.testing.assert_allclose(derivative(lambda q: S.zeta(x, q), q, 0), expected, rtol=1e-13)
    slopes = [float(-a * mpmath.zeta(a + 1, b)) for a, b in zip(s, q, strict=True)]
    np.testing.assert_allclose(derivative(lambda q: S.zeta(x, q), q, 1), slopes, rtol=1e-13)
    x.requires_grad = True
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented"):
        S.zeta(x, 2.0).sum().backward()


@pytest.mark.parametrize(("function", "edge"), [(adjoint.xlogy, 0.0), (S.xlog1py, -1.0)])
def test_a_product_with_a_logarithm_is_0_where_its_factor_is(function, edge):
    x = adjoint.tensor([0.0, 0.0, 0.0, 2.0], requires_grad=True)
    y = adjoint.tensor([edge, edge - 1.0, math.nan, edge + 1.0])
    result = function(x, y)
    assert result[:2].tolist() == [0.0, 0.0] and math.isnan(result[2].item()) and result[3].item() == 0.0
    result.sum().backward()
    assert x.grad[:2].tolist() == [0.0, 0.0] and math.isnan(x.grad[2].item())


@pytest.mark.parametrize("function", [adjoint.xlogy, S.xlog1py, S.zeta])
def test_numbers_beside_tensors_do_not_widen_them(function):
    x = adjoint.tensor([1.5, 2.0])
    for actual in (function(x, 2), function(2.5, x)):
        assert actual.dtype is adjoint.float32


def test_logit_is_flat_where_it_clamps():
    x = adjoint.tensor([-0.5, 0.0, 0.2, 0.5, 0.8, 1.0], dtype=adjoint.float64, requires_grad=True)
    y = adjoint.logit(x, eps=0.2)
    np.testing.assert_allclose(y.tolist(), np.log([0.25, 0.25, 0.25, 1.0, 4.0, 4.0]), rtol=1e-14)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [0.0, 0.0, 6.25, 4.0, 6.25, 0.0])


def test_logit_without_bounds_is_undefined_outside_its_domain():
    x = adjoint.tensor([-0.5, 0.0, 0.5, 1.5], requires_grad=True)
    with np.errstate(all="ignore"):
        adjoint.logit(x).sum().backward()
    assert [math.isnan(g) for g in x.grad.tolist()] == [True, False, False, True]
    assert x.grad.tolist()[1] == math.inf


# orthogonal polynomials ---------------------------------------------------------------------------------------------

#: By family: the polynomial of degree n by numpy.polynomial. U is a derivative of T (DLMF 18.9.21).
POLYNOMIALS = {
    "chebyshev_polynomial_t": Chebyshev.basis,
    "chebyshev_polynomial_u": lambda n: Chebyshev.basis(n + 1).deriv() / (n + 1),
    "chebyshev_polynomial_v": lambda n: second_kind(n) - second_kind(n - 1),
    "chebyshev_polynomial_w": lambda n: second_kind(n) + second_kind(n - 1),
    "hermite_polynomial_h": Hermite.basis,
    "hermite_polynomial_he": HermiteE.basis,
    "laguerre_polynomial_l": Laguerre.basis,
    "legendre_polynomial_p": Legendre.basis,
}
FAMILIES = [*POLYNOMIALS, *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw")]
AT = np.array([-1.0, -0.25, 0.3, 1.0, 1.5])


def second_kind(n):
    return POLYNOMIALS["chebyshev_polynomial_u"](n) if n >= 0 else Chebyshev([0])


def polynomial(name, n, x, order=0):
    of = POLYNOMIALS[name.removeprefix("shifted_")](n).deriv(order)
    return 2**order * of(2 * x - 1) if name.startswith("shifted_") else of(x)


@pytest.mark.parametrize("name", FAMILIES)
def test_polynomials(name):
    x, degrees = adjoint.tensor(AT)[:, None], adjoint.arange(13)
    expected = np.stack([polynomial(name, n, AT) for n in range(13)], axis=1)
    np.testing.assert_allclose(getattr(S, name)(x, degrees).numpy(), expected, rtol=1e-11, atol=1e-11)
    single = getattr(S, name)(x.float(), degrees).numpy()
    assert single.dtype == np.float32
    expected = np.stack([polynomial(name, n, AT.astype(np.float32).astype(float)) for n in range(13)], axis=1)
    np.testing.assert_allclose(single, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_of_polynomials(name, order):
    result = derivative(lambda x: getattr(S, name)(x, 5), AT.tolist(), order)
    np.testing.assert_allclose(result, polynomial(name, 5, AT, order), rtol=1e-11, atol=1e-11)


def test_degrees_are_cut_to_integers_and_none_is_negative():
    x = adjoint.tensor(0.5)
    assert S.legendre_polynomial_p(x, 2.9) == S.legendre_polynomial_p(x, 2)
    assert S.legendre_polynomial_p(x, -1).item() == 0.0
    assert S.hermite_polynomial_h(2, adjoint.tensor([0, 1, 2])).tolist() == [1.0, 4.0, 14.0]


def test_a_degree_gets_no_gradient():
    x, n = adjoint.ones(2, requires_grad=True), adjoint.tensor([1.0, 2.0], requires_grad=True)
    S.chebyshev_polynomial_t(x, n).sum().backward()
    assert x.grad.tolist() == [1.0, 4.0] and n.grad is None


# types and names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["erf", "lgamma", "digamma", "erfinv", "i0", "logit", "xlogy"])
def test_integers_become_floating_point_and_complex_numbers_are_refused(name):
    function = getattr(adjoint, name)
    extra = (adjoint.tensor([2, 3]),) if name == "xlogy" else ()
    with np.errstate(all="ignore"):
        assert function(adjoint.tensor([1, 2]), *extra).dtype is adjoint.float32
    with pytest.raises(NotImplementedError, match=f"\"{name}.*\" not implemented for 'ComplexFloat'"):
        function(adjoint.tensor([1j, 2.0]), *extra)


@pytest.mark.parametrize("kind", [adjoint.float16, adjoint.bfloat16])
def test_half_precision_is_rounded_once(kind):
    x = adjoint.tensor([0.1, 0.7, 2.5], dtype=kind)
    for name in ("erf", "lgamma", "special_i1e", "special_ndtr"):
        function = getattr(S, name.removeprefix("special_")) if "special_" in name else getattr(adjoint, name)
        assert adjoint.equal(function(x), function(x.float()).to(kind))


@pytest.mark.parametrize("name", sorted(set(UNARY) | {"sinc", "polygamma", "mvlgamma"}))
def test_functions_of_torch_itself_are_methods_and_the_others_are_not(name):
    of_torch = {"digamma", "erf", "erfc", "erfinv", "i0", "lgamma", "logit", "mvlgamma", "polygamma", "sinc"}
    for member in (name, f"{name}_"):
        assert hasattr(adjoint.Tensor, member) == (name in of_torch)
    assert hasattr(adjoint, name) == (name in of_torch)


@pytest.mark.parametrize("name", FAMILIES)
def test_degrees_that_take_too_many_steps_are_refused(name):
    x, degree = adjoint.tensor([0.5]), 10**5 + 1
    message = rf"^{name}\(\): the degree may be at most 100000, .* but got {degree}$"
    for n in (degree, adjoint.tensor([1.0, degree])):
        with pytest.raises(RuntimeError, match=message):
            getattr(S, name)(x, n)


def test_names_in_the_namespace_are_those_of_functions_elsewhere():
    x = adjoint.tensor([0.2, 0.7], dtype=adjoint.float64)
    for name in ("erf", "erfc", "erfinv", "digamma", "i0", "logit", "sinc", "exp2", "expm1", "log1p", "round"):
        assert getattr(S, name) is getattr(adjoint, name)
    assert adjoint.equal(S.expit(x), x.sigmoid()) and adjoint.equal(S.gammaln(x), x.lgamma())
    assert adjoint.equal(S.gammainc(x, x), adjoint.igamma(x, x)) and adjoint.equal(
        S.multigammaln(x + 1, 2), (x + 1).mvlgamma(2)
    )
    assert adjoint.equal(S.softmax(x, 0), x.softmax(0)) and adjoint.equal(S.log_softmax(x, 0), x.log_softmax(0))
    out = adjoint.empty(2, dtype=adjoint.float64)
    assert S.airy_ai(x, out=out) is out and adjoint.equal(out, S.airy_ai(x))


ODD = {
    "erf": mpmath.erf, "erfinv": mpmath.erfinv, "i1": lambda x: mpmath.besseli(1, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), "bessel_j1": lambda x: mpmath.besselj(1, x),
    "modified_bessel_i1": lambda x: mpmath.besseli(1, x), "expm1": mpmath.expm1, "log1p": mpmath.log1p,
}  # fmt: skip
TINY = [5e-324 * n for n in (1, 2, 3, 7, 101)] + [1e-310, 2.2250738585072014e-308, 1e-300, 1e-160, 1e-30, 1e-9]


@pytest.mark.parametrize("name", ODD)
def test_odd_functions_keep_the_digits_of_tiny_arguments(name):
    x = np.array([*TINY, *(-value for value in TINY)])
    actual = getattr(S, name)(adjoint.from_numpy(x)).numpy()
    for value, result in zip(x, actual, strict=True):
        with mpmath.workdps(1000):
            exact = ODD[name](mpmath.mpf(float(value)))
            error = abs(mpmath.mpf(float(result)) - exact) / mpmath.mpf(float(np.spacing(abs(result))))
            assert error <= 2, value
    assert (np.signbit(actual) == np.signbit(x)).all()


def test_ends_of_lgamma() -> None:
    assert adjoint.lgamma(adjoint.tensor([float("-inf"), float("inf")])).tolist() == [float("inf")] * 2
