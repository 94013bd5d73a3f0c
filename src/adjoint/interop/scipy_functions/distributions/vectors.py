"""scipy.stats' distributions of vectors and matrices over Tensors, with SciPy's signatures.

Matrices of parameters are symmetrised, so that their gradients are symmetric. Formulas are those of SciPy's reference
pages.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, Array, function
from adjoint.interop.operands import inexact, number, tensor_of
from adjoint.interop.scipy_functions.axes import tensors
from adjoint.interop.scipy_functions.pieces import piecewise, plain
from adjoint.tensor.table import ops

LOG_TWO_PI = 1.8378770664093453
LOG_PI = 1.1447298858494002


def _symmetric(matrix: Any) -> Any:
    return 0.5 * (matrix + ops.transpose(matrix, -2, -1))


def _square(value: Any, n: int) -> Any:
    """A matrix from a number, a diagonal or a matrix, n by n."""
    if value.ndim == 0:
        return value * ops.identity(value, n, n)
    if value.ndim == 1:
        return value[:, None] * ops.identity(value, n, n)
    return _symmetric(value)


def _factor(matrix: Any) -> tuple[Any, Any]:
    """Cholesky's factor of a positive definite matrix, and the logarithm of its determinant."""
    factor = ops.linalg_cholesky(matrix, upper=False)
    return factor, 2 * ops.sum(ops.log(ops.diagonal(factor, 0, -2, -1)), (-1,))


def _whiten(factor: Any, rest: Any) -> Any:
    """The factor's inverse times columns."""
    return ops.linalg_solve_triangular(factor, rest, upper=False)


def _exponential_of(name: str, log: str, body: Any) -> None:
    """Declare a density by the function of its logarithm."""

    def density(*args: Any, **kwargs: Any) -> Any:
        return ops.exp(body(*args, **kwargs))

    density.__name__ = name.rpartition(".")[2]
    density.__doc__ = f"The exponential of {log}."
    FUNCTIONS[name] = density


# vectors --------------------------------------------------------------------------------------------------------------


def _student(x: Any, loc: Any, shape: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """Places less loc as columns, the shape matrix and its size, and the shape of the results."""
    shape = tensor_of(1.0 if shape is None else shape)
    n = shape.shape[-1] if shape.ndim else (numpy.size(loc) if loc is not None else 1)
    x, loc, shape = tensors(x, numpy.zeros(n) if loc is None else loc, shape)
    places = ops.reshape(x, (*x.shape, 1)) if n == 1 and (x.ndim == 0 or x.shape[-1] != 1) else x
    rest = ops.reshape(places - ops.reshape(loc, (-1,)), (-1, n))
    return ops.transpose(rest, 0, 1), _square(shape, n), n, tuple(places.shape[:-1])


@function("scipy.stats.multivariate_t.logpdf")
def multivariate_t_logpdf(x, loc=None, shape=1, df=1):
    """The logarithm of the density of Student's distribution of vectors."""
    if numpy.all(numpy.isinf(plain(tensor_of(df)))):
        return FUNCTIONS["scipy.stats.multivariate_normal.logpdf"](x, loc, shape)
    rest, matrix, n, form = _student(x, loc, shape)
    df = tensors(df, rest)[0]
    factor, log_det = _factor(matrix)
    squares = ops.sum(ops.square(_whiten(factor, rest)), (0,))
    half = 0.5 * (df + n)
    norm = ops.lgamma(half) - ops.lgamma(0.5 * df) - 0.5 * n * (LOG_PI + ops.log(df)) - 0.5 * log_det
    return ops.reshape(norm - half * ops.log1p(squares / df), form)


@function("scipy.stats.multivariate_t.entropy")
def multivariate_t_entropy(loc=None, shape=1, df=1):
    """The differential entropy of Student's distribution of vectors."""
    _, matrix, n, _ = _student(0.0 if loc is None else loc, loc, shape)
    df = tensors(df, matrix)[0]
    half, half_df = 0.5 * (df + n), 0.5 * df
    means = ops.lgamma(half_df) - ops.lgamma(half) + half * (ops.digamma(half) - ops.digamma(half_df))
    return means + 0.5 * n * (LOG_PI + ops.log(df)) + 0.5 * _factor(matrix)[1]


@function("scipy.stats.dirichlet.entropy")
def dirichlet_entropy(alpha: Array):
    """The differential entropy of the Dirichlet distribution."""
    alpha = inexact(alpha)
    total = ops.sum(alpha, (-1,))
    norm = ops.sum(ops.lgamma(alpha), (-1,)) - ops.lgamma(total)
    rest = (total - alpha.shape[-1]) * ops.digamma(total) - ops.sum((alpha - 1) * ops.digamma(alpha), (-1,))
    return norm + rest


@function("scipy.stats.dirichlet.mean")
def dirichlet_mean(alpha: Array):
    """The mean of the Dirichlet distribution."""
    alpha = inexact(alpha)
    return alpha / ops.sum(alpha, (-1,))


@function("scipy.stats.dirichlet.var")
def dirichlet_var(alpha: Array):
    """The variances of the Dirichlet distribution's elements."""
    alpha = inexact(alpha)
    total = ops.sum(alpha, (-1,))
    return alpha * (total - alpha) / (total * total * (total + 1))


@function("scipy.stats.dirichlet_multinomial.logpmf")
def dirichlet_multinomial_logpmf(x, alpha, n):
    """The logarithm of the probability of counts in n draws whose probabilities are Dirichlet's."""
    x, alpha, n = tensors(x, alpha, n)
    total = ops.sum(alpha, (-1,))
    each = ops.lgamma(x + alpha) - ops.lgamma(alpha) - ops.lgamma(x + 1)
    result = ops.lgamma(total) + ops.lgamma(n + 1) - ops.lgamma(n + total) + ops.sum(each, (-1,))
    others = plain(ops.sum(x, (-1,))) != plain(n)
    return piecewise([others], [-math.inf, lambda value: value], result) if others.any() else result


@function("scipy.stats.vonmises_fisher.logpdf")
def vonmises_fisher_logpdf(x, mu=None, kappa=1):
    """The logarithm of the density of von Mises and Fisher's distribution of directions, mu and x of length 1."""
    x, mu, kappa = tensors(x, mu, kappa)
    return _log_norm_of_directions(kappa, mu.shape[-1]) + kappa * ops.sum(x * mu, (-1,))


def _log_norm_of_directions(kappa: Any, n: int) -> Any:
    half = number(0.5 * n, plain(kappa).dtype)
    bessel = ops.log(ops.iv(half - 1, kappa, 0, True))
    return (half - 1) * ops.log(kappa) - half * LOG_TWO_PI - bessel - kappa


@function("scipy.stats.vonmises_fisher.entropy")
def vonmises_fisher_entropy(mu=None, kappa=1):
    """The differential entropy of von Mises and Fisher's distribution."""
    mu, kappa = tensors(mu, kappa)
    half = number(0.5 * mu.shape[-1], plain(kappa).dtype)
    length = ops.iv(half, kappa, 0, True) / ops.iv(half - 1, kappa, 0, True)
    return -_log_norm_of_directions(kappa, mu.shape[-1]) - kappa * length + 0 * ops.sum(mu)


@function("scipy.stats.normal_inverse_gamma.logpdf")
def normal_inverse_gamma_logpdf(x, s2, mu=0, lmbda=1, a=1, b=1):
    """The logarithm of the joint density of a mean x and a variance s2."""
    x, s2, mu, lmbda, a, b = tensors(x, s2, mu, lmbda, a, b)

    def log_joint(x: Any, s2: Any, mu: Any, lmbda: Any, a: Any, b: Any) -> Any:
        norm = 0.5 * (ops.log(lmbda) - LOG_TWO_PI - ops.log(s2)) + a * ops.log(b) - ops.lgamma(a)
        return norm - (a + 1) * ops.log(s2) - (2 * b + lmbda * ops.square(x - mu)) / (2 * s2)

    allowed = (plain(lmbda) > 0) & (plain(a) > 0) & (plain(b) > 0)
    return piecewise([~allowed, plain(s2) <= 0], [math.nan, -math.inf, log_joint], x, s2, mu, lmbda, a, b)


# matrices -------------------------------------------------------------------------------------------------------------


def _wishart(x: Any, df: Any, scale: Any) -> tuple[Any, Any, Any, int]:
    """Matrices with SciPy's axis of several in front, degrees of freedom, the scale and its size.

    Raises ValueError for too few degrees of freedom.
    """
    scale = tensor_of(1.0 if scale is None else scale)
    n = scale.shape[-1] if scale.ndim else 1
    x, df, scale = tensors(x, n if df is None else df, scale)
    if not numpy.all(plain(df) > n - 1):
        raise ValueError("Degrees of freedom must be greater than the dimension of scale matrix minus 1.")
    if x.ndim == 1 and n == 1:
        x = ops.reshape(x, (1, 1, -1))
    many = ops.permute(x, (2, 0, 1)) if x.ndim == 3 else _square(x, n)
    return _symmetric(many), df, _square(scale, n), n


def _trace_of_solved(factor: Any, matrix: Any) -> Any:
    """The trace of inverse(factor @ factor.T) @ matrix."""
    half = _whiten(factor, matrix)
    return ops.sum(ops.diagonal(_whiten(factor, ops.transpose(half, -2, -1)), 0, -2, -1), (-1,))


@function("scipy.stats.wishart.logpdf")
def wishart_logpdf(x, df, scale):
    """The logarithm of the density of Wishart's distribution."""
    x, df, scale, n = _wishart(x, df, scale)
    factor, log_det = _factor(scale)
    log_det_x = _factor(x)[1]
    norm = 0.5 * df * (n * math.log(2) + log_det) + ops.mvlgamma(0.5 * df, n)
    return 0.5 * (df - n - 1) * log_det_x - 0.5 * _trace_of_solved(factor, x) - norm


@function("scipy.stats.wishart.entropy")
def wishart_entropy(df, scale):
    """The differential entropy of Wishart's distribution."""
    df, scale = _wishart(1.0, df, scale)[1:3]
    n = scale.shape[-1]
    psi = sum(ops.digamma(0.5 * (df - i)) for i in range(n))
    norm = 0.5 * (n + 1) * _factor(scale)[1] + 0.5 * n * (n + 1) * math.log(2) + ops.mvlgamma(0.5 * df, n)
    return norm - 0.5 * (df - n - 1) * psi + 0.5 * df * n


@function("scipy.stats.invwishart.logpdf")
def invwishart_logpdf(x, df, scale):
    """The logarithm of the density of the inverse Wishart distribution."""
    x, df, scale, n = _wishart(x, df, scale)
    factor, log_det_x = _factor(x)
    norm = 0.5 * df * (n * math.log(2) - _factor(scale)[1]) + ops.mvlgamma(0.5 * df, n)
    return -0.5 * (df + n + 1) * log_det_x - 0.5 * _trace_of_solved(factor, scale) - norm


def _spread(x: Any, mean: Any, rows: Any, columns: Any) -> tuple[Any, ...]:
    """A matrix less its mean with both spreads taken out, their log-determinants, and its lengths."""
    x = inexact(tensor_of(x))
    m, n = x.shape[-2:]
    x, mean, rows, columns = tensors(x, 0.0 if mean is None else mean, rows, columns)
    of_rows, log_rows = _factor(_square(rows, m))
    of_columns, log_columns = _factor(_square(columns, n))
    half = _whiten(of_rows, x - mean)
    return _whiten(of_columns, ops.transpose(half, -2, -1)), log_rows, log_columns, m, n


@function("scipy.stats.matrix_normal.logpdf")
def matrix_normal_logpdf(X, mean=None, rowcov=1, colcov=1):
    """The logarithm of the density of the normal distribution of matrices."""
    white, of_rows, of_columns, m, n = _spread(X, mean, rowcov, colcov)
    return -0.5 * (m * n * LOG_TWO_PI + n * of_rows + m * of_columns + ops.sum(white * white, (-2, -1)))


@function("scipy.stats.matrix_normal.entropy")
def matrix_normal_entropy(rowcov=1, colcov=1):
    """The differential entropy of the normal distribution of matrices."""
    rows, columns = tensors(rowcov, colcov)
    m, n = (matrix.shape[-1] if matrix.ndim else 1 for matrix in (rows, columns))
    log_dets = n * _factor(_square(rows, m))[1] + m * _factor(_square(columns, n))[1]
    return 0.5 * (m * n * (1 + LOG_TWO_PI) + log_dets)


@function("scipy.stats.matrix_t.logpdf")
def matrix_t_logpdf(X, mean=None, row_spread=1, col_spread=1, df=1):
    """The logarithm of the density of Student's distribution of matrices."""
    white, of_rows, of_columns, m, n = _spread(X, mean, row_spread, col_spread)
    df = tensors(df, white)[0]
    half = 0.5 * (df + m + n - 1)
    gram = ops.identity(white, n, n) + white @ ops.transpose(white, -2, -1)
    norm = ops.mvlgamma(half, n) - ops.mvlgamma(0.5 * (df + n - 1), n) - 0.5 * m * n * LOG_PI
    return norm - 0.5 * n * of_rows - 0.5 * m * of_columns - half * _factor(gram)[1]


for _name in [name for name in FUNCTIONS if name.startswith("scipy.stats.") and name.endswith((".logpdf", ".logpmf"))]:
    _of_density = _name.replace(".logp", ".p")
    if _of_density not in FUNCTIONS:
        _exponential_of(_of_density, _name, FUNCTIONS[_name])
