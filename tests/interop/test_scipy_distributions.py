"""Every distribution of numbers in scipy.stats: values are SciPy's, derivatives agree with finite differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.stats._distr_params import distcont, distdiscrete

import adjoint
from adjoint.interop.scipy_functions.distributions.tables.rows import ROWS
from adjoint.interop.scipy_functions.distributions.univariate import OF_PARAMETERS, OF_PROBABILITIES
from adjoint.scipy import stats

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), pytest.mark.filterwarnings("ignore::UserWarning")]
Call = Callable[..., Any]

#: Shape parameters for which finite differences have enough digits. SciPy's examples do not.
OTHER_SHAPES: dict[str, tuple[float, ...]] = {
    "fatiguelife": (0.8,), "kappa4": (0.2, 0.1), "ksone": (22,), "irwinhall": (5,), "chi": (7.0,), "chi2": (5.5,),
    "rel_breitwigner": (3.5,),
}  # fmt: skip
QUANTILES = np.array([0.11, 0.37, 0.58, 0.83])
WEIGHTS = np.array([0.7, -0.4, 1.1, 0.9])
REFUSED = sorted(name for name, row in ROWS.items() if row.refused)


def _samples(table: Any) -> dict[str, tuple[float, ...]]:
    first: dict[str, tuple[float, ...]] = {}
    for name, shapes in table:
        if isinstance(name, str) and name not in REFUSED:
            first.setdefault(name, OTHER_SHAPES.get(name, tuple(shapes)))
    return first


CONTINUOUS, DISCRETE = _samples(distcont), _samples(distdiscrete)


def slopes(function: Call, values: list[Any], position: int) -> np.ndarray:
    """Central differences by one argument, with extrapolation."""

    def difference(step: float) -> np.ndarray:
        ahead, behind = list(values), list(values)
        ahead[position], behind[position] = values[position] + step, values[position] - step
        return (np.asarray(function(*ahead)) - np.asarray(function(*behind))) / (2 * step)

    step = 1e-3 * (np.ptp(values[position]) if np.ndim(values[position]) else max(0.1, abs(values[position])))
    return (4 * difference(step / 2) - difference(step)) / 3


def check(name: str, method: str, shapes: tuple[float, ...], skipped: tuple[str, ...] = ()) -> None:
    """Compare values and the derivative by each argument with SciPy."""
    discrete = name in DISCRETE
    points = [2.0] if discrete else [0.3, 1.7]
    of_scipy = getattr(scipy.stats, name)
    first = [QUANTILES] if method in OF_PROBABILITIES else [of_scipy.ppf(QUANTILES, *shapes, *points)]
    values: list[Any] = [*([] if method in OF_PARAMETERS else first), *map(float, shapes), *points]
    names = [*(["x"] if len(values) > len(shapes) + len(points) else []), *stats_shapes(name), "loc", "scale"]
    skipped = (*skipped, *getattr(ROWS.get(name), "counts", ()), *(("x", "loc") if discrete else ()))
    tensors = [
        adjoint.tensor(v, dtype=adjoint.float64, requires_grad=parameter not in skipped)
        for parameter, v in zip(names, values, strict=False)
    ]
    result = getattr(getattr(stats, name), method)(*tensors)
    expected = getattr(of_scipy, method)(*values)
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-7, atol=1e-12)
    numeric = [slopes(getattr(of_scipy, method), values, i) if t.requires_grad else 0.0 for i, t in enumerate(tensors)]
    finite = functools.reduce(np.logical_and, map(np.isfinite, numeric), np.isfinite(expected))
    weights = np.where(finite, WEIGHTS[: np.size(expected)].reshape(np.shape(expected)), 0.0)
    exact = gradients(result, tensors, weights)
    for parameter, tensor, ours, theirs in zip(names, tensors, exact, numeric, strict=False):
        if tensor.requires_grad:
            parts = weights * np.where(finite, theirs, 0.0)
            size = 1 + abs(parts).max()
            target = parts if tensor.ndim else parts.sum()
            np.testing.assert_allclose(ours, target, rtol=1e-4, atol=1e-7 * size, err_msg=f"{method}, {parameter}")
    if result.requires_grad and method in OF_PROBABILITIES:
        # inverses have their own rules, and the other functions are composed of operations
        check_forward_mode(getattr(getattr(stats, name), method), tensors, weights, exact)


def check_forward_mode(function: Call, tensors: list[Any], weights: Any, exact: list[Any]) -> None:
    """The jvp along a direction agrees with the gradients of a weighted sum."""
    by = [i for i, tensor in enumerate(tensors) if tensor.requires_grad]
    ways = [np.cos(1.7 * i + np.arange(tensors[i].numel())).reshape(tensors[i].shape) for i in by]

    def of_these(*args: Any) -> Any:
        values = dict(zip(by, args, strict=True))
        return function(*[values.get(i, tensor.detach()) for i, tensor in enumerate(tensors)])

    points = tuple([tensors[i].detach() for i in by])
    _, tangents = adjoint.func.jvp(of_these, points, tuple([adjoint.tensor(way) for way in ways]))
    pairing = sum(np.sum(exact[i] * way) for i, way in zip(by, ways, strict=True))
    along = np.sum(np.where(weights == 0, 0, weights * tangents.numpy()))
    np.testing.assert_allclose(along, pairing, rtol=1e-6, atol=1e-9 * (1 + abs(pairing)))


def gradients(result: Any, tensors: list[Any], weights: Any) -> list[Any]:
    """The gradients of a weighted sum by all arguments that require one; 0 for others."""
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    if not result.requires_grad:
        return [0.0 for _ in tensors]
    actual = iter(
        adjoint.autograd.grad(
            result, inputs, adjoint.tensor(weights, dtype=adjoint.float64), allow_unused=True, materialize_grads=True
        )
    )
    return [next(actual).numpy() if tensor.requires_grad else 0.0 for tensor in tensors]


def stats_shapes(name: str) -> list[str]:
    shapes = getattr(scipy.stats, name).shapes
    return shapes.split(", ") if shapes else []


def test_95_of_104_continuous_distributions_are_differentiated() -> None:
    names = {name for name, _ in distcont if isinstance(name, str)}
    assert (
        len(names & set(CONTINUOUS)) >= len(names) - 3
        and sorted(["kstwo", "levy_stable", "poisson_binom", "studentized_range"]) == REFUSED
    )
    every = (getattr(scipy.stats, name) for name in scipy.stats.__all__)
    kinds = (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    assert {d.name for d in every if isinstance(d, kinds)} <= {*CONTINUOUS, *DISCRETE, *REFUSED, "trapz"}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities(name: str) -> None:
    check(name, "logpdf", CONTINUOUS[name])
    check(name, "pdf", CONTINUOUS[name])


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
def test_distribution_functions(name: str, method: str) -> None:
    check(name, method, CONTINUOUS[name])


#: SciPy integrates these numerically, which takes seconds or gives few digits.
SLOW = {"ksone", "recipinvgauss", "vonmises_line", "vonmises", "kappa4", "gausshyper", "genhyperbolic", "geninvgauss",
        "norminvgauss", "nct", "ncf", "irwinhall", "landau", "tukeylambda", "kappa3", "powernorm", "johnsonsb",
        "dpareto_lognorm", "powerlognorm", "kstwobign", "rel_breitwigner", "genexpon", "exponpow", "jf_skew_t",
        "exponweib", "halfgennorm", "gompertz", "genhalflogistic", "crystalball"}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name not in SLOW])
def test_numbers_of_whole_distributions(name: str) -> None:
    of_scipy, shapes = getattr(scipy.stats, name), CONTINUOUS[name]
    # the density is 0 at the median
    for method in OF_PARAMETERS[:4] if name in ("dgamma", "dweibull") else OF_PARAMETERS:
        if np.isfinite(getattr(of_scipy, method)(*shapes)):
            check(name, method, shapes)


@pytest.mark.parametrize("name", DISCRETE)
def test_counts(name: str) -> None:
    for method in ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "entropy", "mean", "var", "std"):
        check(name, method, DISCRETE[name])


# limits of the support, orders and modes ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTINUOUS)
def test_edges_of_the_support(name: str) -> None:
    of_scipy, shapes = getattr(scipy.stats, name), CONTINUOUS[name]
    low, high = of_scipy.support(*shapes)
    places = np.array([x for x in (low, low - 1, high, high + 1) if np.isfinite(x)])
    skipped = getattr(ROWS.get(name), "counts", ())
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf") if places.size else ():
        values = [places, *map(float, shapes)]
        names = ["x", *stats_shapes(name)]
        tensors = [
            adjoint.tensor(v, dtype=adjoint.float64, requires_grad=parameter not in skipped)
            for parameter, v in zip(names, values, strict=True)
        ]
        result = getattr(getattr(stats, name), method)(*tensors)
        expected = getattr(of_scipy, method)(*values)
        np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-7, atol=1e-12, err_msg=method)
        for gradient in gradients(result, tensors, np.isfinite(expected) * 1.0):
            assert not np.isnan(gradient).any(), method


def test_derivatives_on_an_edge_are_those_from_inside() -> None:
    x = adjoint.tensor([0.0], dtype=adjoint.float64, requires_grad=True)
    for shape, slope in ((1.0, -1.0), (2.0, 1.0), (3.0, 0.0)):
        assert adjoint.autograd.grad(stats.gamma.pdf(x, shape).sum(), x)[0].item() == pytest.approx(slope)
    assert adjoint.autograd.grad(stats.expon.cdf(x).sum(), x)[0].item() == 1
    assert adjoint.autograd.grad(stats.expon.logpdf(x).sum(), x)[0].item() == -1


ORDERS: dict[str, tuple[Call, tuple[float, ...]]] = {
    "code of SciPy": (lambda x, a, b: stats.johnsonsu.logpdf(x, a, b), (0.4, 1.2, 0.8)),
    "a formula": (lambda x, c, s: stats.genextreme.cdf(x, c, 0.0, s), (0.4, 0.1, 1.3)),
    "a limit": (lambda x, c: stats.genpareto.logpdf(x, c), (0.4, 0.0)),
    "a quadrature": (lambda x, df, nc: stats.ncx2.logcdf(x, df, nc), (2.5, 3.1, 1.2)),
    "a quantile": (lambda q, a, s: stats.gamma.isf(q, a, 0.0, s), (0.3, 2.1, 1.4)),
    "a quantile of a quadrature": (lambda q, a: stats.rice.ppf(q, a), (0.3, 0.8)),
    "an inverse": (lambda x, lam: stats.tukeylambda.logpdf(x, lam), (0.4, 0.3)),
    "a place alone": (lambda x: stats.kstwobign.logsf(x), (0.9,)),
    "a circle": (lambda x, k: stats.vonmises.cdf(x, k), (7.0, 1.3)),
    "an entropy": (lambda a, b: stats.beta.entropy(a, b), (2.3, 1.7)),
    "a variance": (lambda a, b: stats.invgauss.var(a, 0.0, b), (0.8, 1.7)),
    "counts": (lambda p, q: stats.skellam.logcdf(3, p, q), (4.0, 2.5)),
}


@pytest.mark.parametrize("kind", ORDERS)
def test_second_order_and_forward_mode(kind: str) -> None:
    function, values = ORDERS[kind]
    tensors = [adjoint.tensor(v, dtype=adjoint.float64, requires_grad=True) for v in values]
    assert adjoint.autograd.gradcheck(function, tensors, check_forward_ad=True)
    assert adjoint.autograd.gradgradcheck(function, tensors)


# distributions as objects ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"scipy.stats.{name} was given a Tensor or an Array"):
        getattr(getattr(stats, name), "pmf" if name == "poisson_binom" else "pdf")(
            adjoint.tensor(0.5, requires_grad=True), 3.0, 2.0
        )


def test_whole_numbers_have_no_derivative() -> None:
    n = adjoint.tensor(5.0, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(TypeError, match="n is a whole number"):
        stats.binom.logpmf(2, n, 0.3)
    assert stats.binom.logpmf(2, n.detach(), 0.3).item() == pytest.approx(scipy.stats.binom.logpmf(2, 5, 0.3))


def test_an_integral_that_is_not_the_probability_is_refused() -> None:
    # the mean is that of a heavy tail, which falls too slowly
    b = adjoint.tensor(1.01, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(ArithmeticError, match="no derivative by the shape parameters"):
        stats.pareto.mean(b)


def test_shapes_broadcast_and_dtypes_stay() -> None:
    x, a = adjoint.rand(4, 1, dtype=adjoint.float32), adjoint.rand(3, dtype=adjoint.float32) + 1
    for method in ("logpdf", "cdf", "ppf"):
        result = getattr(stats.gamma, method)(x, a, scale=2.0)
        assert result.dtype is adjoint.float32 and result.shape == (4, 3)
    assert stats.gamma.logpdf(np.ones((0, 3)), a).shape == (0, 3)
    assert stats.norm.logpdf(1, adjoint.tensor(2.0, dtype=adjoint.float64)).dtype is adjoint.float64


def test_parameters_that_are_not_allowed_give_nan() -> None:
    shapes = adjoint.tensor([-1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    result = stats.gamma.cdf(1.0, shapes)
    np.testing.assert_allclose(result.detach().numpy(), scipy.stats.gamma.cdf(1.0, [-1.0, 2.0]))
    result[1].backward()
    assert np.isfinite(shapes.grad.numpy()).all()
    for method in ("logpdf", "sf", "ppf"):
        assert np.isnan(getattr(stats.norm, method)(0.5, 0.0, adjoint.tensor(-1.0)).item())


def test_frozen_distributions() -> None:
    loc = adjoint.tensor([0.5, 1.0], dtype=adjoint.float64, requires_grad=True)
    frozen = stats.gamma(2.0, loc=loc, scale=2.0)
    plain = scipy.stats.gamma(2.0, loc=[0.5, 1.0], scale=2.0)
    for method, arguments in (("logpdf", (3.0,)), ("cdf", (3.0,)), ("ppf", (0.3,)), ("mean", ()), ("entropy", ())):
        expected = getattr(plain, method)(*arguments)
        np.testing.assert_allclose(getattr(frozen, method)(*arguments).detach().numpy(), expected)
    assert {"logpdf", "rvs"} <= {*dir(stats.gamma)}
    assert isinstance(stats.gamma(2.0), type(scipy.stats.gamma(2.0)))


def test_vmap() -> None:
    x, a = adjoint.rand(4, 1, 2, dtype=adjoint.float64), adjoint.rand(4, dtype=adjoint.float64) + 1
    for method in ("logpdf", "cdf", "ppf"):
        function = getattr(stats.gamma, method)
        for actual in (
            adjoint.func.vmap(lambda x, a, f=function: f(x, a, scale=2.0))(x, a),
            adjoint.func.vmap(adjoint.func.vmap(lambda x, a, f=function: f(x, a, scale=2.0), (1, None), 1))(x, a),
        ):
            np.testing.assert_allclose(actual.numpy(), function(x.numpy(), a.numpy()[:, None, None], scale=2.0))
    slopes = adjoint.func.vmap(adjoint.func.grad(lambda a: stats.gamma.cdf(1.0, a)))(a)
    one = adjoint.func.grad(lambda a: stats.gamma.cdf(1.0, a))
    np.testing.assert_allclose(slopes.numpy(), [one(each).item() for each in a])
