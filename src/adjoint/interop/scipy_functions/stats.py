"""scipy.stats over Tensors: densities and distribution functions with derivatives by places and all parameters.

A distribution is one entry of a table: the names of its shape parameters, where its standard form lives, and formulas
for that (loc 0 and scale 1). All else follows: location and scale, what holds outside the support, and the functions
that are made of others.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.operands import inexact, kind_of, promoted, tensor_of
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]

HALF_LOG_TWO_PI = 0.9189385332046727
LOG_PI = 1.1447298858494002


@dataclass(frozen=True)
class Distribution:
    """The standard form of a distribution. Formulas take a place in the support, or a probability, and the shapes.

    shapes: names. log_density, cdf, sf, ppf, isf: formulas; log_cdf and log_sf where logarithms would lose digits.
    low, high: the ends of the support, numbers or functions of the shapes. inside: a place in it. discrete: the density
    is a probability of integers, and there is no scale. valid: of the shapes, whether they are allowed.
    """

    shapes: tuple[str, ...]
    log_density: Formula
    cdf: Formula | None = None
    sf: Formula | None = None
    ppf: Formula | None = None
    log_cdf: Formula | None = None
    log_sf: Formula | None = None
    low: float | Formula = -math.inf
    high: float | Formula = math.inf
    inside: float = 0.5
    discrete: bool = False
    valid: Formula | None = None
    loc: bool = True


def _sf_of_cdf(distribution: Distribution) -> Formula:
    return distribution.sf or (lambda *values: 1 - distribution.cdf(*values))  # type: ignore[misc]


# the standard forms ---------------------------------------------------------------------------------------------------


def _log_beta_density(z: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ops.xlogy(a - 1, z) + ops.special_xlog1py(b - 1, -z) - ops.betaln(a, b)


def _log_student_density(z: Tensor, df: Tensor) -> Tensor:
    half = 0.5 * (df + 1)
    norm = ops.lgamma(half) - ops.lgamma(0.5 * df) - 0.5 * (LOG_PI + ops.log(df))
    return norm - half * ops.log1p(z * z / df)


def _log_gamma_density(z: Tensor, a: Tensor) -> Tensor:
    return ops.xlogy(a - 1, z) - z - ops.lgamma(a)


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    return ops.lgamma(n + 1) - ops.lgamma(k + 1) - ops.lgamma(n - k + 1)


def _positive(*shapes: Tensor) -> Tensor:
    valid = shapes[0] > 0
    for shape in shapes[1:]:
        valid = valid & (shape > 0)
    return valid


def _probability(p: Tensor) -> Tensor:
    return (p >= 0) & (p <= 1)


def _log_sech_square(z: Tensor) -> Tensor:
    size = abs(z)
    return -size - 2 * ops.softplus(-size)


DISTRIBUTIONS: dict[str, Distribution] = {
    "norm": Distribution(
        (), lambda z: -0.5 * z * z - HALF_LOG_TWO_PI,
        lambda z: ops.special_ndtr(z), lambda z: ops.special_ndtr(-z), lambda q: ops.special_ndtri(q),
        log_cdf=lambda z: ops.special_log_ndtr(z), log_sf=lambda z: ops.special_log_ndtr(-z),
    ),
    "t": Distribution(
        ("df",), _log_student_density,
        lambda z, df: ops.stdtr(df, z), lambda z, df: ops.stdtr(df, -z), lambda q, df: ops.stdtrit(df, q),
        valid=_positive,
    ),
    "gamma": Distribution(
        ("a",), _log_gamma_density,
        lambda z, a: ops.igamma(a, z), lambda z, a: ops.igammac(a, z), lambda q, a: ops.gammaincinv(a, q),
        low=0.0, valid=_positive,
    ),
    "chi2": Distribution(
        ("df",), lambda z, df: _log_gamma_density(0.5 * z, 0.5 * df) - math.log(2),
        lambda z, df: ops.igamma(0.5 * df, 0.5 * z), lambda z, df: ops.igammac(0.5 * df, 0.5 * z),
        lambda q, df: 2 * ops.gammaincinv(0.5 * df, q), low=0.0, valid=_positive,
    ),
    "beta": Distribution(
        ("a", "b"), _log_beta_density,
        lambda z, a, b: ops.betainc(a, b, z), lambda z, a, b: ops.betainc(b, a, 1 - z),
        lambda q, a, b: ops.betaincinv(a, b, q), low=0.0, high=1.0, valid=_positive,
    ),
    "expon": Distribution(
        (), lambda z: -z, lambda z: -ops.expm1(-z), lambda z: ops.exp(-z), lambda q: -ops.log1p(-q),
        log_sf=lambda z: -z, low=0.0,
    ),
    "uniform": Distribution((), lambda z: 0 * z, lambda z: z, lambda z: 1 - z, lambda q: q, low=0.0, high=1.0),
    "laplace": Distribution(
        (), lambda z: -abs(z) - math.log(2),
        lambda z: ops.where(z > 0, 1 - 0.5 * ops.exp(-abs(z)), 0.5 * ops.exp(-abs(z))),
        lambda z: ops.where(z > 0, 0.5 * ops.exp(-abs(z)), 1 - 0.5 * ops.exp(-abs(z))),
        lambda q: ops.where(q > 0.5, -ops.log(2 * ops.where(q > 0.5, 1 - q, 0.5)), ops.log(2 * q)),
    ),
    "logistic": Distribution(
        (), _log_sech_square, lambda z: ops.sigmoid(z), lambda z: ops.sigmoid(-z), lambda q: ops.logit(q),
        log_cdf=lambda z: ops.logsigmoid(z), log_sf=lambda z: ops.logsigmoid(-z),
    ),
    "cauchy": Distribution(
        (), lambda z: -LOG_PI - ops.log1p(z * z),
        lambda z: 0.5 + ops.atan(z) / math.pi, lambda z: 0.5 - ops.atan(z) / math.pi,
        lambda q: ops.tan(math.pi * (q - 0.5)),
    ),
    "lognorm": Distribution(
        ("s",), lambda z, s: -0.5 * ops.square(ops.log(z) / s) - HALF_LOG_TWO_PI - ops.log(s * z),
        lambda z, s: ops.special_ndtr(ops.log(z) / s), lambda z, s: ops.special_ndtr(-ops.log(z) / s),
        lambda q, s: ops.exp(s * ops.special_ndtri(q)),
        log_cdf=lambda z, s: ops.special_log_ndtr(ops.log(z) / s),
        log_sf=lambda z, s: ops.special_log_ndtr(-ops.log(z) / s), low=0.0, valid=_positive,
    ),
    "weibull_min": Distribution(
        ("c",), lambda z, c: ops.log(c) + ops.xlogy(c - 1, z) - z**c,
        lambda z, c: -ops.expm1(-(z**c)), lambda z, c: ops.exp(-(z**c)), lambda q, c: (-ops.log1p(-q)) ** (1 / c),
        log_sf=lambda z, c: -(z**c), low=0.0, valid=_positive,
    ),
    "gumbel_r": Distribution(
        (), lambda z: -z - ops.exp(-z), lambda z: ops.exp(-ops.exp(-z)), lambda z: -ops.expm1(-ops.exp(-z)),
        lambda q: -ops.log(-ops.log(q)), log_cdf=lambda z: -ops.exp(-z),
    ),
    "gumbel_l": Distribution(
        (), lambda z: z - ops.exp(z), lambda z: -ops.expm1(-ops.exp(z)), lambda z: ops.exp(-ops.exp(z)),
        lambda q: ops.log(-ops.log1p(-q)), log_sf=lambda z: -ops.exp(z),
    ),
    "pareto": Distribution(
        ("b",), lambda z, b: ops.log(b) - (b + 1) * ops.log(z),
        lambda z, b: -ops.expm1(-b * ops.log(z)), lambda z, b: z ** (-b), lambda q, b: (1 - q) ** (-1 / b),
        log_sf=lambda z, b: -b * ops.log(z), low=1.0, inside=2.0, valid=_positive,
    ),
    "halfnorm": Distribution(
        (), lambda z: -0.5 * z * z - HALF_LOG_TWO_PI + math.log(2),
        lambda z: ops.erf(z * math.sqrt(0.5)), lambda z: ops.erfc(z * math.sqrt(0.5)),
        lambda q: ops.special_ndtri(0.5 * (1 + q)),
        log_sf=lambda z: ops.special_log_ndtr(-z) + math.log(2), low=0.0,
    ),
    "rayleigh": Distribution(
        (), lambda z: ops.log(z) - 0.5 * z * z, lambda z: -ops.expm1(-0.5 * z * z), lambda z: ops.exp(-0.5 * z * z),
        lambda q: ops.sqrt(-2 * ops.log1p(-q)), log_sf=lambda z: -0.5 * z * z, low=0.0,
    ),
    "invgamma": Distribution(
        ("a",), lambda z, a: -(a + 1) * ops.log(z) - ops.lgamma(a) - 1 / z,
        lambda z, a: ops.igammac(a, 1 / z), lambda z, a: ops.igamma(a, 1 / z),
        lambda q, a: 1 / ops.gammainccinv(a, q), low=0.0, valid=_positive,
    ),
    "f": Distribution(
        ("dfn", "dfd"),
        lambda z, n, d: (
            0.5 * n * ops.log(n / d) + ops.xlogy(0.5 * n - 1, z) - 0.5 * (n + d) * ops.log1p(n * z / d)
            - ops.betaln(0.5 * n, 0.5 * d)
        ),
        lambda z, n, d: ops.betainc(0.5 * n, 0.5 * d, n * z / (n * z + d)),
        lambda z, n, d: ops.betainc(0.5 * d, 0.5 * n, d / (n * z + d)), low=0.0, valid=_positive,
    ),
    "poisson": Distribution(
        ("mu",), lambda k, mu: ops.xlogy(k, mu) - mu - ops.lgamma(k + 1),
        lambda k, mu: ops.igammac(k + 1, mu), lambda k, mu: ops.igamma(k + 1, mu),
        low=0.0, discrete=True, valid=lambda mu: mu >= 0,
    ),
    "bernoulli": Distribution(
        ("p",), lambda k, p: ops.xlogy(k, p) + ops.special_xlog1py(1 - k, -p),
        lambda k, p: ops.where(k >= 1, 1 + 0 * p, 1 - p), lambda k, p: ops.where(k >= 1, 0 * p, p),
        low=0.0, high=1.0, discrete=True, valid=_probability,
    ),
    "binom": Distribution(
        ("n", "p"), lambda k, n, p: _log_choose(n, k) + ops.xlogy(k, p) + ops.special_xlog1py(n - k, -p),
        lambda k, n, p: ops.betainc(n - k, k + 1, 1 - p), lambda k, n, p: ops.betainc(k + 1, n - k, p),
        low=0.0, high=lambda n, p: n, inside=0.0, discrete=True, valid=lambda n, p: (n >= 0) & _probability(p),
    ),
    "geom": Distribution(
        ("p",), lambda k, p: ops.special_xlog1py(k - 1, -p) + ops.log(p),
        lambda k, p: -ops.expm1(k * ops.log1p(-p)), lambda k, p: ops.exp(k * ops.log1p(-p)),
        log_sf=lambda k, p: k * ops.log1p(-p), low=1.0, inside=1.0, discrete=True, valid=_probability,
    ),
    "nbinom": Distribution(
        ("n", "p"),
        lambda k, n, p: ops.lgamma(n + k) - ops.lgamma(k + 1) - ops.lgamma(n) + n * ops.log(p)
        + ops.special_xlog1py(k, -p),
        lambda k, n, p: ops.betainc(n, k + 1, p), lambda k, n, p: ops.betainc(k + 1, n, 1 - p),
        low=0.0, discrete=True, valid=lambda n, p: (n > 0) & _probability(p),
    ),
}  # fmt: skip


# what every distribution has ------------------------------------------------------------------------------------------


class _Standard:
    """A place or probability and the parameters as Tensors of one dtype, the place moved to the standard form."""

    def __init__(self, of: Distribution, x: Any, shapes: Any, loc: Any, scale: Any, moved: bool = True) -> None:
        values = promoted(*[inexact(tensor_of(v)) for v in (x, *shapes, loc, scale)])
        x, *self.shapes, self.loc, self.scale = values
        self.of = of
        self.x = x
        if not moved:
            return
        z = x - self.loc
        self.z = z if of.discrete else z / self.scale
        low, high = (end(*self.shapes) if callable(end) else end for end in (of.low, of.high))
        self.below, self.above = self.z < low, self.z > high
        self.at_top = self.z >= high

    def at(self, formula: Formula, outside: Tensor, z: Tensor | None = None) -> Tensor:
        """A formula in the support; outside of it the gradient is 0, whatever would come of it there."""
        z = self.z if z is None else z
        return formula(ops.where(outside, self.of.inside, z), *self.shapes)

    def checked(self, value: Tensor) -> Tensor:
        """NaN where the parameters are not allowed."""
        bad = self.scale <= 0
        if self.of.valid is not None:
            bad = bad | ~self.of.valid(*self.shapes)
        return ops.where(bad, math.nan, value) if constant_any(bad) else value


def constant_any(mask: Tensor) -> bool:
    """True if one element is."""
    return bool(numpy.any(mask._array))


def log_density(s: _Standard) -> Tensor:
    """log pdf, or log pmf."""
    outside = s.below | s.above
    if s.of.discrete:
        outside = outside | (s.z != ops.floor(s.z))
        return s.checked(ops.where(outside, -math.inf, s.at(s.of.log_density, outside)))
    return s.checked(ops.where(outside, -math.inf, s.at(s.of.log_density, outside) - ops.log(s.scale)))


def _tail(formula: Formula, below: float, above: float) -> Callable[[_Standard], Tensor]:
    """A distribution function: constant on both sides of the support."""

    def evaluate(s: _Standard) -> Tensor:
        z = ops.floor(s.z) if s.of.discrete else s.z
        value = s.at(lambda z, *shapes: formula(s.of, z, *shapes), s.below | s.at_top, z)
        return s.checked(ops.where(s.below, below, ops.where(s.at_top, above, value)))

    return evaluate


def _log_of(own: str, other: str) -> Formula:
    def formula(of: Distribution, *values: Any) -> Any:
        exact = getattr(of, own)
        return exact(*values) if exact is not None else ops.log(getattr(of, other)(*values))

    return formula


#: By the name of a method: what it is of the standard form, and whether it has the scale's or the place's dimension.
METHODS: dict[str, Callable[[_Standard], Tensor]] = {
    "cdf": _tail(lambda of, *v: of.cdf(*v), 0.0, 1.0),
    "sf": _tail(lambda of, *v: _sf_of_cdf(of)(*v), 1.0, 0.0),
    "logcdf": _tail(_log_of("log_cdf", "cdf"), -math.inf, 0.0),
    "logsf": _tail(_log_of("log_sf", "sf"), 0.0, -math.inf),
}


def _quantile(s: _Standard) -> Tensor:
    return s.checked(s.of.ppf(s.x, *s.shapes) * s.scale + s.loc)  # type: ignore[misc]


def _signature(of: Distribution, first: str) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in (first, *of.shapes)]
    parameters.append(inspect.Parameter("loc", kind, default=0.0))
    if not of.discrete:
        parameters.append(inspect.Parameter("scale", kind, default=1.0))
    return inspect.Signature(parameters)


def _declare(name: str, method: str, of: Distribution, evaluate: Callable[[_Standard], Tensor], moved: bool) -> None:
    signature = _signature(of, "k" if of.discrete and moved else "x" if moved else "q")

    def call(*args: Any, **kwargs: Any) -> Tensor:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        x, *shapes = list(bound.arguments.values())[: 1 + len(of.shapes)]
        scale = bound.arguments.get("scale", 1.0)
        return evaluate(_Standard(of, x, shapes, bound.arguments["loc"], scale, moved))

    call.__name__ = method
    call.__doc__ = f"scipy.stats.{name}.{method}."
    FUNCTIONS[f"scipy.stats.{name}.{method}"] = call


def _fill() -> None:
    for name, of in DISTRIBUTIONS.items():
        log, density = ("logpmf", "pmf") if of.discrete else ("logpdf", "pdf")
        _declare(name, log, of, log_density, True)
        _declare(name, density, of, lambda s: ops.exp(log_density(s)), True)
        for method, evaluate in METHODS.items():
            _declare(name, method, of, evaluate, True)
        if of.ppf is not None:
            _declare(name, "ppf", of, _quantile, False)


_fill()
del _fill

# distributions of vectors ---------------------------------------------------------------------------------------------


def _gaussian(x, mean, cov):
    """Mean, covariance matrix and places of one dtype; a number as the covariance is that of each element."""
    x = tensor_of(x)
    cov = tensor_of(1.0 if cov is None else cov)
    mean = tensor_of(numpy.zeros(max(cov.shape[-1] if cov.ndim else 1, 1)) if mean is None else mean)
    x, mean, cov = promoted(inexact(x), inexact(mean), inexact(cov))
    n = mean.shape[0] if mean.ndim else 1
    mean = ops.reshape(mean, (n,))
    if cov.ndim == 0:
        cov = cov * ops.identity(mean, n, n)
    elif cov.ndim == 1:
        cov = cov[:, None] * ops.identity(mean, n, n)
    if x.ndim == 0:
        x = ops.reshape(x, (1, 1))
    elif x.ndim == 1:
        x = ops.reshape(x, (-1, 1)) if n == 1 else x[None]
    return x, mean, cov


@function("scipy.stats.multivariate_normal.logpdf")
def multivariate_normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    """The logarithm of the density of the multivariate normal distribution."""
    points = tensor_of(x)
    x, mean, cov = _gaussian(x, mean, cov)
    n = mean.shape[0]
    shape = points.shape[:-1] if n > 1 else (points.shape if points.ndim < 2 else points.shape[:-1])
    rest = ops.reshape(x - mean, (-1, n))
    if allow_singular:
        values, vectors = ops.linalg_eigh(cov, "L")
        is_positive = values._array > numpy.finfo(kind_of(values)).eps * 1e6 * abs(values._array).max(initial=0.0)
        log_det = ops.sum(ops.where(is_positive, ops.log(ops.where(is_positive, values, 1)), 0))
        white = (rest @ vectors) * ops.where(is_positive, ops.rsqrt(ops.where(is_positive, values, 1)), 0)
        rank = int(is_positive.sum())
    else:
        symmetric = 0.5 * (cov + ops.transpose(cov, 0, 1))
        factor = ops.linalg_cholesky(symmetric, upper=False)
        log_det = 2 * ops.sum(ops.log(ops.diagonal(factor, 0, 0, 1)), (0,))
        white = ops.transpose(ops.linalg_solve_triangular(factor, ops.transpose(rest, 0, 1), upper=False), 0, 1)
        rank = n
    result = -0.5 * (ops.sum(white * white, (1,)) + log_det) - rank * HALF_LOG_TWO_PI
    return ops.reshape(result, tuple(shape))


@function("scipy.stats.multivariate_normal.pdf")
def multivariate_normal_pdf(x, mean=None, cov=1, allow_singular=False):
    """The density of the multivariate normal distribution."""
    return ops.exp(FUNCTIONS["scipy.stats.multivariate_normal.logpdf"](x, mean, cov, allow_singular))


@function("scipy.stats.multivariate_normal.entropy")
def multivariate_normal_entropy(mean=None, cov=1):
    """The differential entropy of the multivariate normal distribution."""
    _, mean, cov = _gaussian(0.0, mean, cov)
    return 0.5 * ops.linalg_slogdet(cov)[1] + mean.shape[0] * (0.5 + HALF_LOG_TWO_PI)


@function("scipy.stats.dirichlet.logpdf")
def dirichlet_logpdf(x, alpha):
    """The logarithm of the density of the Dirichlet distribution; x may lack its last element, which is the rest."""
    x, alpha = promoted(inexact(tensor_of(x)), inexact(tensor_of(alpha)))
    if x.shape[0] + 1 == alpha.shape[0]:
        x = ops.cat([x, (1 - ops.sum(x, (0,)))[None]], 0)
    turned = ops.permute(x, tuple(range(x.ndim))[::-1])
    norm = ops.sum(ops.lgamma(alpha), (0,)) - ops.lgamma(ops.sum(alpha, (0,)))
    result = ops.sum(ops.xlogy(alpha - 1, turned), (turned.ndim - 1,)) - norm
    return ops.permute(result, tuple(range(result.ndim))[::-1]) if result.ndim > 1 else result


@function("scipy.stats.dirichlet.pdf")
def dirichlet_pdf(x, alpha):
    """The density of the Dirichlet distribution."""
    return ops.exp(dirichlet_logpdf(x, alpha))


@function("scipy.stats.multinomial.logpmf")
def multinomial_logpmf(x, n, p):
    """The logarithm of the probability of counts in n draws."""
    x, n, p = promoted(inexact(tensor_of(x)), inexact(tensor_of(n)), inexact(tensor_of(p)))
    return ops.lgamma(n + 1) + ops.sum(ops.xlogy(x, p) - ops.lgamma(x + 1), (-1,))


@function("scipy.stats.multinomial.pmf")
def multinomial_pmf(x, n, p):
    """The probability of counts in n draws."""
    return ops.exp(multinomial_logpmf(x, n, p))
