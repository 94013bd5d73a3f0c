"""Taylor mode: `jet` and `taylor` against mpmath, other transformations, and formulas; wrong arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels.series import loops
from adjoint.arrays.kernels.series.elementwise import OF_ONE
from adjoint.autograd import forward_ad
from adjoint.func import grad, jacfwd, jet, jvp, taylor, vmap

special = adjoint.special
ORDER = 10

# comparison with mpmath -----------------------------------------------------------------------------------------------

#: A function, mpmath's function, and a point.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "exp": (adjoint.exp, mpmath.exp, 0.7),
    "exp2": (adjoint.exp2, lambda t: mpmath.mpf(2) ** t, 0.7),
    "expm1": (adjoint.expm1, mpmath.expm1, 0.7),
    "log": (adjoint.log, mpmath.log, 0.7),
    "log2": (adjoint.log2, lambda t: mpmath.log(t) / mpmath.log(2), 0.7),
    "log10": (adjoint.log10, mpmath.log10, 0.7),
    "log1p": (adjoint.log1p, mpmath.log1p, 0.7),
    "sqrt": (adjoint.sqrt, mpmath.sqrt, 0.7),
    "rsqrt": (adjoint.rsqrt, lambda t: 1 / mpmath.sqrt(t), 0.7),
    "reciprocal": (adjoint.reciprocal, lambda t: 1 / t, 0.7),
    "power": (lambda x: x**2.5, lambda t: t ** mpmath.mpf(2.5), 0.7),
    "whole power": (lambda x: x**7, lambda t: t**7, -0.7),
    "power of a number": (lambda x: 3.0**x, lambda t: mpmath.mpf(3) ** t, 0.7),
    "power of itself": (lambda x: x**x, lambda t: t**t, 0.7),
    "sin": (adjoint.sin, mpmath.sin, 0.7),
    "cos": (adjoint.cos, mpmath.cos, 0.7),
    "tan": (adjoint.tan, mpmath.tan, 0.7),
    "asin": (adjoint.asin, mpmath.asin, 0.3),
    "acos": (adjoint.acos, mpmath.acos, 0.3),
    "atan": (adjoint.atan, mpmath.atan, 0.7),
    "sinh": (adjoint.sinh, mpmath.sinh, 0.7),
    "cosh": (adjoint.cosh, mpmath.cosh, 0.7),
    "tanh": (adjoint.tanh, mpmath.tanh, 0.7),
    "asinh": (adjoint.asinh, mpmath.asinh, 0.7),
    "acosh": (adjoint.acosh, mpmath.acosh, 1.7),
    "atanh": (adjoint.atanh, mpmath.atanh, 0.3),
    "sigmoid": (adjoint.sigmoid, lambda t: 1 / (1 + mpmath.exp(-t)), 0.7),
    "softplus": (adjoint.nn.functional.softplus, lambda t: mpmath.log(1 + mpmath.exp(t)), 0.7),
    "silu": (adjoint.nn.functional.silu, lambda t: t / (1 + mpmath.exp(-t)), 0.7),
    "erf": (special.erf, mpmath.erf, 0.7),
    "erfc": (special.erfc, mpmath.erfc, 0.7),
    "erfinv": (special.erfinv, mpmath.erfinv, 0.3),
    "erfcx": (special.erfcx, lambda t: mpmath.exp(t * t) * mpmath.erfc(t), 0.7),
    "lgamma": (adjoint.lgamma, mpmath.loggamma, 2.7),
    "digamma": (adjoint.digamma, mpmath.digamma, 2.7),
    "sinc": (adjoint.sinc, mpmath.sincpi, 0.7),
    "logit": (adjoint.logit, lambda t: mpmath.log(t / (1 - t)), 0.3),
    "entr": (special.entr, lambda t: -t * mpmath.log(t), 0.7),
    "quotient": (lambda x: adjoint.sin(x) / (1 + x * x), lambda t: mpmath.sin(t) / (1 + t * t), 0.7),
    "composition": (lambda x: (x.exp() * x).cos().exp(), lambda t: mpmath.exp(mpmath.cos(t * mpmath.exp(t))), 0.7),
    "airy": (special.airy_ai, mpmath.airyai, 0.7),
    "bessel_j0": (special.bessel_j0, lambda t: mpmath.besselj(0, t), 2.7),
    "bessel_i0": (special.modified_bessel_i0, lambda t: mpmath.besseli(0, t), 2.7),
    "gamma": (lambda x: adjoint.lgamma(x).exp(), mpmath.gamma, 2.7),
}


def number(value: float) -> Any:
    return adjoint.tensor(value, dtype=adjoint.float64)


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual.numpy(), np.asarray(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients_are_those_of_mpmath(name: str) -> None:
    function, of_mpmath, point = FUNCTIONS[name]
    with mpmath.workdps(50):
        expected = np.array([float(c) for c in mpmath.taylor(of_mpmath, mpmath.mpf(point), ORDER)])
    result = taylor(function, number(point), order=ORDER).numpy()
    # a coefficient that is nearly 0 is compared with the size of its neighbours
    near = np.maximum(np.abs(expected), np.abs(np.append(expected[1:], 0)))
    size = np.maximum(near, 1e-3 * np.max(np.abs(expected)) * 0.5 ** np.arange(ORDER + 1))
    assert np.max(np.abs(result - expected) / np.where(size == 0, 1, size)) < 1e-12


def test_complex_numbers() -> None:
    point = 0.3 + 0.4j
    start = adjoint.tensor(point, dtype=adjoint.complex128)
    result = taylor(lambda z: adjoint.exp(z) * adjoint.sqrt(z), start, order=6)
    with mpmath.workdps(40):
        expected = [complex(c) for c in mpmath.taylor(lambda z: mpmath.exp(z) * mpmath.sqrt(z), mpmath.mpc(point), 6)]
    close(result, expected)


# conventions ----------------------------------------------------------------------------------------------------------


def test_series_of_jet_are_derivatives_by_the_formula_of_faa_di_bruno() -> None:
    """JAX's convention: the second derivative of f o x is x'' f' + x'^2 f'', and so on."""
    x = number(0.7)
    rows = [number(v) for v in (0.3, -0.2, 0.5)]
    value, (first, second, third) = jet(adjoint.sin, (x,), (rows,))
    s, c = np.sin(0.7), np.cos(0.7)
    close(value, s)
    close(first, 0.3 * c)
    close(second, -0.2 * c - 0.3**2 * s)
    close(third, 0.5 * c - 3 * 0.3 * -0.2 * s - 0.3**3 * c)


def test_jet_of_trees() -> None:
    primals = ({"a": number(0.5)}, number(2.0))
    series = ({"a": [number(1.0), number(0.0)]}, [number(0.0), number(0.0)])
    value, result = jet(lambda tree, b: {"y": tree["a"].exp() * b, "b": b}, primals, series)
    close(value["y"], 2 * np.exp(0.5))
    close(result["y"][1], 2 * np.exp(0.5))
    assert [row.item() for row in result["b"]] == [0.0, 0.0]


def test_arrays_in_arrays_out() -> None:
    result = taylor(np.sin, np.array([0.3, 0.5]), order=2)
    assert type(result) is np.ndarray
    np.testing.assert_allclose(result[2], -np.sin([0.3, 0.5]) / 2)
    value, (slope,) = jet(np.exp, (1.0,), ((2.0,),))
    assert value == pytest.approx(np.e)
    assert slope == pytest.approx(2 * np.e)


def test_order_0() -> None:
    close(taylor(adjoint.exp, number(0.5), order=0), [np.exp(0.5)])
    assert jet(adjoint.exp, (number(0.5),), ([],))[1] == []


def test_dtype_is_kept() -> None:
    assert taylor(lambda x: x.exp() / x, adjoint.tensor([0.5]), order=3).dtype == adjoint.float32


@pytest.mark.parametrize("function", [adjoint.relu, adjoint.abs, lambda x: adjoint.clamp(x, 0.0, 1.0)])
def test_kinks_are_one_sided(function: Any) -> None:
    """At a kink, the series uses the partial derivative that torch uses there."""
    result = taylor(function, number(0.0), order=2)
    close(result[1], jvp(function, (number(0.0),), (number(1.0),))[1].item())
    close(result[2], 0.0)


def test_root_at_0_is_undefined() -> None:
    with np.errstate(all="ignore"):
        assert not np.isfinite(taylor(adjoint.sqrt, number(0.0), order=2).numpy()[1:]).any()


# nestings with other transformations ----------------------------------------------------------------------------------


def example(x: Any) -> Any:
    return (adjoint.sin(x) * x.exp() / (1 + x * x)).tanh()


POINTS = adjoint.tensor([0.3, 0.5, 0.7], dtype=adjoint.float64)
SERIES = taylor(example, POINTS, order=6).numpy()


def test_vmap_around_and_inside() -> None:
    close(vmap(lambda x: taylor(example, x, order=6), out_dims=1)(POINTS), SERIES)
    close(taylor(lambda x: vmap(example)(x), POINTS, order=6), SERIES)


@pytest.mark.parametrize("k", range(5))
def test_derivatives_of_coefficients(k: int) -> None:
    expected = (k + 1) * SERIES[k + 1]
    close(grad(lambda x: taylor(example, x, order=5)[k].sum())(POINTS), expected)
    close(jvp(lambda x: taylor(example, x, order=5)[k], (POINTS,), (adjoint.ones_like(POINTS),))[1], expected)


def test_series_of_derivatives() -> None:
    expected = SERIES[1:] * np.arange(1, 7)[:, None]
    close(taylor(grad(lambda x: example(x).sum()), POINTS, order=5), expected)
    close(taylor(lambda x: jvp(example, (x,), (adjoint.ones_like(x),))[1], POINTS, order=5), expected)
    close(taylor(jacfwd(example), POINTS, order=5).sum(-1), expected)


def test_series_of_series() -> None:
    nested = taylor(lambda x: taylor(example, x, order=2)[2], POINTS, order=4)
    close(nested, [6 * 5 // 2 * SERIES[6] if k == 4 else (k + 2) * (k + 1) / 2 * SERIES[k + 2] for k in range(5)])


def test_gradient_by_a_captured_parameter() -> None:
    a = adjoint.tensor(0.5, dtype=adjoint.float64, requires_grad=True)
    taylor(lambda x: (a * x).exp(), POINTS, order=3)[3].sum().backward()
    x = POINTS.numpy()
    close(a.grad, ((3 * 0.5**2 + 0.5**3 * x) * np.exp(0.5 * x) / 6).sum())


def test_dual_tensors_outside_and_inside() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(POINTS, adjoint.ones_like(POINTS))
        close(forward_ad.unpack_dual(taylor(example, dual, order=5)).tangent[4], 5 * SERIES[5])
        result = taylor(
            lambda x: forward_ad.unpack_dual(example(forward_ad.make_dual(x, adjoint.ones_like(x)))).tangent,
            POINTS,
            order=3,
        )
    close(result, SERIES[1:5] * np.arange(1, 5)[:, None])


CONSTANT = adjoint.tensor([0.7, -0.4, 1.1], dtype=adjoint.float64)
PRIMALS_AND_TANGENTS: dict[str, Callable[[Any], Any]] = {"constant": lambda x: CONSTANT, "varying": lambda x: x * x}


@pytest.mark.parametrize("tangent", PRIMALS_AND_TANGENTS)
@pytest.mark.parametrize("primal", PRIMALS_AND_TANGENTS)
def test_series_of_dual_tensors_of_a_level_around(primal: str, tangent: str) -> None:
    parts = [PRIMALS_AND_TANGENTS[each] for each in (primal, tangent)]
    point = adjoint.tensor([0.3, 0.9, -0.2], dtype=adjoint.float64)

    def by_duals(x: Any) -> Any:
        return adjoint.stack([*forward_ad.unpack_dual(forward_ad.make_dual(*[part(x) for part in parts]).sin())])

    def by_formula(x: Any) -> Any:
        p, t = [part(x) for part in parts]
        return adjoint.stack([p.sin(), t * p.cos()]) + 0 * x

    with forward_ad.dual_level():
        result = taylor(by_duals, point, order=4)
    close(result, taylor(by_formula, point, order=4))


def test_checkpoint_inside() -> None:
    """A backward pass runs the region again after the end of the level."""
    a = adjoint.tensor(0.5, dtype=adjoint.float64, requires_grad=True)

    def region(x: Any) -> Any:
        return (a * x).sin().exp()

    def with_checkpoint(x: Any) -> Any:
        return adjoint.utils.checkpoint.checkpoint(region, x, use_reentrant=False)

    slopes = []
    for function in (region, with_checkpoint):
        (slope,) = adjoint.autograd.grad(taylor(function, POINTS, order=3)[3].sum(), a)
        slopes.append(slope)
    close(slopes[1], slopes[0].numpy())


class Exponential(adjoint.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(output)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return ctx.saved_tensors[0] * t


def test_custom_functions() -> None:
    """All orders follow from the jvp of a custom function, also if the jvp uses the result."""
    close(taylor(lambda x: Exponential.apply(x * x), POINTS, order=5), taylor(lambda x: (x * x).exp(), POINTS, order=5))


def test_operations_in_place() -> None:
    def in_place(x: Any) -> Any:
        y = x.clone()
        y *= x
        y[1] = y[0] * 2
        part = y[1:]
        part += x[:2]
        y[2].mul_(3.0)
        return y

    def functional(x: Any) -> Any:
        return adjoint.stack([x[0] * x[0], 2 * x[0] * x[0] + x[0], (x[2] * x[2] + x[1]) * 3])

    close(taylor(in_place, POINTS, order=3), taylor(functional, POINTS, order=3))


@pytest.mark.parametrize("follow", [lambda y: y.tanh(), lambda y: y * y, lambda y: adjoint.cat([y, y.cumprod(0)])])
def test_writes_through_a_detached_tensor_change_the_value_alone(follow: Any) -> None:
    def write(t: Any) -> Any:
        y = (POINTS + t).sin()
        y.detach().mul_(2.0)
        return follow(y)

    def push(f: Any) -> Any:
        return lambda t: jvp(f, (t,), (number(1.0),))[1]

    y, series = jet(write, (number(0.0),), ([number(1.0), number(0.0), number(0.0)],))
    f = write
    for tensor in (y, *series):
        close(tensor, f(number(0.0)).numpy())
        f = push(f)


def test_writing_into_a_constant() -> None:
    def write(x: Any) -> Any:
        y = adjoint.zeros(3, dtype=adjoint.float64)
        y[1:] = x[:2].exp()
        y.view(3)[0] = x[0]
        return y * y

    close(
        taylor(write, POINTS, order=3),
        taylor(lambda x: adjoint.stack([x[0] ** 2, (2 * x[0]).exp(), (2 * x[1]).exp()]), POINTS, order=3),
    )


# matrices -------------------------------------------------------------------------------------------------------------

FIRST, SECOND = (np.random.default_rng(seed).standard_normal((4, 4)) for seed in (1, 2))
POSITIVE = adjoint.tensor(FIRST @ FIRST.T + 4 * np.eye(4))
CHANGE = adjoint.tensor(SECOND + SECOND.T) * 0.3


def matrix(t: Any) -> Any:
    return POSITIVE + t * CHANGE + t * t * adjoint.eye(4, dtype=adjoint.float64)


@pytest.mark.parametrize(
    ("function", "inverse"),
    [
        (adjoint.linalg.cholesky, lambda y: y @ y.mT),
        (adjoint.linalg.inv, adjoint.linalg.inv),
        (lambda a: adjoint.linalg.solve(a, adjoint.eye(4, dtype=adjoint.float64)), adjoint.linalg.inv),
        (adjoint.linalg.qr, lambda y: y[0] @ y[1]),
        (adjoint.linalg.eigh, lambda y: y[1] @ adjoint.diag(y[0]) @ y[1].mT),
        (adjoint.linalg.svd, lambda y: y[0] @ adjoint.diag(y[1]) @ y[2]),
    ],
)
def test_series_of_factors_give_the_series_of_the_matrix(function: Any, inverse: Any) -> None:
    result = taylor(lambda t: inverse(function(matrix(t))), number(0.0), order=6)
    close(result, taylor(matrix, number(0.0), order=6), 1e-10)


def test_determinants() -> None:
    expected = np.poly1d([1.0])
    eigenvalues = np.linalg.eigvalsh(FIRST + FIRST.T)
    for value in eigenvalues:
        expected = expected * np.poly1d([1.0, value])
    start, eye = adjoint.tensor(FIRST + FIRST.T), adjoint.eye(4, dtype=adjoint.float64)
    close(taylor(lambda t: adjoint.linalg.det(start + t * eye), number(0.0), order=4), expected.coeffs[::-1], 1e-10)
    result = taylor(lambda t: adjoint.linalg.slogdet(start + t * eye)[1], number(0.0), order=3)
    close(result[1], (1 / eigenvalues).sum(), 1e-10)
    close(result[2], -(1 / eigenvalues**2).sum() / 2, 1e-10)


def test_matrix_exponential() -> None:
    a = adjoint.tensor(FIRST) * 0.3
    result = taylor(lambda t: adjoint.linalg.matrix_exp(t * a), number(0.0), order=4)
    close(result[3], (a @ a @ a).numpy() / 6, 1e-12)


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: taylor(example, POINTS, order=-1), ValueError, "order must be 0 or more, got -1"),
        (lambda: taylor(example, POINTS, order=1.5), TypeError, "order must be an int, got float"),
        (lambda: taylor(example, adjoint.tensor([1, 2]), order=1), TypeError, "got adjoint.int64"),
        (lambda: jet(example, POINTS, ([POINTS],)), TypeError, "primals must be a tuple"),
        (lambda: jet(example, (POINTS,), ([POINTS[:2]],)), ValueError, r"order 1 has shape \(2,\)"),
        (lambda: jet(example, (POINTS,), (POINTS,)), ValueError, "must be a list or tuple of Tensors, got Tensor"),
        (lambda: jet(example, (POINTS,), ([POINTS], [POINTS])), ValueError, "must have the structure of primals"),
        (lambda: jet(lambda a, b: a, (POINTS, POINTS), ([POINTS], [])), ValueError, r"one length, got \[1, 0\]"),
        (lambda: jet(example, (POINTS,), ([POINTS * 1j],)), ValueError, "is complex, its primal is real"),
        (lambda: jet(example, (POINTS,), ([POINTS, 3.0],)), TypeError, "expected Tensors, got float"),
        (lambda: jet(example, (POINTS,), ([POINTS.long()],)), TypeError, "got adjoint.int64; convert x by x.double"),
        (lambda: jet(lambda: POINTS, (), ()), ValueError, "has no Tensor: give at least one"),
        (lambda: taylor(lambda x: 3, POINTS, order=1), RuntimeError, "unsupported type <class 'int'>"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# the fast path of plain arrays ----------------------------------------------------------------------------------------

QUICK: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(adjoint, name) for name in OF_ONE},
    "sum": lambda x: x + x.exp(),
    "sum with a constant": lambda x: 1.5 + x,
    "difference": lambda x: x.exp() - x,
    "difference from a constant": lambda x: 1.5 - x.exp(),
    "product": lambda x: x * x.exp(),
    "product with a number": lambda x: 3 * x.exp(),
    "quotient": lambda x: x.exp() / x,
    "quotient of a number": lambda x: 2.0 / x.exp(),
    "quotient by a number": lambda x: x.exp() / 3,
    "powers": lambda x: x**2 + x**-1.5 + x**3,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", QUICK)
def test_plain_arrays_have_the_series_of_arrays_that_are_followed(name: str, dtype: str) -> None:
    # the size gives whole tiles, short tiles and single elements
    x = adjoint.tensor(np.linspace(0.2, 0.9, 71), dtype=getattr(adjoint, dtype))
    followed = taylor(QUICK[name], x.clone().requires_grad_(), order=5).detach()
    result = taylor(QUICK[name], x, order=5)
    assert result.dtype == x.dtype and result.shape == (6, 71)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(result.numpy(), followed.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(not loops.compiled, reason="only the compiled form has these loops")
@pytest.mark.parametrize("size", [1, 4, 71])
def test_loops_give_what_whole_arrays_give(size: int) -> None:
    rng = np.random.default_rng(0)
    x, other = rng.uniform(0.5, 1.5, (2, 6, size))
    pairs = [
        (loops.of_two(loops.PRODUCT, x, other), loops.product_rows(x, other)),
        (loops.of_two(loops.CORRELATION, x, other), loops.correlation_rows(x, other)),
        (loops.of_two(loops.QUOTIENT, x, other), loops.quotient_rows(x, other)),
        (loops.riccati(x, np.tanh(x[0]), 1, 0, -1), loops.riccati_rows(x, np.tanh(x[0]), 1, 0, -1)),
        (loops.power(x, x[0] ** 1.5, 1.5), loops.power_rows(x, x[0] ** 1.5, 1.5)),
        (loops.log(x, np.log(x[0])), loops.log_rows(x, np.log(x[0]))),
        (
            loops.wave(x, np.sin(x[0]), np.cos(x[0]), 1, -1),
            loops.wave_rows(x, np.sin(x[0]), np.cos(x[0]), 1, -1),
        ),
    ]
    for actual, rows in pairs:
        np.testing.assert_allclose(actual, np.stack(rows), rtol=1e-12, atol=1e-12)


def test_results_keep_no_series_and_arguments_stay_as_they_are() -> None:
    x = adjoint.tensor([0.5, 1.0])
    value, _ = jet(lambda x: (x * x).exp(), (x,), ([adjoint.ones(2)],))
    assert not value._tangents and not x._tangents

    def doubles(x: Any) -> Any:
        y = x * 1.0
        y.mul_(2.0)
        return y * y

    np.testing.assert_allclose(taylor(doubles, x, order=2).numpy(), [[1.0, 4.0], [4.0, 8.0], [4.0, 4.0]], rtol=1e-6)


@pytest.mark.parametrize("function", [lambda x: x * x.exp(), lambda x: x @ x.mT])
def test_products_of_large_series_are_those_of_small_ones(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few products of coefficients are computed at once, and many of them order by order."""
    from adjoint.rules import recurrences

    x = adjoint.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=adjoint.float64)
    at_once = taylor(lambda t: function(x + t * x.cos()), adjoint.tensor(0.0, dtype=adjoint.float64), 4)
    monkeypatch.setattr(recurrences, "_TOGETHER", 0)
    by_orders = taylor(lambda t: function(x + t * x.cos()), adjoint.tensor(0.0, dtype=adjoint.float64), 4)
    np.testing.assert_allclose(by_orders.numpy(), at_once.numpy(), rtol=1e-13)
