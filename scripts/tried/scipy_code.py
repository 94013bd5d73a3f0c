"""Functions that SciPy and NumPy have in Python."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tried.entries import OWN, is_replaced, tried

TITLE = "SciPy's and NumPy's own Python code"

X = np.array([0.3, 0.8, 1.3, 0.6])
M = np.array([[0.7, 0.2, 0.1], [-0.3, 1.1, 0.4], [0.2, -0.1, 0.9]])


def of_scipy(name: str, point: Any, call: Any, **reason: str) -> None:
    """Enter a function of SciPy or NumPy. call: the call, given the function."""
    path, _, last = name.rpartition(".")
    module = importlib.import_module(path)

    @tried(name.partition(".")[0], name, OWN if is_replaced(getattr(module, last)) else "", **reason)
    def _() -> Any:
        # looked up at each call, since a block changes the function of this name
        return lambda x: call(getattr(module, last))(x), point


def pendulum(t: Any, y: Any, k: Any) -> Any:
    return np.array([y[1], -k * y[0]])


of_scipy("scipy.optimize.rosen", X, lambda f: f)
of_scipy("scipy.optimize.rosen_der", X, lambda f: f)
of_scipy("scipy.optimize.rosen_hess_prod", X, lambda f: lambda x: f(x, X[::-1]))
of_scipy("scipy.special.logsumexp", X, lambda f: lambda x: f(x, b=np.array([1.0, 2.0, 0.5, 1.0])))
of_scipy("scipy.special.softmax", X, lambda f: f)
of_scipy("scipy.special.multigammaln", [2.5], lambda f: lambda x: f(x[0], 2))
of_scipy("scipy.signal.windows.kaiser", [3.5], lambda f: lambda x: f(7, x[0]))
of_scipy("scipy.signal.windows.gaussian", [1.5], lambda f: lambda x: f(7, x[0]))
of_scipy("scipy.signal.windows.tukey", [0.6], lambda f: lambda x: f(9, x[0]))
of_scipy("scipy.signal.chirp", [6.0, 2.0], lambda f: lambda x: f(np.linspace(0.0, 1.0, 5), x[0], 1.0, x[1]))
of_scipy("scipy.signal.gausspulse", [5.0], lambda f: lambda x: f(np.linspace(-0.1, 0.1, 5), fc=x[0]))
of_scipy("scipy.signal.freqs", X, lambda f: lambda x: f(x[:2], x[2:], worN=np.array([0.5, 1.5]))[1])
of_scipy("scipy.signal.freqz", X, lambda f: lambda x: f(x[:2], x[2:], worN=np.array([0.5, 1.5]))[1])
of_scipy("scipy.signal.savgol_filter", np.sin(np.arange(9.0)), lambda f: lambda x: f(x, 5, 2))
of_scipy("scipy.signal.bilinear", X, lambda f: lambda x: f(x[:2], x[2:]))
of_scipy("scipy.signal.lfilter", X, lambda f: lambda x: f(x[:2], x[2:], np.cos(np.arange(6.0))))
of_scipy("scipy.signal.welch", np.sin(np.arange(16.0) ** 1.2), lambda f: lambda x: f(x, nperseg=8)[1])
of_scipy("scipy.signal.detrend", X, lambda f: f)
of_scipy("scipy.stats.zscore", X, lambda f: f)
of_scipy("scipy.stats.skew", X, lambda f: f)
of_scipy("scipy.stats.kurtosis", X, lambda f: f)
of_scipy("scipy.stats.gmean", X, lambda f: f)
of_scipy("scipy.stats.pearsonr", X, lambda f: lambda x: f(x, np.array([0.1, 0.9, 0.4, 1.2]))[0])
of_scipy("scipy.stats.boxcox_llf", [0.7], lambda f: lambda x: f(x[0], X))
of_scipy("scipy.stats.ttest_ind", X, lambda f: lambda x: list(f(x, np.array([0.1, 0.9, 0.4, 1.2]))))
of_scipy(
    "scipy.stats.wasserstein_distance",
    X,
    lambda f: lambda x: f(x, np.array([0.1, 0.9, 0.4])),
    reason="`searchsorted` is called as a method of a plain array with a differentiable one",
    remedy="For samples of one size, take the mean distance of the sorted samples",
)
of_scipy("scipy.stats.linregress", X, lambda f: lambda x: list(f(np.array([0.1, 0.9, 0.4, 1.2]), x)))
of_scipy(
    "scipy.stats.gaussian_kde",
    X,
    lambda f: lambda x: f(np.array([0.1, 0.5, 1.4, 0.9, 0.2]))(x),
    reason="the sum over the samples is compiled code, which reads the memory of plain arrays",
    remedy="Write the sum with `scipy.stats.norm.pdf`",
)
of_scipy(
    "scipy.stats.multivariate_normal", [0.3, 0.8], lambda f: lambda x: f([0.1, 0.2], [[1.0, 0.3], [0.3, 2.0]]).logpdf(x)
)
of_scipy("scipy.linalg.expm", M, lambda f: f)
of_scipy("scipy.linalg.toeplitz", X, lambda f: f)
of_scipy("scipy.linalg.block_diag", M, lambda f: lambda x: f(x, x[:2] ** 2))
of_scipy("scipy.linalg.companion", X, lambda f: f)
of_scipy("scipy.linalg.polar", M, lambda f: f)
of_scipy("scipy.linalg.subspace_angles", M, lambda f: lambda x: f(x[:, :1], np.array([[1.0], [0.0], [0.5]])))
of_scipy(
    "scipy.spatial.transform.Rotation",
    X[:3],
    lambda f: lambda x: f.from_rotvec(x).as_matrix(),
    reason="the class is compiled code, which reads the memory of plain arrays",
    remedy="Use the functions of pytransform3d, or `scipy.linalg.expm` of the skew matrix",
)
of_scipy(
    "scipy.spatial.geometric_slerp", [0.6], lambda f: lambda t: f(np.array([1.0, 0.0]), np.array([0.0, 1.0]), t[0])
)
of_scipy("scipy.spatial.procrustes", M, lambda f: lambda x: f(x, M.T)[2])
of_scipy("scipy.interpolate.CubicSpline", X, lambda f: lambda y: f(np.arange(4.0), y)(np.array([0.5, 2.2])))
of_scipy("scipy.interpolate.PchipInterpolator", X, lambda f: lambda y: f(np.arange(4.0), y)(np.array([0.5, 2.2])))
of_scipy("scipy.interpolate.barycentric_interpolate", X, lambda f: lambda y: f(np.arange(4.0), y, np.array([0.5, 2.2])))
of_scipy("scipy.interpolate.lagrange", X, lambda f: lambda y: f(np.arange(4.0), y).coeffs)
of_scipy("scipy.integrate.simpson", X, lambda f: lambda y: f(y, x=np.array([0.0, 0.4, 1.1, 1.5])))
of_scipy(
    "scipy.integrate.solve_ivp", X[:2], lambda f: lambda p: f(pendulum, (0.0, 1.0), [1.0, p[1]], args=(p[0],)).y[:, -1]
)
of_scipy(
    "scipy.optimize.curve_fit",
    X,
    lambda f: lambda y: f(lambda t, a, b: a * np.exp(b * t), np.arange(4.0), y, p0=[0.5, 0.1])[0],
    reason="the data may not be differentiable, since the solution and its covariance would be constants",
    remedy="Differentiate the solution with `adjoint.implicit`",
)
of_scipy("numpy.polynomial.Polynomial", X, lambda f: lambda c: f(c)(np.array([0.3, 0.7])))
of_scipy("numpy.polynomial.Chebyshev", X, lambda f: lambda c: (f(c) * f(c[:2])).deriv()(0.3))
of_scipy("numpy.polynomial.chebyshev.chebvander", X, lambda f: lambda x: f(x, 3))
of_scipy("numpy.polynomial.legendre.legval", X, lambda f: lambda c: f(np.array([0.2, 0.6]), c))
of_scipy("numpy.polynomial.hermite.hermfit", X, lambda f: lambda y: f(np.arange(4.0), y, 2))
of_scipy("numpy.poly1d", X, lambda f: lambda c: f(c)(0.7))
of_scipy("numpy.vectorize", X, lambda f: lambda x: f(lambda t: t**2 if t > 0.5 else 3.0 * t)(x))
of_scipy("numpy.apply_along_axis", M, lambda f: lambda x: f(lambda r: r[0] * r[1:], 1, x))
